//! The words of the command line: bytes that are not UTF-8, parameters that nothing mentions, a budget of nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::bench::{Bench, Ran};

#[test]
fn commands_that_are_not_utf8_are_executed_as_they_are() {
    for (command, expected) in [
        (b"./say a\xff\xe6b".as_slice(), b"a\xff\xe6b".as_slice()),
        (b"./say '\xf4\x8f\xbf\xbf\xfe' | cat", b"\xf4\x8f\xbf\xbf\xfe"),
    ] {
        let bench = Bench::new();
        bench.script("say", "#!/bin/sh\nprintf %s \"$1\" > said\n");
        let mut run = bench.run_command(&["-r", "2"]);
        let ran = Ran::from(run.arg(OsStr::from_bytes(command)).output().unwrap()).ends_with(0);
        assert_eq!(std::fs::read(bench.path("said")).unwrap(), expected);
        assert!(ran.stdout.contains("\\xfe") || ran.stdout.contains("a\\xff\\xe6b"), "{ran:#?}");
        let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0);
        assert!(shown.stdout.contains("./say") && !shown.stdout.contains('\u{fffd}'), "{shown:#?}");
    }
}

#[test]
fn a_parameter_that_no_command_mentions_is_a_mistake() {
    for scan in [["-L", "n", "1,2"].as_slice(), &["-P", "n", "1", "2"]] {
        let check = |words: &[&str]| Bench::new().run(&[&["-r", "1"], scan, words].concat());
        let message =
            "stillwell: no command mentions the parameter \"n\"; write {n} where its value goes\n";
        assert_eq!(check(&["true"]).ends_with(2).stderr, message);
        assert_eq!(check(&["-n", "{n}", "true"]).ends_with(2).stderr, message);
        check(&["true", "true {n}"]).ends_with(0);
        check(&["--prepare", "true {n}", "true"]).ends_with(0);
        check(&["--env", "N={n}", "true"]).ends_with(0);
    }
}

#[test]
fn a_budget_of_nothing_is_a_mistake() {
    let bench = Bench::new();
    let ran = bench.run(&["--budget", "0", "true"]).ends_with(2);
    ran.says(&["--budget: \"0\" is no time to measure in; write for example 500ms or 10s"]);
    bench.stillwell(&["calibrate", "--budget", "0s", "true"]).ends_with(2);
}

/// rayon panics if the system refuses its threads.
#[test]
fn an_analysis_needs_no_threads() {
    let bench = Bench::new();
    bench.run(&["--shared", "-r", "12", "true", "true "]).ends_with(0);
    let all = bench.stillwell(&["show", "r.swell"]).ends_with(0);
    let Some(alone) = crate::privileges::without_threads(&bench, &["show", "r.swell"]) else {
        return;
    };
    assert_eq!(alone.ends_with(0).stdout, all.stdout);
    // Measuring needs a process.
    let run = ["run", "-o", "no.swell", "-r", "2", "true"];
    let Some(ran) = crate::privileges::without_threads(&bench, &run) else { return };
    ran.ends_with(2).says(&["stillwell: cannot ", "ulimit"]);
}

#[test]
fn a_small_stack_is_said_and_not_overflowed() {
    let bench = Bench::new();
    let mut small = bench.command("prlimit");
    small.args(["--stack=131072", crate::bench::STILLWELL, "show"]);
    let ran = Ran::from(small.output().unwrap()).ends_with(2);
    ran.says(&["the stack is limited to 128 KiB", "ulimit -s 8192", "prlimit --stack=131072"]);
}
