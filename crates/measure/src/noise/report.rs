//! The report of `noise` on all CPUs. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use crate::noise::counts::MachineCounts;
use crate::noise::cpu_noise::{CpuNoise, NoiseEvidence};
use crate::noise::ticks::LoopClock;
use host::Gap;
use record::ledger::Ledger;

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
mod tests {
    use super::*;
    use crate::noise::counts::CpuCounts;
    use crate::noise::cpu_noise::{CpuMeasurements, combine};
    use crate::noise::registers;
    use crate::noise::sampler::LoopObservation;

    #[test]
    fn the_quietest_are_named_only_if_they_differ() {
        let cpu = |cpu, stolen_ns, was_moved| {
            let watched = LoopObservation::default();
            let known = CpuMeasurements {
                watched: &watched,
                seen: None,
                counted: CpuCounts::default(),
                registers: registers::RegisterCounts::default(),
            };
            CpuNoise { cpu, stolen_ns, was_moved, ..combine(&known, false) }
        };
        let all = [cpu(0, 900, false), cpu(1, 100, false), cpu(2, 50, false), cpu(3, 7, true)];
        assert_eq!(quietest(&all), [2, 1]);
        assert_eq!(quietest(&[cpu(0, 100, false), cpu(1, 99, false)]), [0_usize; 0]);
    }
}
