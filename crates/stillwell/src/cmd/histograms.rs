//! `hist`: the number of values in each bin.
#![expect(clippy::disallowed_methods, reason = "reads the locale")]

use anyhow::{Result, ensure};
use formats::Detail;

use crate::cmd::open;
use crate::cmd::print::print;
use analysis::histogram::{self, Histogram};
use host::terminal;
use model::spec::HistVerb;
use model::values::exit_code;
use record::plan::{Role, defaults};
use render::histogram::{self as drawn, HistogramSeries};

/// Lines of a terminal that hold no bin.
const LINES_BESIDE: usize = 4;

/// Bins for a terminal of this height, which also shows a heading, a scale and the prompt.
fn bins_in(lines: usize) -> u16 {
    u16::try_from(lines.saturating_sub(LINES_BESIDE)).unwrap_or(u16::MAX).clamp(1, 1000)
}

/// Whether the locale is set to one without Unicode.
fn is_locale_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let set = names.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Draws all files on one scale, each benchmark on its own. Errors: a file has no finished run, or no value is above 0
/// for `--log`.
pub fn hist(verb: &HistVerb) -> Result<u8> {
    let bins = if verb.extend { terminal::lines().map(bins_in) } else { verb.bins };
    let n_bins = bins.unwrap_or(defaults::HISTOGRAM_BINS).into();
    let is_ascii = verb.ascii || is_locale_ascii();
    let mut blocks: Vec<HistogramSeries> = Vec::new();
    let files = open::all(&verb.files, Detail::Values)?;
    let n_files = files.len();
    let (mut n_values, mut n_left_out) = (0, 0);
    for opened in files {
        let opened = opened?;
        let file = opened.path.display().to_string();
        let record = opened.into_record()?;
        let plan = &record.header.plan;
        let has_run = (0..record.rows.len()).any(|index| record.rows.is_measurement(index));
        ensure!(has_run, "{file} has no finished run");
        let each = histogram::series(&record).into_iter().zip(&plan.arms);
        // The others have no values there.
        for (mut values, arm) in each.filter(|(_, arm)| arm.role == Role::Candidate) {
            let n_of_arm = values.len();
            values.retain(|&value| !verb.log || value > 0.0);
            n_values += n_of_arm;
            n_left_out += n_of_arm - values.len();
            let number = blocks.len() + 1;
            let of_file = (n_files > 1).then(|| file.clone());
            blocks.push(HistogramSeries::new(number, arm, of_file, values, &plan.metrics));
        }
    }
    if n_left_out > 0 {
        ensure!(n_left_out < n_values, "no value is above 0, so --log has nothing to draw");
        terminal::say_bare(format!(
            "note: values that are not above 0 have no logarithm and are left out: {n_left_out} of {n_values}"
        ));
    }
    let mut groups: Vec<Vec<HistogramSeries>> = Vec::new();
    for block in blocks {
        match groups.iter_mut().find(|group| group[0].goes_with(&block)) {
            Some(group) => group.push(block),
            None => groups.push(vec![block]),
        }
    }
    let n_groups = groups.len();
    let mut gap = "";
    for group in groups {
        let series: Vec<Vec<f64>> = group.iter().map(|block| block.values.clone()).collect();
        let binned = if verb.log { Histogram::from_logs } else { Histogram::from_series };
        let Some(histogram) = binned(&series, n_bins) else { continue };
        let text = drawn::tall(&histogram, &group, n_groups > 1);
        let text = if is_ascii { drawn::ascii(&text) } else { text };
        print(&format!("{gap}{text}"))?;
        gap = "\n";
    }
    Ok(exit_code::SUCCESS)
}
