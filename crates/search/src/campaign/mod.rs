//! A campaign: consecutive attempts to make a program faster, judged together. Pure: the log of a campaign gives its
//! state, the error rate of the next attempt, and the size of its confirmation.
//!
//! An attempt is accepted if two sessions with separate runs find it faster than the state before: the trial, which
//! ends as soon as it can, and the confirmation, whose length is fixed beforehand. Each has the square root of the
//! attempt's level, so both together have the level. [`stats::online`] has the levels, and the proof.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model::values::ErrorControl;
use stats::online::OnlineLevels;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CampaignRules {
    /// The error that `alpha` limits.
    pub control: ErrorControl,
    pub alpha: f64,
    /// The number of attempts that share half of the error rate.
    pub n_planned: usize,
}

/// A program: a command line, in the directory of the campaign or in the checkout of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// The command line.
    pub command: String,
    /// The commit, if there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A digest of the programs and scripts that the command names, if it has no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The time of one program ÷ the other's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gain {
    /// The estimate; below 1 is faster.
    pub ratio: f64,
    /// The ends of the interval; `None` if it has no such end.
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// 1 − level of the interval.
    pub alpha: f64,
    /// p-value of "no difference".
    pub p: f64,
    /// Ratio of the mean times.
    pub mean: f64,
    /// Upper end of the ratio of the mean times, and the lower one.
    pub mean_hi: Option<f64>,
    pub mean_lo: Option<f64>,
    /// Pairs of runs.
    pub n_pairs: usize,
}

impl Gain {
    pub fn inverse(self) -> Self {
        let over = |end: Option<f64>| end.map(|end| 1.0 / end);
        Self {
            ratio: 1.0 / self.ratio,
            lo: over(self.hi),
            hi: over(self.lo),
            mean: 1.0 / self.mean,
            mean_lo: over(self.mean_hi),
            mean_hi: over(self.mean_lo),
            ..self
        }
    }

    /// The ends of the interval, if it has both.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.lo.zip(self.hi)
    }
}

/// The answer to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptAnswer {
    /// The attempt is the new state.
    Accepted,
    /// The state stays.
    Rejected,
    /// The state stays, and more time might have told.
    NotDecided,
}

/// The reason for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum AnswerReason {
    /// Both sessions found the gain.
    Confirmed,
    /// A gain of the size that is worth finding is refuted.
    OutOfReach,
    /// The trial found a gain, and fresh runs did not.
    NotConfirmed,
    /// The attempt is faster typically, and slower on average.
    SlowerOnAverage,
    /// The runs were not fair; what was found.
    Unfair { findings: Vec<String> },
    /// The attempt cannot be built or run.
    Failed { message: String },
    /// The budget was used up.
    Budget,
    /// ^C, SIGTERM, or the program was killed.
    Interrupted,
}

/// A line in the log of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CampaignEvent {
    /// The measurement of an attempt begins. From now on its level is spent, even if nothing else follows.
    Began { name: String, program: Program, level: f64 },
    /// The last attempt has an answer.
    Ended(Box<AttemptEnd>),
    /// The state was compared with the original program, without a decision.
    Whole {
        /// The attempt that was left out of the state, if any.
        left_out: Option<usize>,
        gain: Gain,
        seconds: f64,
        records: Vec<String>,
    },
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptEnd {
    /// The answer.
    pub answer: AttemptAnswer,
    /// The reason.
    pub reason: AnswerReason,
    /// Whether its times were compared. If no run was timed, its level is still there.
    pub is_spent: bool,
    /// Result of the trial; flattered, because it ended at a chosen moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Gain>,
    /// Result of the confirmation, against the state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Gain>,
    /// Result of the confirmation against the original program, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Gain>,
    /// Checks that are impossible here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// The time of building and measuring, s.
    pub seconds: f64,
    /// The file names of its records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
}

impl AttemptEnd {
    /// An answer without measurements.
    pub fn bare(answer: AttemptAnswer, reason: AnswerReason) -> Self {
        Self {
            answer,
            reason,
            is_spent: false,
            trial: None,
            confirmation: None,
            whole: None,
            unchecked: Vec::new(),
            seconds: 0.0,
            records: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub name: String,
    pub program: Program,
    pub level: f64,
    /// `None`: the program was killed before the end.
    pub end: Option<AttemptEnd>,
}

impl Attempt {
    /// Whether the attempt became the state.
    pub fn is_accepted(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.answer == AttemptAnswer::Accepted)
    }

    fn is_spent(&self) -> bool {
        self.end.as_ref().is_none_or(|end| end.is_spent)
    }
}

/// A comparison of the state with the original program.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeGain {
    /// Attempts so far.
    pub n_attempts: usize,
    pub left_out: Option<usize>,
    pub gain: Gain,
    pub seconds: f64,
}

#[derive(Clone, Debug)]
pub struct Campaign {
    rules: CampaignRules,
    original: Program,
    attempts: Vec<Attempt>,
    wholes: Vec<WholeGain>,
}

impl Campaign {
    /// A campaign before its first attempt.
    pub fn new(rules: CampaignRules, original: Program) -> Self {
        Self { rules, original, attempts: Vec::new(), wholes: Vec::new() }
    }

    /// Adds the next line of the log.
    pub fn take(&mut self, event: &CampaignEvent) {
        match event.clone() {
            CampaignEvent::Began { name, program, level } => {
                self.attempts.push(Attempt { name, program, level, end: None });
            }
            CampaignEvent::Ended(end) => {
                if let Some(last) = self.attempts.last_mut() {
                    last.end = Some(*end);
                }
            }
            CampaignEvent::Whole { left_out, gain, seconds, .. } => {
                let n_attempts = self.attempts.len();
                self.wholes.push(WholeGain { n_attempts, left_out, gain, seconds });
            }
        }
    }

    pub fn rules(&self) -> &CampaignRules {
        &self.rules
    }

    pub fn original(&self) -> &Program {
        &self.original
    }

    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Whether an attempt has this name. An attempt without an answer and without a comparison can be made again.
    pub fn is_taken(&self, name: &str) -> bool {
        let is_void = |end: &AttemptEnd| end.answer == AttemptAnswer::NotDecided && !end.is_spent;
        let is_it = |it: &Attempt| it.name == name && !it.end.as_ref().is_some_and(is_void);
        self.attempts.iter().any(is_it)
    }

    /// The accepted attempts with their indices.
    pub fn accepted(&self) -> impl Iterator<Item = (usize, &Attempt)> {
        self.attempts.iter().enumerate().filter(|(_, attempt)| attempt.is_accepted())
    }

    /// The state: the program that the next attempt has to beat.
    pub fn current(&self) -> &Program {
        self.accepted().last().map_or(&self.original, |(_, attempt)| &attempt.program)
    }

    /// The present state against the original program, by runs whose number did not depend on the result: the last
    /// comparison of the whole, or the last confirmation.
    pub fn whole_gain(&self) -> Option<Gain> {
        let (last, attempt) = self.accepted().last()?;
        let whole = self.wholes.iter().rfind(|it| it.left_out.is_none() && it.n_attempts > last);
        let end = attempt.end.as_ref()?;
        whole.map(|it| it.gain).or(end.whole).or(end.confirmation)
    }

    /// The contribution of each accepted attempt, by index: the state with it against the state without. The last
    /// comparison counts.
    pub fn contributions(&self) -> Vec<(usize, Gain)> {
        let Some((last, _)) = self.accepted().last() else { return Vec::new() };
        let of = |index: usize| {
            let is_it = |it: &&WholeGain| it.left_out == Some(index) && it.n_attempts > last;
            self.wholes.iter().rfind(is_it).map(|it| (index, it.gain))
        };
        self.accepted().filter_map(|(index, _)| of(index)).collect()
    }

    /// The error rate of the next attempt.
    pub fn next_level(&self) -> f64 {
        self.levels().next_level()
    }

    pub fn n_spent(&self) -> usize {
        self.levels().n_tests()
    }

    /// The attempts that still share half of the error rate.
    pub fn n_left(&self) -> usize {
        self.rules.n_planned.saturating_sub(self.n_spent())
    }

    fn levels(&self) -> OnlineLevels {
        let CampaignRules { control, alpha, n_planned } = self.rules;
        let mut levels = OnlineLevels::new(control.online_control(), alpha, n_planned);
        let spent = self.attempts.iter().filter(|attempt| attempt.is_spent());
        spent.for_each(|attempt| levels.take(attempt.is_accepted()));
        levels
    }

    pub fn seconds(&self) -> f64 {
        let attempts = self.attempts.iter().filter_map(|it| it.end.as_ref()).map(|it| it.seconds);
        attempts.chain(self.wholes.iter().map(|it| it.seconds)).sum()
    }
}

/// Intended error of the confirmation, as a share of the gain that it looks for.
const ERROR_SHARE: f64 = 0.2;
/// The trial flatters: it ended because the gain was large just then. So the confirmation looks for a smaller one.
const FLATTERY: f64 = 0.8;
/// Least ratio of the confirmation's blocks to the trial's, which may have been lucky.
const LUCK: f64 = 1.25;
pub const BLOCKS_MIN: u32 = 16;
pub const BLOCKS_MAX: u32 = 2000;

/// The number of blocks of a gain's confirmation, from the error of the trial. It is fixed before the first run, so the
/// size that the confirmation finds is not flattered.
///
/// `n = n1 (se1 / (share theta))^2`, with the trial's pairs `n1`, its error `se1` (half of the interval over the
/// quantile of its level) and the expected log ratio `theta`; at least a quarter more than `n1`.
pub fn confirmation_blocks(trial: &Gain) -> u32 {
    let theta = FLATTERY * trial.ratio.ln().abs();
    let z = stats::verdict::z(1.0 - trial.alpha / 2.0).ok();
    let se = trial.lo.zip(trial.hi).zip(z).map(|((lo, hi), z)| (hi / lo).ln() / 2.0 / z);
    let blocks = se.map(|se| trial.n_pairs as f64 * (se / (ERROR_SHARE * theta)).powi(2));
    let blocks = blocks.filter(|blocks| blocks.is_finite()).unwrap_or(f64::from(BLOCKS_MIN));
    let blocks = blocks.max(LUCK * trial.n_pairs as f64);
    blocks.ceil().clamp(f64::from(BLOCKS_MIN), f64::from(BLOCKS_MAX)) as u32
}

/// Whether a confirmation shows the gain at this one-sided level. `p` counts both sides.
pub fn is_confirmed(gain: &Gain, at_least: f64, level: f64) -> bool {
    let is_faster = gain.ratio < 1.0 && gain.p <= 2.0 * level;
    is_faster && (at_least <= 0.0 || gain.hi.is_some_and(|hi| hi < 1.0 - at_least))
}

#[cfg(test)]
mod tests;
