//! Clean time: what other programs take is no part of it, and what the run itself sleeps is.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Record, Row, Running, skipped, wait_until};

/// Some 50 ms of computing in one process.
const COMPUTE: &str = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";

/// Starts busy processes on CPU 0, and waits until they are.
fn busy(bench: &Bench, n: &str) -> Running {
    let mut command = bench.command(crate::bench::STILLWELL);
    command.args(["load", n, "--cpus", "0"]);
    let running = bench.spawn(command);
    wait_until("it is busy", || bench.read("stderr").starts_with("busy"));
    running
}

fn ns(row: &Row, column: &str) -> i64 {
    row.get(column).unwrap_or_else(|| panic!("{column} is missing"))
}

fn cpu_ns(row: &Row) -> i64 {
    1000 * (ns(row, "user_us") + ns(row, "sys_us"))
}

/// Whether the kernel counts how long a task waits for a CPU. If not, says that the test is skipped.
fn has_schedstat() -> bool {
    let is_there = std::path::Path::new("/proc/self/schedstat").exists();
    if !is_there {
        skipped("the kernel has no /proc/PID/schedstat");
    }
    is_there
}

/// The timed runs of a command on CPU 0 beside two busy processes.
fn beside_load(commands: &str) -> (Bench, Record) {
    let bench = Bench::new();
    let running = busy(&bench, "2");
    let command = format!("sh -c '{commands}'");
    let share = ["--affinity", "0", "--priority", "off"];
    bench.run(&[&["-w", "0", "-r", "6", "-N", &command], &share[..]].concat()).ends_with(0);
    running.signal(Signal::INT);
    running.finish().ends_with(0);
    let record = bench.record();
    (bench, record)
}

fn analysis(bench: &Bench) -> Value {
    let shown = bench.stillwell(&["show", "--json", "r.swell"]).ends_with(0);
    serde_json::from_str::<Value>(&shown.stdout).unwrap()["analysis"].take()
}

#[test]
fn what_other_programs_take_is_not_in_it() {
    if !has_schedstat() {
        return;
    }
    let (bench, record) = beside_load(COMPUTE);
    for row in record.timed() {
        let (wall_ns, stalled_ns) = (ns(row, "wall_ns"), ns(row, "stalled_ns"));
        // The clocks of CPU time and of waits differ by less than a tick of each, and by some microseconds a switch.
        let apart_ns = 1_000_000 + 50_000 * ns(row, "involuntary_switches");
        assert!(wall_ns - stalled_ns + apart_ns >= cpu_ns(row), "{row:?}");
        // What these clocks differ by is no stall. It is unclear as far as no clock says that the program ran then.
        let impossible_ns = ns(row, "impossible_stall_ns");
        assert!(impossible_ns < apart_ns, "{row:?}");
        assert!(ns(row, "unclear_ns") <= impossible_ns, "{row:?}");
    }
    let found = analysis(&bench);
    let arm = &found["arms"][0];
    // A fair share is a third.
    let all = |column| record.timed().map(|row| ns(row, column)).sum::<i64>();
    assert!(all("stalled_ns") > all("wall_ns") / 4, "{arm:#}");
    let mean = |clock: &str| arm[clock]["mean"]["value"].as_f64().unwrap();
    assert!(mean("clean") < 0.75 * mean("wall"), "{arm:#}");
    assert!(mean("cpu") < 0.75 * mean("wall"), "{arm:#}");
}

/// On any machine: the sleep and the computing at the same time, and one after the other.
#[test]
fn what_a_run_sleeps_is_in_it() {
    if !has_schedstat() {
        return;
    }
    let (_, beside) = beside_load(&format!("sleep 0.05 & {COMPUTE}; wait"));
    let (_, in_turn) = beside_load(&format!("sleep 0.05; {COMPUTE}"));
    for row in beside.timed().chain(in_turn.timed()) {
        assert!(ns(row, "wall_ns") - ns(row, "stalled_ns") >= 50_000_000, "{row:?}");
    }
    for row in in_turn.timed() {
        let clean_ns = ns(row, "wall_ns") - ns(row, "stalled_ns");
        assert!(clean_ns >= 49_000_000 + cpu_ns(row), "{row:?}");
    }
}

#[test]
fn the_clock_is_chosen_and_every_clock_is_there() {
    if !has_schedstat() {
        return;
    }
    let bench = Bench::new();
    bench.run(&["-r", "5", "-N", "--decide-on", "cpu", "true"]).ends_with(0);
    let found = analysis(&bench);
    let arm = &found["arms"][0];
    for clock in ["clean", "wall", "cpu"] {
        assert!(arm[clock]["t0"]["value"].as_f64() > Some(0.0), "{clock}: {arm:#}");
    }
    assert!(arm["no_clean"].is_null());
    let stats = bench.stillwell(&["stats", "r.swell"]).ends_with(0).stdout;
    assert!(stats.contains("\nwall t0") && !stats.contains("\ncpu t0"), "{stats}");
}

/// The record of a session in which some time of every run may have gone to other programs.
fn interrupted(bench: &Bench, file: &str, commands: &[&str]) {
    bench.write("times", &"10ms 11ms\n".repeat(commands.len()));
    let options = ["-w", "0", "-r", "6", "-N", "--script", "times"];
    bench.run(&[&options[..], commands].concat()).ends_with(0);
    let mut lines: Vec<Value> = bench.read("r.swell").lines().map(json).collect();
    let columns = lines[0]["columns"].as_array_mut().unwrap();
    columns.extend(["stalled_ns", "unclear_ns"].map(Value::from));
    for row in lines.iter_mut().filter_map(Value::as_array_mut) {
        row.extend([2_000_000, 1_000_000].map(Value::from));
    }
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    bench.write(file, &text);
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_limit_is_no_result_of_a_series() {
    let bench = Bench::new();
    interrupted(&bench, "two.swell", &["true", "true 2"]);
    let stats = bench.stillwell(&["stats", "two.swell"]).ends_with(0).stdout;
    assert!(stats.contains("t0 [ms]") && stats.contains("\nmedian ratio"), "{stats}");
    assert!(!stats.contains("t0 ratio"), "{stats}");
    interrupted(&bench, "busy.swell", &["true"]);
    bench.run(&["-w", "0", "-r", "6", "-N", "--script", "times", "true"]).ends_with(0);
    let ran = bench.stillwell(&["show", "busy.swell"]).ends_with(0);
    assert!(ran.stdout.contains("takes at most 8"), "{}", ran.stdout);
    bench.stillwell(&["history", "add", "--db", "h.db", "busy.swell"]).ends_with(0);
    let show = ["history", "show", "--db", "h.db", "--json"];
    // Alone it is shown as what it is.
    let ran = bench.stillwell(&show).ends_with(0);
    assert_eq!((&*ran.stderr, json(&ran.stdout)[0]["values"].as_array().unwrap().len()), ("", 1));
    bench.stillwell(&["history", "add", "--db", "h.db", "r.swell"]).ends_with(0);
    let ran = bench.stillwell(&show).ends_with(0);
    assert!(
        ran.stderr.starts_with("stillwell: 1 result is left out: t0 is only an upper limit"),
        "{}",
        ran.stderr
    );
    assert_eq!(json(&ran.stdout)[0]["values"].as_array().unwrap().len(), 1);
    let ran = bench.stillwell(&[&show[..], &["--by", "median"]].concat()).ends_with(0);
    assert_eq!(json(&ran.stdout)[0]["values"], serde_json::json!([8.5e6, 10.5e6]));
    assert_eq!(ran.stderr, "");
}

#[test]
fn without_evidence_there_is_none() {
    let bench = Bench::new();
    bench.run(&["-r", "5", "-N", "--metrics", "time", "true"]).ends_with(0);
    let found = analysis(&bench);
    let arm = &found["arms"][0];
    assert!(arm["clean"].is_null() && arm["wall"]["t0"]["value"].is_number(), "{arm:#}");
    assert_eq!(arm["no_clean"], "no_evidence");
}

/// The probe of the core is no part of a run, and is made only where evidence is wanted.
#[test]
fn the_first_run_has_a_probe_of_its_core() {
    if cfg!(not(target_arch = "x86_64")) {
        skipped("the core of this kind of CPU is not probed");
        return;
    }
    let measured = |options: &[&str]| {
        let bench = Bench::new();
        bench.run(&[&["-w", "0", "-r", "3", "-N", "true"], options].concat()).ends_with(0);
        bench
    };
    let record = measured(&[]).record();
    let row = &record.rows[0];
    // 12 000 additions, one a cycle; four units at most 8 times as fast.
    let (one, four) = (ns(row, "one_chain_ns"), ns(row, "four_chains_ns"));
    assert!(one > 1000 && four > one / 2, "{one} {four}");
    assert!(!measured(&["--metrics", "wall"]).read("r.swell").contains("one_chain_ns"));
}
