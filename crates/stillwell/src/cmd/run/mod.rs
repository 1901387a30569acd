//! `run`: shell commands, interleaved and compared.

mod explain;
mod measure;

use anyhow::Result;

use crate::spec::RunVerb;

pub use measure::{
    conclude_failed, measure_and_show, measure_changed, measure_only, measure_profiled,
    measure_quietly, measure_revisions,
};

/// Measures, then shows; with `--explain` a second time, without the largest source of noise.
pub fn run(verb: &RunVerb) -> Result<u8> {
    let (path, code) = measure_and_show(verb)?;
    if verb.explain {
        explain::explain(verb, &path, code)?;
    }
    Ok(code)
}
