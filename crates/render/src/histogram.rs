//! Histograms in text. The summary has a line of blocks for each arm; the verb `hist` has a row for each bin.

use std::fmt::Write as _;

use crate::columns::{COLUMNS, columns, shorten, width};
use crate::units::{DisplayUnit, requested_unit};
use analysis::histogram::Histogram;
use model::values::{MetricChoice, ValueUnit};
use record::plan::Arm;

const EIGHTHS_UP: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const EIGHTHS_RIGHT: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
/// Widest line of blocks, bins.
const LINE_BINS_MAX: usize = 64;

/// Largest count of all bins and arms, at least 1. Bars are relative to it.
fn tallest(histogram: &Histogram) -> u32 {
    histogram.counts.iter().flatten().copied().max().unwrap_or(1).max(1)
}

/// A line of blocks for each arm, all on one scale.
pub fn lines(histogram: &Histogram) -> Vec<String> {
    let tallest = tallest(histogram);
    let line = |counts: &Vec<u32>| {
        counts.iter().take(LINE_BINS_MAX).map(|&count| block(count, tallest)).collect()
    };
    let blocks = histogram.counts.iter().map(line);
    let n_above = histogram.n_above.iter().copied().chain(std::iter::repeat(0));
    blocks.zip(n_above).map(|(blocks, n_above)| with_rest(blocks, n_above)).collect()
}

fn with_rest(mut blocks: String, n_above: u32) -> String {
    if n_above > 0 {
        write!(blocks, " +{n_above}").ok();
    }
    blocks.truncate(blocks.trim_end().len());
    blocks
}

fn block(count: u32, tallest: u32) -> char {
    // Rounding up keeps a single run visible beside a tall bin.
    let eighths = (u64::from(count) * 8).div_ceil(u64::from(tallest));
    block_of_eighths(eighths)
}

/// A block of this height, in eighths of a line.
pub(super) fn block_of_eighths(eighths: u64) -> char {
    EIGHTHS_UP[usize::try_from(eighths).unwrap_or(8).min(8)]
}

/// The values at both ends of a line of blocks: `12.30 … 12.80 ms`.
pub fn axis(histogram: &Histogram, unit: DisplayUnit) -> Option<String> {
    let edges = &histogram.edges[..histogram.edges.len().min(LINE_BINS_MAX + 1)];
    let (first, last) = (edges.first()?, edges.last()?);
    let decimals = decimals(edges, unit);
    let text = format!("{} … {}", unit.number(*first, decimals), unit.number(*last, decimals));
    Some(unit.label(&text))
}

/// Decimals that keep neighbouring edges distinct.
fn decimals(edges: &[f64], unit: DisplayUnit) -> Option<usize> {
    let step = (edges.get(1)? - edges.first()?) / unit.size;
    let decimals = if step > 0.0 { (1.0 - step.log10()).ceil().clamp(0.0, 9.0) } else { 0.0 };
    Some(decimals as usize)
}

/// One series of the verb `hist`.
#[derive(Clone, Debug)]
pub struct HistogramSeries {
    number: usize,
    /// The file, if there are several.
    file: Option<String>,
    label: String,
    benchmark: Option<String>,
    kind: ValueUnit,
    /// The requested unit.
    requested: Option<String>,
    /// The values in the base unit.
    pub values: Vec<f64>,
}

impl HistogramSeries {
    pub fn new(
        number: usize,
        arm: &Arm,
        file: Option<String>,
        values: Vec<f64>,
        metrics: &[MetricChoice],
    ) -> Self {
        Self {
            number,
            file,
            label: arm.label().trim().into(),
            benchmark: arm.benchmark.clone(),
            kind: arm.unit,
            requested: requested_unit(metrics, "wall").map(String::from),
            values,
        }
    }

    /// Whether two series share a scale: both are of one benchmark, or of none.
    pub fn goes_with(&self, other: &Self) -> bool {
        self.kind == other.kind && self.benchmark == other.benchmark
    }

    fn heading(&self, in_group: bool) -> String {
        let is_named = in_group && self.benchmark.as_deref() == Some(&self.label);
        match &self.file {
            Some(file) if is_named => file.clone(),
            Some(file) => format!("{file}: {}", self.label),
            None => self.label.clone(),
        }
    }
}

/// Output of `stillwell hist` for series on one scale. Each bin has a row: lower edge, bar, number of values.
/// `is_named`: the benchmark's name comes first.
pub fn tall(histogram: &Histogram, blocks: &[HistogramSeries], is_named: bool) -> String {
    let kind = blocks.first().map_or(ValueUnit::Time, |block| block.kind);
    let requested = blocks.first().and_then(|block| block.requested.as_deref());
    let unit = DisplayUnit::choose(kind, requested, histogram.edges.iter().copied());
    let decimals = decimals(&histogram.edges, unit);
    let edges: Vec<String> =
        histogram.edges.iter().map(|edge| unit.number(*edge, decimals)).collect();
    let wide = edges.iter().map(String::len).max().unwrap_or(0);
    let tallest = tallest(histogram);
    let digits =
        tallest.max(histogram.n_above.iter().copied().max().unwrap_or(0)).to_string().len();
    let bar_columns = columns().saturating_sub(wide + digits + unit.name.len() + 6).max(1);
    let mut out = String::new();
    let benchmark = blocks.first().and_then(|block| block.benchmark.as_deref());
    let is_one =
        blocks.iter().all(|block| block.file.is_none() && Some(&*block.label) == benchmark);
    let benchmark = benchmark.filter(|_| is_named && !is_one);
    if let Some(benchmark) = benchmark {
        writeln!(out, "{}", shorten(benchmark, COLUMNS)).ok();
    }
    for (arm, (counts, block)) in histogram.counts.iter().zip(blocks).enumerate() {
        let number = format!("{}  ", block.number);
        let label = block.heading(benchmark.is_some());
        writeln!(out, "{number}{}", shorten(&label, COLUMNS - number.len())).ok();
        for (bin, &count) in counts.iter().enumerate() {
            let name = if bin == 0 { unit.name } else { "" };
            let edge = edges.get(bin).map_or("", String::as_str);
            let bar = bar(count, tallest, bar_columns);
            let pad = " ".repeat(unit.name.chars().count() - name.chars().count());
            let shown = if count > 0 { format!(" {count}") } else { String::new() };
            writeln!(out, "{edge:>wide$} {name}{pad} │{bar}{shown}").ok();
        }
        let n_above = histogram.n_above.get(arm).copied().unwrap_or(0);
        if let Some(last) = edges.last().filter(|_| n_above > 0) {
            let (above, columns) = (format!("> {last}"), wide + 1 + width(unit.name));
            writeln!(out, "{above:>columns$} │ {n_above}").ok();
        }
        out.push('\n');
    }
    out.truncate(out.trim_end_matches('\n').len());
    out.push('\n');
    out
}

fn bar(count: u32, tallest: u32, columns: usize) -> String {
    let n_eighths = (u64::from(count) * columns as u64 * 8).div_ceil(u64::from(tallest));
    let n_eighths = usize::try_from(n_eighths).unwrap_or(usize::MAX).min(columns * 8);
    format!("{}{}", "█".repeat(n_eighths / 8), EIGHTHS_RIGHT[n_eighths % 8])
}

/// A histogram in ASCII, for terminals without Unicode.
pub fn ascii(text: &str) -> String {
    let of = |char: char| match char {
        '│' => '|',
        '▁'..='▏' => '#',
        '…' => '~',
        'µ' => 'u',
        char if char.is_ascii() => char,
        _ => '?',
    };
    text.chars().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;

    fn tall(histogram: &Histogram, plan: &record::plan::Plan) -> String {
        let block = |(at, arm)| HistogramSeries::new(at + 1, arm, None, Vec::new(), &plan.metrics);
        let blocks: Vec<HistogramSeries> = plan.arms.iter().enumerate().map(block).collect();
        super::tall(histogram, &blocks, false)
    }

    fn histogram() -> Histogram {
        Histogram {
            edges: (0..=5).map(|bin| 12.3e6 + f64::from(bin) * 1e5).collect(),
            counts: vec![vec![80, 40, 1, 0, 3], vec![0; 5]],
            n_above: vec![12, 0],
        }
    }

    #[test]
    fn one_line_for_each_arm() {
        assert_eq!(lines(&histogram()), ["█▄▁ ▁ +12", ""]);
        let unit = DisplayUnit::named(ValueUnit::Time, "ms").unwrap();
        assert_eq!(axis(&histogram(), unit).unwrap(), "12.30 … 12.80 ms");
    }

    #[test]
    fn one_row_for_each_bin() {
        let text = tall(&histogram(), &record(&["program", &"long ".repeat(40)]).header.plan);
        assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_tallest_bar_fills_the_line() {
        let mut histogram = histogram();
        histogram.counts[0] = vec![4_000_000_000, 0, 0, 0, 0];
        histogram.n_above[0] = u32::MAX;
        let text = tall(&histogram, &record(&["program", "other"]).header.plan);
        let widest = text.lines().map(width).max().unwrap();
        assert!((COLUMNS - 4..=COLUMNS).contains(&widest), "{widest}");
    }

    #[test]
    fn a_terminal_without_unicode_gets_none() {
        assert_eq!(ascii("│█▌ 3 … µs"), "|## 3 ~ us");
    }

    #[test]
    fn nothing_to_show() {
        let empty = Histogram { edges: vec![], counts: vec![vec![]], n_above: vec![0] };
        assert_eq!(lines(&empty), [""]);
        assert_eq!(axis(&empty, DisplayUnit::ONE), None);
        assert_eq!(tall(&empty, &record(&["program"]).header.plan), "1  program\n");
    }
}
