//! Notes for the reader of a result, as data: sources of lost time and limits of the data. `render` has the words.

use crate::clocks::compares_times;
use crate::coarse_steps::coarse_steps;
use crate::comparison::{Comparison, Evidence, PairedDecision};
use crate::crowding::{SHARED_MIN, crowded};
use crate::finding::{Finding, Note};
use crate::ledger::RecordLedger;
use crate::neighbours::Neighbours;
use crate::quiet::PROBES_MIN;
use crate::sliced::notes_on_slices;
use crate::summary::ArmSummary;
use crate::unsteady::{notes_on_times, warmups};
use host::priority::{NICE, REAL_TIME};
use model::values::Order;
use model::values::metric::Metric;
use record::ledger::{LedgerEntry, NoiseSource};
use record::plan::Plan;
use record::{Event, Record, Survivors};

/// Smallest share of the measured time for a note.
const SHARE_MIN: f64 = 0.002;
/// Smallest share for a note on the property of the machine that caused it.
const SUFFERED_MIN: f64 = 0.01;

/// All notes, the heaviest first.
pub fn notes(
    record: &Record,
    arms: &[ArmSummary],
    comparisons: &[Comparison],
    ledger: Option<&RecordLedger>,
    neighbours: Option<Neighbours>,
) -> Vec<Note> {
    let mut notes = Vec::from_iter(coarse_steps(record, comparisons));
    // They take time, and nothing else.
    let neighbours = neighbours.filter(|_| compares_times(&record.header.plan));
    if let Some(slices) = &record.slices {
        notes.extend(notes_on_slices(record, slices, arms));
        // With fewer probes t0 is never a limit, and the note would contradict it.
        let n_probes_min = PROBES_MIN * record.header.plan.arms.len();
        let probed = neighbours.filter(|it| it.n_probes >= n_probes_min);
        notes.extend(probed.and_then(on_the_core));
        notes.extend(load(record));
        notes.extend(warmups(record, comparisons, &mut []));
        notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        return notes;
    }
    let of_arm = |arm: &ArmSummary| match record.rows.compares_other_values() {
        true => None,
        false => Some(arm.times.as_ref()?.mean.value * arm.n_runs as f64),
    };
    let total_ns: f64 = arms.iter().filter_map(of_arm).sum();
    notes.extend(failed_runs(&record.header.plan, arms));
    notes.extend(survivors(record));
    notes.extend(not_mixed(record));
    notes.extend(listed_order(record, comparisons));
    notes.extend(lost_shield(record));
    notes.extend(memory_floor(record, arms));
    if total_ns > 0.0 {
        notes.extend(ledger.and_then(lost));
        notes.extend(shared_cpus(record, total_ns).or_else(|| crowded(record)));
        notes.extend(priority(record));
        notes.extend(faults(record, total_ns));
        notes.extend(migrations(arms));
        notes.extend(counters_disagree(record, arms, comparisons));
        notes.extend(neighbours.and_then(on_the_core));
        // A load that took nothing is no news.
        let took = ledger.is_none_or(|ledger| largest_share(ledger) >= SUFFERED_MIN);
        notes.extend(load(record).filter(|_| took));
    }
    notes.extend(floors(arms));
    notes.extend(lone_runs(arms));
    notes.extend(too_short(arms));
    notes.extend(notes_on_times(record, comparisons));
    notes.retain(|note| note.weight >= SHARE_MIN);
    notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    notes
}

fn not_mixed(record: &Record) -> Option<Note> {
    let arms = &record.header.plan.arms;
    let has_own = arms.iter().any(|arm| arm.setup.is_some() || arm.cleanup.is_some());
    has_own.then_some(Note { finding: Finding::NotMixed, weight: 1.0 })
}

fn listed_order(record: &Record, comparisons: &[Comparison]) -> Option<Note> {
    let is_listed = record.header.plan.order == Order::Listed && !comparisons.is_empty();
    is_listed.then_some(Note { finding: Finding::ListedOrder, weight: 1.0 })
}

/// Smallest share of runs on a shared core for a note. An interrupt may hit some of the probes, which take 4 µs.
const SHARED_CORE_MIN: f64 = 0.05;

pub(super) fn on_the_core(neighbours: Neighbours) -> Option<Note> {
    let cost = neighbours.ratio.map_or(0.1, |ratio| (ratio - 1.0).max(0.0));
    let weight = neighbours.share() * cost;
    let is_worth_it = neighbours.share() >= SHARED_CORE_MIN && weight >= SUFFERED_MIN;
    is_worth_it.then_some(Note { finding: Finding::Neighbours(neighbours), weight })
}

/// Sum of a metric over the measured runs; `None` if no run has it.
fn total(record: &Record, metric: Metric) -> Option<f64> {
    let rows = &record.rows;
    let values = rows.measurements().filter_map(|index| rows.get(index, metric));
    values.map(|value| value as f64).reduce(|sum, value| sum + value)
}

const PARTS_MAX: usize = 3;
const PART_MIN: f64 = 0.05;

fn largest_share(ledger: &RecordLedger) -> f64 {
    let largest_ns = ledger.total.largest().map_or(0, |entry| entry.ns);
    largest_ns as f64 / ledger.measured_ns as f64
}

pub(super) fn lost(ledger: &RecordLedger) -> Option<Note> {
    let total_ns = ledger.total.total_ns;
    ledger.total.largest()?;
    let share = largest_share(ledger);
    let entries = &ledger.total.entries;
    let large = || entries.iter().filter(|it| it.ns as f64 >= PART_MIN * total_ns as f64);
    let causes = large().filter(|entry| !entry.source.is_unexplained()).take(PARTS_MAX);
    let own = large().filter(|entry| entry.source == NoiseSource::MoreCpuTime);
    let parts: Vec<LedgerEntry> = causes.chain(own).cloned().collect();
    let finding = Finding::Lost { total_ns, is_lower_limit: ledger.is_lower_limit(), share, parts };
    Some(Note { finding, weight: share })
}

/// Threads of the runs that shared the shield's CPUs. The threshold ignores single kernel threads.
fn shared_cpus(record: &Record, total_ns: f64) -> Option<Note> {
    let n_cpus = shielded_cpus(record)?;
    let share = total(record, Metric::PreemptedNs)? / total_ns;
    let finding = Finding::SharedCpus { share, n_cpus };
    (share >= SHARED_MIN).then_some(Note { finding, weight: share })
}

/// Number of CPUs reserved for the runs; `None` if a shield was lost or never there.
fn shielded_cpus(record: &Record) -> Option<usize> {
    let isolation =
        record.header.isolation.as_ref().filter(|isolation| isolation.how.is_shield())?;
    let is_whole = isolation.n_tasks_left == 0 && lost_shield(record).is_none();
    is_whole.then(|| isolation.bound_cpus().len())
}

fn lost_shield(record: &Record) -> Option<Note> {
    let (first, why) = record.events.iter().find_map(|event| match event {
        Event::IsolationLost { first_step, why, .. } => Some((*first_step, why.clone())),
        _ => None,
    })?;
    let rows = &record.rows;
    let n_runs = rows.measurements().filter(|&at| rows.step(at) >= first);
    Some(Note { finding: Finding::ShieldLost { n_runs: n_runs.count(), why }, weight: 1.0 })
}

/// Shorter runs end before the kernel stops a real-time program.
const PAUSE_AFTER_NS: u64 = 900_000_000;

/// Limits of a nice level or a real-time policy, where they have an effect.
fn priority(record: &Record) -> Vec<Note> {
    let rows = &record.rows;
    let gap = |what: &str| record.header.gaps.iter().find(|gap| gap.what == what);
    let wall_ns = total(record, Metric::WallNs).unwrap_or(f64::INFINITY);
    let preempted = total(record, Metric::PreemptedNs).map_or(0.0, |ns| (ns / wall_ns).min(1.0));
    let nice = gap(NICE)
        .filter(|_| preempted >= SUFFERED_MIN)
        .map(|_| Note { finding: Finding::NiceInTerminal { share: preempted }, weight: preempted });
    let mut walls_ns = rows.measurements().filter_map(|at| rows.get(at, Metric::WallNs));
    let is_long = walls_ns.any(|ns| ns > PAUSE_AFTER_NS);
    let real_time = gap(REAL_TIME).filter(|_| is_long).map(|gap| Note {
        finding: Finding::RealTimePauses { why: gap.why.clone() },
        weight: 0.05,
    });
    nice.into_iter().chain(real_time).collect()
}

fn faults(record: &Record, total_ns: f64) -> Option<Note> {
    let n = total(record, Metric::MajorFaults).filter(|&n| n > 0.0)?;
    // A device read takes some 100 µs. The estimate only ranks the note.
    Some(Note { finding: Finding::MajorFaults { n }, weight: n * 1e5 / total_ns })
}

fn migrations(arms: &[ArmSummary]) -> Option<Note> {
    let of = |arm: &ArmSummary| {
        let metric = arm.metric("migrations")?;
        Some((metric.mean * metric.n as f64, metric.n as f64))
    };
    let (n_migrations, n_runs) =
        arms.iter().filter_map(of).reduce(|sum, arm| (sum.0 + arm.0, sum.1 + arm.1))?;
    let per_run = n_migrations / n_runs;
    let weight = (per_run * 0.005).min(0.02);
    (per_run > 0.05).then_some(Note { finding: Finding::Migrations { per_run }, weight })
}

/// Comparisons whose time and instructions differ in opposite directions, both beyond the margin.
fn counters_disagree(
    record: &Record,
    arms: &[ArmSummary],
    comparisons: &[Comparison],
) -> Vec<Note> {
    let margin = record.header.plan.policy.same_within.ln_1p();
    let name = Metric::Instructions.info().name;
    let count = |arm: usize| Some(arms.get(arm)?.metric(name)?.median);
    let of = |found: &Comparison| {
        let Evidence::Paired(paired) = &found.evidence else { return None };
        let time = paired.net_ratio.unwrap_or(paired.ratio).ratio;
        let instructions = count(found.arm)? / count(found.reference)?;
        let (of_time, of_count) = (time.ln(), instructions.ln());
        let is_opposite = of_time * of_count < 0.0 && of_time.abs().min(of_count.abs()) > margin;
        let finding = Finding::CountersDisagree { arm: found.arm, time, instructions };
        let is_decided = paired.decision == PairedDecision::Different;
        (is_decided && is_opposite).then_some(Note { finding, weight: 0.5 })
    };
    comparisons.iter().filter_map(of).collect()
}

fn load(record: &Record) -> Option<Note> {
    let facts = &record.header.facts;
    let [load, ..] = facts.load_average?;
    let n_cpus = facts.topology.as_ref()?.n_cpus;
    let is_busy = load > 0.5 * f64::from(n_cpus);
    is_busy.then_some(Note { finding: Finding::Busy { load, n_cpus }, weight: 0.01 })
}

fn failed_runs(plan: &Plan, arms: &[ArmSummary]) -> Vec<Note> {
    let of_arm = |arm: &ArmSummary| {
        // Where 0 is a failure, --expect-exit has named every status that counts.
        let accept = plan.arms[arm.arm].accept.as_ref();
        let is_expected = accept.is_some_and(|accept| !accept.contains(&0));
        let n_nonzero = if is_expected { 0 } else { arm.n_nonzero_exits };
        let n_runs = arm.n_runs + arm.n_timed_out + arm.n_failed;
        let counts = [
            (arm.n_failed, Finding::RejectedRuns { arm: arm.arm, n: arm.n_failed, n_runs }),
            (n_nonzero, Finding::FailedRuns { arm: arm.arm, n: n_nonzero, n_runs }),
            (arm.n_timed_out, Finding::TimedOutRuns { arm: arm.arm, n: arm.n_timed_out, n_runs }),
        ];
        counts.into_iter().filter(|(n, _)| *n > 0).map(|(_, finding)| Note { finding, weight: 1.0 })
    };
    arms.iter().flat_map(of_arm).collect()
}

/// Processes that runs left behind. A campaign judges them as cheating.
fn survivors(record: &Record) -> Vec<Note> {
    let is_campaign = record.header.plan.fair_play.is_some();
    let events = record.events.iter().filter(|_| !is_campaign);
    let found = events.filter_map(|event| match event {
        Event::Launcher { survivors, .. } => Some(survivors),
        _ => None,
    });
    let finding = |it: &Survivors| {
        let (arm, name) = (it.arm as usize, it.name.clone());
        match (it.n_left, it.n_ended) {
            (0, n) => Finding::Outlived { arm, n, name },
            (n, _) => Finding::LeftBehind { arm, n, n_runs: it.n_runs, name },
        }
    };
    let counted = found.flatten().filter(|it| it.n_left + it.n_ended > 0);
    counted.map(|it| Note { finding: finding(it), weight: 1.0 }).collect()
}

fn memory_floor(record: &Record, arms: &[ArmSummary]) -> Option<Note> {
    let floor_kib = record.launcher_peak_kib()?;
    let binds = |arm: &&ArmSummary| {
        let maxrss = arm.metric("maxrss");
        !arm.is_hidden && maxrss.is_some_and(|maxrss| maxrss.median <= floor_kib as f64 * 1024.0)
    };
    let arm = arms.iter().find(binds)?.arm;
    Some(Note { finding: Finding::MemoryFloor { arm, floor_kib }, weight: 0.004 })
}

fn lone_runs(arms: &[ArmSummary]) -> impl Iterator<Item = Note> + '_ {
    arms.iter().filter(|arm| !arm.is_hidden).filter_map(|arm| {
        let run = arm.times.as_ref()?.lone_run.clone()?;
        let weight = run.below;
        Some(Note { finding: Finding::LoneRun { arm: arm.arm, run }, weight })
    })
}

fn floors(arms: &[ArmSummary]) -> Vec<Note> {
    let is_without = |arm: &&ArmSummary| {
        !arm.is_hidden && arm.times.as_ref().is_some_and(|wall| !wall.has_floor)
    };
    let without = arms.iter().filter(is_without);
    without.map(|arm| Note { finding: Finding::NoFloor { arm: arm.arm }, weight: 0.006 }).collect()
}

fn too_short(arms: &[ArmSummary]) -> impl Iterator<Item = Note> {
    let short = arms.iter().filter(|arm| !arm.is_hidden && arm.is_too_short());
    short.filter_map(|arm| {
        Some(Note { finding: Finding::TooShort { arm: arm.arm, t0: arm.net?.t0? }, weight: 1.0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use record::fixture;

    /// Where 0 is a failure, the user has named the other statuses.
    #[test]
    fn expected_statuses_are_no_failures() {
        let notes = |accept: Option<Vec<i32>>| {
            let mut record = fixture::record(&["false"]);
            record.header.plan.arms[0].accept = accept;
            let arm = ArmSummary { n_runs: 20, n_nonzero_exits: 20, ..ArmSummary::default() };
            failed_runs(&record.header.plan, &[arm]).len()
        };
        assert_eq!([notes(Some(vec![1])), notes(Some(vec![0, 1])), notes(None)], [0, 1, 1]);
    }

    /// The second arm takes 20 % more time, and `factor` times the instructions.
    fn notes_of(factor: f64) -> Vec<Finding> {
        let mut record = fixture::record(&["a", "b"]);
        for (block, mut run) in fixture::pairs(40) {
            let noise = u64::from(block * 7919 % 13) * 1000;
            let wall_ns = 10_000_000 + 2_000_000 * u64::from(run.arm) + noise;
            run.set(Metric::WallNs, Some(wall_ns));
            let instructions = if run.arm == 1 { factor * 1e6 } else { 1e6 };
            run.set(Metric::Instructions, Some(instructions as u64));
            record.rows.push(&run);
        }
        analyse(&record).notes.into_iter().map(|note| note.finding).collect()
    }

    #[test]
    fn fewer_instructions_in_more_time_are_worth_a_note() {
        let is_it = |finding: &Finding| matches!(finding, Finding::CountersDisagree { .. });
        let found = notes_of(0.9).into_iter().find(is_it);
        let Some(Finding::CountersDisagree { arm, time, instructions }) = found else {
            panic!("{found:?}")
        };
        assert_eq!((arm, instructions), (1, 0.9));
        assert!((time - 1.2).abs() < 0.01, "{time}");
        assert!(!notes_of(1.3).iter().any(is_it), "both are more");
        assert!(!notes_of(0.995).iter().any(is_it), "about the same");
    }
}
