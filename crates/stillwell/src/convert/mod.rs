//! Results of other programs → a record, and back. Pure: files are opened and written by `cmd`.
//!
//! A format is a file here, a variant of [`Format`] and a line in its table. All readers make [`results::Results`];
//! [`to_record`] makes a record of these, [`of_record`] the opposite.

mod asv;
mod benchmark_tools;
mod checked;
mod codspeed;
pub mod criterion;
pub mod detect;
pub mod edit;
#[cfg(test)]
mod file_tests;
mod go;
mod google;
mod hyperfine;
mod hyperfine_csv;
mod jmh;
mod json;
mod nanobench;
pub mod of_record;
pub mod pyperf;
mod pytest;
pub mod read;
pub mod results;
pub mod statistics;
mod times;
pub mod to_record;

use clap::ValueEnum;

pub use read::Format;

/// Unit of the times in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    #[default]
    S,
    Ms,
    Us,
    Ns,
}

impl TimeUnit {
    fn ns(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Ns => 1.0,
        }
    }
}
