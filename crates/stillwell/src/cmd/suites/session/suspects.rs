//! Chooses what a gate measures: half of the time goes to benchmarks that may soon be called slower
//! (docs/methodology.md, "Gates").

use anyhow::Result;
use stats::suspects::{evidence, suspect};

use super::SuiteSession;
use crate::session::{SessionState, VisitLimits};
use record::plan::suite::SUSPECT_PARTS;

/// Blocks of each benchmark in a gate's first pass, before there is a suspect.
const SCREENING_BLOCKS: u32 = 5;

/// The first pass through all benchmarks.
pub(super) struct FirstPass {
    /// Time that is kept for later passes, ns.
    kept_ns: u64,
    n_blocks_max: u32,
}

impl FirstPass {
    /// The limits of a visit. `n_to_come`: number of visits, this one included.
    pub(super) fn visit_limits(&self, left_ns: u64, n_to_come: u64) -> VisitLimits {
        let left_ns = left_ns.saturating_sub(self.kept_ns) / n_to_come;
        VisitLimits { left_ns, n_blocks_max: self.n_blocks_max }
    }
}

impl SuiteSession<'_> {
    pub(super) fn has_suspects(&self) -> bool {
        let first = self.entries.first().and_then(|entry| entry.member.plan.suite.as_ref());
        first.is_some_and(|suite| suite.has_suspects)
    }

    pub(super) fn first_pass(&self) -> FirstPass {
        if self.has_suspects() && self.entries.len() > 1 {
            let kept_ns = self.manifest.suite.budget_ns / SUSPECT_PARTS;
            FirstPass { kept_ns, n_blocks_max: SCREENING_BLOCKS }
        } else {
            FirstPass { kept_ns: 0, n_blocks_max: u32::MAX }
        }
    }

    /// In a gate, visits suspects until they have had their part of the time. Returns whether ^C came.
    pub(super) fn visit_suspects(&mut self) -> Result<bool> {
        if !self.has_suspects() {
            return Ok(false);
        }
        while SUSPECT_PARTS * self.of_suspects_ns < self.spent_ns() {
            let Some(at) = self.suspect() else { break };
            let (start_ns, n_blocks) = (self.spent_ns(), self.n_blocks(at));
            self.entries[at].suspect()?;
            // After half as many blocks again, another benchmark may be more suspect.
            let n_blocks_max = u32::try_from(n_blocks / 2).unwrap_or(u32::MAX).max(2);
            let limits = VisitLimits { left_ns: self.left_ns(), n_blocks_max };
            if self.visit_and_judge(at, limits)? {
                return Ok(true);
            }
            if self.n_blocks(at) == n_blocks {
                break;
            }
            self.of_suspects_ns += self.spent_ns() - start_ns;
        }
        Ok(false)
    }

    /// The open benchmark that can be called slower than allowed soonest. `None` if only one is open: it gets all time.
    fn suspect(&self) -> Option<usize> {
        let limit = self.entries.first()?.member.plan.slower_limit.ln_1p();
        let open = self.open();
        // Decided benchmarks are visited like the others until their interval is bounded.
        let states = self.entries.iter().map(|entry| {
            entry.state.as_ref().filter(|state| entry.is_open() && !state.is_settled())
        });
        let states: Vec<Option<&SessionState>> = states.collect();
        let logs = |state: &Option<&SessionState>| state.map(SessionState::log_ratios);
        let logs: Vec<Vec<f64>> = states.iter().map(|it| logs(it).unwrap_or_default()).collect();
        let spent = |state: &Option<&SessionState>| state.map_or(0, SessionState::span_ns) as f64;
        let spent: Vec<f64> = states.iter().map(spent).collect();
        suspect(&evidence(&logs, limit), &spent).filter(|_| open.len() > 1)
    }
}
