//! Calibration of the time without interruptions: coverage, bias, and what a line would say.

use stillwell_stats::interruptions::{Interruptions, Uninterrupted, uninterrupted};
use stillwell_stats::{Stream, low_end, mean};

use crate::noise::{at_most, normal};

/// How the time of a run without interruptions varies about 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Own {
    /// 1 + |normal| / 100.
    Small,
    /// Each sixth run has a heavy tail too.
    Tailed,
    /// Long stretches take 1.5 times as long.
    TwoSpeeds,
}

/// The kind of interruption.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// Poisson, always at the same rate.
    Steady,
    /// Poisson, at a new rate each few runs.
    Changing,
    /// Now and then a scheduler with a slice of fixed length.
    Slices,
    /// Always a scheduler with a slice of fixed length.
    AlwaysSlices,
}

fn exponential(stream: &mut Stream) -> f64 {
    -(1.0 - stream.unit()).ln()
}

/// Times and counts of `n` runs. T is 1; `mean` interruptions take `share` on average.
fn session(
    stream: &mut Stream,
    (own, load): (Own, Load),
    (mean, share): (f64, f64),
    n: usize,
) -> (Vec<f64>, Vec<u64>) {
    let (mut is_slow, mut left_at_speed) = (stream.below(3) == 0, 0);
    let (mut rate, mut left_at_rate) = (1.0, 0);
    let mut run = |_| {
        let mut left = 1.0 + 0.01 * normal(stream).abs();
        if own != Own::Small && stream.below(6) == 0 {
            left += 0.1 * exponential(stream) * exponential(stream);
        }
        if left_at_speed == 0 {
            is_slow ^= true;
            left_at_speed = 5 + (exponential(stream) * n as f64 / 5.0) as usize;
        }
        left_at_speed -= 1;
        if own == Own::TwoSpeeds && is_slow {
            left *= 1.5;
        }
        if left_at_rate == 0 {
            left_at_rate = 2 + (6.0 * exponential(stream)) as usize;
            rate = match load {
                Load::Steady | Load::AlwaysSlices => 1.0,
                Load::Changing => 2.0 * stream.unit(),
                Load::Slices => f64::from(stream.bits(1)[0]),
            };
        }
        left_at_rate -= 1;
        interrupted(
            stream,
            left,
            matches!(load, Load::Slices | Load::AlwaysSlices),
            rate,
            mean,
            share,
        )
    };
    (0..n).map(&mut run).unzip()
}

/// Time and count of a run that takes `own` by itself.
fn interrupted(
    stream: &mut Stream,
    own: f64,
    in_slices: bool,
    rate: f64,
    mean: f64,
    share: f64,
) -> (f64, u64) {
    let (mut time, mut count, mut at) = (own, 0, 0.0);
    if rate == 0.0 {
        return (time, count);
    }
    let slice = (1.0 + share) / mean;
    at += if in_slices { slice * stream.unit() } else { exponential(stream) / (rate * mean) };
    // With slices the time that is lost counts too; otherwise the rate is per time of its own.
    while at < if in_slices { time } else { own } {
        count += 1;
        time += share / mean * (0.5 + stream.unit());
        at += if in_slices { slice } else { exponential(stream) / (rate * mean) };
    }
    (time, count)
}

const OWN: [Own; 3] = [Own::Small, Own::Tailed, Own::TwoSpeeds];
const COSTS: [(f64, f64); 4] = [(0.5, 0.05), (2.0, 0.1), (8.0, 0.15), (20.0, 0.25)];

/// t0 of `n_sessions` sessions in which the cost was found.
fn found(
    kind: (Own, Load),
    cost: (f64, f64),
    n_runs: usize,
    n_sessions: usize,
) -> Vec<Uninterrupted> {
    let mut stream = Stream::new(17);
    let one = |_| {
        let (times, counts) = session(&mut stream, kind, cost, n_runs);
        match uninterrupted(&times, &counts).unwrap() {
            Interruptions::Removed(found) => Some(found),
            _ => None,
        }
    };
    (0..n_sessions).filter_map(one).collect()
}

#[test]
fn the_true_time_is_within_the_error() {
    let (mut n, mut beyond_2, mut beyond_3) = (0, 0, 0);
    for load in [Load::Steady, Load::Changing, Load::Slices] {
        for (own, cost) in OWN.into_iter().flat_map(|own| COSTS.map(|cost| (own, cost))) {
            for n_runs in [30, 60, 120, 200] {
                for found in found((own, load), cost, n_runs, 30) {
                    let off = (found.t0.value - 1.0).abs();
                    n += 1;
                    beyond_2 += usize::from(off > 2.0 * found.t0.err);
                    beyond_3 += usize::from(off > 3.0 * found.t0.err);
                }
            }
        }
    }
    assert!(n > 3600, "{n} of 4320 sessions show the cost");
    at_most("beyond 2 errors", beyond_2, n, 0.05);
    at_most("beyond 3 errors", beyond_3, n, 0.01);
}

#[test]
fn t0_is_within_two_percent_on_average() {
    for load in [Load::Steady, Load::Changing, Load::Slices] {
        for (own, cost) in OWN[..2].iter().flat_map(|&own| COSTS.map(|cost| (own, cost))) {
            let values: Vec<f64> = found((own, load), cost, 100, 50)
                .iter()
                .map(|found| found.t0.value - 1.0)
                .collect();
            // 20 interruptions with an sd of 4.5 are too far from none.
            if load == Load::Steady && cost.0 == 20.0 {
                assert!(values.is_empty(), "{own:?}: {values:?}");
                continue;
            }
            let bias = mean(&values).unwrap();
            assert!(bias.abs() < 0.02, "{own:?}, {load:?}, {cost:?}: {bias}");
        }
    }
}

/// With two speeds the slope of times against counts is many times the cost.
#[test]
fn longer_runs_with_more_interruptions_do_not_raise_the_cost() {
    let kind = (Own::TwoSpeeds, Load::Steady);
    let costs: Vec<f64> = found(kind, (8.0, 0.25), 200, 50)
        .iter()
        .map(|found| found.per_interruption.value * 8.0)
        .collect();
    assert!((mean(&costs).unwrap() - 0.25).abs() < 0.01, "{:?}", mean(&costs));
    let mut stream = Stream::new(17);
    let (times, counts) = session(&mut stream, kind, (8.0, 0.25), 200);
    let counts: Vec<f64> = counts.iter().map(|&n| n as f64).collect();
    assert!(slope(&times, &counts) * 8.0 > 0.5, "{}", slope(&times, &counts) * 8.0);
}

fn slope(ys: &[f64], xs: &[f64]) -> f64 {
    let (x, y) = (mean(xs).unwrap(), mean(ys).unwrap());
    let both: f64 = xs.iter().zip(ys).map(|(a, b)| (a - x) * (b - y)).sum();
    both / xs.iter().map(|a| (a - x).powi(2)).sum::<f64>()
}

/// Under constant load the runs cannot show the cost, and the floor is a bound.
#[test]
fn a_constant_slice_leaves_the_cost_unknown() {
    let mut stream = Stream::new(3);
    for cost in [(8.0, 0.15), (20.0, 0.25)] {
        for own in OWN {
            for _ in 0..50 {
                let kind = (own, Load::AlwaysSlices);
                let (times, counts) = session(&mut stream, kind, cost, 100);
                let found = uninterrupted(&times, &counts).unwrap();
                assert!(matches!(found, Interruptions::UnknownCost { .. }), "{found:?}");
                assert!(low_end::floor(&times).unwrap().value > 1.0);
            }
        }
    }
}

/// 10 000 runs take some 10 ms.
#[test]
fn a_long_session_is_no_burden() {
    let kind = (Own::Tailed, Load::Changing);
    let found = found(kind, (5.0, 0.15), 10_000, 1);
    assert!((found[0].t0.value - 1.0).abs() < 0.01);
}
