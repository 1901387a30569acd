//! Combines the records with schedstat and the CPU time.

use crate::proc_counts::{CpuTimes, Waits};
use crate::stalls::TaskTotals;

/// Largest CPU time for reading the counters at a switch, ns: 3 to 6 µs on an idle machine (Linux 6.18), 9 to 15 µs if
/// other programs ran meanwhile, 11 to 28 µs with samples. The task clock includes it; the records of when tasks run do
/// not.
const READING_NS: u64 = 32_000;
/// The task clock and the records of when tasks run agree to one in so many.
const COUNTS_DIFFER: u64 = 1_000;

/// Facts about a run without its tasks' records.
#[derive(Clone, Copy, Debug)]
pub struct RunTimes {
    pub started_ns: u64,
    /// When the end was seen.
    pub ended_ns: u64,
    /// CPU time of the first process and of all that was waited for, from before the start until after the end.
    pub usage_ns: u64,
    /// The part of the usage that is not the first task's.
    pub others_usage_ns: u64,
    /// Least part of the usage between start and end.
    pub busy_ns: u64,
    /// CPU time of all tasks that write records.
    pub task_clock_ns: Option<u64>,
    /// Times of the first task while the clock ran.
    pub first: Option<CpuTimes>,
    /// The launcher's waits from the run's start until it saw the end.
    pub launcher: Waits,
}

/// The part of a run's wall time that is not its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Time in which the run was ready and did not run, as far as known.
    pub stalled_ns: u64,
    /// Time in which the run slept, or waited unseen.
    pub unclear_ns: u64,
    /// The part of the unclear time that the records call a stall, but that cannot have been one.
    pub impossible_ns: u64,
}

impl TaskTotals {
    /// Joins the records with the other times of the run.
    ///
    /// Waits in schedstat that the records lack come after a sleep, before the first record and after the last. If the
    /// run had another task meanwhile, they may not have been a stall.
    pub fn stall(&self, run: &RunTimes) -> Stall {
        let first = run.first.filter(|_| !self.is_first_replaced);
        let unseen_ns = first.map(|first| first.waited_ns.saturating_sub(self.first_waited_ns));
        // Most CPU time of others after their last records. Other counts of their time may be 1 % shorter.
        let endings_ns =
            run.others_usage_ns.saturating_sub(self.others_ran_ns - self.others_ran_ns / 100);
        let tail_ns = self.process_ended_ns.map_or(0, |ns| run.ended_ns.saturating_sub(ns));
        let unrecorded_ns = first.map_or(0, |first| first.ran_ns.saturating_sub(self.first_ran_ns));
        let ending = LastPart { tail_ns, ran_ns: unrecorded_ns, head_ns: self.head_ns };
        let late_ns = ending.late_ns(run.launcher, unseen_ns.filter(|_| self.n_tasks == 1));
        // The first task ended before the launcher was late.
        let last_hidden_ns = self.last_hidden_ns.min(tail_ns - late_ns);
        let beside_ns =
            self.first_beside_ending_ns + self.last_beside_ending_ns.min(tail_ns - late_ns);
        let hidden_ns = self.first_hidden_ns + last_hidden_ns + beside_ns.min(endings_ns);
        let sure_ns = unseen_ns.unwrap_or(0).saturating_sub(hidden_ns);
        let unclear_ns = match self.n_tasks {
            1 if unseen_ns.is_some() => 0,
            _ => self.unclear_ns.saturating_sub(sure_ns.saturating_sub(self.head_ns + tail_ns)),
        };
        // Tasks that ran without records did so while they seemed to wait, and may also have slept.
        let recorded_ns = self.tasks_ran_ns + READING_NS * self.n_switches;
        let task_clock_ns = run.task_clock_ns.unwrap_or(0);
        let are_complete = task_clock_ns <= recorded_ns + task_clock_ns / COUNTS_DIFFER;
        let cpu_ns = run.task_clock_ns.map_or(0, |ns| ns.min(run.usage_ns));
        let least_ns = (cpu_ns / self.n_running_max.max(1))
            .max(if self.n_tasks == 1 { run.busy_ns } else { 0 })
            .max(self.any_ran_ns)
            .max(self.first_longest_sleep_ns);
        let endings_ns = endings_ns + if self.is_first_survived { unrecorded_ns } else { 0 };
        let beside_ns = self.beside_ending_ns.saturating_sub(endings_ns);
        let stalled_ns = self.stalled_ns + beside_ns + sure_ns + late_ns;
        let unclear_ns = unclear_ns + self.beside_ending_ns - beside_ns;
        // The kernel's own count of the waits of a single task needs no records.
        let is_single = self.n_tasks == 1 && run.others_usage_ns <= run.usage_ns / 100;
        let missing_ns = match first.filter(|_| is_single) {
            _ if are_complete => 0,
            Some(first) => stalled_ns.saturating_sub(first.waited_ns + late_ns),
            None => u64::MAX,
        };
        Stall { stalled_ns, unclear_ns, impossible_ns: 0 }.within(
            run,
            least_ns,
            missing_ns,
            self.any_ran_ns,
        )
    }
}

/// The time from the run's last record until its end was seen.
struct LastPart {
    tail_ns: u64,
    /// CPU time of the first task in this part, and before its first record.
    ran_ns: u64,
    /// Time until the first record.
    head_ns: u64,
}

impl LastPart {
    /// The part of the launcher's waits after the run had ended. A single task waited for at most `unseen_ns`
    /// meanwhile.
    fn late_ns(&self, launcher: Waits, unseen_ns: Option<u64>) -> u64 {
        // A launcher that got a CPU once had slept until the end, and waited after that.
        let most_ns = match (launcher.n_arrivals, unseen_ns) {
            (1, Some(_)) => self.tail_ns.saturating_sub(self.ran_ns.saturating_sub(self.head_ns)),
            (1, None) => self.tail_ns,
            (_, Some(unseen_ns)) => self.tail_ns.saturating_sub(self.ran_ns + unseen_ns),
            (_, None) => 0,
        };
        launcher.waited_ns.min(most_ns)
    }
}

impl Stall {
    /// The stall of a run that is assumed to be a single task.
    pub fn for_single_task(run: &RunTimes) -> Option<Self> {
        let others_ns = run.others_usage_ns;
        let waits = run.launcher;
        let late_ns = if waits.n_arrivals == 1 { waits.waited_ns } else { 0 };
        let stalled_ns = run.first?.waited_ns + late_ns;
        let stall = Self { stalled_ns, unclear_ns: waits.waited_ns - late_ns, impossible_ns: 0 };
        Some(stall.within(run, run.busy_ns.saturating_sub(others_ns), others_ns, 0))
    }

    /// The rest if `missing_ns` of it were no stall, at least `least_ns` of the run were its own, and any of its tasks
    /// ran for `ran_ns`. Whatever cannot have been a stall is unclear.
    fn within(self, run: &RunTimes, least_ns: u64, missing_ns: u64, ran_ns: u64) -> Self {
        let wall_ns = run.ended_ns - run.started_ns;
        let possible_ns = wall_ns.saturating_sub(least_ns.max(1));
        let stalled_ns = self.stalled_ns.saturating_sub(missing_ns).min(possible_ns);
        let impossible_ns = self.stalled_ns - stalled_ns;
        let rest_ns = wall_ns.saturating_sub(stalled_ns).saturating_sub(ran_ns);
        let unclear_ns = (self.unclear_ns + impossible_ns).min(rest_ns);
        Self { stalled_ns, unclear_ns, impossible_ns }
    }
}
