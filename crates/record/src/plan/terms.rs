//! Terms of a session that a verb sets beside the user's options.

#[cfg(test)]
mod tests;

use crate::plan::again::{EarlierArms, ask_for_names, measure_again};
use crate::plan::fair_play::FairPlayTerms;
use crate::plan::{BuiltRevision, Plan, ShellReason, Stopping, TrialRule};
use host::Git;

/// The terms of a session. The default leaves everything to the options.
#[derive(Clone, Debug, Default)]
pub struct Terms<'a> {
    pub arms: ArmTerms<'a>,
    /// Whether whole runs are compared, so no arm is subtracted.
    pub are_whole: bool,
    /// Index of the arm with which the others are compared.
    pub reference: usize,
    pub ending: Ending,
    /// The error rate, whatever the options say.
    pub alpha: Option<f64>,
    /// The most blocks, whatever the options say.
    pub n_blocks_max: Option<u32>,
    /// Whether the session goes on after a failed run, unless runs print the value.
    pub tolerates_failures: bool,
    /// Whether Python interpreters are asked for the names of functions.
    pub names_functions: bool,
    pub fair_play: Option<FairPlayTerms>,
}

/// The measured arms and their places.
#[derive(Clone, Debug, Default)]
pub enum ArmTerms<'a> {
    /// The options decide.
    #[default]
    AsAsked,
    /// Each command in the checkout of each revision.
    Revisions(&'a [BuiltRevision]),
    /// Some of the arms, by their indices.
    Picked(&'a [usize]),
    /// Programs, each in its checkout if it has one. The arms belong to the programs in turns.
    Checkouts(Vec<Option<&'a BuiltRevision>>),
    /// Benchmarks that count together: programs are compared by their geometric mean. One place for each arm; without
    /// places the options decide.
    Together(Vec<ArmPlace>),
    /// Arms of an earlier session, as they were executed there.
    Earlier(EarlierArms<'a>),
}

/// Name, benchmark and place of an arm.
#[derive(Clone, Debug)]
pub struct ArmPlace {
    pub name: String,
    pub benchmark: String,
    /// The directories that the blocks use in turns.
    pub directories: Vec<String>,
    pub git: Option<Git>,
}

/// The event that ends a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ending {
    /// The options decide.
    #[default]
    AsAsked,
    /// The last block, whatever the runs show.
    AtTheEnd,
    /// The first comparison that differs.
    AtADifference,
    /// The decision of an attempt's trial.
    Trial(TrialRule),
}

impl Terms<'_> {
    pub(super) fn apply(&self, plan: &mut Plan) {
        if self.are_whole {
            plan.arms.retain(|arm| !arm.role.is_control());
            plan.control = None;
        }
        self.arms.apply(plan);
        plan.reference = self.reference;
        if self.tolerates_failures {
            let silent = plan.arms.iter_mut().filter(|arm| arm.value.is_none());
            silent.for_each(|arm| arm.accept = None);
        }
        if self.names_functions {
            ask_for_names(plan);
        }
        plan.policy.alpha = self.alpha.unwrap_or(plan.policy.alpha);
        self.ending.apply(plan);
        self.fair_play.iter().for_each(|terms| terms.apply(plan));
    }
}

impl ArmTerms<'_> {
    fn apply(&self, plan: &mut Plan) {
        match self {
            Self::AsAsked | Self::Revisions(_) => {}
            Self::Picked(arms) => pick(plan, arms),
            Self::Checkouts(checkouts) => {
                let arms = plan.arms.iter_mut().filter(|arm| !arm.role.is_control());
                for (arm, checkout) in arms.zip(checkouts.iter().cycle()) {
                    if let Some(checkout) = checkout {
                        arm.directories.clone_from(&checkout.directories);
                        arm.git = Some(checkout.git.clone());
                    }
                }
            }
            Self::Together(places) => {
                for (arm, place) in plan.arms.iter_mut().zip(places) {
                    arm.name = Some(place.name.clone());
                    arm.benchmark = Some(place.benchmark.clone());
                    arm.directories.clone_from(&place.directories);
                    arm.git.clone_from(&place.git);
                }
                plan.by_geometric_mean = plan.has_benchmarks();
            }
            Self::Earlier(earlier) => measure_again(plan, earlier),
        }
    }
}

/// Keeps these arms in a plan. The shell remains as it was chosen for all of them.
fn pick(plan: &mut Plan, arms: &[usize]) {
    plan.arms = arms.iter().map(|&arm| plan.arms[arm].clone()).collect();
    if let ShellReason::Needed { arm, .. } = &mut plan.shell_reason {
        match arms.iter().position(|other| other == arm) {
            Some(at) => *arm = at,
            None => plan.shell_reason = ShellReason::UserChoice,
        }
    }
}

impl Ending {
    fn apply(self, plan: &mut Plan) {
        match self {
            Self::AsAsked => {}
            Self::AtTheEnd => {
                plan.stopping = Stopping::AtTheEnd;
                plan.precision = None;
            }
            Self::AtADifference => plan.stopping = Stopping::AtADifference,
            Self::Trial(rule) => {
                plan.stopping = Stopping::WhenDecided;
                plan.precision = None;
                plan.trial = Some(rule);
            }
        }
    }
}
