//! What the headline of a comparison leaves out.

use crate::columns::wrap;
use crate::depth::Depth;
use crate::quantity::QuantityWords;
use crate::ratios::shape_text;
use crate::uncertain;
use crate::units::{percent, signed_percent};
use analysis::verdict::{Judged, Judgement, Verdict};
use analysis::{Evidence, PairedTest};
use record::EndReason;
use record::plan::Plan;

/// Appends that a change has two directions, unless the details do so, and that --precision was not reached.
pub(super) fn notes(out: &mut String, judged: Judged<'_>, detail: Depth) {
    let Judged { record, analysis, judgements } = judged;
    let plan = &record.header.plan;
    let mut widest: f64 = 0.0;
    for (comparison, judgement) in analysis.comparisons.iter().zip(judgements) {
        let Evidence::Paired(paired) = &comparison.evidence else { continue };
        widest = widest.max((paired.ratio.hi / paired.ratio.lo).ln() / 2.0);
        let uneven = other_direction(paired, judgement, plan);
        if let Some(text) = uneven.filter(|_| detail != Depth::Verbose) {
            let name = plan.full_label(comparison.arm);
            wrap(out, "note: ", 6, &format!("{name}: {text}"));
        }
    }
    let end = match analysis.end {
        Some(EndReason::Decided) => "everything was decided before",
        Some(EndReason::Complete) => "the budget or the number of runs ended the session",
        _ => return,
    };
    let is_wide = |pct: f64| widest.is_finite() && widest > (pct / 100.0).ln_1p();
    if let Some(precision) = plan.precision.filter(|it| is_wide(it.pct)) {
        let [wanted, found] = [uncertain::trimmed(precision.pct, 6), percent(widest.exp_m1())];
        let text = format!("the precision of {wanted} % was not reached, but {found}: {end}");
        wrap(out, "note: ", 6, &text);
    }
}

/// Floor, typical time and mean of a change, if the means say the opposite of the verdict.
fn other_direction(paired: &PairedTest, judgement: &Judgement, plan: &Plan) -> Option<String> {
    let is_changed = matches!(judgement.verdict, Verdict::Slower | Verdict::Faster);
    let shape = paired.shape.filter(|_| is_changed && QuantityWords::of(plan).is_time())?;
    let (shown, mean) = (judgement.shown(paired).ratio, paired.mean_ratio.ratio);
    let is_opposite = (shown - 1.0) * (mean - 1.0) < 0.0;
    is_opposite.then(|| format!("{}, mean {}", shape_text(shape), signed_percent(mean)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysis, compare};
    use analysis::UnevenShape;
    use analysis::fixture::paired;
    use analysis::verdict::judge;
    use record::fixture::record;
    use record::plan::Precision;

    fn shown(test: PairedTest, precision: Option<f64>, end: EndReason) -> String {
        let mut record = record(&["old", "new"]);
        let of = |pct| Precision { pct, n_blocks_min: 1, time_min_ns: 0 };
        record.header.plan.precision = precision.map(of);
        let mut analysis = analysis(&record, &[12.3e6, 12.5e6]);
        compare(&mut analysis, 1, Evidence::Paired(test));
        analysis.end = Some(end);
        let policy = &record.header.plan.policy;
        let judgements: Vec<_> = analysis.comparisons.iter().map(|it| judge(it, policy)).collect();
        let mut out = String::new();
        let judged = Judged { record: &record, analysis: &analysis, judgements: &judgements };
        notes(&mut out, judged, Depth::Brief);
        out
    }

    #[test]
    fn a_mean_in_the_other_direction_is_a_note() {
        let shape = Some(UnevenShape { floor: 0.969, typical: 0.76 });
        let mean_ratio =
            |ratio| analysis::RatioInterval { ratio, lo: ratio - 0.01, hi: ratio + 0.01 };
        let with =
            |mean| PairedTest { shape, mean_ratio: mean_ratio(mean), ..paired(0.969, 0.94, 0.997) };
        let text = shown(with(1.06), None, EndReason::Decided);
        let expected =
            "note: new: not a uniform speed-up: floor -3.1 %, typical -24 %, mean +6.0 %\n";
        assert_eq!(text, expected);
        assert_eq!(shown(with(0.9), None, EndReason::Decided), "");
    }

    #[test]
    fn a_precision_that_was_not_reached_is_a_note() {
        let test = || paired(1.876, 1.818, 1.902);
        let text = shown(test(), Some(0.5), EndReason::Decided);
        assert_eq!(
            text,
            "note: the precision of 0.5 % was not reached, but 2.3 %: everything was decided\n      before\n"
        );
        assert_eq!(shown(test(), Some(3.0), EndReason::Decided), "");
        assert_eq!(shown(test(), Some(0.5), EndReason::Precise), "");
    }
}
