//! Processes that runs leave behind: counted, told, and ended with the session. Processes of hooks stay.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, wait_until};
use crate::processes::{Process, Session};

/// The findings of this kind in a document.
fn findings(ran: &Ran, kind: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let notes = document["analysis"]["notes"].as_array().unwrap().clone();
    notes.into_iter().filter(|note| note["finding"] == kind).collect()
}

fn run(bench: &Bench, session: &Session, words: &[&str]) -> Ran {
    let environment = session.environment();
    bench.run(&[&["-w", "0", "--json", "--env", &environment], words].concat())
}

#[test]
fn what_each_run_leaves_is_counted_and_ended_with_the_session() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    // One is in the group of its run, and one in a session of its own.
    let command = "sleep 1000 & setsid sleep 1000 & exit 0";
    let ran = run(&bench, &session, &["-r", "4", command]).ends_with(0);
    let found = findings(&ran, "left_behind");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((&found[0]["n"], &found[0]["n_runs"]), (&8.into(), &4.into()), "{found:#?}");
    session.is_gone();
    let launcher = bench.record().events.into_iter().find(|it| it["event"] == "launcher").unwrap();
    assert_eq!(launcher["survivors"][0]["n_left"], 8, "{launcher:#}");
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout.replace('\n', " ");
    assert!(shown.contains("left 8 processes behind") && shown.contains("--conclude"), "{shown}");
}

#[test]
fn what_is_left_behind_is_counted_with_its_descendants() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    // The run waits until the daemon has both children.
    let daemon = "setsid sh -c 'sleep 1000 & sleep 1000 & echo > go; wait' &";
    let command = format!("mkfifo go; {daemon} read line < go; rm go");
    let ran = run(&bench, &session, &["-r", "3", &command]).ends_with(0);
    let found = findings(&ran, "left_behind");
    assert_eq!((&found[0]["n"], &found[0]["name"]), (&9.into(), &"sh".into()), "{found:#?}");
    session.is_gone();
}

/// The events of the launcher's descendants count together, so the kernel adds its work to the next runs.
#[test]
fn the_work_of_what_is_left_behind_is_in_no_later_run() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let orders = ["--order", "listed", "-r", "3"];
    let busy = "while :; do :; done & exit 0";
    run(&bench, &session, &[&orders[..], &[busy, "sleep 0.05"]].concat()).ends_with(0);
    for row in bench.record().rows.iter().filter(|row| row.arm == 1) {
        let own_us = row.get("user_us").unwrap() + row.get("sys_us").unwrap();
        let counted_us = row.get("task_clock_ns").unwrap_or(0) / 1000;
        assert!(counted_us < own_us + 5_000, "{row:?}");
    }
    session.is_gone();
}

/// The daemon works while Stillwell waits for its end, and its child works beside the runs of the other command.
#[test]
fn the_work_between_the_runs_and_of_children_is_in_no_later_run() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let command = format!("setsid sh -c '{busy}; (while :; do :; done); :' & exit 0");
    let orders = ["--order", "listed", "-r", "3"];
    run(&bench, &session, &[&orders[..], &[&command, "true"]].concat()).ends_with(0);
    for row in bench.record().rows.iter().filter(|row| row.arm == 1) {
        assert_eq!(row.get("task_clock_ns"), None, "{row:?}");
    }
    session.is_gone();
}

#[test]
fn what_the_conclude_hook_ends_is_not_left_behind() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let command = "sleep 1000 & echo $! > pid";
    let hooks = ["-C", "kill $(cat pid)", "-C", "true", "--fail-on", "slower:900"];
    let ran = run(&bench, &session, &[&hooks[..], &["-r", "3", command, "true"]].concat());
    assert_ne!(ran.code, Some(2), "{ran:#?}");
    assert!(findings(&ran, "left_behind").is_empty(), "{ran:#?}");
    session.is_gone();
}

/// The daemons of a hook serve the runs, and are the hook's to end.
#[test]
fn the_processes_of_hooks_stay() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let setup = "sleep 1000 & setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' &";
    let hooks = ["-s", setup, "-p", "sleep 1000 &"];
    let ran = run(&bench, &session, &[&hooks[..], &["-r", "3", "true"]].concat()).ends_with(0);
    assert!(findings(&ran, "left_behind").is_empty(), "{ran:#?}");
    // A shell of the hook may start its own after the session has ended.
    wait_until("all daemons are there", || session.processes().len() >= 4 + 3);
    let left = session.processes();
    assert!(left.iter().all(Process::is_alive), "{left:?}");
}

#[test]
fn under_fail_on_a_run_that_leaves_processes_behind_fails_unless_that_is_allowed() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let words = ["-r", "8", "sleep 0.01", "sleep 0.01; sleep 1000 & exit 0"];
    let gate = |fail_on: &str| {
        std::fs::remove_file(bench.path("r.swell")).ok();
        run(&bench, &session, &[&["--fail-on", fail_on], &words[..]].concat())
    };
    let failed = gate("slower:900").ends_with(2);
    failed.says(&[
        "command 2",
        "left 1 process behind (\"sleep\")",
        "--conclude",
        "allow-processes",
    ]);
    assert_eq!(bench.record().end(), Some("failed"));
    session.is_gone();
    let allowed = gate("slower:900,allow-processes");
    assert_ne!(allowed.code, Some(2), "{allowed:#?}");
    assert_eq!(findings(&allowed, "left_behind").len(), 1);
    session.is_gone();
}

/// A run whose second process has a session of its own, which no signal to the run's group reaches.
const ESCAPES: &str = "setsid sleep 1000 & echo run >> log; exec sleep 1000";

#[test]
fn what_escapes_from_a_run_ends_with_it_on_a_timeout() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let command = format!("test $STILLWELL_ITERATION != 0 || exit 0; {ESCAPES}");
    let ran = run(&bench, &session, &["-r", "3", "--timeout", "0.3s", &command]).ends_with(124);
    let found = findings(&ran, "outlived");
    assert_eq!((found.len(), &found[0]["n"]), (1, &1.into()), "{ran:#?}");
    session.is_gone();
}

#[test]
fn what_escapes_from_a_run_ends_with_it_on_an_interrupt() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let command = format!("test $STILLWELL_ITERATION != 0 || exit 0; {ESCAPES}");
    let running = bench.start(&["-w", "0", "-r", "3", "--env", &session.environment(), &command]);
    session.find_launcher(running.pid());
    wait_until("the run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::INT);
    running.finish().ends_with(130);
    session.is_gone();
}

#[test]
fn what_runs_left_behind_ends_when_the_front_end_is_killed() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let command = format!("sleep 1000 & test $STILLWELL_ITERATION != 0 || exit 0; {ESCAPES}");
    let running = bench.start(&["-w", "0", "-r", "3", "--env", &session.environment(), &command]);
    session.find_launcher(running.pid());
    wait_until("the second run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    session.is_gone();
    wait_until("the launcher has said so", || {
        bench.read("stderr").contains("that its runs had left behind (sleep)")
    });
}
