//! Converts between results of other programs and records. Pure: `cmd` handles the files, the crate `formats` reads
//! them.

mod launches;
pub mod of_record;
mod pyperf_facts;
pub mod to_record;

use formats::ResultUnit;
use model::values::ValueUnit;

/// The base unit of values in a unit.
pub fn base_unit(unit: &ResultUnit) -> ValueUnit {
    match unit {
        ResultUnit::Time => ValueUnit::Time,
        ResultUnit::Bytes => ValueUnit::Bytes,
        ResultUnit::Count | ResultUnit::Other(_) => ValueUnit::Count,
    }
}
