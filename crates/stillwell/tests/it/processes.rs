//! Processes of this machine, from /proc.

use std::path::PathBuf;

use crate::bench::{Bench, wait_until};

/// Name of the variable that marks the processes of one test. The launcher has an empty environment; its children have
/// the environment of the front end.
const MARK: &str = "STILLWELL_TEST_MARK";

fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn file(pid: i32, name: &str) -> String {
    let path = PathBuf::from(format!("/proc/{pid}/{name}"));
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// A field of `/proc/PID/stat`, numbered as in proc(5); `None` when the process is gone.
pub fn stat(pid: i32, field: usize) -> Option<String> {
    let stat = file(pid, "stat");
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_ascii_whitespace().nth(field - 3).map(String::from)
}

/// A process, distinct from a later one with the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    started: String,
}

impl Process {
    /// The process that has this pid now.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, started: stat(pid, 22)? })
    }

    /// Whether it still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self) && stat(self.pid, 3).is_some_and(|s| s != "Z")
    }
}

/// Whether a signal to this process waits for one of its threads.
pub fn has_pending_signal(pid: i32) -> bool {
    let status = file(pid, "status");
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.is_some_and(|mask| mask.trim().contains(|digit| digit != '0'))
}

/// Waits for the launcher of a front end.
fn launcher_of(front_end: i32) -> Process {
    let parent = front_end.to_string();
    let mut found = None;
    wait_until("the launcher is there", || {
        let is_launcher = |&pid: &i32| {
            stat(pid, 4).as_ref() == Some(&parent)
                && file(pid, "cmdline").starts_with("stillwell-launcher")
        };
        found = pids().into_iter().find(is_launcher).and_then(Process::of);
        found.is_some()
    });
    found.unwrap()
}

/// Processes of the commands of the session with this mark, and its front end.
fn marked(mark: &str) -> Vec<Process> {
    let entry = format!("{MARK}={mark}\0");
    let marked = pids().into_iter().filter(|&pid| file(pid, "environ").contains(&entry));
    marked.filter_map(Process::of).filter(Process::is_alive).collect()
}

/// The processes of a session. They end with the test even if the program forgot them.
pub struct Session {
    mark: String,
    launcher: Option<Process>,
}

impl Session {
    /// A session whose commands get `environment()` with --env.
    pub fn new(bench: &Bench) -> Self {
        // No other test has this directory.
        Self { mark: bench.path("").display().to_string(), launcher: None }
    }

    pub fn environment(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Adds the launcher to the session.
    pub fn find_launcher(&mut self, front_end: i32) {
        self.launcher = Some(launcher_of(front_end));
    }

    pub fn launcher(&self) -> &Process {
        self.launcher.as_ref().unwrap()
    }

    /// The processes that exist now.
    pub fn processes(&self) -> Vec<Process> {
        let launcher = self.launcher.clone().filter(Process::is_alive);
        marked(&self.mark).into_iter().chain(launcher).collect()
    }

    /// Asserts that no process of the session is left.
    #[track_caller]
    pub fn is_gone(&self) {
        wait_until("no process is left", || self.processes().is_empty());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for process in self.processes() {
            crate::bench::send(process.pid, rustix::process::Signal::KILL);
        }
    }
}
