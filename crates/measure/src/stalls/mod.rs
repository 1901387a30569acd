//! The time in which a run was ready and did not run, from the scheduler's records of all of its tasks.
//!
//! A run is *stalled* while at least one of its tasks is ready and none of them has a CPU. The kernel's pressure
//! accounting calls that state "full" (Documentation/accounting/psi.rst). Time in which any task runs is progress, so
//! it is never taken away, however long other tasks wait. Sleeping is the run's own time: while a task waits for a timer
//! or a device, the wait of another task may cost nothing, so it is no stall either.
//!
//! The records say when a task was preempted, made, or ended. When a sleeper became ready they say only if the kernel
//! permits tracepoints. Without them, any sleep may have been a wait for a timer, so nothing during it is a stall. Only
//! the waits of the first task are known then, from its schedstat.
//!
//! [`add_up`] never takes more than the records prove, and [`TaskTotals::stall`] then holds the result against what
//! else is known of the run: its CPU time, the time in which a task ran, and its sleeps.

mod bounds;
mod intervals;
mod sums;
mod tasks;
mod totals;

pub use bounds::{RunTimes, Stall};
pub use sums::add_up;
pub use totals::{TaskTotals, TracedRun};

/// Something that happened to a task of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskEvent {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The task.
    pub thread: u32,
    pub kind: TaskEventKind,
    /// Index of the ring buffer, and so of the CPU.
    pub cpu: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskEventKind {
    /// The task has just been made by `maker`, as a thread of `process`, and is ready.
    Made { maker: u32, process: u32 },
    /// It begins to execute a program. The records about the first task begin with this one.
    Executes,
    /// It continues.
    In,
    /// It waits for an event.
    Out,
    /// It could continue, but the kernel runs another one.
    Preempted,
    /// Another task has done what it waited for.
    WokenBy(u32),
    /// A timer or a device has.
    WokenByInterrupt,
    /// It ends: it gives back what it has, and then never runs again.
    Ended,
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod simulated_task;
#[cfg(test)]
mod tests;
