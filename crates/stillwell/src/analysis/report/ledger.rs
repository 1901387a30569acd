//! Where the time above t0 went, as far as the rows of an arm say it. The parts add up to the whole.

use serde::Serialize;

use crate::analysis::Analysis;
use crate::analysis::notes::queued_ns;
use crate::metric::Metric;
use crate::record::Record;

/// Time above t0 of all runs of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// Which of the group's arms.
    pub arm: usize,
    /// Sum of all runs' times above t0, ns.
    pub excess_ns: f64,
    /// Time of all runs, ns.
    pub total_ns: f64,
    /// The parts; `Unexplained` is what is left, and negative where the causes took more than the excess.
    pub parts: Vec<Part>,
}

/// A part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What took it.
    pub part: PartName,
    /// How long, ns.
    pub ns: f64,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartName {
    /// Another program took the CPU.
    Preempted,
    /// Ready, and without a CPU.
    Queued,
    /// No row says.
    Unexplained,
}

/// The ledger of each arm that has a t0 and rows which say something.
pub(super) fn ledgers(record: &Record, analysis: &Analysis, arms: &[usize]) -> Vec<Ledger> {
    let rows = &record.rows;
    // What slices waited is in their wall time, not in what is made of them.
    if record.slices.is_some() {
        return Vec::new();
    }
    let of = |(place, &arm): (usize, &usize)| {
        let t0 = analysis.arms[arm].wall.as_ref()?.t0.value;
        let mut sums = [None, None];
        let (mut excess_ns, mut total_ns) = (0.0, 0.0);
        let measured = |index: &usize| rows.arm(*index) == arm && rows.is_measurement(*index);
        for index in (0..rows.len()).filter(measured) {
            let Some(value) = rows.headline(index) else { continue };
            excess_ns += value - t0;
            total_ns += value;
            let preempted = rows.get(index, Metric::PreemptedNs).map(|ns| ns as f64);
            for (sum, ns) in sums.iter_mut().zip([preempted, queued_ns(rows, index)]) {
                *sum = ns.map_or(*sum, |ns| Some(sum.unwrap_or(0.0) + ns));
            }
        }
        let [preempted, queued] = sums;
        let known = [(PartName::Preempted, preempted), (PartName::Queued, queued)];
        let mut parts: Vec<Part> =
            known.iter().filter_map(|&(part, ns)| Some(Part { part, ns: ns? })).collect();
        let explained: f64 = parts.iter().map(|part| part.ns).sum();
        parts.push(Part { part: PartName::Unexplained, ns: excess_ns - explained });
        (parts.len() > 1).then_some(Ledger { arm: place, excess_ns, total_ns, parts })
    };
    arms.iter().enumerate().filter_map(of).collect()
}
