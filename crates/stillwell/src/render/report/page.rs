//! What the template of a report is given: texts and tables, in the order in which they are shown.

use serde::Serialize;

use crate::analysis::report::{NameMatch, ReportData, ReportGroup};
use crate::analysis::suite::plan_of;
use crate::analysis::{ArmSummary, Comparison};
use crate::ledger::LedgerEntry;
use crate::render::columns::{one_line, shorten};
use crate::render::exported::net_t0;
use crate::render::noise::{advice, name};
use crate::render::remedies::Audience;
use crate::render::report::cards::{self, Card};
use crate::render::report::index::{self, Index};
use crate::render::report::records::{self, RecordWords};
use crate::render::report::tables::{self, Metrics};
use crate::render::report::{Reported, charts};
use crate::render::text::ratio_text;
use crate::render::uncertain::PLUS_MINUS_SIGN;
use crate::render::units::{Unit, asked, kind_of_unit};
use crate::values::Unit as ValueUnit;
use crate::verdict::Judgement;

/// More verdicts than this are counted, not told.
const HEADLINES_MAX: usize = 3;
/// More groups than this are folded, and have an index.
pub(super) const OPEN_GROUPS_MAX: usize = 4;
/// More ratios than this are in the index only.
const FOREST_MAX: usize = 60;
/// Columns of a label.
const LABEL_MAX: usize = 72;

/// The page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Page {
    title: String,
    created: String,
    tool: String,
    counts: Vec<Count>,
    headlines: Vec<Card>,
    lead_figure: bool,
    together: Option<TogetherWords>,
    index: Option<Index>,
    groups: Vec<GroupPage>,
    folded: bool,
    records: Vec<RecordWords>,
    /// For the scripts.
    #[serde(skip)]
    pub words: Vec<GroupWords>,
}

#[derive(Clone, Debug, Serialize)]
struct Count {
    class: &'static str,
    word: &'static str,
    n: usize,
}

#[derive(Clone, Debug, Serialize)]
struct TogetherWords {
    first: String,
    rows: Vec<SameNameRow>,
}

#[derive(Clone, Debug, Serialize)]
struct SameNameRow {
    label: String,
    file: String,
    t0: String,
    ratio: String,
}

/// A group's section.
#[derive(Clone, Debug, Serialize)]
struct GroupPage {
    id: String,
    index: usize,
    title: String,
    class: Option<&'static str>,
    word: Option<&'static str>,
    arms: Vec<ArmRow>,
    headings: Vec<String>,
    /// Empty where they are headlines.
    cards: Vec<Card>,
    are_folded: bool,
    charts: Vec<charts::Chart>,
    metrics: Option<Metrics>,
}

#[derive(Clone, Debug, Serialize)]
struct ArmRow {
    number: String,
    label: String,
    is_reference: bool,
    cells: Vec<String>,
}

/// What the scripts call things.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GroupWords {
    pub title: String,
    pub unit: UnitWords,
    arms: Vec<String>,
    numbers: Vec<String>,
    comparisons: Vec<ComparedWords>,
    series: Vec<String>,
    /// Of the entries of each ledger.
    ledgers: Vec<Vec<PartWords>>,
}

/// A part of the time above t0.
#[derive(Clone, Debug, Serialize)]
struct PartWords {
    name: String,
    /// What removes it; empty if nothing does.
    advice: String,
}

/// The unit of a group's charts.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct UnitWords {
    name: &'static str,
    size: f64,
    kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct ComparedWords {
    label: String,
    class: &'static str,
    word: &'static str,
}

/// A group with all that is said of it.
pub(super) struct Told<'a> {
    pub group: &'a ReportGroup,
    pub reported: Reported<'a>,
    pub title: String,
    pub file: String,
    pub unit: Unit,
}

impl<'a> Told<'a> {
    fn new(records: &[Reported<'a>], group: &'a ReportGroup, has_suite: bool) -> Self {
        let reported = records[group.record];
        let record = reported.input.record;
        let file = records::file_names(records)[group.record].clone();
        let title = match &group.benchmark {
            Some(benchmark) if records.len() > 1 => format!("{benchmark} ({file})"),
            Some(benchmark) => benchmark.clone(),
            None if records.len() > 1 || has_suite => file.clone(),
            None => "Commands".into(),
        };
        let t0s = group.arms.iter().filter_map(|arm| Some(arm.t0?.value));
        let asked = asked(&record.header.plan.metrics, "wall");
        let unit = Unit::choose(kind_of_unit(group.unit), asked, t0s);
        Self { group, reported, title: one_line(&title), file, unit }
    }

    /// The comparisons of the group, with their judgements.
    pub fn comparisons(&self) -> impl Iterator<Item = (&'a Comparison, &'a Judgement)> {
        let Reported { input, judgements } = self.reported;
        let arms: Vec<usize> = self.group.arms.iter().map(|arm| arm.arm).collect();
        let all = input.analysis.comparisons.iter().zip(judgements);
        all.filter(move |(found, _)| arms.contains(&found.arm))
    }

    pub fn summary(&self, place: usize) -> &'a ArmSummary {
        &self.reported.input.analysis.arms[self.group.arms[place].arm]
    }

    fn cards(&self, place: Option<&str>) -> Vec<Card> {
        let input = self.reported.input;
        let arms = &input.analysis.arms;
        let card = |(found, judgement)| {
            cards::card(plan_of(input.record, found), arms, found, judgement, place)
        };
        self.comparisons().map(card).map(with_signs).collect()
    }

    /// t0 of an arm with its unit.
    pub fn t0(&self, place: usize) -> String {
        let Some(t0) = net_t0(self.summary(place)) else { return String::new() };
        signs(&self.unit.label(&self.unit.uncertain(t0.value, t0.err)))
    }
}

/// A document has the sign.
pub(in crate::render) fn signs(text: &str) -> String {
    text.replace(" +- ", PLUS_MINUS_SIGN)
}

fn with_signs(mut card: Card) -> Card {
    card.sentence = signs(&card.sentence);
    card.numbers = card.numbers.map(|numbers| signs(&numbers));
    card.details = card.details.iter().map(|detail| signs(detail)).collect();
    card
}

/// Everything that is said.
pub(super) fn page(records: &[Reported<'_>], data: &ReportData, title: Option<&str>) -> Page {
    let has_suite = data.groups.len() > records.len();
    let told: Vec<Told<'_>> =
        data.groups.iter().map(|group| Told::new(records, group, has_suite)).collect();
    let folded = told.len() > OPEN_GROUPS_MAX;
    let is_one = told.len() == 1;
    let all: Vec<Card> =
        told.iter().flat_map(|told| told.cards((!is_one).then_some(told.title.as_str()))).collect();
    let n_ratios = all.len();
    let headlines = headlines(&told, all.clone());
    Page {
        title: title.map_or_else(|| default_title(&told, records.len()), one_line),
        created: created(records),
        tool: records.first().map_or(String::new(), |it| one_line(&it.input.record.header.tool)),
        counts: if all.len() > headlines.len() { counts(&all) } else { Vec::new() },
        headlines,
        lead_figure: (1..=FOREST_MAX).contains(&n_ratios),
        together: data.together.as_ref().map(|_| TogetherWords {
            first: told.first().map(|told| told.file.clone()).unwrap_or_default(),
            rows: data.same_names.iter().map(|same| same_name(&told, same)).collect(),
        }),
        index: folded.then(|| index::index(&told, data)),
        groups: told
            .iter()
            .enumerate()
            .map(|(index, told)| group_page(index, told, is_one))
            .collect(),
        folded,
        records: records
            .iter()
            .map(|it| records::words(it.input.record, it.input.analysis))
            .collect(),
        words: told.iter().map(group_words).collect(),
    }
}

/// All verdicts, or none if there are too many; without any, what is known of the commands.
fn headlines(told: &[Told<'_>], mut all: Vec<Card>) -> Vec<Card> {
    if !all.is_empty() {
        if told.len() > 1 {
            // Each section has its own.
            all.iter_mut().for_each(|card| card.details.clear());
        }
        return if all.len() <= HEADLINES_MAX { all } else { Vec::new() };
    }
    if told.len() > HEADLINES_MAX {
        return Vec::new();
    }
    let place = |told: &Told<'_>| (told.reported.input.analysis.arms.len(), told.title.clone());
    let of = |it: &Told<'_>| {
        let title = (told.len() > 1).then(|| place(it).1);
        let arms = (0..it.group.arms.len()).map(|place| it.summary(place));
        let card = |arm: &ArmSummary| cards::alone(arm, it.unit, title.as_deref());
        arms.map(card).map(with_signs).collect::<Vec<_>>()
    };
    told.iter().flat_map(of).take(HEADLINES_MAX).collect()
}

fn counts(all: &[Card]) -> Vec<Count> {
    let of = |&(class, word): &(&'static str, &'static str)| {
        let n = all.iter().filter(|card| card.class == class).count();
        (n > 0).then_some(Count { class, word, n })
    };
    cards::CLASSES.iter().filter_map(of).collect()
}

fn created(records: &[Reported<'_>]) -> String {
    match records {
        [only] => one_line(&only.input.record.header.created),
        _ => format!("{} records", records.len()),
    }
}

fn default_title(told: &[Told<'_>], n_records: usize) -> String {
    let is_suite = told.iter().any(|told| told.group.benchmark.is_some());
    match told {
        [only] => {
            let labels: Vec<String> =
                only.group.arms.iter().map(|arm| shorten(&arm.label, LABEL_MAX)).collect();
            match (&only.group.benchmark, &only.group.scan) {
                (Some(benchmark), _) => one_line(benchmark),
                (None, Some(scan)) => {
                    let series = scan.series.iter().map(|series| shorten(&series.label, LABEL_MAX));
                    series.collect::<Vec<_>>().join(" vs ")
                }
                (None, None) if labels.len() <= HEADLINES_MAX => labels.join(" vs "),
                (None, None) => format!("{} commands", labels.len()),
            }
        }
        _ if is_suite && n_records == 1 => format!("{} benchmarks", told.len()),
        _ => {
            let mut files: Vec<&str> = told.iter().map(|told| told.file.as_str()).collect();
            files.dedup();
            let n_more = files.len().saturating_sub(HEADLINES_MAX);
            let shown = files[..files.len() - n_more].join(", ");
            if n_more > 0 { format!("{shown} and {n_more} more") } else { shown }
        }
    }
}

fn same_name(told: &[Told<'_>], same: &NameMatch) -> SameNameRow {
    let [group, arm] = same.arm;
    let it = &told[group];
    SameNameRow {
        label: shorten(&it.group.arms[arm].label, LABEL_MAX),
        file: it.file.clone(),
        t0: it.t0(arm),
        ratio: estimate(same).unwrap_or_default(),
    }
}

/// The ratio of an estimate.
pub(super) fn estimate(same: &NameMatch) -> Option<String> {
    match &same.evidence {
        crate::analysis::Evidence::Unpaired { ratio, .. } => {
            Some(signs(&ratio_text(ratio.value, ratio.err)))
        }
        _ => None,
    }
}

fn group_page(index: usize, told: &Told<'_>, is_one: bool) -> GroupPage {
    let group = told.group;
    let cards = told.cards(None);
    let only = match &cards[..] {
        [only] => Some(only),
        _ => None,
    };
    let summaries: Vec<(String, &ArmSummary)> =
        (0..group.arms.len()).map(|place| (number(told, place), told.summary(place))).collect();
    let is_net = summaries.iter().any(|(_, arm)| arm.net.is_some());
    let row = |(place, (number, arm)): (usize, &(String, &ArmSummary))| ArmRow {
        number: number.clone(),
        label: shorten(&arm.label, 2 * LABEL_MAX),
        is_reference: group.arms[place].is_reference && !group.comparisons.is_empty(),
        cells: tables::times(arm, told.unit),
    };
    GroupPage {
        id: format!("group-{index}"),
        index,
        title: if is_one { "Details".into() } else { told.title.clone() },
        class: only.map(|card| card.class),
        word: only.map(|card| card.word),
        arms: summaries.iter().enumerate().map(row).collect(),
        headings: tables::headings(told.unit, is_net),
        are_folded: cards.len() > HEADLINES_MAX,
        cards: if is_one && cards.len() <= HEADLINES_MAX { Vec::new() } else { cards },
        charts: charts::charts(group),
        metrics: tables::metrics(&summaries),
    }
}

/// As the terminal numbers it.
fn number(told: &Told<'_>, place: usize) -> String {
    (told.group.arms[place].arm + 1).to_string()
}

fn group_words(told: &Told<'_>) -> GroupWords {
    let group = told.group;
    let label = |place: usize| shorten(&group.arms[place].label, LABEL_MAX);
    let compared = told.comparisons().zip(&group.comparisons);
    let compared = compared.map(|((found, judgement), compared)| {
        let (class, word) = cards::class_and_word(&found.evidence, judgement);
        let pair = format!("{} vs {}", found.arm + 1, found.reference + 1);
        ComparedWords { label: format!("{pair} · {}", label(compared.arm)), class, word }
    });
    let kind = match group.unit {
        ValueUnit::Time => "time",
        ValueUnit::Bytes => "memory",
        ValueUnit::Count => "count",
    };
    let ledgers = group.ledgers.iter();
    let audience = Audience::of(&told.reported.input.record.header.plan);
    let scan = group.scan.iter().flat_map(|scan| &scan.series);
    GroupWords {
        title: told.title.clone(),
        unit: UnitWords { name: told.unit.name, size: told.unit.size, kind },
        arms: (0..group.arms.len()).map(label).collect(),
        numbers: (0..group.arms.len()).map(|place| number(told, place)).collect(),
        comparisons: compared.collect(),
        series: scan.map(|series| shorten(&series.label, LABEL_MAX)).collect(),
        ledgers: ledgers
            .map(|it| it.lost.entries.iter().map(|part| part_words(part, audience)).collect())
            .collect(),
    }
}

fn part_words(part: &LedgerEntry, audience: Audience) -> PartWords {
    let estimate = if part.is_estimate { " (estimate)" } else { "" };
    PartWords {
        name: name(&part.source) + estimate,
        advice: advice(&part.source, audience).unwrap_or_default(),
    }
}
