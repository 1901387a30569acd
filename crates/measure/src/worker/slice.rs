//! One slice: the loops that a worker runs at one request, timed by the worker and watched from outside.

use crate::clock::monotonic_ns;
use crate::proc_counts::CpuTimes;
use crate::stalls::Stall;
use crate::worker::failure::{AnswerFault, WorkerFailure};
use crate::worker::{Worker, answer};

/// Measurements of one slice. A value that the kernel lacks is `None`, never zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// CLOCK_MONOTONIC when the request was sent.
    pub started_ns: u64,
    /// Wall time around the loop, measured by the worker.
    pub wall_ns: u64,
    /// CPU time of all threads of the process around the loop; around the whole call if the benchmark times itself.
    pub cpu_ns: u64,
    pub counters: Vec<(String, u64)>,
    /// Time that the main thread waited on a run queue, from request to answer. It includes the wait for the CPU to
    /// read the request, so it can slightly exceed wall minus CPU time.
    pub run_queue_wait_ns: Option<u64>,
    /// The part of the wall time in which the worker was ready and did not run.
    pub stall: Option<Stall>,
    /// Times the main thread went to sleep, including the wait for requests (mostly 1, not corrected).
    pub voluntary_switches: Option<u64>,
    /// Times the main thread was preempted. If this process shares the worker's CPU, its waking at the answer counts
    /// too, although it comes after the loop. Then up to 2 preemptions mean nothing, and the sleep above may be
    /// missing.
    pub involuntary_switches: Option<u64>,
    pub maxrss_kib: Option<u64>,
    pub cpu: Option<u32>,
    /// From the request to the answer, measured by this process.
    pub round_trip_ns: u64,
}

impl Slice {
    /// The time of the loops without waits for a CPU.
    pub fn busy_ns(&self) -> f64 {
        let waited_ns = self.run_queue_wait_ns.unwrap_or(0);
        self.wall_ns.saturating_sub(waited_ns).max(self.cpu_ns.min(self.wall_ns)) as f64
    }

    /// The part of the round trip that is neither in its time nor a wait for a CPU.
    pub fn untimed_ns(&self) -> u64 {
        let waited_ns = self.run_queue_wait_ns.unwrap_or(0);
        self.round_trip_ns.saturating_sub(self.wall_ns).saturating_sub(waited_ns)
    }
}

impl Worker {
    /// Runs the selected benchmark `loops` times. `has_own_timer`: the wall time covers only a part of the call.
    /// Errors: see [`FailureCause`](super::failure::FailureCause). Also if the loops supposedly took longer than
    /// possible: the worker answers an older request, or has another clock.
    pub fn run_loops(&mut self, loops: u64, has_own_timer: bool) -> Result<Slice, WorkerFailure> {
        let request = format!("run {loops}");
        let status_before = self.files.status();
        let main_before = self.files.main_thread();
        let started_ns = monotonic_ns();
        let line = self.exchange(Some(&request), b"", None, true)?;
        let round_trip_ns = monotonic_ns() - started_ns;
        let main_after = self.files.main_thread();
        let status = self.files.status();
        let Some(time) = answer::time(&line) else {
            return Err(self.rubbish(Some(&request), &line, AnswerFault::Form));
        };
        if time.wall_ns > longest_ns(round_trip_ns) {
            return Err(self.rubbish(Some(&request), &line, AnswerFault::LongerThanPossible));
        }
        let grown = |after: Option<u64>, before: Option<u64>| after?.checked_sub(before?);
        let main = main_after.zip(main_before).map(|(after, before)| after.since(before));
        let voluntary_switches = grown(status.voluntary_switches, status_before.voluntary_switches);
        let is_single = status.n_threads == Some(1);
        let (wall_ns, cpu_ns) = (time.wall_ns, time.cpu_ns);
        let times = SliceTimes { wall_ns, cpu_ns, round_trip_ns, has_own_timer };
        let stall = main.zip(voluntary_switches).map(|(main, n_sleeps)| {
            // A worker that has answered goes to sleep until the next request.
            let n_after = u64::from(status.is_asleep == Some(true));
            times.stall(main, n_sleeps.saturating_sub(n_after), is_single)
        });
        Ok(Slice {
            started_ns,
            wall_ns: time.wall_ns,
            cpu_ns: time.cpu_ns,
            counters: time.counters,
            run_queue_wait_ns: main.map(|main| main.waited_ns),
            stall,
            voluntary_switches,
            involuntary_switches: grown(
                status.involuntary_switches,
                status_before.involuntary_switches,
            ),
            maxrss_kib: status.maxrss_kib,
            cpu: self.files.cpu(),
            round_trip_ns,
        })
    }

    /// Ends a worker whose clock cannot be right: these loops took far longer than it said.
    pub fn far_too_short(&mut self, loops: u64, slice: &Slice) -> WorkerFailure {
        let line = format!("time {} {}", slice.wall_ns, slice.cpu_ns);
        self.rubbish(Some(&format!("run {loops}")), line.as_bytes(), AnswerFault::FarTooShort)
    }
}

#[derive(Clone, Copy, Debug)]
struct SliceTimes {
    wall_ns: u64,
    cpu_ns: u64,
    round_trip_ns: u64,
    has_own_timer: bool,
}

impl SliceTimes {
    /// The stall of a slice. `main`: the main thread's times from request to answer; `n_sleeps`: how often it went to
    /// sleep meanwhile, before it answered. `is_single`: whether it is the only thread afterwards.
    ///
    /// A worker that never slept was off the CPU because it waited. If it slept, perhaps in the slice, its waits may
    /// have been outside. With several threads, another one may have run.
    ///
    /// The kernel counts no waits of threads that have ended, and `/proc/PID/schedstat` none of other threads. If others
    /// ran while the main thread slept, all time off the CPU may have been their waits.
    ///
    /// The CPU time of a benchmark that times itself covers the whole call. So the time off the CPU within the wall
    /// time is at least wall minus CPU time, plus at most the length of the rest of the call.
    fn stall(self, main: CpuTimes, n_sleeps: u64, is_single: bool) -> Stall {
        let waited_ns = main.waited_ns;
        let off_ns = self.wall_ns.saturating_sub(self.cpu_ns);
        let outside_ns = self.round_trip_ns.saturating_sub(self.wall_ns);
        let off_most_ns = match self.has_own_timer {
            true => (self.wall_ns + outside_ns).saturating_sub(self.cpu_ns).min(self.wall_ns),
            false => off_ns,
        };
        // As for runs without records: the main thread is alone if it had 99 % of the CPU time.
        let is_alone = main.ran_ns >= self.cpu_ns - self.cpu_ns / 100;
        let most_ns = match is_single && (n_sleeps == 0 || is_alone) {
            true => waited_ns.min(off_most_ns),
            false => off_most_ns,
        };
        let inside_ns = waited_ns.saturating_sub(outside_ns);
        let stalled_ns = match (is_single, n_sleeps) {
            (true, 0) => off_ns.min(most_ns),
            (true, _) => inside_ns.min(off_ns),
            (false, _) => 0,
        };
        Stall { stalled_ns, unclear_ns: most_ns - stalled_ns, impossible_ns: 0 }
    }
}

/// The longest time that loops can have taken. CLOCK_MONOTONIC is steered by NTP; another clock differs by less than
/// 0.05 % (adjtimex(2): 500 ppm), or by 1 µs if it counts in µs.
fn longest_ns(round_trip_ns: u64) -> u64 {
    round_trip_ns + round_trip_ns / 1000 + 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_never_sleeps_waits_whenever_it_is_off_the_cpu() {
        let times =
            SliceTimes { wall_ns: 100, cpu_ns: 40, round_trip_ns: 130, has_own_timer: false };
        let stall = |waited_ns, n_sleeps, is_single| {
            let found = times.stall(CpuTimes { ran_ns: 42, waited_ns }, n_sleeps, is_single);
            (found.stalled_ns, found.unclear_ns)
        };
        assert_eq!(stall(70, 0, true), (60, 0));
        // The other 20 are an interrupt or the hypervisor, not other programs.
        assert_eq!(stall(40, 0, true), (40, 0));
        // It slept, and 30 of its waits may have been before and after the slice.
        assert_eq!(stall(50, 1, true), (20, 30));
        // The waits of the other thread are not counted.
        assert_eq!(stall(50, 0, false), (0, 60));
    }

    /// A thread ran for 39 of the 40 ns. It has ended, and its waits are counted nowhere.
    #[test]
    fn a_slice_with_a_thread_that_has_ended_may_have_waited_whenever_it_is_off_the_cpu() {
        let times =
            SliceTimes { wall_ns: 100, cpu_ns: 40, round_trip_ns: 130, has_own_timer: false };
        let found = times.stall(CpuTimes { ran_ns: 1, waited_ns: 35 }, 2, true);
        assert_eq!(found, Stall { stalled_ns: 5, unclear_ns: 55, impossible_ns: 0 });
    }

    /// 100 of the 130 ns are timed; the 45 ns of CPU time cover all 130.
    #[test]
    fn a_benchmark_that_times_itself_may_have_waited_outside() {
        let times =
            SliceTimes { wall_ns: 100, cpu_ns: 45, round_trip_ns: 130, has_own_timer: true };
        let main = |waited_ns| CpuTimes { ran_ns: 45, waited_ns };
        let stall = |waited_ns, n_sleeps, is_single| {
            let found = times.stall(main(waited_ns), n_sleeps, is_single);
            (found.stalled_ns, found.unclear_ns)
        };
        // It was off the CPU for 85 ns, 30 of them perhaps outside.
        assert_eq!(stall(85, 0, true), (55, 30));
        assert_eq!(stall(10, 0, true), (10, 0));
        assert_eq!(stall(85, 1, true), (55, 30));
        // Nothing is outside: as with any other benchmark.
        let whole = SliceTimes { round_trip_ns: 100, ..times };
        let stalled = |stalled_ns, unclear_ns| Stall { stalled_ns, unclear_ns, impossible_ns: 0 };
        assert_eq!(whole.stall(main(55), 0, true), stalled(55, 0));
        // Waits before and after the call may make the sum longer than the call: nothing is taken from a short time.
        let short = SliceTimes { wall_ns: 1, cpu_ns: 20, round_trip_ns: 520, ..times };
        assert_eq!(short.stall(main(530), 0, true), stalled(0, 1));
        assert_eq!(short.stall(main(530), 1, true), stalled(0, 1));
        // More CPU time than wall time: the call does much outside.
        let outside = SliceTimes { cpu_ns: 400, round_trip_ns: 600, ..times };
        assert_eq!(outside.stall(main(90), 0, true), stalled(0, 90));
    }
}
