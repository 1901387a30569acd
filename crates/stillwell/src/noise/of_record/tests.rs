use super::*;
use crate::analysis::summarise;
use crate::record::Row;
use crate::render::fixture;
use proptest::prelude::*;

/// A run of 10 ms on the CPU, which `changed` changes.
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
    let found = of_record(record, &summarise(record)).unwrap();
    let sum: i64 = found.total.entries.iter().map(|entry| entry.ns).sum();
    assert_eq!(sum, found.total.total_ns);
    found.total
}

#[track_caller]
fn check(record: &Record, source: &Source, ns: i64) {
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
    check(&wait(Metric::PreemptedNs), &Source::Preempted, 13_500_000);
    check(&wait(Metric::RunQueueWaitNs), &Source::Queued, 13_500_000);
    let asleep =
        record_of(30, |step, row| add(row, Metric::WallNs, u64::from(step % 3) * 1_000_000));
    check(&asleep, &Source::Asleep, 30_000_000);
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
    check(&faults, &Source::Faults, 780_000);
    let migrations = record_of(40, |step, row| {
        row.set(Metric::Migrations, Some(u64::from(step % 4 == 1) + u64::from(step % 3)));
        longer(row, row.get(Metric::Migrations).unwrap() * 50_000);
    });
    check(&migrations, &Source::Migrations, 2_450_000);
    let clock = record_of(40, |step, row| {
        let is_slow = step % 2 == 1;
        row.set(Metric::Cycles, Some(30_000_000));
        longer(row, if is_slow { 1_000_000 } else { 0 });
    });
    check(&clock, &Source::Frequency, 20_000_000);
    let unknown = record_of(40, |step, row| longer(row, u64::from(step) * 10_000));
    check(&unknown, &Source::Unexplained, 7_800_000);
}

/// A trace names who took the time of a preemption; interrupts are part of the CPU time.
#[test]
fn a_trace_gives_names() {
    let mut record = record_of(30, |step, row| {
        let ns = u64::from(step) * 10_000;
        add(row, Metric::WallNs, 2 * ns);
        row.set(Metric::PreemptedNs, Some(ns));
        add(row, Metric::TaskClockNs, ns);
    });
    let task = |name: &str| Source::Task { name: name.into() };
    let tick = Source::Interrupt { line: "LOC".into() };
    for step in 0..30 {
        let ns = i64::from(step) * 10_000;
        let by = vec![
            Entry { n: Some(1), ..Entry::exact(task("cc1"), ns / 2) },
            Entry { n: Some(1), ..Entry::exact(tick.clone(), 1_000 + i64::from(step % 2) * 500) },
        ];
        record.events.insert(0, Event::Taken { step: step as u32 + 1, by });
    }
    check(&record, &task("cc1"), 2_175_000);
    let found = total(&record);
    let ns_of = |source: &Source| {
        found.entries.iter().find(|entry| entry.source == *source).map_or(0, |entry| entry.ns)
    };
    assert_eq!(ns_of(&Source::Preempted), 2_175_000);
    assert_eq!(ns_of(&tick), 7_500);
}

/// What happens in every run costs nothing above t0.
#[test]
fn what_is_usual_is_no_noise() {
    let record = record_of(30, |step, row| {
        add(row, Metric::WallNs, 2_000_000 + u64::from(step) * 1_000);
        row.set(Metric::PreemptedNs, Some(2_000_000 + u64::from(step) * 1_000));
    });
    let found = total(&record);
    assert!((found.largest().unwrap().ns - 435_000).abs() < 20_000, "{found:?}");
}

/// Four threads that wait at the same time lose four times what the run does.
#[test]
fn threads_do_not_lose_more_than_the_run() {
    let record = record_of(30, |step, row| {
        let ns = u64::from(step) * 10_000;
        row.set(Metric::TaskClockNs, Some(38_000_000));
        add(row, Metric::WallNs, ns);
        row.set(Metric::PreemptedNs, Some(4 * ns));
    });
    let found = of_record(&record, &summarise(&record)).unwrap();
    assert!(found.arms[0].is_parallel);
    assert!(found.total.largest().unwrap().is_estimate);
    assert!(found.total.unexplained_ns() >= 0, "{found:?}");
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
