//! The output of `noise`: the causes of lost time in a benchmark's record or in an empty loop.

pub mod document;
mod explained;
mod ledger;
mod record;
mod report;
mod words;

pub use explained::{Explained, explained, nothing_to_turn};
pub use record::record;
pub use report::report;
pub(super) use words::{advice, name, share};
