//! A worker does not outlive the process that started it, however that process ends.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::*;

/// Set in the process that is to be killed.
const VARIABLE: &str = "STILLWELL_TEST_ORPHANS";

/// The other test executes this one again, and kills it in the middle of a request.
#[test]
fn starts_a_worker_and_waits() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let mut worker = shell("say stillwell 1; ask; echo >&2; while :; do :; done");
    worker.hello().unwrap();
    // Not by print!, which the test harness captures.
    writeln!(std::io::stdout(), "{WORKER_ARGUMENT}{}", worker.pid()).unwrap();
    worker.run_loops(1, false).unwrap_err();
}

#[test]
fn a_worker_in_a_long_loop_dies_with_its_parent() {
    let name = "worker::tests::orphans::starts_a_worker_and_waits";
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let pid = lines.find_map(|line| {
        let line = line.unwrap();
        Some(line.split_once(WORKER_ARGUMENT)?.1.parse().unwrap())
    });
    let worker = pidfd_open(Pid::from_raw(pid.unwrap()).unwrap(), PidfdFlags::empty());
    parent.kill().unwrap();
    parent.wait().unwrap();
    if let Ok(worker) = worker {
        poll(&mut [PollFd::new(&worker, PollFlags::IN)], None).unwrap();
    }
}
