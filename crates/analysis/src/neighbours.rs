//! Other programs, or guests of the host, on the core's other hardware thread. Probes before the runs, or before
//! workers' slices, show them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::arm_values::sessions;
use crate::times::cpu_ns;
use model::values::is_core_shared;
use model::values::metric::Metric;
use record::{Record, Rows};

/// Fewest runs on a shared core and on a quiet core for a difference.
const RUNS_MIN: usize = 10;

/// How often the other hardware thread was busy just before a run, and what that cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Neighbours {
    /// Runs with a probe of the core.
    pub n_probes: usize,
    /// Number of probed runs that began on a shared core.
    pub n_shared: usize,
    /// Median CPU time of runs that began on a shared core ÷ on a quiet core, for the arm with the largest ratio.
    /// `None` if there are too few of either.
    pub ratio: Option<f64>,
}

impl Neighbours {
    /// Share of the runs that began on a shared core.
    pub fn share(&self) -> f64 {
        self.n_shared as f64 / self.n_probes as f64
    }

    pub fn of(record: &Record) -> Option<Self> {
        Self::joined(sessions(record).into_iter().map(|(_, session)| Self::of_session(session)))
    }

    /// All benchmarks of a suite together.
    pub fn joined(each: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        each.flatten().reduce(|one, other| Self {
            n_probes: one.n_probes + other.n_probes,
            n_shared: one.n_shared + other.n_shared,
            ratio: one.ratio.into_iter().chain(other.ratio).max_by(f64::total_cmp),
        })
    }

    fn of_session(record: &Record) -> Option<Self> {
        let rows = record.slices.as_ref().unwrap_or(&record.rows);
        let arms = &record.header.plan.arms;
        let mut by_arm = vec![[Vec::new(), Vec::new()]; arms.len()];
        let (mut n_probes, mut n_shared) = (0, 0);
        // A control alone says nothing of the commands.
        let has_run = rows.measurements().any(|index| !arms[rows.arm(index)].role.is_control());
        for index in rows.measurements() {
            let Some(is_shared) = began_on_shared_core(rows, index) else { continue };
            n_probes += 1;
            n_shared += usize::from(is_shared);
            let per_loop_ns = || Some(rows.get(index, Metric::CpuNs)? as f64 / loops(rows, index)?);
            if let Some(cpu_ns) = cpu_ns(rows, index).or_else(per_loop_ns) {
                by_arm[rows.arm(index)][usize::from(is_shared)].push(cpu_ns);
            }
        }
        let ratio = by_arm.iter().filter_map(ratio).max_by(f64::total_cmp);
        (n_probes > 0 && has_run).then_some(Self { n_probes, n_shared, ratio })
    }
}

/// Whether the core's other hardware thread was busy just before a run; `None` without a probe.
pub(super) fn began_on_shared_core(rows: &Rows, index: usize) -> Option<bool> {
    let chains = [Metric::OneChainNs, Metric::FourChainsNs].map(|metric| rows.get(index, metric));
    Some(is_core_shared(chains[0]?, chains[1]?))
}

fn loops(rows: &Rows, index: usize) -> Option<f64> {
    rows.get(index, Metric::Loops).filter(|&loops| loops > 0).map(|loops| loops as f64)
}

/// Median CPU time on a shared core ÷ on a quiet core.
fn ratio([quiet, shared]: &[Vec<f64>; 2]) -> Option<f64> {
    if quiet.len().min(shared.len()) < RUNS_MIN {
        return None;
    }
    let ratio = stats::median(shared).ok()? / stats::median(quiet).ok()?;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Row;
    use record::fixture::record;
    use record::plan::Role;

    #[test]
    fn runs_after_a_loud_probe_are_compared_with_those_after_a_quiet_one() {
        let mut record = record(&["a", "b"]);
        for step in 0..80 {
            let is_loud = step % 4 == 0;
            let mut row = Row::new(step, step % 2, Some(step / 2), u64::from(step));
            row.set(Metric::WallNs, Some(1_000_000));
            row.set(Metric::UserUs, Some(if is_loud { 1200 } else { 1000 }));
            row.set(Metric::SysUs, Some(0));
            // The last ten runs have no probe.
            row.set(Metric::OneChainNs, (step < 70).then_some(4000));
            row.set(Metric::FourChainsNs, (step < 70).then_some(if is_loud { 6000 } else { 4080 }));
            record.rows.push(&row);
        }
        let found = Neighbours::of(&record).unwrap();
        assert_eq!((found.n_probes, found.n_shared), (70, 18));
        assert_eq!(found.ratio, Some(1.2));
        record.header.plan.arms.iter_mut().for_each(|arm| arm.role = Role::Subtract);
        assert_eq!(Neighbours::of(&record), None);
        record.header.plan.arms.iter_mut().for_each(|arm| arm.role = Role::Candidate);
        record.rows = record::fixture::record(&["a"]).rows;
        assert_eq!(Neighbours::of(&record), None);
    }
}
