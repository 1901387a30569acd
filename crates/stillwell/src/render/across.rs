//! Output of `compare` for records of different sessions.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::analysis::distributions::Distributions;
use crate::analysis::{ArmSummary, Comparison, Evidence};
use crate::host::Facts;
use crate::record::Record;
use crate::render::columns::{COLUMNS, shorten};
use crate::render::exported::net_t0;
use crate::render::json::pretty;
use crate::render::text::comparison;
use crate::render::units::unit_of_walls;
use crate::render::{Styles, distributions, interleaved};
use crate::verdict::Judgement;

/// Two arms of a comparison: one command in several records, or two commands of one record.
#[derive(Debug, Serialize)]
pub struct ArmPair<'a> {
    /// The arm in each past session, or the one reference.
    pub old: Vec<&'a ArmSummary>,
    /// The arm under test.
    pub new: &'a ArmSummary,
    /// Their ratio and its test.
    pub comparison: Comparison,
    /// The verdict.
    pub judgement: Judgement,
    /// The deciles, on request. Of several past sessions, the last one counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Distributions>,
}

/// t0 of both arms and the ratio, for each pair.
pub fn text(old: &[&Record], new: &Record, pairs: &[ArmPair<'_>], styles: &Styles) -> String {
    let plan = &new.header.plan;
    let arms = pairs.iter().flat_map(|pair| pair.old.iter().copied().chain([pair.new]));
    let t0s = arms.filter_map(net_t0);
    let unit = unit_of_walls(plan, t0s);
    let mut out = String::new();
    for (name, record) in old.iter().map(|record| ("old", *record)).chain([("new", new)]) {
        writeln!(out, "{name}  {}  {}", record.header.created, record.path.display()).ok();
    }
    for record in old {
        differences(&mut out, &record.header.facts, &new.header.facts);
    }
    for pair in pairs {
        writeln!(out, "\n{}", shorten(&pair.new.label, COLUMNS)).ok();
        for (name, arm) in pair.old.iter().map(|arm| ("old", *arm)).chain([("new", pair.new)]) {
            let t0 = net_t0(arm).map(|t0| unit.label(&unit.uncertain(t0.value, t0.err)));
            writeln!(out, "{name:<8}t0 {}", t0.as_deref().unwrap_or("unknown: no finished run"))
                .ok();
        }
        let evidence = &pair.comparison.evidence;
        out.push_str(&comparison("new:old", evidence, &pair.judgement, plan, styles));
        let last = old.last().zip(pair.old.last());
        if let (Some((record, arm)), Evidence::Unpaired { because, .. }) = (last, evidence) {
            let old = &record.header.plan.arms[arm.arm];
            interleaved::offer(&mut out, old, &plan.arms[pair.new.arm], *because);
        }
        if let Some(found) = &pair.distributions {
            let last = if old.len() > 1 { "the last past session" } else { "old" };
            writeln!(out).ok();
            out.push_str(&distributions::text("new", last, plan, found));
        }
    }
    out
}

/// Writes the pairs as one JSON document.
///
/// # Errors
/// `to` cannot be written.
pub fn json(
    to: &mut impl io::Write,
    old: &[&Record],
    new: &Record,
    pairs: &[ArmPair<'_>],
) -> io::Result<()> {
    #[derive(Serialize)]
    struct AcrossDocument<'a> {
        old: Vec<RecordDocument<'a>>,
        new: RecordDocument<'a>,
        pairs: &'a [ArmPair<'a>],
    }
    let old = old.iter().map(|record| RecordDocument::of(record)).collect();
    pretty(to, &AcrossDocument { old, new: RecordDocument::of(new), pairs })
}

/// The record of one side of a comparison.
#[derive(Serialize)]
pub(super) struct RecordDocument<'a> {
    tool: &'a str,
    record: &'a Path,
    created: &'a str,
    facts: &'a Facts,
}

impl<'a> RecordDocument<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let header = &record.header;
        Self {
            tool: &header.tool,
            record: &record.path,
            created: &header.created,
            facts: &header.facts,
        }
    }
}

/// Appends the differences between two machines that affect every time.
fn differences(out: &mut String, old: &Facts, new: &Facts) {
    let of = |facts: &Facts| {
        [
            ("host", facts.host.clone()),
            ("CPU", facts.cpu_model.clone()),
            ("kernel", facts.kernel.clone()),
            ("governors", Some(facts.governors.join(", "))),
            ("turbo", facts.turbo.map(|turbo| turbo.to_string())),
        ]
    };
    for ((name, old), (_, new)) in of(old).into_iter().zip(of(new)).filter(|(old, new)| old != new)
    {
        let [old, new] = [old, new].map(|fact| fact.unwrap_or_else(|| "unknown".into()));
        let text = format!("{name} differs: {old}; now {new}");
        writeln!(out, "{}", shorten(&text, COLUMNS)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::NoTest;
    use crate::record::fixture::record;
    use crate::render::fixture::{analysis, uncertain};
    use crate::verdict::judge;

    #[test]
    fn both_sides_and_no_verdict() {
        let (mut old, new) = (record(&["sleep 1"]), record(&["sleep 1"]));
        old.path = "/tmp/old.swell".into();
        old.header.facts.kernel = Some("6.1".into());
        let (old_arms, new_arms) = (analysis(&old, &[1e9]).arms, analysis(&new, &[1.018e9]).arms);
        let evidence = Evidence::Unpaired {
            ratio: uncertain(1.018, 0.006),
            because: NoTest::SeparateRecords,
            past: None,
        };
        let comparison = Comparison { arm: 0, reference: 0, evidence };
        let judgement = judge(&comparison, &new.header.plan.policy);
        let old_arm = vec![&old_arms[0]];
        let pairs = [ArmPair {
            old: old_arm,
            new: &new_arms[0],
            comparison,
            judgement,
            distributions: None,
        }];
        let text = text(&[&old], &new, &pairs, &Styles::plain());
        insta::assert_snapshot!(text);
        let mut out = Vec::new();
        json(&mut out, &[&old], &new, &pairs).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["pairs"][0]["comparison"]["evidence"]["ratio"]["value"], 1.018);
        assert_eq!(document["old"][0]["record"], "/tmp/old.swell");
    }
}
