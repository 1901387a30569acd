//! pyperf JSON: version "1.0", and the earlier versions 5 and 6. A process is a launch.
//!
//! Metadata of a run overrides the benchmark's, which overrides the suite's. Units and loop counts are applied at the
//! end, because keys come in any order (pyperf sorts them, so `version` is last).

mod metadata;
mod run;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Deserializer, de};

use crate::json::document::Document;
use crate::pyperf::metadata::PyperfMetadata;
pub use crate::pyperf::metadata::calibration_entry;
use crate::pyperf::run::RunList;
use crate::source::TextFile;
use crate::{BenchmarkValues, Detail, MetaValue, ReadOptions, ResultUnit, Results};

const SECOND_NS: f64 = 1e9;

/// Reads a suite. Errors: the version is not known, or there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    match options.detail {
        Detail::Values => suite::<false>(files[0].text),
        Detail::Everything => suite::<true>(files[0].text),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PyperfVersion {
    V5,
    V6,
    V1,
}

impl<'de> Deserialize<'de> for PyperfVersion {
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

#[derive(Deserialize)]
#[serde(bound = "")]
struct BenchmarkDocument<const ALL: bool> {
    metadata: Option<PyperfMetadata<true>>,
    /// Name of `metadata` in version 5.
    common_metadata: Option<PyperfMetadata<true>>,
    runs: RunList<ALL>,
}

/// Reads a suite; `ALL` also keeps the metadata of each run.
fn suite<const ALL: bool>(text: &str) -> Result<Results> {
    let document = Document::split(text)?;
    let mut results = Results::default();
    // An incomplete file has no version: the keys are sorted.
    let version = match document.member("version") {
        Some(version) => version.read("version")?,
        None if document.is_cut() => PyperfVersion::V1,
        None => bail!("missing field `version`"),
    };
    let mut outer: PyperfMetadata<true> = document.field("metadata", &mut results);
    document.each("benchmarks", &mut results, |results, series: BenchmarkDocument<ALL>| {
        results.benchmarks.push(benchmark(series, &outer, version)?);
        Ok(())
    })?;
    results.metadata = outer.take_rest();
    let first = results.benchmarks.first().map(|it| &it.metadata);
    let of_tool = results.metadata.get("perf_version").or_else(|| first?.get("perf_version"));
    results.tool = match (of_tool, version) {
        (Some(MetaValue::Text(version)), _) => format!("pyperf {version}"),
        (_, PyperfVersion::V1) => "pyperf".into(),
        (_, PyperfVersion::V6) => "pyperf before 1.0 (format 6)".into(),
        (_, PyperfVersion::V5) => "pyperf before 1.0 (format 5)".into(),
    };
    results.note_order();
    Ok(results)
}

fn benchmark<const ALL: bool>(
    series: BenchmarkDocument<ALL>,
    suite: &PyperfMetadata<true>,
    version: PyperfVersion,
) -> Result<BenchmarkValues> {
    let BenchmarkDocument { metadata, common_metadata, runs } = series;
    let is_old = common_metadata.is_some() || runs.has_samples;
    let is_new = metadata.is_some() || runs.has_values;
    ensure!(
        version != PyperfVersion::V5 || !is_new,
        "\"metadata\" and \"values\" are not in version 5"
    );
    ensure!(
        version == PyperfVersion::V5 || !is_old,
        "\"common_metadata\" and \"samples\" are of version 5"
    );
    let mut fields = metadata.or(common_metadata).unwrap_or_default();
    let RunList { mut benchmark, name, unit, .. } = runs;
    ensure!(benchmark.n_launches() > 0, "runs: there is none");
    let outer_name = fields.name.as_ref().or(suite.name.as_ref());
    benchmark.name =
        name.agree(outer_name, benchmark.n_launches()).context("the name of its runs")?;
    let outer_unit = fields.unit.or(suite.unit).unwrap_or_default();
    benchmark.unit = unit
        .agree(Some(&outer_unit), benchmark.n_launches())
        .context("the unit of its runs")?
        .into();
    let loops = fields.loops.or(suite.loops);
    let inner_loops = fields.inner_loops.or(suite.inner_loops);
    let calibration = fields.calibration.or(suite.calibration);
    let has_values: Vec<bool> = benchmark.launches().map(|it| !it.values.is_empty()).collect();
    let mut is_used = false;
    for (info, has_values) in benchmark.infos_mut().zip(has_values) {
        info.loops = info.loops.or(loops);
        info.inner_loops = info.inner_loops.or(inner_loops);
        if !has_values && info.calibration.is_none() {
            info.calibration = calibration;
            is_used |= calibration.is_some();
        }
    }
    if is_used {
        fields.calibration = None;
    }
    if version < PyperfVersion::V1 {
        per_loop(&mut benchmark);
    }
    benchmark.metadata = fields.take_rest();
    scale(&mut benchmark);
    Ok(benchmark)
}

/// Before version 1.0, a warm-up was the time of all its loops.
fn per_loop(benchmark: &mut BenchmarkValues) {
    let n_inner: Vec<f64> = benchmark
        .launches()
        .flat_map(|launch| std::iter::repeat_n(launch.inner_loops() as f64, launch.warmups.len()))
        .collect();
    for ((loops, raw), n_inner) in benchmark.warmups.iter_mut().zip(n_inner) {
        *raw /= *loops as f64 * n_inner;
    }
}

fn scale(benchmark: &mut BenchmarkValues) {
    if benchmark.unit == ResultUnit::Time {
        benchmark.values.iter_mut().for_each(|value| *value *= SECOND_NS);
        benchmark.warmups.iter_mut().for_each(|(_, value)| *value *= SECOND_NS);
    }
}
