//! Output of `check`: verdict, checks, slow start and outliers of each arm.

use std::fmt::Write as _;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap};
use crate::conclusion::{Conclusion, FinalVerdict, find_noise};
use crate::document::{self, DocumentBody};
use crate::quantity::QuantityWords;
use crate::remedies::Audience;
use crate::styles::paint;
use crate::table::cells;
use crate::units::counted;
use crate::{Styles, notes, outliers, table, uncertain};
use analysis::{
    ArmCheck, RUNS_MIN, RecordCheck, Steadiness, SteadinessCheck, SteadinessFlag, raised,
};
use model::words::path_text;
use record::Record;

const INDENT: usize = 3;
/// Widest name of a command in a list of several.
const LABEL_COLUMNS: usize = 40;

/// The error rate of the checks.
const RATE: &str = "Of steady commands, each check flags one in a hundred.";

/// The check of a record.
#[derive(Serialize, JsonSchema)]
pub struct CheckBody<'a> {
    /// Name and version of the program that measured.
    tool: &'a str,
    /// The file of the record.
    record: String,
    /// When the session began, RFC 3339.
    created: &'a str,
    /// The findings.
    check: &'a RecordCheck,
}

impl DocumentBody for CheckBody<'_> {
    const NAME: &'static str = "check";
}

/// Writes the check as one JSON document.
pub fn json(to: &mut impl io::Write, record: &Record, check: &RecordCheck) -> io::Result<()> {
    let header = &record.header;
    let (tool, created) = (&header.tool, &header.created);
    let body = CheckBody { tool, record: path_text(&record.path), created, check };
    let verdict = match check.verdict() {
        Steadiness::Stable => FinalVerdict::Stable,
        Steadiness::Unstable => FinalVerdict::Unstable,
        Steadiness::TooFewRuns | Steadiness::UnfitTimes => FinalVerdict::Undecided,
    };
    let next = (verdict == FinalVerdict::Unstable).then(|| find_noise(record)).flatten();
    document::write(to, &body, Conclusion { next, ..Conclusion::of(verdict) }, None)
}

/// The finding and the remedy; then a block for each candidate, and one for an unstable control. `has_all`: also the
/// statistics of stable commands.
pub fn text(record: &Record, check: &RecordCheck, has_all: bool, styles: &Styles) -> String {
    let mut out = String::new();
    conclusion(&mut out, record, check, styles);
    out.push('\n');
    for arm in &check.arms {
        if arm.is_control {
            control(&mut out, record, arm, styles);
        } else {
            block(&mut out, record, arm, has_all, styles);
        }
    }
    if check.arms.iter().any(|arm| arm.steadiness == Steadiness::Unstable) {
        wrap(&mut out, "", 0, RATE);
    }
    outliers::not_recorded(&mut out, record, check);
    writeln!(out, "record: {}", record.path.display()).ok();
    out
}

/// Whether the commands are stable, and otherwise the consequence and the remedy.
fn conclusion(out: &mut String, record: &Record, check: &RecordCheck, styles: &Styles) {
    let with = |wanted: Steadiness| check.arms.iter().filter(move |arm| arm.steadiness == wanted);
    let commands = check.arms.iter().filter(|arm| !arm.is_control);
    let n = commands.clone().count();
    let unstable: Vec<String> =
        with(Steadiness::Unstable).map(|arm| shorten(&arm.label, LABEL_COLUMNS)).collect();
    let audience = Audience::of(&record.header.plan);
    let n_warmups = commands.filter_map(|arm| Some(arm.slow_start?.n_warmups)).max();
    let for_start = n_warmups.map(|n| format!("for the slow start, {}", audience.warmups(n)));
    let n_few = with(Steadiness::TooFewRuns).count();
    let n_unfit = with(Steadiness::UnfitTimes).count();
    if unstable.is_empty() {
        let (style, text) = match n_few + n_unfit {
            0 => (styles.same, format!("Stable: {}.", counted(n, "command"))),
            k => {
                let of = counted(k, "command");
                let series = QuantityWords::of(&record.header.plan).series();
                let needs = match (n_few, n_unfit) {
                    (_, 0) => format!("{RUNS_MIN} runs"),
                    (0, _) => format!("{series} above 0"),
                    _ => format!("{RUNS_MIN} runs, and {series} above 0"),
                };
                (styles.attention, format!("Not known of {of}: the check needs {needs}."))
            }
        };
        writeln!(out, "{}", paint(style, &text)).ok();
        if let Some(remedy) = for_start {
            wrap(out, "remedy: ", 8, &remedy);
        }
        return;
    }
    let mut lines = String::new();
    wrap(&mut lines, "Not stable: ", 12, &unstable.join(", "));
    out.push_str(&lines.replacen("Not stable", &paint(styles.attention, "Not stable"), 1));
    let are_t0s = with(Steadiness::Unstable).all(|arm| QuantityWords::has_t0(record, arm.arm));
    let of = if are_t0s { "t0" } else { "median" };
    let meaning = format!(
        "the machine or the program changed during the session, or has several speeds. {of} +- err is less certain \
         than its +- says. A comparison of commands that ran in turns is exact all the same."
    );
    wrap(out, "meaning: ", 9, &meaning);
    let file = one_line(&record.path.to_string_lossy());
    let noise = find_noise(record).map_or_else(String::new, |_| {
        format!("`stillwell noise {file}` names what took the time; then ")
    });
    let mut remedy = format!("{noise}measure again with {}", audience.own_cpu());
    remedy.extend(for_start.map(|it| format!("; {it}")));
    wrap(out, "remedy: ", 8, &remedy);
}

fn control(out: &mut String, record: &Record, arm: &ArmCheck, styles: &Styles) {
    if arm.steadiness == Steadiness::Unstable {
        writeln!(out, "{} (it is subtracted)", shorten(&arm.label, COLUMNS - 20)).ok();
        verdict(out, record, arm, styles);
        out.push('\n');
    }
}

fn block(out: &mut String, record: &Record, arm: &ArmCheck, has_all: bool, styles: &Styles) {
    let number = format!("{:<INDENT$}", arm.arm + 1);
    writeln!(out, "{number}{}", shorten(&arm.label, COLUMNS - number.len())).ok();
    verdict(out, record, arm, styles);
    if has_all || arm.steadiness == Steadiness::Unstable {
        table(out, &arm.checks);
    }
    if let Some(start) = arm.slow_start {
        let is_time = QuantityWords::of_arm(record, arm.arm).is_time();
        let were = if is_time { "were slower" } else { "had higher values" };
        let text = format!(
            "slow start: the first {} runs {were} than nine in ten of the later ones",
            start.n_runs
        );
        wrap(out, "   ", INDENT, &text);
    }
    outliers::block(out, record, arm);
    out.push('\n');
}

fn verdict(out: &mut String, record: &Record, arm: &ArmCheck, styles: &Styles) {
    let n_runs = arm.n_runs;
    let (style, verdict, more) = match arm.steadiness {
        Steadiness::Stable => (styles.same, "stable", format!(", n {n_runs}")),
        Steadiness::Unstable => {
            let flags = notes::flags(&raised(&arm.checks));
            (styles.attention, "not stable", format!(", n {n_runs}: {flags}"))
        }
        Steadiness::TooFewRuns => {
            let more = format!(" (needs {RUNS_MIN}), n {n_runs}");
            (styles.attention, "too few runs to tell", more)
        }
        Steadiness::UnfitTimes => {
            let is_time = QuantityWords::of_arm(record, arm.arm).is_time();
            let why = if is_time { "a run took no time" } else { "a value is not above 0" };
            (styles.attention, "cannot be told", format!(", n {n_runs}: {why}"))
        }
    };
    let mut lines = String::new();
    wrap(&mut lines, "   ", INDENT, &format!("{verdict}{more}"));
    // Colours come after wrapping, which counts visible characters.
    out.push_str(&lines.replacen(verdict, &paint(style, verdict), 1));
}

/// Appends one line for each check: statistic, size, and the limits that raise its flag.
fn table(out: &mut String, checks: &[SteadinessCheck]) {
    if checks.is_empty() {
        return;
    }
    let heading = cells(&["check", "statistic", "value", "limit", "size", "limit", ""]);
    let rows = std::iter::once(heading).chain(checks.iter().map(row)).collect();
    for line in table::plain(rows, &[2, 3, 4, 5]).lines() {
        writeln!(out, "{:INDENT$}{line}", "").ok();
    }
}

fn row(check: &SteadinessCheck) -> Vec<String> {
    let z = |value: f64| uncertain::fixed(value, 3);
    let small = |value: f64| uncertain::trimmed(value, 3);
    let (name, statistic, write, sign): (_, _, &dyn Fn(f64) -> String, _) = match check.flag {
        SteadinessFlag::Correlated { .. } => ("correlated", "von Neumann z", &z, "<"),
        SteadinessFlag::Drifting { .. } => ("drifting", "Mann-Kendall z", &z, "±"),
        SteadinessFlag::Stepped { .. } => ("stepped", "CUSUM z", &z, ">"),
        SteadinessFlag::Modes { .. } => ("modes", "dip", &small, ">"),
        SteadinessFlag::FloorMoved { .. } => ("floor moved", "p", &small, "<="),
    };
    let size = match check.flag {
        SteadinessFlag::Correlated { n_eff, .. } => format!("worth {}", uncertain::fixed(n_eff, 0)),
        SteadinessFlag::Drifting { change } | SteadinessFlag::Stepped { change, .. } => {
            notes::change_of(change)
        }
        SteadinessFlag::Modes { spread } | SteadinessFlag::FloorMoved { spread } => {
            notes::size_of(spread)
        }
    };
    let size_limit = check
        .size_limit
        .map_or_else(String::new, |limit| format!("> {} %", uncertain::trimmed(limit * 100.0, 2)));
    vec![
        name.into(),
        statistic.into(),
        write(check.statistic),
        format!("{sign} {}", write(check.limit)),
        size,
        size_limit,
        if check.raised { "raised" } else { "" }.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::width;
    use analysis::check_record;
    use model::values::metric::Metric;
    use model::values::{DecideOn, ValueUnit};
    use record::fixture::{record, row, run};
    use record::{ImportedFile, Rows};

    /// Output of `check` for one arm with these times.
    fn shown(label: &str, times_ns: impl Iterator<Item = u64>) -> String {
        let mut record = record(&[label]);
        (0..).zip(times_ns).for_each(|(block, ns)| run(&mut record, 0, Some(block), ns));
        let text = text(&record, &check_record(&record), true, &Styles::default());
        for line in text.lines() {
            assert!(width(line) <= COLUMNS && line.trim_end() == line, "{line:?}");
        }
        text
    }

    #[test]
    fn extremes_stay_in_80_columns() {
        let (day_ns, label) = (86_400_000_000_000, "日本 command ".repeat(20));
        let jump = (0..50).map(|i| if i < 25 { 1 } else { day_ns + i });
        let text = shown(label.trim_end(), jump);
        assert!(text.contains("not stable, n 50: "), "{text}");
        let spikes = (0..50).map(|i| if i % 10 == 9 { day_ns + i } else { 1000 + i % 3 });
        let text = shown(label.trim_end(), spikes);
        assert!(text.contains("outliers: 5 of 50 runs are above 1.0"), "{text}");
        assert!(text.contains("missing: preempted"), "{text}");
    }

    /// Two slow starts have one remedy, also if the times are stable apart from them.
    #[test]
    fn slow_starts_have_one_remedy() {
        let mut record = record(&["a", "b"]);
        for (arm, n_slow) in [(0, 2), (1, 3)] {
            for block in 0..40 {
                let at = u64::from(block);
                let ns = 1_000_000 + (at * at * 7919 + at * 104_729) % 10_007;
                let times = if block < n_slow { 2 } else { 1 };
                run(&mut record, arm, Some(block), ns * times);
            }
        }
        let found = check_record(&record);
        assert!(found.arms.iter().all(|arm| arm.slow_start.is_some()), "{found:?}");
        let text = text(&record, &found, false, &Styles::default());
        assert_eq!(text.matches("slow start: ").count(), 2, "{text}");
        assert_eq!(text.matches("--warmup").count(), 1, "{text}");
    }

    #[test]
    fn nothing_to_tell_from() {
        assert!(shown("a", std::iter::empty()).contains("too few runs to tell (needs 20), n 0"));
        let text = shown("a", std::iter::repeat_n(0, 20));
        assert!(text.contains("cannot be told, n 20: a run took no time"), "{text}");
        assert!(text.contains("Not known of 1 command: the check needs times above 0."), "{text}");
        let text = shown_values(std::iter::repeat_n(-5.0, 30));
        assert!(text.contains("cannot be told, n 30: a value is not above 0"), "{text}");
        assert!(text.contains("the check needs values above 0."), "{text}");
        let text = shown("a", std::iter::repeat_n(7, 20));
        assert!(text.contains("stable, n 20\n") && !text.contains("correlated"), "{text}");
    }

    /// Output of `check` for one arm with values of its own that decide.
    fn shown_values(values: impl Iterator<Item = f64>) -> String {
        let mut record = record(&["a"]);
        let plan = &mut record.header.plan;
        plan.policy.decide_on = Some(DecideOn::Value);
        plan.arms[0].unit = ValueUnit::Count;
        record.rows = Rows::of(plan.policy.compared());
        for (step, value) in (0..).zip(values) {
            let mut row = row(step, 0, Some(step), 1000);
            row.value = Some(value);
            row.set(Metric::UserUs, Some(100 * u64::from(step)));
            record.rows.push(&row);
        }
        let text = text(&record, &check_record(&record), false, &Styles::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// `noise` refuses a record without times to compare.
    #[test]
    fn values_have_no_t0_and_no_noise() {
        let text = shown_values((0..60).map(|run| 100.0 + f64::from(run)));
        assert!(text.contains("median +- err is less certain"), "{text}");
        assert!(text.contains("remedy: measure again with --isolate"), "{text}");
    }

    /// The benchmarks of another program's file may have different quantities.
    #[test]
    fn times_beside_values_have_a_t0() {
        let mut record = record(&["a", "b"]);
        record.header.imported = Some(ImportedFile::default());
        record.header.plan.arms[1].unit = ValueUnit::Count;
        (0..60).for_each(|i| run(&mut record, 0, Some(i), 1000 + 10 * u64::from(i)));
        let text = text(&record, &check_record(&record), false, &Styles::default());
        assert!(text.contains("t0 +- err is"), "{text}");
    }

    /// No time is a part of a value, and none explains it.
    #[test]
    fn outliers_among_values_are_no_times() {
        let text =
            shown_values((0..40).map(|i| if i < 39 { 1000.0 + f64::from(i % 3) } else { 1900.0 }));
        let expected = "outliers: 1 of 40 runs is above 1008, 899 above the median in all; no cause recorded run \
                        block value excess cause 40 39 1900 899 no cause recorded";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("CPU time") && !text.contains("evidence"), "{text}");
    }

    #[test]
    fn the_verdict_is_coloured_and_not_counted() {
        let mut record = record(&["a"]);
        (0..60).for_each(|i| run(&mut record, 0, Some(i), 1000 + 10 * u64::from(i)));
        let check = check_record(&record);
        let colored = text(&record, &check, true, &Styles::colored());
        assert!(
            host::terminal::escaped(&colored).contains("\u{1b}[33mnot stable\u{1b}[0m, n 60: "),
            "{colored:?}"
        );
        let stripped = anstream::adapter::strip_str(&colored).to_string();
        assert_eq!(stripped, text(&record, &check, true, &Styles::default()));
    }
}
