//! The loop: on each CPU, one thread that only reads the clock. A turn far longer than usual is a pause: another
//! program, an interrupt or the host had the CPU. The loop stores start and length of each pause, without system calls
//! and page faults.
#![expect(clippy::disallowed_methods, reason = "this is where the machine is watched")]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context as _, Result, anyhow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{gettid, sched_getcpu};
use stats::SortedSample;

use crate::clock::monotonic_ns;
use crate::interrupt::Interrupt;
use crate::noise::attribute::Pause;
use crate::noise::core_probes::CoreProbes;
use crate::noise::ticks::{Anchor, LoopClock, Scale};
use crate::proc_counts::OwnCpuTimes;
use host::sys;
use model::words::reason;

/// Turns of the calibration that gives the threshold.
const TURNS: usize = 20_000;
/// A turn this many times longer than the median, and this many times the 99.9 % quantile, is a pause.
const MEDIANS: f64 = 4.0;
const TAILS: f64 = 2.0;
/// Most stored pauses, for each CPU and for all together.
const PAUSES_MAX: usize = 1 << 20;
const PAUSES_MAX_ALL: usize = 1 << 24;
/// Interval between two checks that all loops have begun.
const BEGINNING: std::time::Duration = std::time::Duration::from_millis(5);
/// Interval between two calls of `look_after`.
const PERIOD: std::time::Duration = std::time::Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub struct LoopObservation {
    pub cpu: usize,
    /// Start, CLOCK_MONOTONIC.
    pub start_ns: u64,
    pub length_ns: u64,
    /// Median turn, ns: the resolution.
    pub turn_ns: f64,
    /// Turns longer than this are pauses, ns.
    pub threshold_ns: u64,
    pub pauses: Vec<Pause>,
    /// Number of pauses beyond the capacity of the buffer.
    pub n_overflown: u64,
    pub overflown_ns: u64,
    pub longest_overflown_ns: u64,
    /// Number of backward steps of the clock.
    pub n_jumps_back: u64,
    /// Whether the loop ended on another CPU, because its own went offline or left its cpuset.
    pub was_moved: bool,
    pub run_delay_ns: Option<u64>,
    /// Page faults of the loop; 0 is expected.
    pub n_faults: Option<u64>,
    /// Probes of the core just before and after the loop.
    pub core: CoreProbes,
}

#[derive(Clone, Copy, Debug)]
pub struct LoopThread {
    pub cpu: usize,
    pub thread: i32,
}

#[derive(Debug)]
pub struct SamplerOutcome {
    pub watched: Vec<LoopObservation>,
    /// CPUs that could not be watched, with reasons.
    pub refused: Vec<(usize, String)>,
    pub was_interrupted: bool,
}

/// Watches CPUs for `length_ns`. Calls `prepare` when all loops are ready, and `look_after` every 200 ms while they run,
/// both in this thread. Errors: no CPU can be watched.
pub fn watch(
    cpus: &[usize],
    length_ns: u64,
    clock: LoopClock,
    interrupt: &Interrupt,
    prepare: impl FnOnce(&[LoopThread]),
    mut look_after: impl FnMut(),
) -> Result<SamplerOutcome> {
    let all = Arc::new(LoopControl {
        stop: AtomicBool::new(false),
        n_pinned: AtomicUsize::new(0),
        barrier: Barrier::new(cpus.len() + 1),
    });
    let mut loops: Vec<Loop> = Vec::new();
    let mut refused = Vec::new();
    for &cpu in cpus {
        loops.push(Loop::start(cpu, clock, &all)?);
    }
    let mut threads = Vec::new();
    for each in &loops {
        match each.pinned.recv().context("a thread of the loop has ended")? {
            Ok(thread) => threads.push(thread),
            Err(why) => refused.push((each.cpu, why)),
        }
    }
    all.n_pinned.store(threads.len(), Ordering::Relaxed);
    // Now the number of pinned loops is known: each allocates its buffer and measures its turns.
    all.barrier.wait();
    all.barrier.wait();
    prepare(&threads);
    all.barrier.wait();
    while !threads.is_empty() && !all.stop.load(Ordering::Relaxed) {
        let Some(left) = left(&loops, &threads, length_ns) else { break };
        let wait = Timespec::try_from(left.min(PERIOD)).expect("200 ms fit");
        let mut fds = [PollFd::new(interrupt, PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for ^C"),
        }
        all.stop.store(interrupt.take(), Ordering::Relaxed);
        look_after();
    }
    let was_interrupted = all.stop.swap(true, Ordering::Relaxed);
    let mut watched = Vec::new();
    for each in loops {
        let ended = each.handle.join().map_err(|_| anyhow!("a thread of the loop has crashed"))?;
        watched.extend(ended);
    }
    look_after();
    if watched.is_empty() {
        let why = refused.first().map_or("none was asked for", |(_, why)| why);
        return Err(anyhow!("no CPU can be watched: {why}"));
    }
    Ok(SamplerOutcome { watched, refused, was_interrupted })
}

/// Remaining time of the loops; `None` at the end. The time starts when the last loop has begun, which may be late on a
/// busy CPU.
fn left(loops: &[Loop], threads: &[LoopThread], length_ns: u64) -> Option<std::time::Duration> {
    let is_pinned = |each: &&Loop| threads.iter().any(|thread| thread.cpu == each.cpu);
    let begun = loops.iter().filter(is_pinned).map(|each| each.begun_ns.load(Ordering::Relaxed));
    // Zero: not yet.
    let last_ns = begun.reduce(|a, b| if a == 0 || b == 0 { 0 } else { a.max(b) })?;
    if last_ns == 0 {
        return Some(BEGINNING);
    }
    let left_ns = last_ns.saturating_add(length_ns).saturating_sub(monotonic_ns());
    (left_ns > 0).then(|| std::time::Duration::from_nanos(left_ns))
}

struct LoopControl {
    stop: AtomicBool,
    /// Number of loops that stay on their CPUs.
    n_pinned: AtomicUsize,
    barrier: Barrier,
}

struct Loop {
    cpu: usize,
    pinned: mpsc::Receiver<Result<LoopThread, String>>,
    /// Start of the loop; zero before.
    begun_ns: Arc<AtomicU64>,
    handle: JoinHandle<Option<LoopObservation>>,
}

impl Loop {
    fn start(cpu: usize, clock: LoopClock, all: &Arc<LoopControl>) -> Result<Self> {
        let all = Arc::clone(all);
        let (sender, pinned) = mpsc::channel();
        let begun_ns = Arc::new(AtomicU64::new(0));
        let begin = Arc::clone(&begun_ns);
        let body = move || {
            let pinned = pin_to(cpu);
            let is_pinned = pinned.is_ok();
            let thread = gettid().as_raw_nonzero().get();
            sender.send(pinned.map(|()| LoopThread { cpu, thread })).ok();
            all.barrier.wait();
            let n_pinned = all.n_pinned.load(Ordering::Relaxed);
            let ready =
                is_pinned.then(|| (room(room_of_each(n_pinned)), turns(clock), CoreProbes::take()));
            all.barrier.wait();
            all.barrier.wait();
            let (mut pauses, turns, core) = ready?;
            let seen = turn_around(cpu, clock, &all.stop, &begin, &turns, &mut pauses);
            Some(LoopObservation { core: core.plus(CoreProbes::take()), ..seen })
        };
        let name = format!("noise on CPU {cpu}");
        let handle = Builder::new().name(name).spawn(body).context("cannot make a thread")?;
        Ok(Self { cpu, pinned, begun_ns, handle })
    }
}

/// Capacity of each loop's buffer. A CPU that cannot be watched uses none of the total.
fn room_of_each(n_pinned: usize) -> usize {
    PAUSES_MAX.min(PAUSES_MAX_ALL / n_pinned.max(1))
}

fn pin_to(cpu: usize) -> Result<(), String> {
    sys::bind(None, &[cpu]).map_err(|error| {
        let error = reason(error);
        format!("it is offline, or the cpuset of this control group does not allow it ({error})")
    })
}

/// Buffer of pauses with every page touched.
fn room(n: usize) -> Vec<(u64, u64)> {
    let mut room = vec![(1, 1); n];
    room.clear();
    room
}

/// Length of a turn without a pause, in ticks.
struct TurnTimes {
    median: f64,
    threshold: u64,
}

fn turns(clock: LoopClock) -> TurnTimes {
    let mut turns = vec![1.0; TURNS];
    let mut last = clock.ticks();
    for turn in &mut turns {
        let now = clock.ticks();
        *turn = now.saturating_sub(last) as f64;
        last = now;
    }
    let sorted = SortedSample::new(&turns).expect("turns are finite, and there are some");
    let median = sorted.median();
    let threshold = (MEDIANS * median).max(TAILS * sorted.quantile(0.999)) as u64;
    TurnTimes { median, threshold: threshold.max(1) }
}

/// Run-queue delay so far, and the times before and after the reading.
#[derive(Clone, Copy, Debug)]
struct RunDelay {
    ns: Option<u64>,
    began_ns: u64,
    ended_ns: u64,
}

impl RunDelay {
    fn now() -> Self {
        let began_ns = monotonic_ns();
        let ns = OwnCpuTimes::open().and_then(|own| Some(own.waits()?.waited_ns));
        Self { ns, began_ns, ended_ns: monotonic_ns() }
    }
}

/// Longest time between the readings of the run-queue delay and of the clock, unless the thread loses the CPU in
/// between.
const BETWEEN_NS_MAX: u64 = 50_000;

/// Run-queue delay of the loop itself, without a wait between a reading and the loop.
fn delay_in_loop(before: RunDelay, after: RunDelay, start_ns: u64, end_ns: u64) -> Option<u64> {
    let all_ns = after.ns?.saturating_sub(before.ns?);
    let around = [start_ns.saturating_sub(before.ended_ns), after.began_ns.saturating_sub(end_ns)];
    let outside_ns: u64 = around.into_iter().filter(|&ns| ns > BETWEEN_NS_MAX).sum();
    Some(all_ns.saturating_sub(outside_ns).min(end_ns.saturating_sub(start_ns)))
}

fn n_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    // proc_pid_stat(5): minflt is the tenth field, the eighth after the name in parentheses.
    after_name.split_ascii_whitespace().nth(7)?.parse().ok()
}

fn turn_around(
    cpu: usize,
    clock: LoopClock,
    stop: &AtomicBool,
    begun_ns: &AtomicU64,
    turns: &TurnTimes,
    pauses: &mut Vec<(u64, u64)>,
) -> LoopObservation {
    let faults_before = n_faults();
    let before = RunDelay::now();
    let start = Anchor::now(clock);
    begun_ns.store(monotonic_ns(), Ordering::Relaxed);
    let seen = match clock {
        LoopClock::Tsc => spin(|| LoopClock::Tsc.ticks(), stop, turns.threshold, pauses),
        LoopClock::Monotonic => {
            spin(|| LoopClock::Monotonic.ticks(), stop, turns.threshold, pauses)
        }
    };
    let end = Anchor::now(clock);
    let after = RunDelay::now();
    let faults_after = n_faults();
    let scale = Scale::between(start, end);
    // Rounds both ends, not the length: no two pauses overlap, and their sum is at most the whole.
    let pause = |&(at, ticks): &(u64, u64)| {
        let start_ns = scale.at_ns(at);
        Pause { start_ns, length_ns: scale.at_ns(at + ticks) - start_ns }
    };
    let (start_ns, end_ns) = (scale.at_ns(seen.first), scale.at_ns(seen.last));
    LoopObservation {
        cpu,
        start_ns,
        length_ns: end_ns - start_ns,
        turn_ns: turns.median * scale.ns(1_000_000) as f64 / 1e6,
        threshold_ns: scale.ns(turns.threshold),
        pauses: pauses.iter().map(pause).collect(),
        n_overflown: seen.n_overflown,
        overflown_ns: scale.ns(seen.overflown),
        longest_overflown_ns: scale.ns(seen.longest_overflown),
        n_jumps_back: seen.n_jumps_back,
        was_moved: sched_getcpu() != cpu,
        run_delay_ns: delay_in_loop(before, after, start_ns, end_ns),
        n_faults: faults_before.zip(faults_after).map(|(before, after)| after - before),
        core: CoreProbes::default(),
    }
}

#[derive(Debug, Default)]
struct SpinResult {
    first: u64,
    last: u64,
    n_overflown: u64,
    overflown: u64,
    longest_overflown: u64,
    n_jumps_back: u64,
}

/// The loop. Every tick belongs to a turn, and every turn is short or a pause.
fn spin(
    ticks: impl Fn() -> u64,
    stop: &AtomicBool,
    threshold: u64,
    pauses: &mut Vec<(u64, u64)>,
) -> SpinResult {
    let first = ticks();
    let mut seen = SpinResult { first, last: first, ..SpinResult::default() };
    loop {
        // The clock is read once more at the end, so a pause during the last turn counts too.
        let is_over = stop.load(Ordering::Relaxed);
        let now = ticks();
        let turn = now.wrapping_sub(seen.last);
        if turn > threshold {
            seen.pause(now, pauses);
        }
        seen.last = now.max(seen.last);
        if is_over {
            return seen;
        }
    }
}

impl SpinResult {
    #[cold]
    fn pause(&mut self, now: u64, pauses: &mut Vec<(u64, u64)>) {
        if now < self.last {
            self.n_jumps_back += 1;
        } else if pauses.len() < pauses.capacity() {
            pauses.push((self.last, now - self.last));
        } else {
            self.n_overflown += 1;
            self.overflown += now - self.last;
            self.longest_overflown = self.longest_overflown.max(now - self.last);
        }
    }
}

#[cfg(test)]
mod tests;
