//! Sums over the records of a run.

#[derive(Clone, Copy, Debug)]
pub struct TracedRun {
    /// The first task, and so the process.
    pub first: u32,
    /// The clock's start; from then on the first task runs.
    pub started_ns: u64,
    /// When the end was seen.
    pub ended_ns: u64,
    pub n_cpus: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// Time between being preempted and running again, over all tasks.
    pub preempted_ns: u64,
    /// How often a task continued on another CPU than it had stopped on.
    pub migrations: u64,
    /// Time in which a task was known to be ready and none ran or may have waited for something outside.
    pub stalled_ns: u64,
    /// Other time in which none ran, if the records do not prove that a task waited for something outside.
    pub unclear_ns: u64,
    /// Number of tasks, the first one included.
    pub n_tasks: u64,
    /// Recorded waits of the first task: after preemptions, and from waking to running.
    pub first_waited_ns: u64,
    /// Time in which the first task may have waited unseen, and another task ran, slept, or was known to wait.
    pub first_hidden_ns: u64,
    /// Such time with only tasks that had not finished ending.
    pub first_beside_ending_ns: u64,
    /// Both kinds of time after the last record of the first process.
    pub last_hidden_ns: u64,
    pub last_beside_ending_ns: u64,
    /// Time in which the first task ran, from its first record on.
    pub first_ran_ns: u64,
    /// From the start to the first task's first record. It runs then, or waits unseen.
    pub head_ns: u64,
    /// Longest sleep of the first task that something outside the run ended.
    pub first_longest_sleep_ns: u64,
    /// Whether a thread has taken the first task's number (execve(2) in another thread), so counts of the first task
    /// belong to two.
    pub is_first_replaced: bool,
    /// Whether other threads of the process outlived the first task.
    pub is_first_survived: bool,
    /// When the last thread of the first process ended; `None` if no record says so.
    pub process_ended_ns: Option<u64>,
    /// Most tasks that ran or were known to be ready at a time.
    pub n_runnable_max: u64,
    /// Time in which these exceeded the run's CPUs.
    pub crowded_ns: u64,
    /// Most tasks that ran at a time, by the records.
    pub n_running_max: u64,
    /// Stalled time beside a task that was ending, and so may have run.
    pub beside_ending_ns: u64,
    /// CPU time of the other tasks whose time is in the run's usage for certain.
    pub others_ran_ns: u64,
    /// Time in which any task ran, from the first task's first record on.
    pub any_ran_ns: u64,
    /// The sum over all tasks that write records, even of earlier runs.
    pub tasks_ran_ns: u64,
    /// Records of tasks that continue.
    pub n_switches: u64,
}

/// Intervals without overlap, in order.
#[derive(Debug, Default)]
pub struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    pub fn add(&mut self, from_ns: u64, to_ns: u64) {
        if from_ns >= to_ns {
            return;
        }
        let first = self.0.partition_point(|(_, end_ns)| *end_ns < from_ns);
        let after = self.0.partition_point(|(start_ns, _)| *start_ns <= to_ns);
        let touched = &self.0[first..after];
        let from_ns = touched.first().map_or(from_ns, |it| it.0.min(from_ns));
        let to_ns = touched.last().map_or(to_ns, |it| it.1.max(to_ns));
        self.0.splice(first..after, [(from_ns, to_ns)]);
    }

    pub fn sum_ns(&self) -> u64 {
        self.0.iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_intervals_do_not_count() {
        let mut found = Intervals::default();
        found.add(10, 20);
        found.add(30, 40);
        found.add(35, 45);
        assert_eq!(found.sum_ns(), 10 + 15);
        found.add(15, 50);
        assert_eq!(found.sum_ns(), 40);
        found.add(55, 55);
        assert_eq!(found.sum_ns(), 40);
        found.add(0, 5);
        found.add(2, 12);
        assert_eq!(found.sum_ns(), 50);
    }
}
