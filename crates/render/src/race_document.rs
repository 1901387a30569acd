//! The document of `race --json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use crate::quantity::QuantityWords;
use crate::race::{RacePage, cost_ratio, word};
use search::race::{ArmStanding, FinalStanding, LogRatio};

/// A race at its end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RaceBody<'a> {
    /// The name of the likely winner; null before the confirmation.
    winner: Option<&'a str>,
    /// Whether it is the best within the margin, at the error rate of the race.
    is_confirmed: bool,
    /// Whether the budget ended the race.
    is_out_of_time: bool,
    /// Whether the times are read in steps too coarse for a winner.
    is_too_coarse: bool,
    /// The margin, as a fraction.
    within: f64,
    /// The error rate of the race.
    alpha: f64,
    /// The name of the reference.
    reference: &'a str,
    /// All arms, the winner first.
    arms: Vec<RacedArm<'a>>,
    /// Rounds of selection.
    n_rounds: usize,
    /// Stages of confirmation.
    n_stages: usize,
    /// Runs that were made.
    n_runs: usize,
    /// Time of all rounds, s.
    seconds: f64,
}

/// An arm of a race.
#[derive(Debug, Serialize, JsonSchema)]
struct RacedArm<'a> {
    /// Name of the arm.
    name: &'a str,
    /// The command line.
    command: &'a str,
    /// `winner`, `leader` (not confirmed), `slower`, `tied`, `open`, `far slower` or `failed`.
    standing: &'static str,
    /// Why it failed.
    why: Option<&'a str>,
    /// The round of selection after which it could not become the winner, from 1.
    out_after_round: Option<usize>,
    /// The stage of confirmation that decided about it, from 1.
    stage: Option<usize>,
    /// The arm ÷ the winner.
    to_winner: Option<RaceRatio>,
    /// The arm ÷ the reference; the intervals of all arms hold together.
    to_reference: Option<RaceRatio>,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct RaceRatio {
    /// The estimate; above 1 is worse.
    ratio: f64,
    /// The lower end; null if there is none.
    lo: Option<f64>,
    /// The upper end.
    hi: Option<f64>,
    /// Blocks behind the ratio.
    n_blocks: usize,
}

impl DocumentBody for RaceBody<'_> {
    const NAME: &'static str = "race";
    const VERSION: u32 = 2;
}

pub fn document<'a>(page: &'a RacePage<'a>) -> (RaceBody<'a>, Conclusion) {
    let (outcome, policy) = (page.outcome, &page.plan.policy);
    let label = |arm: usize| page.labels[arm].as_str();
    let winner = outcome.winner.map(label);
    let verdict = if outcome.is_confirmed { FinalVerdict::Found } else { FinalVerdict::Undecided };
    let first = page.arms.first().filter(|it| Some(it.arm) == outcome.winner);
    let size = first.and_then(|it| ratio(it.to_reference));
    let effect = winner.zip(size).map(|(name, size)| {
        Effect::of_interval(name, label(0), size.ratio, (size.lo, size.hi), policy.alpha)
    });
    let conclusion =
        Conclusion { effects: effect.into_iter().collect(), ..Conclusion::of(verdict) };
    let body = RaceBody {
        winner,
        is_confirmed: outcome.is_confirmed,
        is_out_of_time: outcome.is_out_of_time,
        is_too_coarse: outcome.is_too_coarse,
        within: policy.same_within,
        alpha: policy.alpha,
        reference: label(0),
        arms: page.arms.iter().map(|arm| entry(page, arm)).collect(),
        n_rounds: outcome.n_rounds,
        n_stages: outcome.n_stages,
        n_runs: outcome.n_runs,
        seconds: outcome.seconds,
    };
    (body, conclusion)
}

fn entry<'a>(page: &'a RacePage<'a>, it: &'a ArmStanding) -> RacedArm<'a> {
    RacedArm {
        name: &page.labels[it.arm],
        command: &page.plan.arms[it.arm].command,
        // The words of a schema are the same for all quantities.
        standing: word(&it.standing, QuantityWords::Time),
        why: if let FinalStanding::Failed(why) = &it.standing { Some(why) } else { None },
        out_after_round: it.out_after,
        stage: it.stage,
        to_winner: ratio(it.to_winner),
        to_reference: ratio(it.to_reference),
    }
}

fn ratio(ratio: Option<LogRatio>) -> Option<RaceRatio> {
    let found = ratio?;
    let costs = cost_ratio(found);
    let [lo, hi] = costs.ends();
    Some(RaceRatio { ratio: costs.ratio, lo, hi, n_blocks: found.n_pairs })
}
