//! Results for tests.

use crate::history::BenchmarkResult;
use crate::history::detection::DetectionSettings;
use model::values::Estimate;

pub const SETTINGS: DetectionSettings = DetectionSettings {
    estimate: Estimate::T0,
    alpha: 0.01,
    false_discovery: 0.05,
    size_min: 0.0,
    seed: 1,
    is_relative: false,
};

/// A result with this noise-free time. Median and mean are always 1.
pub fn result(benchmark: &str, t0: f64, t0_err: Option<f64>) -> BenchmarkResult {
    BenchmarkResult {
        benchmark: benchmark.into(),
        unit: "ns".into(),
        n_runs: Some(10),
        t0,
        t0_err,
        median: 1.0,
        mean: 1.0,
        ..BenchmarkResult::default()
    }
}
