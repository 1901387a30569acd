//! `--timeout`, and the exit codes for scripts.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::processes::Session;

/// A run that takes too long ends with its whole process group.
#[track_caller]
fn timed_out(command: &str) {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let environment = session.environment();
    let start = Instant::now();
    let options = ["-w", "0", "-r", "2", "--timeout", "100ms", "--env", &environment];
    let ran = bench.run(&[options.as_slice(), &[command]].concat()).ends_with(124);
    assert!(start.elapsed() < Duration::from_secs(300));
    ran.says(&["--timeout", "command 1", "r.swell"]);
    session.is_gone();
    let record = bench.record();
    assert_eq!(record.end(), Some("timed_out"));
    let row = record.rows.iter().find(|row| row.arm == 0).unwrap();
    assert!(row.timed_out && row.exit < 0, "{row:?}");
    assert!(row.get("wall_ns") >= Some(100_000_000));
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    timed_out("exec sleep 1000");
}

#[test]
fn its_children_are_ended_too() {
    timed_out("sleep 1000 & sleep 1000; true");
}

#[test]
fn a_run_that_ignores_sigterm_is_killed() {
    timed_out("trap '' TERM; while :; do sleep 0.01; done");
}

/// The first process ends at once, but its child would continue.
#[test]
fn a_child_that_ignores_sigterm_is_killed() {
    timed_out("(trap '' TERM; while :; do sleep 0.01; done) & exec sleep 1000");
}

#[test]
fn runs_that_take_too_long_can_be_left_out() {
    let bench = Bench::new();
    let command = "test $STILLWELL_ITERATION != 1 || exec sleep 1000";
    bench.run(&["-w", "0", "-r", "3", "--timeout", "2s", "-i", command]).ends_with(0);
    let record = bench.record();
    let rows: Vec<_> = record.timed().filter(|row| row.arm == 0).collect();
    let timed_out: Vec<_> = rows.iter().map(|row| row.timed_out).collect();
    // Another block replaces the one that does not count.
    assert_eq!(timed_out, [false, true, false, false]);
}

#[test]
fn a_short_run_is_not_touched_by_the_timeout() {
    let bench = Bench::new();
    bench.run(&["-w", "0", "-r", "20", "--timeout", "60s", "true"]).ends_with(0);
    assert!(bench.record().rows.iter().all(|row| !row.timed_out && row.exit == 0));
}

fn times(ms: f64, spread: f64, seed: u64) -> String {
    let mut stream = stats::Stream::new(seed);
    let times = (0..61).map(|_| format!("{:.6}ms", ms * (1.0 + spread * stream.unit())));
    times.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check_fail_on(fail_on: &str, arms: [String; 2], n_runs: &str, expected: i32) {
    let bench = Bench::new();
    bench.write("script", &format!("{}\n{}\n", arms[0], arms[1]));
    let arguments = ["--script", "script", "--seed", "1", "-r", n_runs, "--fail-on", fail_on];
    bench.run(&[arguments.as_slice(), &["./old", "./new"]].concat()).ends_with(expected);
    bench.stillwell(&["show", "r.swell", "--fail-on", fail_on]).ends_with(expected);
}

#[test]
fn a_slowdown_can_fail() {
    let slower = || [times(10.0, 0.02, 1), times(10.5, 0.02, 2)];
    check_fail_on("slower", slower(), "60", 1);
    check_fail_on("slower:2%", slower(), "60", 1);
    check_fail_on("slower:20%", slower(), "60", 0);
    let [old, new] = slower();
    check_fail_on("slower", [new, old], "60", 0);
    check_fail_on("slower", [times(10.0, 0.002, 1), times(10.0, 0.002, 2)], "60", 0);
    check_fail_on("slower", [times(10.0, 1.0, 1), times(10.2, 1.0, 2)], "10", 3);
    check_fail_on("slower", slower(), "2", 3);
}

#[test]
fn the_newest_record_is_shown_without_being_named() {
    let bench = Bench::new();
    bench.write("script", "1ms 2ms\n");
    for name in ["first", "second"] {
        let arguments = ["run", "--script", "script", "-r", "3", "--style", "none", name];
        bench.stillwell(&arguments).ends_with(0);
        // Names of records have a time stamp in seconds and the pid. The newest record is the last one changed.
        let shown = bench.stillwell(&["show"]).ends_with(0).stdout;
        assert!(shown.starts_with(&format!("{name} takes ")), "{shown}");
    }
    let records = std::fs::read_dir(bench.path("state/stillwell")).unwrap().count();
    assert_eq!(records, 2);
}

/// With -i a timeout is no failure, but a session without any time has no result.
#[test]
fn only_timeouts_are_no_success() {
    let bench = Bench::new();
    // The empty shell of the second one has times.
    for (record, command) in [("a.swell", "sleep 100"), ("b.swell", "sleep 100 | cat")] {
        let run = ["run", "-o", record, "-r", "2", "--timeout", "20ms", "-i", command];
        let ran = bench.stillwell(&run).ends_with(124);
        ran.says(&["every run took longer than --timeout", record]);
    }
}

#[test]
fn a_value_above_a_limit_can_fail() {
    let slower = || [times(10.0, 0.02, 1), times(10.5, 0.02, 2)];
    check_fail_on("above:20ms", slower(), "60", 0);
    check_fail_on("above:5ms", slower(), "60", 1);
    // The first command takes less, the second more.
    check_fail_on("above:10.3ms", slower(), "60", 1);
    let [old, new] = slower();
    check_fail_on("above:10.3ms", [new, old], "60", 0);
    check_fail_on("slower:20%,above:20ms", slower(), "60", 0);
    check_fail_on("slower,above:20ms", slower(), "60", 1);
    // Without an error of t0, it is only known that it is not above the lowest run.
    check_fail_on("above:5ms", slower(), "3", 3);
}

#[test]
fn one_command_can_be_limited() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        std::fs::remove_file(bench.path("r.swell")).ok();
        bench.run(&[&["-r", "6", "-N", "true"], more].concat())
    };
    let ran = run(&["--fail-on", "above:1h"]).ends_with(0);
    assert!(ran.stdout.contains("gate: pass: true takes "), "{ran:#?}");
    // It uses less than the launcher, whose peak the kernel gives it.
    let ran = run(&["--fail-on", "above:1KiB", "--decide-on", "maxrss"]).ends_with(3);
    assert!(ran.stdout.contains("so more than 1 KiB is not excluded"), "{ran:#?}");
    assert!(ran.stdout.contains("true uses at most "), "{ran:#?}");
    bench.stillwell(&["show", "r.swell", "--fail-on", "above:2h"]).ends_with(2).says(&["memory"]);
    run(&["--fail-on", "above:1KiB"]).ends_with(2).says(&["above:1KiB", "a time", "--decide-on"]);
    run(&[]).ends_with(0);
    let two = ["compare", "r.swell", "r.swell", "--fail-on", "above:1s"];
    bench.stillwell(&two).ends_with(2).says(&["above:1s", "one session"]);
}

/// A gate without a comparison would always pass.
#[test]
fn fail_on_needs_two_commands() {
    let ran = Bench::new().run(&["-r", "2", "--fail-on", "slower", "true"]).ends_with(2);
    ran.says(&["--fail-on", "only one command"]);
}
