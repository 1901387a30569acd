//! `noise`: where lost time went.

use std::path::PathBuf;

/// `noise`.
#[derive(Debug, clap::Args)]
pub struct NoiseVerb {
    /// Say of these records where the time above t0 went
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<PathBuf>,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub json: bool,
}
