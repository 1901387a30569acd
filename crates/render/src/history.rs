//! Output of the verb `history`.

mod nearest;

use std::fmt::Write as _;

use formats::ResultUnit;
use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap};
use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use crate::histogram::block_of_eighths;
use crate::names::cut_names;
use crate::results::kind;
use crate::styles::paint;
use crate::units::{DisplayUnit, counted, signed_percent};
use crate::{Styles, table, uncertain};
use analysis::RatioInterval;
use analysis::verdict::Verdict;
pub(super) use nearest::no_change;
use search::bisection::LayoutVerdict;
use search::history::commits::CommitRange;
use search::history::culprits::StoredCulprit;
use search::history::detection::NearestChange;
use search::history::series::{Change, ChangeKind, ConcurrentChanges, Series};
use search::history::{BenchmarkResult, StoredResult};

/// Results in a sparkline, at most.
const LINE_MAX: usize = 24;
/// Characters of a commit's id.
const REVISION_MAX: usize = 12;

/// A change with its series and the commits that may have caused it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesChange<'a> {
    #[serde(flatten, serialize_with = "place")]
    #[schemars(with = "SeriesName<'_>")]
    pub series: &'a Series,
    #[serde(flatten)]
    pub change: &'a Change,
    /// `None` if git does not know the commits.
    pub commits: Option<CommitRange>,
    /// The commits that a search found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<StoredCulprit>,
}

/// The fields that identify a series. `history show` prints the rest.
#[derive(Serialize, JsonSchema)]
struct SeriesName<'a> {
    benchmark: &'a str,
    arm: &'a str,
    unit: &'a str,
    machine: &'a str,
}

fn place<S: serde::Serializer>(series: &&Series, to: S) -> Result<S::Ok, S::Error> {
    let Series { benchmark, arm, unit, machine, .. } = series;
    SeriesName { benchmark, arm, unit, machine }.serialize(to)
}

/// The changes of all series.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangesBody<'a> {
    /// Each change, with its series.
    pub changes: &'a [SeriesChange<'a>],
    /// Without a change: the movement that is nearest to one, and what would have been seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<&'a NearestChange>,
}

impl DocumentBody for ChangesBody<'_> {
    const NAME: &'static str = "changes";
}

/// Probability that the interval of a change holds the true ratio.
const CHANGE_CONFIDENCE: f64 = 0.95;

/// The conclusion for programs: each change as an effect.
pub fn conclusion(changes: &[SeriesChange<'_>]) -> Conclusion {
    let is_level = |it: &SeriesChange<'_>| it.change.kind == ChangeKind::Level;
    let verdict = match changes.iter().any(is_level) {
        true => FinalVerdict::Changed,
        false => FinalVerdict::Unchanged,
    };
    let effects = changes.iter().map(|it| {
        let RatioInterval { ratio, lo, hi } = it.change.ratio;
        Effect {
            name: it.series.label(),
            verdict: Some(if ratio > 1.0 { Verdict::Slower } else { Verdict::Faster }),
            ratio: Some(ratio),
            lo: Some(lo),
            hi: Some(hi),
            confidence: Some(CHANGE_CONFIDENCE),
            ..Effect::default()
        }
    });
    Conclusion { effects: effects.collect(), ..Conclusion::of(verdict) }
}

/// Numbers of files by the outcome of adding them.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddCounts {
    pub added: usize,
    /// Files with a later state of a stored session.
    pub later: usize,
    pub known: usize,
    pub failed: usize,
}

/// The message after adding files.
pub fn added(n: AddCounts) -> String {
    let mut out = format!("{} added", counted(n.added, "file"));
    for (n, what) in
        [(n.later, "brought up to date"), (n.known, "known already"), (n.failed, "could not be")]
    {
        if n > 0 {
            write!(out, ", {n} {what}").ok();
        }
    }
    out + "\n"
}

/// One line for each series.
pub fn list(all: &[Series]) -> String {
    let heading = table::cells(&["benchmark", "results", "now", "", "last change", "when"]);
    let mut rows = Vec::with_capacity(all.len() + 1);
    for series in all {
        let is_level = |change: &&Change| change.kind == ChangeKind::Level;
        let last = series.changes.iter().rfind(is_level);
        let (ratio, when) = match last {
            Some(change) => (signed_percent(change.ratio.ratio), day(series.time_s(change.at))),
            None => (String::new(), String::new()),
        };
        rows.push(vec![
            one_line(&series.label()),
            series.values.len().to_string(),
            value(series, series.level(), None),
            line(&series.values),
            ratio,
            when,
        ]);
    }
    cut_names(&heading, &mut rows);
    rows.insert(0, heading);
    let mut out = table::plain(rows, &[1, 2]);
    machines(&mut out, all);
    out
}

/// The newest results of each series, and its levels.
pub fn series(all: &[Series], last: usize, styles: &Styles) -> String {
    let mut out = String::new();
    for (index, series) in all.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let label = paint(styles.headline, &one_line(&series.label()));
        let machine = one_line(&series.machine);
        writeln!(out, "{label} on {machine}: {}", line(&series.values)).ok();
        let mut rows =
            vec![table::cells(&["record", "measured", "revision", "t0", "median", "runs", ""])];
        let first = series.entries.len().saturating_sub(last);
        for (at, entry) in series.entries.iter().enumerate().skip(first) {
            rows.push(row(series, at, entry));
        }
        out += &table::plain(rows, &[0, 3, 4, 5]);
        if first > 0 {
            writeln!(
                out,
                "{first} older ones are not shown; --last {} shows all",
                series.entries.len()
            )
            .ok();
        }
    }
    out
}

fn row(series: &Series, at: usize, entry: &StoredResult) -> Vec<String> {
    let change = series.changes.iter().find(|change| change.at == at);
    let result = &entry.result;
    vec![
        entry.record.to_string(),
        day(entry.origin.measured_s),
        revision(&entry.result),
        format!(
            "{}{}",
            if result.t0_is_limit { "at most " } else { "" },
            value(series, result.t0, result.t0_err)
        ),
        value(series, result.median, None),
        result.n_runs.to_string(),
        change.map_or(String::new(), |change| signed_percent(change.ratio.ratio)),
    ]
}

/// The number of changes, then each of them. `n_left_out`: results that had too few others to be relative to.
pub fn changes(
    all: &[Series],
    changes: &[SeriesChange<'_>],
    (n_left_out, nearest): (usize, Option<&NearestChange>),
    styles: &Styles,
) -> String {
    let mut out = String::new();
    summary(&mut out, all, changes, n_left_out);
    for line in nearest.map(no_change).unwrap_or_default() {
        wrap(&mut out, "", 2, &line);
    }
    for (number, it) in (1..).zip(changes) {
        out.push('\n');
        let SeriesChange { series, change, commits, culprits } = it;
        let style = match change.kind {
            ChangeKind::Level if change.ratio.ratio > 1.0 => styles.slower,
            ChangeKind::Level => styles.faster,
            ChangeKind::Spell | ChangeKind::Drift => styles.attention,
        };
        let (before, after) = (&series.entries[change.at - 1], &series.entries[change.at]);
        writeln!(
            out,
            "{number}. {}  {}  {}",
            paint(styles.headline, &shorten(&series.label(), 60)),
            paint(style, &signed_percent(change.ratio.ratio)),
            numbers(change),
        )
        .ok();
        writeln!(
            out,
            "   between {} {} and {} {} on {}",
            day(series.time_s(change.at - 1)),
            revision(&before.result),
            day(series.time_s(change.at)),
            revision(&after.result),
            one_line(&series.machine)
        )
        .ok();
        if let Some(words) = duration(series, change, day) {
            wrap(&mut out, "   ", 6, &words);
        }
        for (name, old, new) in &change.also_changed {
            wrap(&mut out, "   also changed: ", 6, &format!("{name}, {old} to {new}"));
        }
        if change.together.is_common {
            wrap(&mut out, "   together: ", 6, &together(change.together));
        }
        for culprit in culprits {
            wrap(&mut out, "   found: ", 6, &self::culprit(culprit));
        }
        if let Some(between) = commits {
            for commit in &between.newest {
                writeln!(out, "      {}", shorten(commit, COLUMNS - 6)).ok();
            }
            let n_more = between.n - between.newest.len();
            if n_more > 0 {
                writeln!(out, "      and {n_more} more").ok();
            }
        }
        if let Some((words, remedy)) = remark(it) {
            wrap(&mut out, "   ", 6, &format!("{words}{remedy}"));
        }
    }
    out
}

/// How many changes there are, and which way they go; then what was not looked at.
fn summary(out: &mut String, all: &[Series], changes: &[SeriesChange<'_>], n_left_out: usize) {
    let n_unfit = all.iter().filter(|series| series.q.is_none()).count();
    let n_results: usize = all.iter().map(|series| series.values.len()).sum();
    writeln!(
        out,
        "{}{} in {} with {}",
        counts(changes),
        directions(changes),
        counted(all.len(), "benchmark"),
        counted(n_results, "result"),
    )
    .ok();
    if n_left_out > 0 {
        writeln!(out, "{n_left_out} more without four others of their machine within half a day")
            .ok();
    }
    if n_unfit > 0 {
        writeln!(out, "{n_unfit} of them have values that are not above zero, and no ratio").ok();
    }
}

/// Among the changes that stay: ` (2 slower, 1 faster)`.
fn directions(changes: &[SeriesChange<'_>]) -> String {
    let levels = changes.iter().filter(|it| it.change.kind == ChangeKind::Level);
    let (slower, faster): (Vec<_>, Vec<_>) = levels.partition(|it| it.change.ratio.ratio > 1.0);
    let words = [(slower.len(), "slower"), (faster.len(), "faster")];
    let words: Vec<String> =
        words.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// `2 changes, 1 spell`; `no change found`.
fn counts(changes: &[SeriesChange<'_>]) -> String {
    let kinds =
        [(ChangeKind::Level, "change"), (ChangeKind::Spell, "spell"), (ChangeKind::Drift, "drift")];
    let count = |(kind, word): (ChangeKind, &str)| {
        let n = changes.iter().filter(|it| it.change.kind == kind).count();
        (n > 0).then(|| counted(n, word))
    };
    let counts: Vec<String> = kinds.into_iter().filter_map(count).collect();
    if counts.is_empty() { "no change found".into() } else { counts.join(", ") }
}

/// How long a spell or a drift lasts. `day` is the day of a time.
pub(super) fn duration(
    series: &Series,
    change: &Change,
    day: impl Fn(i64) -> String,
) -> Option<String> {
    let until = change.until?;
    let results = counted(until - change.at, "result");
    let end = (until < series.values.len()).then(|| day(series.time_s(until)));
    Some(match (change.kind, end) {
        (ChangeKind::Drift, Some(end)) => format!("a slow drift over {results}, until {end}"),
        (ChangeKind::Drift, None) => format!("a slow drift over {results}; it may go on"),
        (_, Some(end)) => format!("a spell of {results}: from {end} on the level is the old one"),
        (_, None) => format!("a spell of {results}"),
    })
}

/// The sentence about other series that changed at the same time.
pub(super) fn together(ConcurrentChanges { n, of, .. }: ConcurrentChanges) -> String {
    format!(
        "{n} of the {of} other series of this machine changed here in the same direction; look at what they share (the \
         machine, an interpreter, a compiler) before the commits"
    )
}

/// A commit that a search found: `0123456789ab "subject", 5.1 % slower than its parent`.
pub(super) fn culprit(found: &StoredCulprit) -> String {
    let (id, subject) = (short_id(&found.head), shorten(&one_line(&found.subject), 50));
    let group = match found.n_commits {
        1 => String::new(),
        n => format!(", or one of the {} before it that cannot be built", n - 1),
    };
    let what = match found.layout {
        Some(LayoutVerdict::Layout) => "layout: it moved code",
        Some(LayoutVerdict::Unclear | LayoutVerdict::NotRelinked) => "it may be layout",
        _ => "",
    };
    let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
    format!("{id} \"{subject}\"{group}, {}{what}", signed_percent(found.ratio))
}

/// A remark on the commits of a change, and its remedy.
pub(super) fn remark(changed: &SeriesChange<'_>) -> Option<(String, &'static str)> {
    let SeriesChange { series, change, commits, .. } = changed;
    let result = |at: usize| &series.entries[at].result;
    let (before, after) = (result(change.at - 1), result(change.at));
    match commits {
        _ if before.revision.is_none() || after.revision.is_none() => {
            Some(("of which commits is not known".into(), "; give --revision to history add"))
        }
        _ if before.revision == after.revision => Some(("both are of this commit".into(), "")),
        None => Some((
            "git does not know what lies between".into(),
            "; --repository DIR names a whole clone",
        )),
        Some(between) if between.n_undone > 0 => {
            let commits = counted(between.n_undone, "commit");
            Some((format!("without {commits} of {}", revision(before)), ""))
        }
        Some(_) => None,
    }
}

/// Ratio, interval and p: `1.0310 (1.0290 to 1.0330), p 0.001`.
pub(super) fn numbers(change: &Change) -> String {
    let RatioInterval { ratio, lo, hi } = change.ratio;
    let number = |ratio: f64| uncertain::fixed(ratio, 4);
    let p = uncertain::significant(change.p, 2);
    format!("{} ({} to {}), p {p}", number(ratio), number(lo), number(hi))
}

fn day(time_s: i64) -> String {
    let time = Timestamp::from_second(time_s).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string()
}

pub(super) fn revision(result: &BenchmarkResult) -> String {
    short_id(result.revision.as_deref().unwrap_or("-"))
}

fn short_id(revision: &str) -> String {
    one_line(revision).chars().take(REVISION_MAX).collect()
}

/// A value in the unit of its series.
pub(super) fn value(series: &Series, value: f64, err: Option<f64>) -> String {
    let (unit, name) = unit(series);
    format!("{} {name}", unit.uncertain(value, err)).trim_end().to_owned()
}

/// The unit that fits all values of the series, and its name. A unit that Stillwell does not know keeps the file's name.
pub(super) fn unit(series: &Series) -> (DisplayUnit, String) {
    let unit = match &series.unit[..] {
        "ns" => ResultUnit::Time,
        "byte" => ResultUnit::Bytes,
        "count" => ResultUnit::Count,
        other => ResultUnit::Other(other.into()),
    };
    let largest = series.values.iter().copied().map(f64::abs).fold(0.0, f64::max);
    let fitting = DisplayUnit::for_largest(kind(&unit), largest);
    let name = match &unit {
        ResultUnit::Other(other) => fitting.label(&one_line(other)),
        _ => fitting.name.to_owned(),
    };
    (fitting, name)
}

/// A sparkline of the newest values, scaled from the lowest to the highest.
fn line(values: &[f64]) -> String {
    let newest = &values[values.len().saturating_sub(LINE_MAX)..];
    let lo = newest.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = newest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let eighths = |value: &f64| if hi > lo { 1.0 + 7.0 * (value - lo) / (hi - lo) } else { 4.0 };
    newest.iter().map(|value| block_of_eighths(eighths(value).round() as u64)).collect()
}

fn machines(out: &mut String, all: &[Series]) {
    let mut machines: Vec<String> = all.iter().map(|it| one_line(&it.machine)).collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.len() == 1 {
        writeln!(out, "all on {}", machines[0]).ok();
    } else {
        writeln!(out, "on {} machines: {}", machines.len(), machines.join("; ")).ok();
    }
}
