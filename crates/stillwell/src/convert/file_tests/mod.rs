//! Tests of all readers.

mod every_sample;
mod hostile;
mod samples;
mod wrong_files;
