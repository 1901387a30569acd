//! The slices that ran on a quiet core: its other hardware thread was idle just before and just after. t0 rests on them
//! if there are enough.

use crate::launches::{SliceRule, gathered_where};
use crate::neighbours::began_on_shared_core;
use model::values::Headline;
use record::plan::Plan;
use record::{Record, Rows};

/// Fewest quiet slices for the value of a process. A burst between two probes is not seen, and must not affect all of
/// them.
const SLICES_MIN: usize = 3;
/// Fewest processes with a value: they are the windows for the error of t0, and average the luck of the layout.
const PROCESSES_MIN: usize = 10;
/// Fewest probes that tell whether an arm's core was mostly shared.
pub(super) const PROBES_MIN: usize = 20;

#[derive(Debug)]
pub(super) struct QuietSlices {
    is_quiet: Vec<bool>,
    arms: Vec<CoreState>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CoreState {
    /// Slices with a probe before them.
    pub n_probed: usize,
    /// Number of probed slices that began on a shared core.
    pub n_shared: usize,
    /// Quiet slices of the processes with enough of them.
    pub n_quiet: usize,
    /// Processes with enough quiet slices.
    pub n_processes: usize,
}

impl QuietSlices {
    /// The slices of a record; `None` without slices or probes.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let slices = record.slices.as_ref()?;
        let n_arms = record.header.plan.arms.len();
        let shared: Vec<Option<bool>> =
            (0..slices.len()).map(|index| began_on_shared_core(slices, index)).collect();
        shared.iter().flatten().next()?;
        let is_quiet = |index: usize| {
            let next = index + 1;
            let is_followed = next < slices.len() && slices.block(next) == slices.block(index);
            let is_measured = slices.is_measurement(index);
            is_measured && is_followed && [shared[index], shared[next]] == [Some(false); 2]
        };
        let is_quiet: Vec<bool> = (0..slices.len()).map(is_quiet).collect();
        let mut arms = vec![CoreState::default(); n_arms];
        let probed = slices.measurements().filter_map(|index| Some((index, shared[index]?)));
        for (index, is_shared) in probed {
            let arm = &mut arms[slices.arm(index)];
            arm.n_probed += 1;
            arm.n_shared += usize::from(is_shared);
        }
        let mut found = Self { is_quiet, arms };
        found.drop_short_processes(slices);
        Some(found)
    }

    /// Drops processes with too few quiet slices, and counts the others.
    fn drop_short_processes(&mut self, slices: &Rows) {
        let mut by_process = std::collections::HashMap::<_, Vec<usize>>::new();
        for index in (0..slices.len()).filter(|&index| self.is_quiet[index]) {
            by_process.entry((slices.arm(index), slices.block(index))).or_default().push(index);
        }
        for ((arm, _), of_process) in by_process {
            if of_process.len() < SLICES_MIN {
                of_process.iter().for_each(|&index| self.is_quiet[index] = false);
            } else {
                self.arms[arm].n_quiet += of_process.len();
                self.arms[arm].n_processes += 1;
            }
        }
    }

    /// Whether t0 rests on quiet slices. One rule for all arms, so it does not depend on their labels.
    pub(super) fn is_enough(&self) -> bool {
        self.arms.iter().filter(|arm| arm.n_probed > 0).all(|it| it.n_processes >= PROCESSES_MIN)
    }

    /// Whether the core of an arm was mostly shared, which makes a t0 of all slices too high.
    pub(super) fn is_mostly_shared(&self, arm: usize) -> bool {
        let CoreState { n_probed, n_shared, .. } = self.arms[arm];
        n_probed >= PROBES_MIN && 2 * n_shared > n_probed
    }

    pub(super) fn arm(&self, arm: usize) -> CoreState {
        self.arms[arm]
    }

    /// The processes, with the value of their quiet slices.
    pub(super) fn processes(&self, plan: &Plan, slices: &Rows, headline: Option<Headline>) -> Rows {
        gathered_where(SliceRule::of(plan, headline), slices, |index| self.is_quiet[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::launches::gather;
    use crate::neighbours::Neighbours;
    use model::values::metric::Metric;
    use record::Row;
    use record::fixture::record;

    /// Processes of six slices. Slices on a shared core (`is_loud`) take twice as long.
    fn sliced(n_processes: u32, is_loud: impl Fn(u32, u32) -> bool) -> Record {
        let mut record = record(&["a"]);
        record.header.plan.in_slices = true;
        for block in 0..n_processes {
            for at in 0..6 {
                let step = 6 * block + at;
                let mut row = Row::new(step, 0, Some(block), 10_000 * u64::from(step));
                let is_loud = is_loud(block, at);
                row.set(Metric::Loops, Some(10));
                row.set(Metric::WallNs, Some(if is_loud { 2000 } else { 1000 }));
                row.set(Metric::OneChainNs, Some(4000));
                row.set(Metric::FourChainsNs, Some(if is_loud { 6000 } else { 4080 }));
                record.rows.push(&row);
            }
        }
        gather(record)
    }

    fn values(record: &Record, quiet: &QuietSlices) -> Vec<f64> {
        let rows = quiet.processes(&record.header.plan, record.slices.as_ref().unwrap(), None);
        (0..rows.len()).filter_map(|index| rows.headline(index)).collect()
    }

    #[test]
    fn a_slice_counts_if_the_probes_on_both_sides_are_quiet() {
        // Slices 0, 1, 2 lie between quiet probes. The core is shared after slice 3; slice 5 has no probe after it.
        let record = sliced(12, |_, at| at == 4);
        let quiet = QuietSlices::of(&record).unwrap();
        let expected = CoreState { n_probed: 72, n_shared: 12, n_quiet: 36, n_processes: 12 };
        assert_eq!(quiet.arm(0), expected);
        assert!(quiet.is_enough() && !quiet.is_mostly_shared(0));
        assert_eq!(values(&record, &quiet), [100.0; 12]);
    }

    /// All probes found the core equally fast, whether a process has three of them or five.
    #[test]
    fn a_process_with_fewer_probes_had_no_faster_core() {
        let record = sliced(12, |block, at| at == if block < 6 { 4 } else { 5 });
        let quiet = QuietSlices::of(&record).unwrap();
        let rows = quiet.processes(&record.header.plan, record.slices.as_ref().unwrap(), None);
        let n_loops = |at: usize| rows.get(at, Metric::Loops).unwrap();
        assert_ne!(n_loops(0), n_loops(11));
        let low = crate::low_runs::low_ends(&rows, 1, false, Rows::headline).swap_remove(0);
        assert_eq!(low.t0().unwrap().floor.err, Some(0.0));
    }

    #[test]
    fn too_few_quiet_slices_make_no_value() {
        let record = sliced(12, |_, at| at == 1 || at == 4);
        let quiet = QuietSlices::of(&record).unwrap();
        // Only slice 2 lies between two quiet probes.
        assert_eq!((quiet.arm(0).n_quiet, quiet.is_enough()), (0, false));
        assert!(values(&record, &quiet).is_empty());
        let loud = QuietSlices::of(&sliced(12, |_, at| at > 1)).unwrap();
        assert!(loud.is_mostly_shared(0) && !loud.is_enough());
        // Also in a single process of 24 slices, as timeit has them.
        assert!(QuietSlices::of(&sliced(4, |_, at| at > 1)).unwrap().is_mostly_shared(0));
        assert!(!QuietSlices::of(&sliced(3, |_, at| at > 1)).unwrap().is_mostly_shared(0));
    }

    /// A note that the core was busy would contradict a t0 that is no limit.
    #[test]
    fn a_note_takes_as_many_probes_as_a_limit() {
        let has_note = |n_processes: u32| {
            let record = sliced(n_processes, |_, at| at > 1);
            let notes = crate::notes::notes(&record, &[], &[], None, Neighbours::of(&record));
            notes.iter().any(|note| matches!(note.finding, Finding::Neighbours(_)))
        };
        assert_eq!([3, 4].map(has_note), [false, true]);
    }

    #[test]
    fn without_probes_nothing_is_known() {
        let mut record = sliced(12, |_, _| false);
        let mut rows = Rows::default();
        for mut row in record.slices.as_ref().unwrap().iter() {
            row.set(Metric::OneChainNs, None);
            rows.push(&row);
        }
        record.slices = Some(rows);
        assert!(QuietSlices::of(&record).is_none());
    }
}
