//! `noise`: where the time went that was lost.

use anyhow::{Context as _, Result};

use crate::analysis;
use crate::cli::NoiseVerb;
use crate::cmd::open::records;
use crate::convert::read::Detail;
use crate::noise::of_record;
use crate::render::{Styles, json, noise as shown};
use crate::spec::input::InputOptions;

/// Shows the ledgers of records.
pub fn noise(verb: &NoiseVerb) -> Result<u8> {
    for opened in records(&verb.records, &InputOptions::default(), Detail::Values)? {
        let record = opened?.into_record()?;
        let found = of_record(&record, &analysis::summarise(&record))
            .with_context(|| format!("{} has no wall times", record.path.display()))?;
        if verb.json {
            json::pretty(&mut std::io::stdout().lock(), &found)?;
        } else {
            super::print(&shown::record(&record, &found, &Styles::colored()))?;
        }
    }
    Ok(0)
}
