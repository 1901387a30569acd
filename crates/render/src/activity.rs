//! The counts of the runs with their rates, for `show --verbose` and the report.

use std::fmt::Write as _;

use crate::columns::{COLUMNS, shorten, wrap};
use crate::units::{DisplayUnit, counted};
use crate::{table, uncertain};
use analysis::{Activity, CountKind, RunCount};
use model::values::ValueUnit;

const INDENT: usize = 3;

/// The counts of an arm: a heading, and a line for each count. `number` is the arm's number.
pub fn text(number: usize, label: &str, activity: &Activity) -> String {
    let runs = counted(activity.n_runs, "run");
    let heading = format!("counts of {number}, means of {runs}: ");
    let room = COLUMNS.saturating_sub(heading.len());
    let mut out = format!("{heading}{}\n", shorten(label, room));
    let rows = activity.counts.iter().map(row).collect();
    for line in table::plain(rows, &[1]).lines() {
        writeln!(out, "{:INDENT$}{line}", "").ok();
    }
    if let Some(share) = activity.counting_share {
        let share = percent(share.value, share.err);
        let text = format!(
            "the processor's events shared its registers and were counted for {share} of the time; the counts are scaled up"
        );
        wrap(&mut out, "   ", INDENT, &text);
    }
    out
}

fn row(count: &RunCount) -> Vec<String> {
    vec![name(count.what).to_owned(), per_run(count), rate(count).unwrap_or_default()]
}

pub(super) fn name(what: CountKind) -> &'static str {
    match what {
        CountKind::TaskClock => "task clock, from execve on",
        CountKind::CpuTime => "CPU time",
        CountKind::Switches => "context switches",
        CountKind::Migrations => "moves to another CPU",
        CountKind::Faults => "page faults",
        CountKind::Cycles => "cycles",
        CountKind::Instructions => "instructions",
        CountKind::Branches => "branches",
        CountKind::BranchMisses => "branch misses",
        CountKind::CacheReferences => "cache references",
        CountKind::CacheMisses => "cache misses",
    }
}

pub(super) fn per_run(count: &RunCount) -> String {
    let kind = match count.what {
        CountKind::TaskClock | CountKind::CpuTime => ValueUnit::Time,
        _ => ValueUnit::Count,
    };
    with_unit(kind, count.per_run.value, count.per_run.err)
}

pub(super) fn rate(count: &RunCount) -> Option<String> {
    // Nothing has no rate worth reading.
    let rate = count.rate.filter(|_| count.per_run.value != 0.0)?;
    // An error of 0 would give the value all its digits.
    let err = rate.err.filter(|err| *err > 0.0);
    let number =
        |factor: f64| DisplayUnit::ONE.uncertain(rate.value * factor, err.map(|err| err * factor));
    Some(match count.what {
        CountKind::TaskClock | CountKind::CpuTime => format!("{} CPUs in use", number(1.0)),
        CountKind::Cycles => format!("{} GHz", number(1e-9)),
        CountKind::Instructions => format!("{} a cycle", number(1.0)),
        CountKind::BranchMisses => format!("{} of the branches", percent(rate.value, err)),
        CountKind::CacheMisses => format!("{} of the references", percent(rate.value, err)),
        CountKind::Switches
        | CountKind::Migrations
        | CountKind::Faults
        | CountKind::Branches
        | CountKind::CacheReferences => {
            format!("{} a CPU second", with_unit(ValueUnit::Count, rate.value, err))
        }
    })
}

fn with_unit(kind: ValueUnit, value: f64, err: Option<f64>) -> String {
    let unit = DisplayUnit::for_largest(kind, uncertain::as_shown(value, err));
    unit.label(&unit.uncertain(value, err))
}

fn percent(fraction: f64, err: Option<f64>) -> String {
    format!("{} %", DisplayUnit::ONE.uncertain(fraction * 100.0, err.map(|err| err * 100.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::UncertainValue;

    fn count(what: CountKind, per_run: [f64; 2], rate: [f64; 2]) -> RunCount {
        let of = |[value, err]: [f64; 2]| UncertainValue { value, err: Some(err) };
        RunCount { what, per_run: of(per_run), rate: Some(of(rate)) }
    }

    #[test]
    fn counts_and_rates_have_their_units() {
        let activity = Activity {
            n_runs: 24,
            counts: vec![
                count(CountKind::TaskClock, [12.345e6, 0.012e6], [0.998, 0.001]),
                count(CountKind::Switches, [1.5, 0.2], [121.5, 16.0]),
                count(CountKind::Faults, [139.0, 0.0], [11260.0, 11.0]),
                count(CountKind::Cycles, [41.2e6, 0.1e6], [3.337e9, 0.004e9]),
                count(CountKind::Instructions, [96.1e6, 0.2e6], [2.333, 0.004]),
                count(CountKind::BranchMisses, [7300.0, 40.0], [0.00412, 0.00003]),
            ],
            counting_share: Some(UncertainValue { value: 0.83, err: None }),
        };
        let expected = "\
counts of 2, means of 24 runs: sort
   task clock, from execve on  12.345 +- 0.012 ms  0.9980 +- 0.0010 CPUs in use
   context switches                  1.50 +- 0.20  122 +- 16 a CPU second
   page faults                           139 +- 0  11260 +- 11 a CPU second
   cycles                         41.20 +- 0.10 M  3.3370 +- 0.0040 GHz
   instructions                   96.10 +- 0.20 M  2.3330 +- 0.0040 a cycle
   branch misses                       7300 +- 40  0.4120 +- 0.0030 % of the branches
   the processor's events shared its registers and were counted for 83 % of the
   time; the counts are scaled up
";
        assert_eq!(text(2, "sort", &activity), expected);
    }
}
