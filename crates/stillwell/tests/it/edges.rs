//! Numbers at the edges: a value that is not above zero, few runs, pairs that do not count.

use serde_json::Value;

use crate::bench::{Bench, Ran, Record};

const SCRIPTED: [&str; 6] = ["--script", "script", "--seed", "1", "--style", "none"];

fn scripted(script: &str, arguments: &[&str]) -> (Bench, Ran) {
    let bench = Bench::new();
    bench.write("script", script);
    bench.run(&[&SCRIPTED, arguments].concat()).ends_with(0);
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0);
    (bench, shown)
}

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    let ran = bench.stillwell(arguments).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The first pair is slow, so it is left out as warm-up. Eight others count.
#[test]
fn the_number_of_runs_is_the_number_of_pairs_that_count() {
    let script = "90ms 5ms 5.1ms 5.2ms 5.3ms 5.2ms 5.1ms 5ms 5.1ms 5.2ms\n\
                  99ms 7ms 7.1ms 7.2ms 7.3ms 7.2ms 7.1ms 7ms 7.1ms 7.2ms\n";
    let (bench, ran) = scripted(script, &["-w", "0", "-r", "8", "./a", "./b"]);
    assert_eq!(bench.record().timed().count(), 2 * 9, "{ran:#?}");
    let shown = json(&bench, &["show", "r.swell", "--json"]);
    let paired = &shown["analysis"]["comparisons"][0]["evidence"];
    assert_eq!((&paired["n_pairs"], &paired["n_warmup_pairs"]), (&8.into(), &1.into()));
    assert_eq!(shown["judgements"][0]["verdict"], "slower", "{shown:#}");
    assert!(!ran.stdout.contains("too few"), "{ran:#?}");
    // Nothing is left out of steady times.
    let (bench, _) = scripted("5ms\n7ms\n", &["-w", "0", "-r", "8", "./a", "./b"]);
    assert_eq!(bench.record().timed().count(), 2 * 8);
}

#[test]
fn a_command_shorter_than_its_shell_has_no_ratio() {
    let script = "0.9ms 0.92ms 0.95ms\n3ms 3.1ms 3.2ms\n1ms 1.1ms 1.2ms\n";
    let (bench, ran) = scripted(script, &["-w", "0", "-r", "3", "-S", "sh", "./a", "./b"]);
    let markdown = bench.stillwell(&["show", "r.swell", "--export-markdown", "-"]).ends_with(0);
    let csv = bench.stillwell(&["show", "r.swell", "--export-csv", "-"]).ends_with(0);
    let stats = bench.stillwell(&["stats", "r.swell"]).ends_with(0);
    let verbose = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0);
    for shown in [&ran, &verbose] {
        assert!(!shown.stdout.contains("times as"), "{shown:#?}");
        assert!(shown.stdout.contains("too short to measure under a shell (-"), "{shown:#?}");
    }
    assert!(ran.stdout.contains("use -N"), "{ran:#?}");
    assert!(ran.stdout.contains("too short  "), "{ran:#?}");
    let rows: Vec<&str> = markdown.stdout.lines().skip(2).collect();
    assert_eq!(rows.len(), 2, "{markdown:#?}");
    assert!(rows[0].ends_with("|  |  |") && rows[1].ends_with("|  | no ratio |"), "{markdown:#?}");
    assert!(csv.stdout.lines().skip(1).all(|row| row.ends_with(",,,,")), "{csv:#?}");
    let ratio = stats.stdout.lines().find(|line| line.starts_with("t0 ratio"));
    assert!(ratio.is_none_or(|line| line.trim() == "t0 ratio"), "{stats:#?}");

    let (_, alone) = scripted("0.9ms\n1ms\n", &["-w", "0", "-r", "6", "-S", "sh", "./a"]);
    let answer = "is too short to measure under a shell (";
    assert!(alone.stdout.contains(answer) && alone.stdout.contains(": use -N"), "{alone:#?}");
    let subtract = ["-w", "0", "-r", "3", "-N", "--subtract", "./c", "./a", "./b"];
    let (_, ran) = scripted(script, &subtract);
    assert!(ran.stdout.contains("too short to measure beside what is subtracted"), "{ran:#?}");
    assert!(!ran.stdout.contains("times as") && !ran.stdout.contains("-N"), "{ran:#?}");
}

/// hyperfine writes 0 for what is shorter than its shell.
#[test]
fn a_time_of_zero_has_no_ratio_in_either_direction() {
    let result = |name: &str, times: &str| {
        format!(
            "{{\"command\": \"{name}\", \"mean\": 0, \"stddev\": null, \"median\": 0, \"user\": 0, \
             \"system\": 0, \"min\": 0, \"max\": 0, \"times\": {times}, \"exit_codes\": [0, 0]}}"
        )
    };
    let (fire, glaze) = (result("fire", "[0.5, 0.5]"), result("glaze", "[0.0, 0.0]"));
    for results in [[&fire, &glaze], [&glaze, &fire]] {
        let bench = Bench::new();
        bench.write("h.json", &format!("{{\"results\": [{}, {}]}}", results[0], results[1]));
        let shown = bench.stillwell(&["show", "h.json"]).ends_with(0);
        assert!(!shown.stdout.contains("times as"), "{shown:#?}");
        assert!(shown.stdout.contains("no ratio"), "{shown:#?}");
        let markdown = bench.stillwell(&["show", "h.json", "--export-markdown", "-"]).ends_with(0);
        let last = markdown.stdout.lines().last().unwrap();
        assert!(last.ends_with("|  | no ratio |"), "{markdown:#?}");
        let found = json(&bench, &["show", "h.json", "--json"]);
        let evidence = &found["analysis"]["comparisons"][0]["evidence"];
        assert_eq!(evidence["kind"], "none", "{evidence:#}");
        bench.stillwell(&["report", "-o", "r.html", "h.json"]).ends_with(0);
    }
}

#[test]
fn a_quantile_of_the_slow_end_says_how_many_runs_it_needs() {
    let (bench, _) = scripted("1ms 1.1ms 1.2ms 1.3ms\n", &["-w", "0", "-r", "40", "./a"]);
    let stats = bench.stillwell(&["stats", "r.swell"]).ends_with(0).stdout;
    let cell = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {stats}")).trim().to_owned()
    };
    // Ranks 32 and 40 of 40: R, qbinom(c(0.025, 0.975), 40, 0.9) + c(0, 1).
    assert_eq!(cell("p90"), "1.300 [1.300 … 1.300]");
    assert_eq!((cell("p95"), cell("p99")), ("needs 72 runs".into(), "needs 368 runs".into()));
    let tail = &json(&bench, &["show", "r.swell", "--json"])["analysis"]["arms"][0]["wall"];
    let tail = &tail["slow_tail"];
    assert_eq!((&tail[0]["p"], &tail[0]["n_needed"]), (&0.9.into(), &36.into()));
    assert_eq!(tail[0]["found"]["hi"], 1_300_000.0);
    assert!(tail[2]["found"].is_null(), "{tail:#}");
    let verbose = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    assert!(verbose.contains("p90 1.300 [1.300 … 1.300]"), "{verbose}");
    assert!(verbose.contains("p95 needs 72 runs") && !verbose.contains("p99"), "{verbose}");
}

/// A comparison is by ratios. The session ends in order, and its record says so.
#[test]
fn a_value_that_is_not_above_zero_ends_the_session_with_a_remedy() {
    let bench = Bench::new();
    let value = ["--value", "score: ([-0-9.]+)", "echo score: 5", "echo score: -1"];
    let ran = bench.run(&value).ends_with(2);
    ran.says(&["r.swell", "values, which have to be above zero", "--decide-on", "--runs"]);
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0);
    assert!(!shown.stdout.contains("killed, or still running"), "{shown:#?}");
    let ran = bench.read("r.swell");
    assert!(ran.ends_with("{\"event\":\"end\",\"reason\":\"failed\"}\n"), "{ran}");
}

/// Values below zero have no ratio, so more runs do not help.
#[test]
fn a_benchmark_whose_value_is_not_above_zero_ends_alone() {
    let bench = Bench::new();
    let benchmark = |name: &str, said: &str| {
        format!(
            "[[benchmark]]\nname = \"{name}\"\ncommand = \"sh -c 'echo {said}'\"\nvalue = \"(.+)\"\n\
             policy = {{ max_blocks = 12 }}\n"
        )
    };
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let (bad, good) = (benchmark("bad", "-1"), benchmark("good", "$((100 + $$ % 7))"));
    bench.write("s.toml", &format!("budget = \"20s\"\n{variants}{bad}{good}"));
    for options in [&["s.toml", "-o", "out"][..], &["--resume", "out"]] {
        let ran = bench.stillwell(&[&["bench"], options].concat()).ends_with(2);
        let ran = ran.says(&["bad: commands are compared", "have to be above zero"]);
        assert!(!ran.stderr.contains("--resume"), "{ran:#?}");
        let end = |file: &str| Record::read(&bench.path(file)).end().map(str::to_owned);
        assert_eq!(end("out/001-bad.swell"), Some("failed".into()));
        let good = end("out/002-good.swell");
        assert!(good.is_some_and(|end| ["complete", "decided"].contains(&&*end)), "{ran:#?}");
    }
}

/// The time of a control is only subtracted, so its runs are drawn nowhere.
#[test]
fn a_control_has_no_histogram_and_noise_tells_what_show_does() {
    let bench = Bench::new();
    let commands = ["sleep 0.001", "sleep 0.002"];
    let options = ["run", "--subtract", "sleep 0", "--aa", "-r", "12", "-o", "r.swell"];
    bench.stillwell(&[&options[..], &commands].concat()).ends_with(0);
    let drawn = bench.stillwell(&["hist", "--ascii", "r.swell"]).ends_with(0).stdout;
    let names: Vec<&str> = drawn.lines().filter(|line| line.contains("sleep")).collect();
    assert_eq!(names, ["1  sleep 0.001", "2  sleep 0.002"], "{drawn}");
    let disturbance = |verb: &str| {
        json(&bench, &[verb, "--json", "r.swell"])["conclusion"]["disturbance"].clone()
    };
    assert_eq!(disturbance("noise"), disturbance("show"));
}
