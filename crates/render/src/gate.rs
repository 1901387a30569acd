//! The answer to `--fail-on` in one line, for logs of continuous integration: people read only their end.

use crate::budget::to_decide;
use crate::columns::log_line;
use crate::names::short_label;
use crate::quantity::QuantityWords;
use crate::ratios::{exact_text, ratio_and_interval, repeats};
use crate::text::{margin, no_test};
use crate::uncertain;
use crate::units::unit_in_record;
use analysis::ceilings::worst;
use analysis::verdict::{Gate, GateAnswer, Judged, Judgement, Verdict};
use analysis::{CeilingAnswer, Evidence};
use model::values::{Better, Ceiling, FailOn, exit_code};
use record::plan::Plan;
use record::{EndReason, Record};
use stats::Interval;

/// Columns of a name.
const NAME_MAX: usize = 30;

/// A line for each question of the gate: how much slower, and how large at most. `ceilings`: the result for each
/// limited value.
pub fn lines(judged: Judged<'_>, ceilings: &[CeilingAnswer], fail_on: FailOn, code: u8) -> String {
    let plan = &judged.record.header.plan;
    let of_slowdowns = Gate::of(judged.judgements, fail_on).answer;
    let answers = ceilings.iter().map(|it| it.answer);
    let answer = answers.fold(of_slowdowns, GateAnswer::max);
    let early_end = early_end(judged, answer, code).filter(|_| code != answer.exit_code());
    if let Some(why) = early_end {
        return log_line(&format!("gate: not decided: {why}, exit code {code}"));
    }
    let mut text = String::new();
    if fail_on.slower_pct.is_some() {
        text += &line(judged, fail_on, code);
    }
    if let (Some(ceiling), Some(worst)) = (fail_on.above, worst(ceilings)) {
        let name = short_label(plan, worst.arm, NAME_MAX);
        let of = match ceilings.len() {
            1 => String::new(),
            n => format!(" (the largest of {n})"),
        };
        let word = word(worst.answer);
        let about = at_most(worst, ceiling, judged.record);
        text += &log_line(&format!("gate: {word}: {name}{of} {about}, exit code {code}"));
    }
    text
}

/// Why there is no answer. A file that cannot be written changes only the exit code, and what failed in one benchmark
/// takes nothing from a slowdown of another.
fn early_end(judged: Judged<'_>, answer: GateAnswer, code: u8) -> Option<&'static str> {
    let is_suite = !judged.record.parts.is_empty();
    match judged.analysis.end {
        end if code == exit_code::INTERRUPTED || end == Some(EndReason::Interrupted) => {
            Some("the session was interrupted")
        }
        Some(EndReason::Complete | EndReason::Decided | EndReason::Precise) => None,
        Some(EndReason::Failed | EndReason::TimedOut) if is_suite => {
            (answer != GateAnswer::Fail).then_some("a benchmark fails")
        }
        Some(EndReason::Failed | EndReason::TimedOut) => Some("a run failed"),
        Some(EndReason::Interrupted | EndReason::RecordFull) | None => {
            Some("the session did not come to its end")
        }
    }
}

fn word(answer: GateAnswer) -> &'static str {
    match answer {
        GateAnswer::Pass => "pass",
        GateAnswer::Fail => "fail",
        GateAnswer::Undecided => "not decided",
    }
}

/// The interval of a value, relative to the ceiling: `takes 21.2 to 21.4 ms, all of it above 20ms`.
pub fn at_most(answer: &CeilingAnswer, ceiling: Ceiling, record: &Record) -> String {
    let arm = &record.header.plan.arms[answer.arm];
    let unit_for = |value| unit_in_record(record, answer.arm, value);
    let Interval { lo, hi } = answer.interval;
    let text = |value: f64| {
        let unit = unit_for(value);
        let shown = |digits: i32| uncertain::significant(value / unit.size, digits);
        // Enough digits to show the side of the ceiling truthfully.
        let is_true = |digits: &i32| {
            let seen = shown(*digits).parse().map_or(value, |seen: f64| seen * unit.size);
            (seen > ceiling.value) == (value > ceiling.value)
        };
        unit.label(&shown((3..9).find(is_true).unwrap_or(9)))
    };
    let verb = if arm.unit.is_time() { "takes" } else { "has" };
    let range = match (lo.is_finite(), hi.is_finite()) {
        (true, true) if lo.total_cmp(&hi).is_eq() => format!("{verb} {}", text(lo)),
        (true, true) => format!("{verb} {} to {}", text(lo), text(hi)),
        (false, true) => format!("{verb} at most {}", text(hi)),
        (true, false) => format!("{verb} at least {}", text(lo)),
        (false, false) => return "has too few runs for an error".into(),
    };
    let unit = unit_for(ceiling.value);
    let most = unit.label(&uncertain::trimmed(ceiling.value / unit.size, 6));
    match answer.answer {
        GateAnswer::Fail => format!("{range}, all of it above {most}"),
        GateAnswer::Pass => format!("{range}, none of it above {most}"),
        GateAnswer::Undecided => format!("{range}, so more than {most} is not excluded"),
    }
}

/// The line about slowdowns. `code`: exit code of the whole program.
fn line(judged: Judged<'_>, fail_on: FailOn, code: u8) -> String {
    let Judged { record, analysis, judgements } = judged;
    let plan = &record.header.plan;
    let gate = Gate::of(judgements, fail_on);
    let word = word(gate.answer);
    let Some(at) = gate.by else {
        return log_line(&format!("gate: {word}: nothing is compared, exit code {code}"));
    };
    let (comparison, judgement) = (&analysis.comparisons[at], &judgements[at]);
    let name = |arm: usize| short_label(plan, arm, NAME_MAX);
    let (new, old) = (name(comparison.arm), name(comparison.reference));
    let of = match judgements.len() {
        1 => String::new(),
        n if QuantityWords::of(plan).is_time() => {
            format!(" (the slowest of {n} comparisons)")
        }
        n => format!(" (the worst of {n} comparisons)"),
    };
    let (by, remedy) = evidence(&comparison.evidence, judgement, gate.answer, fail_on, plan);
    log_line(&format!("gate: {word}: {new} against {old}{of} {by}, exit code {code}{remedy}"))
}

/// The line for records of different sessions, which never have a verdict.
pub fn line_without_verdict(code: u8) -> String {
    log_line(&format!(
        "gate: not decided: separate sessions have no verdict, exit code {code}; time both programs in one session"
    ))
}

/// The interval relative to the limit, and what would decide.
fn evidence(
    evidence: &Evidence,
    judgement: &Judgement,
    answer: GateAnswer,
    fail_on: FailOn,
    plan: &Plan,
) -> (String, String) {
    let policy = plan.policy;
    let paired = match evidence.test() {
        Ok(paired) => paired,
        Err(because) => {
            return (format!("has no verdict: {}", no_test(because, policy)), String::new());
        }
    };
    let limit = fail_on.limit();
    let (of_costs, shown) = (judgement.interval.unwrap_or(paired.ratio), judgement.shown(paired));
    let quantity = QuantityWords::of(plan);
    let level = uncertain::trimmed((1.0 - paired.alpha) * 100.0, 6);
    let interval = match paired.repeats {
        true => format!("{}, which {}", quantity.times(&exact_text(shown.ratio)), repeats(shown)),
        false => format!("{} at {level} %", quantity.times(&ratio_and_interval(shown))),
    };
    let (above, beyond, more) = match judgement.better {
        Better::Lower => (uncertain::trimmed(limit, 6), "above", "more"),
        Better::Higher => (uncertain::significant(1.0 / limit, 4), "below", "less"),
    };
    if answer == GateAnswer::Fail {
        return (format!("{interval}, all of it {beyond} {above}"), String::new());
    }
    if answer == GateAnswer::Pass {
        let why = if judgement.verdict == Verdict::Faster {
            format!("so it is {}", quantity.verdict(Verdict::Faster).to_lowercase())
        } else if of_costs.hi <= limit {
            format!("none of it {beyond} {above}")
        } else {
            format!("the same within {}", margin(policy))
        };
        return (format!("{interval}, {why}"), String::new());
    }
    let why = match judgement.is_within(limit) {
        true => open_mean(judgement, &quantity),
        false => format!("so {more} than {above} is not excluded"),
    };
    let remedy = match judgement.verdict {
        Verdict::Undecided => format!("; {}", to_decide(paired, plan)),
        _ => "; more runs may decide".into(),
    };
    (format!("{interval}, {why}"), remedy)
}

/// Why a ratio within the limit does not pass: rare slow runs may make its mean worse.
pub(super) fn open_mean(judgement: &Judgement, quantity: &QuantityWords) -> String {
    let hi = judgement.mean_hi.unwrap_or(f64::INFINITY);
    let shown = uncertain::significant(hi, 3);
    match judgement.better {
        _ if hi.is_infinite() => "but its mean has no upper limit yet".into(),
        Better::Lower if quantity.is_time() => {
            format!("but its mean may be {shown} times as long")
        }
        _ => format!("but its mean may be worse by a factor of {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysis, compare, judgements, paired};
    use analysis::{PairedTest, RatioInterval};
    use model::spec::RunSpec;
    use model::values::{DecideOn, ValueUnit};
    use record::fixture::{from_spec, record};

    /// With `--runs` there is no budget that could be longer.
    #[test]
    fn an_open_mean_asks_for_more_runs() {
        let record = record(&["old", "new"]);
        let mut analysis = analysis(&record, &[12.3e6, 14.3e6]);
        let mean_ratio = RatioInterval { ratio: 1.16, lo: 0.0, hi: f64::INFINITY };
        let test = PairedTest { mean_ratio, ..paired(1.16, 1.12, 1.22) };
        compare(&mut analysis, 1, Evidence::Paired(test));
        let judgements = judgements(&record, &analysis);
        let judged = Judged { record: &record, analysis: &analysis, judgements: &judgements };
        let text = lines(judged, &[], FailOn::slower(50.0), GateAnswer::Undecided.exit_code());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "but its mean has no upper limit yet, exit code 3; more runs may decide";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_failed_benchmark_hides_no_slowdown_of_another() {
        let mut suite = record(&["old", "new"]);
        suite.parts.push(record(&["old", "new"]));
        let line = |ratio: f64, end: EndReason, code: u8| {
            let mut analysis = analysis(&suite, &[10e6, 10e6 * ratio]);
            analysis.end = Some(end);
            let test = paired(ratio, ratio - 0.005, ratio + 0.005);
            compare(&mut analysis, 1, Evidence::Paired(test));
            let judgements = judgements(&suite, &analysis);
            let judged = Judged { record: &suite, analysis: &analysis, judgements: &judgements };
            let text = lines(judged, &[], FailOn::slower(2.0), code);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        // Also where a file cannot be written.
        for end in [EndReason::Failed, EndReason::Complete] {
            let said = line(1.05, end, 2);
            assert!(said.starts_with("gate: fail: new against old takes 1.05"), "{said}");
            assert!(said.ends_with("all of it above 1.02, exit code 2"), "{said}");
        }
        let said = line(1.0, EndReason::Failed, 2);
        assert_eq!(said, "gate: not decided: a benchmark fails, exit code 2");
        let said = line(1.05, EndReason::Interrupted, 130);
        assert!(line(1.05, EndReason::Interrupted, 2).contains("was interrupted"));
        assert_eq!(said, "gate: not decided: the session was interrupted, exit code 130");
    }

    /// The joined plan of a suite names no quantity.
    #[test]
    fn a_ceiling_has_the_unit_of_what_decides_in_its_benchmark() {
        let mut spec = RunSpec { commands: vec!["a".into()], ..RunSpec::default() };
        let value = &mut spec.process.execution.value;
        (value.value, value.value_unit) = (Some("x".into()), Some("req/s".into()));
        let mut suite = from_spec(spec.clone());
        spec.judgement.decide_on = Some(DecideOn::Faults);
        suite.parts.push(from_spec(spec));
        let (answer, interval) = (GateAnswer::Pass, Interval { lo: 3.0, hi: 5.0 });
        let ceiling = Ceiling { value: 9.0, unit: ValueUnit::Count };
        let text = at_most(&CeilingAnswer { arm: 0, answer, interval }, ceiling, &suite);
        assert_eq!(text, "has 3.00 to 5.00, none of it above 9");
    }
}
