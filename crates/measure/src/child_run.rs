//! One child: the wait for its end, and its row.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::proc_counts::{CpuTimes, Waits};
use crate::stalls::{RunTimes, Stall, TaskTotals};
use crate::wire::RowId;
use host::sys::{self, LaunchedChild, Usage};
use model::values::metric::Metric;
use record::Row;

/// Share to which two counts of CPU time agree: ticks and switches differ a little. A task with this share of a run's
/// CPU time is its only one.
const COUNTS_AGREE: f64 = 0.99;
/// CPU time that a task may use after the launcher saw its end, ns.
const AFTER_END_NS: u64 = 100_000;

pub struct ChildRun {
    pub launched: LaunchedChild,
    pub ended_ns: u64,
    pub exit: i32,
    pub timed_out: bool,
    pub usage: Usage,
    pub first_task: Option<CpuTimes>,
    /// How long the launcher waited for a CPU before it saw the end.
    pub waits: Waits,
    pub stderr: Vec<u8>,
    pub stderr_bytes: u64,
}

impl ChildRun {
    /// The row without times and counts.
    pub fn empty_row(&self, id: RowId, clock_origin_ns: u64) -> Row {
        let started_ns = self.launched.exec_ns.saturating_sub(clock_origin_ns);
        Row {
            cpu: Some(self.launched.cpu),
            exit: self.exit,
            timed_out: self.timed_out,
            ..Row::new(id.step, id.arm, id.block, started_ns)
        }
    }

    /// The row without counts of perf events.
    pub fn row(&self, id: RowId, clock_origin_ns: u64) -> Row {
        let mut row = self.empty_row(id, clock_origin_ns);
        let usage = &self.usage;
        for (metric, value) in [
            (Metric::WallNs, self.ended_ns - self.launched.exec_ns),
            (Metric::SpawnNs, self.launched.exec_ns - self.launched.cloned_ns),
            (Metric::UserUs, usage.user_us),
            (Metric::SysUs, usage.sys_us),
            (Metric::MaxrssKib, usage.maxrss_kib),
            (Metric::MinorFaults, usage.minor_faults),
            (Metric::MajorFaults, usage.major_faults),
            (Metric::VoluntarySwitches, usage.voluntary_switches),
            (Metric::InvoluntarySwitches, usage.involuntary_switches),
        ] {
            row.set(metric, Some(value));
        }
        let probe = self.launched.probe;
        row.set(Metric::OneChainNs, probe.map(|probe| probe.one_chain_ns));
        row.set(Metric::FourChainsNs, probe.map(|probe| probe.four_chains_ns));
        row.set(Metric::RunQueueWaitNs, self.first_task.map(|times| times.waited_ns));
        row
    }

    /// The part of a run's wall time that is not its own; `None` if unknown. The row has the run's counts.
    ///
    /// Without a complete log of its tasks, a run whose first task used all CPU time counts as a single task.
    pub fn stall(&self, totals: Option<TaskTotals>, row: &Row) -> Option<Stall> {
        let first = self.first_task.zip(self.before()).map(|(after, before)| after.since(before));
        let usage_ns = 1000 * (self.usage.user_us + self.usage.sys_us);
        // The usage no longer contains the probe and the delay.
        let probe_ns = self.launched.probe.map_or(0, |probe| probe.all_ns);
        let first_ran_ns = self.first_task.map_or(0, |times| times.ran_ns);
        let first_used_ns = first_ran_ns.saturating_sub(self.launched.delayed_ns + probe_ns);
        let others_usage_ns = usage_ns.saturating_sub(first_used_ns);
        let run = RunTimes {
            started_ns: self.launched.exec_ns,
            ended_ns: self.ended_ns,
            usage_ns,
            others_usage_ns,
            busy_ns: self.least_busy_ns(),
            task_clock_ns: row.get(Metric::TaskClockNs),
            first,
            launcher: self.waits,
        };
        if let Some(totals) = totals {
            return Some(totals.stall(&run));
        }
        let is_single = first_ran_ns as f64 >= COUNTS_AGREE * usage_ns as f64;
        is_single.then(|| Stall::for_single_task(&run)).flatten()
    }

    fn before(&self) -> Option<CpuTimes> {
        CpuTimes::parse(self.launched.schedstat.as_bytes())
    }

    fn least_busy_ns(&self) -> u64 {
        let cpu_ns = 1000 * (self.usage.user_us + self.usage.sys_us);
        let launch_ns = self.launched.exec_ns - self.launched.cloned_ns;
        let waited_ns = self.before().map_or(0, |times| times.waited_ns);
        // The usage no longer contains the delay.
        least_busy_ns(cpu_ns, launch_ns, waited_ns + self.launched.delayed_ns)
    }
}

/// Least CPU time of a run between its start and its end. The usage includes some before and after: the launch took
/// `launch_ns`, without the `idle_ns` in which the child waited for a CPU.
fn least_busy_ns(cpu_ns: u64, launch_ns: u64, idle_ns: u64) -> u64 {
    let outside_ns = launch_ns.saturating_sub(idle_ns) + AFTER_END_NS;
    ((COUNTS_AGREE * cpu_ns as f64) as u64).saturating_sub(outside_ns)
}

pub fn is_interruption(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Waits for the end of a child without reaping it. A background child that the terminal stops, because it reads from
/// it or changes it, would wait for ever: it is killed with its group, and the stop signal is returned.
pub fn wait_for_exit(pid: i32) -> Option<i32> {
    let mut stopped_by = None;
    loop {
        match sys::wait_for_exit(pid) {
            Ok(Some(signal)) if is_of_terminal(signal) => {
                stopped_by = Some(signal);
                sys::signal_group(pid, libc::SIGKILL);
            }
            // The process that stopped it may continue it.
            Ok(Some(_)) => {}
            Ok(None) => return stopped_by,
            Err(error) if is_interruption(&error) => {}
            Err(_) => return stopped_by,
        }
    }
}

/// Whether a child has ended or is stopped by the terminal. [`wait_for_exit`] still sees the stop.
pub fn has_ended_or_stopped(pid: i32) -> bool {
    sys::has_exited(pid) || sys::stopped_by(pid).is_some_and(is_of_terminal)
}

/// Whether this signal is for background processes of a terminal (termios(3), TOSTOP).
fn is_of_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTTIN | libc::SIGTTOU)
}

/// Becomes readable when the process ends. `None` before Linux 5.3.
pub fn pidfd(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::least_busy_ns;

    #[test]
    fn a_launch_that_waits_uses_no_time_of_the_run() {
        assert_eq!(least_busy_ns(10_000_000, 400_000, 0), 9_400_000);
        assert_eq!(least_busy_ns(10_000_000, 22_400_000, 22_000_000), 9_400_000);
        // Another count of the wait may exceed the launch.
        assert_eq!(least_busy_ns(10_000_000, 400_000, 500_000), 9_800_000);
        assert_eq!(least_busy_ns(100_000, 400_000, 0), 0);
    }
}
