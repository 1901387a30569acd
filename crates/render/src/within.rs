//! Output of `compare` for one record: comparisons, and deciles on request.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::across::{ArmPair, RecordDocument};
use crate::conclusion::session_conclusion;
use crate::depth::Depth;
use crate::document::{self, DocumentBody};
use crate::names::distinct;
use crate::text::{answer, comparison};
use crate::{Styles, closing, distributions};
use analysis::verdict::Judged;

/// Columns of a name.
const NAME_MAX: usize = 30;

/// The answer and its table, on request the numbers and deciles of each pair; then the closing lines of `show`.
pub fn text(judged: Judged<'_>, pairs: &[ArmPair<'_>], detail: Depth, styles: &Styles) -> String {
    let plan = &judged.record.header.plan;
    let labels: Vec<&str> = plan.candidates().map(|(_, arm)| arm.label()).collect();
    let short = distinct(&labels, NAME_MAX);
    let name = |arm: usize| {
        let at = plan.candidates().position(|(candidate, _)| candidate == arm);
        at.map_or_else(String::new, |at| short[at].clone())
    };
    let mut out = answer(judged, styles);
    for pair in pairs {
        let [new, old] = [pair.comparison.arm, pair.comparison.reference].map(name);
        if detail == Depth::Verbose {
            let heading = format!("{new} against {old}");
            let (found, judgement) = (&pair.comparison, &pair.judgement);
            out.push_str(&comparison(&heading, found, judgement, judged.record, styles));
            out.push('\n');
        }
        if let Some(deciles) = &pair.distributions {
            out.push_str(&distributions::text(&new, &old, plan, deciles));
            out.push('\n');
        }
    }
    closing::lines(&mut out, judged, detail, styles);
    out
}

/// The pairs of one record.
#[derive(Serialize, JsonSchema)]
pub struct PairsBody<'a> {
    /// The session.
    record: RecordDocument<'a>,
    /// Each command against its reference.
    pairs: &'a [ArmPair<'a>],
}

impl DocumentBody for PairsBody<'_> {
    const NAME: &'static str = "pairs";
}

/// Writes the pairs as one JSON document.
pub fn json(to: &mut impl io::Write, judged: Judged<'_>, pairs: &[ArmPair<'_>]) -> io::Result<()> {
    let body = PairsBody { record: RecordDocument::of(judged.record), pairs };
    document::write(to, &body, session_conclusion(judged), None)
}
