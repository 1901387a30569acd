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
    /// Time of all runs, ns.
    pub time_ns: f64,
    /// Sum of all runs' times above t0, ns.
    pub total_ns: f64,
    /// The parts; `Unexplained` is what is left, and below zero where the causes took more than the excess.
    pub entries: Vec<Entry>,
}

/// A part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What took it.
    pub source: Source,
    /// How long, ns.
    pub ns: f64,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
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
        let (mut total_ns, mut time_ns) = (0.0, 0.0);
        let measured = |index: &usize| rows.arm(*index) == arm && rows.is_measurement(*index);
        for index in (0..rows.len()).filter(measured) {
            let Some(value) = rows.headline(index) else { continue };
            total_ns += value - t0;
            time_ns += value;
            let preempted = rows.get(index, Metric::PreemptedNs).map(|ns| ns as f64);
            for (sum, ns) in sums.iter_mut().zip([preempted, queued_ns(rows, index)]) {
                *sum = ns.map_or(*sum, |ns| Some(sum.unwrap_or(0.0) + ns));
            }
        }
        let [preempted, queued] = sums;
        let known = [(Source::Preempted, preempted), (Source::Queued, queued)];
        let mut entries: Vec<Entry> =
            known.iter().filter_map(|&(source, ns)| Some(Entry { source, ns: ns? })).collect();
        let explained_ns: f64 = entries.iter().map(|entry| entry.ns).sum();
        entries.push(Entry { source: Source::Unexplained, ns: total_ns - explained_ns });
        (entries.len() > 1).then_some(Ledger { arm: place, time_ns, total_ns, entries })
    };
    arms.iter().enumerate().filter_map(of).collect()
}
