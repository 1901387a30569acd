//! One slice: the loops that a worker runs at one request, timed by itself and watched from outside.

use crate::measure::clock::monotonic_ns;
use crate::measure::worker::failure::{AnswerFault, WorkerFailure};
use crate::measure::worker::{Worker, answer};

/// Measurements of one slice. `None` if the kernel does not have the value; never zero instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// CLOCK_MONOTONIC when the request was sent.
    pub started_ns: u64,
    /// Wall time around the loop, measured by the worker.
    pub wall_ns: u64,
    /// CPU time of the process, all threads, around the same.
    pub cpu_ns: u64,
    /// The user's counters, for all loops together.
    pub counters: Vec<(String, u64)>,
    /// Time the main thread waited on a run queue, from the request to the answer. It includes the wait for the CPU
    /// to read the request, so it can be a little more than wall minus CPU time.
    pub run_queue_wait_ns: Option<u64>,
    /// Times the main thread went to sleep. Waiting for requests is part of it, mostly 1; not corrected.
    pub voluntary_switches: Option<u64>,
    /// Times the main thread was preempted. If this process shares the worker's CPU, its waking at the answer counts
    /// too, although it comes after the loop. Then up to 2 preemptions mean nothing, and the sleep above may be
    /// missing.
    pub involuntary_switches: Option<u64>,
    /// Peak resident set so far, KiB.
    pub maxrss_kib: Option<u64>,
    /// The CPU that the main thread ran on last.
    pub cpu: Option<u32>,
    /// From the request to the answer, measured by this process.
    pub round_trip_ns: u64,
}

impl Worker {
    /// Runs the selected benchmark `loops` times.
    ///
    /// # Errors
    /// As for every request. Also when the worker says that the loops took longer than it had: then it answers an
    /// older request, or its clock is another one.
    pub fn run_loops(&mut self, loops: u64) -> Result<Slice, WorkerFailure> {
        let request = format!("run {loops}");
        let status_before = self.files.status();
        let wait_before_ns = self.files.run_queue_wait_ns();
        let started_ns = monotonic_ns();
        let line = self.exchange(Some(&request), b"", None, true)?;
        let round_trip_ns = monotonic_ns() - started_ns;
        let wait_after_ns = self.files.run_queue_wait_ns();
        let status = self.files.status();
        let Some(time) = answer::time(&line) else {
            return Err(self.rubbish(Some(&request), &line, AnswerFault::Form));
        };
        if time.wall_ns > longest_ns(round_trip_ns) {
            return Err(self.rubbish(Some(&request), &line, AnswerFault::LongerThanPossible));
        }
        let grown = |after: Option<u64>, before: Option<u64>| after?.checked_sub(before?);
        Ok(Slice {
            started_ns,
            wall_ns: time.wall_ns,
            cpu_ns: time.cpu_ns,
            counters: time.counters,
            run_queue_wait_ns: grown(wait_after_ns, wait_before_ns),
            voluntary_switches: grown(status.voluntary_switches, status_before.voluntary_switches),
            involuntary_switches: grown(
                status.involuntary_switches,
                status_before.involuntary_switches,
            ),
            maxrss_kib: status.maxrss_kib,
            cpu: self.files.cpu(),
            round_trip_ns,
        })
    }
}

/// The longest time that loops can have taken. A clock that is not steered by NTP, as CLOCK_MONOTONIC is, differs by
/// less than 0.05 % (adjtimex(2): 500 ppm); one that counts in µs, by 1 µs.
fn longest_ns(round_trip_ns: u64) -> u64 {
    round_trip_ns + round_trip_ns / 1000 + 1000
}
