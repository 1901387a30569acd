//! The changes of a history: document, text, and the answer without a change.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap};
use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use crate::history::{dates, revision, short_id, time_of_day};
use crate::quantity::QuantityWords;
use crate::styles::paint;
use crate::units::{counted, counts_in_words, percent, signed_percent};
use crate::{Styles, uncertain};
use analysis::verdict::Verdict;
use analysis::{LEVEL_MIN, RatioInterval};
use model::values::Better;
use search::bisection::LayoutVerdict;
use search::history::commits::CommitRange;
use search::history::detection::NearestChange;
use search::history::series::{Change, ChangeKind, ConcurrentChanges, Series};
use search::history::{BenchmarkResult, StoredCulprit};

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
    /// The direction in which the values are better; without it, `lower`.
    #[serde(skip_serializing_if = "Better::is_lower")]
    better: Better,
    machine: &'a str,
}

fn place<S: serde::Serializer>(series: &&Series, to: S) -> Result<S::Ok, S::Error> {
    let Series { benchmark, arm, unit, better, machine, .. } = series;
    SeriesName { benchmark, arm, unit, better: *better, machine }.serialize(to)
}

impl SeriesChange<'_> {
    /// The change as a ratio of costs: above 1 is worse.
    pub fn cost(&self) -> RatioInterval {
        self.series.cost(self.change.ratio)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        if self.cost().ratio > 1.0 { Verdict::Slower } else { Verdict::Faster }
    }

    /// The verdict in a word: `SLOWER`, or `WORSE` of what is no time.
    pub(crate) fn word(&self) -> &'static str {
        QuantityWords::of_series(self.series).verdict(self.verdict())
    }
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
    const VERSION: u32 = 2;
}

/// Probability that the interval of a change holds the true ratio.
const CHANGE_CONFIDENCE: f64 = 0.95;

/// The conclusion: each change as an effect. The verdict is on levels that stay, so other changes have none.
pub fn conclusion(changes: &[SeriesChange<'_>]) -> Conclusion {
    let is_level = |it: &SeriesChange<'_>| it.change.kind == ChangeKind::Level;
    let verdict = match changes.iter().any(is_level) {
        true => FinalVerdict::Changed,
        false => FinalVerdict::Unchanged,
    };
    let effects = changes.iter().map(|it| {
        let effect = Effect::of_ratio(it.series.label(), it.cost(), CHANGE_CONFIDENCE);
        Effect { verdict: is_level(it).then(|| it.verdict()), ..effect }
    });
    Conclusion { effects: effects.collect(), ..Conclusion::of(verdict) }
}

/// The number of changes, then each of them. `n_left_out`: results with too few others to be relative to.
pub fn changes(
    all: &[Series],
    changes: &[SeriesChange<'_>],
    n_left_out: usize,
    nearest: Option<&NearestChange>,
    styles: &Styles,
) -> String {
    let mut out = String::new();
    summary(&mut out, all, changes, n_left_out);
    let day = dates(all);
    for line in nearest.map(|it| no_change(it, day)).unwrap_or_default() {
        wrap(&mut out, "", 2, &line);
    }
    for (number, it) in (1..).zip(changes) {
        out.push('\n');
        let SeriesChange { series, change, commits, culprits } = it;
        let style = match change.kind {
            ChangeKind::Level => styles.verdict(it.verdict()),
            ChangeKind::Spell | ChangeKind::Drift => styles.attention,
        };
        let (before, after) = (&series.entries[change.at - 1], &series.entries[change.at]);
        // One commit has one time.
        let is_one_commit =
            before.result.revision.is_some() && before.result.revision == after.result.revision;
        let place = |at: usize| match is_one_commit {
            true => time_of_day(series.entries[at].origin.measured_s),
            false => day(series.time_s(at)),
        };
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
            "   between {}{} and {}{} on {}",
            place(change.at - 1),
            at_revision(&before.result),
            place(change.at),
            at_revision(&after.result),
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
            wrap(&mut out, "   found: ", 6, &self::culprit(series, culprit));
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

/// The number of changes and their directions; then the excluded results.
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
    let is_too_short = |series: &Series| series.values.len() < 2 * LEVEL_MIN;
    if !all.is_empty() && all.iter().all(is_too_short) {
        let text =
            format!("too few: a change needs {LEVEL_MIN} results before it and {LEVEL_MIN} after");
        writeln!(out, "{text}").ok();
    }
    if n_left_out > 0 {
        writeln!(out, "{n_left_out} more without four others of their machine within half a day")
            .ok();
    }
    if n_unfit > 0 {
        writeln!(out, "{n_unfit} of them have values that are not above zero, and no ratio").ok();
    }
}

/// Directions of the lasting changes: ` (2 slower, 1 faster)`; `worse` and `better` of what is no time.
fn directions(changes: &[SeriesChange<'_>]) -> String {
    let levels = || changes.iter().filter(|it| it.change.kind == ChangeKind::Level);
    let n_of = |word: &str| levels().filter(|it| it.word().eq_ignore_ascii_case(word)).count();
    let words = ["slower", "faster", "worse", "better"];
    let words = counts_in_words(&words.map(|word| (n_of(word), word)));
    if words.is_empty() { String::new() } else { format!(" ({words})") }
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

/// How long a spell or a drift lasts. `day` makes a date of a time.
pub(crate) fn duration(series: &Series, change: &Change, day: fn(i64) -> String) -> Option<String> {
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

/// A sentence about simultaneous changes of other series.
pub(crate) fn together(ConcurrentChanges { n, of, .. }: ConcurrentChanges) -> String {
    format!(
        "{n} of the {of} other series of this machine changed here in the same direction; look at what they share (the \
         machine, an interpreter, a compiler) before the commits"
    )
}

/// A commit that a search found: `0123456789ab "subject", +5.1 %`.
pub(crate) fn culprit(series: &Series, stored_culprit: &StoredCulprit) -> String {
    let (id, subject) = (short_id(&stored_culprit.head), shorten(&stored_culprit.subject, 50));
    let group = match stored_culprit.n_commits {
        1 => String::new(),
        n => format!(", or one of the {} before it that cannot be built", n - 1),
    };
    let what = match stored_culprit.layout {
        Some(LayoutVerdict::Layout) => "layout: it moved code",
        Some(LayoutVerdict::Unclear | LayoutVerdict::NotRelinked) => "it may be layout",
        _ => "",
    };
    let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
    // The search has compared costs.
    let ratio = series.better.turned(stored_culprit.ratio);
    format!("{id} \"{subject}\"{group}, {}{what}", signed_percent(ratio))
}

/// The revision behind a date, if it is known.
fn at_revision(result: &BenchmarkResult) -> String {
    result.revision.as_ref().map_or_else(String::new, |_| format!(" {}", revision(result)))
}

/// A remark on the commits of a change, and its remedy.
pub(crate) fn remark(changed: &SeriesChange<'_>) -> Option<(String, &'static str)> {
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
pub(crate) fn numbers(change: &Change) -> String {
    let RatioInterval { ratio, lo, hi } = change.ratio;
    let number = |ratio: f64| uncertain::fixed(ratio, 4);
    let p = uncertain::significant(change.p, 2);
    format!("{} ({} to {}), p {p}", number(ratio), number(lo), number(hi))
}

/// Movements with a larger p are not mentioned.
const NEAR: f64 = 0.2;

/// The answer without a change: the level, the nearest movement, and the smallest visible one.
pub(crate) fn no_change(nearest_change: &NearestChange, day: fn(i64) -> String) -> Vec<String> {
    let NearestChange { series, change, smallest_visible, since_s, alpha } = nearest_change;
    let p = uncertain::significant(change.p, 2);
    let nearest = format!(
        "nearest: {} {} since {}, p = {p}",
        shorten(series, 60),
        signed_percent(change.ratio.ratio),
        day(*since_s),
    );
    let level = uncertain::trimmed(100.0 * alpha, 6);
    let visible = smallest_visible
        .map(|least| format!("smallest change visible there at {level} %: {}", percent(least)));
    // A movement that random orders of the results often show does not count.
    let nearest = Some(nearest).filter(|_| change.p < NEAR);
    nearest.into_iter().chain(visible).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use search::history::detection::detect;
    use search::history::fixture::{SETTINGS, result};
    use search::history::{RecordOrigin, StoredResult};

    #[test]
    fn only_a_change_of_level_has_a_verdict() {
        let entry = |i: i64| StoredResult {
            record: i,
            origin: Arc::new(RecordOrigin { measured_s: 86_400 * i, ..RecordOrigin::default() }),
            result: result("a", (if i < 20 { 1e6 } else { 2e6 }) + (i % 7) as f64, Some(3.0)),
        };
        let all = detect((0..40).map(entry).collect(), SETTINGS);
        let series = &all[0];
        let told = |kind: ChangeKind| {
            let change = &Change { kind, ..series.changes[0].clone() };
            let changed = SeriesChange { series, change, commits: None, culprits: Vec::new() };
            let Conclusion { verdict, effects, .. } = conclusion(&[changed]);
            (verdict, effects[0].verdict)
        };
        assert_eq!(told(ChangeKind::Level), (FinalVerdict::Changed, Some(Verdict::Slower)));
        assert_eq!(told(ChangeKind::Spell), (FinalVerdict::Unchanged, None));
    }
}
