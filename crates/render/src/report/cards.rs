//! Cards of verdicts: a plain sentence, and a line of numbers with the interval.

use serde::Serialize;

use crate::columns::{one_line, shorten};
use crate::quantity::QuantityWords;
use crate::text::{decided, margin, no_test, numbers_line, sentences};
use crate::units::DisplayUnit;
use crate::{t0, uncertain};
use analysis::verdict::{Judgement, Verdict};
use analysis::{ArmSummary, Comparison, Evidence};
use record::plan::Plan;

/// Columns of a command in a sentence.
const LABEL_MAX: usize = 60;

/// The card of a verdict, or of a command without a comparison.
#[derive(Clone, Debug, Serialize)]
pub(super) struct VerdictCard {
    /// CSS class of the colour.
    pub class: &'static str,
    /// The verdict as a word.
    pub word: &'static str,
    /// For example `2 vs 1`.
    pub heading: String,
    /// The verdict as a plain sentence.
    pub sentence: String,
    /// Ratio, interval, level and p in one line.
    pub numbers: Option<String>,
    /// Further sentences.
    pub details: Vec<String>,
}

/// Class and word of a comparison.
pub(super) fn class_and_word(
    evidence: &Evidence,
    judgement: &Judgement,
    plan: &Plan,
) -> (&'static str, &'static str) {
    match evidence {
        Evidence::Unpaired { .. } | Evidence::None { .. } => ("none", "NO VERDICT"),
        Evidence::Paired(_) => {
            (class(judgement.verdict), QuantityWords::of(plan).verdict(judgement.verdict))
        }
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// All classes with their words, in the order of the page.
pub(super) const CLASSES: [(&str, &str); 5] = [
    ("slower", "slower"),
    ("faster", "faster"),
    ("undecided", "undecided"),
    ("same", "the same"),
    ("none", "no verdict"),
];

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
        let number = if are_alike { format!(" #{}", arm + 1) } else { String::new() };
        format!("“{}”{number}", shorten(&arms[arm].label, LABEL_MAX))
    };
    let (new, old) = (named(comparison.arm), named(comparison.reference));
    let said = sentence(&new, &old, evidence, judgement, plan);
    let details = match evidence {
        Evidence::Paired(paired) => {
            let all = sentences(paired, judgement.shown(paired), judgement, plan);
            // The first sentence repeats the card's own.
            let n_said = usize::from(judgement.verdict != Verdict::Undecided);
            all.into_iter().skip(n_said).collect()
        }
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            vec![no_test(*because, plan.policy)]
        }
    };
    VerdictCard {
        class,
        word,
        heading: format!("{} vs {}", comparison.arm + 1, comparison.reference + 1),
        sentence: place.map_or(said.clone(), |place| format!("{}: {said}", one_line(place))),
        numbers: numbers_line(evidence, judgement),
        details,
    }
}

fn sentence(
    new: &str,
    old: &str,
    evidence: &Evidence,
    judgement: &Judgement,
    plan: &Plan,
) -> String {
    let (quantity, margin) = (QuantityWords::of(plan), margin(plan.policy));
    let paired = match evidence {
        Evidence::Paired(paired) => paired,
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            return format!("{new} against {old}: {}.", no_test(*because, plan.policy));
        }
    };
    match judgement.verdict {
        Verdict::Slower | Verdict::Faster => {
            format!("{}.", decided([new, old], paired, judgement, plan))
        }
        Verdict::Same if quantity.is_time() => {
            format!("{new} takes the same time as {old}, within {margin}.")
        }
        Verdict::Same => format!("{}.", quantity.same(new, old, &margin)),
        Verdict::Undecided if quantity.is_time() => {
            format!("Whether {new} is slower or faster than {old} cannot be told yet.")
        }
        Verdict::Undecided => {
            let question = quantity.question(new, old).replacen('w', "W", 1);
            format!("{question} cannot be told yet.")
        }
    }
}

/// The card of a command without a comparison.
pub(super) fn alone(
    plan: &Plan,
    arm: &ArmSummary,
    unit: DisplayUnit,
    place: Option<&str>,
) -> VerdictCard {
    let label = shorten(&arm.label, LABEL_MAX);
    let said = match t0::of_arm(unit, arm) {
        Some(_) if let Some(net) = arm.net.filter(|_| arm.is_too_short()) => {
            format!("“{label}” is {}.", t0::too_short(plan, net.t0))
        }
        Some(t0) => {
            let why = t0::why_limited(arm).map_or_else(String::new, |why| format!(": {why}"));
            format!("“{label}” takes {} when nothing gets in its way{why}.", unit.label(&t0))
        }
        None => format!("“{label}” has no finished run."),
    };
    let numbers = arm.times.as_ref().map(|wall| {
        let [q10, _, _, q90] = wall.quantiles;
        let decimals = unit.decimals(wall.t0.value, wall.t0.err);
        let number = |value: f64| unit.number(value, decimals);
        let median = number(wall.median.value);
        let cv = wall.cv.map_or_else(String::new, |cv| {
            format!(", CV {} %", uncertain::significant(cv * 100.0, 2))
        });
        let text = format!("median {median} [{} … {}]", number(q10), number(q90));
        format!("{}{cv}, n {}", unit.label(&text), arm.n_runs)
    });
    VerdictCard {
        class: "none",
        word: "t0",
        heading: (arm.arm + 1).to_string(),
        sentence: place.map_or(said.clone(), |place| format!("{}: {said}", one_line(place))),
        numbers,
        details: Vec::new(),
    }
}
