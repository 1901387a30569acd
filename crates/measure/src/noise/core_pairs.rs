//! Which CPUs slow each other? A thread on one CPU probes its core while a thread on the other is busy or asleep, in
//! turns, so the machine's own changes cancel.
#![expect(clippy::disallowed_methods, reason = "this is where the cores are measured")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{Builder, Scope, park, sleep};
use std::time::{Duration, Instant};

use stats::SortedSample;

use host::sys::{bind, probe_core};
use host::{CorePair, CorePairs, Host, pairs_to_measure, read_cpu_table};

/// Turns with the other CPU busy, and as many with it idle.
const TURNS: usize = 48;
/// Probes per turn; each takes some 12 µs.
const PROBES: usize = 5;
/// Pause between two turns, so a passing program does not affect all of them.
const PAUSE: Duration = Duration::from_millis(2);
/// A thread that does not run by then has no CPU.
const WAIT: Duration = Duration::from_millis(20);
/// Fewer turns say nothing.
const TURNS_MIN: usize = TURNS / 2;
/// Largest share of the second CPU that others may use: their work in idle turns hides the difference.
const BUSY_MAX: f64 = 0.3;
/// Two-sided 99 % quantile of the normal distribution.
const Z: f64 = 2.576;

/// The state of the other thread, as wished and as confirmed.
const IDLE: u32 = 0;
const BUSY: u32 = 1;

/// Measures all pairs of CPUs that the table calls separate cores, in some 120 ms a pair. `None` if this kind of CPU
/// cannot be probed.
pub fn measure_core_pairs(host: &Host) -> Option<CorePairs> {
    probe_core()?;
    let mut pairs = CorePairs::empty(host);
    for cpus in pairs_to_measure(&read_cpu_table(host, None)) {
        match measure(host, cpus) {
            Some(pair) => pairs.pairs.push(pair),
            None => pairs.busy.push(cpus),
        }
    }
    Some(pairs)
}

/// One pair. `None` with too few turns, or if others had the second CPU.
fn measure(host: &Host, cpus: [usize; 2]) -> Option<CorePair> {
    let before = UsedTime::read(host, cpus[1]);
    let ratios = ratios(cpus);
    let after = UsedTime::read(host, cpus[1]);
    if ratios.len() < TURNS_MIN || after?.busy_share_since(&before?) > BUSY_MAX {
        return None;
    }
    pair_of(cpus, &ratios)
}

/// The median of the ratios with its interval, by the ranks n/2 ± z √n/2 (Conover, Practical Nonparametric Statistics,
/// 3.2).
fn pair_of(cpus: [usize; 2], ratios: &[f64]) -> Option<CorePair> {
    let half = Z / 2.0 / (ratios.len() as f64).sqrt();
    let sorted = SortedSample::new(ratios).ok()?;
    let at = |p: f64| sorted.quantile(p.clamp(0.0, 1.0));
    Some(CorePair { cpus, slowdown: sorted.median(), interval: [at(0.5 - half), at(0.5 + half)] })
}

/// Time of the four chains, busy ÷ idle, by turn. Empty if threads cannot be made or bound.
fn ratios(cpus: [usize; 2]) -> Vec<f64> {
    let other = Other::default();
    std::thread::scope(|scope| {
        let prober = Builder::new().spawn_scoped(scope, || {
            bind(None, &[cpus[0]]).ok()?;
            let found = spawn_other(scope, &other, cpus[1]).map(|thread| {
                let ratios = take_turns(&other, &thread);
                other.is_over.store(true, Ordering::Release);
                thread.unpark();
                ratios
            });
            found.ok()
        });
        prober.ok().and_then(|prober| prober.join().ok().flatten()).unwrap_or_default()
    })
}

#[derive(Default)]
struct Other {
    wish: AtomicU32,
    state: AtomicU32,
    is_over: AtomicBool,
}

fn spawn_other<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    other: &'scope Other,
    cpu: usize,
) -> std::io::Result<std::thread::Thread> {
    let work = move || {
        if bind(None, &[cpu]).is_err() {
            return;
        }
        while !other.is_over.load(Ordering::Acquire) {
            if other.wish.load(Ordering::Acquire) == BUSY {
                other.state.store(BUSY, Ordering::Release);
                probe_core();
            } else {
                other.state.store(IDLE, Ordering::Release);
                park();
            }
        }
    };
    Ok(Builder::new().spawn_scoped(scope, work)?.thread().clone())
}

/// Busy and idle turns; which comes first alternates.
fn take_turns(other: &Other, thread: &std::thread::Thread) -> Vec<f64> {
    let turn = |wish: u32| -> Option<f64> {
        sleep(PAUSE / 2);
        other.wish.store(wish, Ordering::Release);
        thread.unpark();
        let start = Instant::now();
        while other.state.load(Ordering::Acquire) != wish {
            if start.elapsed() > WAIT {
                return None;
            }
            std::hint::spin_loop();
        }
        let probes = (0..PROBES).filter_map(|_| probe_core());
        let times = probes.map(|it| it.four_chains_ns as f64 / it.one_chain_ns.max(1) as f64);
        let is_kept = other.state.load(Ordering::Acquire) == wish;
        other.wish.store(IDLE, Ordering::Release);
        let times = times.collect::<Vec<f64>>();
        stats::median(&times).ok().filter(|_| is_kept)
    };
    let ratio = |index: usize| {
        let order = if index.is_multiple_of(2) { [BUSY, IDLE] } else { [IDLE, BUSY] };
        let (first, second) = (turn(order[0])?, turn(order[1])?);
        Some(if order[0] == BUSY { first / second } else { second / first })
    };
    (0..TURNS).filter_map(ratio).collect()
}

/// Time of a CPU since boot, in ticks (proc_stat(5)).
#[derive(Debug, PartialEq)]
struct UsedTime {
    idle: u64,
    all: u64,
}

impl UsedTime {
    fn read(host: &Host, cpu: usize) -> Option<Self> {
        let text = host.read("proc/stat")?;
        let name = format!("cpu{cpu}");
        let mut words = text.lines().map(str::split_ascii_whitespace);
        let words = words.find_map(|mut words| (words.next() == Some(&name)).then_some(words))?;
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let (&idle, &waiting) = (ticks.get(3)?, ticks.get(4)?);
        Some(Self { idle: idle + waiting, all: ticks.iter().sum() })
    }

    fn busy_share_since(&self, before: &Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        let idle = self.idle.saturating_sub(before.idle);
        if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    /// R 4.2.2: median(1:48 / 10) = 2.45; ranks 24 ± 2.576 √48 / 2 = 15.1 and 32.9.
    #[test]
    fn the_median_and_its_ranks() {
        let ratios: Vec<f64> = (1..=48).map(|it| f64::from(it) / 10.0).collect();
        let pair = pair_of([0, 1], &ratios).unwrap();
        assert_eq!(pair.slowdown, 2.45);
        assert!((1.5..1.6).contains(&pair.interval[0]), "{pair:?}");
        assert!((3.3..3.4).contains(&pair.interval[1]), "{pair:?}");
    }

    #[test]
    fn the_time_of_a_cpu() {
        let read = |idle: u64| {
            let text =
                format!("proc/stat = cpu 9 9 9 9 9 9 9 9 0 0\\ncpu1 10 0 10 {idle} 5 0 0 0 7 7\n");
            let (_directory, host) = expand(&text);
            assert_eq!(UsedTime::read(&host, 0), None);
            UsedTime::read(&host, 1).unwrap()
        };
        let (before, after) = (read(70), read(170));
        assert_eq!((before.idle, before.all), (75, 95));
        assert_eq!(after.busy_share_since(&before), 0.0);
        assert_eq!(before.busy_share_since(&before), 0.0);
        let busy = UsedTime { idle: 85, all: 135 };
        assert_eq!(busy.busy_share_since(&before), 0.75);
    }

    /// Both threads on one CPU: the other is never busy while the prober looks, or there are no turns.
    #[test]
    fn it_ends_on_one_cpu_too() {
        let cpu = host::sys::bound_cpus().unwrap()[0];
        assert!(ratios([cpu, cpu]).len() <= TURNS);
    }
}
