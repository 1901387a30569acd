#![doc = include_str!("../README.md")]
//!
//! Analysis → bytes. These functions are pure: no clock, no files, no statistics. `analysis` computed every number.

pub mod across;
pub mod activity;
pub mod advice;
pub mod bisect;
pub mod bisect_document;
pub mod bmf;
pub mod budget;
pub mod calibrate;
pub mod campaign;
pub mod campaign_document;
pub mod check;
pub mod closing;
mod columns;
pub mod conclusion;
pub mod csv;
pub mod depth;
mod distributions;
pub mod document;
pub mod dump;
mod exported;
pub mod failure;
pub mod files;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod gate;
pub mod gate_document;
pub mod gate_result;
pub mod gate_row;
pub mod histogram;
pub mod history;
#[cfg(test)]
mod hostile_files;
pub mod hyperfine;
pub mod json;
pub mod listing;
pub mod markup;
pub mod names;
pub mod noise;
mod notes;
mod outliers;
pub mod pool;
pub mod pull_request;
pub mod pyperf;
mod quantity;
pub mod race;
pub mod race_document;
mod ratios;
pub mod remedies;
pub mod report;
pub mod results;
pub mod schema;
pub mod shield;
pub mod site;
mod sizes;
mod slow_tail;
pub mod stats_table;
mod styles;
pub mod system;
mod t0;
mod table;
pub mod text;
pub mod times;
pub mod uncertain;
pub mod units;
pub mod values;
pub mod why;
pub mod within;

pub use columns::{fit_into, keep_names, one_line, shorten};
pub use names::distinct;
pub use quantity::QuantityWords;
pub use ratios::ratio_and_interval;
pub use styles::Styles;
