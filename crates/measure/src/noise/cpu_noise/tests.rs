use super::*;
use crate::noise::attribute::Pause;
use crate::noise::trace::{CpuEvent, CpuEventKind, Trace};

fn watched(pauses: &[(u64, u64)]) -> LoopObservation {
    LoopObservation {
        cpu: 1,
        start_ns: 1_000_000,
        length_ns: 60_000_000,
        turn_ns: 15.0,
        threshold_ns: 100,
        pauses: pauses.iter().map(|&(start_ns, length_ns)| Pause { start_ns, length_ns }).collect(),
        n_overflown: 2,
        overflown_ns: 5_000,
        run_delay_ns: Some(1_500_000),
        ..LoopObservation::default()
    }
}

fn ns_of(noise: &CpuNoise, source: &NoiseSource) -> i64 {
    noise.ledger.entries.iter().find(|entry| entry.source == *source).map_or(0, |entry| entry.ns)
}

/// A CPU of a virtual machine.
fn of(watched: &LoopObservation, seen: Option<&CpuTraces>, counted: CpuCounts) -> CpuNoise {
    let found = combine(&CpuMeasurements { watched, seen, counted }, true);
    let sum: i64 = found.ledger.entries.iter().map(|entry| entry.ns).sum();
    assert_eq!(sum.cast_unsigned(), found.stolen_ns);
    found
}

fn tick() -> NoiseSource {
    NoiseSource::Interrupt { line: "LOC".into() }
}

fn task(name: &str) -> NoiseSource {
    NoiseSource::Task { name: name.into() }
}

fn is_estimate(noise: &CpuNoise, source: &NoiseSource) -> bool {
    noise.ledger.entries.iter().any(|entry| entry.source == *source && entry.is_estimate)
}

#[test]
fn a_cpu_without_rights() {
    let others = Trace {
        events: vec![
            CpuEvent { time_ns: 2_000_000, kind: CpuEventKind::Switch(Some(0)) },
            CpuEvent { time_ns: 3_500_000, kind: CpuEventKind::Switch(None) },
        ],
        sources: vec![NoiseSource::Preempted],
        n_lost: 0,
    };
    let seen = CpuTraces { cpu: 1, switches: others, points: None };
    let counted = CpuCounts {
        interrupts: vec![(NoiseSource::Interrupt { line: "LOC".into() }, 3)],
        ran: vec![("cc1".into(), 9_000_000)],
        ..CpuCounts::default()
    };
    let watched = watched(&[
        (1_500_000, 2_000),
        (1_990_000, 1_515_000),
        (5_000_000, 3_000),
        (9_000_000, 2_000),
    ]);
    let found = of(&watched, Some(&seen), counted);
    assert_eq!(found.stolen_ns, 1_522_000 + 5_000);
    assert_eq!(ns_of(&found, &task("cc1")), 1_500_000);
    // Pauses of 2, 15, 3 and 2 µs remain. Three of them are ticks.
    assert_eq!(ns_of(&found, &tick()), 15_000 + 3_000 + 2_000);
    // Without tracepoints, time of the host stays unexplained.
    assert_eq!(ns_of(&found, &NoiseSource::Unexplained), 1_527_000 - 1_520_000);
    assert_eq!((found.switched_off_ns, found.n_pauses), (Some(1_500_000), 6));
    assert_eq!(found.histogram, [0, 2, 1, 0, 0, 1, 0]);
    let known: f64 = found.timeline.iter().flatten().sum();
    assert!((known - 1.52).abs() < 1e-9, "{:?}", found.timeline);
}

#[test]
fn a_cpu_with_tracepoints_and_steal() {
    let tick = NoiseSource::Interrupt { line: "LOC".into() };
    let points = Trace {
        events: vec![
            CpuEvent { time_ns: 2_000_000, kind: CpuEventKind::Enter(0) },
            CpuEvent { time_ns: 2_003_000, kind: CpuEventKind::Exit(0) },
        ],
        sources: vec![tick.clone()],
        n_lost: 3,
    };
    let seen = CpuTraces { cpu: 1, switches: Trace::default(), points: Some(points) };
    let counted = CpuCounts { steal_ns: 10_000_000, ..CpuCounts::default() };
    let watched = watched(&[(1_999_500, 4_000), (7_000_000, 30_000_000)]);
    let found = combine(&CpuMeasurements { watched: &watched, seen: Some(&seen), counted }, false);
    assert_eq!((ns_of(&found, &tick), ns_of(&found, &NoiseSource::Crossing)), (3_000, 1_000));
    assert_eq!(ns_of(&found, &NoiseSource::Steal), 10_000_000);
    assert_eq!(ns_of(&found, &NoiseSource::Unexplained), 20_005_000);
    assert_eq!((found.n_lost_events, found.switched_off_ns), (3, None));
}

/// A container's filter refuses perf events. The kernel's counts still name the program.
#[test]
fn a_cpu_without_perf_events() {
    let counted = CpuCounts {
        interrupts: vec![(tick(), 2)],
        ran: vec![("hog".into(), 9_000_000)],
        ..CpuCounts::default()
    };
    let mut watched = watched(&[
        (1_500_000, 700_000),
        (3_000_000, 4_000),
        (5_000_000, 900_000),
        (9_000_000, 6_000),
    ]);
    watched.n_overflown = 0;
    watched.overflown_ns = 0;
    let found = of(&watched, None, counted.clone());
    assert_eq!(found.evidence, NoiseEvidence::Counts);
    assert_eq!((ns_of(&found, &task("hog")), ns_of(&found, &tick())), (1_500_000, 66_000));
    assert_eq!(ns_of(&found, &NoiseSource::Unexplained), 1_610_000 - 1_566_000);
    // Without a run-queue delay, the other programs' CPU time is the only evidence.
    watched.run_delay_ns = None;
    let found = of(&watched, None, counted);
    assert_eq!(ns_of(&found, &task("hog")), 1_610_000);
    assert!(found.ledger.entries.iter().all(|entry| entry.is_estimate), "{found:?}");
}

/// Only a complete trace attributes time without an event to the host.
#[test]
fn the_host_has_what_nobody_else_can_have_had() {
    let points = |n_lost| CpuTraces {
        cpu: 1,
        switches: Trace::default(),
        points: Some(Trace {
            events: vec![
                CpuEvent { time_ns: 2_000_000, kind: CpuEventKind::Enter(0) },
                CpuEvent { time_ns: 2_003_000, kind: CpuEventKind::Exit(0) },
            ],
            sources: vec![tick()],
            n_lost,
        }),
    };
    // 5 µs of pauses that did not fit stay unexplained.
    let watched = watched(&[(1_999_500, 4_000), (7_000_000, 30_000)]);
    let found = of(&watched, Some(&points(0)), CpuCounts::default());
    assert_eq!(
        [NoiseSource::Host, NoiseSource::Unexplained].map(|it| ns_of(&found, &it)),
        [30_000, 5_000]
    );
    assert!(!is_estimate(&found, &tick()));
    let found = of(&watched, Some(&points(7)), CpuCounts::default());
    assert_eq!(
        [NoiseSource::Host, NoiseSource::Unexplained].map(|it| ns_of(&found, &it)),
        [0, 35_000]
    );
    assert!(is_estimate(&found, &tick()));
    assert_eq!(found.n_lost_events, 7);
}

/// After the buffer is full, the state of the CPU is unknown.
#[test]
fn a_timeline_ends_where_the_room_does() {
    let mut watched = watched(&[(1_000_000, 500_000), (2_500_000, 1_700_000)]);
    watched.longest_overflown_ns = 3_000_000;
    let found = of(&watched, None, CpuCounts::default());
    assert_eq!(found.longest_ns, 3_000_000);
    assert_eq!(found.timeline[..4], [Some(0.5), Some(0.5), Some(1.0), None]);
    assert!(found.timeline[3..].iter().all(Option::is_none));
    watched.n_overflown = 0;
    let found = of(&watched, None, CpuCounts::default());
    assert!(found.timeline.iter().all(Option::is_some));
}

#[test]
fn the_quietest_are_named_only_if_they_differ() {
    let cpu = |cpu, stolen_ns, was_moved| {
        let watched = LoopObservation::default();
        let known =
            CpuMeasurements { watched: &watched, seen: None, counted: CpuCounts::default() };
        CpuNoise { cpu, stolen_ns, was_moved, ..combine(&known, false) }
    };
    let all = [cpu(0, 900, false), cpu(1, 100, false), cpu(2, 50, false), cpu(3, 7, true)];
    assert_eq!(quietest(&all), [2, 1]);
    assert_eq!(quietest(&[cpu(0, 100, false), cpu(1, 99, false)]), [0_usize; 0]);
}
