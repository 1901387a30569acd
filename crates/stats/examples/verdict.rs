//! Which of two functions is faster, and by how much: `cargo run --release -p stillwell-stats --example verdict`.
//! It measures them in pairs, in random order, and prints the verdict with its interval.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement, and outside of the crate"
)]

use std::hint::black_box;
use std::time::Instant;

use stillwell_stats::relabel::{Estimand, Orbit, Pairs, draws};
use stillwell_stats::{IntervalVerdict, Invalid, Stream};

const PAIRS: usize = 60;
const ALPHA: f64 = 0.01;
/// Less than this is "the same", as a fraction.
const MARGIN: f64 = 0.01;

fn reference(n: u64) -> u64 {
    (0..n).map(|i| i ^ 7).fold(0, u64::wrapping_add)
}

/// Does a tenth more.
fn new(n: u64) -> u64 {
    reference(n + n / 10)
}

fn seconds(f: fn(u64) -> u64) -> f64 {
    let start = Instant::now();
    for _ in 0..20 {
        black_box(f(black_box(200_000)));
    }
    start.elapsed().as_secs_f64()
}

fn main() -> Result<(), Invalid> {
    let mut coins = Stream::new(1);
    let (mut first, mut second, mut first_is_new) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let is_new = coins.below(2) == 1;
        let order: [fn(u64) -> u64; 2] = if is_new { [new, reference] } else { [reference, new] };
        first.push(seconds(order[0]));
        second.push(seconds(order[1]));
        first_is_new.push(is_new);
    }
    let pairs = Pairs::new(&first, &second, &first_is_new)?;
    let orbit = Orbit::new(pairs.len(), draws(ALPHA), 1)?;
    let found = pairs.compare(&orbit, Estimand::Adaptive.statistics(), ALPHA, 1e-6)?;
    let verdict = IntervalVerdict::of(found.interval, (1.0 + MARGIN).ln());
    let (lo, hi) = (found.interval.lo.exp(), found.interval.hi.exp());
    println!(
        "new / reference: {:.3} [{lo:.3}, {hi:.3}], p = {:.4}: {verdict:?}",
        found.theta.exp(),
        found.test.p
    );
    Ok(())
}
