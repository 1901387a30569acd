#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod asv;
mod benchmark_tools;
mod bmf;
mod cargo_bench;
mod catch2;
mod checked;
mod codspeed;
mod criterion;
pub mod csv_cell;
mod detect;
mod directory;
mod dotnet;
pub mod edit;
mod file_format;
mod github_action;
mod gnu_time;
mod go;
mod google;
mod hyperfine;
mod hyperfine_csv;
mod jmh;
mod json;
mod line_reader;
mod lnt;
mod nanobench;
mod perf_stat;
pub mod pyperf;
mod pytest;
mod read;
mod readers;
mod results;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod units;
mod value_limit;

pub use detect::detect;
pub use directory::{FileBytes, below, criterion_files};
pub use file_format::{FileFormat, TimeUnit};
pub(crate) use line_reader::LineReader;
pub use read::{read, read_bytes, read_from};
pub use results::*;
pub use source::{CRITERION_SIDE, Detail, ReadOptions, SourceFile};
pub use text::{decoding, limit_unpacked, peeked, unpacked};
pub use units::unit_ns;
