//! How often a clean series has a lowest run that stands alone, and how often t0 ± err misses the floor.

use stillwell_stats::Stream;
use stillwell_stats::low_end::{LowEnd, floor};

use crate::noise::{at_most, normal};

/// A series of `n` runs whose floor is 1.
type Runs = fn(&mut Stream, usize) -> Vec<f64>;

fn exponential(stream: &mut Stream) -> f64 {
    -(1.0 - stream.unit()).ln()
}

fn many(stream: &mut Stream, n: usize, run: impl Fn(&mut Stream) -> f64) -> Vec<f64> {
    (0..n).map(|_| run(stream)).collect()
}

const CLEAN: [(&str, Runs); 4] = [
    ("exponential", |stream, n| many(stream, n, |it| 1.0 + 0.1 * exponential(it))),
    ("lognormal excess", |stream, n| many(stream, n, |it| 1.0 + 0.1 * normal(it).exp())),
    ("lognormal", |stream, n| many(stream, n, |it| (0.3 * normal(it)).exp())),
    ("Weibull-2", |stream, n| many(stream, n, |it| 1.0 + exponential(it).sqrt())),
];

/// A part of the runs is quiet, the others are loaded: 1.4 times as long, and more.
fn mixture(stream: &mut Stream, n: usize, quiet: f64) -> Vec<f64> {
    many(stream, n, |it| match it.unit() < quiet {
        true => 1.0 + 0.01 * exponential(it),
        false => 1.4 + 0.14 * exponential(it),
    })
}

fn has_one_alone(runs: &[f64]) -> bool {
    let mut low_end = LowEnd::default();
    runs.iter().for_each(|&run| low_end.add(run, ()));
    low_end.has_one_alone()
}

#[test]
fn the_lowest_run_of_clean_series_rarely_stands_alone() {
    for (name, runs) in CLEAN {
        for n in [12, 30, 60, 200] {
            let mut stream = Stream::new(23);
            let found = (0..2000).filter(|_| has_one_alone(&runs(&mut stream, n))).count();
            at_most(&format!("{name}, {n} runs"), found, 2000, 0.006);
        }
    }
}

/// The single quiet run of a loaded session stands alone, and is the best of all.
#[test]
fn a_single_quiet_run_stands_alone() {
    let mut stream = Stream::new(23);
    let found = (0..500).filter(|_| has_one_alone(&mixture(&mut stream, 30, 0.05))).count();
    assert!((100..250).contains(&found), "{found} of 500");
    let found = (0..500).filter(|_| has_one_alone(&mixture(&mut stream, 60, 0.3))).count();
    at_most("many quiet runs", found, 500, 0.006);
}

/// The lognormal series without an excess has no floor but 0.
#[test]
fn the_floor_is_within_two_errors_of_t0() {
    let half_quiet: (&str, Runs) = ("half quiet", |stream, n| mixture(stream, n, 0.5));
    // The low end of Weibull-2 is sparse: the density is 0 at the floor.
    for ((name, runs), rate) in [(CLEAN[0], 0.012), (half_quiet, 0.012), (CLEAN[3], 0.08)] {
        for n in [12, 24, 60, 200] {
            let mut stream = Stream::new(29);
            let beyond = |runs: Vec<f64>| {
                let found = floor(&runs).unwrap();
                (found.value - 1.0).abs() > 2.0 * found.err.unwrap()
            };
            let found = (0..1000).filter(|_| beyond(runs(&mut stream, n))).count();
            at_most(&format!("{name}, {n} runs"), found, 1000, rate);
        }
    }
}
