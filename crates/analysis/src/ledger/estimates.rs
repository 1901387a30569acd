//! Estimates what caused additional CPU time: a slower clock, migrations, page faults, memory traffic of other
//! programs.

use stats::series::theil_sen_at;

use crate::arm_values::LOW;
use crate::ledger::sample::LedgerSample;
use record::ledger::{LedgerEntry, NoiseSource};

/// Fewest and most runs for an estimate of costs, which takes quadratic time.
const ESTIMATE_RUNS_MIN: usize = 20;
const ESTIMATE_RUNS_MAX: usize = 300;

type SampleCount = fn(&LedgerSample) -> Option<u64>;

/// Divides the CPU time above the baseline by counts; what they leave is of the program itself. `known_ns` of it already has a cause. `interruption_ns`: cost of
/// one interruption, if known.
pub fn computing(
    samples: &[LedgerSample],
    beyond_ns: &[i64],
    known_ns: i64,
    interruption_ns: Option<f64>,
) -> Vec<LedgerEntry> {
    let mut left_ns = beyond_ns.iter().sum::<i64>() - known_ns;
    let mut parts = Vec::new();
    let mut take = |source: NoiseSource, ns: f64, n: u64| {
        let ns = (ns.round() as i64).clamp(0, left_ns.max(0));
        left_ns -= ns;
        parts.push(LedgerEntry::estimate(source, ns, n));
    };
    if let Some(ns) = slower_clock_ns(samples) {
        take(NoiseSource::Frequency, ns, samples.len() as u64);
    }
    if let Some(each_ns) = interruption_ns {
        let n = sum_of_counts(samples.iter().filter_map(|sample| sample.interruptions));
        take(NoiseSource::AfterInterruptions, each_ns * n as f64, n);
    }
    if let Some((ns, n)) = neighbours_ns(samples, beyond_ns) {
        take(NoiseSource::Neighbours, ns, n);
    }
    let counts: [(NoiseSource, SampleCount); 2] = [
        (NoiseSource::Migrations, |sample| sample.migrations),
        (NoiseSource::Faults, |sample| sample.faults),
    ];
    for (source, count) in counts {
        let counted: Option<Vec<u64>> = samples.iter().map(count).collect();
        let Some(counted) = counted else { continue };
        let least = counted.iter().copied().min().unwrap_or(0);
        let n_more = sum_of_counts(counted.iter().map(|n| n - least));
        if let Some(each_ns) = cost_ns(&counted, beyond_ns) {
            take(source, each_ns * n_more as f64, n_more);
        }
    }
    let source = NoiseSource::MoreCpuTime;
    parts.push(LedgerEntry { is_estimate: true, ..LedgerEntry::exact(source, left_ns.max(0)) });
    parts
}

/// The sum of counts, which a damaged record may have of any size.
pub fn sum_of_counts(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Cost of one more event: the slope over the runs. `None` unless both halves of the runs agree within a factor of two.
fn cost_ns(counts: &[u64], beyond_ns: &[i64]) -> Option<f64> {
    if counts.len() < ESTIMATE_RUNS_MIN {
        return None;
    }
    let stride = counts.len().div_ceil(ESTIMATE_RUNS_MAX);
    let slope = |from: usize| {
        let at = |index: &usize| index % (2 * stride) == from * stride;
        let indices: Vec<usize> = (0..counts.len()).filter(at).collect();
        let xs: Vec<f64> = indices.iter().map(|&index| counts[index] as f64).collect();
        let ys: Vec<f64> = indices.iter().map(|&index| beyond_ns[index] as f64).collect();
        theil_sen_at(&xs, &ys).ok().filter(|slope| *slope > 0.0)
    };
    let (even, odd) = (slope(0)?, slope(1)?);
    (even < 2.0 * odd && odd < 2.0 * even).then_some(even.midpoint(odd))
}

/// CPU time lost to the core's other hardware thread, ns, and the number of runs affected. It is the difference of the
/// medians after loud and quiet probes, if both halves of the runs agree within a factor of two. Runs without a probe
/// are assumed to be like the others.
fn neighbours_ns(samples: &[LedgerSample], beyond_ns: &[i64]) -> Option<(f64, u64)> {
    let probed: Vec<(bool, f64)> = (samples.iter().zip(beyond_ns))
        .filter_map(|(sample, &ns)| Some((sample.is_core_shared?, ns as f64)))
        .collect();
    let median = |half: usize, is_shared: bool| {
        let of_half = probed.iter().skip(half).step_by(2).filter(|probe| probe.0 == is_shared);
        let values: Vec<f64> = of_half.map(|probe| probe.1).collect();
        let enough = values.len() >= ESTIMATE_RUNS_MIN / 4;
        stats::median(&values).ok().filter(|_| enough)
    };
    let cost = |half| Some(median(half, true)? - median(half, false)?).filter(|ns| *ns > 0.0);
    let (even, odd) = (cost(0)?, cost(1)?);
    let n_shared = probed.iter().filter(|probe| probe.0).count() as f64;
    let n = n_shared * samples.len() as f64 / probed.len() as f64;
    (even < 2.0 * odd && odd < 2.0 * even).then_some((even.midpoint(odd) * n, n.round() as u64))
}

/// Time lost because the clock was slower than in the fastest runs, ns.
fn slower_clock_ns(samples: &[LedgerSample]) -> Option<f64> {
    let rates: Option<Vec<f64>> = samples
        .iter()
        .map(|sample| Some(sample.cycles? / sample.cpu_ns.filter(|&ns| ns > 0)? as f64))
        .collect();
    let rates = rates?;
    let top = stats::SortedSample::new(&rates).ok()?.quantile(1.0 - LOW / 2.0);
    let lost = samples
        .iter()
        .zip(&rates)
        .map(|(sample, rate)| sample.cpu_ns.unwrap_or(0) as f64 * (1.0 - rate / top).max(0.0));
    (top > 0.0).then(|| lost.sum())
}
