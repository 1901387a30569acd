//! Results of other programs → a record, and back. Pure: `cmd` opens and writes the files, and the crate `formats` reads
//! them.

mod launches;
pub mod of_record;
mod pyperf_facts;
pub mod to_record;
