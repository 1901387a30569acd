//! One observation of `noise`: loops on the CPUs, with all evidence that the machine provides.

use anyhow::Result;

use crate::clock::{boottime_ns, monotonic_ns};
use crate::interrupt::Interrupt;
use crate::noise::counts::KernelCounts;
use crate::noise::cpu_noise::{
    ClockReport, CpuMeasurements, NoiseEvidence, NoiseReport, combine, quietest,
};
use crate::noise::sampler::{self, LoopObservation};
use crate::noise::ticks::LoopClock;
use crate::noise::tracer::Tracer;
use host::{self, Gap, Host};
use model::prose::prose;

#[derive(Clone, Debug)]
pub struct NoiseRequest {
    pub cpus: Vec<usize>,
    pub length_ns: u64,
    /// Whether tracepoints may be used.
    pub points: bool,
}

#[derive(Debug)]
pub struct NoiseResult {
    pub report: NoiseReport,
    pub watched: Vec<LoopObservation>,
    pub was_interrupted: bool,
}

/// How long CPUs are watched to find the quietest ones.
const SHORT_NS: u64 = 300_000_000;

/// The CPUs that currently lose the least time, the quietest first; none if all are alike. Errors: no CPU can be
/// watched.
pub fn quietest_of(host: &Host, cpus: Vec<usize>, interrupt: &Interrupt) -> Result<Vec<usize>> {
    let request = NoiseRequest { cpus, length_ns: SHORT_NS, points: false };
    Ok(watch(host, &request, interrupt, || ())?.report.quietest)
}

/// Watches the CPUs. Calls `look` every 200 ms. Errors: no CPU can be watched.
pub fn watch(
    host: &Host,
    request: &NoiseRequest,
    interrupt: &Interrupt,
    mut look: impl FnMut(),
) -> Result<NoiseResult> {
    let facts = host::look(host).facts;
    let clock = LoopClock::choose(host);
    let tracer = std::cell::RefCell::new(Tracer::default());
    let mut gaps = Vec::new();
    let mut before = KernelCounts::default();
    let slept_ns = || boottime_ns().saturating_sub(monotonic_ns());
    let slept_before_ns = slept_ns();
    let prepare = |threads: &[sampler::LoopThread]| {
        let (opened, missing) = Tracer::open(threads, host, request.points);
        *tracer.borrow_mut() = opened;
        gaps = missing;
        before = KernelCounts::read(host, &request.cpus);
    };
    let sampler::SamplerOutcome { watched, refused, was_interrupted } =
        sampler::watch(&request.cpus, request.length_ns, clock, interrupt, prepare, || {
            tracer.borrow_mut().drain();
            look();
        })?;
    let after = KernelCounts::read(host, &request.cpus);
    gaps.extend(refused.into_iter().map(not_watched));
    let seen = tracer.into_inner().finish();
    let is_virtual = facts.virtualisation.is_some();
    let own = std::process::id();
    let cpus: Vec<_> = watched
        .iter()
        .map(|watched| {
            let seen = seen.iter().find(|seen| seen.cpu == watched.cpu);
            let counted = after.since(&before, watched.cpu, own);
            combine(&CpuMeasurements { watched, seen, counted }, is_virtual)
        })
        .collect();
    let ledgers = cpus.iter().map(|cpu| cpu.ledger.clone());
    let total = ledgers.reduce(|sum, ledger| sum.plus(&ledger)).unwrap_or_default();
    let report = NoiseReport {
        clock: ClockReport {
            clock,
            source: facts.clock_source,
            n_jumps_back: watched.iter().map(|watched| watched.n_jumps_back).sum(),
            suspended_ns: slept_ns().saturating_sub(slept_before_ns),
        },
        evidence: cpus.iter().map(|cpu| cpu.evidence).max().unwrap_or(NoiseEvidence::Counts),
        quietest: quietest(&cpus),
        cpus,
        total,
        machine: after.machine_since(&before),
        is_virtual,
        gaps,
    };
    Ok(NoiseResult { report, watched, was_interrupted })
}

fn not_watched((cpu, why): (usize, String)) -> Gap {
    Gap {
        what: format!("CPU {cpu}"),
        why,
        fix: prose!["leave it out of " Affinity ", or bring it back"],
    }
}
