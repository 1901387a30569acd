//! `kill -9` of the front end and of the launcher, which no process can catch. No finished run is lost, and no process of
//! the session survives.

use rustix::process::Signal;
use stats::Stream;

use crate::bench::{Bench, Running, send, wait_until};
use crate::processes::Session;

fn start(bench: &Bench, commands: &[&str]) -> (Running, Session) {
    let mut session = Session::new(bench);
    let endless = ["-w", "0", "-r", "100000000", "--env", &session.environment()];
    let running = bench.start(&[endless.as_slice(), commands].concat());
    session.find_launcher(running.pid());
    (running, session)
}

#[test]
fn killing_the_front_end_at_any_moment_loses_nothing() {
    let mut stream = Stream::new(20);
    for _ in 0..20 {
        let bench = Bench::new();
        let n_rows_min = usize::try_from(stream.below(400)).unwrap();
        let spins = stream.below(200_000);
        let (running, session) = start(&bench, &["-N", "true", "/bin/true", "sleep 0.001"]);
        wait_until("some runs have finished", || bench.n_rows() > n_rows_min);
        // The kill comes within a run, not just after a row.
        for spin in 0..spins {
            std::hint::black_box(spin);
        }
        running.signal(Signal::KILL);
        assert_eq!(running.finish().code, None);
        session.is_gone();
        // The reader asserts that every row is complete and no step is missing.
        let record = bench.record();
        assert!(record.rows.len() > n_rows_min);
        assert_eq!(record.end(), None);
        let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0);
        assert!(shown.stdout.contains("killed, or still running"), "{}", shown.stdout);
    }
}

#[track_caller]
fn killed_in_a_long_run(command: &str) {
    let bench = Bench::new();
    let (running, session) = start(&bench, &[command]);
    wait_until("the run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    session.is_gone();
}

#[test]
fn a_long_run_ends_with_the_front_end() {
    killed_in_a_long_run("echo run >> log; exec sleep 1000");
}

#[test]
fn the_children_of_a_long_run_end_with_the_front_end() {
    killed_in_a_long_run("echo run >> log; sleep 1000; true");
}

/// The front end is gone and cannot repeat the request, so the launcher must end the run.
#[test]
fn a_long_run_that_ignores_sigterm_ends_with_the_front_end() {
    killed_in_a_long_run("trap '' TERM; echo run >> log; while :; do sleep 0.01; done");
}

#[test]
fn killing_the_launcher_is_explained() {
    let bench = Bench::new();
    let cleanup = ["-c", "echo cleanup >> log"];
    let commands = [cleanup.as_slice(), &["-N", "true", "/bin/true"]].concat();
    let (running, session) = start(&bench, &commands);
    wait_until("some runs have finished", || bench.n_rows() > 20);
    send(session.launcher().pid, Signal::KILL);
    let ran = running.finish().ends_with(2);
    ran.says(&["the launcher ended unexpectedly", "SIGKILL", "r.swell"]);
    session.is_gone();
    assert_eq!(bench.read("log"), "cleanup\n");
    assert!(bench.record().rows.len() > 20);
    bench.stillwell(&["show", "r.swell"]).ends_with(0);
}

/// A command that signals its parent reaches the launcher. The cleanup runs, and the message names the signal.
#[track_caller]
fn killed_by_its_command(signal: &str, code: i32, says: &[&str]) {
    let bench = Bench::new();
    let cleanup = ["-w", "0", "-r", "3", "-c", "echo cleanup >> log"];
    let command = format!("sh -c 'kill -{signal} $PPID; exec sleep 1000'");
    let running = bench.start(&[cleanup.as_slice(), &["-N", &command]].concat());
    running.finish().ends_with(code).says(says);
    assert_eq!(bench.read("log"), "cleanup\n");
}

#[test]
fn a_command_that_kills_the_launcher_is_explained() {
    let unexpected = "the launcher ended unexpectedly";
    killed_by_its_command("KILL", 2, &[unexpected, "SIGKILL", "a command or another program"]);
    killed_by_its_command("QUIT", 2, &[unexpected, "SIGQUIT", "a command or another program"]);
    killed_by_its_command("TERM", 130, &["a command or another program sent SIGTERM"]);
}

/// The conclude hook of the open step runs once, before the cleanup. A hook that has begun is not started again.
#[track_caller]
fn concluded(hooks: &[&str], command: &str, log: &str) {
    let bench = Bench::new();
    let all = ["-w", "0", "-r", "3", "-c", "echo cleanup >> log"];
    let running = bench.start(&[&all, hooks, &["-N", command]].concat());
    running.finish().ends_with(2).says(&["the launcher ended unexpectedly", "SIGKILL"]);
    assert_eq!(bench.read("log").replace('\n', " "), log);
}

#[test]
fn the_conclude_hook_runs_also_without_the_launcher() {
    let conclude = ["-C", "echo conclude $STILLWELL_ITERATION >> log"];
    let kill = "sh -c 'kill -KILL $PPID; exec sleep 1000'";
    concluded(&conclude, kill, "conclude 0 cleanup ");
    let second = "sh -c 'test $STILLWELL_ITERATION = 0 || { kill -KILL $PPID; exec sleep 1000; }'";
    concluded(&conclude, second, "conclude 0 conclude 1 cleanup ");
    let prepare = [&["-p", "echo prepare >> log; kill -KILL $PPID"], &conclude[..]].concat();
    concluded(&prepare, "true", "prepare conclude 0 cleanup ");
    let itself = ["-C", "echo conclude >> log; kill -KILL $PPID; exec sleep 1000"];
    concluded(&itself, "true", "conclude cleanup ");
    // Without a conclude hook there is nothing to do.
    concluded(&["-p", "echo prepare >> log"], kill, "prepare cleanup ");
}

#[test]
fn a_run_ends_with_the_launcher() {
    let bench = Bench::new();
    let (running, session) = start(&bench, &["sleep 1000; true"]);
    // The launcher, the shell and its child.
    wait_until("the run is under way", || session.processes().len() > 2);
    send(session.launcher().pid, Signal::KILL);
    running.finish().ends_with(2).says(&["the launcher ended unexpectedly"]);
    session.is_gone();
}

/// With this seed the empty shell, which is subtracted, runs first.
#[test]
fn a_run_of_the_empty_shell_is_no_finished_run() {
    let bench = Bench::new();
    let (running, session) = start(&bench, &["--seed", "3", "echo run >> log; sleep 1000; true"]);
    wait_until("the run is under way", || bench.read("log").contains("run"));
    assert_eq!(bench.n_rows(), 1);
    send(session.launcher().pid, Signal::KILL);
    let ran = running.finish().ends_with(2).says(&["the launcher ended unexpectedly"]);
    assert!(!ran.stderr.contains("had finished"), "{ran:#?}");
    assert!(!bench.path("r.swell").exists());
}
