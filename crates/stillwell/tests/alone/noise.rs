//! `noise` on this machine: it names the programs that take time from a loop, and the parts add up. No test asserts a
//! duration, because the machine is busy.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::alone;
use crate::bench::{Bench, Running, is_root, skipped, wait_until};

/// A program with a name of its own that computes on one CPU. It gets ten times the CPU time of others, and ends with the
/// test.
struct Culprit {
    child: Child,
    cpu: String,
}

impl Culprit {
    fn start(bench: &Bench) -> Self {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap();
        // The kernel names a script after its file.
        bench.script("the_culprit", "#!/bin/sh\nwhile :; do :; done\n");
        let child = Command::new(bench.path("the_culprit")).stdin(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(Some(pid), &set).unwrap();
        setpriority_process(Some(pid), -10).unwrap();
        let comm = format!("/proc/{}/comm", child.id());
        wait_until("the culprit runs", || {
            std::fs::read_to_string(&comm).is_ok_and(|name| name.trim() == "the_culprit")
        });
        Self { child, cpu: cpu.to_string() }
    }

    fn watched(&self, bench: &Bench, arguments: &[&str]) -> Value {
        let all = ["noise", "--json", "--for", "700ms", "--cpus", &self.cpu];
        let ran = bench.stillwell(&[all.as_slice(), arguments].concat()).ends_with(0);
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

impl Drop for Culprit {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn ns(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Asserts that the parts of each CPU, and of all CPUs together, add up to the taken time.
#[track_caller]
fn adds_up(report: &Value) {
    for cpu in report["cpus"].as_array().unwrap() {
        let entries = cpu["ledger"]["entries"].as_array().unwrap();
        let sum: i64 = entries.iter().map(|entry| ns(&entry["ns"])).sum();
        assert_eq!(sum, ns(&cpu["stolen_ns"]));
        assert_eq!(sum, ns(&cpu["ledger"]["total_ns"]));
        assert!(sum <= ns(&cpu["observed_ns"]), "{cpu}");
    }
    let entries = report["total"]["entries"].as_array().unwrap();
    let sum: i64 = entries.iter().map(|entry| ns(&entry["ns"])).sum();
    assert_eq!(sum, ns(&report["total"]["total_ns"]));
}

/// Runs as root and as a user without rights.
#[test]
fn the_culprit_is_named_with_its_time() {
    let _alone = alone();
    if !is_root() {
        return skipped("only root can make a program that takes a CPU from all others");
    }
    let bench = Bench::new();
    let culprit = Culprit::start(&bench);
    for arguments in [&[][..], &["--no-trace"]] {
        let report = culprit.watched(&bench, arguments);
        adds_up(&report);
        let is_seen = |gap: &Value| {
            ["who took the time", "when other programs ran"]
                .contains(&gap["what"].as_str().unwrap())
        };
        if report["gaps"].as_array().unwrap().iter().any(is_seen) {
            skipped("perf events are not allowed here, as in some containers");
            continue;
        }
        // Other tests and users may take even more.
        let mut entries = report["total"]["entries"].as_array().unwrap().iter();
        let found = entries.find(|entry| entry["name"] == "the_culprit");
        let found = found.unwrap_or_else(|| panic!("it is not named: {report:#}"));
        assert_eq!((&found["source"], found["ns"].as_i64() > Some(0)), (&"task".into(), true));
        assert_eq!(found["is_estimate"], !arguments.is_empty());
    }
}

#[test]
fn pauses_are_written_and_time_is_kept() {
    let _alone = alone();
    let bench = Bench::new();
    let ran =
        bench.stillwell(&["noise", "--for", "50ms", "--json", "--raw", "pauses.csv"]).ends_with(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    adds_up(&report);
    let n_pauses: i64 =
        report["cpus"].as_array().unwrap().iter().map(|cpu| ns(&cpu["n_pauses"])).sum();
    let raw = bench.read("pauses.csv");
    let lines: Vec<&str> = raw.lines().collect();
    assert_eq!(lines[0], "cpu,start_ns,length_ns");
    assert_eq!(lines.len() as i64 - 1, n_pauses);
    // In order, and none inside of another, CPU by CPU.
    let mut last = (0, 0);
    for line in &lines[1..] {
        let numbers: Vec<u64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        assert!(numbers[0] != last.0 || numbers[1] >= last.1, "{line} begins before {}", last.1);
        last = (numbers[0], numbers[1] + numbers[2]);
    }
}

/// The table for other programs has no other text in it.
#[test]
fn pauses_alone_go_to_standard_output() {
    let _alone = alone();
    let bench = Bench::new();
    let ran = bench.stillwell(&["noise", "--for", "20ms", "--raw", "-"]);
    let ran = ran.ends_with(0);
    let (first, pauses) = ran.stdout.split_once('\n').unwrap();
    assert_eq!(first, "cpu,start_ns,length_ns");
    assert!(pauses.lines().all(|line| line.split(',').all(|cell| cell.parse::<u64>().is_ok())));
}

/// Numbers of threads of `noise`: the threads of its loops, and others.
fn n_loops_and_others(running: &Running) -> (usize, usize) {
    let threads = std::fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let names = threads.flatten().map(|it| std::fs::read_to_string(it.path().join("comm")));
    let is_loop = |name: &std::io::Result<String>| {
        name.as_ref().is_ok_and(|name| name.starts_with("noise on CPU"))
    };
    let (loops, others): (Vec<_>, Vec<_>) = names.partition(is_loop);
    (loops.len(), others.len())
}

/// ^C shows the results so far.
#[test]
fn it_can_be_ended_early() {
    let _alone = alone();
    let bench = Bench::new();
    let mut command = bench.command(crate::bench::STILLWELL);
    command.args(["noise", "--for", "100h", "--json", "--raw", "pauses.csv"]);
    let running = bench.spawn(command);
    // Each loop is a thread of its own, and runs as soon as the thread exists.
    wait_until("the loops run", || n_loops_and_others(&running).0 > 0);
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish().ends_with(130);
    assert!(bench.read("pauses.csv").starts_with("cpu,start_ns,length_ns\n"));
    adds_up(&serde_json::from_str(&ran.stdout).unwrap());
}

/// With the kernel's strictest setting, a sentence explains each missing evidence, and the rest works.
#[test]
fn without_rights_there_are_reasons() {
    let _alone = alone();
    if !is_root() {
        return skipped("only root can become somebody else");
    }
    let bench = Bench::new();
    let mut command = Command::new("setpriv");
    if command.arg("--version").output().is_err() {
        return skipped("there is no setpriv");
    }
    let mut command = bench.command("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", crate::bench::STILLWELL]);
    command.args(["noise", "--for", "50ms", "--json"]);
    let ran = bench.spawn(command).finish().ends_with(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    adds_up(&report);
    let gaps = report["gaps"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "who took the time").unwrap();
    assert!(gap["fix"].as_str().unwrap().contains("run it as root"), "{gap}");
    assert_ne!(report["evidence"], "tracepoints");
}

/// Root in a container: user 0 without the rights of root.
#[test]
fn in_a_container_there_are_reasons() {
    let _alone = alone();
    let bench = Bench::new();
    let mut command = bench.command("setpriv");
    command.args(["--inh-caps=-all", "--bounding-set=-all", crate::bench::STILLWELL]);
    command.args(["noise", "--for", "50ms", "--json"]);
    if !is_root() {
        return skipped("only root can give up the rights of root");
    }
    let Ok(output) = command.output() else { return skipped("there is no setpriv") };
    let ran = crate::bench::Ran::from(output).ends_with(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    adds_up(&report);
    let gaps = report["gaps"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "who took the time");
    let gap = gap.unwrap_or_else(|| panic!("it is no gap: {gaps:?}"));
    assert!(gap["why"].as_str().unwrap().len() > 20, "{gap}");
    assert!(gap["fix"].as_str().unwrap().len() > 10, "{gap}");
    assert_ne!(report["evidence"], "tracepoints");
}

/// The second session is another record, with the reported option in its command line.
#[test]
fn a_run_is_explained_by_measuring_again() {
    let _alone = alone();
    if !is_root() {
        return skipped("the test knows what root is offered");
    }
    let bench = Bench::new();
    let culprit = Culprit::start(&bench);
    let ran = bench.run(&[
        "--explain",
        "-r",
        "5",
        "-w",
        "0",
        "--affinity",
        &culprit.cpu,
        "-N",
        "seq 3000000",
    ]);
    let record = bench.record();
    let has_preemption = record.timed().any(|row| row.get("preempted_ns").is_some_and(|ns| ns > 0));
    if !has_preemption {
        return skipped("no run was preempted, or this machine does not say so");
    }
    let ran = ran.ends_with(0);
    assert!(ran.stdout.contains("explain: "), "{ran:?}");
    if ran.stdout.contains("--isolate\n") {
        for part in ["before", "after", "all above t0", "record: "] {
            assert!(ran.stdout.contains(part), "{part}: {ran:?}");
        }
    }
}

/// With a trace, the record names the program.
#[test]
fn who_took_the_cpu_from_a_run_is_named() {
    let _alone = alone();
    if !is_root() {
        return skipped("tracepoints are for root");
    }
    let bench = Bench::new();
    let culprit = Culprit::start(&bench);
    let runs =
        ["--attribute", "--priority", "off", "--style", "none", "-r", "5", "-w", "0", "--affinity"];
    // The run is longer than a time slice of the scheduler, because no program is preempted within its slice.
    let ran = bench.run(&[runs.as_slice(), &[culprit.cpu.as_str(), "-N", "seq 3000000"]].concat());
    ran.ends_with(0);
    let text = bench.read("r.swell");
    if text.lines().next().unwrap().contains("\"what\":\"who took the time\"") {
        return skipped("tracepoints are not allowed here, as in some containers");
    }
    let taken = text.lines().filter(|line| line.contains("\"event\":\"taken\""));
    let by: Vec<Value> = taken.map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_culprit = |entry: &&Value| entry["name"] == "the_culprit" && ns(&entry["ns"]) > 0;
    let entries = by.iter().flat_map(|event| event["by"].as_array().unwrap());
    assert!(entries.filter(is_culprit).count() > 0, "{by:?}");
    // The runs and their children are not in the list.
    assert!(!text.contains("\"name\":\"seq\""), "{text}");
    let shown = bench.stillwell(&["noise", "--json", "r.swell"]).ends_with(0);
    let ledger: Value = serde_json::from_str(&shown.stdout).unwrap();
    let entries = ledger["total"]["entries"].as_array().unwrap();
    let sum: i64 = entries.iter().map(|entry| ns(&entry["ns"])).sum();
    assert_eq!(sum, ns(&ledger["total"]["total_ns"]));
}
