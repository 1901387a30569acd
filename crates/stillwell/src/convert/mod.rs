//! Results of other programs → a record, and back. Pure: `cmd` opens and writes the files.
//!
//! A format is a file here, a variant of [`FileFormat`] and a line in its table. All readers make
//! [`results::Results`]; [`to_record`] makes a record of these, [`of_record`] the opposite.

mod asv;
mod benchmark_tools;
mod checked;
mod codspeed;
pub mod criterion;
pub mod detect;
pub mod edit;
#[cfg(test)]
pub(crate) mod file_tests;
mod go;
mod google;
mod hyperfine;
mod hyperfine_csv;
mod jmh;
mod json;
mod launches;
mod nanobench;
pub mod of_record;
pub mod pyperf;
mod pyperf_facts;
mod pytest;
pub mod read;
pub mod source;
mod times;
pub mod to_record;
