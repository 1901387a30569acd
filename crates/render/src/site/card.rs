//! The card of a change: size, place and commits.

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use crate::columns::one_line;
use crate::history::{
    SeriesChange, culprit, duration, numbers, remark, revision, short_id, together,
};
use crate::styles::verdict_name;
use crate::units::signed_percent;
use search::history::series::{ChangeKind, Series};

#[derive(Clone, Debug, Serialize)]
pub(super) struct ChangeCard {
    pub class: &'static str,
    word: String,
    /// For example `+3.1 %`.
    pub size: String,
    numbers: String,
    /// How long a spell or a drift lasts.
    duration: Option<String>,
    name: String,
    /// Path of the benchmark's page from the directory of the site. `section`: anchor on the page.
    href: String,
    section: String,
    machine: String,
    /// The last result before the change, and the first one after it.
    sides: [ChangeSide; 2],
    also: Vec<String>,
    together: Option<String>,
    /// The commits that a search found.
    found: Vec<String>,
    commits: Vec<String>,
    n_more: usize,
    remark: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ChangeSide {
    day: String,
    revision: String,
    record: i64,
}

/// The anchor of a series' section, from the place on the page.
pub(super) fn section(place: usize) -> String {
    format!("s{place}")
}

pub(super) fn card(changed: &SeriesChange<'_>, place: usize) -> ChangeCard {
    let SeriesChange { series, change, commits, culprits } = changed;
    let side = |at: usize| ChangeSide {
        day: day(series.time_s(at)),
        revision: series.entries[at].result.revision.as_deref().map(short_id).unwrap_or_default(),
        record: series.entries[at].record,
    };
    let also = change.also_changed.iter();
    let (class, word) = class_and_word(changed);
    ChangeCard {
        class,
        word,
        size: signed_percent(change.ratio.ratio),
        numbers: numbers(change),
        duration: duration(series, change, day),
        name: one_line(&series.label()),
        href: super::page_of(&series.benchmark),
        section: section(place),
        machine: one_line(&series.machine),
        sides: [side(change.at - 1), side(change.at)],
        also: also.map(|(name, old, new)| one_line(&format!("{name}, {old} to {new}"))).collect(),
        together: Some(change.together).filter(|it| it.is_common).map(together),
        found: culprits.iter().map(|it| culprit(series, it)).collect(),
        commits: commits.iter().flat_map(|it| &it.newest).map(|commit| one_line(commit)).collect(),
        n_more: commits.as_ref().map_or(0, |it| it.n - it.newest.len()),
        remark: remark(changed).map(|(words, _)| one_line(&words)),
    }
}

fn class_and_word(changed: &SeriesChange<'_>) -> (&'static str, String) {
    let word = changed.word();
    match changed.change.kind {
        ChangeKind::Level => (verdict_name(changed.verdict()), word.into()),
        ChangeKind::Spell => ("undecided", format!("{word} SPELL")),
        ChangeKind::Drift => ("undecided", format!("DRIFT TO {word}")),
    }
}

/// The suspected commits of a change: a subject, a number, or the revisions around them.
pub(super) fn commits_between(changed: &SeriesChange<'_>) -> String {
    match &changed.commits {
        Some(between) if between.n == 1 => between.newest[0].clone(),
        Some(between) => format!("{} commits", between.n),
        None => {
            let at = changed.change.at;
            let sides = [at - 1, at].map(|at| &changed.series.entries[at].result);
            match sides.iter().all(|it| it.revision.is_some()) {
                true => sides.map(revision).join(" … "),
                false => String::new(),
            }
        }
    }
}

/// The day in UTC, the same for every reader of the site.
pub(super) fn day(time_s: i64) -> String {
    let time = Timestamp::from_second(time_s).unwrap_or_default();
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Time of the newest result of a series, s since 1970.
pub(super) fn newest_s(series: &Series) -> i64 {
    series.entries.iter().map(|entry| entry.origin.measured_s).max().unwrap_or(0)
}
