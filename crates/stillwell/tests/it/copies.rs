//! Several copies of a command at the same time: `-j`.

use crate::bench::{Bench, skipped};

/// A program whose two copies wait for each other, so that it ends only if both run at the same time.
const MEET: &str = "#!/bin/sh
if mkdir here 2>/dev/null; then read line < fifo; else echo go > fifo; fi
";
const OPTIONS: [&str; 8] = ["-N", "-w", "1", "-r", "3", "-j", "2", "--timeout"];

fn bench(more: &str) -> Bench {
    let bench = Bench::new();
    bench.script("meet", &format!("{MEET}{more}\n"));
    assert!(bench.command("mkfifo").arg("fifo").status().unwrap().success());
    bench
}

#[test]
fn copies_run_at_the_same_time_and_are_one_run() {
    let bench = bench("");
    let ran = bench.run(&[&OPTIONS[..], &["60s", "--prepare", "rm -rf here", "./meet"]].concat());
    let shown = ran.ends_with(0).stdout;
    assert!(shown.starts_with("2 copies of ./meet take "), "{shown}");
    assert!(shown.contains("a run is 2 copies at the same time"), "{shown}");
    assert!(shown.contains("; throughput: "), "{shown}");
    let record = bench.record();
    assert_eq!(record.rows.len(), 4, "a warm-up and three runs");
    assert_eq!(record.header["plan"]["copies"]["n"], 2);
    let document = bench.stillwell(&["show", "--json", "r.swell"]).ends_with(0).stdout;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let measured = &document["conclusion"]["measured"][0];
    let per_second = measured["copies_per_second"].as_f64().unwrap();
    let expected = 2e9 / measured["value"]["value"].as_f64().unwrap();
    assert!((per_second / expected - 1.0).abs() < 1e-9, "{measured}");
}

#[test]
fn a_copy_that_fails_or_hangs_ends_all_of_them() {
    let failing = bench("test \"$line\" || exit 3");
    let ran = failing.run(&[&OPTIONS[..], &["60s", "--prepare", "rm -rf here", "./meet"]].concat());
    ran.ends_with(2).says(&["3"]);
    let hanging = bench("test \"$line\" || exec sleep 1000");
    let ran = hanging.run(&[&OPTIONS[..], &["1s", "--prepare", "rm -rf here", "./meet"]].concat());
    ran.ends_with(124);
}

#[test]
fn each_copy_has_a_cpu_of_its_own_if_there_are_enough() {
    let n_cpus = std::thread::available_parallelism().unwrap().get();
    if n_cpus < 2 {
        return skipped("one CPU");
    }
    let bench = bench("grep Cpus_allowed_list /proc/self/status >> masks");
    let options = ["-N", "-w", "0", "-r", "1", "-j", "2", "--prepare", "rm -rf here"];
    bench.run(&[&options[..], &["./meet"]].concat()).ends_with(0);
    let masks = bench.read("masks");
    let masks: Vec<&str> = masks.lines().collect();
    assert!(masks.len() == 2 && masks[0] != masks[1], "{masks:?}");

    let shared = (n_cpus + 1).to_string();
    let run = ["-w", "0", "-r", "2", "-j", &shared, "true", "--style", "basic"];
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    let shown = bench.run(&run).ends_with(0).stdout;
    assert!(shown.contains(", which they share"), "{shown}");
}

#[test]
fn what_is_known_of_one_process_alone_is_refused() {
    let bench = Bench::new();
    let ran = bench.run(&["-j", "2", "--decide-on", "cycles", "true"]);
    ran.ends_with(2).says(&["--decide-on cycles: that is known of a single copy alone"]);
    bench.run(&["-j", "2", "--output", "pipe", "true"]).ends_with(2);
}
