//! CodSpeed's wall times: summaries only.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::convert::json::{self, NotNegative, Positive};
use crate::convert::read::{File, Options};
use crate::results::{
    Benchmark, MetaValue, NOTE_ONE_PROCESS, NOTE_SUMMARIES, ResultUnit, Results, Summary,
};

#[derive(Deserialize)]
struct Document {
    creator: Creator,
    python: Option<Value>,
    instrument: Instrument,
    benchmarks: Vec<Measured>,
}

#[derive(Deserialize)]
struct Creator {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Instrument {
    r#type: String,
}

#[derive(Deserialize)]
struct Measured {
    name: String,
    uri: Option<String>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    min_ns: Positive,
    max_ns: Positive,
    mean_ns: Positive,
    stdev_ns: NotNegative,
    q1_ns: Positive,
    median_ns: Positive,
    q3_ns: Positive,
    rounds: u64,
    iter_per_round: Option<u64>,
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, with its place.
pub(super) fn read(files: &[File<'_>], _: Options<'_>) -> Result<Results> {
    let document: Document = json::read(files[0].bytes)?;
    let instrument = &document.instrument.r#type;
    ensure!(instrument == "walltime", "instrument.type: {instrument:?} does not measure time");
    let Creator { name, version } = document.creator;
    let mut results = Results { tool: format!("{name} {version}"), ..Results::default() };
    if let Some(python) = &document.python {
        json::flatten("python", python, &mut results.metadata);
    }
    for measured in document.benchmarks {
        let stats = measured.stats;
        let mut found =
            Benchmark::new(measured.uri.as_ref().unwrap_or(&measured.name), ResultUnit::Time);
        found.metadata.insert("short_name".into(), measured.name.as_str().into());
        if let Some(loops) = stats.iter_per_round {
            found.metadata.insert("iter_per_round".into(), MetaValue::Int(loops.cast_signed()));
        }
        found.summary = Some(Summary {
            count: Some(stats.rounds),
            mean: Some(stats.mean_ns.0),
            stddev: Some(stats.stdev_ns.0),
            min: Some(stats.min_ns.0),
            q1: Some(stats.q1_ns.0),
            median: Some(stats.median_ns.0),
            q3: Some(stats.q3_ns.0),
            max: Some(stats.max_ns.0),
        });
        results.benchmarks.push(found);
    }
    results.note(NOTE_SUMMARIES);
    results.note(NOTE_ONE_PROCESS);
    Ok(results)
}
