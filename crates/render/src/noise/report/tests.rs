use super::*;
use host::Gap;
use measure::noise::core_probes::CoreProbes;
use measure::noise::{ClockReport, MachineCounts};
use record::ledger::{Ledger, LedgerEntry, NoiseSource};

/// A machine with every kind of trouble.
fn with_every_trouble() -> NoiseReport {
    let entry = |source, ns| LedgerEntry { n: Some(3), ..LedgerEntry::exact(source, ns) };
    let line = NoiseSource::Interrupt { line: "LOC".into() };
    let parts = [entry(NoiseSource::Task { name: "cc1".into() }, 4_000_000), entry(line, 90_000)];
    let ledger = Ledger::new(5_000_000, parts, NoiseSource::Unexplained);
    let cpu = CpuNoise {
        cpu: 3,
        start_ns: 0,
        observed_ns: 1_000_000_000,
        stolen_ns: 5_000_000,
        n_pauses: 12,
        threshold_ns: 40,
        turn_ns: 10.0,
        quantiles_ns: Some([1_000.0, 2_000.0, 3_000.0, 4_000.0]),
        longest_ns: 3_900_000,
        histogram: [0, 10, 0, 0, 0, 2, 0],
        timeline: vec![Some(0.0), Some(0.01), None],
        evidence: NoiseEvidence::Counts,
        ledger: ledger.clone(),
        n_overflown: 7,
        was_moved: true,
        run_delay_ns: None,
        switched_off_ns: None,
        n_faults: Some(0),
        core: CoreProbes { n: 100, n_shared: 31 },
        n_lost_events: 5,
    };
    NoiseReport {
        clock: ClockReport {
            clock: LoopClock::Monotonic,
            source: Some("hpet".into()),
            n_jumps_back: 1,
            suspended_ns: 2_000_000_000,
        },
        evidence: NoiseEvidence::Counts,
        cpus: vec![cpu],
        total: ledger,
        quietest: vec![],
        machine: MachineCounts { pressure_ns: Some(1_000), throttles: Some(4) },
        is_virtual: false,
        gaps: vec![Gap { what: "CPU 1".into(), why: "it is gone".into(), fix: "wait".into() }],
    }
}

#[test]
fn what_went_wrong_is_said() {
    let text = |depth| report(&with_every_trouble(), depth, &Styles::default());
    insta::assert_snapshot!(text(Depth::Verbose));
    insta::assert_snapshot!("the_report_in_brief", text(Depth::Brief));
    assert!(text(Depth::Brief).lines().count() <= 25);
}

/// Problems of a CPU are reported even if there are too many CPUs for ledgers.
#[test]
fn what_went_wrong_is_said_of_many_cpus() {
    let mut observed = with_every_trouble();
    let quiet = CpuNoise {
        core: CoreProbes::default(),
        n_overflown: 0,
        was_moved: false,
        n_lost_events: 0,
        ..observed.cpus[0].clone()
    };
    observed.cpus.extend((4..9).map(|cpu| CpuNoise { cpu, ..quiet.clone() }));
    let text = report(&observed, Depth::Verbose, &Styles::default());
    for part in
        ["   CPU 3: 7 pauses did not fit", "taken away", "31 of 100 probes", "dropped 5 events"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("CPU 4: "), "{text}");
}

#[test]
fn evidence_is_that_of_each_cpu() {
    let mut observed = with_every_trouble();
    let mut known = |all: &[(NoiseEvidence, u64)], is_virtual| {
        observed.cpus = all
            .iter()
            .zip(3..)
            .map(|(&(evidence, n_lost_events), cpu)| CpuNoise {
                cpu,
                evidence,
                n_lost_events,
                ..observed.cpus[0].clone()
            })
            .collect();
        observed.is_virtual = is_virtual;
        observed.evidence = all.iter().map(|(evidence, _)| *evidence).max().unwrap();
        known_by(&observed)
    };
    let exact = "tracepoints: every switch and every interrupt, to the nanosecond";
    assert_eq!(known(&[(NoiseEvidence::Tracepoints, 0); 2], true), exact);
    let both = known(&[(NoiseEvidence::Tracepoints, 0), (NoiseEvidence::Switches, 0)], true);
    assert!(both.starts_with(&format!("on CPU 3: {exact}; on CPU 4: switches")), "{both}");
    assert!(both.ends_with("nobody looked"), "{both}");
    let lost = known(&[(NoiseEvidence::Tracepoints, 0), (NoiseEvidence::Tracepoints, 9)], false);
    assert!(!lost.contains("every") && lost.contains("estimate"), "{lost}");
}

#[test]
fn the_timeline_shows_every_stretch_with_noise() {
    let known = |shares: &[f64]| timeline(&shares.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(known(&[0.0, 0.001, 0.5, 1.0]), " ▁▄█");
    assert_eq!(known(&[0.0, 0.0]), "  ");
    assert_eq!(timeline(&[Some(0.0), Some(0.3), None]), " █?");
}
