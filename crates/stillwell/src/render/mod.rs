//! Analysis → bytes. These functions are pure: no clock, no files, no statistics. `analysis` computed every number.

pub mod across;
pub mod activity;
pub mod advice;
pub mod bisect;
pub mod bmf;
pub mod budget;
pub mod calibrate;
pub mod check;
mod closing;
mod columns;
pub mod csv;
pub mod depth;
mod distributions;
pub mod dump;
mod exported;
pub mod failure;
pub mod files;
#[cfg(test)]
pub mod fixture;
pub mod gate;
pub mod histogram;
pub mod history;
#[cfg(test)]
mod hostile_files;
pub mod hyperfine;
mod interleaved;
pub mod json;
pub mod markup;
pub mod noise;
mod notes;
mod outliers;
pub mod plot;
pub mod pool;
pub mod pull_request;
pub mod pyperf;
mod quantity;
pub mod remedies;
pub mod report;
pub mod results;
pub mod shield;
pub mod site;
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

pub use columns::{fit_into, one_line, shorten};
pub use styles::Styles;
pub use text::{distinct, ratio_and_interval};
