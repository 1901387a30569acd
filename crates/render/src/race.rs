//! Output of `race`: a line for each round, then the answer.

use std::fmt::Write as _;
use std::path::Path;

use crate::columns::{one_line, shorten, wrap};
use crate::names::first_of;
use crate::quantity::QuantityWords;
use crate::ratios::{percent_ends, ratio_and_interval};
use crate::units::{counted, short_time};
use analysis::RatioInterval;
use record::plan::Plan;
use search::race::{ArmStanding, FinalStanding, LogRatio, Race, RaceOutcome, RaceRound};

/// Columns of a name in a sentence, and of a reason.
const NAME: usize = 40;
const REASON: usize = 70;
/// Longest list of names in a sentence.
const NAMES_MAX: usize = 6;
/// Rows of the table.
const ROWS_MAX: usize = 12;

pub struct RacePage<'a> {
    pub outcome: &'a RaceOutcome,
    /// All arms, the winner first.
    pub arms: &'a [ArmStanding],
    pub labels: &'a [String],
    pub plan: &'a Plan,
}

/// The lines before the first round. `n_benchmarks`: size of the suite.
pub fn beginning(
    labels: &[String],
    n_benchmarks: Option<usize>,
    directory: &Path,
    n_before: usize,
) -> String {
    let reference = name(&labels[0]);
    let mut out = match n_benchmarks {
        Some(n) => {
            let (n_arms, n) = (counted(labels.len(), "variant"), counted(n, "benchmark"));
            format!(
                "{n_arms}, compared by the geometric mean of {n}; the reference is {reference}\n"
            )
        }
        None => format!("{}; the reference is {reference}\n", counted(labels.len(), "command")),
    };
    if n_before > 0 {
        let from = one_line(&directory.display().to_string());
        writeln!(out, "going on with {from}").ok();
    }
    out
}

/// The lines about a finished round.
pub fn round(
    race: &Race,
    round: &RaceRound,
    failed: &[(usize, String)],
    counts: bool,
    labels: &[String],
) -> String {
    let mut out = String::new();
    for (arm, why) in failed {
        let why = why.lines().next().unwrap_or_default();
        writeln!(out, "failed   {} {}", name(&labels[*arm]), shorten(why, REASON)).ok();
    }
    if !counts {
        return out;
    }
    let kind = if round.is_confirmation { "confirm" } else { "select " };
    let n_arms = counted(round.arms.len(), "command");
    let n_blocks = counted(round.n_blocks, "block");
    write!(out, "{kind}  {n_arms:>12}  {n_blocks:>10}").ok();
    let leader = race.leader().map(|arm| format!("; {} leads", name(&labels[arm])));
    let left = match race.n_open().filter(|_| round.is_confirmation) {
        Some(0) => "; nothing is open".into(),
        Some(n) => format!("; {n} may be better"),
        None => leader.unwrap_or_default(),
    };
    writeln!(out, "  after {:>7}{left}", short_time(race.spent_s() * 1e9)).ok();
    out
}

/// The last line.
pub fn kept(directory: &Path) -> String {
    format!("the race and its records are in {}\n", one_line(&directory.display().to_string()))
}

fn name(label: &str) -> String {
    shorten(label, NAME)
}

impl RacePage<'_> {
    /// The answer for people.
    pub fn text(&self) -> String {
        let mut out = String::from("\n");
        wrap(&mut out, "", 0, &self.sentence());
        for (standing, heading) in [
            (FinalStanding::Tied, "not told apart from it:"),
            (FinalStanding::Open, "may be better than it:"),
        ] {
            if let Some(names) = self.names(&standing) {
                wrap(&mut out, "", 2, &format!("{heading} {names}"));
            }
        }
        out.push('\n');
        self.table(&mut out);
        out.push('\n');
        wrap(&mut out, "", 0, &self.cost());
        out
    }

    fn sentence(&self) -> String {
        let (outcome, plan) = (self.outcome, self.plan);
        let ran = self.arms.iter().filter(|it| !matches!(it.standing, FinalStanding::Failed(_)));
        let n_arms = ran.count();
        let within = percent_of(plan.policy.same_within);
        let Some(winner) = outcome.winner else {
            return format!("not decided: the budget ended before one of {n_arms} led");
        };
        let leader = name(&self.labels[winner]);
        if !outcome.is_confirmed {
            let ended = if outcome.is_out_of_time {
                "; the next round does not fit the budget"
            } else if outcome.is_too_coarse {
                "; the times are read in steps too coarse for that"
            } else {
                ""
            };
            return format!(
                "not decided: {leader} leads, but it is not shown to be the best of {n_arms} within {within}{ended}"
            );
        }
        let level = percent_of(1.0 - plan.policy.alpha);
        let best = format!("{leader} is the best of {n_arms} within {within}, at {level}");
        if winner == 0 {
            return format!("{best}; it is the reference");
        }
        let size = self.arms.first().and_then(|it| it.to_reference);
        let reference = name(&self.labels[0]);
        match size {
            Some(size) if size.lo > 0.0 || size.hi < 0.0 => {
                let quantity = QuantityWords::of(plan);
                format!("{best}; {}", quantity.difference("it", &reference, self.shown(size)))
            }
            Some(size) => {
                let RatioInterval { ratio, lo, hi } = self.shown(size);
                let (_, range) = percent_ends([ratio, lo, hi].map(|ratio| ratio - 1.0));
                format!("{best}; it was not shown to differ from {reference} ({range})")
            }
            None => best,
        }
    }

    fn names(&self, standing: &FinalStanding) -> Option<String> {
        let found = self.arms.iter().filter(|it| it.standing == *standing);
        let names: Vec<String> = found.map(|it| name(&self.labels[it.arm])).collect();
        (!names.is_empty()).then(|| first_of(&names, NAMES_MAX))
    }

    fn table(&self, out: &mut String) {
        let (arms, quantity) = (self.arms, QuantityWords::of(self.plan));
        let is_row = |it: &&ArmStanding| it.to_winner.is_some() || is_first(it);
        let rows: Vec<&ArmStanding> = arms.iter().filter(is_row).take(ROWS_MAX).collect();
        let cell = |ratio: Option<LogRatio>| {
            ratio.map_or_else(String::new, |ratio| ratio_and_interval(self.shown(ratio)))
        };
        // The winner and the reference are compared once: in the winner's row, and in no row if they are the same.
        let is_reference = self.outcome.winner == Some(0);
        let has_size = rows.first().is_some_and(|it| is_first(it) && it.to_reference.is_some());
        let mut table =
            vec![["", "÷ winner", "÷ reference", "blocks", ""].map(str::to_owned).to_vec()];
        for it in &rows {
            let n_blocks = it.to_winner.or(it.to_reference).map(|ratio| ratio.n_pairs.to_string());
            let to_reference = if it.arm == 0 { "reference".into() } else { cell(it.to_reference) };
            table.push(vec![
                name(&self.labels[it.arm]),
                cell(it.to_winner.filter(|_| it.arm != 0 || !has_size)),
                to_reference,
                n_blocks.unwrap_or_default(),
                word(&it.standing, quantity).to_owned(),
            ]);
        }
        if is_reference {
            table.iter_mut().for_each(|row| drop(row.remove(2)));
        }
        out.push_str(&crate::table::plain(table, &[if is_reference { 2 } else { 3 }]));
        let n_more = arms.iter().filter(|it| it.to_winner.is_some()).count();
        let n_more = (n_more + usize::from(arms.first().is_some_and(is_first))) - rows.len();
        if n_more > 0 {
            writeln!(out, "and {n_more} more, which --json lists").ok();
        }
        for it in arms {
            let why = match &it.standing {
                FinalStanding::Far => {
                    let was = match quantity.is_time() {
                        true => "took at least 3 times as long as",
                        false => "was at least 3 times worse than",
                    };
                    format!("{was} the reference in each run of round 1")
                }
                FinalStanding::Failed(why) => {
                    shorten(why.lines().next().unwrap_or_default(), REASON)
                }
                _ => continue,
            };
            writeln!(out, "{}: {why}", name(&self.labels[it.arm])).ok();
        }
    }

    fn cost(&self) -> String {
        let outcome = self.outcome;
        let runs = counted(outcome.n_runs, "run");
        let rounds = counted(outcome.n_rounds, "round");
        let stages = counted(outcome.n_stages, "stage");
        let time = short_time(outcome.seconds * 1e9);
        format!("{runs} in {rounds} of selection and {stages} of confirmation, {time}.")
    }

    /// A ratio of costs as a ratio of the shown values.
    fn shown(&self, ratio: LogRatio) -> RatioInterval {
        cost_ratio(ratio).of_values(self.plan.policy.better)
    }
}

pub(super) fn cost_ratio(ratio: LogRatio) -> RatioInterval {
    RatioInterval { ratio: ratio.log.exp(), lo: ratio.lo.exp(), hi: ratio.hi.exp() }
}

fn is_first(it: &ArmStanding) -> bool {
    matches!(it.standing, FinalStanding::Winner | FinalStanding::Leader)
}

/// Only times are slower.
pub(super) fn word(standing: &FinalStanding, quantity: QuantityWords) -> &'static str {
    match standing {
        FinalStanding::Winner => "winner",
        FinalStanding::Leader => "leader",
        FinalStanding::Slower if quantity.is_time() => "slower",
        FinalStanding::Slower => "worse",
        FinalStanding::Tied => "tied",
        FinalStanding::Open => "open",
        FinalStanding::Far if quantity.is_time() => "far slower",
        FinalStanding::Far => "far worse",
        FinalStanding::Failed(_) => "failed",
    }
}

/// A fraction as a percentage without needless digits: `0.5 %`, `99 %`.
fn percent_of(fraction: f64) -> String {
    format!("{} %", (fraction * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::Better;
    use record::fixture::record;

    /// Costs of 98 to 104 % are throughputs of 96.2 to 102 %.
    #[test]
    fn a_range_without_a_difference_has_the_direction_of_the_values() {
        let [log, lo, hi] = [1.01, 0.98, 1.04].map(f64::ln);
        let size = LogRatio { log, lo, hi, n_pairs: 20 };
        let winner = ArmStanding {
            arm: 1,
            standing: FinalStanding::Winner,
            out_after: None,
            stage: None,
            to_winner: None,
            to_reference: Some(size),
        };
        let outcome = RaceOutcome {
            winner: Some(1),
            is_confirmed: true,
            is_out_of_time: false,
            is_too_coarse: false,
            n_rounds: 1,
            n_stages: 1,
            n_runs: 40,
            seconds: 1.0,
        };
        let sentence = |better: Better| {
            let mut plan = record(&["a", "b"]).header.plan;
            plan.policy.better = better;
            let labels = ["a", "b"].map(String::from);
            let arms = [winner.clone()];
            RacePage { outcome: &outcome, arms: &arms, labels: &labels, plan: &plan }.sentence()
        };
        let says = |better: Better, range: &str| {
            let text = sentence(better);
            let expected = format!("; it was not shown to differ from a ({range})");
            assert!(text.ends_with(&expected), "{text}");
        };
        says(Better::Lower, "-2.0 to 4.0 %");
        says(Better::Higher, "-3.8 to 2.0 %");
    }
}
