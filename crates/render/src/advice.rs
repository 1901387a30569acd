//! Output of `system advise`: a table of the steps, and a command line with the worthwhile ones.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, shorten, wrap};
use crate::conclusion::{Conclusion, Effect, FinalVerdict, measure_tuned};
use crate::document::DocumentBody;
use crate::table::{cells, plain};
use crate::uncertain;
use crate::units::{DisplayUnit, percent};
use analysis::RatioInterval;
use analysis::advice::{ALPHA, StepWorth};
use model::values::{Clock, ValueUnit};
use record::plan::advice::{AdviceStep, HUGE_PAGES, MissingStep, StepChange};

/// Columns of a step's options. All steps together have too many for a table.
const OPTIONS_MAX: usize = 16;

/// All that `system advise` has found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// The command.
    pub command: String,
    /// The time that was compared.
    pub clock: Clock,
    /// Complete blocks; each has a visit of each step.
    pub n_blocks: usize,
    /// The machine as it is, then each step, then all together.
    pub steps: Vec<MeasuredStep>,
    /// Steps that cannot be taken here.
    pub missing: Vec<MissingStep>,
    /// The steps worth taking, the best first.
    pub advised: Vec<String>,
    /// A command line with them.
    pub command_line: String,
    /// Whether ^C came before the last block.
    pub was_interrupted: bool,
}

impl DocumentBody for Advice {
    const NAME: &'static str = "advice";
}

/// The conclusion: each step as an effect on the time.
pub fn conclude(advice: &Advice) -> Conclusion {
    let verdict = match advice.advised.is_empty() {
        true => FinalVerdict::Tuned,
        false => FinalVerdict::NotTuned,
    };
    let effects = advice.steps.iter().filter_map(|step| {
        let effect = Effect::of_ratio(step.name.clone(), step.worth.time?, 1.0 - ALPHA);
        Some(Effect { smallest_visible: step.worth.visible, ..effect })
    });
    let command = shell_words::split(&advice.command_line).unwrap_or_default();
    let next = (!advice.advised.is_empty()).then(|| measure_tuned(command));
    Conclusion { effects: effects.collect(), next, ..Conclusion::of(verdict) }
}

/// A step and its worth.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MeasuredStep {
    /// Name of the step.
    pub name: String,
    /// The options of `run` that take it.
    pub options: Vec<String>,
    /// Worth of the step.
    #[serde(flatten)]
    pub worth: StepWorth,
}

impl MeasuredStep {
    pub fn new(step: &AdviceStep, worth: StepWorth) -> Self {
        Self { name: step.name.clone(), options: options(&step.changes), worth }
    }
}

/// The options of `run` for these changes.
pub fn options(changes: &[StepChange]) -> Vec<String> {
    let knobs: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            StepChange::Knob(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let option = |change: &StepChange| match change {
        StepChange::Affinity(cpu) => Some(format!("--affinity={cpu}")),
        StepChange::Nice => Some("--nice=-20".into()),
        StepChange::RealTime => Some("--sched=fifo:50".into()),
        StepChange::FixedLayout => Some("--no-aslr".into()),
        StepChange::HugePages => Some(format!("--env={HUGE_PAGES}")),
        StepChange::AllKnobs => Some("--tune".into()),
        StepChange::Shield => Some("--isolate".into()),
        StepChange::ColdCache => Some("--cold-cache".into()),
        StepChange::Knob(_) => None,
    };
    let tuned = (!knobs.is_empty()).then(|| format!("--tune={}", knobs.join(",")));
    changes.iter().filter_map(option).chain(tuned).collect()
}

/// The command line with these changes.
pub fn command_line(changes: &[StepChange], command: &str) -> String {
    let words = options(changes).into_iter().chain([command.to_owned()]);
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    format!("stillwell run {}", words.join(" "))
}

/// A word of a shell. `=` needs no quotes, and options have it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_=,.:/".contains(char);
    let is_bare = word.starts_with("--") && word.chars().all(is_plain);
    if is_bare { word.into() } else { shell_words::quote(word).into_owned() }
}

/// The message before anything is changed.
pub fn announced(steps: &[AdviceStep]) -> String {
    let of_machine = steps.iter().filter(|step| step.changes_machine());
    let names: Vec<&str> = of_machine.map(|step| step.name.as_str()).collect();
    if names.is_empty() {
        return "nothing of the machine is changed; only the runs are".into();
    }
    format!(
        "the machine is changed while a step is visited, and put back after each visit: {}",
        names.join(", ")
    )
}

/// The table and the advice. All lines but the command line are at most 80 columns wide.
pub fn text(advice: &Advice) -> String {
    let mut out = String::new();
    let clock = advice.clock.name();
    let heading = format!("{} blocks, {clock} time, for: ", advice.n_blocks);
    let command = shorten(&advice.command, COLUMNS.saturating_sub(heading.len()));
    writeln!(out, "{heading}{command}\n").ok();
    out += &plain(rows(advice), &[]);
    out.push('\n');
    let text = "time and spread: with the step ÷ without, and 99 % intervals. spread: relative standard deviation of a run \
                beside the next. visible: the smallest slowdown that 10 s of comparison find in 80 % of sessions";
    wrap(&mut out, "", 0, text);
    if !advice.missing.is_empty() {
        out.push_str("\nnot measured here:\n");
        for step in &advice.missing {
            wrap(&mut out, &format!("   {}: ", step.name), 6, &step.why);
        }
    }
    out.push('\n');
    conclusion(&mut out, advice);
    if advice.was_interrupted {
        out.push_str("interrupted: these are the blocks that were complete\n");
    }
    out
}

fn conclusion(out: &mut String, advice: &Advice) {
    if advice.advised.is_empty() {
        wrap(out, "", 0, "no step makes the spread smaller beyond chance here");
        return;
    }
    wrap(out, "worth taking: ", 6, &advice.advised.join(", "));
    writeln!(out, "   {}", advice.command_line).ok();
}

fn rows(advice: &Advice) -> Vec<Vec<String>> {
    let times = advice.steps.iter().map(|step| step.worth.time_ns);
    let unit = DisplayUnit::choose(ValueUnit::Time, None, times);
    let heading = cells(&["step", "time", "spread", "visible", "options"]);
    let row = |step: &MeasuredStep| {
        let worth = &step.worth;
        let time = worth.time.as_ref().map_or_else(
            || unit.label(&uncertain::significant(worth.time_ns / unit.size, 3)),
            ratio,
        );
        let spread = worth.spread_change.as_ref().map_or_else(|| percent(worth.spread), ratio);
        let visible = worth.visible.map_or_else(|| "?".into(), percent);
        let options = shorten(&step.options.join(" "), OPTIONS_MAX);
        vec![step.name.clone(), time, spread, visible, options]
    };
    std::iter::once(heading).chain(advice.steps.iter().map(row)).collect()
}

/// A ratio with its interval: `0.51 [0.40, 0.63]`.
fn ratio(interval: &RatioInterval) -> String {
    let number = |value: f64| match value {
        ..10.0 => uncertain::fixed(value, 2),
        _ => uncertain::significant(value, 2),
    };
    if !interval.hi.is_finite() {
        return format!("{} [?]", number(interval.ratio));
    }
    format!("{} [{}, {}]", number(interval.ratio), number(interval.lo), number(interval.hi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::width;

    fn step(name: &str, changes: &[StepChange], spread: f64, with: Option<f64>) -> MeasuredStep {
        let interval = |ratio: f64| RatioInterval { ratio, lo: ratio * 0.8, hi: ratio * 1.25 };
        let worth = StepWorth {
            n_runs: 96,
            time_ns: 12.3e6,
            time: with.map(|_| interval(1.0)),
            spread,
            spread_change: with.map(interval),
            visible: Some(spread / 2.0),
        };
        let step = AdviceStep { name: name.into(), changes: changes.into() };
        MeasuredStep::new(&step, worth)
    }

    #[test]
    fn the_table_ends_with_one_command_line() {
        let shield = [StepChange::Affinity(3), StepChange::Shield];
        let knob = StepChange::Knob("governor".into());
        let changes = [StepChange::Affinity(3), knob.clone(), StepChange::Shield];
        let advice = Advice {
            command: "sort big".into(),
            clock: Clock::Clean,
            n_blocks: 16,
            steps: vec![
                step("as it is", &[], 0.031, None),
                step("affinity", &[StepChange::Affinity(3)], 0.02, Some(0.65)),
                step("governor", std::slice::from_ref(&knob), 0.015, Some(0.48)),
                step("shield", &shield, 0.003, Some(0.1)),
                step("all together", &changes, 0.002, Some(0.07)),
            ],
            missing: vec![MissingStep { name: "turbo".into(), why: "use --isolate".into() }],
            advised: vec!["shield".into(), "governor".into()],
            command_line: command_line(&changes, "sort big"),
            was_interrupted: false,
        };
        let text = text(&advice);
        assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_is_changed_is_said_before() {
        let step = |change| AdviceStep { name: "a".into(), changes: vec![change] };
        let text = announced(&[step(StepChange::Affinity(1))]);
        assert!(text.starts_with("nothing of the machine is changed"), "{text}");
        let text = announced(&[step(StepChange::Shield)]);
        assert!(text.starts_with("the machine is changed") && text.ends_with(": a"), "{text}");
    }
}
