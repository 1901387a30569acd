//! Extends a decided session until the size of its difference is known well enough: the first look that decides can say
//! `0.03 to 43 % slower`. A gate does not need the size. Also counts the blocks that replace others.

use stats::Invalid;

use crate::session::SessionState;
use analysis::ceilings::{answer, around};
use analysis::compares_times;
use analysis::verdict::GateAnswer;
use analysis::watch::{SessionComparisons, SharedAlpha};
use record::plan::{Plan, Stopping};

/// A size is known when half of the interval is at most this share of the difference: `28 % slower (14 to 42 %)`.
const SIZE_SHARE: f64 = 0.5;
/// Share of the budget after which the size is no reason to go on.
const BUDGET_SHARE: f64 = 0.2;

impl SessionState {
    /// Blocks that are due beyond `n_blocks`: one for each block with a run that does not count, at most as many as
    /// planned, and then one for each block that comparisons leave out as warm-up.
    pub(super) fn n_due(&self, plan: &Plan, n_blocks: u32, n_run: u32) -> u32 {
        let spoiled = self.live.n_spoiled_blocks().min(n_blocks);
        let n_due = n_blocks.saturating_add(spoiled);
        if n_run < n_due || !plan.replaces_warmup() {
            return n_due;
        }
        let n_warmup = SessionComparisons::new(plan).n_warmup(&self.walls);
        n_due.saturating_add(u32::try_from(n_warmup).unwrap_or(u32::MAX))
    }

    /// Whether the sizes of these decided differences are known, each at its share of alpha. An unbounded interval is
    /// never enough. Errors: the times are unfit for a test.
    pub fn is_sized(
        &self,
        plan: &Plan,
        budget_ns: u64,
        decided: &[SharedAlpha<'_>],
    ) -> Result<bool, Invalid> {
        if plan.stopping == Stopping::AtADifference || plan.trial.is_some() {
            return Ok(true);
        }
        if !self.is_below_or_above(plan, decided) {
            return Ok(false);
        }
        let is_of_gate = plan.suite.as_ref().is_some_and(|suite| suite.is_gate);
        let is_gate = plan.slower_limit > 0.0 || is_of_gate;
        let is_late = self.span_ns() as f64 > BUDGET_SHARE * budget_ns as f64;
        let share_max = if is_gate || is_late { f64::INFINITY } else { SIZE_SHARE };
        let Some(watch) = &self.watch else { return Ok(true) };
        // A gate ends by its own criterion; otherwise it could end without an answer.
        let (limit, margin) = (plan.slower_limit.ln_1p(), plan.policy.same_within.ln_1p());
        if is_of_gate && !watch.is_answered(&self.walls, decided, limit, margin)? {
            return Ok(false);
        }
        watch.is_sized(&self.walls, decided, share_max)
    }

    /// Whether each of these times is known to be above, or not above, the ceiling.
    fn is_below_or_above(&self, plan: &Plan, decided: &[SharedAlpha<'_>]) -> bool {
        let Some(ceiling) = plan.ceiling.filter(|_| compares_times(plan)) else { return true };
        decided.iter().all(|SharedAlpha { tested, .. }| {
            // t0 is at most the lowest run. With workers, these are slices.
            let most = self.live.min_ns(tested.arm).filter(|_| plan.workers.is_none());
            let t0 = self.live.arm_t0(tested.arm);
            most.is_some_and(|most| most <= ceiling.value)
                || t0.is_some_and(|t0| answer(around(t0), ceiling.value) != GateAnswer::Undecided)
        })
    }
}
