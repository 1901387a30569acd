//! Processes that a run leaves behind. In a session of a campaign the launcher adopts them (prctl(2),
//! `PR_SET_CHILD_SUBREAPER`), whatever group or session they moved to; it counts and ends them.

use std::collections::BTreeMap;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper, waitid,
};

use crate::host::{Host, Process};
use crate::measure::proc_counts::CpuTimes;
use crate::measure::supervised::wait_for;
use crate::measure::wire::RowId;
use crate::record::Survivors;
use crate::sys;

/// Time that a process has to end by itself after its run, ns. Helpers of honest programs notice the end of their
/// parent by a closed pipe (Python's `resource_tracker`).
const GRACE_NS: u64 = 100_000_000;
/// Time between two looks, ns.
const LOOK_NS: u64 = 1_000_000;
/// Rounds of killing. A process that forks all the time may outrun some.
const ROUNDS_MAX: u32 = 1000;

/// Adopts what the children of this process leave behind.
#[derive(Debug)]
pub struct SurvivorWatch {
    /// Children that were there before the run: those of hooks.
    known: Vec<u32>,
}

impl SurvivorWatch {
    /// Makes this process adopt orphans from now on; `None` where the kernel refuses (Linux before 3.4).
    pub fn begin() -> Option<Self> {
        set_child_subreaper(Some(getpid())).ok()?;
        Some(Self { known: Vec::new() })
    }

    /// Takes note of what is there before a run.
    pub fn before_run(&mut self) {
        self.known = children().into_keys().collect();
    }

    /// Ends what a run left behind. `run` is the number of its process, which has been reaped.
    pub fn end_survivors(&self, id: RowId, run: i32) -> Option<Survivors> {
        let mut before_us = BTreeMap::new();
        let mut first = None;
        let mut n_detached = 0;
        for (pid, process) in self.found() {
            if process.has_ended {
                sys::reap(pid.cast_signed()).ok();
                continue;
            }
            before_us.insert(pid, cpu_us(pid));
            n_detached += u32::from(process.group != run.cast_unsigned());
            first.get_or_insert(process.name);
        }
        let (step, arm, name) = (id.step, id.arm, first?);
        let mut survivors = Survivors { step, arm, name, n_ended: 0, n_detached, late_cpu_us: 0 };
        let mut reap = |pid: u32| {
            let Ok((_, usage)) = sys::reap(pid.cast_signed()) else { return };
            let used_us = usage.user_us + usage.sys_us;
            let before_us = before_us.get(&pid).copied().unwrap_or(0);
            survivors.late_cpu_us += used_us.saturating_sub(before_us);
        };
        for _ in 0..GRACE_NS / LOOK_NS {
            let left = self.found();
            left.iter().filter(|(_, process)| process.has_ended).for_each(|(&pid, _)| reap(pid));
            if left.is_empty() {
                return Some(survivors);
            }
            wait_for(&mut [], LOOK_NS).ok();
        }
        let mut n_ended = 0;
        for _ in 0..ROUNDS_MAX {
            let left = self.found();
            if left.is_empty() {
                break;
            }
            for (&pid, process) in &left {
                n_ended += u32::from(!process.has_ended);
                Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, Signal::KILL).ok());
                reap(pid);
            }
        }
        Some(Survivors { n_ended, ..survivors })
    }

    fn found(&self) -> BTreeMap<u32, Process> {
        let mut found = children();
        found.retain(|pid, _| !self.known.contains(pid));
        found
    }
}

/// The children of this process, also those that have ended.
fn children() -> BTreeMap<u32, Process> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::All, look).is_err() {
        return BTreeMap::new();
    }
    let host = Host::new("/");
    let numbers = host.list("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let all = numbers.filter_map(|pid| Some((pid, Process::read(&host, pid)?)));
    all.filter(|(_, process)| process.parent == std::process::id()).collect()
}

/// CPU time of the threads of a process that are still there, µs.
fn cpu_us(pid: u32) -> u64 {
    let host = Host::new("/");
    let threads = host.list(format!("proc/{pid}/task")).into_iter();
    let text = |thread| host.read(format!("proc/{pid}/task/{thread}/schedstat"));
    let times = threads.filter_map(|thread| CpuTimes::parse(text(thread)?.as_bytes()));
    times.map(|times| times.ran_ns).sum::<u64>() / 1000
}
