//! Pairs that a sequential test needs to find a difference, on ten kinds of noise:
//! `cargo run --release -p stillwell-stats --example power [SESSIONS [KIND]]`.
//!
//! For each ratio: mean number of pairs until "different", 500 at most, and the share of sessions
//! that found it.
#![expect(clippy::print_stdout, reason = "a table of results")]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/calibration/noise.rs"]
mod noise;

use noise::{GENERATORS, Noise};
use rayon::prelude::*;
use stillwell_stats::Stream;
use stillwell_stats::relabel::Estimand;
use stillwell_stats::sequential::{SequentialDesign, SequentialTest};
use stillwell_stats::spending::{Spending, by_pairs};

const N_MAX: usize = 500;
const ALPHA: f64 = 0.01;

fn session(noise: Noise, ratio: f64, seed: u64) -> (bool, usize) {
    let mut stream = Stream::new(seed);
    let all = noise::experiment(&mut stream, noise, N_MAX, ratio);
    let spending = Spending { alpha: ALPHA, family: 1, n_min: 0 };
    let design = SequentialDesign {
        spending,
        estimand: Estimand::Adaptive,
        margin: 1e-9,
        limit: 0.0,
        seed: stream.next_u64(),
    };
    let mut test = SequentialTest::new(design);
    let points = by_pairs(N_MAX);
    for n_points in 1..=points.len() {
        let so_far = all.first(points[n_points - 1].n_pairs).unwrap();
        test.take(&so_far, &points[..n_points]).unwrap();
        if test.is_different(1.0) {
            return (true, points[n_points - 1].n_pairs);
        }
    }
    (false, N_MAX)
}

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(200, |n| n.parse().unwrap());
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for (name, kind) in GENERATORS.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        print!("{name:16}");
        for ratio in [1.0, 1.003, 1.01, 1.03] {
            let found: Vec<(bool, usize)> =
                (0..n).into_par_iter().map(|seed| session(kind, ratio, 7 * seed + 1)).collect();
            let n_found = found.iter().filter(|one| one.0).count();
            let pairs: usize = found.iter().map(|one| one.1).sum();
            print!(
                " {:6.1} ({:5.1} %)",
                pairs as f64 / n as f64,
                100.0 * n_found as f64 / n as f64
            );
        }
        println!();
    }
}
