//! Outliers in words: their number, the largest ones, and the causes of their lost time.

use crate::columns::wrap;
use crate::uncertain;
use crate::units::{DisplayUnit, UnitKind, requested_unit, short_time};
use analysis::{Cause, CountName, ExcessTime, Outlier, Outliers, RecordCheck};
use record::plan::Plan;

const INDENT: usize = 3;

/// Appends the number of outliers, their total excess time, and a table of the largest.
pub(super) fn block(out: &mut String, plan: &Plan, outliers: &Outliers, n_runs: usize) {
    if outliers.n == 0 {
        out.push_str("   outliers: none\n");
        return;
    }
    let fence = short_time(outliers.fence_ns);
    let are = if outliers.n == 1 { "is" } else { "are" };
    let mut text = format!(
        "outliers: {} of {n_runs} runs {are} above {fence}, {} above the median in all",
        outliers.n,
        short_time(outliers.total.excess_ns)
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
    table(out, plan, &outliers.largest);
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

/// Appends a line for each outlier: run, block, time, excess, cause. A long cause wraps below itself.
fn table(out: &mut String, plan: &Plan, outliers: &[Outlier]) {
    let walls = outliers.iter().map(|outlier| outlier.wall_ns);
    let unit = DisplayUnit::choose(UnitKind::Time, requested_unit(&plan.metrics, "wall"), walls);
    let cells = |outlier: &Outlier| {
        [
            outlier.run.to_string(),
            outlier.block.to_string(),
            unit.number(outlier.wall_ns, None),
            unit.number(outlier.lost.excess_ns, None),
        ]
    };
    let headings = ["run", "block", &unit.heading("time"), "excess"].map(String::from);
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

/// Appends a note on missing evidence for causes, if there are outliers.
pub(super) fn not_recorded(out: &mut String, plan: &Plan, check: &RecordCheck) {
    let has_outliers =
        check.arms.iter().any(|arm| arm.outliers.as_ref().is_some_and(|outliers| outliers.n > 0));
    if !has_outliers || check.not_recorded.is_empty() {
        return;
    }
    let names = check.not_recorded.join(", ");
    let why = if plan.evidence {
        "not on this machine (why: `stillwell show --json`, gaps)"
    } else {
        "--metrics wall collects none of it"
    };
    wrap(out, "", 0, &format!("evidence that would name causes, but is missing: {names}; {why}"));
}
