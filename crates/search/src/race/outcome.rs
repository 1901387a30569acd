//! The result of a race.

use rayon::prelude::*;

use crate::race::confirmation::{Confirmation, LogRatio};
use crate::race::course::Race;

/// Where an arm ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalStanding {
    /// Confirmed as the best.
    Winner,
    /// Leads, but was not confirmed.
    Leader,
    /// Slower than the winner.
    Slower,
    /// Not better than the winner by the margin, and not shown to be slower.
    Tied,
    Open,
    /// Takes several times as long as the reference, and was left out after the first round.
    Far,
    Failed(String),
}

/// An arm at the end.
#[derive(Clone, Debug)]
pub struct ArmStanding {
    pub arm: usize,
    pub standing: FinalStanding,
    /// The round of selection after which the arm could no longer become the likely winner, from 1.
    pub out_after: Option<usize>,
    /// The stage of confirmation that decided about the arm, from 1.
    pub stage: Option<usize>,
    /// The arm ÷ the winner, at the race's error rate for this arm alone.
    pub to_winner: Option<LogRatio>,
    /// The arm ÷ the reference, for arms in the last stage; these intervals hold together.
    pub to_reference: Option<LogRatio>,
}

#[derive(Clone, Copy, Debug)]
pub struct RaceOutcome {
    /// The likely winner; `None` before the confirmation.
    pub winner: Option<usize>,
    /// Whether the winner is the best within the margin, at the race's error rate.
    pub is_confirmed: bool,
    pub is_out_of_time: bool,
    /// Whether the times are read in steps too coarse for a winner.
    pub is_too_coarse: bool,
    /// Rounds of selection and stages of confirmation.
    pub n_rounds: usize,
    pub n_stages: usize,
    pub n_runs: usize,
    pub seconds: f64,
}

impl Race {
    pub fn outcome(&self) -> RaceOutcome {
        let confirmation = self.confirmation.as_ref();
        RaceOutcome {
            winner: confirmation.map(|it| it.winner),
            is_confirmed: self.is_confirmed(),
            is_out_of_time: self.is_out_of_time,
            is_too_coarse: confirmation.is_some_and(Confirmation::is_too_coarse),
            n_rounds: self.n_rounds,
            n_stages: confirmation.map_or(0, Confirmation::n_stages),
            n_runs: self.pace.n_runs,
            seconds: self.pace.spent_s,
        }
    }

    /// Whether no other arm can be better than the winner by the margin. Without a stage, all others are far slower.
    fn is_confirmed(&self) -> bool {
        let is_last = |it: &Confirmation| it.open().is_empty();
        self.confirmation.as_ref().is_some_and(is_last) && self.n_left() > 1
    }

    /// All arms: the winner, then by their ratio to it.
    pub fn standings(&self) -> Vec<ArmStanding> {
        let of_arm = |arm| self.standing(arm);
        let mut arms: Vec<ArmStanding> = (0..self.n_arms).into_par_iter().map(of_arm).collect();
        arms.sort_by(|a, b| order(a).total_cmp(&order(b)));
        arms
    }

    fn standing(&self, arm: usize) -> ArmStanding {
        let confirmation = self.confirmation.as_ref();
        let is_winner = confirmation.is_some_and(|it| it.winner == arm);
        let found = confirmation.and_then(|it| it.found(arm));
        let standing = match (self.failed.get(&arm), found) {
            (Some(why), _) => FinalStanding::Failed(why.clone()),
            _ if self.far.contains(&arm) => FinalStanding::Far,
            _ if is_winner && self.is_confirmed() => FinalStanding::Winner,
            _ if is_winner => FinalStanding::Leader,
            (None, Some((_, true))) => FinalStanding::Slower,
            (None, Some((Some(_), false))) => FinalStanding::Tied,
            (None, _) => FinalStanding::Open,
        };
        ArmStanding {
            arm,
            standing,
            out_after: self.out_after.get(&arm).copied(),
            stage: found.and_then(|(beaten, _)| beaten),
            to_winner: confirmation
                .filter(|_| !is_winner)
                .and_then(|it| it.log_ratio(it.winner, arm, 1.0)),
            to_reference: self.size(arm),
        }
    }

    /// The size of an arm of the last stage, against the reference.
    pub fn size(&self, arm: usize) -> Option<LogRatio> {
        let confirmation = self.confirmation.as_ref()?;
        let reference = self.rules.reference;
        let last = &confirmation.rounds.last()?.arms;
        let n_sizes = last.iter().filter(|&&other| other != reference).count();
        if arm == reference || !last.contains(&arm) {
            return None;
        }
        confirmation.log_ratio(reference, arm, 1.0 / n_sizes as f64)
    }
}

/// The winner first, then by the ratio to it, then those without one.
fn order(it: &ArmStanding) -> f64 {
    match it.standing {
        FinalStanding::Winner | FinalStanding::Leader => f64::NEG_INFINITY,
        FinalStanding::Far => f64::MAX,
        FinalStanding::Failed(_) => f64::INFINITY,
        _ => it.to_winner.map_or(f64::MAX / 2.0, |it| it.log),
    }
}
