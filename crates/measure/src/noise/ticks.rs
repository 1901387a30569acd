//! The clock of the loop: the TSC if it is reliable, otherwise the kernel's clock.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::monotonic_ns;
use host::Host;

/// A clock that the loop can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopClock {
    /// The time stamp counter.
    Tsc,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

impl LoopClock {
    /// Uses the TSC if the kernel keeps time by it, and the CPU guarantees that it always runs at one rate.
    pub fn choose(host: &Host) -> Self {
        let source = host.read("sys/devices/system/clocksource/clocksource0/current_clocksource");
        let cpuinfo = host.read("proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
        let is_steady = has("constant_tsc") && has("nonstop_tsc");
        if cfg!(target_arch = "x86_64") && source.as_deref() == Some("tsc") && is_steady {
            Self::Tsc
        } else {
            Self::Monotonic
        }
    }

    /// Reads the clock. Two anchors give the unit.
    pub fn ticks(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => host::sys::read_cycle_counter(),
            _ => monotonic_ns(),
        }
    }
}

/// Readings of both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    pub ticks: u64,
    /// CLOCK_MONOTONIC, the clock of the traces.
    pub monotonic_ns: u64,
}

/// Readings for an anchor. The shortest one had no interruption between its two clocks.
const TRIES: usize = 9;

impl Anchor {
    pub fn now(clock: LoopClock) -> Self {
        let take = |_| {
            let before = clock.ticks();
            let monotonic_ns = monotonic_ns();
            let width = clock.ticks() - before;
            (width, Self { ticks: before + width / 2, monotonic_ns })
        };
        let shortest = (0..TRIES).map(take).min_by_key(|(width, _)| *width);
        shortest.expect("there are tries").1
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    start: Anchor,
    ns_per_tick: f64,
}

impl Scale {
    /// The rate comes from CLOCK_MONOTONIC, which network time speeds up or slows down. With any other rate, pauses and
    /// traced events would drift apart within seconds.
    pub fn between(start: Anchor, end: Anchor) -> Self {
        let ticks = (end.ticks - start.ticks).max(1) as f64;
        Self { start, ns_per_tick: (end.monotonic_ns - start.monotonic_ns) as f64 / ticks }
    }

    pub fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick).round() as u64
    }

    /// The CLOCK_MONOTONIC time of a tick.
    pub fn at_ns(&self, ticks: u64) -> u64 {
        let since_ns = (ticks as f64 - self.start.ticks as f64) * self.ns_per_tick;
        self.start.monotonic_ns.saturating_add_signed(since_ns.round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_times() {
        let anchor = |ticks, monotonic_ns| Anchor { ticks, monotonic_ns };
        let scale = Scale::between(anchor(1_000, 500), anchor(21_000, 10_500));
        assert_eq!((scale.ns(4_000), scale.at_ns(3_000), scale.at_ns(900)), (2_000, 1_500, 450));
        // A clock that runs 500 ppm faster: loop and trace end together.
        let end = anchor(10_000_001_000, 10_005_000_500);
        let scale = Scale::between(anchor(1_000, 500), end);
        assert_eq!(scale.at_ns(end.ticks), end.monotonic_ns);
    }

    #[test]
    fn the_counter_is_used_where_the_kernel_trusts_it() {
        let check = |source: &str, flags: &str| {
            let files = format!(
                "sys/devices/system/clocksource/clocksource0/current_clocksource = {source}\n\
                 proc/cpuinfo = flags\\t\\t: fpu {flags}\n"
            );
            let (_directory, host) = host::expand(&files);
            LoopClock::choose(&host)
        };
        let steady = "constant_tsc nonstop_tsc";
        let counter =
            if cfg!(target_arch = "x86_64") { LoopClock::Tsc } else { LoopClock::Monotonic };
        assert_eq!(check("tsc", steady), counter);
        assert_eq!(check("hpet", steady), LoopClock::Monotonic);
        assert_eq!(check("tsc", "constant_tsc"), LoopClock::Monotonic);
    }
}
