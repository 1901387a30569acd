//! The documents of `campaign --json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::campaign::CampaignFacts;
use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use search::campaign::{Attempt, AttemptAnswer, AttemptEnd, Campaign, Gain, Program};

/// A campaign so far.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CampaignBody<'a> {
    /// The program of the beginning.
    original: &'a Program,
    /// The benchmarks whose geometric mean decides; missing if a command is measured.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    benchmarks: &'a [String],
    /// The accepted state.
    state: &'a Program,
    /// The state against the program of the beginning, by runs whose number was fixed before; null if it is the same.
    gain: Option<Gain>,
    /// The attempts, in order.
    attempts: Vec<AttemptEntry<'a>>,
    /// Contributions of accepted attempts to the present state, by `confirm --each`; missing without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contributions: Vec<Contribution<'a>>,
    /// The remaining error rate and time.
    left: LeftOver,
    /// Time of building and measuring, s.
    seconds: f64,
}

/// The answer to an attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttemptBody<'a> {
    /// The attempt.
    attempt: Option<AttemptEntry<'a>>,
    /// The state after it.
    state: &'a Program,
    /// The state against the program of the beginning; null if it is the same.
    gain: Option<Gain>,
    /// The remaining error rate and time.
    left: LeftOver,
}

/// An attempt.
#[derive(Debug, Serialize, JsonSchema)]
struct AttemptEntry<'a> {
    /// Name of the attempt.
    name: &'a str,
    /// The program that was tried.
    program: &'a Program,
    /// The error rate at which it was accepted or not.
    level: f64,
    /// The answer.
    answer: AttemptAnswer,
    /// The end of the attempt; null if it did not come to its end.
    end: Option<&'a AttemptEnd>,
}

/// The contribution of an accepted attempt.
#[derive(Debug, Serialize, JsonSchema)]
struct Contribution<'a> {
    /// The name of the attempt.
    attempt: &'a str,
    /// The state against the state without it.
    gain: Gain,
}

/// The remaining error rate and time of a campaign.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOver {
    /// Attempts that share half of the error rate; later ones have less each.
    attempts_at_full_rate: usize,
    /// The error rate of the next attempt.
    next_level: f64,
    /// Time of `--total-budget`, s; null without one.
    seconds: Option<f64>,
}

impl DocumentBody for CampaignBody<'_> {
    const NAME: &'static str = "campaign";
}

impl DocumentBody for AttemptBody<'_> {
    const NAME: &'static str = "attempt";
}

pub fn whole<'a>(
    campaign: &'a Campaign,
    facts: &'a CampaignFacts,
) -> (CampaignBody<'a>, Conclusion) {
    let verdict = match campaign.accepted().next() {
        Some(_) => FinalVerdict::Found,
        None => FinalVerdict::Undecided,
    };
    let gain = campaign.whole_gain();
    let contribution = |(index, gain): (usize, Gain)| Contribution {
        attempt: &campaign.attempts()[index].name,
        gain,
    };
    let effects = gain.iter().map(|gain| effect("state", "beginning", gain)).collect();
    let body = CampaignBody {
        original: campaign.original(),
        benchmarks: &facts.benchmarks,
        state: campaign.current(),
        gain,
        attempts: campaign.attempts().iter().map(entry).collect(),
        contributions: campaign.contributions().into_iter().map(contribution).collect(),
        left: left(campaign, facts),
        seconds: campaign.seconds(),
    };
    (body, Conclusion { effects, ..Conclusion::of(verdict) })
}

pub fn attempt<'a>(campaign: &'a Campaign, facts: &CampaignFacts) -> (AttemptBody<'a>, Conclusion) {
    let last = campaign.attempts().last();
    let end = last.and_then(|attempt| attempt.end.as_ref());
    let verdict = match end.map(|end| end.answer) {
        Some(AttemptAnswer::Accepted) => FinalVerdict::Accepted,
        Some(AttemptAnswer::Rejected) => FinalVerdict::Rejected,
        Some(AttemptAnswer::NotDecided) | None => FinalVerdict::Undecided,
    };
    // Prefer the size of the confirmation: the trial's is too good.
    let size = end.and_then(|end| end.confirmation.or(end.trial));
    let name = last.map_or("", |attempt| &attempt.name);
    let effects = size.iter().map(|gain| effect(name, "accepted", gain)).collect();
    let body = AttemptBody {
        attempt: last.map(entry),
        state: campaign.current(),
        gain: campaign.whole_gain(),
        left: left(campaign, facts),
    };
    (body, Conclusion { effects, ..Conclusion::of(verdict) })
}

fn entry(attempt: &Attempt) -> AttemptEntry<'_> {
    let end = attempt.end.as_ref();
    AttemptEntry {
        name: &attempt.name,
        program: &attempt.program,
        level: attempt.level,
        answer: end.map_or(AttemptAnswer::NotDecided, |end| end.answer),
        end,
    }
}

fn left(campaign: &Campaign, facts: &CampaignFacts) -> LeftOver {
    LeftOver {
        attempts_at_full_rate: campaign.n_left(),
        next_level: campaign.next_level(),
        seconds: facts.total_s.map(|total| (total - campaign.seconds()).max(0.0)),
    }
}

fn effect(name: &str, against: &str, gain: &Gain) -> Effect {
    Effect::of_interval(name, against, gain.ratio, (gain.lo, gain.hi), gain.alpha)
}
