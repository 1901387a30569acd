//! A record, or a file of another program → results, and what is known of its surroundings. Pure.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::analysis::{Analysis, ArmSummary};
use crate::history::{Origin, Taken};
use crate::host::Facts;
use crate::record::Record;
use crate::results::{BenchmarkResult, MetaValue, Metadata, Results, SummaryStatistics};
use crate::values::Unit;

/// Every arm of which there is a run; controls and twins are none.
pub fn results(record: &Record, analysis: &Analysis) -> Vec<Taken> {
    let shown: Vec<&ArmSummary> = analysis.arms.iter().filter(|arm| !arm.is_hidden).collect();
    // A program of its own may have another name at each commit.
    let has_programs = shown.iter().any(|arm| arm.label != shown[0].label);
    let taken = shown.iter().filter_map(|arm| result(record, arm, has_programs));
    numbered(taken.collect())
}

/// The same command twice has two results: the second one is `command (#2)`.
fn numbered(mut taken: Vec<Taken>) -> Vec<Taken> {
    let mut counts: HashMap<(String, String, String), usize> = HashMap::new();
    for it in &mut taken {
        let key = (it.benchmark.clone(), it.arm.clone(), it.unit.clone());
        let count = counts.entry(key).or_default();
        *count += 1;
        if *count > 1 {
            it.arm = format!("{} #{count}", it.arm).trim_start().to_owned();
        }
    }
    taken
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
    let suite = record.header.plan.suite.as_ref();
    let (benchmark, arm) = match suite.map(|suite| &suite.benchmark).or(arm.benchmark.as_ref()) {
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
    Some(Taken {
        benchmark,
        arm,
        unit,
        n_runs: summary.n_runs,
        t0: t0.value,
        t0_err: t0.err,
        median,
        mean,
        revision,
        committed_s,
    })
}

/// What is known of a record. `file`: as it was named.
pub fn origin(record: &Record, file: &str) -> Origin {
    let header = &record.header;
    let metadata = header.imported.as_ref().map(|imported| &imported.metadata);
    let said = |key: &str| text(metadata?.get(key)?);
    origin_of(file, &header.facts, &header.tool, &header.created, said)
}

/// The same of a file of another program.
pub fn imported_origin(results: &Results, created: &str, file: &str) -> Origin {
    let said = |key: &str| text(results.agreed(key)?);
    let facts = Facts {
        host: first(&MACHINE_KEYS, said),
        cpu_model: first(&CPU_KEYS, said),
        ..Facts::default()
    };
    let mut origin = origin_of(file, &facts, &results.tool, created, said);
    let launches = results.benchmarks.iter().flat_map(BenchmarkResult::launches);
    let dates =
        launches.filter_map(|it| said_time(&text(it.info.metadata.as_ref()?.get("date")?)?));
    if let (None, Some(measured_s)) = (said("date"), dates.min()) {
        origin.measured_s = measured_s;
    }
    origin
}

/// The results of a file of another program: those of its values, which are in the record, and its summaries. Branches have series of
/// their own: a commit of one is neither before nor after those of another.
pub fn imported_results(results: &Results, record: Option<(&Record, &Analysis)>) -> Vec<Taken> {
    let mut taken =
        record.map_or_else(Vec::new, |(record, analysis)| self::results(record, analysis));
    let labels = results.labels();
    let of_summary = |(benchmark, label): (&BenchmarkResult, &String)| {
        let is_wanted = benchmark.values.is_empty() && !benchmark.is_control;
        let taken = summarised(label, benchmark.unit.name(), &benchmark.summary?)?;
        let (revision, committed_s) = commit(&[Some(&benchmark.metadata), Some(&results.metadata)]);
        is_wanted.then_some(Taken { revision, committed_s, ..taken })
    };
    taken.extend(results.benchmarks.iter().zip(&labels).filter_map(of_summary));
    let said = |key: &str| text(results.agreed(key)?);
    if let Some(branch) = first(&BRANCH_KEYS, said) {
        taken.iter_mut().for_each(|it| it.arm.clone_from(&branch));
    }
    taken
}

/// Of a file that keeps no values, the smallest is as near to the noise-free time as it says.
fn summarised(label: &str, unit: &str, summary: &SummaryStatistics) -> Option<Taken> {
    let median = summary.median.or(summary.mean)?;
    Some(Taken {
        benchmark: label.into(),
        arm: String::new(),
        unit: unit.into(),
        n_runs: summary.count.and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        t0: summary.min.unwrap_or(median),
        t0_err: None,
        median,
        mean: summary.mean.unwrap_or(median),
        revision: None,
        committed_s: None,
    })
}

/// The patch that the measured sources had beside their commit, which pyperformance notes.
pub fn patch(results: &Results) -> Option<String> {
    text(results.agreed("patch_file")?).filter(|patch| !patch.is_empty())
}

/// How programs call the same things: pyperf and pyperformance, asv, pytest-benchmark, Google Benchmark, Go, and we.
const MACHINE_KEYS: [&str; 4] = ["hostname", "machine", "machine.node", "host_name"];
const CPU_KEYS: [&str; 3] = ["cpu_model_name", "cpu", "machine.cpu.brand_raw"];
const REVISION_KEYS: [&str; 4] = ["commit_id", "commit_hash", "commit.id", "git_revision"];
const COMMITTED_KEYS: [&str; 2] = ["commit_date", "commit.time"];
const BRANCH_KEYS: [&str; 2] = ["commit_branch", "commit.branch"];
/// What pytest-benchmark writes where it knows nothing.
const UNKNOWN: [&str; 2] = ["unversioned", "(unknown)"];

fn first(keys: &[&str], said: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_known = |text: &String| !text.is_empty() && !UNKNOWN.contains(&&**text);
    keys.iter().find_map(|key| said(key).filter(is_known))
}

fn origin_of(
    file: &str,
    facts: &Facts,
    tool: &str,
    created: &str,
    said: impl Fn(&str) -> Option<String>,
) -> Origin {
    let created_s = created.parse::<Timestamp>().map_or(0, Timestamp::as_second);
    Origin {
        file: file.into(),
        machine: machine(facts),
        measured_s: said("date").and_then(|date| said_time(&date)).unwrap_or(created_s),
        surroundings: surroundings(facts, tool, &said),
    }
}

/// The commit that a file of another program says it is of, and when that was made: what it says of the benchmark, then of all.
fn commit(about: &[Option<&Metadata>]) -> (Option<String>, Option<i64>) {
    let said = |key: &str| about.iter().flatten().find_map(|about| text(about.get(key)?));
    let committed = first(&COMMITTED_KEYS, said);
    (first(&REVISION_KEYS, said), committed.and_then(|date| said_time(&date)))
}

/// Host and model of CPU: what a result of another machine would differ in.
fn machine(facts: &Facts) -> String {
    let known: Vec<&str> =
        [&facts.host, &facts.cpu_model].into_iter().flatten().map(String::as_str).collect();
    if known.is_empty() { "unknown".into() } else { known.join(", ") }
}

fn text(value: &MetaValue) -> Option<String> {
    match value {
        MetaValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// pyperf and pyperformance write times without an offset, in the time zone of the machine; what it was is lost, and the order of
/// results of one machine is the same in any.
fn said_time(text: &str) -> Option<i64> {
    let with_offset = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    with_offset.or_else(|| {
        let local: jiff::civil::DateTime = text.parse().ok()?;
        Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
    })
}

/// What a reader of a change has to know to blame the right thing.
fn surroundings(
    facts: &Facts,
    tool: &str,
    said: impl Fn(&str) -> Option<String>,
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
            .map(|key| (key, said(key)));
    let known = of_facts.into_iter().chain(of_metadata);
    known.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
