//! `load`: the requested number of processes is always ready to run. None is left after any kind of end.

use rustix::process::Signal;

use crate::bench::{Bench, Running, wait_until};

/// The processes of a load.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Fields of `/proc/PID/stat` from the state on; empty after the end of the process.
fn stat(pid: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let (_, rest) = text.rsplit_once(") ").unwrap_or_default();
    rest.split_whitespace().map(str::to_owned).collect()
}

fn is_alive(pid: i32) -> bool {
    stat(pid).first().is_some_and(|state| !matches!(state.as_str(), "Z" | "X"))
}

/// Starts a load and waits until it is busy.
fn busy(bench: &Bench, arguments: &[&str]) -> Running {
    let mut command = bench.command(crate::bench::STILLWELL);
    command.arg("load").args(arguments);
    let running = bench.spawn(command);
    wait_until("it is busy", || bench.read("stderr").starts_with("busy"));
    running
}

#[test]
fn as_many_are_ready_to_run_as_were_asked_for() {
    let bench = Bench::new();
    let running = busy(&bench, &["5"]);
    let workers = children(running.pid());
    assert_eq!(workers.len(), 5);
    wait_until("all are ready at once", || workers.iter().all(|&pid| stat(pid)[0] == "R"));
    running.signal(Signal::INT);
    running.finish().ends_with(0);
    wait_until("none is left", || !workers.iter().any(|&pid| is_alive(pid)));
}

#[test]
fn every_kind_takes_cpu_time() {
    let bench = Bench::new();
    let running = busy(&bench, &["3", "--kind", "cpu,mem,fork"]);
    let workers = children(running.pid());
    assert_eq!(workers.len(), 3);
    // utime, stime, cutime and cstime are fields 14 to 17; the state is field 3.
    let ticks = |pid| stat(pid)[11..15].iter().map(|n| n.parse::<u64>().unwrap()).sum::<u64>();
    for &pid in &workers {
        wait_until("it takes CPU time", || ticks(pid) > 0);
    }
    running.signal(Signal::TERM);
    running.finish().ends_with(0);
}

#[test]
fn kill_9_leaves_nothing() {
    let bench = Bench::new();
    let running = busy(&bench, &["3", "--kind", "cpu,fork,mem"]);
    let workers = children(running.pid());
    running.signal(Signal::KILL);
    running.finish();
    wait_until("none is left", || !workers.iter().any(|&pid| is_alive(pid)));
}

#[test]
fn one_that_is_killed_is_replaced() {
    let bench = Bench::new();
    let running = busy(&bench, &["2"]);
    let workers = children(running.pid());
    crate::bench::send(workers[0], Signal::KILL);
    wait_until("there is another one", || {
        let now: Vec<i32> =
            children(running.pid()).into_iter().filter(|&pid| is_alive(pid)).collect();
        now.len() == 2 && !now.contains(&workers[0])
    });
}

#[test]
fn a_command_has_its_status_and_its_load() {
    let bench = Bench::new();
    // The workers are siblings of the shell.
    let count = "wc -w < /proc/$PPID/task/$PPID/children > n; exit 7";
    bench.stillwell(&["load", "3", "--", "sh", "-c", count]).ends_with(7);
    assert_eq!(bench.read("n").trim(), "4");
    bench.stillwell(&["load", "1", "--", "sh", "-c", "kill -TERM $$"]).ends_with(143);
    bench
        .stillwell(&["load", "1", "--", "no-such-program"])
        .ends_with(2)
        .says(&["no-such-program", "PATH"]);
}

#[test]
fn sigterm_is_for_the_command() {
    let bench = Bench::new();
    let script = "trap 'exit 9' TERM; echo > started; while :; do sleep 0.01; done";
    let mut command = bench.command(crate::bench::STILLWELL);
    command.args(["load", "1", "--", "sh", "-c", script]);
    let running = bench.spawn(command);
    wait_until("it runs", || !bench.read("started").is_empty());
    running.signal(Signal::TERM);
    running.finish().ends_with(9);
}

/// `nohup` and a script's background jobs count on it.
#[test]
fn what_the_caller_ignores_the_command_ignores() {
    let bench = Bench::new();
    let load = format!("exec {} load 1 -- grep SigIgn /proc/self/status", crate::bench::STILLWELL);
    let ignored = |script: &str| {
        let output = bench.command("sh").args(["-c", script]).output().unwrap();
        let line = crate::bench::Ran::from(output).ends_with(0).stdout;
        u64::from_str_radix(line.rsplit('\t').next().unwrap().trim(), 16).unwrap()
    };
    let mask = |signal: Signal| 1 << (signal.as_raw() - 1);
    let signals = mask(Signal::HUP) | mask(Signal::INT) | mask(Signal::QUIT);
    assert_eq!(ignored(&load) & signals, 0);
    assert_eq!(ignored(&format!("trap '' HUP INT QUIT; {load}")) & signals, signals);
}

#[test]
fn a_killed_load_takes_its_command_along() {
    let bench = Bench::new();
    let mut command = bench.command(crate::bench::STILLWELL);
    command.args(["load", "1", "--", "sh", "-c", "echo $$ > pid; exec sleep 1000"]);
    let running = bench.spawn(command);
    wait_until("it runs", || bench.read("pid").ends_with('\n'));
    let pid = bench.read("pid").trim().parse().unwrap();
    running.signal(Signal::KILL);
    running.finish();
    wait_until("it is gone", || !is_alive(pid));
}

#[test]
fn only_the_cpus_that_were_asked_for() {
    let bench = Bench::new();
    let running = busy(&bench, &["2", "--cpus", "0"]);
    for pid in children(running.pid()) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
    drop(running);
    bench
        .stillwell(&["load", "1", "--cpus", "4000", "--for", "1s"])
        .ends_with(2)
        .says(&["CPU 4000 is not one of those that are online"]);
}

#[test]
fn the_time_is_up() {
    let bench = Bench::new();
    bench.stillwell(&["load", "1", "--for", "10ms"]).ends_with(0).says(&["busy: 1 x cpu\n"]);
    bench.stillwell(&["load", "1", "--kind", "cpu,mem"]).ends_with(2).says(&["say `load 2`"]);
}
