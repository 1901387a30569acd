//! Output of `--json`: one document with all results. Numbers that are not finite are null.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::session_conclusion;
use crate::document::{self, DocumentBody, ErrorObject};
use crate::stats_table::Statistics;
use analysis::series::ValueSeries;
use analysis::verdict::{Judged, Judgement};
use analysis::{Analysis, ArmSummary, Estimators};
use host::{Facts, Gap};
use model::words::path_text;
use record::plan::{Control, Plan};

pub use crate::document::pretty;

/// The whole analysis of a session.
#[derive(Serialize, JsonSchema)]
pub struct SessionBody<'a> {
    /// Name and version of the program that measured.
    tool: &'a str,
    /// The file of the record.
    record: String,
    /// When the session began, RFC 3339.
    created: &'a str,
    /// All decisions about the session, defaults included.
    plan: &'a Plan,
    /// The machine and its state at the start.
    facts: &'a Facts,
    /// Quantities that could not be measured, with reasons and remedies.
    gaps: &'a [Gap],
    /// The numbers.
    analysis: &'a Analysis,
    /// The verdict on each comparison of the analysis, in their order.
    judgements: &'a [Judgement],
}

impl DocumentBody for SessionBody<'_> {
    const NAME: &'static str = "session";
}

pub fn write(
    to: &mut impl Write,
    judged: Judged<'_>,
    error: Option<&ErrorObject>,
) -> io::Result<()> {
    let Judged { record, analysis, judgements } = judged;
    let header = &record.header;
    let body = SessionBody {
        tool: &header.tool,
        record: path_text(&record.path),
        created: &header.created,
        plan: &header.plan,
        facts: &header.facts,
        gaps: &header.gaps,
        analysis,
        judgements,
    };
    document::write(to, &body, session_conclusion(judged), error)
}

#[derive(Serialize)]
struct StatisticsDocument<'a> {
    tool: &'a str,
    record: String,
    created: &'a str,
    reference: usize,
    control: Option<Control>,
    arms: Vec<ArmStatistics<'a>>,
}

#[derive(Serialize)]
struct ArmStatistics<'a> {
    #[serde(flatten)]
    summary: &'a ArmSummary,
    estimators: Option<&'a Estimators>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launches: Option<&'a ValueSeries>,
}

/// Writes the statistics of `stats`; times are in ns.
pub fn stats(to: &mut impl Write, statistics: Statistics<'_>) -> io::Result<()> {
    let header = &statistics.record.header;
    let arms = statistics.arms.iter().zip(statistics.estimators);
    let document = StatisticsDocument {
        tool: &header.tool,
        record: path_text(&statistics.record.path),
        created: &header.created,
        reference: header.plan.reference,
        control: header.plan.control,
        arms: arms
            .map(|(summary, estimators)| ArmStatistics {
                summary,
                estimators: estimators.as_ref(),
                launches: statistics.series.get(summary.arm).and_then(Option::as_ref),
            })
            .collect(),
    };
    pretty(to, &document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysis, compare, estimators, judgements, paired};
    use analysis::Evidence;
    use record::fixture::record;

    #[test]
    fn the_statistics_of_every_arm() {
        let record = record(&["a", "b"]);
        let arms = analysis(&record, &[1e6, 2e6]).arms;
        let estimators = estimators(&arms);
        let mut out = Vec::new();
        let statistics =
            Statistics { record: &record, arms: &arms, estimators: &estimators, series: &[] };
        stats(&mut out, statistics).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let arm = &document["arms"][1];
        assert_eq!(arm["label"], "b");
        assert_eq!(arm["estimators"]["fan_raw"]["value"], 2e6);
        assert_eq!(arm["estimators"]["floor"]["g_star"], -0.3456);
        assert_eq!(arm["estimators"]["ratios"]["t0"]["err"], 0.0021);
        assert!(document["arms"][0]["estimators"]["ratios"].is_null());
    }

    #[test]
    fn everything_is_there_and_infinity_is_null() {
        let record = record(&["a", "b"]);
        let mut analysis = analysis(&record, &[1e6, 2e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, f64::INFINITY)));
        analysis.arms[0].metrics[0].max = f64::NAN;
        let mut out = Vec::new();
        let judgements = &judgements(&record, &analysis);
        write(&mut out, Judged { record: &record, analysis: &analysis, judgements }, None).unwrap();
        assert!(out.ends_with(b"}\n"));
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        let mut expected = [
            "schema",
            "version",
            "conclusion",
            "tool",
            "record",
            "created",
            "plan",
            "facts",
            "gaps",
            "analysis",
            "judgements",
        ];
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(document["record"], "/tmp/a.swell");
        assert_eq!(
            document["analysis"]["comparisons"][0]["evidence"]["ratio"]["hi"],
            serde_json::Value::Null
        );
        assert_eq!(document["analysis"]["arms"][0]["metrics"][0]["max"], serde_json::Value::Null);
        assert_eq!(document["judgements"][0]["verdict"], "slower");
    }
}
