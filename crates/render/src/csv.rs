//! CSV with one line for each arm: hyperfine 2's columns, then ours, then the parameters. Times are in seconds, memory in
//! bytes, and other values in their own unit. Wall times are net of the shell, like the JSON exports.

use std::io::{self, Write};

use formats::csv_cell::cell_of_text;

use crate::exported::{self, ExportMetric, ExportSummary, results};
use crate::names::each_once;
use crate::styles::verdict_name;
use analysis::verdict::Judged;
use analysis::{ArmSummary, Evidence};
use record::plan::Plan;

const STATISTICS: [&str; 6] = ["unit", "mean", "stddev", "median", "min", "max"];
const OURS: [&str; 7] = [
    "stillwell_t0",
    "stillwell_t0_err",
    "stillwell_t0_is_upper_limit",
    "stillwell_ratio",
    "stillwell_ratio_lo",
    "stillwell_ratio_hi",
    "stillwell_verdict",
];

/// Writes the table.
pub fn write(to: &mut impl Write, judged: Judged<'_>) -> io::Result<()> {
    write_rows(to, judged).map_err(io_error)
}

/// The I/O error inside an error of the csv crate. The caller ignores it if standard output is a closed pipe.
pub(super) fn io_error(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn write_rows(to: &mut impl Write, judged: Judged<'_>) -> ::csv::Result<()> {
    let Judged { record, analysis, .. } = judged;
    let plan = &record.header.plan;
    let metrics = exported::plan_metrics(record, analysis);
    let parameters = parameters(plan);
    let mut table = ::csv::Writer::from_writer(to);
    table.write_record(header(&metrics, &parameters))?;
    for summary in results(analysis) {
        table.write_field(&*cell_of_text(&plan.full_label(summary.arm)))?;
        for metric in &metrics {
            for cell in statistics(metric, summary) {
                table.write_field(cell)?;
            }
        }
        let (t0, size) = (summary.net_t0(), exported::compared_unit(record, summary.arm).size);
        table.write_field(cell(t0.map(|t0| t0.value / size)))?;
        table.write_field(cell(t0.and_then(|t0| t0.err).map(|err| err / size)))?;
        let is_limit = summary.times.as_ref().map(|times| times.is_upper_limit);
        table.write_field(is_limit.map_or_else(String::new, |is_limit| is_limit.to_string()))?;
        for cell in ratio_cells(judged, summary.arm) {
            table.write_field(cell)?;
        }
        for parameter in &parameters {
            let of_arm = &plan.arms[summary.arm].parameters;
            let value = of_arm.iter().find(|(name, _)| name == parameter);
            table.write_field(&*cell_of_text(value.map_or("", |(_, value)| value)))?;
        }
        table.write_record(None::<&[u8]>)?;
    }
    Ok(table.flush()?)
}

/// Names of all parameters, in order of first use.
fn parameters(plan: &Plan) -> Vec<&str> {
    each_once(plan.arms.iter().flat_map(|arm| &arm.parameters).map(|(name, _)| name.as_str()))
}

fn header(metrics: &[ExportMetric], parameters: &[&str]) -> Vec<String> {
    let of_metrics = metrics
        .iter()
        .flat_map(|metric| STATISTICS.map(|statistic| format!("{}_{statistic}", metric.key)));
    let of_parameters = parameters.iter().map(|name| format!("parameter_{name}"));
    let ours = OURS.iter().map(ToString::to_string);
    std::iter::once("command".into()).chain(of_metrics).chain(ours).chain(of_parameters).collect()
}

fn statistics(metric: &ExportMetric, summary: &ArmSummary) -> [String; STATISTICS.len()] {
    let (Some(found), Some(unit)) = (metric.summary(summary), metric.unit(summary.arm)) else {
        return Default::default();
    };
    let ExportSummary { mean, stddev, median, min, max, .. } = found;
    let [mean, stddev, median, min, max] =
        [Some(mean), stddev, Some(median), Some(min), Some(max)].map(cell);
    [cell_of_text(unit.symbol).into_owned(), mean, stddev, median, min, max]
}

/// A finite number as text, else an empty cell.
fn cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

/// Ratio, interval ends and verdict of an arm.
fn ratio_cells(judged: Judged<'_>, arm: usize) -> [String; 4] {
    let pair = judged.pairs().rfind(|(found, _)| found.arm == arm);
    let Some((comparison, judgement)) = pair else { return Default::default() };
    let (numbers, verdict) = match (judgement.interval, &comparison.evidence) {
        (Some(shown), _) => {
            let [lo, hi] = shown.ends();
            ([Some(shown.ratio), lo, hi], verdict_name(judgement.verdict))
        }
        (None, Evidence::Unpaired { ratio, .. }) => ([Some(ratio.value), None, None], ""),
        (None, _) => ([None; 3], ""),
    };
    let [ratio, lo, hi] = numbers.map(cell);
    [ratio, lo, hi, verdict.into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{ClosedPipe, analysis, compare, judgements, metric, paired, too_few};
    use analysis::Analysis;
    use model::spec::run::ValueOptions;
    use model::values::ValueUnit;
    use record::fixture::{record, row, run};
    use record::plan::ValueRule;
    use record::{Record, Row};

    fn written(record: &Record, analysis: &Analysis) -> String {
        let mut out = Vec::new();
        let judgements = &judgements(record, analysis);
        write(&mut out, Judged { record, analysis, judgements }).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_of_hyperfine_then_ours_then_parameters() {
        let mut record = record(&["a, \"b\"", "c", "d"]);
        record
            .header
            .plan
            .metrics
            .retain(|shown| ["wall", "maxrss"].contains(&shown.name.as_str()));
        record.header.plan.arms[1].parameters =
            vec![("n".into(), "1".into()), ("m".into(), "x".into())];
        record.header.plan.arms[2].parameters = vec![("m".into(), "y".into())];
        run(&mut record, 0, Some(0), 5);
        let mut analysis = analysis(&record, &[1e6, 2e6, 3e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.5, f64::INFINITY)));
        compare(&mut analysis, 2, too_few());
        let text = written(&record, &analysis);
        let expected = "command,time_wall_clock_unit,time_wall_clock_mean,time_wall_clock_stddev,\
                        time_wall_clock_median,time_wall_clock_min,time_wall_clock_max,memory_peak_resident_unit,\
                        memory_peak_resident_mean,memory_peak_resident_stddev,memory_peak_resident_median,\
                        memory_peak_resident_min,memory_peak_resident_max,stillwell_t0,stillwell_t0_err,\
                        stillwell_t0_is_upper_limit,stillwell_ratio,stillwell_ratio_lo,stillwell_ratio_hi,stillwell_verdict,\
                        parameter_n,parameter_m\n";
        assert!(text.starts_with(expected), "{text}");
        let mut table = ::csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<::csv::StringRecord> = table.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            (&rows[0][0], &rows[0][1], &rows[0][4], &rows[0][7]),
            ("a, \"b\"", "s", "0.00101", "B")
        );
        let end = |row: usize| rows[row].iter().skip(13).collect::<Vec<_>>().join(",");
        assert_eq!(end(0), "0.001,0.000002,false,,,,,,");
        assert_eq!(end(1), "0.002,0.000004,false,2,1.5,,slower,1,x");
        assert_eq!(end(2), "0.003,0.000006,false,,,,,,y");
    }

    /// Memory and counts of an import, and the values that a program says, are the metric `value`.
    #[test]
    fn values_that_are_no_times_have_their_own_columns() {
        let mut record = record(&["mem", "per loop", "says"]);
        record.header.plan.metrics.retain(|shown| shown.name == "wall");
        let arms = &mut record.header.plan.arms;
        arms[0].unit = ValueUnit::Bytes;
        let options = ValueOptions {
            value: Some("x".into()),
            value_unit: Some("ms".into()),
            ..ValueOptions::default()
        };
        arms[2].value = ValueRule::of(&options).unwrap();
        for (arm, value) in [(0, 64.0), (1, 13.25), (2, 5e6)] {
            record.rows.push(&Row { value: Some(value), ..row(arm, arm, Some(0), 7_000_000) });
        }
        let mut analysis = analysis(&record, &[64.0, 13.25, 7e6]);
        analysis.arms[2].metrics.push(metric("value", 1, 5e6));
        let text = written(&record, &analysis);
        let mut table = ::csv::Reader::from_reader(text.as_bytes());
        let names = table.headers().unwrap().clone();
        let rows: Vec<::csv::StringRecord> = table.records().collect::<Result<_, _>>().unwrap();
        let cell = |row: usize, name: &str| {
            rows[row].get(names.iter().position(|it| it == name).unwrap()).unwrap().to_owned()
        };
        let cells = |row: usize| {
            ["time_wall_clock_unit", "time_wall_clock_median", "value_unit", "value_median"]
                .map(|name| cell(row, name))
        };
        assert_eq!(cells(0), ["", "", "B", "64.64"]);
        assert_eq!(cells(1)[0], "s");
        assert!(cells(1)[1].starts_with("0.0000000133") && cells(1)[2].is_empty(), "{text}");
        assert_eq!(cells(2), ["s", "0.00707", "s", "0.005"]);
        assert_eq!(cell(0, "stillwell_t0"), "64");
    }

    #[test]
    fn a_closed_pipe_is_known_as_one() {
        // The label is longer than the csv crate's buffer, so the write happens before the final flush.
        let record = record(&[&"x".repeat(100_000), "b"]);
        let analysis = analysis(&record, &[1e6, 2e6]);
        let error = write(
            &mut ClosedPipe,
            Judged { record: &record, analysis: &analysis, judgements: &[] },
        )
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn times_are_net_of_the_shell() {
        let record = record(&["a | b"]);
        let analysis = analysis(&record, &[0.5e6, 1e6]);
        let text = written(&record, &analysis);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("a | b,s,") && text.contains(",-0.000495,"), "{text}");
    }
}
