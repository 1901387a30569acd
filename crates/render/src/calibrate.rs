//! Output of `calibrate`: the smallest slowdown for each time budget, then a table of error rates and a bar chart of
//! the power.

use std::fmt::Write as _;
use std::path::Path;

use crate::columns::wrap;
use crate::document::DocumentBody;
use crate::uncertain;
use analysis::calibrate::{Power, PowerCalibration, VisibleSlowdown};

impl DocumentBody for PowerCalibration {
    const NAME: &'static str = "calibration";
}

/// Default of --max-runs.
const PAIRS_BY_DEFAULT: usize = 500;
/// Columns of a bar for 100 %.
const BAR: usize = 50;
/// Column of the mark at a power of 80 %.
const MARK: usize = BAR * 4 / 5;

/// The output. All lines but the path of the record are at most 80 columns wide.
pub fn calibration(calibration: &PowerCalibration, label: &str, record: &Path) -> String {
    let mut out = String::new();
    sizes(&mut out, calibration);
    let alpha = level(calibration.alpha);
    out.push('\n');
    let text = format!(
        "How this was found: {} experiments for each slowdown, replayed from {} runs of {label}: {} pairs of runs each, \
         tests at {alpha}.",
        calibration.n_replays, calibration.n_runs, calibration.n_pairs
    );
    wrap(&mut out, "", 0, &text);
    table(&mut out, calibration);
    tails(&mut out, calibration);
    picture(&mut out, calibration);
    writeln!(out, "\nrecord: {}", record.display()).ok();
    out
}

type PowerCell = fn(&Power) -> String;

fn table(out: &mut String, calibration: &PowerCalibration) {
    let rows: [(&str, PowerCell); 6] = [
        ("called different", |power| match power.ratio - 1.0 {
            0.0 => "A/A".into(),
            by => format!("+{}", slowdown(by)),
        }),
        ("Stillwell", |power| share(power.stillwell)),
        ("Welch t, A then B", |power| share(power.welch)),
        ("Mann-Whitney, A then B", |power| share(power.mann_whitney)),
        ("pairs Stillwell took", |power| uncertain::fixed(power.stillwell_pairs, 0)),
        ("called the same", |power| share(power.same)),
    ];
    for (name, cell) in rows {
        write!(out, "\n{name:<23}").ok();
        for power in &calibration.powers {
            write!(out, "{:>8}", cell(power)).ok();
        }
    }
    let alike = calibration.powers[0];
    out.push_str("\n\n");
    let text = format!(
        "A/A is the same program twice: {} of the experiments may be called different. Stillwell: {}; one after the \
         other: {} and {}.",
        level(calibration.alpha),
        share(alike.stillwell),
        share(alike.welch),
        share(alike.mann_whitney)
    );
    wrap(out, "", 0, &text);
}

/// Slow tails of the new arm that the word "same" would have hidden.
fn tails(out: &mut String, calibration: &PowerCalibration) {
    writeln!(out, "\n{:<38}{:>10}{:>10}", "slow tails of the new arm", "different", "same").ok();
    for tail in &calibration.tails {
        let times = match tail.factor {
            2.0.. => format!("{} times as long", uncertain::trimmed(tail.factor, 3)),
            factor => format!("{} longer", slowdown(factor - 1.0)),
        };
        let what = format!("{} of the runs take {times}", share(tail.share));
        writeln!(out, "{what:<38}{:>10}{:>10}", share(tail.different), share(tail.same)).ok();
    }
}

/// One bar for each slowdown, with a mark at 80 %.
fn picture(out: &mut String, calibration: &PowerCalibration) {
    out.push_str("\nslowdowns that Stillwell finds\n");
    for power in &calibration.powers[1..] {
        let n_full = (power.stillwell * BAR as f64).round() as usize;
        let cell = |at: usize| match at {
            at if at < n_full => '█',
            MARK => '┊',
            _ => ' ',
        };
        let bar: String = (0..BAR).map(cell).collect();
        let what = format!("+{}", slowdown(power.ratio - 1.0));
        writeln!(out, "{what:>8} {bar} {}", share(power.stillwell)).ok();
    }
    writeln!(out, "{:>8} {:MARK$}┊ 80 %", "", "").ok();
}

/// The smallest slowdown that a session finds in each time budget, and how to find smaller ones.
fn sizes(out: &mut String, calibration: &PowerCalibration) {
    let text = format!(
        "Stillwell finds a slowdown of {} here, in 80 % of sessions of {} pairs of runs.",
        visible(calibration.visible),
        calibration.n_pairs
    );
    wrap(out, "", 0, &text);
    for budget in &calibration.budgets {
        writeln!(
            out,
            "{:>10}: {:>8}  ({} pairs{})",
            format!("in {}", length(budget.budget_ns)),
            visible(budget.visible),
            budget.n_pairs,
            if budget.n_pairs > PAIRS_BY_DEFAULT { ", with as many --max-runs" } else { "" }
        )
        .ok();
    }
    let text = "To see a smaller one: a longer --budget of `run`, or less noise (`stillwell noise` says which \
                there is).";
    wrap(out, "", 0, text);
}

fn visible(visible: VisibleSlowdown) -> String {
    match visible {
        VisibleSlowdown::Below(at) => format!("< {}", slowdown(at)),
        VisibleSlowdown::At(at) => slowdown(at),
        VisibleSlowdown::Above(at) => format!("> {}", slowdown(at)),
    }
}

fn slowdown(fraction: f64) -> String {
    format!("{} %", uncertain::trimmed(fraction * 100.0, 2))
}

/// An error rate as a percentage.
fn level(alpha: f64) -> String {
    format!("{} %", uncertain::trimmed(alpha * 100.0, 6))
}

/// A time budget: `10 s`, `10 min`.
fn length(budget_ns: f64) -> String {
    let time_s = budget_ns / 1e9;
    let (value, unit) = if time_s < 60.0 { (time_s, "s") } else { (time_s / 60.0, "min") };
    format!("{} {unit}", uncertain::trimmed(value, 3))
}

fn share(share: f64) -> String {
    let percent = share * 100.0;
    format!("{} %", uncertain::fixed(percent, usize::from(percent < 9.95 && percent > 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{COLUMNS, width};
    use analysis::calibrate::{Budget, TailVerdicts};

    #[test]
    fn the_page() {
        let shares = [0.008, 0.02, 0.31, 0.84, 1.0, 1.0, 1.0];
        let power = |(ratio, stillwell): (&f64, f64)| Power {
            ratio: *ratio,
            stillwell,
            same: if *ratio == 1.0 { 0.61 } else { 0.0 },
            stillwell_pairs: 60.0 - 40.0 * stillwell,
            welch: 0.42,
            mann_whitney: 0.517,
        };
        let replayed = PowerCalibration {
            n_runs: 612,
            pace_ns: 5e6,
            n_pairs: 60,
            n_replays: 2000,
            alpha: 0.01,
            powers: analysis::calibrate::RATIOS.iter().zip(shares).map(power).collect(),
            tails: vec![
                TailVerdicts { share: 0.1, factor: 3.0, different: 0.12, same: 0.0 },
                TailVerdicts { share: 0.3, factor: 1.05, different: 0.4, same: 0.002 },
            ],
            visible: VisibleSlowdown::At(0.0096),
            budgets: vec![
                Budget { budget_ns: 10e9, n_pairs: 1000, visible: VisibleSlowdown::At(0.00235) },
                Budget {
                    budget_ns: 600e9,
                    n_pairs: 60_000,
                    visible: VisibleSlowdown::Below(0.0003),
                },
            ],
        };
        let page = calibration(&replayed, "./prog --fast", Path::new("/tmp/a.swell"));
        assert!(page.lines().all(|line| width(line) <= COLUMNS), "{page}");
        insta::assert_snapshot!(page);
    }
}
