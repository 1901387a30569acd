//! `check`: whether the times of a record are steady, and the causes of outliers.

use serde_json::{Value, json};
use stats::Stream;

use crate::bench::{Bench, Ran};

/// Times of 10 ms with a little noise, each multiplied by a factor of the moment (0 to 1).
fn times(n: usize, factor: impl Fn(f64) -> f64) -> String {
    let mut stream = Stream::new(7);
    let time = |i: usize| {
        let noise = 1.0 + 0.002 * stream.unit() * stream.unit();
        format!("{:.6}ms", 10.0 * noise * factor(i as f64 / n as f64))
    };
    (0..n).map(time).collect::<Vec<_>>().join(" ")
}

fn steady(n: usize) -> String {
    times(n, |_| 1.0)
}

/// Plays a session with one line of times for each command. The record is `r.swell`.
fn play(bench: &Bench, lines: &[&str], n_runs: &str, commands: &[&str]) {
    bench.write("script", &lines.join("\n"));
    let fixed = ["--script", "script", "--host-root", ".", "--seed", "1", "-w", "0", "-r", n_runs];
    bench.run(&[fixed.as_slice(), commands].concat()).ends_with(0);
}

fn check(bench: &Bench) -> Ran {
    bench.stillwell(&["check", "r.swell"])
}

fn check_json(bench: &Bench) -> Value {
    serde_json::from_str(&bench.stillwell(&["check", "r.swell", "--json"]).stdout).unwrap()
}

#[test]
fn steady_times_are_stable() {
    let bench = Bench::new();
    play(&bench, &[&steady(60), &steady(60)], "60", &["./a", "./b"]);
    let ran = check(&bench).ends_with(0);
    assert_eq!(ran.stdout.matches("   stable, n 60\n").count(), 2, "{}", ran.stdout);
    assert!(!ran.stdout.contains("raised"), "{}", ran.stdout);
}

#[test]
fn one_unstable_command_is_enough() {
    let bench = Bench::new();
    let drifting = times(60, |at| 1.0 + 0.05 * at);
    play(&bench, &[&steady(60), &drifting], "60", &["./a", "./b"]);
    let ran = check(&bench).ends_with(1);
    assert!(ran.stdout.contains("   stable, n 60\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("drifting +5.0 %"), "{}", ran.stdout);
    // `show` has a note about one command, after the verdict.
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    assert!(shown.contains("note: the times of ./b are not stable: "), "{shown}");
    assert!(!shown.contains("times of ./a"), "{shown}");
}

#[test]
fn a_step_has_its_place() {
    let bench = Bench::new();
    play(&bench, &[&times(60, |at| if at < 0.5 { 1.0 } else { 0.97 })], "60", &["./a"]);
    check(&bench).ends_with(1);
    let checks = check_json(&bench)["check"]["arms"][0]["checks"].clone();
    let step = checks.as_array().unwrap().iter().find(|check| check["flag"] == "stepped").unwrap();
    assert_eq!((&step["raised"], &step["at_run"]), (&json!(true), &json!(31)));
    assert!((step["change"].as_f64().unwrap() + 0.03).abs() < 0.001, "{step}");
}

#[test]
fn an_unstable_control_counts() {
    let bench = Bench::new();
    let control = times(60, |at| 0.1 + 0.01 * at);
    play(&bench, &[&steady(60), &control], "60", &["--subtract", "true", "./a"]);
    let ran = check(&bench).ends_with(1);
    assert!(ran.stdout.contains("true (it is subtracted)\n   not stable, n 60"), "{}", ran.stdout);
    let bench = Bench::new();
    play(&bench, &[&steady(60), &steady(60)], "60", &["--subtract", "true", "./a"]);
    assert!(!check(&bench).ends_with(0).stdout.contains("subtracted"));
}

#[test]
fn twenty_runs_are_needed() {
    let bench = Bench::new();
    play(&bench, &[&steady(30)], "19", &["./a"]);
    let ran = check(&bench).ends_with(3);
    assert!(ran.stdout.contains("too few runs to tell (needs 20), n 19"), "{}", ran.stdout);
    let bench = Bench::new();
    play(&bench, &[&steady(30)], "20", &["./a"]);
    check(&bench).ends_with(0);
}

/// Runs that timed out do not count. So one command can have too few runs while the other is unstable.
#[test]
fn unstable_outweighs_undecided() {
    let bench = Bench::new();
    let (slow, drifting) = ("9s", times(40, |at| 1.0 + 0.05 * at));
    let commands = ["-i", "--timeout", "1s", "./slow", "./drifting"];
    play(&bench, &[slow, &drifting], "40", &commands);
    let ran = check(&bench).ends_with(1);
    assert!(ran.stdout.contains("too few runs to tell (needs 20), n 0"), "{}", ran.stdout);
}

#[test]
fn the_newest_record_is_checked_if_none_is_named() {
    let bench = Bench::new();
    bench.write("script", &steady(30));
    let run = ["run", "--script", "script", "--host-root", ".", "-w", "0", "-r", "30", "./a"];
    bench.stillwell(&run).ends_with(0);
    let ran = bench.stillwell(&["check"]).ends_with(0);
    assert!(ran.stdout.contains("stable, n 30"), "{}", ran.stdout);
    bench.stillwell(&["check", "missing.swell"]).ends_with(2).says(&["missing.swell"]);
}

#[test]
fn outliers_are_counted_and_the_largest_listed() {
    let bench = Bench::new();
    let mut words: Vec<String> = steady(60).split(' ').map(String::from).collect();
    for run in 0..7 {
        words[8 * run + 3] = format!("{}ms", 20 + run);
    }
    play(&bench, &[&words.join(" ")], "60", &["--metrics", "wall", "./a"]);
    let ran = check(&bench);
    assert!(ran.stdout.contains("outliers: 7 of 60 runs are above 10.0 ms"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no cause recorded"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--metrics wall collects none of it"), "{}", ran.stdout);
    let outliers = check_json(&bench)["check"]["arms"][0]["outliers"].clone();
    let runs: Vec<_> = outliers["largest"].as_array().unwrap().iter().map(|o| &o["run"]).collect();
    assert_eq!(runs, [52, 44, 36, 28, 20]);
    assert_eq!((&outliers["n"], &outliers["n_without_cause"]), (&json!(7), &json!(7)));
}
