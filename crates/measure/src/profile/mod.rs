//! Where programs spend their time, by function.
//!
//! `entries` reads the launcher's samples, `symbols` names addresses, [`collect`] joins both with the record to a
//! [`saved::Profile`]. [`breakdown`] is pure: it sees only a profile.

pub mod breakdown;
pub mod collect;
mod columns;
mod entries;
pub mod flame;
mod frame_rules;
mod kernel_entry;
mod maps;
pub mod matching;
mod names;
pub mod saved;
mod symbols;
mod table;
pub mod tallies;
mod unwinding;
mod waits;
pub mod whole_chains;
