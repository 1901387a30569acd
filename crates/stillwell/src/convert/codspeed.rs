//! CodSpeed's wall times: summaries only.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::convert::json::{self, NotNegative, Positive};
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, MetaValue, NOTE_ONE_PROCESS, NOTE_SUMMARIES, ResultUnit, Results,
    SummaryStatistics,
};

#[derive(Deserialize)]
struct CodspeedDocument {
    creator: CodspeedCreator,
    python: Option<Value>,
    instrument: CodspeedInstrument,
    benchmarks: Vec<CodspeedBenchmark>,
}

#[derive(Deserialize)]
struct CodspeedCreator {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct CodspeedInstrument {
    r#type: String,
}

#[derive(Deserialize)]
struct CodspeedBenchmark {
    name: String,
    uri: Option<String>,
    stats: CodspeedStats,
}

#[derive(Deserialize)]
struct CodspeedStats {
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
/// The file does not match the format; the message has the place.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document: CodspeedDocument = json::read(files[0].bytes)?;
    let instrument = &document.instrument.r#type;
    ensure!(instrument == "walltime", "instrument.type: {instrument:?} does not measure time");
    let CodspeedCreator { name, version } = document.creator;
    let mut results = Results { tool: format!("{name} {version}"), ..Results::default() };
    if let Some(python) = &document.python {
        json::flatten("python", python, &mut results.metadata);
    }
    for measured in document.benchmarks {
        let stats = measured.stats;
        let mut found =
            BenchmarkValues::new(measured.uri.as_ref().unwrap_or(&measured.name), ResultUnit::Time);
        found.metadata.insert("short_name".into(), measured.name.as_str().into());
        if let Some(loops) = stats.iter_per_round {
            found.metadata.insert("iter_per_round".into(), MetaValue::Int(loops.cast_signed()));
        }
        found.summary = Some(SummaryStatistics {
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
