//! Rates of "different" at 1 % in pools, by the random-effects test alone and with the
//! re-labelling test beside it: `cargo run --release -p stillwell-stats --example pools`.
#![expect(clippy::print_stdout, reason = "an experiment")]

#[path = "../tests/calibration/nodes.rs"]
mod nodes;
#[expect(dead_code, reason = "the other generators are for tests")]
#[path = "../tests/calibration/noise.rs"]
mod noise;

use nodes::{PoolShape, pool_shapes};
use rayon::prelude::*;
use stillwell_stats::Stream;
use stillwell_stats::pooled::{Center, PooledTest};

const N: u64 = 4000;
const ALPHA: f64 = 0.01;
/// Mean log ratio and its standard deviation between nodes.
const EFFECTS: [(f64, f64); 5] = [(0.0, 0.0), (0.0, 0.02), (0.02, 0.0), (0.05, 0.0), (0.05, 0.02)];

/// Percentages of pools that are called different, by the random-effects test and by both tests.
fn rates(shape: PoolShape, mean: f64, between: f64) -> [f64; 2] {
    let pool = |seed: u64| {
        let groups = shape.groups(&mut Stream::new(seed), mean, between);
        let test = PooledTest::new(&groups, Center::Typical, 1999, seed).expect("noise everywhere");
        [test.effects_p() <= ALPHA, test.is_different(ALPHA)].map(u64::from)
    };
    let add = |a: [u64; 2], b: [u64; 2]| [a[0] + b[0], a[1] + b[1]];
    let found = (0..N).into_par_iter().map(pool).reduce(|| [0; 2], add);
    found.map(|n| 100.0 * n as f64 / N as f64)
}

fn main() {
    let heading = |(mean, sd): (f64, f64)| format!("{:>12}", format!("{mean} sd {sd}"));
    println!("mean log ratio, its sd between nodes  {}", EFFECTS.map(heading).join("  "));
    println!("{:36}  {}", "", [" before after"; EFFECTS.len()].join(" "));
    for shape in pool_shapes() {
        let PoolShape { n_nodes, n_pairs, noise } = shape;
        let name = format!("{noise:?}, {n_nodes} nodes, {n_pairs} pairs");
        let cells = EFFECTS.map(|(mean, sd)| {
            let [effects, both] = rates(shape, mean, sd);
            format!("{effects:6.2} {both:5.2}")
        });
        println!("{name:36}  {}", cells.join("  "));
    }
}
