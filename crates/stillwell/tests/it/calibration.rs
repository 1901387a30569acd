//! Verdicts of the whole program, with its interim analyses, on times with drift and spikes from a seeded generator.
//! The drift depends on the moment, not on the command: it is the script's `at` line.

use std::f64::consts::TAU;

use serde_json::Value;
use stats::Stream;

use crate::bench::Bench;

const BLOCKS: usize = 40;
/// Factor of a time over the noise-free one, at each moment of a session.
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

/// Plays one session whose second command takes `ratio` times as long. Returns the verdict and the ratio.
fn verdict(bench: &Bench, seed: u64, ratio: f64) -> (String, f64) {
    let factors: Vec<String> = disturbances(seed).iter().map(|f| format!("{f:.9}")).collect();
    bench.write("script", &format!("10ms\n{}ms\nat {}\n", 10.0 * ratio, factors.join(" ")));
    std::fs::remove_file(bench.path("r.swell")).ok();
    let (seed, n_blocks) = (seed.to_string(), BLOCKS.to_string());
    let fixed = ["--script", "script", "--host-root", ".", "-w", "0", "--json", "--alpha", "5"];
    let length = ["--seed", &seed, "--max-runs", &n_blocks, "--budget", "1h"];
    let ran = bench.run(&[fixed.as_slice(), &length, &["./a", "./b"]].concat()).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let judgement = &document["judgements"][0];
    let ratio = judgement["interval"]["ratio"].as_f64().unwrap();
    (judgement["verdict"].as_str().unwrap().into(), ratio)
}

fn n_false(n: u64) -> usize {
    let bench = Bench::new();
    let is_false = |seed: &u64| {
        let (verdict, _) = verdict(&bench, *seed, 1.0);
        verdict == "slower" || verdict == "faster"
    };
    (1..=n).filter(is_false).count()
}

/// Comparisons of a program with itself, at an error rate of 5 %. More than 4 false ones of 20 have a probability of 0.26 %.
#[test]
fn the_same_program_is_seldom_called_different() {
    let n_false = n_false(20);
    assert!(n_false <= 4, "{n_false} false verdicts in 20");
}

mod long {
    /// By the binomial distribution (150, 0.05) 7.5 false verdicts are expected. More than 16 have a probability of 0.14 %, and
    /// none at all one of 0.05 %.
    #[test]
    fn false_verdicts_are_as_many_as_promised() {
        let n_false = super::n_false(150);
        assert!((1..=16).contains(&n_false), "{n_false} false verdicts in 150");
    }
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
