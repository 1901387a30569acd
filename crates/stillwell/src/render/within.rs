//! Output of `compare` for one record: its comparisons, and the deciles on request.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;

use crate::analysis::{Analysis, ArmSummary};
use crate::record::Record;
use crate::render::across::{ArmPair, RecordDocument};
use crate::render::columns::{COLUMNS, shorten};
use crate::render::exported::net_t0;
use crate::render::json::pretty;
use crate::render::text::comparison;
use crate::render::units::{DisplayUnit, UnitKind, requested_unit};
use crate::render::{Styles, closing, distributions};

/// t0 of both arms and the comparison, for each pair; then the closing lines of `show`.
pub fn text(
    record: &Record,
    analysis: &Analysis,
    pairs: &[ArmPair<'_>],
    styles: &Styles,
) -> String {
    let plan = &record.header.plan;
    let t0s = analysis.arms.iter().filter_map(|arm| Some(net_t0(arm)?.value));
    let unit = DisplayUnit::choose(UnitKind::Time, requested_unit(&plan.metrics, "wall"), t0s);
    let mut out = String::new();
    for pair in pairs {
        for arm in pair.old.iter().copied().chain([pair.new]) {
            heading(&mut out, arm, arm.arm == plan.reference);
            let t0 = net_t0(arm).map(|t0| unit.label(&unit.uncertain(t0.value, t0.err)));
            writeln!(out, "   t0 {}", t0.as_deref().unwrap_or("unknown: no finished run")).ok();
        }
        let (new, old) = (number(pair.comparison.arm), number(pair.comparison.reference));
        let evidence = &pair.comparison.evidence;
        let heading = format!("{new} vs {old}");
        out.push_str(&comparison(&heading, evidence, &pair.judgement, plan, styles));
        if let Some(found) = &pair.distributions {
            writeln!(out).ok();
            out.push_str(&distributions::text(&new, &old, plan, found));
        }
        out.push('\n');
    }
    closing::lines(&mut out, record, analysis, styles);
    out
}

fn number(arm: usize) -> String {
    (arm + 1).to_string()
}

fn heading(out: &mut String, arm: &ArmSummary, is_reference: bool) {
    let number = format!("{:<3}", number(arm.arm));
    let mark = if is_reference { "  (reference)" } else { "" };
    writeln!(out, "{number}{}{mark}", shorten(&arm.label, COLUMNS - number.len() - mark.len()))
        .ok();
}

/// Writes the pairs as one JSON document.
///
/// # Errors
/// `to` cannot be written.
pub fn json(to: &mut impl io::Write, record: &Record, pairs: &[ArmPair<'_>]) -> io::Result<()> {
    #[derive(Serialize)]
    struct WithinDocument<'a> {
        record: RecordDocument<'a>,
        pairs: &'a [ArmPair<'a>],
    }
    pretty(to, &WithinDocument { record: RecordDocument::of(record), pairs })
}
