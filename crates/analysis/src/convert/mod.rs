//! Converts between results of other programs and records. Pure: `cmd` handles the files, the crate `formats` reads
//! them.

mod launches;
pub mod of_record;
mod pyperf_facts;
pub mod to_record;
