//! A record → results, for other programs and for the verbs that treat all files alike.
//!
//! A process is a launch. A launch of `run` has one value, a launch of a worker has one for each slice. Controls and
//! the twin of the reference are no benchmarks. A run that failed or timed out has no value.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::analysis::launches::SliceRule;
use crate::plan::{Arm, ProcessPlan, Role};
use crate::record::{Event, Record, Row, Rows};
use crate::results::{
    BenchmarkValues, CPU, Calibration, EXIT_CODE, LaunchInfo, MetaValue, Metadata, PEAK_MEMORY,
    ResultUnit, Results,
};
use crate::values::metric::Metric;
use crate::values::{MemoryPolicy, Order, ValueUnit};

/// Makes results of a record: of one with a row for each run, or of one with slices (`analysis::launches`).
pub fn results(record: &Record) -> Results {
    let plan = &record.header.plan;
    let rule = SliceRule::of(plan, None);
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    let mut made = benchmarks(record);
    let launches = imported_launches(record);
    if launches.is_empty() {
        by_block(&mut made, record, rows, &rule);
    } else {
        by_import(&mut made, &launches, rows, &rule);
    }
    let mut results = Results {
        tool: record.header.tool.clone(),
        metadata: facts(record),
        are_commands: plan.arms.iter().all(|arm| arm.benchmark.is_none()),
        ..Results::default()
    };
    if let Some(imported) = &record.header.imported {
        results.metadata = imported.metadata.clone();
        results.tool.clone_from(&imported.tool);
        results.notes.clone_from(&imported.notes);
    } else if plan.order == Order::Sequential {
        results.note("the order was sequential: drift counts as a difference");
    }
    let is_kept =
        |benchmark: &BenchmarkValues| benchmark.n_launches() > 0 || benchmark.summary.is_some();
    results.benchmarks = made.into_iter().flatten().filter(is_kept).collect();
    for benchmark in &mut results.benchmarks {
        benchmark.fill_extras();
        benchmark.simplify_loops();
    }
    results
}

/// Name of an arm as a benchmark: that of its benchmark, if no other arm has the same one.
pub fn name(record: &Record, arm: usize) -> String {
    let plan = &record.header.plan;
    let imported = record.header.imported.as_ref().and_then(|it| it.benchmarks.get(arm));
    if let Some(imported) = imported {
        return imported.name.clone();
    }
    let this = &plan.arms[arm];
    let of_same = |other: &&Arm| other.benchmark == this.benchmark;
    match &this.benchmark {
        None => this.label().into(),
        Some(name) if plan.arms.iter().filter(of_same).count() == 1 => name.clone(),
        // A single benchmark gets this name too, so that it has the same name next to others.
        Some(name) => format!("{name} ({})", this.label()),
    }
}

/// Returns a benchmark for each arm, without launches; `None` for a hidden arm.
fn benchmarks(record: &Record) -> Vec<Option<BenchmarkValues>> {
    let workers = worker_metadata(record);
    let common = revision_of_all(record);
    let of_arm = |(index, arm): (usize, &Arm)| {
        let imported = record.header.imported.as_ref().and_then(|it| it.benchmarks.get(index));
        if arm.role != Role::Candidate && imported.is_none() {
            return None;
        }
        let unit = match arm.unit {
            ValueUnit::Time => ResultUnit::Time,
            ValueUnit::Bytes => ResultUnit::Bytes,
            ValueUnit::Count => imported
                .and_then(|it| it.unit_name.clone())
                .map_or(ResultUnit::Count, ResultUnit::Other),
        };
        let mut made = BenchmarkValues::new(&name(record, index), unit);
        made.parameters.clone_from(&arm.parameters);
        made.is_control = arm.role.is_control();
        if let Some(imported) = imported {
            made.metadata.clone_from(&imported.metadata);
            made.summary = imported.summary;
        } else {
            made.metadata = arm_metadata(arm);
            let own = record.header.git_of(index).map(|git| git.revision.as_str());
            let own = own.filter(|_| common.is_none());
            made.metadata.extend(own.map(|revision| (REVISION.into(), revision.into())));
            made.metadata.extend(workers.get(&index).cloned().unwrap_or_default());
        }
        Some(made)
    };
    record.header.plan.arms.iter().enumerate().map(of_arm).collect()
}

/// Metadata key of the measured commit.
const REVISION: &str = "git_revision";

/// The commit of all arms, if they share one.
fn revision_of_all(record: &Record) -> Option<&str> {
    let candidates = record.header.plan.candidates();
    let mut revisions = candidates.map(|(arm, _)| Some(&*record.header.git_of(arm)?.revision));
    let first = revisions.next()??;
    revisions.all(|revision| revision == Some(first)).then_some(first)
}

/// Metadata of an arm, with pyperf's names.
fn arm_metadata(arm: &Arm) -> Metadata {
    let mut metadata = Metadata::new();
    let mut say = |key: &str, text: &str| {
        if !text.trim().is_empty() {
            metadata.insert(key.into(), text.into());
        }
    };
    if let Some(source) = &arm.source {
        say("timeit_stmt", &source.statement);
        say("timeit_setup", &source.setup);
        say("timeit_teardown", &source.teardown);
        if source.duplicate > 1 {
            say("timeit_duplicate", &source.duplicate.to_string());
        }
    } else {
        say("command", &arm.command);
    }
    if arm.name.as_ref().is_some_and(|name| *name != arm.command) && arm.benchmark.is_some() {
        say("arm", arm.label());
    }
    metadata
}

/// Metadata of the workers. It omits words of the protocol, and the hash seed, which differs in each block.
fn worker_metadata(record: &Record) -> BTreeMap<usize, Metadata> {
    let mut metadata = BTreeMap::new();
    for event in &record.events {
        let Event::Worker { arm, values, .. } = event else { continue };
        let has_names = values.contains_key("python_version");
        let is_shown = |key: &str| {
            let is_redundant =
                has_names && matches!(key, "language" | "implementation" | "version");
            !is_redundant
                && !matches!(key, "source" | "gc" | "tracemalloc" | "protocol" | "python_hash_seed")
        };
        let shown = values.iter().filter(|(key, _)| is_shown(key));
        let entry = |(key, value): (&String, &String)| (key.clone(), value.as_str().into());
        metadata.insert(*arm as usize, shown.map(entry).collect());
    }
    metadata
}

/// Facts about the machine, with pyperf's names if it has one.
fn facts(record: &Record) -> Metadata {
    let (header, plan) = (&record.header, &record.header.plan);
    let facts = &header.facts;
    let mut metadata = Metadata::new();
    let mut say = |key: &str, value: Option<MetaValue>| {
        metadata.extend(value.map(|value| (key.to_owned(), value)));
    };
    let text = |fact: &Option<String>| {
        fact.as_deref().filter(|fact| !fact.trim().is_empty()).map(MetaValue::from)
    };
    say("hostname", text(&facts.host));
    say("cpu_model_name", text(&facts.cpu_model));
    let n_cpus = facts.topology.as_ref().map(|found| i64::from(found.n_cpus));
    say("cpu_count", n_cpus.map(MetaValue::Int));
    let kernel = facts.kernel.as_deref();
    say("platform", kernel.map(|it| format!("Linux-{it}-{}", facts.architecture).as_str().into()));
    say("os", text(&facts.os));
    let aslr = match (plan.process.no_aslr, facts.aslr) {
        (true, _) | (_, Some(0)) => Some("No randomization"),
        (false, Some(1)) => Some("Conservative randomization"),
        (false, Some(2)) => Some("Full randomization"),
        _ => None,
    };
    say("aslr", aslr.map(MetaValue::from));
    let governors = facts.governors.join(", ");
    say("cpu_governors", text(&Some(governors)));
    say("cpu_turbo", facts.turbo.map(|on| if on { "on" } else { "off" }.into()));
    let affinity = plan.process.affinity.as_ref();
    let list = affinity.map(|cpus| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    say("cpu_affinity", list.map(|list| list.as_str().into()));
    say("stillwell_threads", text(&Some(threads(&plan.process))));
    say("stillwell_memory", text(&plan.process.memory.as_ref().map(memory)));
    say("load_avg_1min", facts.load_average.map(|load| MetaValue::Float(load[0])));
    say("virtualisation", text(&facts.virtualisation));
    say("container", text(&facts.container));
    say("date", Some(local(&header.created).as_str().into()));
    say("stillwell_version", Some(header.tool.trim_start_matches("stillwell ").into()));
    say(
        "stillwell_order",
        Some(if plan.order == Order::Sequential { "sequential" } else { "interleave" }.into()),
    );
    say("stillwell_seed", Some(plan.seed.to_string().as_str().into()));
    say(REVISION, revision_of_all(record).map(MetaValue::from));
    metadata
}

/// The variables of threads that Stillwell set.
fn threads(process: &ProcessPlan) -> String {
    let variables = process.thread_variables.iter();
    variables.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The memory policy, as `bind 0,2`.
fn memory(policy: &MemoryPolicy) -> String {
    let nodes: Vec<String> = policy.nodes.iter().map(usize::to_string).collect();
    format!("{} {}", policy.mode.name(), nodes.join(","))
}

/// Converts RFC 3339 to pyperf's form: local time, without the offset.
fn local(created: &str) -> String {
    let time = created.get(..19).unwrap_or(created);
    time.replace('T', " ")
}

/// A launch of an imported record.
struct ImportedLaunch<'a> {
    arm: usize,
    n_warmups: u32,
    n_values: u32,
    info: LaunchInfo,
    metadata: &'a Metadata,
}

fn imported_launches(record: &Record) -> Vec<ImportedLaunch<'_>> {
    let launches = record.events.iter().filter_map(|event| match event {
        Event::Launch { arm, n_warmups, n_values, loops, inner_loops, calibration, metadata } => {
            let info = LaunchInfo {
                loops: *loops,
                inner_loops: *inner_loops,
                calibration: *calibration,
                metadata: None,
            };
            let (n_warmups, n_values) = (*n_warmups, *n_values);
            Some(ImportedLaunch { arm: *arm as usize, n_warmups, n_values, info, metadata })
        }
        _ => None,
    });
    launches.collect()
}

/// Restores the launches of an imported record; each has a number of rows of its arm.
fn by_import(
    made: &mut [Option<BenchmarkValues>],
    launches: &[ImportedLaunch<'_>],
    rows: &Rows,
    rule: &SliceRule,
) {
    let mut of_arm: Vec<Vec<usize>> = vec![Vec::new(); made.len()];
    (0..rows.len()).for_each(|index| of_arm[rows.arm(index)].push(index));
    let mut next = vec![0; made.len()];
    for launch in launches {
        let Some(benchmark) = made.get_mut(launch.arm).and_then(Option::as_mut) else { continue };
        let from = next[launch.arm];
        let n_rows = (launch.n_warmups + launch.n_values) as usize;
        next[launch.arm] += n_rows;
        let indices = of_arm[launch.arm].iter().skip(from).take(n_rows);
        for (at, &index) in indices.enumerate() {
            take(benchmark, &rows.row(index), rule, at < launch.n_warmups as usize);
        }
        let mut info = launch.info.clone();
        info.metadata = (!launch.metadata.is_empty()).then(|| Box::new(launch.metadata.clone()));
        benchmark.end_launch(info);
    }
}

/// The launches of Stillwell's own sessions: the rows of one arm in one block. Warm-ups belong to the launch after
/// them; those before the first launch were made to find the loops.
fn by_block(made: &mut [Option<BenchmarkValues>], record: &Record, rows: &Rows, rule: &SliceRule) {
    let in_slices = record.header.plan.in_slices;
    let mut open: Vec<Option<Option<usize>>> = vec![None; made.len()];
    let pilot: BTreeMap<usize, PilotProcess> = record
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Worker { arm, loops, n_slices, .. } if in_slices => {
                Some((*arm as usize, PilotProcess { loops: *loops, n_slices: *n_slices as usize }))
            }
            _ => None,
        })
        .collect();
    for index in 0..rows.len() {
        let arm = rows.arm(index);
        let Some(benchmark) = made[arm].as_mut() else { continue };
        let block = rows.block(index);
        let is_new = match open[arm] {
            None => false,
            // Each run is a process. With slices, each block is one, and the warm-ups before it belong to it.
            Some(before) => {
                (!in_slices && before.is_some()) || (before.is_some() && before != block)
            }
        };
        if is_new {
            end_own(benchmark, pilot.get(&arm), record.header.plan.arms[arm].inner_loops);
        }
        take(benchmark, &rows.row(index), rule, block.is_none());
        open[arm] = Some(block);
    }
    for (arm, benchmark) in made.iter_mut().enumerate() {
        if let Some(benchmark) = benchmark.as_mut().filter(|_| open[arm].is_some()) {
            end_own(benchmark, pilot.get(&arm), record.header.plan.arms[arm].inner_loops);
        }
    }
}

/// The process before the first block that found the loops of an arm.
struct PilotProcess {
    loops: u64,
    n_slices: usize,
}

/// Ends a launch of Stillwell's own session. The first slices of an arm are those of its pilot process.
fn end_own(benchmark: &mut BenchmarkValues, pilot: Option<&PilotProcess>, inner_loops: u64) {
    let inner_loops = NonZeroU64::new(inner_loops).filter(|loops| loops.get() > 1);
    let info = LaunchInfo { inner_loops, ..LaunchInfo::default() };
    let calibration = pilot.and_then(|pilot| NonZeroU64::new(pilot.loops)).map(Calibration::Loops);
    if let Some(pilot) = pilot.filter(|pilot| pilot.n_slices > 0 && benchmark.n_launches() == 0) {
        let n_pilot = pilot.n_slices.min(benchmark.warmups.len());
        let own = benchmark.warmups.split_off(n_pilot);
        let (values, counts) =
            (std::mem::take(&mut benchmark.values), std::mem::take(&mut benchmark.loops));
        benchmark.end_launch(LaunchInfo { calibration, ..info.clone() });
        (benchmark.values, benchmark.loops) = (values, counts);
        benchmark.warmups.extend(own);
    }
    end(benchmark, info);
}

/// Ends a launch. If all its values have the same loops, they become those of the launch.
fn end(benchmark: &mut BenchmarkValues, mut info: LaunchInfo) {
    let from = benchmark.n_ended().0.min(benchmark.loops.len());
    if let [loops, rest @ ..] = &benchmark.loops[from..]
        && rest.iter().all(|other| other == loops)
        && info.loops.is_none()
    {
        info.loops = NonZeroU64::new(*loops).filter(|loops| loops.get() > 1);
    }
    benchmark.end_launch(info);
}

fn take(benchmark: &mut BenchmarkValues, row: &Row, rule: &SliceRule, is_warmup: bool) {
    let Some((loops, value)) = rule.slice(row).filter(|_| row.is_time()) else { return };
    if is_warmup {
        benchmark.warmups.push((loops, value));
        return;
    }
    benchmark.values.push(value);
    benchmark.loops.push(loops);
    if let Some(cpu_ns) = row.get(Metric::CpuNs) {
        let per_loop = cpu_ns as f64 / loops as f64 / rule.inner_loops(row.arm) as f64;
        benchmark.push_extra(CPU, &ResultUnit::Time, per_loop);
    }
    if let Some(kib) = row.get(Metric::MaxrssKib) {
        benchmark.push_extra(PEAK_MEMORY, &ResultUnit::Bytes, kib as f64 * 1024.0);
    }
    if row.exit != 0 {
        benchmark.push_extra(EXIT_CODE, &ResultUnit::Count, row.exit.into());
    }
}
