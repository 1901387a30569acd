//! The search for the commits that made a program slower: what to measure next, and what follows from it. Pure: a graph
//! of commits and observations in, steps and answers out.

mod answer;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod graph;
mod layout;
mod outcome;
mod posterior;
mod rules;
mod search;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Relation, answer};
pub use graph::{Commit, CommitGraph};
pub use layout::{LayoutFinding, LayoutVerdict};
pub use outcome::Culprit;
pub use rules::SearchRules;
pub use search::{BisectSearch, Observation, SearchStep};
