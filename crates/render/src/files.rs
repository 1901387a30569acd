//! Output of `compare` for files with benchmarks.

mod limits;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use formats::ResultUnit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap};
use crate::conclusion::{Conclusion, Effect, FinalVerdict, measure_together};
use crate::document::{self, DocumentBody};
use crate::names::cut_names;
use crate::ratios::ratio_text;
use crate::results::value;
use crate::units::DisplayUnit;
use crate::{table, uncertain};
use analysis::convert::base_unit;
use analysis::files::{
    BenchmarkLine, ChangeGroup, FileCell, FilesComparison, RatioBound, geometric_mean,
};
use analysis::verdict::Verdict;
use analysis::{NoTest, UncertainValue};
pub(crate) use limits::bound_word;
pub use limits::other_processors;
use limits::{caption, limits, without_error};
use model::spec::convert::TableStyle;
use model::values::FileStatistic;

const NO_VERDICT: &str = "they are from separate sessions: drift between them is not controlled; for a verdict, measure \
                          them interleaved with stillwell run, bench or timeit";

/// A file of the comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchmarkFile {
    /// Path of the file.
    pub file: String,
    /// The program that wrote it.
    pub tool: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ComparisonLayout {
    pub style: TableStyle,
    /// Whether tables say each ratio in words.
    pub is_in_words: bool,
    pub group_by_speed: bool,
    /// Benchmarks that differ by less are left out. A fraction: 0.05 is 5 %.
    pub less_than: f64,
}

/// The files, their differences, the benchmarks with ratios, and the limits of these ratios.
pub fn text(
    sides: &[BenchmarkFile],
    comparison: &FilesComparison,
    shown: ComparisonLayout,
) -> String {
    let mut out = String::new();
    for (index, side) in sides.iter().enumerate() {
        let mark = if index == 0 { "  (reference)" } else { "" };
        let tool = if side.tool.is_empty() { String::new() } else { format!("  {}", side.tool) };
        writeln!(out, "{:<3}{}{mark}{tool}", index + 1, side.file).ok();
    }
    for it in &comparison.differences {
        let text = format!("{} differs: {}; {} in {}", it.key, it.reference, it.other, it.file + 1);
        wrap(&mut out, "", 3, &text);
    }
    out.push('\n');
    body(&mut out, comparison, shown);
    for (index, names) in comparison.alone.iter().enumerate().filter(|(_, names)| !names.is_empty())
    {
        wrap(&mut out, &format!("only in {}: ", index + 1), 6, &names.join(", "));
    }
    if let Some(text) = other_processors(comparison) {
        wrap(&mut out, "", 0, &text);
    }
    if !comparison.lines.is_empty() {
        caption(&mut out, comparison);
        limits(&mut out, comparison);
        if shown.is_in_words {
            wrap(&mut out, "", 0, "not significant: closer to 1 than twice its error");
        }
        without_error(&mut out, comparison);
        wrap(&mut out, "no verdict: ", 12, NO_VERDICT);
    }
    out
}

/// Appends a table for each tag, and one for all benchmarks.
fn body(out: &mut String, comparison: &FilesComparison, shown: ComparisonLayout) {
    let tags = comparison.lines.iter().flat_map(|line| &line.tags);
    let tags: BTreeSet<&str> = tags.map(String::as_str).collect();
    for tag in &tags {
        let lines: Vec<&BenchmarkLine> =
            comparison.lines.iter().filter(|line| line.tags.iter().any(|it| it == tag)).collect();
        writeln!(out, "tag {tag}").ok();
        part(out, comparison, &lines, shown);
    }
    if !tags.is_empty() {
        out.push_str("all benchmarks\n");
    }
    part(out, comparison, &comparison.lines.iter().collect::<Vec<_>>(), shown);
}

fn part(
    out: &mut String,
    comparison: &FilesComparison,
    lines: &[&BenchmarkLine],
    shown: ComparisonLayout,
) {
    let (kept, hidden): (Vec<&BenchmarkLine>, Vec<&BenchmarkLine>) =
        lines.iter().copied().partition(|line| differs(line, shown.less_than));
    let n_files = comparison.alone.len();
    if shown.group_by_speed {
        for file in 1..n_files {
            groups(out, comparison, &kept, file);
            // Over all benchmarks: a mean without the hardly changed ones would exaggerate.
            if let Some(mean) = geometric_mean(lines.iter().copied(), file) {
                let mean = bounded(mean, bound_of_mean(lines, file));
                writeln!(out, "geometric mean: {}", shorten(&mean, COLUMNS)).ok();
            }
        }
    } else if !kept.is_empty() || lines.len() > 1 {
        out.push_str(&benchmarks(&kept, lines, comparison, shown));
    }
    if !hidden.is_empty() {
        let names: Vec<&str> = hidden.iter().map(|line| line.name.as_str()).collect();
        let pct = uncertain::trimmed(shown.less_than * 100.0, 4);
        let text = format!("{} (differ by less than {pct} %): {}", hidden.len(), names.join(", "));
        wrap(out, "hidden: ", 8, &text);
    }
    out.push('\n');
}

fn differs(line: &BenchmarkLine, by: f64) -> bool {
    let ratios = || line.cells.iter().flatten().filter_map(|cell| cell.ratio);
    by == 0.0 || ratios().next().is_none() || ratios().any(|ratio| (ratio.value - 1.0).abs() >= by)
}

/// A table with a column for each file, and a ratio for each but the first. The last row is the geometric mean of
/// `all`, including those that the table leaves out.
fn benchmarks(
    kept: &[&BenchmarkLine],
    all: &[&BenchmarkLine],
    comparison: &FilesComparison,
    shown: ComparisonLayout,
) -> String {
    let n_files = comparison.alone.len();
    let less = || all.iter().filter(|line| !line.more_is_better);
    let words = match (less().count(), less().all(|line| line.unit == ResultUnit::Time)) {
        (0, _) => RATE,
        (_, true) => TIME,
        (_, false) => OTHER,
    };
    let entry =
        |line: &BenchmarkLine, file: usize, cell: &FileCell| match (cell.ratio, cell.difference) {
            (Some(it), _) => change(it, line.bound(file), words_of(line), shown),
            (None, difference) => difference.map_or_else(String::new, |it| signed(&line.unit, it)),
        };
    let by = singular(comparison.by);
    let mut heading = vec!["benchmark".to_owned(), format!("{by} of 1")];
    for file in 2..=n_files {
        heading.extend([format!("{by} of {file}"), format!("{file} ÷ 1")]);
    }
    let row = |line: &&BenchmarkLine| {
        let mut row = vec![one_line(&line.name)];
        for (index, cell) in line.cells.iter().enumerate() {
            row.push(
                cell.as_ref().map_or_else(|| "-".into(), |cell| middle(line, cell, comparison.by)),
            );
            if index > 0 {
                row.push(cell.as_ref().map_or_else(String::new, |cell| entry(line, index, cell)));
            }
        }
        row
    };
    let mut rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    if all.len() > 1 {
        let mut means = vec!["geometric mean".to_owned(), String::new()];
        for file in 1..n_files {
            let mean = geometric_mean(all.iter().copied(), file);
            let bound = bound_of_mean(all, file);
            let mean = mean.map(|mean| change(mean, bound, words, shown));
            means.extend([String::new(), mean.unwrap_or_default()]);
        }
        rows.push(means);
    }
    if shown.style == TableStyle::Text {
        cut_names(&heading, &mut rows);
    }
    table::styled(shown.style, heading, rows)
}

/// Words for more and for less.
type ChangeWords = [&'static str; 2];
const TIME: ChangeWords = ["slower", "faster"];
const OTHER: ChangeWords = ["more", "less"];
const RATE: ChangeWords = ["more (better)", "less (worse)"];

fn words_of(line: &BenchmarkLine) -> ChangeWords {
    match line.unit {
        ResultUnit::Time => TIME,
        _ if line.more_is_better => RATE,
        _ => OTHER,
    }
}

/// What limits make of a geometric mean of ratios: the same if all are alike.
fn bound_of_mean(lines: &[&BenchmarkLine], file: usize) -> RatioBound {
    let with_ratio =
        lines.iter().filter(|line| line.cell(file).is_some_and(|it| it.ratio.is_some()));
    let mut bounds = with_ratio.map(|line| line.bound(file));
    let first = bounds.next().unwrap_or(RatioBound::Exact);
    if bounds.all(|bound| bound == first) { first } else { RatioBound::About }
}

/// A ratio as a number, or in the style of pyperf's tables: both factors are above 1, so 0.5 is `2.00× faster`.
fn change(
    it: UncertainValue,
    bound: RatioBound,
    words: ChangeWords,
    shown: ComparisonLayout,
) -> String {
    if !shown.is_in_words {
        return bounded(it, bound);
    }
    match (ChangeGroup::of(it), bound) {
        (ChangeGroup::Within, _) => "not significant".into(),
        // Without an error, or between two limits, nothing tells which is faster.
        (ChangeGroup::Unknown, RatioBound::Exact) | (_, RatioBound::About) => bounded(it, bound),
        (_, RatioBound::Exact) => factor(it.value, words),
        // A ratio of at most 0.8 is a factor of at least 1.25 in the other direction.
        (_, RatioBound::AtMost | RatioBound::AtLeast) => {
            let is_most = (bound == RatioBound::AtMost) == (it.value >= 1.0);
            format!("{} {}", if is_most { "at most" } else { "at least" }, factor(it.value, words))
        }
    }
}

/// A ratio with the word for its bound.
fn bounded(it: UncertainValue, bound: RatioBound) -> String {
    format!("{}{}", bound_word(bound), ratio_text(it.value, it.err))
}

fn factor(ratio: f64, [more, less]: ChangeWords) -> String {
    let (factor, which) = if ratio >= 1.0 { (ratio, more) } else { (1.0 / ratio, less) };
    match uncertain::fixed(factor, 2) {
        // A change that is too small to show has no direction.
        shown if shown == "1.00" => "1.00×".into(),
        shown => format!("{shown}× {which}"),
    }
}

fn singular(by: FileStatistic) -> &'static str {
    match by {
        FileStatistic::T0 => "t0",
        FileStatistic::Mean => "mean",
        FileStatistic::Median => "median",
    }
}

/// The number of a cell. Names the statistic if it differs from the table's.
fn middle(line: &BenchmarkLine, cell: &FileCell, by: FileStatistic) -> String {
    let text = value_of(&line.unit, cell);
    if line.by == by { text } else { format!("{text} {}", singular(line.by)) }
}

fn value_of(unit: &ResultUnit, cell: &FileCell) -> String {
    let UncertainValue { value, err } = cell.middle;
    let shown = DisplayUnit::for_largest(base_unit(unit), value);
    let most = if cell.is_upper_limit { "at most " } else { "" };
    let number = format!("{most}{}", shown.label(&shown.uncertain(value, err)));
    if let ResultUnit::Other(name) = unit { format!("{number} {name}") } else { number }
}

fn signed(unit: &ResultUnit, difference: f64) -> String {
    let sign = if difference < 0.0 { "" } else { "+" };
    format!("{sign}{}", value(unit, difference))
}

/// Appends one file's benchmarks in groups (slower, faster, no difference, unknown), the largest difference first.
fn groups(out: &mut String, comparison: &FilesComparison, lines: &[&BenchmarkLine], file: usize) {
    if comparison.alone.len() > 2 {
        writeln!(out, "{} against 1", file + 1).ok();
    }
    let by = comparison.by;
    let is_all_time = lines.iter().all(|line| line.unit == ResultUnit::Time);
    let headings = [
        (ChangeGroup::More, if is_all_time { "slower" } else { "slower, or more" }),
        (ChangeGroup::Less, if is_all_time { "faster" } else { "faster, or less" }),
        (ChangeGroup::Within, "no difference beyond twice its error"),
        (ChangeGroup::Unknown, "no error is known"),
    ];
    for (group, heading) in headings {
        let mut these: Vec<(&BenchmarkLine, &FileCell, UncertainValue)> = lines
            .iter()
            .filter_map(|line| {
                let cell = line.cell(file)?;
                let ratio = cell.ratio.filter(|&ratio| ChangeGroup::of(ratio) == group)?;
                Some((*line, cell, ratio))
            })
            .collect();
        these.sort_by(|a, b| b.2.value.ln().abs().total_cmp(&a.2.value.ln().abs()));
        if these.is_empty() {
            continue;
        }
        writeln!(out, "{heading}, by the estimate of {} ({}):", singular(by), these.len()).ok();
        let rows = these.iter().map(|(line, cell, factor)| {
            let old = line.cell(0).map_or_else(String::new, |old| middle(line, old, by));
            let name = one_line(&line.name);
            let ratio = bounded(*factor, line.bound(file));
            vec![name, old, "→".into(), middle(line, cell, by), ratio]
        });
        let mut rows: Vec<Vec<String>> = rows.collect();
        cut_names(&vec![String::new(); 6], &mut rows);
        rows.iter_mut().for_each(|row| row[0].insert_str(0, "  "));
        out.push_str(&table::plain(rows, &[1, 3, 4]));
    }
}

/// Files against the first one.
#[derive(Serialize, JsonSchema)]
pub struct FilesBody<'a> {
    /// The files; the first is the reference.
    files: &'a [BenchmarkFile],
    /// Their benchmarks.
    comparison: &'a FilesComparison,
}

impl DocumentBody for FilesBody<'_> {
    const NAME: &'static str = "files";
}

/// The answer of files: estimates of separate sessions, which have no verdict.
fn conclusion(sides: &[BenchmarkFile], comparison: &FilesComparison) -> Conclusion {
    let reference = sides.first().map(|side| side.file.clone());
    let effects = comparison.lines.iter().flat_map(|line| {
        let ratios = line.cells.iter().zip(sides).skip(1);
        ratios.filter_map(|(cell, side)| {
            let ratio = cell.as_ref()?.ratio?.value;
            // An effect is one on the cost.
            let ratio = Some(if line.more_is_better { 1.0 / ratio } else { ratio });
            let name = match sides.len() {
                2 => line.name.clone(),
                _ => format!("{} in {}", line.name, side.file),
            };
            let verdict = Some(Verdict::Undecided);
            let no_test = Some(NoTest::SeparateRecords);
            let against = reference.clone();
            Some(Effect { name, against, verdict, ratio, no_test, ..Effect::default() })
        })
    });
    Conclusion {
        effects: effects.collect(),
        next: Some(measure_together(["", ""], None)),
        ..Conclusion::of(FinalVerdict::Undecided)
    }
}

/// Writes the comparison as one JSON document.
pub fn json(
    to: &mut impl io::Write,
    sides: &[BenchmarkFile],
    comparison: &FilesComparison,
) -> io::Result<()> {
    let body = FilesBody { files: sides, comparison };
    document::write(to, &body, conclusion(sides, comparison), None)
}

#[cfg(test)]
mod tests;
