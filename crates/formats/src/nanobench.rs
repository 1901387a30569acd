//! nanobench's JSON template. All epochs are one launch.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::Positive;
use crate::json::document::Document;
use crate::source::TextFile;
use crate::{BenchmarkValues, Detail, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results};

const SECOND_NS: f64 = 1e9;
/// Counters; 0 is one that nanobench could not read.
const COUNTERS: [&str; 6] = [
    "pagefaults",
    "cpucycles",
    "contextswitches",
    "instructions",
    "branchinstructions",
    "branchmisses",
];

#[derive(Deserialize)]
struct NanobenchResult {
    title: String,
    name: String,
    unit: Option<String>,
    batch: Option<Positive>,
    measurements: Vec<NanobenchEpoch>,
}

#[derive(Deserialize)]
struct NanobenchEpoch {
    iterations: u64,
    elapsed: Positive,
    #[serde(flatten)]
    counters: std::collections::BTreeMap<String, Value>,
}

/// Reads a file. Errors: there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "nanobench".into(), ..Results::default() };
    document.benchmarks("results", &mut results, |measured: NanobenchResult| {
        let mut benchmark = BenchmarkValues::new(&measured.name, ResultUnit::Time);
        benchmark.group = Some(measured.title.clone());
        ensure!(!measured.measurements.is_empty(), "measurements: there is none");
        for (index, epoch) in measured.measurements.iter().enumerate() {
            ensure!(epoch.iterations > 0, "measurements[{index}].iterations: 0");
            benchmark.values.push(epoch.elapsed.0 * SECOND_NS);
            benchmark.loops.push(epoch.iterations);
            if options.detail == Detail::Everything {
                counters(&mut benchmark, epoch);
            }
        }
        let title = ("title", Some(&measured.title));
        for (key, text) in [title, ("batch_unit", measured.unit.as_ref())] {
            let text = text.filter(|text| !text.trim().is_empty());
            benchmark.add_fact(key, text.map(|text| text.as_str().into()));
        }
        benchmark.add_fact("batch", measured.batch.map(|batch| MetaValue::Float(batch.0)));
        benchmark.end_launch(LaunchInfo::default());
        benchmark.fill_extras();
        Ok(benchmark)
    })?;
    results.note_one_process();
    Ok(results)
}

fn counters(benchmark: &mut BenchmarkValues, epoch: &NanobenchEpoch) {
    for key in COUNTERS {
        let value = epoch.counters.get(key).and_then(Value::as_f64);
        if let Some(value) = value.filter(|&value| value > 0.0) {
            benchmark.push_extra(key, &ResultUnit::Count, value);
        }
    }
}
