//! Results and origin of a record, or of another program's file. Pure.

use std::collections::HashMap;

use formats::{BenchmarkValues, Metadata, ResultUnit, Results};
use jiff::Timestamp;

use crate::history::{BenchmarkResult, RecordOrigin};
use analysis::convert::of_record::{better, unit_name};
use analysis::{Analysis, ArmSummary};
use host::Facts;
use record::Record;

pub fn results(record: &Record, analysis: &Analysis) -> Vec<BenchmarkResult> {
    // A record with one program leaves its name out, because the name may differ from commit to commit.
    let has_programs = record.header.plan.has_programs();
    let shown = analysis.arms.iter().filter(|arm| !arm.is_hidden);
    let results = shown.filter_map(|arm| result(record, arm, has_programs));
    numbered(results.collect())
}

/// Numbers results with the same name and commit: the second result of a command is `command (#2)`.
fn numbered(mut results: Vec<BenchmarkResult>) -> Vec<BenchmarkResult> {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for it in &mut results {
        let key = (it.benchmark.clone(), it.arm.clone(), it.unit.clone(), it.revision.clone());
        let count = counts.entry(key).or_default();
        *count += 1;
        if *count > 1 {
            it.arm = format!("{} #{count}", it.arm).trim_start().to_owned();
        }
    }
    results
}

fn result(record: &Record, summary: &ArmSummary, has_programs: bool) -> Option<BenchmarkResult> {
    let times = summary.times.as_ref()?;
    let arm = &record.header.plan.arms[summary.arm];
    let imported = record.header.imported.as_ref();
    let suite = record.header.plan.suite.as_ref();
    // Revisions are the commits of one series.
    let has_programs = has_programs && !arm.is_revision;
    let (benchmark, arm) = match suite.map(|suite| &suite.benchmark).or(arm.benchmark.as_ref()) {
        // A file of another program has one value for each name and no arms.
        Some(name) if imported.is_none() => {
            (name.clone(), if has_programs { arm.label().to_owned() } else { String::new() })
        }
        _ => (summary.label.clone(), String::new()),
    };
    let (t0, median, mean) = match &summary.net {
        Some(net) => (net.t0.unwrap_or(times.t0), net.median.value, net.mean.value),
        None => (times.t0, times.median.value, times.mean.value),
    };
    let (revision, committed_s) = match imported {
        None => {
            let git = record.header.git_of(summary.arm);
            (git.map(|git| git.revision.clone()), git.and_then(|git| git.committed_s))
        }
        Some(imported) => {
            let own = imported.benchmarks.get(summary.arm).map(|it| &it.metadata);
            commit(&[own, Some(&imported.metadata)])
        }
    };
    Some(BenchmarkResult {
        benchmark,
        arm,
        unit: unit_name(record, summary.arm),
        better: Some(better(record, summary.arm)),
        n_runs: Some(summary.n_runs),
        t0: t0.value,
        t0_err: t0.err,
        t0_is_limit: times.is_upper_limit,
        median,
        mean,
        revision,
        committed_s,
    })
}

pub fn origin(record: &Record, file: &str) -> RecordOrigin {
    let header = &record.header;
    let metadata = header.imported.as_ref().map(|imported| &imported.metadata);
    let lookup = |key: &str| metadata?.get(key)?.text().map(str::to_owned);
    let mut origin = origin_of(file, &header.facts, &header.tool, &header.created, lookup);
    if metadata.is_none() {
        origin.surroundings.push(("clock".into(), record.rows.compared().clock.name()));
    }
    origin
}

pub fn imported_origin(results: &Results, created: &str, file: &str) -> RecordOrigin {
    let lookup = |key: &str| results.agreed(key)?.text().map(str::to_owned);
    let facts = Facts {
        host: first(&MACHINE_KEYS, lookup),
        cpu_model: first(&CPU_KEYS, lookup),
        ..Facts::default()
    };
    let mut origin = origin_of(file, &facts, &results.tool, created, lookup);
    let launches = results.benchmarks.iter().flat_map(BenchmarkValues::launches);
    let dates =
        launches.filter_map(|it| parse_time(it.info.metadata.as_ref()?.get("date")?.text()?));
    if let (None, Some(measured_s)) = (lookup("date"), dates.min()) {
        origin.measured_s = measured_s;
    }
    origin
}

/// Results of another program's file: values, which are in the record, and summaries. Each branch has its own series,
/// because commits of different branches have no order.
pub fn imported_results(
    results: &Results,
    record: Option<(&Record, &Analysis)>,
) -> Vec<BenchmarkResult> {
    let mut found =
        record.map_or_else(Vec::new, |(record, analysis)| self::results(record, analysis));
    let labels = results.labels();
    let of_summary = |(benchmark, label): (&BenchmarkValues, &String)| {
        let is_wanted = benchmark.values.is_empty() && !benchmark.is_control;
        let result = summary_result(label, benchmark)?;
        let (revision, committed_s) = commit(&[Some(&benchmark.metadata), Some(&results.metadata)]);
        is_wanted.then_some(BenchmarkResult { revision, committed_s, ..result })
    };
    found.extend(results.benchmarks.iter().zip(&labels).filter_map(of_summary));
    let lookup = |key: &str| results.agreed(key)?.text().map(str::to_owned);
    if let Some(branch) = first(&BRANCH_KEYS, lookup) {
        found.iter_mut().for_each(|it| it.arm.clone_from(&branch));
    }
    found
}

/// The result of a summary. The minimum stands in for the noise-free time; other quantities have none.
fn summary_result(label: &str, benchmark: &BenchmarkValues) -> Option<BenchmarkResult> {
    let (summary, unit) = (benchmark.summary?, &benchmark.unit);
    let median = summary.center()?;
    let min = summary.min.filter(|_| *unit == ResultUnit::Time);
    Some(BenchmarkResult {
        benchmark: label.into(),
        unit: unit.name().into(),
        n_runs: summary.count.and_then(|n| usize::try_from(n).ok()),
        t0: min.unwrap_or(median),
        median,
        mean: summary.mean.unwrap_or(median),
        ..BenchmarkResult::default()
    })
}

/// Patch file of the measured sources on top of their commit, from pyperformance.
pub fn patch(results: &Results) -> Option<String> {
    let patch = results.agreed("patch_file")?.text();
    patch.filter(|patch| !patch.is_empty()).map(str::to_owned)
}

const MACHINE_KEYS: [&str; 4] = ["hostname", "machine", "machine.node", "host_name"];
const CPU_KEYS: [&str; 3] = ["cpu_model_name", "cpu", "machine.cpu.brand_raw"];
const REVISION_KEYS: [&str; 4] = ["commit_id", "commit_hash", "commit.id", "git_revision"];
const COMMITTED_KEYS: [&str; 2] = ["commit_date", "commit.time"];
const BRANCH_KEYS: [&str; 2] = ["commit_branch", "commit.branch"];
/// Texts of pytest-benchmark for unknown values.
const UNKNOWN: [&str; 2] = ["unversioned", "(unknown)"];

fn first(keys: &[&str], lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_known = |text: &String| !text.is_empty() && !UNKNOWN.contains(&&**text);
    keys.iter().find_map(|key| lookup(key).filter(is_known))
}

fn origin_of(
    file: &str,
    facts: &Facts,
    tool: &str,
    created: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> RecordOrigin {
    let created_s = created.parse::<Timestamp>().map_or(0, Timestamp::as_second);
    RecordOrigin {
        file: file.into(),
        machine: machine(facts),
        measured_s: lookup("date").and_then(|date| parse_time(&date)).unwrap_or(created_s),
        surroundings: surroundings(facts, tool, &lookup),
    }
}

/// Revision and commit time in another program's metadata: the benchmark's first, then the file's.
fn commit(about: &[Option<&Metadata>]) -> (Option<String>, Option<i64>) {
    let said = |key: &str| about.iter().flatten().find_map(|about| about.get(key)?.text());
    let lookup = |key: &str| said(key).map(str::to_owned);
    let committed = first(&COMMITTED_KEYS, lookup);
    (first(&REVISION_KEYS, lookup), committed.and_then(|date| parse_time(&date)))
}

/// Name of a machine: host and CPU model.
fn machine(facts: &Facts) -> String {
    let known: Vec<&str> =
        [&facts.host, &facts.cpu_model].into_iter().flatten().map(String::as_str).collect();
    if known.is_empty() { "unknown".into() } else { known.join(", ") }
}

/// Parses a time, seconds since 1970. pyperf and pyperformance write local times without an offset. They count as UTC,
/// which keeps the order of one machine's results.
fn parse_time(text: &str) -> Option<i64> {
    let with_offset = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    with_offset.or_else(|| {
        let local: jiff::civil::DateTime = text.parse().ok()?;
        Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
    })
}

/// Surroundings that may explain a change: name and value.
fn surroundings(
    facts: &Facts,
    tool: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
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
    let of_metadata =
        ["python_version", "python_compiler", "cpu_config", "boot_time", "performance_version"]
            .map(|key| (key, lookup(key)));
    let known = of_facts.into_iter().chain(of_metadata);
    known.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
