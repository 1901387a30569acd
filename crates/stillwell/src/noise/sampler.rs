//! The loop: on each CPU a thread that does nothing but read the clock. Whenever a turn takes longer than turns do, somebody
//! else had the CPU, and when and for how long is stored. Inside the loop there are no system calls, and no page faults of
//! its own.
#![expect(clippy::disallowed_methods, reason = "this is where the machine is watched")]

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context as _, Result, anyhow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{gettid, sched_getcpu};
use stats::Sorted;

use crate::measure::clock::monotonic_ns;
use crate::measure::interrupt::Interrupt;
use crate::noise::attribute::Pause;
use crate::noise::ticks::{Anchor, Clock, Scale};
use crate::sys;

/// Turns from which the threshold is found.
const TURNS: usize = 20_000;
/// A turn this many times longer than the median, and this many times the 99.9 % quantile, is a pause.
const MEDIANS: f64 = 4.0;
const TAILS: f64 = 2.0;
/// Pauses that are stored for each CPU, and for all of them together.
const PAUSES_MAX: usize = 1 << 20;
const PAUSES_MAX_ALL: usize = 1 << 24;
/// How often what is watched beside the loop is looked after.
const PERIOD: std::time::Duration = std::time::Duration::from_millis(200);

/// What to watch.
#[derive(Clone, Debug)]
pub struct Orders {
    /// On which CPUs.
    pub cpus: Vec<usize>,
    /// For how long.
    pub length_ns: u64,
    /// By which clock.
    pub clock: Clock,
}

/// What a loop saw.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Its CPU.
    pub cpu: usize,
    /// From when, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// For how long.
    pub length_ns: u64,
    /// Median turn, ns: what can be told apart.
    pub turn_ns: f64,
    /// Turns longer than this are pauses.
    pub threshold_ns: u64,
    /// They, in order.
    pub pauses: Vec<Pause>,
    /// Pauses that there was no room for, and their length.
    pub n_overflown: u64,
    /// Sum of their lengths.
    pub overflown_ns: u64,
    /// How often the clock went back.
    pub n_jumps_back: u64,
    /// Whether it ended on another CPU: its own was taken away.
    pub was_moved: bool,
    /// Time that the loop was ready and did not run, by schedstat.
    pub run_delay_ns: Option<u64>,
    /// Page faults of the loop; there should be none.
    pub n_faults: Option<u64>,
}

/// What is known of a loop before it starts.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its CPU.
    pub cpu: usize,
    /// Its thread id.
    pub thread: i32,
}

/// What the loops saw.
#[derive(Debug)]
pub struct Outcome {
    /// Each of them.
    pub watched: Vec<Watched>,
    /// CPUs that could not be watched, and why.
    pub refused: Vec<(usize, String)>,
    /// Whether ^C came before the time was over.
    pub was_interrupted: bool,
}

/// Watches CPUs. `prepare` is called when all loops are ready, and `look_after` from time to time while they run; both in
/// this thread.
///
/// # Errors
/// No CPU can be watched.
pub fn watch(
    orders: &Orders,
    interrupt: &Interrupt,
    prepare: impl FnOnce(&[Thread]),
    mut look_after: impl FnMut(),
) -> Result<Outcome> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut loops: Vec<Loop> = Vec::new();
    let mut refused = Vec::new();
    let barrier = Arc::new(Barrier::new(orders.cpus.len() + 1));
    for &cpu in &orders.cpus {
        loops.push(Loop::start(cpu, orders, &stop, &barrier)?);
    }
    let mut threads = Vec::new();
    for each in &loops {
        match each.ready.recv().context("a thread of the loop has ended")? {
            Ok(thread) => threads.push(thread),
            Err(why) => refused.push((each.cpu, why)),
        }
    }
    prepare(&threads);
    barrier.wait();
    for each in &loops {
        // One that was refused has ended.
        each.begun.recv().ok();
    }
    let deadline_ns = monotonic_ns() + orders.length_ns;
    while !threads.is_empty() && monotonic_ns() < deadline_ns && !stop.load(Ordering::Relaxed) {
        let left = std::time::Duration::from_nanos(deadline_ns.saturating_sub(monotonic_ns()));
        let wait = Timespec::try_from(left.min(PERIOD)).expect("200 ms fit");
        let mut fds = [PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for ^C"),
        }
        stop.store(interrupt.take(), Ordering::Relaxed);
        look_after();
    }
    let was_interrupted = stop.swap(true, Ordering::Relaxed);
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
    Ok(Outcome { watched, refused, was_interrupted })
}

/// A loop that is being started, or runs.
struct Loop {
    cpu: usize,
    ready: mpsc::Receiver<Result<Thread, String>>,
    /// Says when it is about to enter the loop: on a busy CPU long after it might have.
    begun: mpsc::Receiver<()>,
    handle: JoinHandle<Option<Watched>>,
}

impl Loop {
    fn start(
        cpu: usize,
        orders: &Orders,
        stop: &Arc<AtomicBool>,
        all: &Arc<Barrier>,
    ) -> Result<Self> {
        let (stop, all, orders) = (Arc::clone(stop), Arc::clone(all), orders.clone());
        let (sender, ready) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let body = move || {
            let pinned = pin_to(cpu);
            let is_pinned = pinned.is_ok();
            let mut pauses = room(PAUSES_MAX.min(PAUSES_MAX_ALL / orders.cpus.len().max(1)));
            let turns = is_pinned.then(|| turns(orders.clock));
            let thread = gettid().as_raw_nonzero().get();
            sender.send(pinned.map(|()| Thread { cpu, thread })).ok();
            all.wait();
            let turns = turns?;
            begin.send(()).ok();
            Some(turn_around(cpu, &orders, &stop, &turns, &mut pauses))
        };
        let name = format!("noise on CPU {cpu}");
        let handle = Builder::new().name(name).spawn(body).context("cannot make a thread")?;
        Ok(Self { cpu, ready, begun, handle })
    }
}

fn pin_to(cpu: usize) -> Result<(), String> {
    sys::bind(None, &[cpu]).map_err(|error| {
        format!("it is offline, or the cpuset of this control group does not allow it ({error})")
    })
}

/// Room for pauses, every page of it touched.
fn room(n: usize) -> Vec<(u64, u64)> {
    let mut room = vec![(1, 1); n];
    room.clear();
    room
}

/// What turns take when nothing happens, in ticks.
struct Turns {
    median: f64,
    threshold: u64,
}

fn turns(clock: Clock) -> Turns {
    let mut turns = vec![1.0; TURNS];
    let mut last = clock.ticks();
    for turn in &mut turns {
        let now = clock.ticks();
        *turn = now.saturating_sub(last) as f64;
        last = now;
    }
    let sorted = Sorted::new(&turns).expect("turns are finite, and there are some");
    let median = sorted.median();
    let threshold = (MEDIANS * median).max(TAILS * sorted.quantile(0.999)) as u64;
    Turns { median, threshold: threshold.max(1) }
}

/// Time ready and without a CPU; page faults of this thread.
fn own_counts() -> (Option<u64>, Option<u64>) {
    let field = |path, at: usize, after: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let text = text.rsplit_once(after).map_or(text.as_str(), |(_, rest)| rest);
        text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok()
    };
    let run_delay_ns = field("/proc/thread-self/schedstat", 1, "\n\n");
    // proc_pid_stat(5): minflt is the tenth field, the eighth after the name in parentheses.
    (run_delay_ns, field("/proc/thread-self/stat", 7, ") "))
}

fn turn_around(
    cpu: usize,
    orders: &Orders,
    stop: &AtomicBool,
    turns: &Turns,
    pauses: &mut Vec<(u64, u64)>,
) -> Watched {
    let before = own_counts();
    let start = Anchor::now(orders.clock);
    let seen = match orders.clock {
        Clock::Tsc => spin(|| Clock::Tsc.ticks(), stop, turns.threshold, pauses),
        Clock::Monotonic => spin(|| Clock::Monotonic.ticks(), stop, turns.threshold, pauses),
    };
    let end = Anchor::now(orders.clock);
    let after = own_counts();
    let scale = Scale::between(start, end);
    // By its ends: so that rounding makes no two overlap, and all of them no longer than the whole.
    let pause = |&(at, ticks): &(u64, u64)| {
        let start_ns = scale.at_ns(at);
        Pause { start_ns, length_ns: scale.at_ns(at + ticks) - start_ns }
    };
    let since = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Watched {
        cpu,
        start_ns: scale.at_ns(seen.first),
        length_ns: scale.at_ns(seen.last) - scale.at_ns(seen.first),
        turn_ns: turns.median * scale.ns(1_000_000) as f64 / 1e6,
        threshold_ns: scale.ns(turns.threshold),
        pauses: pauses.iter().map(pause).collect(),
        n_overflown: seen.n_overflown,
        overflown_ns: scale.ns(seen.overflown),
        n_jumps_back: seen.n_jumps_back,
        was_moved: sched_getcpu() != cpu,
        run_delay_ns: since(before.0, after.0),
        n_faults: since(before.1, after.1),
    }
}

/// What the loop itself says, in ticks.
#[derive(Debug, Default)]
struct Seen {
    first: u64,
    last: u64,
    n_overflown: u64,
    overflown: u64,
    n_jumps_back: u64,
}

/// The loop. Every tick of its time is in a turn, and every turn is short, or a pause.
fn spin(
    ticks: impl Fn() -> u64,
    stop: &AtomicBool,
    threshold: u64,
    pauses: &mut Vec<(u64, u64)>,
) -> Seen {
    let first = ticks();
    let mut seen = Seen { first, last: first, ..Seen::default() };
    while !stop.load(Ordering::Relaxed) {
        let now = ticks();
        let turn = now.wrapping_sub(seen.last);
        if turn > threshold {
            seen.pause(now, pauses);
        }
        seen.last = now.max(seen.last);
    }
    seen
}

impl Seen {
    #[cold]
    fn pause(&mut self, now: u64, pauses: &mut Vec<(u64, u64)>) {
        if now < self.last {
            self.n_jumps_back += 1;
        } else if pauses.len() < pauses.capacity() {
            pauses.push((self.last, now - self.last));
        } else {
            self.n_overflown += 1;
            self.overflown += now - self.last;
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::CpuSet;

    use super::*;
    use std::cell::Cell;

    /// A clock that shows these times, one after another, and then asks the loop to end.
    fn spun(times: &[u64], room: usize) -> (Seen, Vec<(u64, u64)>) {
        let (at, stop) = (Cell::new(0), AtomicBool::new(false));
        let ticks = || {
            let now = times[at.get()];
            at.set(at.get() + 1);
            stop.store(at.get() == times.len(), Ordering::Relaxed);
            now
        };
        let mut pauses = Vec::with_capacity(room);
        let seen = spin(ticks, &stop, 50, &mut pauses);
        (seen, pauses)
    }

    #[test]
    fn long_turns_are_pauses() {
        let (seen, pauses) = spun(&[100, 110, 160, 300, 310, 1_000], 8);
        assert_eq!(pauses, [(160, 140), (310, 690)]);
        assert_eq!((seen.first, seen.last, seen.n_overflown), (100, 1_000, 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (seen, pauses) = spun(&[0, 100, 200, 300, 300], 1);
        assert_eq!(pauses, [(0, 100)]);
        assert_eq!((seen.n_overflown, seen.overflown), (2, 200));
    }

    #[test]
    fn a_clock_that_goes_back_is_no_pause() {
        let (seen, pauses) = spun(&[1_000, 900, 1_010, 1_200], 8);
        assert_eq!((seen.n_jumps_back, pauses), (1, vec![(1_010, 190)]));
    }

    #[test]
    fn each_cpu_is_watched_and_one_that_does_not_exist_is_named() {
        let cpu = sched_getcpu();
        let interrupt = Interrupt::by_hand().0;
        let orders = |cpus| Orders { cpus, length_ns: 5_000_000, clock: Clock::Monotonic };
        let mut threads = Vec::new();
        // The second is beyond what a mask has room for.
        let missing = [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU];
        let Outcome { watched: found, refused, was_interrupted } = watch(
            &orders(vec![cpu, missing[0], missing[1]]),
            &interrupt,
            |all| threads = all.to_vec(),
            || (),
        )
        .unwrap();
        assert!(!was_interrupted);
        assert_eq!((found.len(), found[0].cpu, threads[0].cpu), (1, cpu, cpu));
        assert!(found[0].length_ns > 1_000_000 && !found[0].was_moved);
        let total: u64 = found[0].pauses.iter().map(|pause| pause.length_ns).sum();
        assert!(total <= found[0].length_ns);
        assert_eq!(refused.len(), 2);
        let error = watch(&orders(missing.into()), &interrupt, |_| (), || ()).unwrap_err();
        assert!(format!("{error:#}").contains("no CPU can be watched: it is offline"), "{error:#}");
    }

    /// ^C comes before the time is over; what was seen until then is there.
    #[test]
    fn it_can_be_ended() {
        let (interrupt, mut hand) = Interrupt::by_hand();
        let orders =
            Orders { cpus: vec![sched_getcpu()], length_ns: u64::MAX / 4, clock: Clock::Monotonic };
        let press = |_: &[Thread]| {
            use std::io::Write as _;
            hand.write_all(b"c").unwrap();
        };
        let found = watch(&orders, &interrupt, press, || ()).unwrap();
        assert_eq!((found.watched.len(), found.was_interrupted), (1, true));
    }
}
