//! The verdicts of the whole program, on times that drift and have spikes, from a seeded generator.
//!
//! Drift is a property of the moment, not of the command: a dry run tells which command is at which position of the
//! order that a seed gives, and the times of the series go to whoever is there.

use std::f64::consts::TAU;

use serde_json::Value;
use stats::Stream;

use crate::bench::Bench;

const BLOCKS: usize = 40;
const EXPERIMENTS: u64 = 150;

/// How much a time differs from the noise-free one, at each moment of a session.
fn disturbances(seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed);
    let (slope, depth) = (0.1 * stream.unit() - 0.05, 0.03 * stream.unit());
    let mut walk = 0.0;
    (0..2 * BLOCKS)
        .map(|moment| {
            let at = moment as f64 / (2 * BLOCKS) as f64;
            walk += 0.004 * (stream.unit() - 0.5);
            let spike = if stream.unit() < 0.05 { 0.5 * stream.unit() } else { 0.0 };
            let noise = 0.02 * stream.unit() * stream.unit();
            1.0 + slope * at + depth * (3.0 * TAU * at).sin() + walk + spike + noise
        })
        .collect()
}

/// Plays one session in which the second command takes `ratio` times as long; its verdict and ratio.
fn verdict(bench: &Bench, seed: u64, ratio: f64) -> (String, f64) {
    let run = |script: &str| {
        let seed = seed.to_string();
        bench.write("script", script);
        std::fs::remove_file(bench.path("r.swell")).ok();
        let n_runs = BLOCKS.to_string();
        let fixed = ["--script", "script", "--seed", &seed, "-w", "0", "-r", &n_runs, "--json"];
        bench.run(&[fixed.as_slice(), &["--alpha", "5", "--host-root", ".", "./a", "./b"]].concat())
    };
    run("1ms\n1ms\n").ends_with(0);
    let mut times = [Vec::new(), Vec::new()];
    for (row, disturbance) in bench.record().rows.iter().zip(disturbances(seed)) {
        let arm = usize::try_from(row.arm).unwrap();
        let time_ms = 10.0 * disturbance * [1.0, ratio][arm];
        times[arm].push(format!("{time_ms:.6}ms"));
    }
    let ran = run(&format!("{}\n{}\n", times[0].join(" "), times[1].join(" "))).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let judgement = &document["judgements"][0];
    let ratio = judgement["interval"]["ratio"].as_f64().unwrap();
    (judgement["verdict"].as_str().unwrap().into(), ratio)
}

/// 150 comparisons of a program with itself at an error rate of 5 %: 7.5 false verdicts are expected. More than 16 come
/// with a probability of 0.14 %, none at all with one of 0.05 % (binomial distribution, 150 and 0.05).
#[test]
fn the_same_program_is_seldom_called_different() {
    let bench = Bench::new();
    let is_false = |seed: &u64| {
        let (verdict, _) = verdict(&bench, *seed, 1.0);
        verdict == "slower" || verdict == "faster"
    };
    let n_false = (1..=EXPERIMENTS).filter(is_false).count();
    assert!((1..=16).contains(&n_false), "{n_false} false verdicts in {EXPERIMENTS}");
}

#[test]
fn a_slowdown_of_3_percent_is_found() {
    let bench = Bench::new();
    let found = (1..=20).filter(|&seed| {
        let (verdict, ratio) = verdict(&bench, seed, 1.03);
        assert_ne!(verdict, "faster");
        verdict == "slower" && (1.02..1.04).contains(&ratio)
    });
    let n_found = found.count();
    assert!(n_found >= 18, "{n_found} of 20");
}
