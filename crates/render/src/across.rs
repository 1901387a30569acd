//! Output of `compare` for records of different sessions.

use std::fmt::Write as _;
use std::io;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap, wrap_at, wrap_headline};
use crate::conclusion::{
    Conclusion, FinalVerdict, comparison_effect, measure_together, measured_arm, quantity_options,
};
use crate::document::{self, DocumentBody};
use crate::files::bound_word;
use crate::names::distinct;
use crate::quantity::QuantityWords;
use crate::ratios::ratio_text;
use crate::text::{comparison, no_test};
use crate::units::unit_of_arms;
use crate::{Styles, distributions, t0};
use analysis::distributions::Distributions;
use analysis::files::RatioBound;
use analysis::verdict::Judgement;
use analysis::{ArmSummary, Comparison, Evidence, Neighbours, NoTest};
use host::Facts;
use model::words::path_text;
use record::Record;
use record::plan::Arm;

/// Columns of a name in the answer.
const NAME_MAX: usize = 40;
const COMMAND_INDENT: usize = 8;

/// Two arms of a comparison: one command in several records, or two commands of one record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmPair<'a> {
    /// The arm in each past session, or the one reference.
    pub old: Vec<&'a ArmSummary>,
    /// The arm under test.
    pub new: &'a ArmSummary,
    /// The ratio of both arms, with its test.
    pub comparison: Comparison,
    /// The verdict.
    pub judgement: Judgement,
    /// The deciles, if requested: against the last of several past sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Distributions>,
}

/// One session of a comparison across sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionRecord<'a> {
    pub record: &'a Record,
    /// Programs on the other hardware threads of the session's cores.
    pub neighbours: Option<Neighbours>,
}

/// t0 of both arms and the ratio, for each pair.
pub fn text(
    old: &[SessionRecord<'_>],
    new: SessionRecord<'_>,
    pairs: &[ArmPair<'_>],
    not_in_all: &[String],
    styles: &Styles,
) -> String {
    let plan = &new.record.header.plan;
    let kind = |arm: usize| plan.arms[arm].unit;
    let mut out = String::new();
    for pair in pairs {
        answer(&mut out, pair, new.record, styles);
    }
    out.push('\n');
    for (name, session) in old.iter().map(|session| ("old", *session)).chain([("new", new)]) {
        let record = session.record;
        writeln!(out, "{name}  {}  {}", record.header.created, record.path.display()).ok();
    }
    let began =
        |session: &SessionRecord<'_>| session.record.header.created.parse::<Timestamp>().ok();
    if old.iter().any(|session| began(session) > began(&new)) {
        out.push_str("an old session is later than the new one\n");
    }
    for session in old {
        differences(&mut out, &session.record.header.facts, &new.record.header.facts);
        out.extend(neighbours_differ(session.neighbours, new.neighbours));
    }
    for pair in pairs {
        let alike = pairs.iter().filter(|other| kind(other.new.arm) == kind(pair.new.arm));
        let arms = alike.flat_map(|other| other.old.iter().copied().chain([other.new]));
        let t0s = arms.filter_map(ArmSummary::net_t0);
        let unit = unit_of_arms(new.record, pair.new.arm, t0s);
        let location = QuantityWords::location(new.record, pair.new.arm);
        writeln!(out, "\n{}", shorten(&plan.full_label(pair.new.arm), COLUMNS)).ok();
        for (name, arm) in pair.old.iter().map(|arm| ("old", *arm)).chain([("new", pair.new)]) {
            let t0 = t0::arm_text(unit, arm).map(|text| unit.label(&text));
            let t0 = t0.as_deref().unwrap_or("unknown: no finished run");
            writeln!(out, "{name:<8}{location} {t0}").ok();
        }
        let (found, judgement) = (&pair.comparison, &pair.judgement);
        out.push_str(&comparison("new:old", found, judgement, new.record, styles));
        if bound(pair) != RatioBound::Exact {
            let word = bound_word(bound(pair));
            let why = format!("the ratio is {word}this: the {location} of a session is a limit");
            wrap_at(&mut out, COMMAND_INDENT, &why);
        }
        let last = old.last().zip(pair.old.last());
        if let (Some((past, arm)), Evidence::Unpaired { because, .. }) = (last, &found.evidence) {
            let old = &past.record.header.plan.arms[arm.arm];
            offer_one_session(&mut out, old, (new.record, pair.new.arm), *because);
        }
        if let Some(deciles) = &pair.distributions {
            let last = if old.len() > 1 { "the last past session" } else { "old" };
            writeln!(out).ok();
            out.push_str(&distributions::text("new", last, plan, deciles));
        }
    }
    if !not_in_all.is_empty() {
        out.push('\n');
        wrap(&mut out, "not in all sessions: ", 6, &not_in_all.join(", "));
    }
    out
}

/// Appends the answer on one pair. Separate sessions have no verdict, so it is an estimate.
fn answer(out: &mut String, pair: &ArmPair<'_>, new: &Record, styles: &Styles) {
    let (full, label) = (new.header.plan.full_label(pair.new.arm), &*pair.new.label);
    let other = pair.old.last().map(|old| &*old.label).filter(|old| *old != label);
    let labels = other.map_or_else(|| vec![&*full], |old| vec![label, old]);
    let names = distinct(&labels, NAME_MAX);
    // The name of a benchmark does not tell two programs of it apart.
    let is_benchmark = other.is_some() && full != label;
    let of = if is_benchmark { format!("{}: ", shorten(&full, NAME_MAX)) } else { String::new() };
    let name = of + &names[0];
    let text = match &pair.comparison.evidence {
        Evidence::Unpaired { ratio, .. } => {
            let ratio = ratio.of_values(pair.judgement.better);
            let times =
                format!("{}{}", bound_word(bound(pair)), ratio_text(ratio.value, ratio.err));
            let sessions = if pair.old.len() > 1 { "the past sessions" } else { "the old session" };
            let other = names.get(1).map(|old| format!("{old} in "));
            if QuantityWords::of_arm(new, pair.new.arm).is_time() {
                let of = other.as_deref().unwrap_or("in ");
                format!(
                    "{name} took {times} times as long as {of}{sessions}: an estimate, no verdict"
                )
            } else {
                let (is, of) = ("times that of", other.unwrap_or_default());
                format!(
                    "the median of {name} is {times} {is} {of}{sessions}: an estimate, no verdict"
                )
            }
        }
        Evidence::None { because } => {
            format!("{name}: {}", no_test(*because, new.header.plan.policy))
        }
        Evidence::Paired(_) => return,
    };
    wrap_headline(out, styles.attention, &text);
}

/// What limits make of the ratio. A limit among past sessions makes their median one.
fn bound(pair: &ArmPair<'_>) -> RatioBound {
    let is_limit = |arm: &ArmSummary| arm.times.as_ref().is_some_and(|times| times.is_upper_limit);
    RatioBound::of(pair.old.iter().any(|arm| is_limit(arm)), is_limit(pair.new))
}

/// Writes the pairs as one JSON document.
pub fn json<'a>(
    to: &mut impl io::Write,
    old: &[SessionRecord<'a>],
    new: SessionRecord<'a>,
    pairs: &[ArmPair<'_>],
    not_in_all: &[String],
) -> io::Result<()> {
    let document = |session: &SessionRecord<'a>| RecordDocument {
        neighbours: session.neighbours,
        ..RecordDocument::of(session.record)
    };
    let conclusion = conclusion(old, new.record, pairs);
    let old = old.iter().map(document).collect();
    let body = SessionsBody { old, new: document(&new), pairs, not_in_all };
    document::write(to, &body, conclusion, None)
}

/// The answer of separate sessions: estimates, and what would decide.
fn conclusion(old: &[SessionRecord<'_>], new: &Record, pairs: &[ArmPair<'_>]) -> Conclusion {
    let plan = &new.header.plan;
    let effect = |pair: &ArmPair<'_>| {
        let names = [plan.full_label(pair.comparison.arm), "the past sessions".to_owned()];
        comparison_effect(names, &pair.comparison.evidence, &pair.judgement)
    };
    let next = pairs.first().map(|pair| {
        let last = old.last().zip(pair.old.last());
        let old =
            last.map_or("", |(past, arm)| past.record.header.plan.arms[arm.arm].command.as_str());
        let options = quantity_options(new, pair.new.arm);
        measure_together([old, &plan.arms[pair.new.arm].command], options)
    });
    Conclusion {
        effects: pairs.iter().map(effect).collect(),
        measured: pairs.iter().map(|pair| measured_arm(plan, pair.new)).collect(),
        next,
        ..Conclusion::of(FinalVerdict::Undecided)
    }
}

/// A session against past ones.
#[derive(Serialize, JsonSchema)]
pub struct SessionsBody<'a> {
    /// The past sessions.
    old: Vec<RecordDocument<'a>>,
    /// The new one.
    new: RecordDocument<'a>,
    /// Each command of the new session against itself in the past ones.
    pairs: &'a [ArmPair<'a>],
    /// Commands and benchmarks in no pair, because a session lacks them.
    not_in_all: &'a [String],
}

impl DocumentBody for SessionsBody<'_> {
    const NAME: &'static str = "sessions";
}

/// The record of one side of a comparison.
#[derive(Serialize, JsonSchema)]
pub struct RecordDocument<'a> {
    /// Name and version of the program that measured.
    tool: &'a str,
    /// The file of the record.
    record: String,
    /// When the session began, RFC 3339.
    created: &'a str,
    /// The machine and its state at the start.
    facts: &'a Facts,
    /// Programs on the other hardware threads of the cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbours: Option<Neighbours>,
}

impl<'a> RecordDocument<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let header = &record.header;
        Self {
            tool: &header.tool,
            record: path_text(&record.path),
            created: &header.created,
            facts: &header.facts,
            neighbours: None,
        }
    }
}

/// Smallest difference between the shares of runs on a shared core that is worth a remark.
const SHARES_APART: f64 = 0.1;

/// A remark if the other hardware thread of the core was busier in one session.
fn neighbours_differ(old: Option<Neighbours>, new: Option<Neighbours>) -> Option<String> {
    let (old, new) = (old?.share(), new?.share());
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    ((old - new).abs() >= SHARES_APART).then(|| {
        format!(
            "the other thread of the core was busy in {} of the old runs and {} of the new ones\n",
            percent(old),
            percent(new)
        )
    })
}

/// Appends the differences between two machines that affect every time.
fn differences(out: &mut String, old: &Facts, new: &Facts) {
    let of = |facts: &Facts| {
        [
            ("host", facts.host.clone()),
            ("CPU", facts.cpu_model.clone()),
            ("kernel", facts.kernel.clone()),
            ("governors", Some(facts.governors.join(", "))),
            ("turbo", facts.turbo.map(|turbo| turbo.to_string())),
        ]
    };
    for ((name, old), (_, new)) in of(old).into_iter().zip(of(new)).filter(|(old, new)| old != new)
    {
        let [old, new] = [old, new].map(|fact| fact.unwrap_or_else(|| "unknown".into()));
        let text = format!("{name} differs: {old}; now {new}");
        writeln!(out, "{}", shorten(&text, COLUMNS)).ok();
    }
}

/// Appends the command line that times two programs with separate sessions in one: on a line of its own, however long,
/// for copying.
fn offer_one_session(out: &mut String, old: &Arm, new: (&Record, usize), because: NoTest) {
    // The reason itself ends with "time both in one stillwell run".
    let options = quantity_options(new.0, new.1);
    let (NoTest::SeparateRecords, Some(options)) = (because, options) else { return };
    let new = &new.0.header.plan.arms[new.1];
    let is_known = old.command != new.command;
    let old_word = if is_known { word(&old.command) } else { None };
    let new_word = word(&new.command);
    let (old, new) = (old_word.as_deref().unwrap_or("OLD"), new_word.as_deref().unwrap_or("NEW"));
    let mut options = shell_words::join(options);
    options.extend((!options.is_empty()).then_some(' '));
    writeln!(out, "{:COMMAND_INDENT$}stillwell run {options}--reference {old} {new}", "").ok();
    if old_word.is_none() {
        let text = "where OLD runs the old program, kept under another name";
        wrap_at(out, COMMAND_INDENT, text);
    }
}

/// A command as one word of a shell; `None` if the output would escape its characters.
fn word(command: &str) -> Option<String> {
    (one_line(command) == command).then(|| shell_words::quote(command).into_owned())
}

#[cfg(test)]
mod tests;
