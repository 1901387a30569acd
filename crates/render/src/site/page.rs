//! Texts and tables of a page of the site, for its template.

use std::collections::HashSet;

use serde::Serialize;

use crate::columns::one_line;
use crate::history::{SeriesChange, estimate_name, no_change, unit, value};
use crate::quantity::QuantityWords;
use crate::site::card::{ChangeCard, card, commits_between, day, newest_s, section};
use crate::site::{HistorySite, page_of};
use crate::uncertain::signs;
use crate::units::{counted, signed_percent};
use model::values::Estimate;
use search::history::series::Series;

/// Changes that the index shows unfolded.
const OPEN_MAX: usize = 8;

/// The index, or the page of a benchmark.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SitePage {
    title: String,
    tool: &'static str,
    /// Numbers of benchmarks, results, machines and changes, in one line.
    counts: String,
    is_index: bool,
    index: Option<SeriesIndex>,
    sections: Vec<SeriesSection>,
    /// Changes on the index, newest first.
    newest: Vec<ChangeCard>,
    older: Vec<ChangeCard>,
    /// Without a change: the smallest visible one.
    unchanged: Vec<String>,
}

/// The table of the index, with a row for each series.
#[derive(Clone, Debug, Serialize)]
struct SeriesIndex {
    classes: Vec<(&'static str, &'static str)>,
    has_machines: bool,
    estimate: String,
    rows: Vec<SeriesRow>,
}

/// A row of the index. Sort keys are numbers; a missing one is empty.
#[derive(Clone, Debug, Serialize)]
struct SeriesRow {
    name: String,
    href: String,
    section: String,
    machine: String,
    n: usize,
    value: String,
    value_key: f64,
    class: &'static str,
    change: String,
    change_key: String,
    when: String,
    when_key: String,
    commits: String,
}

#[derive(Clone, Debug, Serialize)]
struct SeriesSection {
    id: String,
    title: String,
    said: String,
    caption: &'static str,
    changes: Vec<ChangeCard>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ChartText {
    unit: SeriesUnit,
    estimate: String,
    /// The size of each change: `+3.1 %`.
    sizes: Vec<String>,
    /// Whether each change is to the worse.
    is_worse: Vec<bool>,
}

#[derive(Clone, Debug, Serialize)]
struct SeriesUnit {
    name: String,
    size: f64,
}

const TOOL: &str = concat!("stillwell ", env!("CARGO_PKG_VERSION"));

pub(super) fn index(site: HistorySite<'_>) -> SitePage {
    let HistorySite { series, changes, .. } = site;
    let n_results: usize = series.iter().map(|series| series.values.len()).sum();
    let mut counts = vec![
        counted(series.chunk_by(|a, b| a.benchmark == b.benchmark).count(), "benchmark"),
        counted(n_results, "result"),
        counted(machines(series), "machine"),
        counted(changes.len(), "change"),
    ];
    counts
        .extend(series.iter().map(newest_s).max().map(|time_s| format!("newest {}", day(time_s))));
    let mut places = places(series);
    let mut rows = Vec::new();
    let mut cards = Vec::new();
    for series in series {
        let place = places.next().unwrap_or(0);
        let own = changes.iter().filter(|changed| std::ptr::eq(changed.series, series));
        let own: Vec<&SeriesChange<'_>> = own.collect();
        rows.push(row(site, series, place, own.last().copied()));
        cards.extend(own.iter().map(|it| (series.time_s(it.change.at), card(it, place))));
    }
    // The sort is stable: changes of one day remain in the order of the series, by name.
    cards.sort_by_key(|(time_s, _)| std::cmp::Reverse(*time_s));
    let mut cards: Vec<ChangeCard> = cards.into_iter().map(|(_, card)| card).collect();
    let older = cards.split_off(cards.len().min(OPEN_MAX));
    let are_times = series.iter().all(|it| QuantityWords::of_series(it).is_time());
    let [slower, faster] = match are_times {
        true => ["slower", "faster"],
        false => ["slower or worse", "faster or better"],
    };
    let classes =
        [("slower", slower), ("faster", faster), ("undecided", "spell or drift"), ("none", "none")];
    let is_used = |class: &&(&str, &str)| rows.iter().any(|row: &SeriesRow| row.class == class.0);
    let index = SeriesIndex {
        classes: classes.iter().filter(is_used).copied().collect(),
        has_machines: machines(series) > 1,
        estimate: estimate_name(site.series, site.estimate),
        rows,
    };
    SitePage {
        title: one_line(site.title.unwrap_or("Results over time")),
        tool: TOOL,
        counts: counts.join(" · "),
        is_index: true,
        index: (!series.is_empty()).then_some(index),
        newest: cards,
        older,
        unchanged: site.nearest.map(|it| no_change(it, day)).unwrap_or_default(),
        ..SitePage::default()
    }
}

fn row(
    site: HistorySite<'_>,
    series: &Series,
    place: usize,
    last: Option<&SeriesChange<'_>>,
) -> SeriesRow {
    let (newest, entry) = (series.values.last(), series.entries.last());
    let newest = newest.copied().unwrap_or(f64::NAN);
    let err = entry.and_then(|entry| entry.result.level().1);
    let err = err.filter(|_| site.estimate == Estimate::T0);
    let card = last.map(|changed| card(changed, place));
    let time_s = last.map(|changed| series.time_s(changed.change.at));
    SeriesRow {
        name: one_line(&series.label()),
        href: page_of(&series.benchmark),
        section: section(place),
        machine: one_line(&series.machine),
        n: series.values.len(),
        value: signs(&value(series, newest, err)),
        value_key: newest,
        class: card.as_ref().map_or("none", |card| card.class),
        change: card.map(|card| card.size).unwrap_or_default(),
        change_key: last.map(|it| it.change.ratio.ratio.to_string()).unwrap_or_default(),
        when: time_s.map(day).unwrap_or_default(),
        when_key: time_s.map(|time_s| time_s.to_string()).unwrap_or_default(),
        commits: last.map(|changed| one_line(&commits_between(changed))).unwrap_or_default(),
    }
}

pub(super) fn benchmark(site: HistorySite<'_>, series: &[Series]) -> SitePage {
    let section = |(place, series): (usize, &Series)| {
        let own = site.changes.iter().filter(|changed| std::ptr::eq(changed.series, series));
        let mut changes: Vec<ChangeCard> = own.map(|changed| card(changed, place)).collect();
        changes.reverse();
        let title = [&series.arm, &series.machine].map(|part| one_line(part));
        let title: Vec<&str> =
            title.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let n_since = series.levels().last().map_or(0, |level| level.end - level.start);
        let since = if series.changes.is_empty() { "" } else { " since the last change" };
        SeriesSection {
            id: section(place),
            title: title.join(" on "),
            said: format!(
                "Level {}, the median of {}{since}; {} in all.",
                value(series, series.level(), None),
                counted(n_since, "result"),
                counted(series.values.len(), "result"),
            ),
            caption: if series.is_by_commit {
                "At the time of their commits; lines between the changes are the levels."
            } else {
                "At the time of their measurement; lines between the changes are the levels."
            },
            changes,
        }
    };
    SitePage {
        title: one_line(&series[0].benchmark),
        tool: TOOL,
        counts: counted(series.iter().map(|series| series.values.len()).sum(), "result"),
        sections: series.iter().enumerate().map(section).collect(),
        ..SitePage::default()
    }
}

pub(super) fn chart_words(series: &Series, estimate: Estimate) -> ChartText {
    let (unit, name) = unit(series);
    let sizes = series.changes.iter().map(|change| signed_percent(change.ratio.ratio));
    ChartText {
        unit: SeriesUnit { name, size: unit.size },
        estimate: estimate_name(std::slice::from_ref(series), estimate),
        sizes: sizes.collect(),
        is_worse: series.changes.iter().map(|it| series.cost(it.ratio).ratio > 1.0).collect(),
    }
}

/// The place of each series on the page of its benchmark.
fn places(series: &[Series]) -> impl Iterator<Item = usize> {
    series.chunk_by(|a, b| a.benchmark == b.benchmark).flat_map(|series| 0..series.len())
}

fn machines(series: &[Series]) -> usize {
    series.iter().map(|series| &series.machine).collect::<HashSet<_>>().len()
}
