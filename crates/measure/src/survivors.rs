//! Processes that a run leaves behind. The launcher adopts them (prctl(2), `PR_SET_CHILD_SUBREAPER`), whatever their
//! group or session, so it can count and end them. Processes of hooks are not touched.

use std::collections::BTreeMap;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getsid, kill_process, set_child_subreaper,
    test_kill_process, waitid,
};

use crate::clock::monotonic_ns;
use crate::proc_counts::CpuTimes;
use crate::supervised::wait_for;
use crate::wire::RowId;
use host::{Host, Process, sys, terminal};
use record::Survivors;

/// Time for a process to end by itself after its run and the hooks, ns. Helpers of honest programs notice their parent's end
/// by a closed pipe (Python's `resource_tracker`). What a hook has killed may need a CPU to end.
const GRACE_NS: u64 = 100_000_000;
/// Time between two checks, ns.
const LOOK_NS: u64 = 1_000_000;
/// Time for a process to end after SIGTERM, ns. A run has as much.
const TERM_NS: u64 = 2_000_000_000;
/// Time between two checks after SIGTERM, ns.
const TERM_LOOK_NS: u64 = 10_000_000;
/// Runs after which the launcher waits in vain. If every run leaves a process behind, more waits are wasted.
const WAITS_MAX: u32 = 10;
/// Processes of earlier runs whose CPU time is read before and after each run: of a thousand, some work or none.
const LOOKED_AT_MAX: usize = 64;
/// Rounds of killing. A process that forks all the time may outrun some.
const ROUNDS_MAX: u32 = 1000;

/// Adopts what this process's children leave behind.
#[derive(Debug)]
pub struct SurvivorWatch {
    /// Whether what a run leaves behind ends after the run, not with the session: a build daemon speeds up later runs,
    /// and so is part of what is measured.
    ends_with_run: bool,
    of_hooks: BTreeMap<u32, Process>,
    /// Processes of the last run, until the next one begins.
    fresh: Option<FreshSurvivors>,
    /// Processes of earlier runs, which stay.
    staying: BTreeMap<u32, Process>,
    n_waits_left: u32,
    /// CPU time of processes of earlier runs before this run; `None` if one worked.
    earlier_cpu_us: Option<u64>,
}

/// The processes just after a run.
#[derive(Debug)]
struct FreshSurvivors {
    id: RowId,
    run: u32,
    processes: BTreeMap<u32, Process>,
}

impl SurvivorWatch {
    /// Makes this process adopt orphans from now on; `None` if the kernel refuses (Linux before 3.4).
    pub fn begin(ends_with_run: bool) -> Option<Self> {
        set_child_subreaper(Some(getpid())).ok()?;
        let (of_hooks, staying) = (BTreeMap::new(), BTreeMap::new());
        let (fresh, n_waits_left, earlier_cpu_us) = (None, WAITS_MAX, Some(0));
        Some(Self { ends_with_run, of_hooks, fresh, staying, n_waits_left, earlier_cpu_us })
    }

    /// Notes the processes of a hook.
    pub fn after_hook(&mut self) {
        let mut children = children();
        let fresh = self.fresh.iter().flat_map(|fresh| &fresh.processes);
        for (of_run, process) in self.staying.iter().chain(fresh) {
            children.retain(|pid, it| pid != of_run && !is_together(it, process));
        }
        self.of_hooks = children;
    }

    /// Notes what a run left behind, or ends it. `run`: its process id, which has been reaped. `is_cut`: whether the
    /// run itself was ended.
    pub fn after_run(&mut self, id: RowId, run: i32, is_cut: bool) -> Option<Survivors> {
        let run = run.cast_unsigned();
        self.of_hooks = living(&self.of_hooks);
        // A thousand that stay need not be read again after each run.
        let mut processes =
            self.left_by_run(listed_children(|pid| !self.staying.contains_key(pid)));
        if is_cut {
            // The others were ended with their group.
            processes.retain(|_, process| process.group != run);
            processes.extend(descendants(&processes));
            processes.keys().for_each(|&pid| send(pid, Signal::TERM));
        }
        if processes.is_empty() {
            return None;
        }
        let n_cut = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        let fresh = FreshSurvivors { id, run, processes };
        if is_cut {
            return self.end_survivors(fresh).map(|ended| Survivors { n_ended: n_cut, ..ended });
        }
        if self.ends_with_run {
            return self.end_survivors(fresh);
        }
        self.fresh = Some(fresh);
        None
    }

    /// The processes that the last run left behind and that are still there after its hooks.
    pub fn settle(&mut self) -> Option<Survivors> {
        let FreshSurvivors { id, run, mut processes } = self.fresh.take()?;
        processes = living(&processes);
        let until_ns = monotonic_ns() + GRACE_NS;
        while !processes.is_empty() && self.n_waits_left > 0 && monotonic_ns() < until_ns {
            wait_for(&mut [], LOOK_NS).ok();
            processes = living(&processes);
        }
        let name = processes.values().next()?.name.clone();
        processes.extend(descendants(&processes));
        let (n_left, n_detached) = (processes.len(), n_outside(&processes, run));
        // They outlasted the wait.
        self.n_waits_left = self.n_waits_left.saturating_sub(1);
        // Ended ones would take the places of those that are looked at.
        self.staying.retain(|&pid, _| is_there(pid));
        self.staying.extend(processes);
        Some(Survivors {
            n_left: u32::try_from(n_left).unwrap_or(u32::MAX),
            ..survivors(id, name, n_detached)
        })
    }

    /// Whether a run or a hook has left something behind, which may have worked since the last run.
    pub fn has_processes(&self) -> bool {
        self.fresh.is_some() || !self.staying.is_empty() || !self.of_hooks.is_empty()
    }

    /// Notes what the processes of earlier runs have done so far.
    pub fn before_run(&mut self) {
        self.earlier_cpu_us = self.earlier_cpu_us();
    }

    /// Whether a process of an earlier run has worked or ended since [`SurvivorWatch::before_run`].
    pub fn have_earlier_worked(&self) -> bool {
        self.earlier_cpu_us.is_none() || self.earlier_cpu_us != self.earlier_cpu_us()
    }

    fn earlier_cpu_us(&self) -> Option<u64> {
        self.staying.keys().take(LOOKED_AT_MAX).map(|&pid| idle_cpu_us(pid)).sum()
    }

    /// Ends what the runs left behind: SIGTERM first, SIGKILL two seconds later. Returns the number of processes, and
    /// the name of one.
    pub fn end_all(&mut self) -> Option<(usize, String)> {
        self.staying.clear();
        let first = self.left();
        let is_blind = || Process::read(&Host::new("/"), std::process::id()).is_none();
        if first.is_empty() && has_children() && is_blind() {
            terminal::say(
                "what a run or a hook has started goes on: without /proc, Stillwell can neither count nor end it",
            );
        }
        let name = first.values().next()?.name.clone();
        let n_ended = first.len() + descendants(&first).len();
        first.keys().for_each(|&pid| send(pid, Signal::TERM));
        for _ in 0..TERM_NS / TERM_LOOK_NS {
            wait_for(&mut [], TERM_LOOK_NS).ok();
            if self.left().is_empty() {
                return Some((n_ended, name));
            }
        }
        self.kill(|pid| drop(sys::reap(pid.cast_signed())));
        Some((n_ended, name))
    }

    /// Ends what a run left behind, and counts its CPU time.
    fn end_survivors(&self, fresh: FreshSurvivors) -> Option<Survivors> {
        let FreshSurvivors { id, run, processes, .. } = fresh;
        let before_us: BTreeMap<u32, u64> =
            processes.keys().map(|&pid| (pid, cpu_us(pid))).collect();
        let name = processes.values().next()?.name.clone();
        let mut survivors = survivors(id, name, n_outside(&processes, run));
        let mut reap = |pid: u32| {
            let Ok((_, usage)) = sys::reap(pid.cast_signed()) else { return };
            let used_us = usage.user_us + usage.sys_us;
            let before_us = before_us.get(&pid).copied().unwrap_or(0);
            survivors.late_cpu_us += used_us.saturating_sub(before_us);
        };
        for _ in 0..GRACE_NS / LOOK_NS {
            let left = self.left_by_run(children());
            left.iter().filter(|(_, process)| process.has_ended).for_each(|(&pid, _)| reap(pid));
            if left.is_empty() {
                return Some(survivors);
            }
            wait_for(&mut [], LOOK_NS).ok();
        }
        let n_ended = self.kill(reap);
        Some(Survivors { n_ended, ..survivors })
    }

    /// Kills what does not belong to hooks, with descendants. Returns the number of processes.
    fn kill(&self, mut reap: impl FnMut(u32)) -> u32 {
        let mut n_ended = 0;
        for _ in 0..ROUNDS_MAX {
            let left = self.left_by_run(children());
            if left.is_empty() {
                break;
            }
            for (&pid, process) in &left {
                n_ended += u32::from(!process.has_ended);
                send(pid, Signal::KILL);
                reap(pid);
            }
        }
        n_ended
    }

    /// The living children that belong neither to hooks nor to earlier runs. The others are reaped.
    fn left(&self) -> BTreeMap<u32, Process> {
        reap_ended();
        self.left_by_run(children())
    }

    fn left_by_run(&self, mut there: BTreeMap<u32, Process>) -> BTreeMap<u32, Process> {
        there.retain(|pid, process| {
            !self.staying.contains_key(pid)
                && !self.of_hooks.contains_key(pid)
                && !self.of_hooks.values().any(|hook| is_together(hook, process))
        });
        there
    }
}

/// Whether both share a group, or a session other than this process's.
fn is_together(one: &Process, other: &Process) -> bool {
    let own = Pid::as_raw(getsid(None).ok()).cast_unsigned();
    one.group == other.group || (one.session == other.session && one.session != own)
}

fn survivors(id: RowId, name: String, n_detached: u32) -> Survivors {
    let RowId { step, arm, .. } = id;
    Survivors { step, arm, name, n_runs: 1, n_left: 0, n_ended: 0, n_detached, late_cpu_us: 0 }
}

/// The number of processes outside of their run's group.
fn n_outside(processes: &BTreeMap<u32, Process>, run: u32) -> u32 {
    let outside = processes.values().filter(|process| process.group != run).count();
    u32::try_from(outside).unwrap_or(u32::MAX)
}

fn send(pid: u32, signal: Signal) {
    Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, signal).ok());
}

/// Whether the process exists, also as a zombie.
fn is_there(pid: u32) -> bool {
    Pid::from_raw(pid.cast_signed())
        .is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The living children as they are now: a shell may have become another program.
fn living(processes: &BTreeMap<u32, Process>) -> BTreeMap<u32, Process> {
    reap_ended();
    let host = Host::new("/");
    let now = processes.keys().filter_map(|&pid| Some((pid, Process::read(&host, pid)?)));
    now.filter(|(_, it)| !it.has_ended && it.parent == std::process::id()).collect()
}

/// The living descendants of these children. The launcher adopts a process only when its parent ends.
fn descendants(of: &BTreeMap<u32, Process>) -> BTreeMap<u32, Process> {
    let (host, mut found) = (Host::new("/"), BTreeMap::new());
    let mut parents: Vec<u32> = of.keys().copied().collect();
    while let Some(parent) = parents.pop() {
        for thread in host.list(format!("proc/{parent}/task")) {
            let listed = Process::children(&host, &format!("proc/{parent}/task/{thread}"));
            for pid in listed.unwrap_or_default() {
                let child = Process::read(&host, pid).filter(|child| !child.has_ended);
                // The kernel reuses process ids, so these lists may form a ring.
                if let Some(child) = child
                    && !of.contains_key(&pid)
                    && found.insert(pid, child).is_none()
                {
                    parents.push(pid);
                }
            }
        }
    }
    found
}

fn reap_ended() {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    while waitid(WaitId::All, look).is_ok_and(|ended| ended.is_some()) {}
}

fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, look).is_ok()
}

fn children() -> BTreeMap<u32, Process> {
    if !has_children() {
        return BTreeMap::new();
    }
    let host = Host::new("/");
    Process::all(&host).filter(|(_, process)| process.parent == std::process::id()).collect()
}

/// The children of this process's first thread. The list is cheap, but may lack some; [`children`] does not.
fn listed_children(is_wanted: impl Fn(&u32) -> bool) -> BTreeMap<u32, Process> {
    if !has_children() {
        return BTreeMap::new();
    }
    let (host, own) = (Host::new("/"), std::process::id());
    // The kernel may lack it (CONFIG_PROC_CHILDREN).
    let listed = Process::children(&host, &format!("proc/{own}/task/{own}"));
    let Some(listed) = listed else { return children() };
    let wanted = listed.into_iter().filter(is_wanted);
    wanted.filter_map(|pid| Some((pid, Process::read(&host, pid)?))).collect()
}

/// CPU time of a process's remaining threads, µs.
fn cpu_us(pid: u32) -> u64 {
    let host = Host::new("/");
    let threads = host.list(format!("proc/{pid}/task")).into_iter();
    let text = |thread| host.read(format!("proc/{pid}/task/{thread}/schedstat"));
    let times = threads.filter_map(|thread| CpuTimes::parse(text(thread)?.as_bytes()));
    times.map(|times| times.ran_ns).sum::<u64>() / 1000
}

/// CPU time of a process and its descendants, µs. `None` if one runs or waits for a CPU: the kernel adds the time of a
/// running thread at clock ticks, up to 10 ms late.
fn idle_cpu_us(pid: u32) -> Option<u64> {
    let host = Host::new("/");
    let mut all_us = cpu_us(pid);
    for thread in host.list(format!("proc/{pid}/task")) {
        let directory = format!("proc/{pid}/task/{thread}");
        if Process::read_at(&host, &directory).is_some_and(|it| it.is_runnable) {
            return None;
        }
        for child in Process::children(&host, &directory).unwrap_or_default() {
            all_us += idle_cpu_us(child)?;
        }
    }
    Some(all_us)
}

/// Adds what runs left behind, with one entry per arm for what stays.
pub fn add_survivors(all: &mut Vec<Survivors>, new: &[Survivors]) {
    for it in new {
        let known = all.iter_mut().find(|known| known.arm == it.arm && known.n_left > 0);
        match known.filter(|_| it.n_left > 0) {
            Some(known) => {
                known.n_runs += it.n_runs;
                known.n_left += it.n_left;
                known.n_detached += it.n_detached;
            }
            None => all.push(it.clone()),
        }
    }
}
