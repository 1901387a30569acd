//! The directory `target/criterion`: a directory for each benchmark, and in it one for each saved sample (`new`,
//! `base`, or a baseline's name). A sample is one launch.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::{self, Finite, Positive};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, LaunchInfo, ReadOptions, ResultUnit, Results, SummaryStatistics,
    UnreadBenchmark,
};

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";

/// Whether files with these relative paths make up a directory of criterion. A lone benchmark.json can be of any program.
pub(crate) fn is_directory<'a>(paths: impl IntoIterator<Item = &'a str>, side: &str) -> bool {
    paths.into_iter().any(|path| path != BENCHMARK && wants(path, side))
}

/// Whether a reader of this side needs a file at this path from the named directory.
pub(crate) fn wants(path: &str, side: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_side = directory.is_empty() || directory.rsplit('/').next() == Some(side);
    is_side && [BENCHMARK, SAMPLE, ESTIMATES].contains(&name)
}

#[derive(Deserialize)]
struct CriterionBenchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Value>,
    full_id: Option<String>,
}

#[derive(Deserialize)]
struct CriterionSample {
    sampling_mode: Option<String>,
    iters: Vec<Positive>,
    times: Vec<Positive>,
}

#[derive(Deserialize)]
struct CriterionEstimates {
    mean: CriterionEstimate,
    median: CriterionEstimate,
    std_dev: Option<CriterionEstimate>,
}

#[derive(Deserialize)]
struct CriterionEstimate {
    point_estimate: Finite,
}

/// Reads all benchmarks of one side below the named directory. Errors: the directory holds no benchmark of this side.
pub(crate) fn read(files: &[TextFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    let mut directories: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for file in files.iter().filter(|file| wants(file.path, options.side)) {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", file.path));
        directories.entry(directory).or_default().insert(name, file.text);
    }
    let mut results = Results { tool: "criterion".into(), ..Results::default() };
    for (directory, files) in directories {
        match benchmark(&files) {
            Ok(benchmark) => results.benchmarks.push(benchmark),
            Err(error) => {
                let name = if directory.is_empty() { "." } else { directory };
                let (name, why) = (name.to_owned(), format!("{error:#}"));
                results.unread.push(UnreadBenchmark { name, line: None, why });
            }
        }
    }
    if results.benchmarks.is_empty() && results.unread.is_empty() {
        bail!(
            "there is no */{}/{BENCHMARK}; the sides are \"new\", \"base\" and the names of baselines",
            options.side
        );
    }
    results.metadata.insert("criterion_side".into(), options.side.into());
    results.note_one_process();
    Ok(results)
}

fn benchmark(files: &BTreeMap<&str, &str>) -> Result<BenchmarkValues> {
    let info = files.get(BENCHMARK).with_context(|| format!("{BENCHMARK} is not there"))?;
    let info: CriterionBenchmark = json::read(info).context(BENCHMARK)?;
    let parts = [Some(&info.group_id), info.function_id.as_ref(), info.value_str.as_ref()];
    let joined = parts.into_iter().flatten().cloned().collect::<Vec<_>>().join("/");
    let mut benchmark =
        BenchmarkValues::new(info.full_id.as_deref().unwrap_or(&joined), ResultUnit::Time);
    if let Some(throughput) = &info.throughput {
        json::flatten("throughput", throughput, &mut benchmark.metadata);
    }
    if let Some(sample) = files.get(SAMPLE) {
        let sample: CriterionSample = json::read(sample).context(SAMPLE)?;
        values(&mut benchmark, &sample).context(SAMPLE)?;
        return Ok(benchmark);
    }
    let estimates = files
        .get(ESTIMATES)
        .with_context(|| format!("neither {SAMPLE} nor {ESTIMATES} is there"))?;
    let estimates: CriterionEstimates = json::read(estimates).context(ESTIMATES)?;
    benchmark.summary = Some(SummaryStatistics {
        mean: Some(estimates.mean.point_estimate.0),
        median: Some(estimates.median.point_estimate.0),
        stddev: estimates.std_dev.map(|it| it.point_estimate.0),
        ..SummaryStatistics::default()
    });
    Ok(benchmark)
}

/// Reads the values. A time covers all iterations of a sample, in ns.
fn values(benchmark: &mut BenchmarkValues, sample: &CriterionSample) -> Result<()> {
    let (n_iters, n_times) = (sample.iters.len(), sample.times.len());
    ensure!(n_iters == n_times, "{n_iters} iters, but {n_times} times");
    ensure!(n_times > 0, "times: there is none");
    for (index, (time, iters)) in sample.times.iter().zip(&sample.iters).enumerate() {
        let is_whole = iters.0.fract() == 0.0 && iters.0 < u64::MAX as f64;
        ensure!(is_whole, "iters[{index}]: {} is not a number of iterations", iters.0);
        let value = time.0 / iters.0;
        ensure!(value > 0.0 && value.is_finite(), "times[{index}]: {} is not a time", time.0);
        benchmark.values.push(value);
        benchmark.loops.push(iters.0 as u64);
    }
    benchmark.add_fact("sampling_mode", sample.sampling_mode.as_deref().map(Into::into));
    benchmark.end_launch(LaunchInfo::default());
    Ok(())
}
