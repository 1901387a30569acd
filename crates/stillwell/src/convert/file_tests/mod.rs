//! Tests of all readers.

mod every_sample;
pub(crate) mod samples;
mod wrong_files;
