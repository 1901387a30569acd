//! Outliers in words: their number, the largest ones, and the causes of their lost time.

use crate::columns::wrap;
use crate::quantity::QuantityWords;
use crate::uncertain;
use crate::units::{short_time, unit_in_record, unit_of_arms};
use analysis::{ArmCheck, Cause, CountName, ExcessTime, Outlier, RecordCheck, UncertainValue};
use record::Record;

const INDENT: usize = 3;

/// Appends the number of an arm's outliers, their total excess, and a table of the largest.
pub(super) fn block(out: &mut String, record: &Record, arm: &ArmCheck) {
    let Some(outliers) = &arm.outliers else { return };
    if outliers.n == 0 {
        out.push_str("   outliers: none\n");
        return;
    }
    let short = |value: f64| {
        let unit = unit_in_record(record, arm.arm, value);
        unit.label(&uncertain::significant(value / unit.size, 3))
    };
    let are = if outliers.n == 1 { "is" } else { "are" };
    let mut text = format!(
        "outliers: {} of {} runs {are} above {}, {} above the median in all",
        outliers.n,
        arm.n_runs,
        short(outliers.fence_ns),
        short(outliers.total.excess_ns)
    );
    let parts = parts(&outliers.total);
    if !parts.is_empty() {
        text += &format!(": {}", parts.join(", "));
    }
    match (outliers.n_without_cause, outliers.n) {
        (0, _) => {}
        (n, all) if n == all => text += "; no cause recorded",
        (n, _) => text += &format!("; {n} without a recorded cause"),
    }
    if outliers.largest.len() < outliers.n {
        text += &format!("; the {} largest:", outliers.largest.len());
    }
    wrap(out, "   ", INDENT, &text);
    table(out, record, arm.arm, &outliers.largest);
}

/// The parts of the excess time above 1 %, relative to the median run.
fn parts(lost: &ExcessTime) -> Vec<String> {
    let named = [
        (lost.preempted_ns, "preempted"),
        (lost.queued_ns, "waiting for a CPU"),
        (lost.cpu_ns, "CPU time of their own"),
    ];
    let is_shown = |ns: &f64| *ns > 0.01 * lost.excess_ns;
    let parts = named.into_iter().filter_map(|(ns, what)| Some((ns.filter(is_shown)?, what)));
    parts.map(|(ns, what)| format!("{} {what}", short_time(ns))).collect()
}

/// Appends a line for each outlier: run, block, value, excess, cause. A long cause wraps below itself.
fn table(out: &mut String, record: &Record, arm: usize, outliers: &[Outlier]) {
    let values = outliers.iter().map(|it| UncertainValue { value: it.wall_ns, err: None });
    let unit = unit_of_arms(record, arm, values);
    let what = if QuantityWords::has_t0(record, arm) { "time" } else { "value" };
    let cells = |outlier: &Outlier| {
        [
            outlier.run.to_string(),
            outlier.block.to_string(),
            unit.number(outlier.wall_ns, None),
            unit.number(outlier.lost.excess_ns, None),
        ]
    };
    let headings = ["run", "block", &unit.heading(what), "excess"].map(String::from);
    let rows: Vec<[String; 4]> = outliers.iter().map(cells).collect();
    let width = |column: usize| {
        let all = std::iter::once(&headings).chain(&rows);
        all.map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  "));
        " ".repeat(INDENT) + &cells.collect::<String>()
    };
    let indent = INDENT + widths.iter().sum::<usize>() + 2 * widths.len();
    wrap(out, &line(&headings), indent, "cause");
    for (row, outlier) in rows.iter().zip(outliers) {
        wrap(out, &line(row), indent, &causes(outlier));
    }
}

fn causes(outlier: &Outlier) -> String {
    let excess_ns = outlier.lost.excess_ns;
    let amount = |ns: f64| {
        // Preemption is summed over all threads, so it can exceed the run's excess.
        let of = if ns > excess_ns { " over all threads" } else { "" };
        format!("{} of the {}{of}", short_time(ns), short_time(excess_ns))
    };
    let cause = |cause: &Cause| match *cause {
        Cause::Preempted { ns } => format!("preempted {}", amount(ns)),
        Cause::Queued { ns } => format!("waited for a CPU {}", amount(ns)),
        Cause::Exit { status } if status < 0 => format!("ended by signal {}", -status),
        Cause::Exit { status } => format!("exited with {status}"),
        Cause::Count { metric, n, typical } => {
            let what = match metric {
                CountName::MajorFaults => "faults read from a device",
                CountName::Migrations => "moves to another CPU",
                CountName::InvoluntarySwitches => "times the CPU was taken",
                CountName::VoluntarySwitches => "times it waited for something",
            };
            format!("{n} {what} (typical {})", uncertain::trimmed(typical, 2))
        }
    };
    if !outlier.causes.is_empty() {
        return outlier.causes.iter().map(cause).collect::<Vec<_>>().join(", ");
    }
    let own = outlier.lost.cpu_ns.filter(|ns| *ns > 0.5 * excess_ns);
    let own =
        own.map_or_else(String::new, |ns| format!("; {} CPU time of its own", short_time(ns)));
    format!("no cause recorded{own}")
}

/// Appends a note on missing evidence for causes, if there are outliers among times.
pub(super) fn not_recorded(out: &mut String, record: &Record, check: &RecordCheck) {
    let has_outliers = |arm: &ArmCheck| arm.outliers.as_ref().is_some_and(|it| it.n > 0);
    let is_for = |arm: &ArmCheck| has_outliers(arm) && QuantityWords::has_t0(record, arm.arm);
    if !check.arms.iter().any(is_for) || check.not_recorded.is_empty() {
        return;
    }
    let names = check.not_recorded.join(", ");
    let why = if record.header.plan.evidence {
        "not on this machine (why: `stillwell show --json`, gaps)"
    } else {
        "--metrics wall collects none of it"
    };
    wrap(out, "", 0, &format!("evidence that would name causes, but is missing: {names}; {why}"));
}
