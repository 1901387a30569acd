//! The index of a suite: a table with a row for each benchmark, which the reader can sort and filter.

use std::collections::HashMap;

use serde::Serialize;

use crate::columns::one_line;
use crate::exported::ratio;
use crate::ratios::{ratio_text, tested_ratio};
use crate::report::cards;
use crate::report::group::{GroupContext, estimate};
use crate::report::tables::T0;
use crate::t0;
use crate::uncertain::signs;
use analysis::Evidence;
use analysis::report::ReportData;
use analysis::suite::plan_of_arm;

/// Most arms with a column of times.
const TIMES_MAX: usize = 3;
/// Longest name of a variant in a heading, bytes.
const NAME_MAX: usize = 20;

#[derive(Clone, Debug, Serialize)]
pub(super) struct BenchmarkIndex {
    /// Class and word of each verdict that a row has.
    classes: Vec<(&'static str, &'static str)>,
    columns: Vec<IndexColumn>,
    has_files: bool,
    has_verdicts: bool,
    rows: Vec<IndexRow>,
}

#[derive(Clone, Debug, Serialize)]
struct IndexColumn {
    name: String,
    is_number: bool,
    sorts: bool,
}

/// A row of the index. Sort keys are numbers; a missing one is empty.
#[derive(Clone, Debug, Serialize)]
struct IndexRow {
    id: String,
    group: usize,
    name: String,
    file: String,
    #[serde(flatten)]
    verdict: IndexVerdict,
    /// Each time as a text and as a sort key.
    times: Vec<(String, String)>,
}

/// The verdict of a group's row: the most important comparison's, or an estimate against another record.
#[derive(Clone, Debug, Serialize)]
struct IndexVerdict {
    class: &'static str,
    word: &'static str,
    /// The place of the class on the page.
    verdict_key: usize,
    ratio: String,
    ratio_key: String,
}

impl IndexVerdict {
    fn new(class: &'static str, word: &'static str, ratio: String, key: Option<f64>) -> Self {
        let place = cards::CLASSES.iter().position(|entry| *entry == class);
        let ratio_key = key.map_or_else(String::new, |key| key.to_string());
        Self { class, word, verdict_key: place.unwrap_or(0), ratio, ratio_key }
    }
}

pub(super) fn index(groups: &[GroupContext<'_>], data: &ReportData) -> BenchmarkIndex {
    let n_times = groups
        .iter()
        .map(|context| context.group.arms.len())
        .max()
        .unwrap_or(1)
        .clamp(1, TIMES_MAX);
    let verdicts: Vec<Option<IndexVerdict>> =
        groups.iter().enumerate().map(|(index, context)| verdict(index, context, data)).collect();
    let has_verdicts = verdicts.iter().any(Option::is_some);
    let has_files = groups.windows(2).any(|pair| pair[0].file != pair[1].file);
    let mut rows: Vec<IndexRow> = groups
        .iter()
        .zip(verdicts)
        .enumerate()
        .map(|(index, (context, verdict))| IndexRow {
            id: format!("group-{index}"),
            group: index,
            name: context.group.benchmark.clone().unwrap_or_else(|| context.title.clone()),
            file: context.file.clone(),
            verdict: verdict.unwrap_or_else(|| IndexVerdict::new("none", "", String::new(), None)),
            times: (0..n_times).map(|place| time(context, place)).collect(),
        })
        .collect();
    // A benchmark's rows of several records are adjacent.
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        first.entry(row.name.clone()).or_insert(at);
    }
    rows.sort_by_key(|row| first[&row.name]);
    let is_used = |(class, _): &(&str, &str)| rows.iter().any(|row| row.verdict.class == *class);
    BenchmarkIndex {
        classes: cards::class_words(groups).into_iter().filter(is_used).collect(),
        columns: columns(has_files, has_verdicts, &time_names(groups, n_times)),
        has_files,
        has_verdicts,
        rows,
    }
}

/// Headings of the columns of times: the variant's name if all groups share it, else the number.
fn time_names(groups: &[GroupContext<'_>], n_times: usize) -> Vec<String> {
    let first = groups.first().map_or(T0, |context| context.location);
    let is_one = groups.iter().all(|context| context.location == first);
    let location = if is_one { first } else { "value" };
    let times = if groups.iter().any(GroupContext::has_ratios) { " × ratio" } else { "" };
    let t0 = format!("{location}{times}");
    let name = |place: usize| {
        let has_place = |context: &&GroupContext<'_>| place < context.group.arms.len();
        let mut labels =
            groups.iter().filter(has_place).map(|context| context.summary(place).label.as_str());
        let first = labels.next().filter(|label| one_line(label).len() <= NAME_MAX);
        match first {
            _ if n_times == 1 => t0.clone(),
            Some(first) if labels.all(|label| label == first) => {
                format!("{t0} of {}", one_line(first))
            }
            _ => format!("{t0} of {}", place + 1),
        }
    };
    (0..n_times).map(name).collect()
}

fn columns(has_files: bool, has_verdicts: bool, time_names: &[String]) -> Vec<IndexColumn> {
    let column = |name: &str, is_number| IndexColumn { name: name.into(), is_number, sorts: true };
    let mut columns = vec![column("benchmark", false)];
    columns.extend(has_files.then(|| column("record", false)));
    if has_verdicts {
        columns.extend([column("verdict", false), column("ratio", true)]);
    }
    columns.extend(time_names.iter().map(|name| column(name, true)));
    columns.push(IndexColumn { name: String::new(), is_number: false, sorts: false });
    columns
}

fn verdict(index: usize, context: &GroupContext<'_>, data: &ReportData) -> Option<IndexVerdict> {
    let of = context.comparisons().map(|(comparison, judgement)| {
        let plan = plan_of_arm(context.judged.record, comparison.arm);
        let (class, word) = cards::class_and_word(&comparison.evidence, judgement, plan);
        let ratio = ratio(&comparison.evidence, judgement);
        let text = match &comparison.evidence {
            Evidence::Paired(paired) => tested_ratio(paired, judgement.shown(paired)),
            _ => ratio.map_or_else(String::new, |it| signs(&ratio_text(it.value, it.err))),
        };
        IndexVerdict::new(class, word, text, ratio.map(|it| it.value))
    });
    of.min_by_key(|verdict| verdict.verdict_key).or_else(|| {
        let same = data.same_names.iter().find(|same| same.arm[0] == index)?;
        let key = match &same.evidence {
            Evidence::Unpaired { ratio, .. } => Some(ratio.value),
            _ => None,
        };
        Some(IndexVerdict::new("none", "ESTIMATE", estimate(same)?, key))
    })
}

fn time(context: &GroupContext<'_>, place: usize) -> (String, String) {
    let is_there = place < context.group.arms.len();
    let Some(time) = is_there.then(|| context.compared(place)).flatten() else {
        return Default::default();
    };
    let text = signs(&context.unit.label(&t0::beside_ratio(context.unit, time)));
    (text, time.value.to_string())
}
