//! Noise with a name: where the time went that a benchmark has lost, or an empty loop.

mod ledger;
mod of_record;

#[cfg(test)]
pub use ledger::Ledger;
pub use ledger::{Entry, Remedy, Source};
pub use of_record::{ArmLedger, RecordLedger, has_evidence, of_record};
