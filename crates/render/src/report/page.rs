//! Texts and tables of a report for its template, in the order of the page.

use serde::Serialize;

use crate::columns::{one_line, width};
use crate::names::first_of;
use crate::noise::{advice, name};
use crate::remedies::Audience;
use crate::report::cards::{self, VerdictCard};
use crate::report::charts;
use crate::report::group::{GroupContext, estimate};
use crate::report::index::{self, BenchmarkIndex};
use crate::report::records::{self, RecordText};
use crate::report::tables::{self, MetricTable, T0};
use crate::text::sentence;
use crate::uncertain::signs;
use analysis::report::{NameMatch, ReportData};
use analysis::suite::plan_of_arm;
use analysis::verdict::{Judged, Judgement};
use analysis::{Activity, ArmSummary, ComparedTimes, Comparison, activities};
use model::values::ValueUnit;
use record::ledger::LedgerEntry;

/// More verdicts are counted instead of listed.
const HEADLINES_MAX: usize = 3;
/// More groups are folded, and the page has an index.
pub(super) const OPEN_GROUPS_MAX: usize = 4;
/// More ratios have no chart at the top of the page.
const FOREST_MAX: usize = 60;
/// Columns of a title with the names of several commands.
const TITLE_MAX: usize = 100;
/// Pages of more records have no answers in sentences.
const ANSWERS_MAX: usize = 12;

/// The page for the template.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportPage {
    title: String,
    created: String,
    tool: String,
    /// Class and word of each verdict, and how many have it.
    counts: Vec<(&'static str, &'static str, usize)>,
    /// The sentence of each record, like the terminal's, unless a card has it.
    answers: Vec<String>,
    headlines: Vec<VerdictCard>,
    lead_figure: bool,
    together: Option<SameNameTable>,
    index: Option<BenchmarkIndex>,
    groups: Vec<GroupSection>,
    folded: bool,
    records: Vec<RecordText>,
    /// Texts of each group's charts, for the scripts.
    #[serde(skip)]
    pub words: Vec<GroupText>,
}

#[derive(Clone, Debug, Serialize)]
struct SameNameTable {
    first: String,
    location: &'static str,
    rows: Vec<SameNameRow>,
}

#[derive(Clone, Debug, Serialize)]
struct SameNameRow {
    label: String,
    file: String,
    t0: String,
    ratio: String,
}

#[derive(Clone, Debug, Serialize)]
struct GroupSection {
    id: String,
    index: usize,
    title: String,
    class: Option<&'static str>,
    word: Option<&'static str>,
    arms: Vec<ArmRow>,
    headings: Vec<String>,
    /// Empty if the cards are the page's headlines.
    cards: Vec<VerdictCard>,
    are_folded: bool,
    charts: Vec<charts::ReportChart>,
    metrics: Option<MetricTable>,
    counts: Option<MetricTable>,
}

#[derive(Clone, Debug, Serialize)]
struct ArmRow {
    number: String,
    label: String,
    is_reference: bool,
    cells: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct GroupText {
    pub title: String,
    pub unit: ChartUnit,
    arms: Vec<String>,
    numbers: Vec<String>,
    comparisons: Vec<ComparisonText>,
    series: Vec<String>,
    location: &'static str,
    /// The entries of each ledger.
    ledgers: Vec<Vec<PartText>>,
}

/// A part of the time above t0.
#[derive(Clone, Debug, Serialize)]
struct PartText {
    name: String,
    /// A remedy; may be empty.
    advice: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ChartUnit {
    name: &'static str,
    size: f64,
    kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct ComparisonText {
    label: String,
    class: &'static str,
    word: &'static str,
}

/// The cards of a group's comparisons. `place` names the group if the page shows several.
fn group_cards(group: &GroupContext<'_>, place: Option<&str>) -> Vec<VerdictCard> {
    let Judged { record, analysis, .. } = group.judged;
    let card = |(comparison, judgement): (&Comparison, &Judgement)| {
        let plan = plan_of_arm(record, comparison.arm);
        cards::card(plan, &analysis.arms, comparison, judgement, place)
    };
    group.comparisons().map(card).map(with_signs).collect()
}

fn with_signs(mut card: VerdictCard) -> VerdictCard {
    card.sentence = card.sentence.map(|sentence| signs(&sentence));
    card.numbers = card.numbers.map(|numbers| signs(&numbers));
    card.details = card.details.iter().map(|detail| signs(detail)).collect();
    card
}

pub(super) fn page(records: &[Judged<'_>], data: &ReportData, title: Option<&str>) -> ReportPage {
    let has_suite = data.groups.len() > records.len();
    let times: Vec<ComparedTimes> =
        records.iter().map(|it| ComparedTimes::of(it.analysis, it.judgements)).collect();
    let context = |group| GroupContext::new((records, &times), group, has_suite);
    let groups: Vec<GroupContext<'_>> = data.groups.iter().map(context).collect();
    let folded = groups.len() > OPEN_GROUPS_MAX;
    let is_one = groups.len() == 1;
    let all: Vec<VerdictCard> = groups
        .iter()
        .flat_map(|context| group_cards(context, (!is_one).then_some(context.title.as_str())))
        .collect();
    let n_ratios = all.len();
    let mut headlines = headlines(&groups, all.clone());
    let answers = answers(records, &groups, &mut headlines);
    ReportPage {
        title: title.map_or_else(|| default_title(&groups, records.len()), one_line),
        created: created(records),
        tool: records.first().map_or(String::new(), |it| one_line(&it.record.header.tool)),
        counts: if all.len() > headlines.len() { counts(&all, &groups) } else { Vec::new() },
        answers,
        headlines,
        lead_figure: (1..=FOREST_MAX).contains(&n_ratios),
        together: data.together.as_ref().map(|_| SameNameTable {
            first: groups.first().map(|context| context.file.clone()).unwrap_or_default(),
            location: groups.first().map_or(T0, |context| context.location),
            rows: data.same_names.iter().map(|same| same_name(&groups, same)).collect(),
        }),
        index: folded.then(|| index::index(&groups, data)),
        groups: groups
            .iter()
            .enumerate()
            .map(|(index, context)| group_page(index, context, is_one))
            .collect(),
        folded,
        records: records.iter().map(|it| records::words(it.record, it.analysis)).collect(),
        words: groups.iter().map(group_words).collect(),
    }
}

/// The answers at the top. A record with one card has the same sentence there.
fn answers(
    records: &[Judged<'_>],
    groups: &[GroupContext<'_>],
    cards: &mut [VerdictCard],
) -> Vec<String> {
    let is_one = records.len() == 1;
    if !is_one && (!cards.is_empty() || records.len() > ANSWERS_MAX) {
        return Vec::new();
    }
    let answer = |(at, it): (usize, &Judged<'_>)| {
        let said = signs(&sentence(*it)?);
        let file = groups.iter().find(|group| group.group.record == at);
        let file = file.filter(|_| !is_one).map(|group| format!("{}: ", group.file));
        Some(file.unwrap_or_default() + &said)
    };
    let answers: Vec<String> = records.iter().enumerate().filter_map(answer).collect();
    if let ([card], [_]) = (cards, &answers[..]) {
        card.sentence = None;
    }
    answers
}

/// The cards at the top: all verdicts, unless they are too many, or the times of the commands.
fn headlines(groups: &[GroupContext<'_>], mut all: Vec<VerdictCard>) -> Vec<VerdictCard> {
    if !all.is_empty() {
        if groups.len() > 1 {
            // Each section repeats its own details.
            all.iter_mut().for_each(|card| card.details.clear());
        }
        return if all.len() <= HEADLINES_MAX { all } else { Vec::new() };
    }
    if groups.len() > HEADLINES_MAX {
        return Vec::new();
    }
    let of = |it: &GroupContext<'_>| {
        let title = (groups.len() > 1).then_some(it.title.as_str());
        let arms = (0..it.group.arms.len()).map(|place| it.summary(place));
        arms.map(|arm| with_signs(cards::alone(it, arm, title))).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of).take(HEADLINES_MAX).collect()
}

fn counts(
    all: &[VerdictCard],
    groups: &[GroupContext<'_>],
) -> Vec<(&'static str, &'static str, usize)> {
    let of = |&(class, word): &(&'static str, &'static str)| {
        let n = all.iter().filter(|card| card.class == class).count();
        (n > 0).then_some((class, word, n))
    };
    cards::class_words(groups).iter().filter_map(of).collect()
}

fn created(records: &[Judged<'_>]) -> String {
    match records {
        [only] => one_line(&only.record.header.created),
        _ => format!("{} records", records.len()),
    }
}

fn default_title(groups: &[GroupContext<'_>], n_records: usize) -> String {
    let is_suite = groups.iter().any(|context| context.group.benchmark.is_some());
    match groups {
        [only] => {
            let labels: Vec<String> =
                only.group.arms.iter().map(|arm| one_line(&arm.label)).collect();
            let all = labels.join(" vs ");
            let is_short = labels.len() == 1 || width(&all) <= TITLE_MAX;
            match (&only.group.benchmark, &only.group.scan) {
                (Some(benchmark), _) => one_line(benchmark),
                (None, Some(scan)) => {
                    let series = scan.series.iter().map(|series| one_line(&series.label));
                    series.collect::<Vec<_>>().join(" vs ")
                }
                (None, None) if labels.len() <= HEADLINES_MAX && is_short => all,
                (None, None) => format!("{} commands", labels.len()),
            }
        }
        _ if is_suite && n_records == 1 => format!("{} benchmarks", groups.len()),
        _ => {
            let mut files: Vec<&str> = groups.iter().map(|context| context.file.as_str()).collect();
            files.dedup();
            first_of(&files, HEADLINES_MAX)
        }
    }
}

fn same_name(groups: &[GroupContext<'_>], same: &NameMatch) -> SameNameRow {
    let [group, arm] = same.arm;
    let it = &groups[group];
    SameNameRow {
        label: one_line(&it.group.arms[arm].label),
        file: it.file.clone(),
        t0: it.t0(arm),
        ratio: estimate(same).unwrap_or_default(),
    }
}

fn group_page(index: usize, context: &GroupContext<'_>, is_one: bool) -> GroupSection {
    let group = context.group;
    let cards = group_cards(context, None);
    let only = if let [only] = &cards[..] { Some(only) } else { None };
    let of = |place| (number(context, place), context.summary(place));
    let summaries: Vec<(String, &ArmSummary)> = (0..group.arms.len()).map(of).collect();
    let is_net = summaries.iter().any(|(_, arm)| arm.net.is_some_and(|net| net.t0.is_some()));
    let has_ratios = context.has_ratios();
    let row = |(place, (number, arm)): (usize, &(String, &ArmSummary))| ArmRow {
        number: number.clone(),
        label: one_line(&arm.label),
        is_reference: group.arms[place].is_reference && !group.comparisons.is_empty(),
        cells: tables::times(context, place, has_ratios),
    };
    GroupSection {
        id: format!("group-{index}"),
        index,
        title: if is_one { "Details".into() } else { context.title.clone() },
        class: only.map(|card| card.class),
        word: only.map(|card| card.word),
        arms: summaries.iter().enumerate().map(row).collect(),
        headings: tables::headings(context, is_net, has_ratios),
        are_folded: cards.len() > HEADLINES_MAX,
        cards: if is_one && cards.len() <= HEADLINES_MAX { Vec::new() } else { cards },
        charts: charts::charts(group, context.location == T0),
        metrics: tables::metrics(&context.judged.record.header.plan, &summaries),
        counts: run_counts(context),
    }
}

/// The counts of a group's arms, like `perf stat`.
fn run_counts(context: &GroupContext<'_>) -> Option<MetricTable> {
    let all = activities(context.judged.record);
    let of = |place: usize| {
        let activity = all.get(context.group.arms[place].arm)?.as_ref()?;
        Some((number(context, place), activity))
    };
    let counted: Vec<(String, &Activity)> = (0..context.group.arms.len()).filter_map(of).collect();
    tables::counts(&counted)
}

/// The number of an arm in the text output.
fn number(context: &GroupContext<'_>, place: usize) -> String {
    (context.group.arms[place].arm + 1).to_string()
}

fn group_words(context: &GroupContext<'_>) -> GroupText {
    let group = context.group;
    let label = |place: usize| one_line(&group.arms[place].label);
    let compared = context.comparisons().zip(&group.comparisons);
    let compared = compared.map(|((comparison, judgement), compared)| {
        let plan = plan_of_arm(context.judged.record, comparison.arm);
        let (class, word) = cards::class_and_word(&comparison.evidence, judgement, plan);
        let reference = group.arms.iter().position(|arm| arm.arm == comparison.reference);
        let against = reference.map_or_else(String::new, |it| format!(" against {}", label(it)));
        ComparisonText { label: format!("{}{against}", label(compared.arm)), class, word }
    });
    let kind = match group.unit {
        ValueUnit::Time => "time",
        ValueUnit::Bytes => "memory",
        ValueUnit::Count => "count",
    };
    let ledgers = group.ledgers.iter();
    let audience = Audience::of(&context.judged.record.header.plan);
    let part = |part: &LedgerEntry| PartText {
        name: name(&part.source),
        advice: advice(&part.source, audience).unwrap_or_default(),
    };
    let scan = group.scan.iter().flat_map(|scan| &scan.series);
    GroupText {
        title: context.title.clone(),
        unit: ChartUnit { name: context.unit.name, size: context.unit.size, kind },
        arms: (0..group.arms.len()).map(label).collect(),
        numbers: (0..group.arms.len()).map(|place| number(context, place)).collect(),
        comparisons: compared.collect(),
        series: scan.map(|series| one_line(&series.label)).collect(),
        location: context.location,
        ledgers: ledgers.map(|it| it.lost.entries.iter().map(part).collect()).collect(),
    }
}
