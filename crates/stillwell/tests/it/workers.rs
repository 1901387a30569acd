//! `timeit` and `bench`, with real interpreters and with scripted workers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::{Bench, Ran, Row, STILLWELL, wait_until};

/// A worker with scripted times: `NS` for a loop, `OVERHEAD` for a slice. It logs the environment of each of its processes.
/// `BAD` is its action at the third slice.
const WORKER: &str = r#"#!/usr/bin/env python3
import os, sys, time
ns, overhead, bad = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
r, w = map(int, sys.argv[-1].split('=')[1].split(','))
with open('started', 'a') as log:
    print(sys.argv[1], os.environ.get('PYTHONHASHSEED', 'none'), len(os.environ.get('STILLWELL_PADDING', '')), os.getpid(), file=log)
def say(line): os.write(w, line.encode() + b'\n')
say('stillwell 1 language=none')
slices = 0
for line in os.fdopen(r):
    words = line.split()
    if words[0] == 'list':
        say('benchmark one'); say('benchmark two inner_loops=10'); say('end')
    elif words[0] == 'select':
        name = words[1]; say('ok')
    elif words[0] == 'metadata':
        say('meta flavour plain'); say('end')
    elif words[0] == 'run':
        slices += 1
        if bad == 'untimed': time.sleep(int(words[1]) / 30_000); say('time 0 0'); continue
        if bad != 'no' and slices == 3 and os.path.exists('armed'):
            if bad == 'die': os.kill(os.getpid(), 11)
            if bad == 'exit': print('so long', file=sys.stderr, flush=True); os._exit(7)
            if bad == 'rubbish': say('42 apples'); continue
            if bad == 'error': say('error ValueError:\\x20no\\x20luck'); continue
            if bad == 'flood': sys.stdout.write('y' * 10_000_000); sys.stdout.flush()
            if bad == 'hang':
                if os.fork() == 0:
                    print(0, 0, 0, os.getpid(), file=open('started', 'a'), flush=True)
                while True: time.sleep(1000)
        n = int(words[1])
        wall = overhead + ns * n // 1000
        # The times are made up, but they must not be longer than it took.
        end = time.monotonic_ns() + wall
        while time.monotonic_ns() < end: pass
        if bad == 'coarse': wall -= wall % 10_000_000
        say('time %d %d cats=%d' % (wall, wall // 2, 3 * n))
    elif words[0] == 'quit':
        say('bye'); break
    else:
        say('error unknown\\x20request')
"#;

fn bench_with_worker() -> Bench {
    let bench = Bench::new();
    bench.script("worker", WORKER);
    bench
}

/// Runs `stillwell bench -o r.swell` with workers that take these times, in ps a loop and ns a slice.
fn workers(bench: &Bench, options: &[&str], programs: &[&str]) -> Ran {
    bench.stillwell(&[&["bench", "-o", "r.swell", "-b", "one"], options, programs].concat())
}

fn analysis(bench: &Bench) -> Value {
    let ran = bench.stillwell(&["show", "--json", "r.swell"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    document["analysis"].clone()
}

fn events(bench: &Bench, kind: &str) -> Vec<Value> {
    let events = bench.record().events.into_iter();
    events.filter(|event| event["event"] == kind).collect()
}

/// Whether that process still runs. Parallel tests use up pids in seconds, so another process may have the same pid.
fn is_running(bench: &Bench, pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let directory = std::fs::read_link(format!("/proc/{pid}/cwd"));
    let is_ours =
        directory.is_ok_and(|directory| directory == bench.path(".").canonicalize().unwrap());
    is_ours && !state.contains(") Z ")
}

/// The probes are of the CPU that the workers have, so there is none if they have several.
#[cfg(target_arch = "x86_64")]
/// Python's timeit joins its words too.
#[test]
fn two_expressions_are_one_statement_and_a_hint_says_how_to_compare_them() {
    let bench = Bench::new();
    let timeit = |words: &[&str]| {
        bench
            .stillwell(
                &[&["timeit", "-r", "1", "--values", "1", "--min-time", "1us"], words].concat(),
            )
            .ends_with(0)
    };
    let ran = timeit(&["sorted([1])", "len([1])"]);
    assert!(ran.stdout.starts_with("sorted([1]); len([1]) takes"), "{ran:#?}");
    ran.says(&[
        "timed together, as the lines of one; to compare them, put --vs in front of the second",
    ]);
    let ran = timeit(&["x = [1]", "sorted(x)"]);
    assert!(!ran.stderr.contains("--vs"), "{ran:#?}");
}

#[test]
fn slices_on_one_cpu_have_probes_of_it() {
    let probed = |options: &[&str]| {
        let bench = bench_with_worker();
        let options = [&["--runs", "3", "--values", "4"], options].concat();
        workers(&bench, &options, &["./worker 1000 0 no"]).ends_with(0);
        let rows = bench.record().rows;
        let probed: Vec<&Row> =
            rows.iter().filter(|row| row.get("four_chains_ns").is_some()).collect();
        assert!(probed.iter().all(|row| row.block.is_some()), "a warm-up has no probe");
        probed.len()
    };
    assert!(probed(&[]) > 0);
    let n_cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(probed(&["--affinity", "all"]) > 0, n_cpus == 1);
}

#[test]
fn a_statement_is_timed_in_the_processes_slices_and_loops_that_were_asked_for() {
    let bench = Bench::new();
    let ran = bench.stillwell(&[
        "timeit", "-o", "r.swell", "-r", "4", "--values", "3", "-w", "2", "-l", "2^10", "-s",
        "x = 1", "x + 1", "--vs", "x - 1",
    ]);
    ran.ends_with(0);
    let record = bench.record();
    let timed: Vec<&Row> = record.timed().collect();
    assert_eq!(timed.len(), 4 * 3 * 2);
    let warm = record.rows.len() - timed.len();
    assert!(warm >= 4 * 2 * 2, "{warm} warm-up slices");
    for row in &timed {
        assert_eq!(row.get("loops"), Some(1024));
        for (column, least) in [("wall_ns", 1024), ("cpu_ns", 1), ("empty_loop_ps", 1)] {
            assert!(row.get(column) >= Some(least), "{column}: {row:?}");
        }
    }
    // The slices of both take turns: each block and round has both, not always in the same order.
    let orders: BTreeSet<i64> = timed.chunks(2).map(|pair| pair[0].arm).collect();
    assert!(timed.chunks(2).all(|pair| pair[0].arm != pair[1].arm));
    assert_eq!(orders.len(), 2, "one arm always came first");
    let analysis = analysis(&bench);
    assert_eq!(analysis["arms"][0]["n_runs"], 4);
    assert_eq!(analysis["arms"][1]["sliced"]["n_slices"], 12);
    let worker = &events(&bench, "worker")[0]["values"];
    assert!(worker["python_version"].as_str().unwrap().starts_with("3."), "{worker}");
}

#[test]
fn a_difference_is_found_and_its_size_is_right() {
    let bench = bench_with_worker();
    // The times of this worker are made up, and its waits are real.
    let options = ["-l", "1000", "--values", "2", "--decide-on", "wall"];
    workers(&bench, &options, &["./worker 50000 0 no", "./worker 60000 0 no"]).ends_with(0);
    let analysis = analysis(&bench);
    let paired = &analysis["comparisons"][0]["evidence"];
    assert_eq!(paired["kind"], "paired");
    assert!((paired["ratio"]["ratio"].as_f64().unwrap() - 1.2).abs() < 1e-9, "{paired}");
    assert_eq!(analysis["arms"][0]["wall"]["t0"]["value"], 50.0);
    assert_eq!(analysis["end"], "decided");
    let counted = &events(&bench, "counters")[0];
    assert_eq!((&counted["counters"]["cats"], &counted["loops"]), (&3000.into(), &1000.into()));
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    assert!(shown.contains("cats 3.000 per loop"), "{shown}");
}

#[test]
fn the_difference_of_n_and_2n_loops_has_no_overhead() {
    let bench = bench_with_worker();
    let programs = ["./worker 50000 70000 no"];
    workers(&bench, &["-l", "1000", "-r", "3", "--values", "2", "--delta"], &programs).ends_with(0);
    assert_eq!(analysis(&bench)["arms"][0]["wall"]["t0"]["value"], 50.0);
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    workers(&bench, &["-l", "1000", "-r", "3", "--values", "2"], &programs).ends_with(0);
    assert_eq!(analysis(&bench)["arms"][0]["wall"]["t0"]["value"], 120.0);
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    workers(&bench, &["-l", "1000", "-r", "3", "--decide-on", "cpu"], &programs).ends_with(0);
    assert_eq!(analysis(&bench)["arms"][0]["cpu"]["t0"]["value"], 60.0);
}

#[test]
fn inner_loops_divide() {
    let bench = bench_with_worker();
    let arguments = ["bench", "-o", "r.swell", "-r", "2", "-l", "1000", "./worker 50000 0 no"];
    bench.stillwell(&arguments).ends_with(0);
    let analysis = analysis(&bench);
    let t0 = |arm: usize| analysis["arms"][arm]["wall"]["t0"]["value"].as_f64().unwrap();
    assert_eq!((t0(0), t0(1)), (50.0, 5.0));
    let ran = bench.stillwell(&["bench", "--list", "./worker 1 0 no"]).ends_with(0);
    assert_eq!(ran.stdout, "one\ntwo\n");
}

#[test]
fn the_workers_of_a_block_have_one_environment_and_those_of_the_next_another() {
    let bench = bench_with_worker();
    let programs = ["./worker 1000 0 no", "./worker 1001 0 no"];
    workers(&bench, &["-l", "10", "-r", "6", "--values", "1", "-w", "0"], &programs).ends_with(0);
    let log = bench.read("started");
    let started: Vec<Vec<&str>> = log.lines().map(|line| line.split(' ').collect()).collect();
    // One more for each block that is left out as warm-up, as the first ones on a busy machine may be.
    let blocks: BTreeSet<i64> = bench.record().timed().filter_map(|row| row.block).collect();
    assert!((6..=9).contains(&blocks.len()), "{log}");
    // Each program starts once for the list, once for the trial, and once for each block.
    assert_eq!(started.len(), 2 * (2 + blocks.len()), "{log}");
    let measured = &started[4..];
    let mut seen = BTreeSet::new();
    for pair in measured.chunks(2) {
        assert_ne!(pair[0][0], pair[1][0], "{log}");
        assert_eq!(pair[0][1..3], pair[1][1..3], "{log}");
        seen.insert((pair[0][1], pair[0][2]));
    }
    assert_eq!(seen.len(), blocks.len(), "{log}");
}

#[track_caller]
fn check_failure(bad: &str, code: i32, says: &[&str]) {
    let bench = bench_with_worker();
    let programs = ["./worker 1000 0 no", &format!("./worker 1001 0 {bad}")];
    let sound = workers(&bench, &["-l", "10", "-r", "2", "--values", "9", "-w", "0"], &programs);
    sound.ends_with(0);
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    bench.write("armed", "");
    let limit = if bad == "hang" { "4s" } else { "1min" };
    let options = ["-l", "10", "-r", "2", "--values", "9", "-w", "0", "--timeout", limit];
    let ran = workers(&bench, &options, &programs).ends_with(code).says(says);
    assert!(ran.stderr.contains("benchmark \"one\" of \"./worker 1001 "), "{ran:#?}");
    for line in bench.read("started").lines() {
        let pid = line.split(' ').nth(3).unwrap();
        // A killed process ends some time after the call that killed it.
        wait_until(&format!("{pid} has ended"), || !is_running(&bench, pid));
    }
}

#[test]
fn a_worker_that_goes_wrong_is_named_with_what_it_said() {
    check_failure("die", 2, &["signal 11 (SIGSEGV)", "asked to \"run 10\""]);
    check_failure("exit", 2, &["exited with 7", "| so long"]);
    check_failure("rubbish", 2, &["'42 apples'"]);
    check_failure("error", 2, &["ValueError: no luck"]);
}

#[test]
fn a_worker_that_hangs_is_ended_with_its_children() {
    check_failure("hang", 124, &["did not answer within 4s"]);
}

/// The search for the number of loops went on for hours.
#[test]
fn a_worker_whose_clock_stands_still_ends_the_session() {
    let bench = bench_with_worker();
    let ran = workers(&bench, &[], &["./worker 1 0 untimed"]).ends_with(2);
    ran.says(&["asked to \"run 10", "far shorter than it had taken to answer: 'time 0 0'"]);
}

/// Slices of a millisecond took 0 ns by it, and got a thousand times as many loops.
#[test]
fn a_clock_that_ticks_every_10_ms_gets_slices_of_two_ticks() {
    let bench = bench_with_worker();
    let options = ["-r", "2", "--values", "2", "--min-time", "1ms"];
    workers(&bench, &options, &["./worker 10000000 0 coarse"]).ends_with(0);
    assert!(bench.record().rows.iter().all(|row| row.get("loops") == Some(2000)));
}

#[test]
fn a_worker_may_say_what_it_likes_on_its_standard_output() {
    let bench = bench_with_worker();
    bench.write("armed", "");
    let options = ["-l", "10", "-r", "2", "--values", "9", "-w", "0"];
    let ran = workers(&bench, &options, &["./worker 1000 0 flood"]).ends_with(0);
    assert!(ran.stdout.len() < 10_000, "its output is not ours");
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let bench = Bench::new();
    // Its fourth process raises an exception.
    let statement = "if len(open('log').read()) > 3: raise ValueError('enough')";
    bench.write("log", "");
    let options = ["timeit", "-o", "r.swell", "-r", "6", "--values", "1", "-w", "0", "-l", "1"];
    let setup =
        "import os, sys\nif not hasattr(sys, 'seen'): sys.seen = open('log', 'a').write('x')";
    let arguments = [&options[..], &["-s", setup, statement]].concat();
    let ran = bench.stillwell(&arguments).ends_with(2);
    ran.says(&["ValueError: enough", "the finished runs are in"]);
    assert!(bench.n_rows() >= 2, "{}", bench.read("r.swell"));
    assert_eq!(events(&bench, "end")[0]["reason"], "failed");
}

#[test]
fn the_interrupted_session_keeps_its_slices_and_leaves_no_worker() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let bench = bench_with_worker();
        let mut command = bench.command(STILLWELL);
        command.args(["bench", "-o", "r.swell", "-b", "one", "-l", "10", "--budget", "1h"]);
        command.args(["--alpha", "0.01%", "./worker 1000 0 no", "./worker 1000 0 no"]);
        let running = bench.spawn(command);
        wait_until("there are timed slices", || {
            bench
                .read("r.swell")
                .lines()
                .any(|line| line.starts_with('[') && line.split(',').nth(2) != Some("null"))
        });
        running.signal(signal);
        let ran = running.finish();
        let workers = || -> Vec<String> {
            let log = bench.read("started");
            log.lines().filter_map(|line| line.split(' ').nth(3)).map(String::from).collect()
        };
        wait_until("all workers are gone", || workers().iter().all(|pid| !is_running(&bench, pid)));
        if signal == rustix::process::Signal::INT {
            assert_eq!(ran.code, Some(130), "{ran:#?}");
            assert_eq!(events(&bench, "end")[0]["reason"], "interrupted");
        } else {
            assert!(events(&bench, "end").is_empty());
        }
        bench.stillwell(&["show", "r.swell"]).ends_with(0);
    }
}

#[test]
fn memory_can_be_what_is_compared() {
    let bench = Bench::new();
    let options = ["timeit", "-o", "r.swell", "-r", "2", "--values", "2", "-l", "1"];
    let statement = ["bytearray(50_000_000)"];
    bench.stillwell(&[&options[..], &["--tracemalloc"], &statement].concat()).ends_with(0);
    let t0 = analysis(&bench)["arms"][0]["wall"]["t0"]["value"].as_f64().unwrap();
    assert!((50e6..51e6).contains(&t0), "{t0}");
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    let ran = bench.stillwell(&[&options[..], &["--track-memory"], &statement].concat());
    // Neither time nor what takes it.
    let said = ran.ends_with(0).stdout;
    assert!(said.contains(" MiB of memory") && !said.contains("hardware thread"), "{said}");
    let t0 = analysis(&bench)["arms"][0]["wall"]["t0"]["value"].as_f64().unwrap();
    assert!((50e6..200e6).contains(&t0), "{t0}");
    bench.stillwell(&["noise", "r.swell"]).ends_with(2).says(&["r.swell: memory decides"]);
}

#[test]
fn cpu_time_is_named_where_it_decides() {
    let bench = Bench::new();
    let options = ["timeit", "-r", "2", "--values", "2", "-l", "1", "--decide-on", "cpu"];
    let ran = bench.stillwell(&[&options[..], &["import time; time.sleep(0.02)"]].concat());
    let said = ran.ends_with(0).stdout.replace('\n', " ");
    assert!(said.contains(" uses ") && said.contains(" of CPU time"), "{said}");
}

#[test]
fn nothing_of_the_directory_gets_into_the_worker_but_what_the_statement_asks_for() {
    let bench = Bench::new();
    for name in ["time.py", "json.py", "gc.py", "itertools.py", "random.py"] {
        bench.write(name, "raise SystemExit('shadowed')");
    }
    bench.write("mine.py", "value = 7");
    let arguments = [
        "timeit",
        "-r",
        "1",
        "--values",
        "1",
        "-l",
        "1",
        "-s",
        "import mine",
        "assert mine.value == 7",
    ];
    bench.stillwell(&arguments).ends_with(0);
}

#[test]
fn what_cannot_be_timed_says_why() {
    let bench = Bench::new();
    let timeit = |arguments: &[&str]| bench.stillwell(&[&["timeit"], arguments].concat());
    timeit(&["x = (1"]).ends_with(2).says(&["statement 1", "SyntaxError", "line 1"]);
    timeit(&["1/0"]).ends_with(2).says(&["ZeroDivisionError"]);
    timeit(&["--python", "no-such-python", "pass"]).ends_with(2).says(&["no-such-python", "PATH"]);
    let no_python = timeit(&["--python", "/bin/true", "pass"]).ends_with(2);
    no_python.says(&["the interpreter \"/bin/true\" exited with 0", "is Python 3.6 or later"]);
    timeit(&["--affinity", "4000", "pass"]).ends_with(2).says(&["CPU 4000"]);
    timeit(&["--fail-on", "slower", "pass"]).ends_with(2).says(&["something to compare"]);
    timeit(&["-l", "0", "pass"]).ends_with(2).says(&["2^10"]);
    let bench_of = |arguments: &[&str]| bench.stillwell(&[&["bench"], arguments].concat());
    bench_of(&["true"]).ends_with(2).says(&["program 1", "benchmark program", "stillwell run"]);
    bench_of(&["./none"]).ends_with(2).says(&["./none"]);
    bench_of(&["a 'b"]).ends_with(2).says(&["program 1"]);
    bench_of(&["--fork-server", "77"]).ends_with(2).says(&["descriptor 77"]);
}
