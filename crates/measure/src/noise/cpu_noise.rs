//! The report of `noise` on one CPU. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use crate::noise::attribute::{Attribution, attribute, by_counts, by_delay, name_tasks};
use crate::noise::core_probes::CoreProbes;
use crate::noise::counts::{CpuCounts, MachineCounts};
use crate::noise::sampler::LoopObservation;
use crate::noise::ticks::LoopClock;
use crate::noise::trace::{Segment, Trace};
use crate::noise::tracer::CpuTraces;
use host::Gap;
use record::ledger::{Ledger, LedgerEntry, NoiseSource};
use stats::SortedSample;

/// Evidence for the entries of a ledger, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoiseEvidence {
    /// Tracepoints: every switch and every interrupt.
    Tracepoints,
    /// Switches of the loop; interrupts by their counts.
    Switches,
    /// Counts alone.
    Counts,
}

/// The noise of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuNoise {
    /// Number of the CPU.
    pub cpu: usize,
    /// Start of the observation, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// Length of the observation, ns.
    pub observed_ns: u64,
    /// Lost time: the part of the observed time in which the loop did not run, ns.
    pub stolen_ns: u64,
    /// Number of pauses.
    pub n_pauses: u64,
    /// Shortest pause that the loop can see, ns.
    pub threshold_ns: u64,
    /// Median turn of the loop, ns: its resolution.
    pub turn_ns: f64,
    /// Evidence for the ledger.
    pub evidence: NoiseEvidence,
    /// Median, 90 %, 99 % and 99.9 % quantile of the stored pauses, ns; `None` without a pause.
    pub quantiles_ns: Option<[f64; 4]>,
    /// Longest pause, ns.
    pub longest_ns: u64,
    /// Stored pauses by length: below each of [`EDGES_NS`] and not below the one before. The last count is above all
    /// edges.
    pub histogram: [u64; EDGES_NS.len() + 1],
    /// Lost share of each of `SLOTS` equal stretches of the time; `None` after the buffer of pauses is full.
    pub timeline: Vec<Option<f64>>,
    /// Lost time by source.
    pub ledger: Ledger,
    /// Number of pauses beyond the capacity of the buffer: their lengths are known, their times are not.
    pub n_overflown: u64,
    /// Whether the kernel moved the loop to another CPU, for instance because its own went offline.
    pub was_moved: bool,
    /// Run-queue delay of the loop by schedstat, ns.
    pub run_delay_ns: Option<u64>,
    /// Time off the CPU by the scheduler's switch records, ns; `None` if the kernel dropped some.
    pub switched_off_ns: Option<u64>,
    /// Page faults of the loop: none, unless the machine runs out of memory.
    pub n_faults: Option<u64>,
    /// Events of the evidence that the kernel dropped. With any, all entries are estimates.
    pub n_lost_events: u64,
    /// Probes of the core just before and after the loop.
    pub core: CoreProbes,
}

pub const EDGES_NS: [u64; 6] = [1_000, 3_000, 10_000, 100_000, 1_000_000, 10_000_000];

pub const SLOTS: usize = 60;

#[derive(Debug)]
pub struct CpuMeasurements<'a> {
    pub watched: &'a LoopObservation,
    pub seen: Option<&'a CpuTraces>,
    pub counted: CpuCounts,
}

pub fn combine(known: &CpuMeasurements<'_>, is_virtual: bool) -> CpuNoise {
    let watched = known.watched;
    let in_pauses_ns: u64 = watched.pauses.iter().map(|pause| pause.length_ns).sum();
    let lengths: Vec<f64> = watched.pauses.iter().map(|pause| pause.length_ns as f64).collect();
    let sorted = SortedSample::new(&lengths).ok();
    let stolen_ns = in_pauses_ns + watched.overflown_ns;
    let end_ns = watched.start_ns + watched.length_ns;
    let (evidence, trace) = known.evidence();
    let switches = known.switches().filter(|trace| trace.n_lost == 0);
    CpuNoise {
        cpu: watched.cpu,
        start_ns: watched.start_ns,
        observed_ns: watched.length_ns,
        stolen_ns,
        n_pauses: watched.pauses.len() as u64 + watched.n_overflown,
        threshold_ns: watched.threshold_ns,
        turn_ns: watched.turn_ns,
        quantiles_ns: sorted.as_ref().map(|all| [0.5, 0.9, 0.99, 0.999].map(|p| all.quantile(p))),
        longest_ns: watched
            .pauses
            .iter()
            .map(|pause| pause.length_ns)
            .fold(watched.longest_overflown_ns, u64::max),
        histogram: histogram(watched),
        timeline: timeline(watched),
        evidence,
        ledger: ledger(known, stolen_ns, end_ns, is_virtual),
        n_overflown: watched.n_overflown,
        was_moved: watched.was_moved,
        run_delay_ns: watched.run_delay_ns,
        n_faults: watched.n_faults,
        core: watched.core,
        switched_off_ns: switches.map(|trace| {
            let inside = |segment: &Segment| {
                let end_ns = segment.end_ns.min(end_ns);
                end_ns.saturating_sub(segment.start_ns.max(watched.start_ns))
            };
            trace.segments(end_ns).iter().map(inside).sum()
        }),
        n_lost_events: trace.map_or(0, |trace| trace.n_lost),
    }
}

impl CpuMeasurements<'_> {
    fn switches(&self) -> Option<&Trace> {
        self.seen.map(|seen| &seen.switches).filter(|trace| !trace.sources.is_empty())
    }

    /// The strongest available evidence, and its trace.
    fn evidence(&self) -> (NoiseEvidence, Option<&Trace>) {
        if let Some(points) = self.seen.and_then(|seen| seen.points.as_ref()) {
            (NoiseEvidence::Tracepoints, Some(points))
        } else if let Some(switches) = self.switches() {
            (NoiseEvidence::Switches, Some(switches))
        } else {
            (NoiseEvidence::Counts, None)
        }
    }
}

/// Time without a traced event counts as the host's only if the trace is complete.
fn ledger(known: &CpuMeasurements<'_>, stolen_ns: u64, end_ns: u64, is_virtual: bool) -> Ledger {
    let watched = known.watched;
    let (evidence, trace) = known.evidence();
    let mut parts = match (evidence, trace) {
        (NoiseEvidence::Tracepoints, Some(points)) => {
            attribute(&watched.pauses, points, end_ns, true).parts
        }
        (_, Some(switches)) => {
            by_scheduler(known, attribute(&watched.pauses, switches, end_ns, false))
        }
        (_, None) => {
            let ran_ns = || known.counted.ran.iter().map(|(_, ns)| ns).sum();
            let delay_ns = watched.run_delay_ns.unwrap_or_else(ran_ns);
            by_scheduler(known, by_delay(&watched.pauses, delay_ns))
        }
    };
    let has_lost = trace.is_some_and(|trace| trace.n_lost > 0);
    for part in &mut parts {
        // Without its end an interrupt seems too long; without its beginning it is missing.
        part.is_estimate |= has_lost;
    }
    // The kernel reports only the sum of these pauses, so they cannot be matched with other programs.
    parts.push(LedgerEntry::exact(NoiseSource::Unexplained, watched.overflown_ns.cast_signed()));
    // The hypervisor reports steal time in units of 10 ms. It gets at most the time without another source.
    let named_ns: i64 = parts.iter().map(|part| part.ns).sum();
    let steal_ns = known.counted.steal_ns.cast_signed().min(stolen_ns.cast_signed() - named_ns);
    if steal_ns > 0 {
        parts.push(LedgerEntry {
            is_estimate: true,
            ..LedgerEntry::exact(NoiseSource::Steal, steal_ns)
        });
    }
    let has_seen_all = evidence == NoiseEvidence::Tracepoints && !has_lost;
    let rest =
        if is_virtual && has_seen_all { NoiseSource::Host } else { NoiseSource::Unexplained };
    Ledger::new(stolen_ns.cast_signed(), parts, rest)
}

/// Entries from a trace of the scheduler alone: programs by CPU time, interrupts by counts.
fn by_scheduler(
    known: &CpuMeasurements<'_>,
    Attribution { mut parts, left_ns }: Attribution,
) -> Vec<LedgerEntry> {
    let others_ns: i64 = parts.iter().map(|part| part.ns).sum();
    let own = 1.0 - others_ns as f64 / known.watched.length_ns.max(1) as f64;
    name_tasks(&mut parts, &known.counted.ran);
    parts.extend(by_counts(&left_ns, &known.counted.interrupts, own.max(0.0)));
    parts
}

fn histogram(watched: &LoopObservation) -> [u64; EDGES_NS.len() + 1] {
    let mut counts = [0; EDGES_NS.len() + 1];
    for pause in &watched.pauses {
        counts[EDGES_NS.partition_point(|&edge| edge <= pause.length_ns)] += 1;
    }
    counts
}

fn timeline(watched: &LoopObservation) -> Vec<Option<f64>> {
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
    let last_ns = watched
        .pauses
        .last()
        .map_or(0, |pause| (pause.start_ns + pause.length_ns).saturating_sub(watched.start_ns));
    // More pauses follow the last stored one, at unknown times.
    let is_known =
        |slot: usize| watched.n_overflown == 0 || (slot + 1) as f64 * slot_ns <= last_ns as f64;
    stolen.into_iter().enumerate().map(|(slot, share)| is_known(slot).then_some(share)).collect()
}

/// The report of `noise`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NoiseReport {
    /// The clock of the loops.
    pub clock: ClockReport,
    /// Evidence for the entries: the weakest, if CPUs differ.
    pub evidence: NoiseEvidence,
    /// Each watched CPU.
    pub cpus: Vec<CpuNoise>,
    /// Sum over all CPUs.
    pub total: Ledger,
    /// The CPUs with the least lost time, the quietest first.
    pub quietest: Vec<usize>,
    /// Counts of the whole machine during the observation.
    pub machine: MachineCounts,
    /// Whether this is a virtual machine.
    pub is_virtual: bool,
    /// Facts that the machine does not provide, with reasons.
    pub gaps: Vec<Gap>,
}

/// The clock of the loop.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockReport {
    /// Kind of the clock.
    pub clock: LoopClock,
    /// The kernel's clock source.
    pub source: Option<String>,
    /// Backward steps, on any CPU.
    pub n_jumps_back: u64,
    /// Time of suspend during the observation, ns.
    pub suspended_ns: u64,
}

/// The CPUs with the least lost time: at most half of them, and only below 90 % of the noisiest CPU's share.
pub fn quietest(cpus: &[CpuNoise]) -> Vec<usize> {
    let share = |cpu: &CpuNoise| cpu.stolen_ns as f64 / cpu.observed_ns.max(1) as f64;
    let mut order: Vec<&CpuNoise> = cpus.iter().filter(|cpu| !cpu.was_moved).collect();
    order.sort_by(|a, b| share(a).total_cmp(&share(b)));
    let worst = order.last().map_or(0.0, |cpu| share(cpu));
    let quieter = order.iter().filter(|cpu| share(cpu) < 0.9 * worst);
    quieter.take(cpus.len().div_ceil(2)).map(|cpu| cpu.cpu).collect()
}

#[cfg(test)]
mod tests;
