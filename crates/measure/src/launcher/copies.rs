//! Processes that are one run, copies of a command or both processes of a count: all start before any is waited for, in the process group of the first.

use crate::child_run::wait_for_exit;
use crate::prepared::PreparedCommand;
use host::sys::{self, Attributes, CStrings, ChildStdio, Envp, LaunchError, Launcher, Usage};

/// Starts the processes beside the first one of a run, one with each of the attributes, in the group of the first one,
/// which is process `first`. If one cannot be started, all are ended.
pub(super) fn start(
    launcher: &mut Launcher,
    prepared: &PreparedCommand<'_>,
    argv: &CStrings,
    attributes: &mut [Attributes],
    envp: Envp<'_>,
    stdio: [ChildStdio<'_>; 3],
    first: i32,
) -> Result<Vec<i32>, LaunchError> {
    let mut started = Vec::with_capacity(attributes.len());
    launcher.probes_core = false;
    for own in attributes {
        own.directory.clone_from(&prepared.directory);
        let group = std::mem::replace(&mut own.group, first);
        let launched = launcher.launch(&prepared.path, argv, envp, stdio, own, &[]);
        own.group = group;
        match launched {
            Ok(launched) => started.push(launched.pid),
            Err(error) => {
                sys::signal_group(first, libc::SIGKILL);
                end(first, &started);
                return Err(error);
            }
        }
    }
    Ok(started)
}

/// Waits until all have ended, and reaps none: the group of the first one has to stay.
pub(super) fn wait(pids: &[i32]) {
    for &pid in pids {
        wait_for_exit(pid);
    }
}

/// Reaps processes that have ended, the first one last. Returns the first exit that is no success, and what all used.
pub(super) fn end(first: i32, others: &[i32]) -> (i32, Usage) {
    let ended: Vec<(i32, Usage)> = others.iter().map(|&pid| reaped(pid)).collect();
    let (mut exit, mut usage) = reaped(first);
    for (own, other) in &ended {
        exit = if exit == 0 { *own } else { exit };
        add(&mut usage, other);
    }
    (exit, usage)
}

fn reaped(pid: i32) -> (i32, Usage) {
    sys::reap(pid).expect("only this function reaps the child")
}

/// Adds the usage of another process. Of memory, the larger one counts.
fn add(usage: &mut Usage, other: &Usage) {
    usage.user_us += other.user_us;
    usage.sys_us += other.sys_us;
    usage.maxrss_kib = usage.maxrss_kib.max(other.maxrss_kib);
    usage.minor_faults += other.minor_faults;
    usage.major_faults += other.major_faults;
    usage.voluntary_switches += other.voluntary_switches;
    usage.involuntary_switches += other.involuntary_switches;
}
