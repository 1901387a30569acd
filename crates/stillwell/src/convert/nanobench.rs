//! nanobench's JSON template. All epochs are in one process: one launch.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::convert::json::{self, Positive};
use crate::convert::source::{Detail, ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, LaunchInfo, MetaValue, NOTE_ONE_PROCESS, NOTE_ORDER, ResultUnit, Results,
};

const SECOND_NS: f64 = 1e9;
/// nanobench writes 0 for a counter that it could not read.
const COUNTERS: [&str; 6] = [
    "pagefaults",
    "cpucycles",
    "contextswitches",
    "instructions",
    "branchinstructions",
    "branchmisses",
];

#[derive(Deserialize)]
struct NanobenchDocument {
    results: Vec<NanobenchResult>,
}

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

/// Reads a file.
///
/// # Errors
/// The file does not match the format; the message has the place.
pub(super) fn read(files: &[SourceFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    let document: NanobenchDocument = json::read(files[0].bytes)?;
    let mut results = Results { tool: "nanobench".into(), ..Results::default() };
    let title = document.results.first().map(|first| first.title.clone());
    let has_titles = document.results.iter().any(|it| Some(&it.title) != title.as_ref());
    for (index, measured) in document.results.iter().enumerate() {
        let name = if has_titles {
            format!("{}/{}", measured.title, measured.name)
        } else {
            measured.name.clone()
        };
        let mut found = BenchmarkValues::new(&name, ResultUnit::Time);
        ensure!(!measured.measurements.is_empty(), "results[{index}].measurements: there is none");
        for (epoch_index, epoch) in measured.measurements.iter().enumerate() {
            let place = format!("results[{index}].measurements[{epoch_index}].iterations");
            ensure!(epoch.iterations > 0, "{place}: 0");
            found.values.push(epoch.elapsed.0 * SECOND_NS);
            found.loops.push(epoch.iterations);
            if options.detail == Detail::Everything {
                counters(&mut found, epoch);
            }
        }
        let title = ("title", Some(&measured.title));
        for (key, text) in [title, ("batch_unit", measured.unit.as_ref())] {
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                found.metadata.insert(key.into(), text.as_str().into());
            }
        }
        if let Some(batch) = measured.batch {
            found.metadata.insert("batch".into(), MetaValue::Float(batch.0));
        }
        found.end_launch(LaunchInfo::default());
        found.fill_extras();
        results.benchmarks.push(found);
    }
    results.note(NOTE_ONE_PROCESS);
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

fn counters(found: &mut BenchmarkValues, epoch: &NanobenchEpoch) {
    for key in COUNTERS {
        let value = epoch.counters.get(key).and_then(Value::as_f64);
        if let Some(value) = value.filter(|&value| value > 0.0) {
            found.push_extra(key, &ResultUnit::Count, value);
        }
    }
}
