//! CodSpeed's wall times: summaries only.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, NotNegative, Positive};
use crate::source::TextFile;
use crate::{BenchmarkValues, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics};

#[derive(Default, Deserialize)]
struct CodspeedCreator {
    name: String,
    version: String,
}

#[derive(Default, Deserialize)]
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

/// Reads a file. Errors: the instrument does not measure time, or there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results::default();
    let instrument = document.field::<CodspeedInstrument>("instrument", &mut results).r#type;
    let is_time = instrument.is_empty() || instrument == "walltime";
    ensure!(is_time, "instrument.type: {instrument:?} does not measure time");
    let CodspeedCreator { name, version } = document.field("creator", &mut results);
    results.tool = format!("{name} {version}").trim().to_owned();
    if results.tool.is_empty() {
        results.tool = "CodSpeed".into();
    }
    let python: Value = document.field("python", &mut results);
    json::flatten("python", &python, &mut results.metadata);
    document.benchmarks("benchmarks", &mut results, |measured: CodspeedBenchmark| {
        let stats = measured.stats;
        let mut benchmark =
            BenchmarkValues::new(measured.uri.as_ref().unwrap_or(&measured.name), ResultUnit::Time);
        benchmark.metadata.insert("short_name".into(), measured.name.as_str().into());
        let loops = stats.iter_per_round.map(u64::cast_signed);
        benchmark.add_fact("iter_per_round", loops.map(MetaValue::Int));
        benchmark.summary = Some(SummaryStatistics {
            count: Some(stats.rounds),
            mean: Some(stats.mean_ns.0),
            stddev: Some(stats.stdev_ns.0),
            min: Some(stats.min_ns.0),
            q1: Some(stats.q1_ns.0),
            median: Some(stats.median_ns.0),
            q3: Some(stats.q3_ns.0),
            max: Some(stats.max_ns.0),
            estimate: None,
        });
        Ok(benchmark)
    })?;
    results.note_one_process();
    Ok(results)
}
