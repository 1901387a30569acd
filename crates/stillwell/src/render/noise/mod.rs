//! What `noise` prints: where lost time went, in a benchmark's record or in an empty loop.

mod record;
mod words;

pub use record::record;
pub(super) use words::{advice, name, share};
