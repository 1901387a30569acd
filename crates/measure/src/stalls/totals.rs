//! What the records of a run sum up to.

/// A run whose records are added up.
#[derive(Clone, Copy, Debug)]
pub struct TracedRun {
    /// Its first task, and so its process.
    pub first: u32,
    /// The clock's start; from then on the first task runs.
    pub started_ns: u64,
    /// When its end was seen.
    pub ended_ns: u64,
    /// CPUs that it may use.
    pub n_cpus: usize,
}

/// Sums over the events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// Time between being preempted and running again, over all tasks.
    pub preempted_ns: u64,
    /// Times a task continued on another CPU than it had stopped on.
    pub migrations: u64,
    /// Time in which a task was known to be ready and none ran or may have waited for something outside.
    pub stalled_ns: u64,
    /// Other time in which none ran, if the records do not prove that a task waited for something outside.
    pub unclear_ns: u64,
    /// Number of tasks, the first one included.
    pub n_tasks: u64,
    /// Recorded waits of the first task: after preemptions, and from being woken to running.
    pub first_waited_ns: u64,
    /// Time in which the first task may have waited unseen, and another task ran, slept, or was known to wait.
    pub first_hidden_ns: u64,
    /// The same while the run had another task only if that had not finished to end.
    pub first_beside_ending_ns: u64,
    /// Both after the last record of the first process.
    pub last_hidden_ns: u64,
    pub last_beside_ending_ns: u64,
    /// Time in which the first task ran, from its first record on.
    pub first_ran_ns: u64,
    /// From the start to the first record about the first task. It runs then, or waits unseen.
    pub head_ns: u64,
    /// Longest sleep of the first task that ended by something outside of the run.
    pub first_longest_sleep_ns: u64,
    /// Whether a thread has taken the first task's number (execve(2) in another thread), so that counts of the first task
    /// are of two.
    pub is_first_replaced: bool,
    /// Whether other threads of its process outlived the first task.
    pub is_first_survived: bool,
    /// When the last thread of the first process ended; `None` if no record says so.
    pub process_ended_ns: Option<u64>,
    /// Most tasks that ran or were known to be ready at a time.
    pub n_runnable_max: u64,
    /// Time in which these were more than the run had CPUs.
    pub crowded_ns: u64,
    /// Most tasks that ran at a time by the records.
    pub n_running_max: u64,
    /// Time as stalled time is, but beside a task that was ending, and so may have run.
    pub beside_ending_ns: u64,
    /// Time on a CPU of the other tasks whose CPU time is in the run's usage for certain.
    pub others_ran_ns: u64,
    /// Time in which any task ran, from the first record about the first task on.
    pub any_ran_ns: u64,
    /// The same summed up over all tasks that write records, those of earlier runs too.
    pub tasks_ran_ns: u64,
    /// Records of tasks that continue.
    pub n_switches: u64,
}
