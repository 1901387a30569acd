//! Finds the loops in a slice, the warm-up slices to leave out, and the number of slices worth taking from a process,
//! without knowing which arm is which.

use std::collections::BTreeMap;

use stats::two_level::{TwoLevel, two_level};
use stats::warmup::{prefix, steady_from};

use crate::clock::monotonic_ns;
use crate::slices::team::TeamWorker;
use crate::slices::{SliceError, SliceRunner};
use crate::worker::Slice;
use record::plan::workers::Workers;
use record::schedule::Step;
use record::{Event, ShortSlice};

/// Initial time for the slices of one process.
const PROCESS_NS: u64 = 25_000_000;
const SLICES_RANGE: std::ops::RangeInclusive<u64> = 5..=25;
/// Most slices worth taking from a process.
const SLICES_MAX: u32 = 50;
/// A process with longer slices has only one: many processes tell more than many slices.
const LONG_NS: u64 = 100_000_000;
/// From this length on, a slice is a large share of a process's time.
const LONGISH_NS: u64 = 50_000_000;
/// Generations needed to estimate the noise within and between processes.
const LEARNT_FROM: usize = 6;
/// Slices that are searched for the end of a warm-up, and the time limit. An interpreter with a JIT compiler takes longer.
const WARMUP_SLICES: [usize; 2] = [40, 400];
const WARMUP_NS: [u64; 2] = [300_000_000, 2_000_000_000];
/// Fewest slices that can show a warm-up.
const WARMUP_SLICES_MIN: usize = 8;
/// Most slices to leave out.
const WARMUPS_MAX: usize = 1000;
/// Smallest and largest factor by which one step of the search raises the number of loops.
const GROWTH: std::ops::RangeInclusive<f64> = 2.0..=10.0;
/// Tries per number of loops. The shortest slice counts, because other programs may have disturbed the others.
const TRIES: u32 = 3;
/// Longest slice of the slowest arm, as a multiple of the intended length. If arms differ by more, the fast arm's
/// slices are short, but such a ratio needs no precision.
const LONGER_MAX: u64 = 50;
const LOOPS_MAX: u64 = 1 << 40;
/// A slice is untimed if its answer took so much longer than the time in it: this time, and this multiple.
const UNTIMED_NS: u64 = 200_000_000;
const UNTIMED_MULTIPLE: u64 = 1000;
/// Untimed slices in a row that show a wrong clock. One may be a stopped process.
const UNTIMED_SLICES: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Pace {
    pub(super) loops: u64,
    pub(super) n_warmups: u32,
    pub(super) n_slices: u32,
    /// Logarithms of each process's times, by arm, while the noise is being estimated; then `None`.
    learning: Option<BTreeMap<usize, Vec<Vec<f64>>>>,
    launches_ns: Vec<u64>,
}

struct PaceTrial {
    per_loop_ns: f64,
    n_slices: usize,
    n_warmups: usize,
    is_steady: bool,
}

impl SliceRunner<'_> {
    /// Finds the pace of a benchmark: the loops from processes of their own, the warm-up from fresh ones. Their slices
    /// are in the record as warm-ups.
    pub(super) fn find_pace(&mut self, steps: &[Step]) -> Result<Pace, SliceError> {
        let loops = match self.workers.loops {
            Some(loops) => loops,
            None => self.find_loops(steps)?,
        };
        let mut team = self.team(steps)?;
        let mut tried = Vec::new();
        for member in &mut team.members {
            tried.push(self.try_out(member, loops)?);
        }
        let mut pace = Pace::of(self.workers, loops, &tried);
        let mut short = vec![None; tried.len()];
        let is_short = |it: &PaceTrial| it.per_loop_ns * (loops as f64) < LONG_NS as f64;
        if self.workers.is_slice_free() && tried.iter().all(is_short) {
            let (enough, found) = self.linear_loops(&mut team, pace.loops)?;
            short = found;
            if enough > pace.loops {
                pace = Pace::for_loops(self.workers, loops, enough, &tried);
            }
        }
        for (member, (found, short)) in team.members.iter_mut().zip(tried.iter().zip(short)) {
            self.note(member, found, loops, short)?;
        }
        team.quit()?;
        Ok(pace)
    }

    /// Finds the loops that make the fastest arm's slice long enough, unless the slowest arm's slice gets far too long.
    fn find_loops(&mut self, steps: &[Step]) -> Result<u64, SliceError> {
        let mut team = self.team(steps)?;
        let mut found = Vec::new();
        for member in &mut team.members {
            found.push(self.loops_of(member)?);
        }
        team.quit()?;
        let most = found.iter().copied().max().unwrap_or(1);
        let fewest = found.iter().copied().min().unwrap_or(1);
        Ok(most.min(fewest.saturating_mul(LONGER_MAX)))
    }

    fn loops_of(&mut self, member: &mut TeamWorker) -> Result<u64, SliceError> {
        let target_ns = self.workers.slice_ns as f64;
        let mut loops = 1;
        let (mut first_ns, mut n_untimed, mut showed_nothing) = (None, 0, false);
        loop {
            let slice = member.slice(loops)?;
            let mut least_ns = slice.busy_ns();
            // Measures once more before settling the number: a disturbed slice is too long.
            if least_ns >= target_ns && loops > 1 {
                for _ in 1..TRIES {
                    least_ns = least_ns.min(member.slice(loops)?.busy_ns());
                }
            }
            if least_ns >= target_ns || loops >= LOOPS_MAX {
                // The last step was large: go back to the number needed. A coarse clock showed nothing of fewer loops.
                // It shows something of twice as many, also if they get faster.
                let needed = (loops as f64 * target_ns / least_ns.max(1.0)).ceil();
                let enough = (needed as u64).clamp(1, loops);
                return Ok(if showed_nothing { (2 * loops).min(LOOPS_MAX) } else { enough });
            }
            showed_nothing = slice.wall_ns == 0;
            // More loops would take longer and longer, and never be enough.
            let first_ns = *first_ns.get_or_insert(slice.untimed_ns());
            n_untimed = if is_untimed(&slice, first_ns) { n_untimed + 1 } else { 0 };
            if n_untimed >= UNTIMED_SLICES {
                let failure = member.worker.far_too_short(loops, &slice);
                return Err(SliceError::Worker(member.arm, failure));
            }
            let growth =
                (target_ns / least_ns.max(1.0) * 1.1).clamp(*GROWTH.start(), *GROWTH.end());
            loops = (loops as f64 * growth).ceil() as u64;
        }
    }

    /// Runs a fresh process until its times are steady.
    fn try_out(&mut self, member: &mut TeamWorker, loops: u64) -> Result<PaceTrial, SliceError> {
        let jit = usize::from(member.is_jit);
        let started_ns = monotonic_ns();
        let mut times = Vec::new();
        while times.len() < WARMUP_SLICES[jit] && monotonic_ns() - started_ns < WARMUP_NS[jit] {
            times.push(self.slice_row(member, None, loops)?.max(1) as f64);
            if self.workers.n_warmup_slices.is_some() && times.len() >= WARMUP_SLICES_MIN {
                break;
            }
        }
        let steady = match stats::logs(&times) {
            Ok(logs) if times.len() >= WARMUP_SLICES_MIN => steady_slice(&logs),
            _ => Some(0),
        };
        let from = steady.unwrap_or(times.len() * 4 / 5);
        let rest = stats::SortedSample::new(&times[from.min(times.len() - 1)..]);
        Ok(PaceTrial {
            per_loop_ns: rest.map_or(1.0, |rest| rest.min()) / loops as f64,
            n_slices: times.len(),
            n_warmups: from,
            is_steady: steady.is_some(),
        })
    }

    /// Appends the worker's metadata and warm-up to the record.
    fn note(
        &mut self,
        member: &mut TeamWorker,
        tried: &PaceTrial,
        loops: u64,
        short: Option<ShortSlice>,
    ) -> Result<(), SliceError> {
        let arm = u32::try_from(member.arm).expect("arms are counted in u32");
        let told = member.worker.hello().map(|facts| facts.pairs.clone());
        let told = told.and_then(|facts| Ok([facts, member.worker.metadata()?].concat()));
        let values = told.map_err(|failure| SliceError::Worker(member.arm, failure))?;
        let n_threads = member.worker.n_threads();
        self.append_event(&Event::Worker {
            arm,
            loops,
            n_slices: u32::try_from(tried.n_slices).unwrap_or(u32::MAX),
            n_warmup_slices: u32::try_from(tried.n_warmups).unwrap_or(u32::MAX),
            is_steady: tried.is_steady,
            n_threads,
            short,
            values: values.into_iter().collect(),
        })
    }
}

/// Whether the answer took far longer than the time in it. `first_ns`: the untimed part of the first slice, which has
/// the setup of a slice too, but only one loop.
fn is_untimed(slice: &Slice, first_ns: u64) -> bool {
    let loops_ns = slice.untimed_ns().saturating_sub(first_ns.saturating_mul(2));
    loops_ns > UNTIMED_NS.max(slice.wall_ns.saturating_mul(UNTIMED_MULTIPLE))
}

/// The first slice at the level that stays. A few slow slices are too short for change points: they are the slices that
/// exceed nearly all later ones. One such slice occurs by chance.
fn steady_slice(logs: &[f64]) -> Option<usize> {
    let few = prefix(logs).ok().filter(|&n| n >= 2).unwrap_or(0);
    Some(steady_from(logs).ok().flatten()?.max(few))
}

impl Pace {
    fn of(workers: &Workers, loops: u64, tried: &[PaceTrial]) -> Self {
        let fastest_ns = tried.iter().map(|tried| tried.per_loop_ns).fold(f64::INFINITY, f64::min);
        // A compiler may have made the code faster since the loops were counted.
        let needed = (workers.slice_ns as f64 / fastest_ns.max(1e-3)).ceil() as u64;
        let slowest_ns = tried.iter().map(|tried| tried.per_loop_ns).fold(1e-3, f64::max);
        let bearable = (LONGER_MAX * workers.slice_ns) as f64 / slowest_ns;
        let most = loops.saturating_mul(1000).min(bearable as u64).max(loops);
        let wanted = workers.loops.unwrap_or_else(|| needed.clamp(loops, most));
        Self::for_loops(workers, loops, wanted, tried)
    }

    /// The pace with `wanted` loops in a slice, after a trial with slices of `loops`.
    fn for_loops(workers: &Workers, loops: u64, wanted: u64, tried: &[PaceTrial]) -> Self {
        let shown = tried.iter().map(|tried| tried.n_warmups).max().unwrap_or(0);
        // As many loops as the warm-up took, in slices of the new length; at least one slice to fill caches and inline
        // caches.
        let n_warmups = (shown as u64 * loops).div_ceil(wanted).clamp(1, WARMUPS_MAX as u64);
        let slice_ns = tried.iter().map(|tried| tried.per_loop_ns).sum::<f64>()
            / tried.len().max(1) as f64
            * wanted as f64;
        let n_slices = match slice_ns as u64 {
            ns if ns >= LONG_NS => 1,
            ns if ns >= LONGISH_NS => 2,
            ns => (PROCESS_NS / ns.max(1)).clamp(*SLICES_RANGE.start(), *SLICES_RANGE.end()),
        };
        // Long slices without a visible warm-up need none.
        let n_warmups = if slice_ns as u64 >= LONG_NS && shown == 0 { 0 } else { n_warmups };
        Self {
            loops: wanted,
            n_warmups: workers
                .n_warmup_slices
                .unwrap_or_else(|| u32::try_from(n_warmups).unwrap_or(u32::MAX)),
            n_slices: workers.n_slices.unwrap_or_else(|| u32::try_from(n_slices).unwrap_or(1)),
            learning: (workers.n_slices.is_none() && n_slices > 1).then(BTreeMap::new),
            launches_ns: Vec::new(),
        }
    }

    /// Learns from a generation: arm and times per loop of each process, and the cost of a launch. After a few
    /// generations it computes how many slices a process is worth (Kalibera & Jones 2013, section 5).
    pub(super) fn learn(&mut self, seen: &[(usize, Vec<f64>)], launch_ns: u64) {
        let Some(learning) = &mut self.learning else { return };
        for (arm, times) in seen {
            learning.entry(*arm).or_default().extend(stats::logs(times).ok());
        }
        self.launches_ns.push(launch_ns);
        if self.launches_ns.len() < LEARNT_FROM {
            return;
        }
        let launches = self.learning.take().unwrap_or_default();
        let mean_ns = self.launches_ns.iter().sum::<u64>() as f64 / self.launches_ns.len() as f64;
        let times: Vec<f64> = seen.iter().flat_map(|(_, times)| times).copied().collect();
        let slice_ns = stats::mean(&times).unwrap_or(1.0) * self.loops as f64;
        let warmups_ns = f64::from(self.n_warmups) * slice_ns;
        let cost_ratio = (mean_ns + warmups_ns) / slice_ns.max(1.0);
        if let Some(found) = pooled(&launches).and_then(|it| it.optimal_loops(cost_ratio).ok()) {
            let n_slices = u32::try_from(found).unwrap_or(SLICES_MAX);
            self.n_slices = n_slices.clamp(*SLICES_RANGE.start() as u32, SLICES_MAX);
        }
    }
}

/// The noise within and between an arm's processes, averaged over the arms. Differences between arms are not noise.
fn pooled(launches: &BTreeMap<usize, Vec<Vec<f64>>>) -> Option<TwoLevel> {
    let arms: Vec<TwoLevel> =
        launches.values().map(|launches| two_level(launches)).collect::<Result<_, _>>().ok()?;
    let mean =
        |of: fn(&TwoLevel) -> f64| stats::mean(&arms.iter().map(of).collect::<Vec<_>>()).ok();
    let (within, of_means) = (mean(|arm| arm.within)?, mean(|arm| arm.of_means)?);
    let n_slices = launches.values().next()?.first()?.len() as f64;
    let between = (of_means - within / n_slices).max(0.0);
    Some(TwoLevel { within, of_means, between })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers() -> Workers {
        Workers { slice_ns: 1_000_000, ..Workers::default() }
    }

    fn tried(per_loop_ns: f64, n_warmups: usize) -> PaceTrial {
        PaceTrial { per_loop_ns, n_slices: 40, n_warmups, is_steady: true }
    }

    #[test]
    fn a_compiled_loop_gets_more_loops_and_as_much_warmup() {
        // 100 ns at first, 1 ns once compiled, after 20 slices of 10 000 loops.
        let pace = Pace::of(&workers(), 10_000, &[tried(1.0, 20)]);
        assert_eq!((pace.loops, pace.n_warmups, pace.n_slices), (1_000_000, 1, 25));
        // An interpreter that stays as it was.
        let pace = Pace::of(&workers(), 10_000, &[tried(100.0, 0), tried(120.0, 3)]);
        assert_eq!((pace.loops, pace.n_warmups), (10_000, 3));
    }

    #[test]
    fn a_time_far_shorter_than_its_answer_took_is_no_time() {
        let untimed = |wall_ns, round_trip_ns, waited_ns, first_ns| {
            let slice = Slice { wall_ns, run_queue_wait_ns: waited_ns, ..slice(round_trip_ns) };
            is_untimed(&slice, first_ns)
        };
        assert!(untimed(0, 300_000_000, None, 10_000));
        assert!(untimed(10, 300_000_000, Some(50_000_000), 10_000));
        // A setup of a second, a wait for a CPU, and a benchmark that times a hundredth of its loops.
        assert!(!untimed(20_000, 1_400_000_000, None, 1_000_000_000));
        assert!(!untimed(20_000, 300_000_000, Some(200_000_000), 10_000));
        assert!(!untimed(3_000_000, 300_000_000, None, 10_000));
    }

    fn slice(round_trip_ns: u64) -> Slice {
        Slice {
            started_ns: 0,
            wall_ns: 0,
            cpu_ns: 0,
            counters: Vec::new(),
            run_queue_wait_ns: None,
            stall: None,
            voluntary_switches: None,
            involuntary_switches: None,
            maxrss_kib: None,
            cpu: None,
            round_trip_ns,
        }
    }

    #[test]
    fn a_few_slow_slices_and_a_long_compilation_are_both_seen() {
        let mut stream = stats::Stream::new(9);
        let mut logs = vec![5.0, 4.0, 3.0];
        logs.extend((0..37).map(|_| 1.0 + 0.02 * stream.unit()));
        assert_eq!(steady_slice(&logs), Some(3));
        let mut logs: Vec<f64> = (0..60).map(|_| 2.0 + 0.02 * stream.unit()).collect();
        logs.extend((0..140).map(|_| 1.0 + 0.02 * stream.unit()));
        assert_eq!(steady_slice(&logs), Some(60));
    }

    #[test]
    fn long_loops_are_taken_one_by_one() {
        let n = |ms: f64| {
            let pace = Pace::of(&workers(), 1, &[tried(ms * 1e6, 0)]);
            (pace.n_warmups, pace.n_slices)
        };
        assert_eq!(n(1.0), (1, 25));
        assert_eq!(n(3.0), (1, 8));
        assert_eq!(n(20.0), (1, 5));
        assert_eq!(n(200.0), (0, 1));
    }

    #[test]
    fn arms_of_different_worlds_share_few_loops() {
        // The fast arm alone would get 200 000 loops, which take the slow one 200 s.
        let pace = Pace::of(&workers(), 50, &[tried(5.0, 0), tried(1e6, 0)]);
        assert_eq!(pace.loops, 50);
    }

    #[test]
    fn what_was_said_is_done() {
        let said =
            Workers { loops: Some(7), n_slices: Some(3), n_warmup_slices: Some(0), ..workers() };
        let pace = Pace::of(&said, 7, &[tried(1.0, 5)]);
        assert_eq!((pace.loops, pace.n_warmups, pace.n_slices), (7, 0, 3));
        assert!(pace.learning.is_none());
    }

    #[test]
    fn noise_within_a_process_makes_it_worth_more_slices() {
        let learn = |within: f64, between: f64, slower: f64| {
            let mut pace = Pace::of(&workers(), 10_000, &[tried(100.0, 0)]);
            let mut stream = stats::Stream::new(4);
            for _ in 0..LEARNT_FROM {
                let process = |stream: &mut stats::Stream| -> Vec<f64> {
                    let level = 100.0 * (1.0 + between * stream.unit());
                    (0..25).map(|_| level * (1.0 + within * stream.unit())).collect()
                };
                let other = process(&mut stream).iter().map(|time| time * slower).collect();
                let seen = [(0, process(&mut stream)), (1, other)];
                pace.learn(&seen, 15_000_000);
            }
            pace.n_slices
        };
        assert_eq!(learn(0.001, 0.1, 1.0), 5);
        let noisy = learn(0.1, 0.0001, 1.0);
        assert!((20..=SLICES_MAX).contains(&noisy), "{noisy}");
        // One arm takes twice as long, which is not noise. Its slices cost more, so there are somewhat fewer.
        let uneven = learn(0.1, 0.0001, 2.0);
        assert!(2 * uneven > noisy, "{uneven} {noisy}");
    }
}
