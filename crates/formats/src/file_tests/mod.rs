//! Tests of all readers.

mod every_sample;
mod wrong_files;
