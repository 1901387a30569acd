//! Time of one test, of an interval and of one look (interim analysis):
//! `RAYON_NUM_THREADS=1 cargo run --release -p stillwell-stats --example speed`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement, and outside of the crate"
)]

use std::hint::black_box;
use std::time::Instant;

use stillwell_stats::Stream;
use stillwell_stats::relabel::{Estimand, Orbit, Pairs};
use stillwell_stats::sequential::{SequentialDesign, SequentialTest};
use stillwell_stats::spending::{Spending, by_pairs};

/// Time of the fastest repetition, in milliseconds.
fn fastest_ms(n: usize, mut action: impl FnMut()) -> f64 {
    let time_ms = |_| {
        let started = Instant::now();
        action();
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..n).map(time_ms).fold(f64::INFINITY, f64::min)
}

fn pairs(n: usize) -> Pairs {
    let mut stream = Stream::new(1);
    let coins = stream.bits(n);
    let mut slot = || (0..n).map(|_| 1e6 * (1.0 + 0.05 * stream.unit())).collect::<Vec<f64>>();
    Pairs::new(&slot(), &slot(), &coins).unwrap()
}

/// The last of all looks at a comparison of 120 pairs at 1 %, without the ones before.
fn look_ms() -> f64 {
    let (pairs, points) = (pairs(120), by_pairs(120));
    let (last, before) = points.split_last().unwrap();
    let spending = Spending { alpha: 0.01, family: 1, n_min: 0 };
    let (estimand, margin) = (Estimand::Adaptive, 0.01);
    let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed: 2 };
    let mut test = SequentialTest::new(design);
    test.take(&pairs, before).unwrap();
    assert!(last.n_pairs == 120 && test.n_looks() > 0);
    fastest_ms(50, || {
        assert!(test.clone().take(black_box(&pairs), &points).unwrap());
    })
}

fn main() {
    for (n, draws, repeats) in [(18, 99_999, 5), (120, 1999, 50), (500, 9999, 5)] {
        let (pairs, orbit) = (pairs(n), Orbit::new(n, draws, 2).unwrap());
        let look_ms = fastest_ms(repeats, || {
            black_box(pairs.test(&orbit, Estimand::Adaptive.statistics(), 0.0)).unwrap();
        });
        let whole_ms = fastest_ms(repeats, || {
            black_box(pairs.compare(&orbit, Estimand::Adaptive.statistics(), 0.01, 1e-7)).unwrap();
        });
        println!(
            "{n} pairs, {draws} draws: one test of three statistics {look_ms:.2} ms, with interval {whole_ms:.0} ms"
        );
    }
    println!("one look at 120 pairs at 1 %: {:.2} ms", look_ms());
}
