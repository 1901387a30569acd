use super::*;
use crate::arm::summarise;
use proptest::prelude::*;
use record::{Row, fixture};

/// A run of 10 ms on the CPU, with changes.
fn record_of(n: u32, changed: impl Fn(u32, &mut Row)) -> Record {
    let mut record = fixture::record(&["a"]);
    for step in 0..n {
        let mut row = fixture::row(step + 1, 0, Some(step), 10_000_000);
        row.set(Metric::TaskClockNs, Some(10_000_000));
        row.set(Metric::UserUs, None);
        changed(step, &mut row);
        record.rows.push(&row);
    }
    record
}

fn add(row: &mut Row, metric: Metric, ns: u64) {
    row.set(metric, Some(row.get(metric).unwrap_or(0) + ns));
}

fn total(record: &Record) -> Ledger {
    let found = record_ledger(record, &summarise(record)).unwrap();
    let sum: i64 = found.total.entries.iter().map(|entry| entry.ns).sum();
    assert_eq!(sum, found.total.total_ns);
    found.total
}

#[track_caller]
fn check(record: &Record, source: &NoiseSource, ns: i64) {
    let found = total(record);
    let entry = found.entries.iter().find(|entry| entry.source == *source);
    let entry = entry.unwrap_or_else(|| panic!("{found:?}"));
    assert!((entry.ns - ns).abs() <= ns / 20, "{found:?}");
    assert!(source.is_unexplained() || found.largest().unwrap().source == *source, "{found:?}");
}

#[test]
fn time_off_the_cpu_is_told_apart() {
    let wait = |metric: Metric| {
        record_of(30, move |step, row| {
            row.set(Metric::PreemptedNs, Some(0));
            row.set(Metric::SpawnNs, Some(0));
            row.set(Metric::RunQueueWaitNs, Some(0));
            if step % 3 == 0 {
                let ns = u64::from(step) * 100_000;
                add(row, Metric::WallNs, ns);
                add(row, Metric::RunQueueWaitNs, ns);
                if metric == Metric::PreemptedNs {
                    add(row, Metric::PreemptedNs, ns);
                }
            }
        })
    };
    check(&wait(Metric::PreemptedNs), &NoiseSource::Preempted, 13_500_000);
    check(&wait(Metric::RunQueueWaitNs), &NoiseSource::Queued, 13_500_000);
    // The quota's count sums over CPUs. It names waits but adds none.
    let stopped = |metric: Metric| {
        let mut record = record_of(0, |_, _| {});
        let waits = wait(metric);
        for index in 0..waits.rows.len() {
            let mut row = waits.rows.row(index);
            row.set(
                Metric::QuotaNs,
                Some(if index % 2 == 1 { u64::from(row.step) * 200_000 } else { 0 }),
            );
            record.rows.push(&row);
        }
        record
    };
    for metric in [Metric::PreemptedNs, Metric::RunQueueWaitNs] {
        check(&stopped(metric), &NoiseSource::Quota, 7_500_000);
    }
    let asleep = |n_waits: u64, counted: bool| {
        record_of(30, move |step, row| {
            row.set(Metric::RunQueueWaitNs, counted.then_some(0));
            row.set(Metric::VoluntarySwitches, Some(n_waits));
            add(row, Metric::WallNs, u64::from(step % 3) * 1_000_000);
        })
    };
    check(&asleep(2, true), &NoiseSource::Asleep, 30_000_000);
    // The exit is the only switch: Stillwell waited, the run did not.
    check(&asleep(1, true), &NoiseSource::SeenLate, 30_000_000);
    // The run-queue delay was not counted.
    check(&asleep(2, false), &NoiseSource::Unexplained, 30_000_000);
    assert!(total(&asleep(2, true)).largest().unwrap().is_estimate);
}

/// The task clock stops before a process frees its memory.
#[test]
fn a_process_that_gives_its_memory_back_is_on_the_cpu() {
    let record = record_of(30, |step, row| {
        let freeing_ns = u64::from(step % 3) * 1_000_000;
        add(row, Metric::WallNs, freeing_ns);
        row.set(Metric::SpawnNs, Some(0));
        row.set(Metric::RunQueueWaitNs, Some(0));
        row.set(Metric::VoluntarySwitches, Some(1));
        row.set(Metric::UserUs, Some(9_000));
        row.set(Metric::SysUs, Some(1_000 + freeing_ns / 1_000));
    });
    check(&record, &NoiseSource::MoreCpuTime, 30_000_000);
}

/// The kernel dropped switch records, but counted the wait.
#[test]
fn switches_that_did_not_fit_are_no_preemption_of_zero() {
    let mut record = record_of(30, |step, row| {
        let ns = u64::from(step) * 100_000;
        add(row, Metric::WallNs, ns);
        row.set(Metric::SpawnNs, Some(0));
        row.set(Metric::RunQueueWaitNs, Some(ns));
        row.set(Metric::PreemptedNs, (step % 2 == 0).then_some(ns));
    });
    let cc1 = NoiseSource::Task { name: "cc1".into() };
    for step in 0..30 {
        let entry = LedgerEntry::exact(cc1.clone(), i64::from(step) * 60_000);
        record.events.insert(0, Event::Taken { step: step as u32 + 1, by: vec![entry] });
    }
    let found = record_ledger(&record, &summarise(&record)).unwrap();
    assert_eq!(found.arms[0].n_uncounted, 15);
    let ns_of = |source: &NoiseSource| {
        let entry = found.total.entries.iter().find(|entry| entry.source == *source);
        entry.map_or(0, |entry| entry.ns)
    };
    // 210 x 0.1 ms in the runs that were counted, 225 in the others.
    let found =
        [&cc1, &NoiseSource::Preempted, &NoiseSource::Waited, &NoiseSource::Queued].map(ns_of);
    assert_eq!(found, [26_100_000, 8_400_000, 9_000_000, 0]);
}

/// If a trace has more than the lost time, only its proportions count.
#[test]
fn what_is_scaled_is_an_estimate() {
    let task = |ns, n| LedgerEntry {
        n: Some(n),
        ..LedgerEntry::exact(NoiseSource::Task { name: "a".into() }, ns)
    };
    let found = shared(vec![task(3_000, 30), task(1_000, 1)], 2_000, NoiseSource::Preempted, false);
    let estimate = |ns, n| LedgerEntry { is_estimate: true, ..task(ns, n) };
    assert_eq!(found[..2], [estimate(1_500, 15), estimate(500, 1)]);
    let found = shared(vec![task(3_000, 30)], 3_500, NoiseSource::Preempted, false);
    assert_eq!(found, [task(3_000, 30), LedgerEntry::exact(NoiseSource::Preempted, 500)]);
}

/// Each of four threads on one CPU waits three quarters of the time.
#[test]
fn threads_that_take_turns_are_not_parallel() {
    let record = record_of(30, |step, row| {
        let ns = u64::from(step) * 10_000;
        add(row, Metric::WallNs, ns);
        row.set(Metric::TaskClockNs, Some(9_900_000 + ns));
        row.set(Metric::SpawnNs, Some(0));
        row.set(Metric::PreemptedNs, Some(0));
        row.set(Metric::RunQueueWaitNs, Some(7_500_000 + ns));
    });
    let found = record_ledger(&record, &summarise(&record)).unwrap();
    assert_eq!(found.arms[0].threads, ThreadUse::TakeTurns);
    let entries = &found.total.entries;
    assert!(entries.iter().all(|entry| entry.source != NoiseSource::Asleep), "{entries:?}");
    assert!(found.total.largest().unwrap().is_estimate);
}

/// A worker may wait for a CPU before its slice begins.
#[test]
fn a_slice_waits_no_longer_than_it_is_off_the_cpu() {
    let slice = LedgerSample {
        wall_ns: 1_000,
        floor_ns: 900,
        preempted_ns: Some(20),
        queued_ns: Some(5_000),
        cpu_ns: Some(950),
        never_waited: true,
        ..LedgerSample::default()
    };
    let found = slice.within_slice();
    assert_eq!((found.preempted_ns, found.queued_ns, found.rest_ns()), (Some(20), Some(30), 950));
    assert!(found.is_slice && !found.never_waited);
    let found = LedgerSample { preempted_ns: Some(700), ..slice }.within_slice();
    assert_eq!((found.preempted_ns, found.queued_ns), (Some(50), Some(0)));
    // Without CPU time, the split is unknown.
    assert_eq!(LedgerSample { cpu_ns: None, ..slice }.within_slice().queued_ns, None);
    assert_eq!(ArmBaseline::of(&[found; 10]).threads, ThreadUse::One);
}

#[test]
fn time_on_the_cpu_is_estimated_or_not_explained() {
    let longer = |row: &mut Row, ns| {
        add(row, Metric::WallNs, ns);
        add(row, Metric::TaskClockNs, ns);
    };
    let faults = record_of(40, |step, row| {
        let n = u64::from(step * 7 % 40);
        row.set(Metric::MinorFaults, Some(100 + n));
        longer(row, n * 1_000);
    });
    check(&faults, &NoiseSource::Faults, 780_000);
    let migrations = record_of(40, |step, row| {
        row.set(Metric::Migrations, Some(u64::from(step % 4 == 1) + u64::from(step % 3)));
        longer(row, row.get(Metric::Migrations).unwrap() * 50_000);
    });
    check(&migrations, &NoiseSource::Migrations, 2_450_000);
    let clock = record_of(40, |step, row| {
        let is_slow = step % 2 == 1;
        row.set(Metric::Cycles, Some(30_000_000));
        longer(row, if is_slow { 1_000_000 } else { 0 });
    });
    check(&clock, &NoiseSource::Frequency, 20_000_000);
    let unknown = record_of(40, |step, row| longer(row, u64::from(step) * 10_000));
    check(&unknown, &NoiseSource::MoreCpuTime, 7_800_000);
}

/// A trace names the preempting programs; interrupts are part of the CPU time.
#[test]
fn a_trace_gives_names() {
    let mut record = record_of(30, |step, row| {
        let ns = u64::from(step) * 10_000;
        add(row, Metric::WallNs, 2 * ns);
        row.set(Metric::PreemptedNs, Some(ns));
        add(row, Metric::TaskClockNs, ns);
    });
    let task = |name: &str| NoiseSource::Task { name: name.into() };
    let tick = NoiseSource::Interrupt { line: "LOC".into() };
    for step in 0..30 {
        let ns = i64::from(step) * 10_000;
        let by = vec![
            LedgerEntry { n: Some(1), ..LedgerEntry::exact(task("cc1"), ns / 2) },
            LedgerEntry {
                n: Some(1),
                ..LedgerEntry::exact(tick.clone(), 1_000 + i64::from(step % 2) * 500)
            },
        ];
        record.events.insert(0, Event::Taken { step: step as u32 + 1, by });
    }
    check(&record, &task("cc1"), 2_175_000);
    let found = total(&record);
    let ns_of = |source: &NoiseSource| {
        found.entries.iter().find(|entry| entry.source == *source).map_or(0, |entry| entry.ns)
    };
    assert_eq!(ns_of(&NoiseSource::Preempted), 2_175_000);
    assert_eq!(ns_of(&tick), 7_500);
}

#[test]
fn what_is_usual_is_no_noise() {
    let record = record_of(30, |step, row| {
        add(row, Metric::WallNs, 2_000_000 + u64::from(step) * 1_000);
        row.set(Metric::PreemptedNs, Some(2_000_000 + u64::from(step) * 1_000));
    });
    let found = total(&record);
    assert!((found.largest().unwrap().ns - 435_000).abs() < 20_000, "{found:?}");
}

/// Four threads that wait at once have four times the run's wait.
#[test]
fn threads_do_not_lose_more_than_the_run() {
    let record = record_of(30, |step, row| {
        let ns = u64::from(step) * 10_000;
        row.set(Metric::TaskClockNs, Some(38_000_000));
        add(row, Metric::WallNs, ns);
        row.set(Metric::PreemptedNs, Some(4 * ns));
    });
    let found = record_ledger(&record, &summarise(&record)).unwrap();
    assert_eq!(found.arms[0].threads, ThreadUse::Parallel);
    assert!(found.total.largest().unwrap().is_estimate);
    assert!(found.total.unexplained_ns() >= 0, "{found:?}");
}

/// Sums of a damaged record would overflow.
#[test]
fn impossible_times_are_no_times() {
    let huge = |n: u32, ns: u64| record_of(n, move |_, row| row.set(Metric::WallNs, Some(ns)));
    let ledger_of = |record: &Record| record_ledger(record, &summarise(record));
    assert_eq!(ledger_of(&huge(30, 1 << 62)), None);
    assert_eq!(ledger_of(&huge(300, (1 << 55) - 1)), None);
    let mut record = huge(3, 5_000_000);
    assert!(ledger_of(&record).is_some());
    for ns in [i64::MAX, i64::MIN, -5] {
        let by = vec![LedgerEntry::exact(NoiseSource::Preempted, ns)];
        record.events = vec![Event::Taken { step: 1, by }];
        assert_eq!(ledger_of(&record), None);
    }
}

#[test]
fn impossible_counts_overflow_no_sum() {
    for (metric, task_clock) in [(Metric::UserUs, None), (Metric::MinorFaults, Some(10_000_000))] {
        let record = record_of(30, |step, row| {
            row.set(Metric::TaskClockNs, task_clock);
            // The other runs have more than these.
            row.set(metric, Some(if step < 2 { 1 } else { i64::MAX as u64 }));
        });
        drop(record_ledger(&record, &summarise(&record)));
    }
    assert_eq!(sum_of_counts([i64::MAX as u64; 3].into_iter()), u64::MAX);
}

proptest! {
    #[test]
    fn every_record_adds_up(rows in proptest::collection::vec(
        (1..90_000_000_u64, proptest::option::of(0..90_000_000_u64), proptest::option::of(0..200_000_000_u64),
         proptest::option::of(0..90_000_000_u64), 0..90_u64), 1..60)) {
        let n = u32::try_from(rows.len()).unwrap();
        let record = record_of(n, |step, row| {
            let (wall, preempted, cpu, wait, faults) = rows[step as usize];
            row.set(Metric::WallNs, Some(wall));
            row.set(Metric::PreemptedNs, preempted);
            row.set(Metric::TaskClockNs, cpu);
            row.set(Metric::RunQueueWaitNs, wait);
            row.set(Metric::MinorFaults, Some(faults));
        });
        total(&record);
    }
}

#[test]
fn runs_beside_a_neighbour_lose_what_the_others_do_not() {
    let record = record_of(60, |step, row| {
        let is_loud = step % 3 == 0;
        add(row, Metric::TaskClockNs, if is_loud { 2_000_000 } else { 0 });
        add(row, Metric::WallNs, if is_loud { 2_000_000 } else { 0 });
        row.set(Metric::OneChainNs, Some(4000));
        row.set(Metric::FourChainsNs, Some(if is_loud { 6000 } else { 4000 }));
    });
    let found = total(&record);
    let entry = found.entries.iter().find(|it| it.source == NoiseSource::Neighbours).unwrap();
    assert_eq!((entry.ns, entry.n, entry.is_estimate), (40_000_000, Some(20), true));
}
