//! ^C and SIGTERM: the hooks still run, and finished runs are kept.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use stats::Stream;

use crate::bench::{Bench, STILLWELL, send, wait_until};
use crate::processes::{Session, has_pending_signal, stat};

/// Options of an endless session.
const ENDLESS: [&str; 6] = ["-w", "0", "-r", "100000000", "--style", "none"];

fn send_to_group(group: i32, signal: Signal) {
    let group = Pid::from_raw(group).unwrap();
    // It may have just ended by itself.
    kill_process_group(group, signal).ok();
}

/// Whether no signal is pending, and the process waits again.
fn has_taken_signals(pid: i32) -> bool {
    !has_pending_signal(pid) && stat(pid, 3).as_deref() == Some("S")
}

#[track_caller]
fn interrupted_between_short_runs(signal: Signal) {
    let bench = Bench::new();
    let running = bench.start(&[ENDLESS.as_slice(), &["-N", "true", "/bin/true"]].concat());
    wait_until("some runs have finished", || bench.n_rows() > 40);
    running.signal(signal);
    running.finish().ends_with(130);
    let record = bench.record();
    assert!(record.rows.len() > 40);
    assert_eq!(record.end(), Some("interrupted"));
    bench.stillwell(&["show", "r.swell"]).ends_with(0);
}

#[test]
fn a_signal_ends_the_session_in_order() {
    interrupted_between_short_runs(Signal::INT);
    interrupted_between_short_runs(Signal::TERM);
    interrupted_between_short_runs(Signal::HUP);
}

/// The signal ends the long second run. It has no row, but its conclude hook and the cleanup run.
#[track_caller]
fn interrupted_in_a_run(command: &str) {
    let bench = Bench::new();
    let hooks = ["-C", "echo conclude >> log", "-c", "echo cleanup >> log"];
    let command = format!("test $STILLWELL_ITERATION != 0 || exit 0; {command}");
    let running = bench.start(&[ENDLESS.as_slice(), &hooks, &[command.as_str()]].concat());
    wait_until("the run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::INT);
    let ran = running.finish().ends_with(130);
    assert_eq!(bench.read("log"), "conclude\nrun\nconclude\ncleanup\n", "{ran:?}");
    let record = bench.record();
    assert_eq!(record.rows.iter().filter(|row| row.arm == 0).count(), 1);
    assert_eq!(record.end(), Some("interrupted"));
}

/// The first signal lets the cleanup finish.
#[test]
fn cleanup_is_not_cut_short_by_one_request() {
    let bench = Bench::new();
    let cleanup = "echo begun >> log; while ! test -e go; do :; done; echo finished >> log";
    let running = bench.start(&["-r", "3", "-c", cleanup, "true"]);
    wait_until("the cleanup is under way", || bench.read("log").contains("begun"));
    running.signal(Signal::TERM);
    bench.write("go", "");
    running.finish().ends_with(130);
    assert_eq!(bench.read("log"), "begun\nfinished\n");
    assert_eq!(bench.record().end(), Some("interrupted"));
}

#[test]
fn a_cleanup_that_is_cut_short_is_told() {
    let bench = Bench::new();
    let cleanup = "echo begun >> log; sleep 1000; echo finished >> log";
    let running = bench.start(&["-r", "3", "-c", cleanup, "true"]);
    wait_until("the cleanup is under way", || bench.read("log").contains("begun"));
    running.signal(Signal::TERM);
    // The kernel joins equal signals that wait, so the first has to be taken before the second.
    wait_until("the first signal is taken", || has_taken_signals(running.pid()));
    running.signal(Signal::TERM);
    let ran = running.finish().ends_with(130);
    ran.says(&["the cleanup hook", "was interrupted, and may not have finished"]);
    assert_eq!(bench.read("log"), "begun\n");
}

#[test]
fn a_run_that_is_under_way_is_ended() {
    interrupted_in_a_run("echo run >> log; exec sleep 1000");
}

#[test]
fn its_children_are_ended_too() {
    interrupted_in_a_run("echo run >> log; sleep 1000; true");
}

/// Programs that catch SIGTERM get SIGKILL after two seconds.
#[test]
fn a_run_that_ignores_the_request_is_killed() {
    interrupted_in_a_run("trap '' TERM; echo run >> log; while :; do sleep 0.01; done");
}

#[test]
fn setup_and_prepare_can_be_interrupted() {
    for hook in ["-s", "-p"] {
        let bench = Bench::new();
        let hooks = [hook, "echo hook >> log; exec sleep 1000", "-c", "echo cleanup >> log"];
        let running = bench.start(&[ENDLESS.as_slice(), &hooks, &["true"]].concat());
        wait_until("the hook is under way", || bench.read("log").contains("hook"));
        running.signal(Signal::INT);
        running.finish().ends_with(130);
        assert_eq!(bench.read("log"), "hook\ncleanup\n", "{hook}");
        assert!(!bench.path("r.swell").exists(), "{hook}: a record without a run is of no use");
    }
}

/// The run succeeds after the signal, so it is a finished run like any other.
#[test]
fn a_run_that_ends_well_is_kept() {
    let bench = Bench::new();
    let command = "trap 'exit 0' TERM; echo run >> log; while :; do sleep 0.01; done";
    let running = bench.start(&[ENDLESS.as_slice(), &["-S", "sh", command]].concat());
    wait_until("the run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::INT);
    running.finish().ends_with(130);
    let record = bench.record();
    assert_eq!(record.rows.iter().filter(|row| row.arm == 0).count(), 1);
}

/// nohup starts the program with SIGHUP ignored, so the program must continue.
#[test]
fn nohup_is_respected() {
    let bench = Bench::new();
    let wait = "echo run >> log; while ! test -e go; do sleep 0.01; done";
    let mut command = bench.command("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", STILLWELL, "run", "-o", "r.swell"]);
    command.args(["-w", "0", "-r", "1", wait]).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("the run is under way", || bench.read("log").contains("run"));
    send(child.id().try_into().unwrap(), Signal::HUP);
    // The kernel delivers the signal before the program can see the file.
    bench.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(bench.record().end(), Some("complete"));
}

/// The launcher gets SIGTERM when it has no run. The request is void, and so is the timer that would repeat it: the next
/// run has no timeout that could end it.
#[test]
fn a_request_between_two_runs_is_no_timeout_of_the_next() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let first = "echo run >> log; while ! test -e go; do sleep 0.01; done";
    bench.script("run", &format!("#!/bin/sh\nif test -e go; then exec sleep 0.5; fi; {first}\n"));
    let environment = session.environment();
    // Without a shell each batch is one run.
    let running = bench.start(&["-w", "0", "-r", "2", "--env", &environment, "-N", "./run"]);
    session.find_launcher(running.pid());
    wait_until("the first run is under way", || bench.read("log").contains("run"));
    // A front end that has stopped sends no second run.
    running.signal(Signal::STOP);
    bench.write("go", "");
    wait_until("the first run has its row", || bench.n_rows() == 1);
    send(session.launcher().pid, Signal::TERM);
    running.signal(Signal::CONT);
    running.finish().ends_with(0);
    let record = bench.record();
    assert_eq!(record.end(), Some("complete"));
    assert!(record.rows.iter().all(|row| !row.timed_out && row.exit == 0));
}

/// Sends a signal at a random moment around the start of the launcher, to the front end or to its process group as the
/// terminal does. It ends the session: no run is taken for a timeout, no hook is cut short, no process is left.
#[test]
fn a_signal_at_the_start_of_the_launcher_is_not_lost() {
    let mut stream = Stream::new(18);
    for attempt in 0..24 {
        let bench = Bench::new();
        let mut session = Session::new(&bench);
        let environment = session.environment();
        let hooks = ["-s", "echo setup >> log", "-C", "echo conclude >> log"];
        let cleanup = ["-c", "echo cleanup >> log", "--env", &environment, "-N", "sleep 0.001"];
        let mut command = bench.run_command(&[ENDLESS.as_slice(), &hooks, &cleanup].concat());
        command.process_group(0);
        let running = bench.spawn(command);
        session.find_launcher(running.pid());
        for spin in 0..stream.below(4_000_000) {
            std::hint::black_box(spin);
        }
        let signal = [Signal::INT, Signal::TERM, Signal::HUP][attempt % 3];
        match attempt % 2 {
            0 => running.signal(signal),
            _ => send_to_group(running.pid(), signal),
        }
        let ran = running.finish();
        assert_eq!(ran.code, Some(130), "attempt {attempt}, {signal:?}: {ran:#?}");
        let log = bench.read("log");
        assert!(log.ends_with("cleanup\n"), "{log}: {ran:#?}");
        assert_eq!(log.matches("cleanup").count(), 1, "{log}: {ran:#?}");
        if bench.path("r.swell").exists() {
            let record = bench.record();
            assert_eq!(record.end(), Some("interrupted"));
            assert!(record.rows.iter().all(|row| !row.timed_out && row.exit == 0));
        }
        session.is_gone();
    }
}
