//! The summary of many arms: a table with one line for each.

use crate::analysis::{ArmSummary, Evidence, UncertainValue};
use crate::render::columns::{COLUMNS, shorten, wrap};
use crate::render::exported::ratio;
use crate::render::text::SummaryContext;
use crate::render::text::comparison::{margin, no_test, verdict_word};
use crate::render::text::ratios::ratio_text;
use crate::render::units::percent;
use crate::render::{t0, table};
use crate::verdict::Judgement;

/// Least width of a label, columns.
const LABEL_MIN: usize = 12;

/// Appends the table.
pub(super) fn append(out: &mut String, page: &SummaryContext<'_>, judgements: &[Judgement]) {
    let found = by_arm(page, judgements);
    let rows: Vec<[String; 5]> = page.candidates().map(|arm| row(page, arm, &found)).collect();
    let headings = ["", "command", &page.unit.heading("t0"), "ratio", ""].map(String::from);
    let mut rows_and_headings = rows;
    rows_and_headings.insert(0, headings);
    fit_labels(&mut rows_and_headings);
    let rows = rows_and_headings.into_iter().map(Vec::from).collect();
    out.push_str(&table::plain(rows, &[0, 2, 3]));
    if let Some(text) = visible(page) {
        wrap(out, "", 0, &text);
    }
    let reasons =
        page.analysis.comparisons.iter().filter_map(|comparison| match comparison.evidence {
            Evidence::Paired(_) => None,
            Evidence::Unpaired { because, .. } | Evidence::None { because } => Some(because),
        });
    if let Some(because) = reasons.into_iter().next() {
        wrap(out, "no verdict: ", 12, &no_test(because, page.plan.policy));
    }
    out.push('\n');
}

/// The range of the smallest visible differences of all comparisons.
fn visible(page: &SummaryContext<'_>) -> Option<String> {
    let of = page.analysis.comparisons.iter().filter_map(|found| match &found.evidence {
        Evidence::Paired(paired) => Some(paired.smallest_visible),
        _ => None,
    });
    let visible: Vec<f64> = of.filter(|visible| visible.is_finite()).collect();
    let least = visible.iter().copied().reduce(f64::min)?;
    let most = visible.iter().copied().fold(least, f64::max);
    let (least, most) = (percent(least), percent(most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    Some(format!("smallest difference this run could have seen: {range}"))
}

/// Ratio and verdict of each arm, by the arm's index.
fn by_arm(page: &SummaryContext<'_>, judgements: &[Judgement]) -> Vec<Option<(String, String)>> {
    let mut found = vec![None; page.analysis.arms.len()];
    for (comparison, judgement) in page.analysis.comparisons.iter().zip(judgements) {
        let ratio = ratio(&comparison.evidence, judgement);
        // An error of half the ratio or more carries no information yet.
        let is_known = |ratio: &UncertainValue| ratio.err.is_none_or(|err| err < 0.5 * ratio.value);
        let ratio = ratio
            .filter(is_known)
            .map_or_else(String::new, |ratio| ratio_text(ratio.value, ratio.err));
        let verdict = match (&comparison.evidence, judgement.within_margin) {
            (Evidence::Paired(_), false) => verdict_word(judgement.verdict).to_lowercase(),
            (Evidence::Paired(_), true) => {
                format!(
                    "{}, < {}",
                    verdict_word(judgement.verdict).to_lowercase(),
                    margin(page.plan.policy)
                )
            }
            _ => "no verdict".into(),
        };
        if let Some(slot) = found.get_mut(comparison.arm) {
            *slot = Some((ratio, verdict));
        }
    }
    found
}

fn row(
    page: &SummaryContext<'_>,
    arm: &ArmSummary,
    found: &[Option<(String, String)>],
) -> [String; 5] {
    let t0 = t0::of_arm(page.unit, arm).unwrap_or_else(|| "no run".into());
    let (ratio, verdict) = match found.get(arm.arm).cloned().flatten() {
        Some(found) => found,
        None if arm.arm == page.plan.reference => (String::new(), "reference".into()),
        None => Default::default(),
    };
    // A label of megabytes would make finding the widths slow.
    [(arm.arm + 1).to_string(), shorten(&arm.label, COLUMNS), t0, ratio, verdict]
}

/// Shortens the labels to the room that the other columns leave.
fn fit_labels(rows: &mut [[String; 5]]) {
    let widest =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let others: usize = [0, 2, 3, 4].map(widest).iter().sum();
    let label = COLUMNS.saturating_sub(others + 4 * 2).max(LABEL_MIN);
    for row in rows {
        row[1] = shorten(&row[1], label);
    }
}
