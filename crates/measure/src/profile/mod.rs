//! Where the time of programs goes, by function: samples → names → times by block → which function differs.
//!
//! [`entries`] reads the samples of the launcher, [`symbols`] gives addresses a name, [`collect`] joins both with the
//! record to a [`saved::Profile`]. [`breakdown`] is pure: it sees a profile alone.

pub mod breakdown;
pub mod collect;
mod columns;
mod dwarf;
mod entries;
pub mod flame;
pub mod folded;
mod frame_rules;
mod jit;
mod kernel_entry;
mod maps;
pub mod matching;
mod names;
pub mod saved;
mod segments;
mod symbols;
mod table;
pub mod tallies;
mod unmatched;
mod unwinding;
mod waits;
pub mod whole_chains;
