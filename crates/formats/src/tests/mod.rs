//! Tests of all readers.

mod every_sample;
mod hand_written;
mod wrong_files;
