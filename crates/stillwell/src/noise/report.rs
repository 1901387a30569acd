//! What was watched on each CPU → the report of `noise`. Pure.

use serde::Serialize;
use stats::Sorted;

use crate::host::Gap;
use crate::noise::attribute::{Attributed, attribute, by_counts, name_tasks};
use crate::noise::counts::{Counted, Machine};
use crate::noise::ledger::Ledger;
use crate::noise::osnoise::{Beside, Osnoise};
use crate::noise::registers;
use crate::noise::sampler::Watched;
use crate::noise::ticks::Clock;
use crate::noise::trace::Segment;
use crate::noise::tracer::Seen;
use crate::noise::verdict::MachineVerdict;
use crate::noise::{Entry, Source};

/// Everything that `noise` says.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The clock.
    pub clock: ClockReport,
    /// What the parts are known from.
    pub evidence: Evidence,
    /// Each CPU that was watched.
    pub cpus: Vec<CpuNoise>,
    /// All of them together.
    pub total: Ledger,
    /// The CPUs from which least was taken, the quietest first.
    pub quietest: Vec<usize>,
    /// What the kernel's own tracer said afterwards, where it was asked for.
    pub osnoise: Vec<Osnoise>,
    /// The same beside what the loops saw.
    pub beside: Vec<Beside>,
    /// The whole machine meanwhile.
    pub machine: Machine,
    /// Whether this is a virtual machine.
    pub is_virtual: bool,
    /// What the machine cannot say, and why.
    pub gaps: Vec<Gap>,
    /// What a comparison could see here; `None` when it was not asked for, or could not be measured.
    pub verdict: Option<MachineVerdict>,
}

/// How times were read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockReport {
    /// By what.
    pub clock: Clock,
    /// The kernel's clock source.
    pub source: Option<String>,
    /// Times it went back, on any CPU.
    pub n_jumps_back: u64,
    /// Time that the machine slept meanwhile, ns.
    pub suspended_ns: u64,
}

/// What parts of a ledger are known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Tracepoints: every switch and every interrupt.
    Tracepoints,
    /// Switches of the loop; interrupts by their counts.
    Switches,
    /// Counts alone.
    Counts,
}

/// One CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuNoise {
    /// Its number.
    pub cpu: usize,
    /// From when it was watched, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// For how long, ns.
    pub observed_ns: u64,
    /// How much of that the loop did not have, ns.
    pub stolen_ns: u64,
    /// In how many pauses.
    pub n_pauses: u64,
    /// The shortest that was seen, ns.
    pub threshold_ns: u64,
    /// Median turn of the loop, ns: what can be told apart.
    pub turn_ns: f64,
    /// Median, 90 %, 99 % and 99.9 % quantile of the pauses, ns; `None` when there are none.
    pub quantiles_ns: Option<[f64; 4]>,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many pauses were below each of [`EDGES_NS`], and not below the one before; the last is those above all.
    pub histogram: [u64; EDGES_NS.len() + 1],
    /// Share that was stolen of each of [`SLOTS`] equal stretches of the time.
    pub timeline: Vec<f64>,
    /// Where it went.
    pub ledger: Ledger,
    /// Pauses that there was no room for: their length is known, and not when they were.
    pub n_overflown: u64,
    /// Whether the CPU was taken away from the loop for good.
    pub was_moved: bool,
    /// Time that the loop was ready without a CPU, by schedstat, ns.
    pub run_delay_ns: Option<u64>,
    /// The same by the scheduler's switch records, ns.
    pub switched_off_ns: Option<u64>,
    /// Page faults of the loop: none, unless the machine runs out of memory.
    pub n_faults: Option<u64>,
    /// Events that the kernel had to drop.
    pub n_lost_events: u64,
    /// Its clock while the loop ran, as a multiple of the nominal one.
    pub clock_ratio: Option<f64>,
    /// Times that the firmware took it over while the loop ran: a pause each that the kernel does not see.
    pub n_firmware: Option<u64>,
}

/// Upper edges of the histogram of pauses, ns.
pub const EDGES_NS: [u64; 6] = [1_000, 3_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Stretches of the timeline.
pub const SLOTS: usize = 60;

/// What is known of one CPU.
#[derive(Debug)]
pub struct OfCpu<'a> {
    /// By its loop.
    pub watched: &'a Watched,
    /// By perf events.
    pub seen: Option<&'a Seen>,
    /// By the kernel's counts.
    pub counted: Counted,
    /// By registers of the CPU.
    pub registers: registers::Counted,
}

/// Puts together what is known of a CPU.
pub fn of_cpu(known: &OfCpu<'_>, is_virtual: bool) -> CpuNoise {
    let watched = known.watched;
    let in_pauses_ns: u64 = watched.pauses.iter().map(|pause| pause.length_ns).sum();
    let lengths: Vec<f64> = watched.pauses.iter().map(|pause| pause.length_ns as f64).collect();
    let sorted = Sorted::new(&lengths).ok();
    let stolen_ns = in_pauses_ns + watched.overflown_ns;
    let end_ns = watched.start_ns + watched.length_ns;
    let seen = known.seen;
    let switches = seen.filter(|seen| !seen.switches.sources.is_empty()).map(|seen| &seen.switches);
    CpuNoise {
        cpu: watched.cpu,
        start_ns: watched.start_ns,
        observed_ns: watched.length_ns,
        stolen_ns,
        n_pauses: watched.pauses.len() as u64 + watched.n_overflown,
        threshold_ns: watched.threshold_ns,
        turn_ns: watched.turn_ns,
        quantiles_ns: sorted.as_ref().map(|all| [0.5, 0.9, 0.99, 0.999].map(|p| all.quantile(p))),
        longest_ns: watched.pauses.iter().map(|pause| pause.length_ns).max().unwrap_or(0),
        histogram: histogram(watched),
        timeline: timeline(watched),
        ledger: ledger(known, stolen_ns, end_ns, is_virtual),
        n_overflown: watched.n_overflown,
        was_moved: watched.was_moved,
        run_delay_ns: watched.run_delay_ns,
        n_faults: watched.n_faults,
        switched_off_ns: switches.map(|trace| {
            let inside = |segment: &Segment| {
                let end_ns = segment.end_ns.min(end_ns);
                end_ns.saturating_sub(segment.start_ns.max(watched.start_ns))
            };
            trace.segments(end_ns).iter().map(inside).sum()
        }),
        n_lost_events: seen.map_or(0, |seen| {
            seen.switches.n_lost + seen.points.as_ref().map_or(0, |points| points.n_lost)
        }),
        clock_ratio: known.registers.clock_ratio,
        n_firmware: known.registers.n_firmware,
    }
}

fn ledger(known: &OfCpu<'_>, stolen_ns: u64, end_ns: u64, is_virtual: bool) -> Ledger {
    let pauses = &known.watched.pauses;
    let rest = if is_virtual { Source::Host } else { Source::Unexplained };
    let points = known.seen.and_then(|seen| seen.points.as_ref());
    let mut parts = if let Some(points) = points {
        attribute(pauses, points, end_ns, true).parts
    } else {
        let empty = Seen::default();
        let switches = &known.seen.unwrap_or(&empty).switches;
        let Attributed { mut parts, left_ns } = attribute(pauses, switches, end_ns, false);
        name_tasks(&mut parts, &known.counted.ran);
        parts.extend(by_counts(&left_ns, &known.counted.interrupts));
        parts
    };
    // The hypervisor's own word, in units of 10 ms; at most what nobody else had.
    let named_ns: i64 = parts.iter().map(|part| part.ns).sum();
    let steal_ns = known.counted.steal_ns.cast_signed().min(stolen_ns.cast_signed() - named_ns);
    if steal_ns > 0 {
        parts.push(Entry { is_estimate: true, ..Entry::exact(Source::Steal, steal_ns) });
    }
    Ledger::new(stolen_ns.cast_signed(), parts, rest)
}

fn histogram(watched: &Watched) -> [u64; EDGES_NS.len() + 1] {
    let mut counts = [0; EDGES_NS.len() + 1];
    for pause in &watched.pauses {
        counts[EDGES_NS.partition_point(|&edge| edge <= pause.length_ns)] += 1;
    }
    counts
}

fn timeline(watched: &Watched) -> Vec<f64> {
    let slot_ns = (watched.length_ns as f64 / SLOTS as f64).max(1.0);
    let mut stolen = vec![0.0; SLOTS];
    for pause in &watched.pauses {
        let (mut at, end) = {
            let start = pause.start_ns.saturating_sub(watched.start_ns) as f64;
            (start, start + pause.length_ns as f64)
        };
        while at < end {
            let slot = ((at / slot_ns) as usize).min(SLOTS - 1);
            let until = if slot == SLOTS - 1 { end } else { end.min((slot + 1) as f64 * slot_ns) };
            stolen[slot] += (until - at) / slot_ns;
            if until <= at {
                break;
            }
            at = until;
        }
    }
    stolen
}

/// The CPUs from which least was taken: the half of them, but those only that differ from the noisiest.
pub fn quietest(cpus: &[CpuNoise]) -> Vec<usize> {
    let share = |cpu: &CpuNoise| cpu.stolen_ns as f64 / cpu.observed_ns.max(1) as f64;
    let mut order: Vec<&CpuNoise> = cpus.iter().filter(|cpu| !cpu.was_moved).collect();
    order.sort_by(|a, b| share(a).total_cmp(&share(b)));
    let worst = order.last().map_or(0.0, |cpu| share(cpu));
    let quieter = order.iter().filter(|cpu| share(cpu) < 0.9 * worst);
    quieter.take(cpus.len().div_ceil(2)).map(|cpu| cpu.cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::attribute::Pause;
    use crate::noise::trace::{Event, Trace, What};

    fn watched(pauses: &[(u64, u64)]) -> Watched {
        Watched {
            cpu: 1,
            start_ns: 1_000_000,
            length_ns: 60_000_000,
            turn_ns: 15.0,
            threshold_ns: 100,
            pauses: pauses
                .iter()
                .map(|&(start_ns, length_ns)| Pause { start_ns, length_ns })
                .collect(),
            n_overflown: 2,
            overflown_ns: 5_000,
            run_delay_ns: Some(1_500_000),
            ..Watched::default()
        }
    }

    fn ns_of(noise: &CpuNoise, source: &Source) -> i64 {
        noise
            .ledger
            .entries
            .iter()
            .find(|entry| entry.source == *source)
            .map_or(0, |entry| entry.ns)
    }

    #[test]
    fn a_cpu_without_rights() {
        let others = Trace {
            events: vec![
                Event { time_ns: 2_000_000, what: What::Switch(Some(0)) },
                Event { time_ns: 3_500_000, what: What::Switch(None) },
            ],
            sources: vec![Source::Preempted],
            n_lost: 0,
        };
        let seen = Seen { cpu: 1, switches: others, points: None };
        let counted = Counted {
            interrupts: vec![(Source::Interrupt { line: "LOC".into() }, 3)],
            ran: vec![("cc1".into(), 9_000_000)],
            ..Counted::default()
        };
        let watched = watched(&[
            (1_500_000, 2_000),
            (1_990_000, 1_515_000),
            (5_000_000, 3_000),
            (9_000_000, 2_000),
        ]);
        let found = of_cpu(
            &OfCpu {
                watched: &watched,
                seen: Some(&seen),
                counted,
                registers: registers::Counted::default(),
            },
            true,
        );
        assert_eq!(found.stolen_ns, 1_522_000 + 5_000);
        assert_eq!(ns_of(&found, &Source::Task { name: "cc1".into() }), 1_500_000);
        // Pauses of 2, 15, 3 and 2 µs are left: three ticks of the median, 2.5.
        assert_eq!(ns_of(&found, &Source::Interrupt { line: "LOC".into() }), 7_500);
        assert_eq!(ns_of(&found, &Source::Host), 1_527_000 - 1_507_500);
        assert_eq!((found.switched_off_ns, found.n_pauses), (Some(1_500_000), 6));
        assert_eq!(found.histogram, [0, 2, 1, 0, 0, 1, 0]);
        assert!((found.timeline.iter().sum::<f64>() - 1.522).abs() < 1e-9, "{:?}", found.timeline);
    }

    #[test]
    fn a_cpu_with_tracepoints_and_steal() {
        let tick = Source::Interrupt { line: "LOC".into() };
        let points = Trace {
            events: vec![
                Event { time_ns: 2_000_000, what: What::Enter(0) },
                Event { time_ns: 2_003_000, what: What::Exit(0) },
            ],
            sources: vec![tick.clone()],
            n_lost: 3,
        };
        let seen = Seen { cpu: 1, switches: Trace::default(), points: Some(points) };
        let counted = Counted { steal_ns: 10_000_000, ..Counted::default() };
        let watched = watched(&[(1_999_500, 4_000), (7_000_000, 30_000_000)]);
        let found = of_cpu(
            &OfCpu {
                watched: &watched,
                seen: Some(&seen),
                counted,
                registers: registers::Counted::default(),
            },
            false,
        );
        assert_eq!((ns_of(&found, &tick), ns_of(&found, &Source::Crossing)), (3_000, 1_000));
        assert_eq!(ns_of(&found, &Source::Steal), 10_000_000);
        assert_eq!(ns_of(&found, &Source::Unexplained), 20_005_000);
        assert_eq!((found.n_lost_events, found.switched_off_ns), (3, None));
    }

    #[test]
    fn the_quietest_are_named_only_if_they_differ() {
        let cpu = |cpu, stolen_ns, was_moved| {
            let watched = watched(&[]);
            let known = OfCpu {
                watched: &watched,
                seen: None,
                counted: Counted::default(),
                registers: registers::Counted::default(),
            };
            CpuNoise { cpu, stolen_ns, was_moved, ..of_cpu(&known, false) }
        };
        let all = [cpu(0, 900, false), cpu(1, 100, false), cpu(2, 50, false), cpu(3, 7, true)];
        assert_eq!(quietest(&all), [2, 1]);
        assert_eq!(quietest(&[cpu(0, 100, false), cpu(1, 99, false)]), [0_usize; 0]);
    }
}
