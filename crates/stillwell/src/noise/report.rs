//! What was watched on each CPU → the report of `noise`. Pure.

use serde::Serialize;

use crate::host::Gap;
use crate::ledger::Ledger;
use crate::noise::counts::MachineCounts;
use crate::noise::cpu_noise::{CpuNoise, NoiseEvidence};
use crate::noise::osnoise::{Osnoise, OsnoiseComparison};
use crate::noise::ticks::LoopClock;
use crate::noise::verdict::MachineVerdict;

/// Everything that `noise` says.
#[derive(Clone, Debug, Serialize)]
pub struct NoiseReport {
    /// The clock.
    pub clock: ClockReport,
    /// What the parts are known from: the weakest, where CPUs differ.
    pub evidence: NoiseEvidence,
    /// Each CPU that was watched.
    pub cpus: Vec<CpuNoise>,
    /// All of them together.
    pub total: Ledger,
    /// The CPUs from which least was taken, the quietest first.
    pub quietest: Vec<usize>,
    /// What the kernel's own tracer said afterwards, where it was asked for.
    pub osnoise: Vec<Osnoise>,
    /// The same beside what the loops saw.
    pub beside: Vec<OsnoiseComparison>,
    /// The whole machine meanwhile.
    pub machine: MachineCounts,
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
    pub clock: LoopClock,
    /// The kernel's clock source.
    pub source: Option<String>,
    /// Times it went back, on any CPU.
    pub n_jumps_back: u64,
    /// Time that the machine slept meanwhile, ns.
    pub suspended_ns: u64,
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
    use crate::noise::counts::CpuCounts;
    use crate::noise::cpu_noise::{CpuMeasurements, of_cpu};
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
            CpuNoise { cpu, stolen_ns, was_moved, ..of_cpu(&known, false) }
        };
        let all = [cpu(0, 900, false), cpu(1, 100, false), cpu(2, 50, false), cpu(3, 7, true)];
        assert_eq!(quietest(&all), [2, 1]);
        assert_eq!(quietest(&[cpu(0, 100, false), cpu(1, 99, false)]), [0_usize; 0]);
    }
}
