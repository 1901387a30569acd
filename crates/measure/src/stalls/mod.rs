//! The time in which a run was ready and did not run, from the scheduler's records of all its tasks.
//!
//! A run is *stalled* while at least one task is ready and none has a CPU; the kernel's pressure accounting calls this
//! "full" (Documentation/accounting/psi.rst). Time in which any task runs is progress and is never taken away, however
//! long other tasks wait. Sleeping is the run's own time: while a task waits for a timer or a device, the wait of
//! another may cost nothing, so it is no stall either.
//!
//! The records say when a task was preempted, made, or ended. When a sleeper became ready they say only if the kernel
//! permits tracepoints. Without them, any sleep may have been a wait for a timer, so nothing during it is a stall; only
//! the first task's waits are known, from its schedstat.
//!
//! [`add_up`] never takes more than the records prove. [`TaskTotals::stall`] then checks the result against the run's
//! CPU time, the time in which a task ran, and its sleeps.

mod bounds;
mod sums;
mod tasks;
mod totals;

pub use bounds::{RunTimes, Stall};
pub use sums::add_up;
pub use totals::{TaskTotals, TracedRun};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskEvent {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub thread: u32,
    pub kind: TaskEventKind,
    /// Index of the ring buffer, and so of the CPU.
    pub cpu: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskEventKind {
    /// The task has just been made by `maker`, as a thread of `process`, and is ready.
    Made {
        maker: u32,
        process: u32,
    },
    /// The task begins to execute a program. The first task's records begin with this one.
    Executes,
    In,
    /// The task waits for an event.
    Out,
    /// The task could continue, but the kernel runs another one.
    Preempted,
    /// Woken by another task.
    WokenBy(u32),
    /// Woken by a timer or a device.
    WokenByInterrupt,
    /// The task ends: it releases its resources, and then never runs again.
    Ended,
}

#[cfg(test)]
mod tests;
