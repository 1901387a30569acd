//! Record → results, and what is known of its surroundings. Pure.

use jiff::Timestamp;

use crate::analysis::{Analysis, ArmSummary};
use crate::convert::results::{MetaValue, Metadata};
use crate::history::{Origin, Taken};
use crate::host::Facts;
use crate::plan::workers::Unit;
use crate::record::Record;

/// Every arm of which there is a run; controls and twins are none.
pub fn results(record: &Record, analysis: &Analysis) -> Vec<Taken> {
    let shown: Vec<&ArmSummary> = analysis.arms.iter().filter(|arm| !arm.is_hidden).collect();
    // A program of its own may have another name at each commit.
    let has_programs = shown.iter().any(|arm| arm.label != shown[0].label);
    shown.iter().filter_map(|arm| result(record, arm, has_programs)).collect()
}

fn result(record: &Record, summary: &ArmSummary, has_programs: bool) -> Option<Taken> {
    let times = summary.wall.as_ref()?;
    let arm = &record.header.plan.arms[summary.arm];
    let imported = record.header.imported.as_ref();
    let unit_name = imported.and_then(|it| it.benchmarks.get(summary.arm)?.unit_name.clone());
    let of_unit = match arm.unit {
        Unit::Time => "ns",
        Unit::Bytes => "byte",
        Unit::Count => "count",
    };
    let (benchmark, arm) = match &arm.benchmark {
        // A file of another program has one value for each name, and no arms.
        Some(name) if imported.is_none() => {
            (name.clone(), if has_programs { arm.label().to_owned() } else { String::new() })
        }
        _ => (summary.label.clone(), String::new()),
    };
    let (t0, median, mean) = match &summary.net {
        Some(net) => (net.t0, net.median.value, net.mean.value),
        None => (times.t0, times.median.value, times.mean.value),
    };
    let unit = unit_name.unwrap_or_else(|| of_unit.into());
    Some(Taken {
        benchmark,
        arm,
        unit,
        n_runs: summary.n_runs,
        t0: t0.value,
        t0_err: t0.err,
        median,
        mean,
    })
}

/// What is known of a record. `file`: as it was named.
pub fn origin(record: &Record, file: &str) -> Origin {
    let header = &record.header;
    let empty = Metadata::new();
    let metadata = header.imported.as_ref().map_or(&empty, |imported| &imported.metadata);
    let measured_s = header.created.parse::<Timestamp>().map_or(0, Timestamp::as_second);
    Origin {
        file: file.into(),
        machine: machine(&header.facts),
        measured_s: said_time(metadata, "date").unwrap_or(measured_s),
        revision: header
            .facts
            .git
            .as_ref()
            .map(|git| git.revision.clone())
            .or_else(|| text(metadata, "commit_id")),
        committed_s: said_time(metadata, "commit_date"),
        surroundings: surroundings(&header.facts, &header.tool, metadata),
    }
}

/// Host and model of CPU: what a result of another machine would differ in.
fn machine(facts: &Facts) -> String {
    let known: Vec<&str> =
        [&facts.host, &facts.cpu_model].into_iter().flatten().map(String::as_str).collect();
    if known.is_empty() { "unknown".into() } else { known.join(", ") }
}

fn text(metadata: &Metadata, key: &str) -> Option<String> {
    match metadata.get(key)? {
        MetaValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// pyperf and pyperformance write times without an offset, in the time zone of the machine; what it was is lost, and the order of
/// results of one machine is the same in any.
fn said_time(metadata: &Metadata, key: &str) -> Option<i64> {
    let text = text(metadata, key)?;
    let with_offset = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    with_offset.or_else(|| {
        let local: jiff::civil::DateTime = text.parse().ok()?;
        Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
    })
}

/// What a reader of a change has to know to blame the right thing.
fn surroundings(facts: &Facts, tool: &str, metadata: &Metadata) -> Vec<(String, String)> {
    let on_off = |is_on: Option<bool>| is_on.map(|is_on| if is_on { "on" } else { "off" }.into());
    let governors = (!facts.governors.is_empty()).then(|| facts.governors.join(", "));
    let of_facts = [
        ("kernel", facts.kernel.clone()),
        ("distribution", facts.os.clone()),
        ("governor", governors),
        ("turbo", on_off(facts.turbo)),
        ("sibling threads", on_off(facts.smt)),
        ("CPUs online", facts.cpus_online.clone()),
        ("CPUs allowed", facts.cpus_allowed.clone()),
        ("isolated CPUs", facts.isolated_cpus.clone()),
        ("clock source", facts.clock_source.clone()),
        ("virtual machine", facts.virtualisation.clone()),
        ("measured by", Some(tool.to_owned())),
    ];
    let of_metadata = ["python_version", "python_compiler", "cpu_config", "boot_time"]
        .map(|key| (key, text(metadata, key)));
    let known = of_facts.into_iter().chain(of_metadata);
    known.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
