//! `plot --kind hist`, and `hist`: how many values are in each bin.

use anyhow::{Result, ensure};
use formats::Detail;

use crate::cmd::open;
use crate::cmd::print::print;
use analysis::histogram::{self, Histogram};
use host::terminal;
use model::spec::{FilesVerb, HistVerb};
use model::values::exit_code;
use record::plan::defaults;
use render::histogram::{self as drawn, HistogramSeries};
use render::plot::ascii;

/// Lines of a terminal that hold no bin.
const LINES_BESIDE: usize = 4;

/// How the histograms are drawn.
#[derive(Clone, Copy, Debug)]
pub struct HistogramLayout {
    /// Number of bins, if the user named one.
    pub bins: Option<u16>,
    /// Whether the bins have equal ratios.
    pub is_log: bool,
    /// Whether only ASCII characters are drawn.
    pub is_ascii: bool,
}

/// `hist`.
pub fn hist(verb: &HistVerb) -> Result<u8> {
    let bins = if verb.extend { terminal::lines().map(bins_in) } else { verb.bins };
    draw(&verb.files, HistogramLayout { bins, is_log: verb.log, is_ascii: verb.ascii })
}

/// Bins for a terminal of this height: some lines are the heading, the scale and the prompt.
fn bins_in(lines: usize) -> u16 {
    u16::try_from(lines.saturating_sub(LINES_BESIDE)).unwrap_or(u16::MAX).clamp(1, 1000)
}

/// Draws all files on one scale, each benchmark on its own.
///
/// # Errors
/// A file cannot be read, or has no finished run.
pub fn draw(files: &FilesVerb, layout: HistogramLayout) -> Result<u8> {
    let mut blocks: Vec<HistogramSeries> = Vec::new();
    let files = open::all(files, Detail::Values)?;
    let n_files = files.len();
    for opened in files {
        let opened = opened?;
        let file = opened.path.display().to_string();
        let record = opened.into_record()?;
        let plan = &record.header.plan;
        let has_run = (0..record.rows.len()).any(|index| record.rows.is_measurement(index));
        ensure!(has_run, "{file} has no finished run");
        for (values, arm) in histogram::series(&record).into_iter().zip(&plan.arms) {
            let number = blocks.len() + 1;
            let of_file = (n_files > 1).then(|| file.clone());
            blocks.push(HistogramSeries::new(number, arm, of_file, values, &plan.metrics));
        }
    }
    let mut groups: Vec<Vec<HistogramSeries>> = Vec::new();
    for block in blocks {
        match groups.iter_mut().find(|group| group[0].goes_with(&block)) {
            Some(group) => group.push(block),
            None => groups.push(vec![block]),
        }
    }
    let n_groups = groups.len();
    for (index, group) in groups.into_iter().enumerate() {
        let series: Vec<Vec<f64>> = group.iter().map(|block| block.values.clone()).collect();
        let bins = if layout.is_log { Histogram::of_logs } else { Histogram::of_series };
        let Some(histogram) = bins(&series, layout.bins.unwrap_or(defaults::HISTOGRAM_BINS).into())
        else {
            continue;
        };
        let gap = if index > 0 { "\n" } else { "" };
        let text = drawn::tall(&histogram, &group, n_groups > 1);
        let text = if layout.is_ascii { ascii(&text) } else { text };
        print(&format!("{gap}{text}"))?;
    }
    Ok(exit_code::SUCCESS)
}
