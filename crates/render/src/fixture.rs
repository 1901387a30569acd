//! Analyses for tests, built in memory.

use std::io;

use analysis::estimators::FloorTest;
pub use analysis::fixture::paired;
use analysis::verdict::{Judgement, judge};
use analysis::{
    Analysis, ArmSummary, Comparison, Estimators, Evidence, Finding, MetricSummary, NetTimes,
    NoTest, Note, Ratios, TimeSummary, UncertainValue,
};
use record::{EndReason, Record};

pub struct ClosedPipe;

impl io::Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn uncertain(value: f64, err: f64) -> UncertainValue {
    UncertainValue { value, err: Some(err) }
}

/// Times around this t0, ns, with an error of t0 / 500.
pub fn times(t0: f64) -> TimeSummary {
    let value = |factor: f64| uncertain(t0 * factor, t0 * 0.002);
    TimeSummary {
        max: t0 * 1.5,
        low20: value(1.001),
        median: value(1.01),
        mean: value(1.02),
        sd: Some(t0 * 0.0123),
        cv: Some(0.0123 / 1.02),
        quantiles: [t0 * 1.002, t0 * 1.005, t0 * 1.02, t0 * 1.03],
        ..analysis::fixture::times(t0, t0 * 0.002)
    }
}

/// The times of one run, without errors.
pub fn single(wall: f64) -> TimeSummary {
    let value = UncertainValue { value: wall, err: None };
    TimeSummary {
        t0: value,
        low20: value,
        median: value,
        mean: value,
        sd: None,
        cv: None,
        ..analysis::fixture::times(wall, 0.0)
    }
}

pub fn metric(name: &str, n: usize, value: f64) -> MetricSummary {
    let sd = (n > 1).then_some(value * 0.1);
    MetricSummary {
        name: name.into(),
        n,
        mean: value * 1.02,
        sd,
        median: value,
        min: value * 0.98,
        max: value * 1.5,
    }
}

/// An analysis without comparisons, of 60 runs of each arm with these t0, ns.
pub fn analysis(record: &Record, t0s: &[f64]) -> Analysis {
    let walls = t0s.iter().map(|&t0| Some(times(t0))).collect();
    of_times(record, walls, 60)
}

/// An analysis without comparisons, with these times of each arm.
pub fn of_times(record: &Record, walls: Vec<Option<TimeSummary>>, n_runs: usize) -> Analysis {
    let plan = &record.header.plan;
    assert_eq!(plan.arms.len(), walls.len());
    let control = plan.control.and_then(|control| walls[control.arm].clone());
    let arms = walls.into_iter().enumerate().map(|(arm, wall)| {
        let is_hidden = plan.control.is_some_and(|control| control.arm == arm);
        let n_runs = if wall.is_some() { n_runs } else { 0 };
        let metrics = wall.iter().flat_map(|wall| {
            [
                metric("wall", n_runs, wall.median.value),
                metric("user", n_runs, 600_000.0),
                metric("sys", n_runs, 100_000.0),
                metric("maxrss", n_runs, 3_411_968.0),
                metric("cpu", n_runs, 700_000.0),
            ]
        });
        ArmSummary {
            arm,
            label: plan.arms[arm].label().into(),
            is_hidden,
            n_runs,
            metrics: metrics.collect(),
            net: wall.as_ref().zip(control.as_ref()).filter(|_| !is_hidden).map(
                |(wall, control)| NetTimes {
                    t0: Some(wall.t0.minus(control.t0)),
                    median: wall.median.minus(control.median),
                    mean: wall.mean.minus(control.mean),
                },
            ),
            times: wall.clone(),
            wall,
            ..ArmSummary::default()
        }
    });
    Analysis { arms: arms.collect(), end: Some(EndReason::Complete), ..Analysis::default() }
}

/// Estimators of these arms; the first is the reference.
pub fn estimators(arms: &[ArmSummary]) -> Vec<Option<Estimators>> {
    let of_arm = |arm: &ArmSummary| {
        let wall = arm.times.as_ref()?;
        let ratio = Some(uncertain(1.0183, 0.0021));
        let is_compared = arm.arm > 0 && !arm.is_hidden;
        Some(Estimators {
            min: wall.low20,
            fan: wall.t0,
            fan_raw: wall.t0,
            low20: wall.low20,
            median: wall.median,
            mean: wall.mean,
            floor: FloorTest { k: 3, g_star: Some(-0.3456), limit: 2.97, is_finite: Some(true) },
            ratios: is_compared.then_some(Ratios { t0: ratio, median: ratio, mean: None }),
        })
    };
    arms.iter().map(of_arm).collect()
}

/// Adds a comparison of an arm with the reference.
pub fn compare(analysis: &mut Analysis, arm: usize, evidence: Evidence) {
    analysis.comparisons.push(Comparison { arm, reference: 0, evidence });
}

/// Evidence of a comparison with too few pairs.
pub fn too_few() -> Evidence {
    Evidence::None { because: NoTest::TooFewPairs { have: 5, need: 8 } }
}

pub fn note(finding: Finding) -> Note {
    Note { finding, weight: 1.0 }
}

pub fn judgements(record: &Record, analysis: &Analysis) -> Vec<Judgement> {
    analysis
        .comparisons
        .iter()
        .map(|comparison| judge(comparison, &record.header.plan.policy))
        .collect()
}
