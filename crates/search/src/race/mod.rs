//! A race: which of many arms is the best? Pure: the times of finished rounds in, the next round and the answer out.
//!
//! Selection finds a likely winner and promises nothing. Confirmation measures it against all other arms on fresh
//! blocks. An arm leaves when a test shows that it is not better by the margin. docs/methodology.md has the proof.

mod confirmation;
mod course;
mod outcome;
mod rounds;
mod selection;
#[cfg(test)]
mod tests;

pub use confirmation::{LogRatio, RaceRules};
pub use course::{Race, RaceRound};
pub use outcome::{ArmStanding, FinalStanding, RaceOutcome};
pub use rounds::RoundTimes;
