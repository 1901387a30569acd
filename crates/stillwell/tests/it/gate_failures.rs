//! `gate` with programs that fail, hang or cannot be compared: none of them passes in silence.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Bench, Ran, STILLWELL, wait_until};
use crate::harnesses::google_benchmark;

fn builds(old: &str, new: &str) -> Bench {
    let bench = Bench::new();
    for (side, text) in [("old", old), ("new", new)] {
        std::fs::create_dir(bench.path(side)).unwrap();
        bench.script(&format!("{side}/sums"), text);
    }
    bench
}

fn gate(bench: &Bench, options: &[&str]) -> Ran {
    let fixed = ["gate", "--old", "old", "--new", "new", "--markdown", "c.md", "--junit", "j.xml"];
    bench.stillwell(&[&fixed[..], &["--json", "g.json", "-o", "out.suite"], options].concat())
}

fn document(bench: &Bench) -> Value {
    serde_json::from_str(&bench.read("g.json")).unwrap()
}

/// Lists one benchmark less, and fails.
fn crashing() -> String {
    let program = google_benchmark(1000);
    program.replacen("BM_fib/8\\nBM_sum\\n\"; exit 0", "BM_fib/8\\n\"; exit 3", 1)
}

#[test]
fn a_build_that_fails_while_it_lists_does_not_pass() {
    assert_ne!(crashing(), google_benchmark(1000));
    let bench = builds(&google_benchmark(1000), &crashing());
    let ran = gate(&bench, &["--fail-on", "slower:50%"]).ends_with(2);
    assert!(ran.stdout.contains("failing: sums (head): asked for"), "{ran:#?}");
    assert_eq!(document(&bench)["gone"], json!(["sums: BM_sum"]));
    // It is known when the gate goes on.
    let again = bench.stillwell(&["bench", "--resume", "out.suite"]).ends_with(2);
    again.says(&["failing: sums (head)"]);
}

#[test]
fn a_program_that_cannot_list_is_failing_in_both_builds() {
    let broken = google_benchmark(1000).replacen("BM_fib/8\\nBM_sum\\n\"; exit 0", "\"; exit 3", 1);
    let bench = builds(&broken, &broken.replace("exit 3", "exit 4"));
    let ran = gate(&bench, &[]).ends_with(2);
    assert!(ran.stdout.contains("failing: sums (base)"), "{ran:#?}");
}

/// A list that does not end is ended with all that it has started.
#[test]
fn nothing_of_a_program_that_hangs_is_left() {
    let hangs = "#!/bin/sh\n# benchmark_list_tests\nsleep 8191 & echo $! >> pids; wait\n";
    let bench = builds(hangs, hangs);
    let ran = gate(&bench, &["--select", "all", "--timeout", "500ms"]).ends_with(2);
    assert!(ran.stdout.contains("did not end within 0.5 s"), "{ran:#?}");
    let pids = ["old/pids", "new/pids"].map(|file| bench.read(file)).concat();
    assert!(pids.lines().count() >= 2, "{pids}");
    for pid in pids.lines() {
        // A killed process ends only when it gets a CPU.
        wait_until("the sleep has ended", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        });
    }
}

#[test]
fn a_time_of_zero_is_a_failing_benchmark_and_nothing_else() {
    let zero = google_benchmark(1000).replace("T=500", "T=-7");
    let zero = zero.replace("T=$(( T + n * 7919 % 7 )).5", "[ $T -gt 0 ] && T=$T.5 || T=0");
    let bench = builds(&google_benchmark(1000), &zero);
    gate(&bench, &["--fail-on", "slower:50%"]).ends_with(2);
    assert!(
        bench.read("c.md").contains("BM_sum: head did not say its value"),
        "{}",
        bench.read("c.md")
    );
    let found = document(&bench);
    let names: Vec<&Value> =
        found["benchmarks"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("BM_fib/8")), "{found:#}");
    // One test case for each benchmark.
    let xml = bench.read("j.xml");
    assert_eq!(xml.matches("name=\"BM_sum\"").count(), 1, "{xml}");
    assert!(xml.contains("tests=\"2\"") && xml.contains("errors=\"1\""), "{xml}");
}

#[test]
fn a_run_that_takes_too_long_is_one_failing_benchmark() {
    let hangs = google_benchmark(1000).replacen("*) T=500 ;;", "*) exec sleep 8192 ;;", 1);
    let bench = builds(&google_benchmark(1000), &hangs);
    let options = ["--fail-on", "slower:50%", "--timeout", "3s", "--budget", "30s"];
    let ran = gate(&bench, &options).ends_with(2);
    let gates: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("gate:")).collect();
    assert_eq!(gates, ["gate: error: a program or a benchmark fails, exit code 2"], "{ran:#?}");
    let error = &document(&bench)["error"];
    assert_eq!((&error["code"], &error["exit_code"]), (&json!("timeout"), &json!(2)), "{error:#}");
    let again = bench.stillwell(&["bench", "--resume", "out.suite"]).ends_with(2);
    assert!(!again.stdout.contains("124"), "{again:#?}");
}

#[test]
fn builds_without_a_common_benchmark_are_not_called_the_same() {
    let other = google_benchmark(1000).replace("BM_", "CM_");
    let bench = builds(&google_benchmark(1000), &other);
    gate(&bench, &[]).ends_with(3);
    let comment = bench.read("c.md");
    assert!(comment.contains("the builds have no benchmark in common"), "{comment}");
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_the_others_are_written() {
    let bench = builds(&google_benchmark(1000), &google_benchmark(1300));
    let words = ["gate", "--old", "old", "--new", "new", "--fail-on", "slower:10%"];
    let bad = ["--markdown", "/dev/full", "--report", "/dev/full"];
    let good = ["--junit", "j.xml", "--json", "g.json"];
    let ran = bench.stillwell(&[&words[..], &bad, &good].concat()).ends_with(2);
    let ran = ran.says(&["--markdown: cannot write /dev/full", "--report: cannot write /dev/full"]);
    let last = ran.stdout.lines().find(|line| line.starts_with("gate: ")).unwrap();
    assert!(last.ends_with("exit code 2"), "{ran:#?}");
    // The rest of it is in the files all the same.
    assert!(bench.read("j.xml").contains("BM_fib/8"));
    let found = document(&bench);
    assert_eq!((&found["answer"], &found["exit_code"]), (&json!("fail"), &json!(2)), "{found:#}");
    assert_eq!(found["benchmarks"].as_array().map(Vec::len), Some(2), "{found:#}");
    let error = &found["error"];
    assert_eq!(error["exit_code"], 2, "{error:#}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("--markdown: cannot write /dev/full"), "{error:#}");
}

/// The links that a gate makes end with it; those beside its results stay.
#[test]
fn an_interrupted_gate_goes_on() {
    let bench = builds(&google_benchmark(1000), &google_benchmark(1300));
    let mut command = bench.command(STILLWELL);
    command.args([
        "gate",
        "--old",
        "old",
        "--new",
        "new",
        "--same",
        "0.05%",
        "--fail-on",
        "slower:31%",
    ]);
    let running = bench.spawn({
        command.args(["--budget", "600s", "-o", "out.suite"]);
        command
    });
    let links =
        |side: &str| std::fs::read_link(bench.path(&format!("out.suite/programs/{side}/0")));
    wait_until("the links", || links("head").is_ok());
    running.signal(rustix::process::Signal::KILL);
    running.finish();
    assert!(links("base").unwrap().ends_with("old/sums") && links("head").is_ok());
    // As after a reboot: the links of the session are gone.
    let suite = bench.read("out.suite/suite.json");
    let at = suite.find("/base/0").unwrap();
    let start = suite[..at].rfind(['"', '\'']).unwrap() + 1;
    std::fs::remove_dir_all(&suite[start..at]).unwrap();
    let mut again = bench.command(STILLWELL);
    let running = bench.spawn({
        again.args(["bench", "--resume", "out.suite"]);
        again
    });
    let measured = || {
        let files = std::fs::read_dir(bench.path("out.suite")).unwrap().flatten();
        files.filter(|it| it.path().extension().is_some_and(|it| it == "swell")).count()
    };
    wait_until("both records", || measured() == 2);
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish();
    assert!(!ran.stderr.contains("cannot execute"), "{ran:#?}");
}

/// A program that loads `libwork.so` from this directory of its own.
fn with_library(bench: &Bench, side: &str, place: &str, n: u32) {
    let folder = bench.path(&format!("{side}/{place}"));
    std::fs::create_dir_all(&folder).unwrap();
    bench.write("lib.c", "int work(void) { return N; }");
    bench.write(
        "main.c",
        "#include <stdio.h>\n#include <string.h>\nint work(void);\nint main(int n, char **words) {
            if (n > 1 && !strcmp(words[1], \"--help\"))
                return puts(\"[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>]\") < 0;
            if (n > 1 && strstr(words[1], \"list_tests\")) return puts(\"BM_w\") < 0;
            printf(\"{\\\"benchmarks\\\": [{\\\"name\\\": \\\"BM_w\\\", \\\"real_time\\\": %d, \\\"time_unit\\\": \\\"ns\\\"}]}\\n\", work());
        }",
    );
    let cc = |words: &[&str]| {
        let built = Command::new("cc").args(words).current_dir(bench.path(".")).output().unwrap();
        assert!(built.status.success(), "{built:?}");
    };
    let library = format!("{side}/{place}/libwork.so");
    let place_to_search = format!("-L{side}/{place}");
    cc(&["-shared", "-fPIC", &format!("-DN={n}"), "-o", &library, "lib.c"]);
    let rpath = format!("-Wl,-rpath,$ORIGIN/{place}");
    cc(&["-o", &format!("{side}/sums"), "main.c", &place_to_search, "-lwork", &rpath]);
}

#[test]
fn a_library_in_a_directory_of_libtool_counts() {
    let bench = builds("", "");
    with_library(&bench, "old", ".libs", 1003);
    with_library(&bench, "new", ".libs", 2017);
    let ran = gate(&bench, &[]).ends_with(1);
    assert!(ran.stdout.contains("gate: fail"), "{ran:#?}");
}

#[test]
fn a_library_that_is_in_several_places_counts_in_each() {
    let bench = builds("", "");
    for (side, n) in [("old", 1003), ("new", 2017)] {
        with_library(&bench, side, "zz", n);
        std::fs::create_dir(bench.path(&format!("{side}/aa"))).unwrap();
        std::fs::write(bench.path(&format!("{side}/aa/libwork.so")), "the same").unwrap();
    }
    let ran = gate(&bench, &[]).ends_with(1);
    assert!(ran.stdout.contains("gate: fail"), "{ran:#?}");
}
