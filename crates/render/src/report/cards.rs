//! Cards of verdicts: a plain sentence, and a line of numbers with the interval.

use serde::Serialize;

use crate::columns::one_line;
use crate::quantity::{QuantityWords, is_within_limit};
use crate::report::group::GroupContext;
use crate::styles::verdict_name;
use crate::text::{no_test, numbers_line, pair, sentence_on, sentences};
use crate::units::percent;
use analysis::verdict::Judgement;
use analysis::{ArmSummary, Comparison, Evidence};
use record::plan::Plan;

/// The card of a verdict, or of a command without a comparison.
#[derive(Clone, Debug, Serialize)]
pub(super) struct VerdictCard {
    /// CSS class of the colour.
    pub class: &'static str,
    /// The verdict as a word.
    pub word: &'static str,
    /// For example `2 vs 1`.
    pub heading: String,
    /// The verdict as a plain sentence; `None` if it is the answer above.
    pub sentence: Option<String>,
    /// Ratio, interval, level and p in one line.
    pub numbers: Option<String>,
    /// Further sentences.
    pub details: Vec<String>,
}

pub(super) fn class_and_word(
    evidence: &Evidence,
    judgement: &Judgement,
    plan: &Plan,
) -> (&'static str, &'static str) {
    match evidence {
        Evidence::Unpaired { .. } | Evidence::None { .. } => ("none", "NO VERDICT"),
        Evidence::Paired(_) => {
            let word = QuantityWords::of(plan).judged(judgement, plan);
            let is_within = is_within_limit(judgement, plan);
            (if is_within { "within" } else { verdict_name(judgement.verdict) }, word)
        }
    }
}

/// All classes in the order of the page.
pub(super) const CLASSES: [&str; 6] = ["slower", "faster", "undecided", "within", "same", "none"];

/// The classes with their words. Only times are slower.
pub(super) fn class_words(groups: &[GroupContext<'_>]) -> [(&'static str, &'static str); 6] {
    let quantities = groups.iter().map(|it| QuantityWords::of(&it.judged.record.header.plan));
    let quantity = quantities.min_by_key(|it| it.is_time()).unwrap_or(QuantityWords::Time);
    let [slower, faster, not_slower] = quantity.judged_in_lists();
    let words = [slower, faster, "undecided", not_slower, "the same", "no verdict"];
    std::array::from_fn(|at| (CLASSES[at], words[at]))
}

/// The card of a comparison. `place` names the record or benchmark, if the page shows several.
pub(super) fn card(
    plan: &Plan,
    arms: &[ArmSummary],
    comparison: &Comparison,
    judgement: &Judgement,
    place: Option<&str>,
) -> VerdictCard {
    let evidence = &comparison.evidence;
    let (class, word) = class_and_word(evidence, judgement, plan);
    let are_alike = arms[comparison.arm].label == arms[comparison.reference].label;
    let named = |arm: usize| {
        let label = one_line(&arms[arm].label);
        if are_alike { format!("{}: {label}", arm + 1) } else { label }
    };
    let [new, old] = [comparison.arm, comparison.reference].map(named);
    let details = match evidence {
        Evidence::Paired(paired) => {
            // The card has the first sentence already.
            let all = sentences(paired, judgement, plan);
            all.into_iter().skip(1).collect()
        }
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            vec![no_test(*because, plan.policy)]
        }
    };
    VerdictCard {
        class,
        word,
        heading: format!("{} vs {}", comparison.arm + 1, comparison.reference + 1),
        sentence: Some(placed(place, pair([&new, &old], evidence, judgement, plan))),
        numbers: numbers_line(evidence, judgement),
        details,
    }
}

pub(super) fn alone(
    context: &GroupContext<'_>,
    arm: &ArmSummary,
    place: Option<&str>,
) -> VerdictCard {
    let unit = context.unit;
    let numbers = arm.times.as_ref().map(|wall| {
        let [q10, _, _, q90] = wall.quantiles;
        let decimals = unit.decimals(wall.t0.value, wall.t0.err);
        let number = |value: f64| unit.number(value, decimals);
        let median = number(wall.median.value);
        let cv = wall.cv.map_or_else(String::new, |cv| format!(", CV {}", percent(cv)));
        let text = format!("median {median} [{} … {}]", number(q10), number(q90));
        let n = arm.n_values();
        format!("{}{cv}, n {n}", unit.label(&text))
    });
    VerdictCard {
        class: "none",
        word: context.location,
        heading: (arm.arm + 1).to_string(),
        sentence: Some(placed(place, sentence_on(context.judged, arm, unit))),
        numbers,
        details: Vec::new(),
    }
}

fn placed(place: Option<&str>, sentence: String) -> String {
    match place {
        Some(place) => format!("{}: {sentence}", one_line(place)),
        None => sentence,
    }
}
