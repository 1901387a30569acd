//! Generators of noise, and of experiments on it.

use stillwell_stats::Stream;
use stillwell_stats::relabel::Pairs;

pub type Noise = fn(&mut Stream, usize) -> Vec<f64>;

pub fn normal(stream: &mut Stream) -> f64 {
    // Box and Muller (1958).
    (-2.0 * (1.0 - stream.unit()).ln()).sqrt() * (std::f64::consts::TAU * stream.unit()).cos()
}

pub fn iid(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|_| 0.02 * normal(stream).exp()).collect()
}

pub fn spikes(stream: &mut Stream, n: usize) -> Vec<f64> {
    let spike = |stream: &mut Stream| if stream.below(10) == 0 { stream.unit() } else { 0.0 };
    (0..n).map(|_| 0.005 * normal(stream).abs() + spike(stream)).collect()
}

/// Two speeds. Each lasts for 20 runs on average.
pub fn regimes(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut slow = false;
    let step = |_| {
        slow ^= stream.below(20) == 0;
        f64::from(u8::from(slow)) * 0.1 + 0.01 * normal(stream).abs()
    };
    (0..n).map(step).collect()
}

pub fn drift(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.2 * i as f64 / n as f64 + 0.01 * normal(stream).abs()).collect()
}

pub fn random_walk(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut level = 0.0;
    let step = |_| {
        level += 0.01 * normal(stream);
        level + 0.005 * normal(stream)
    };
    (0..n).map(step).collect()
}

/// Bursts of other work. Each slows all runs during it by a new amount.
pub fn bursts(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut load = 0.0;
    let step = |_| {
        load = match stream.below(12) {
            0 => 0.5 * stream.unit(),
            1..4 => 0.0,
            _ => load,
        };
        load + 0.01 * normal(stream).abs()
    };
    (0..n).map(step).collect()
}

/// The second run of each pair is slower.
pub fn position(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.02 * (i % 2) as f64 + 0.01 * normal(stream).abs()).collect()
}

/// A coarse clock: most times are equal.
pub fn ties(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|_| 0.01 * stream.below(4) as f64).collect()
}

/// Autocorrelated noise without a floor: AR(1) with coefficient 0.9.
pub fn autocorrelated(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut level = 0.0;
    let step = |_| {
        level = 0.9 * level + 0.0158 * normal(stream);
        level
    };
    (0..n).map(step).collect()
}

/// All kinds but the coarse clock, half as strong.
pub fn combined(stream: &mut Stream, n: usize) -> Vec<f64> {
    let kinds = [iid, spikes, regimes, drift, random_walk, bursts, position];
    let noises = kinds.map(|kind| kind(stream, n));
    (0..n).map(|run| noises.iter().map(|noise| noise[run]).sum::<f64>() / 2.0).collect()
}

pub const GENERATORS: [(&str, Noise); 10] = [
    ("iid", iid),
    ("spikes", spikes),
    ("regimes", regimes),
    ("drift", drift),
    ("random walk", random_walk),
    ("bursts", bursts),
    ("position", position),
    ("ties", ties),
    ("autocorrelated", autocorrelated),
    ("combined", combined),
];

/// `n` pairs whose new arm takes `ratio` times as long.
pub fn experiment(stream: &mut Stream, noise: Noise, n: usize, ratio: f64) -> Pairs {
    experiment_with_logs(stream, noise, n, ratio).0
}

/// The same, with the log ratios of the pairs, new to old.
pub fn experiment_with_logs(
    stream: &mut Stream,
    noise: Noise,
    n: usize,
    ratio: f64,
) -> (Pairs, Vec<f64>) {
    let coins = stream.bits(n);
    let logs = noise(stream, 2 * n);
    let slot = |second: usize| -> Vec<f64> {
        let new = |j: usize| coins[j] == (second == 0);
        let time = |j: usize| 1e6 * logs[2 * j + second].exp() * if new(j) { ratio } else { 1.0 };
        (0..n).map(time).collect()
    };
    let (first, second) = (slot(0), slot(1));
    let log = |j: usize| if coins[j] { first[j] / second[j] } else { second[j] / first[j] }.ln();
    let ratios = (0..n).map(log).collect();
    (Pairs::new(&first, &second, &coins).unwrap(), ratios)
}

/// Fails if `hits` of `n` is more than two standard deviations above `rate`.
pub fn at_most(name: &str, hits: usize, n: usize, rate: f64) {
    let limit = n as f64 * rate + 2.0 * (n as f64 * rate * (1.0 - rate)).sqrt();
    assert!(hits as f64 <= limit, "{name}: {hits} of {n}, at most {limit:.1} for {rate}");
}
