//! pyperf JSON: version "1.0", and the integers 5 and 6 of before. A process is a launch.
//!
//! What a run says comes before what its benchmark says, and that before what the suite says. Keys come in any order
//! (pyperf sorts them, so `version` is last): units and loop counts are applied when all has been read.

mod run;
mod said;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Deserializer, de};

use crate::convert::json;
use crate::convert::pyperf::run::Runs;
pub use crate::convert::pyperf::said::calibration_entry;
use crate::convert::pyperf::said::{PyUnit, Said};
use crate::convert::read::{Detail, File, Options};
use crate::results::{Benchmark, MetaValue, NOTE_ORDER, ResultUnit, Results};

const SECOND_NS: f64 = 1e9;

/// Reads a suite.
///
/// # Errors
/// What pyperf would refuse as well, with its place.
pub(super) fn read(files: &[File<'_>], options: Options<'_>) -> Result<Results> {
    match options.detail {
        Detail::Values => finish(json::read::<Suite<false>>(files[0].bytes)?),
        Detail::Everything => finish(json::read::<Suite<true>>(files[0].bytes)?),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    V5,
    V6,
    V1,
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = MetaValue::deserialize(from)?;
        match value {
            MetaValue::Text(text) if text == "1.0" => Ok(Self::V1),
            MetaValue::Int(6) => Ok(Self::V6),
            MetaValue::Int(5) => Ok(Self::V5),
            _ => Err(de::Error::custom("the versions that can be read are \"1.0\", 6 and 5")),
        }
    }
}

/// A suite as it stands in the file. `ALL` also keeps the metadata of each run.
#[derive(Deserialize)]
#[serde(bound = "")]
struct Suite<const ALL: bool> {
    version: Version,
    #[serde(default)]
    metadata: Said<true>,
    benchmarks: Vec<Series<ALL>>,
}

/// A benchmark as it stands in the file.
#[derive(Deserialize)]
#[serde(bound = "")]
struct Series<const ALL: bool> {
    metadata: Option<Said<true>>,
    /// What version 5 calls it.
    common_metadata: Option<Said<true>>,
    runs: Runs<ALL>,
}

fn finish<const ALL: bool>(suite: Suite<ALL>) -> Result<Results> {
    let (version, mut outer) = (suite.version, suite.metadata);
    let mut benchmarks = Vec::with_capacity(suite.benchmarks.len());
    for (index, series) in suite.benchmarks.into_iter().enumerate() {
        let found = benchmark(series, &outer, version);
        benchmarks.push(found.with_context(|| format!("benchmarks[{index}]"))?);
    }
    let metadata = outer.take_rest();
    let first = benchmarks.first().map(|it: &Benchmark| &it.metadata);
    let of_tool = metadata.get("perf_version").or_else(|| first?.get("perf_version"));
    let tool = match (of_tool, version) {
        (Some(MetaValue::Text(version)), _) => format!("pyperf {version}"),
        (_, Version::V1) => "pyperf".into(),
        (_, Version::V6) => "pyperf before 1.0 (format 6)".into(),
        (_, Version::V5) => "pyperf before 1.0 (format 5)".into(),
    };
    let mut results = Results { tool, metadata, benchmarks, ..Results::default() };
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

fn benchmark<const ALL: bool>(
    series: Series<ALL>,
    suite: &Said<true>,
    version: Version,
) -> Result<Benchmark> {
    let Series { metadata, common_metadata, runs } = series;
    let is_old = common_metadata.is_some() || runs.has_samples;
    let is_new = metadata.is_some() || runs.has_values;
    ensure!(version != Version::V5 || !is_new, "\"metadata\" and \"values\" are not in version 5");
    ensure!(
        version == Version::V5 || !is_old,
        "\"common_metadata\" and \"samples\" are of version 5"
    );
    let mut said = metadata.or(common_metadata).unwrap_or_default();
    let Runs { mut found, name, unit, .. } = runs;
    ensure!(found.n_launches() > 0, "runs: there is none");
    let outer_name = said.name.as_ref().or(suite.name.as_ref());
    found.name = name.agree(outer_name, found.n_launches()).context("the name of its runs")?;
    let outer_unit = said.unit.or(suite.unit).unwrap_or(PyUnit::Second);
    found.unit =
        unit.agree(Some(&outer_unit), found.n_launches()).context("the unit of its runs")?.into();
    let loops = said.loops.or(suite.loops);
    let inner_loops = said.inner_loops.or(suite.inner_loops);
    let calibration = said.calibration.or(suite.calibration);
    let has_values: Vec<bool> = found.launches().map(|it| !it.values.is_empty()).collect();
    let mut is_used = false;
    for (about, has_values) in found.abouts_mut().zip(has_values) {
        about.loops = about.loops.or(loops);
        about.inner_loops = about.inner_loops.or(inner_loops);
        if !has_values && about.calibration.is_none() {
            about.calibration = calibration;
            is_used |= calibration.is_some();
        }
    }
    if is_used {
        said.calibration = None;
    }
    if version < Version::V1 {
        per_loop(&mut found);
    }
    found.metadata = said.take_rest();
    scale(&mut found);
    Ok(found)
}

/// Before 1.0 a warm-up was the time of all its loops.
fn per_loop(found: &mut Benchmark) {
    let n_inner: Vec<f64> = found
        .launches()
        .flat_map(|launch| std::iter::repeat_n(launch.inner_loops() as f64, launch.warmups.len()))
        .collect();
    for ((loops, raw), n_inner) in found.warmups.iter_mut().zip(n_inner) {
        *raw /= *loops as f64 * n_inner;
    }
}

/// Seconds become nanoseconds.
fn scale(found: &mut Benchmark) {
    if found.unit == ResultUnit::Time {
        found.values.iter_mut().for_each(|value| *value *= SECOND_NS);
        found.warmups.iter_mut().for_each(|(_, value)| *value *= SECOND_NS);
    }
}

/// What `loops` and its like are.
type Count = NonZeroU64;
