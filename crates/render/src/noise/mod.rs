//! The output of `noise`: the causes of lost time in a benchmark's record or in an empty loop.

mod explained;
mod ledger;
mod record;
mod report;
mod words;

use crate::conclusion::{Conclusion, FinalVerdict, tune};
use crate::document::DocumentBody;
use analysis::ledger::RecordLedger;
use analysis::{Disturbance, DisturbanceSource};
use measure::noise::NoiseReport;

pub use explained::{Explained, explained, nothing_to_turn};
pub use record::record;
pub use report::report;
pub(super) use words::{advice, name, share};

/// Smallest taken share of the time for which a quieter machine is worthwhile.
const TAKEN_MIN: f64 = 0.01;

impl DocumentBody for NoiseReport {
    const NAME: &'static str = "noise";
    const VERSION: u32 = 4;
}

impl DocumentBody for RecordLedger {
    const NAME: &'static str = "lost_time";
}

/// The losses of the loops on this machine's CPUs.
pub fn machine_conclusion(report: &NoiseReport) -> Conclusion {
    let observed_ns: f64 = report.cpus.iter().map(|cpu| cpu.observed_ns as f64).sum();
    let stolen_ns: f64 = report.cpus.iter().map(|cpu| cpu.stolen_ns as f64).sum();
    let taken_share = (observed_ns > 0.0).then(|| stolen_ns / observed_ns);
    let sources = DisturbanceSource::largest(&report.total, observed_ns);
    let next = taken_share.filter(|share| *share >= TAKEN_MIN).map(|_| tune());
    let disturbance = Some(Disturbance { taken_share, sources, ..Disturbance::default() });
    Conclusion { disturbance, next, ..Conclusion::of(FinalVerdict::Measured) }
}
