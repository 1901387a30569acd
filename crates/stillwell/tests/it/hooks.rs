//! Hooks: their order. The conclude and cleanup hooks run after every kind of end.

use crate::bench::Bench;

const HOOKS: [&str; 8] = [
    "-s",
    "echo setup >> log",
    "-p",
    "echo prepare >> log",
    "-C",
    "echo conclude >> log",
    "-c",
    "echo cleanup >> log",
];

#[track_caller]
fn check(hooks: &[&str], command: &str, code: i32, expected: &str) -> Bench {
    let bench = Bench::new();
    bench.run(&[&["-w", "0", "-r", "2"], hooks, &[command]].concat()).ends_with(code);
    let log: Vec<String> = bench.read("log").lines().map(String::from).collect();
    assert_eq!(log.join(" "), expected);
    bench
}

#[test]
fn each_hook_has_its_place() {
    let all = "setup prepare run conclude prepare run conclude cleanup";
    check(&HOOKS, "echo run >> log", 0, all);
}

/// The example in hyperfine's manual compares two branches in this way.
#[test]
fn a_setup_that_mentions_a_parameter_comes_before_the_runs_of_each_value() {
    let hooks = ["-s", "echo switch {b} >> log", "-c", "echo back from {b} >> log"];
    let options = [hooks.as_slice(), &["-L", "b", "main,perf"]].concat();
    // Two commands share the setup of a value.
    let bench = Bench::new();
    let commands = ["echo 1 >> log", "echo 2 >> log"];
    let ran = bench.run(&[&["-w", "0", "-r", "2"], options.as_slice(), &commands].concat());
    for part in ["there is no verdict", "--prepare", "echo 1 >> log (b = main)"] {
        assert!(ran.stdout.replace("\n      ", " ").contains(part), "{part}: {ran:#?}");
    }
    let log: Vec<String> = bench.read("log").lines().map(String::from).collect();
    let of = |value: &str| format!("switch {value} 1 1 2 2 back from {value}");
    assert_eq!(log.join(" "), [of("main"), of("perf")].join(" "));
}

#[test]
fn the_cleanup_of_a_value_follows_a_failure() {
    let hooks = ["-s", "echo switch {b} >> log", "-c", "echo back from {b} >> log"];
    let options = [hooks.as_slice(), &["-L", "b", "1,2,3"]].concat();
    check(&options, "test {b} = 1", 2, "switch 1 back from 1 switch 2 back from 2");
}

#[test]
fn runs_with_a_setup_of_their_own_cannot_be_mixed() {
    let options = ["--order", "interleave", "-L", "b", "1,2", "-s", "git switch {b}", "./p"];
    Bench::new().run(&options).ends_with(2).says(&["--setup", "--prepare", "suite"]);
}

#[test]
fn conclude_and_cleanup_follow_a_failure() {
    let bench = check(&HOOKS, "echo run >> log; exit 7", 2, "setup prepare run conclude cleanup");
    assert_eq!(bench.record().end(), Some("failed"));
}

#[test]
fn conclude_and_cleanup_follow_a_timeout() {
    let hooks = [HOOKS.as_slice(), &["--timeout", "50ms"]].concat();
    let bench = check(
        &hooks,
        "echo run >> log; exec sleep 1000",
        124,
        "setup prepare run conclude cleanup",
    );
    assert_eq!(bench.record().end(), Some("timed_out"));
}

#[test]
fn cleanup_follows_a_failed_setup() {
    check(
        &["-s", "echo setup >> log; false", "-c", "echo cleanup >> log"],
        "echo run >> log",
        2,
        "setup cleanup",
    );
}

#[test]
fn a_failed_hook_ends_the_session_and_is_named() {
    for (option, name) in [("-p", "--prepare"), ("-C", "--conclude"), ("-c", "--cleanup")] {
        let bench = Bench::new();
        let hook = "test \"$STILLWELL_ITERATION\" = 0 || { echo why >&2; exit 9; }";
        let ran = bench.run(&["-w", "0", "-r", "3", option, hook, "true"]);
        ran.ends_with(2).says(&[name, "exited with 9", "why", "r.swell"]);
        assert_eq!(bench.record().end(), Some("failed"), "{option}");
    }
}

#[test]
fn hooks_are_not_timed_and_have_no_rows() {
    let bench = Bench::new();
    // The hook takes at least 50 ms, and the run much less.
    bench.run(&["-w", "0", "-r", "3", "-p", "sleep 0.05", "-C", "sleep 0.05", "true"]).ends_with(0);
    let record = bench.record();
    assert_eq!(record.rows.len(), 3);
    let fastest = record.rows.iter().filter_map(|row| row.get("wall_ns")).min();
    assert!(fastest < Some(50_000_000), "{fastest:?}");
}

#[test]
fn hooks_can_be_given_for_each_command() {
    let bench = Bench::new();
    let hooks = ["-p", "echo p1 >> log", "-p", "echo p2 >> log"];
    let commands = ["-N", "true", "/bin/true"];
    bench.run(&[&["-w", "0", "-r", "3"], hooks.as_slice(), &commands].concat()).ends_with(0);
    let log = bench.read("log");
    for hook in ["p1", "p2"] {
        assert_eq!(log.lines().filter(|line| *line == hook).count(), 3, "{log}");
    }
}

#[test]
fn setup_may_build_the_program() {
    let bench = Bench::new();
    let build = "printf '#!/bin/sh\\n' > built && chmod +x built";
    bench.run(&["-N", "-w", "0", "-r", "1", "-s", build, "./built"]).ends_with(0);
}

#[test]
fn output_is_validated() {
    let bench = Bench::new();
    let valid = ["-w", "1", "-r", "3", "--validate", "grep -q '^right$'"];
    bench.run(&[valid.as_slice(), &["echo right"]].concat()).ends_with(0);

    let bench = Bench::new();
    let script = "echo $STILLWELL_ITERATION; test $STILLWELL_ITERATION != 2 || echo wrong";
    let validate = "if grep -q wrong; then echo it is wrong >&2; exit 4; fi";
    let ran = bench.run(&["-w", "1", "-r", "5", "--validate", validate, script]);
    ran.ends_with(2).says(&["not valid", validate, "exited with 4", "it is wrong", "r.swell"]);
    // Block 2 is the first whose output is not valid.
    let last = bench.record().timed().filter_map(|row| row.block).max();
    assert_eq!(last, Some(2));
    assert_eq!(bench.record().end(), Some("failed"));
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["wrote an output that is not valid in its run 3", "1 of 3 runs of "] {
        assert!(shown.contains(part), "{shown}");
    }

    // What is not valid is no result.
    let bench = Bench::new();
    let ran = bench.run(&["-w", "0", "-r", "5", "--validate", "grep -q right", "echo wrong"]);
    let ran = ran.ends_with(2).says(&["not valid", "no timed run had succeeded"]);
    assert_eq!(ran.stdout, "");
}
