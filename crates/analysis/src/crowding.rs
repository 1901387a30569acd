//! Programs whose tasks wait for each other, or for other programs. Clean time leaves out the time in which none of a
//! program's tasks ran, but not the waits of one while another ran.

use crate::clocks::{compares_times, is_read_elsewhere};
use crate::comparison::{PairedDecision, PairedTest};
use crate::finding::{Finding, Note};
use model::values::metric::Metric;
use model::values::{Clock, read_cpu_list};
use record::Record;

/// Smallest share of the time that shows several tasks on one CPU. Kernel threads take less.
pub(super) const SHARED_MIN: f64 = 0.05;
/// Smallest share of the time that shows other programs on the CPUs.
const OTHERS_MIN: f64 = 0.02;

fn counts(record: &Record, arm: usize, metric: Metric) -> impl Iterator<Item = u64> {
    let rows = &record.rows;
    let of_arm = rows.measurements().filter(move |&at| rows.arm(at) == arm);
    of_arm.filter_map(move |at| rows.get(at, metric))
}

/// The share of a time in the wall time of the arm's runs that have both. 0 without such runs.
fn share(record: &Record, arm: usize, metric: Metric) -> f64 {
    let rows = &record.rows;
    let of_run = |at| Some((rows.get(at, metric)? as f64, rows.get(at, Metric::WallNs)? as f64));
    let (parts, walls): (Vec<f64>, Vec<f64>) =
        rows.measurements_of(&[arm]).filter_map(of_run).unzip();
    let share = parts.iter().sum::<f64>() / walls.iter().sum::<f64>();
    if share.is_finite() { share } else { 0.0 }
}

/// Number of CPUs that the runs may use.
fn n_cpus(record: &Record) -> Option<usize> {
    let allowed = || Some(read_cpu_list(record.header.facts.cpus_allowed.as_deref()?)?.len());
    record.header.plan.process.affinity.as_ref().map(Vec::len).or_else(allowed)
}

/// The arm that has more tasks than CPUs for the largest part of its time. The threshold ignores a process that starts
/// another and waits for it.
pub(super) fn crowded(record: &Record) -> Option<Note> {
    let arms = 0..record.header.plan.arms.len();
    let shares = arms.map(|arm| (arm, share(record, arm, Metric::CrowdedNs)));
    let (arm, share) = shares.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let n_threads = counts(record, arm, Metric::RunnableMax).max()?;
    let finding = Finding::Crowded { arm, share, n_threads, n_cpus: n_cpus(record)? };
    (share >= SHARED_MIN).then_some(Note { finding, weight: share / 2.0 })
}

/// The share of an arm's clean time by which waits for other programs may have made it longer. While more of its tasks
/// were ready than it has CPUs, they waited for each other.
fn waited(record: &Record, arm: usize) -> f64 {
    let n_tasks = counts(record, arm, Metric::RunnableMax).max();
    let Some((n_tasks, n_cpus)) = n_tasks.zip(n_cpus(record)) else { return 0.0 };
    let n_beyond = n_tasks.saturating_sub(n_cpus as u64) as f64;
    let stalled = share(record, arm, Metric::StalledNs);
    let own = n_beyond * share(record, arm, Metric::CrowdedNs);
    let waited = (share(record, arm, Metric::PreemptedNs) - stalled - own) / (1.0 - stalled);
    if waited >= SHARED_MIN && stalled >= OTHERS_MIN { waited.min(1.0) } else { 0.0 }
}

/// Whether the decision on two arms, the reference first, would be the same without such waits.
pub(super) fn holds_without_waits(record: &Record, arms: [usize; 2], paired: &PairedTest) -> bool {
    let plan = &record.header.plan;
    let is_clean = plan.policy.clock == Clock::Clean && compares_times(plan);
    if !is_clean || is_read_elsewhere(record) || record.slices.is_some() {
        return true;
    }
    let [old, new] = arms.map(|arm| 1.0 - waited(record, arm));
    let (ratio, same) = (paired.ratio, 1.0 + plan.policy.same_within);
    match paired.decision {
        PairedDecision::Different if ratio.ratio > 1.0 => ratio.lo * new > old,
        PairedDecision::Different => ratio.hi * new < old,
        PairedDecision::Same => new < same * old && old < same * new,
        PairedDecision::Undecided => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::comparison::NoTest;
    use model::values::{Compared, DecideOn};
    use record::{Rows, fixture};

    /// `sh` and its child are ready together for a moment, which is no finding.
    #[test]
    fn threads_beyond_the_cpus_are_a_finding_if_they_last() {
        let found = |crowded_ns: u64| {
            let mut record = fixture::record(&["a", "b"]);
            record.header.plan.process.affinity = Some(vec![2, 3]);
            for step in 0..4 {
                let mut row = fixture::row(2 * step, 1, Some(step), 1_000_000);
                row.set(Metric::RunnableMax, Some(3 + u64::from(step)));
                row.set(Metric::CrowdedNs, Some(crowded_ns));
                row.exit = 0;
                record.rows.push(&row);
                // A long program beside it.
                record.rows.push(&fixture::row(2 * step + 1, 0, Some(step), 90_000_000));
            }
            crowded(&record).map(|note| note.finding)
        };
        let expected = Finding::Crowded { arm: 1, share: 0.25, n_threads: 6, n_cpus: 2 };
        assert_eq!(found(250_000), Some(expected));
        assert_eq!(found(40_000), None);
    }

    fn against(new_ms: u64, n_cpus: usize, stalled_ms: u64) -> Result<bool, NoTest> {
        let record = session(new_ms, n_cpus, stalled_ms);
        let analysis = analyse(&record);
        let paired = analysis.comparisons[0].evidence.test()?;
        Ok(paired.decision == PairedDecision::Different)
    }

    /// Two programs of 100 and so many ms, of which the second has two tasks. One of them waits in a tenth of each run,
    /// and for a time that none of them runs.
    fn session(new_ms: u64, n_cpus: usize, stalled_ms: u64) -> Record {
        let mut record = fixture::record(&["a", "b"]);
        record.header.plan.process.affinity = Some((0..n_cpus).collect());
        for (_, mut row) in fixture::pairs(100) {
            let ns = |ms: u64| Some(ms * 1_000_000);
            let noise_ns = u64::from(row.step * 7919 % 13) * 10_000;
            let clean_ms = [100, new_ms][row.arm as usize];
            row.set(Metric::WallNs, Some((clean_ms + stalled_ms) * 1_000_000 + noise_ns));
            row.set(Metric::RunnableMax, Some(1 + u64::from(row.arm)));
            row.set(Metric::StalledNs, ns(stalled_ms));
            let is_crowded = n_cpus == 1 && row.arm == 1;
            row.set(Metric::CrowdedNs, ns(if is_crowded { 10 } else { 0 }));
            row.set(Metric::PreemptedNs, ns(stalled_ms + 10 * u64::from(row.arm)));
            record.rows.push(&row);
        }
        record
    }

    #[test]
    fn a_difference_that_may_be_waits_is_none() {
        // 110 ms with 10 ms of waits may be 100, and 130 are more than 100.
        assert_eq!(against(105, 2, 5), Err(NoTest::TasksWaited));
        assert_eq!(against(130, 2, 5), Ok(true));
        assert_eq!(against(90, 2, 5), Ok(true), "the waits made it longer, not shorter");
        assert_eq!(against(100, 2, 5), Err(NoTest::TasksWaited), "without waits it is faster");
        assert_eq!(against(105, 2, 0), Ok(true), "no other program ran");
        assert_eq!(against(105, 1, 5), Ok(true), "its tasks wait for each other");
        // What a program says of itself is no time of its process.
        let analysis = analyse(&session(105, 2, 0));
        let paired = analysis.comparisons[0].evidence.test().unwrap();
        let mut record = session(105, 2, 5);
        assert!(!holds_without_waits(&record, [0, 1], paired));
        record.rows =
            Rows::of(Compared { decide_on: Some(DecideOn::Value), ..Compared::default() });
        fixture::pairs(9).for_each(|(_, row)| record.rows.push(&row));
        assert!(holds_without_waits(&record, [0, 1], paired));
    }
}
