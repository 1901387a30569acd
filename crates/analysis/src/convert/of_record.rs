//! A record as results, for other programs and for verbs that treat all files alike.
//!
//! A process is a launch. A launch of `run` has one value, a launch of a worker one per slice. Controls and the twin of
//! the reference are no benchmarks. A failed or timed-out run has no value.

use std::collections::BTreeMap;

use formats::{BenchmarkValues, MetaValue, Metadata, ResultUnit, Results};

use crate::convert::launches::launches;
use crate::convert::pyperf_facts;
use crate::suite::plan_of_arm;
use model::values::{Better, DecideOn, MemoryPolicy, Order, ValueUnit};
use record::plan::{Arm, ProcessPlan, Role, ValueRule};
use record::{Event, ImportedBenchmark, Record};

/// Makes results from a record with a row per run, or with slices (`analysis::launches`).
pub fn results(record: &Record) -> Results {
    let plan = &record.header.plan;
    let mut made = benchmarks(record);
    launches(&mut made, record);
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
    } else if plan.order == Order::Listed {
        results.note(
            "the order was fixed: what one command leaves to the next counts as a difference",
        );
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

/// Another program's description of an arm.
pub fn imported(record: &Record, arm: usize) -> Option<&ImportedBenchmark> {
    record.header.imported.as_ref()?.benchmarks.get(arm)
}

/// The benchmark name of an arm. The arm's label is added unless the benchmark's name is unique.
pub fn name(record: &Record, arm: usize) -> String {
    if let Some(imported) = imported(record, arm) {
        return imported.name.clone();
    }
    let plan = &record.header.plan;
    let this = &plan.arms[arm];
    let of_same = |other: &&Arm| other.benchmark == this.benchmark;
    match &this.benchmark {
        None => this.label().into(),
        Some(name) if plan.arms.iter().filter(of_same).count() == 1 => name.clone(),
        // A single benchmark gets the label too, so its name stays the same beside others.
        Some(name) => format!("{name} ({})", this.label()),
    }
}

/// The name of an arm in a format of commands, which may not tell benchmarks of one command apart. `None` where the
/// command does: without benchmarks, in imports, and for statements that the user has not named.
pub fn name_of_benchmark(record: &Record, arm: usize) -> Option<String> {
    let this = &record.header.plan.arms[arm];
    let is_named = this.benchmark.is_some() && !this.is_unnamed_statement();
    (is_named && record.header.imported.is_none()).then(|| name(record, arm))
}

/// The unit of an arm's values.
pub fn unit(record: &Record, arm: usize) -> ResultUnit {
    let name = || imported(record, arm)?.unit_name.clone();
    match record.header.plan.arms[arm].unit {
        ValueUnit::Time => ResultUnit::Time,
        ValueUnit::Bytes => ResultUnit::Bytes,
        ValueUnit::Count => match name() {
            Some(name) => ResultUnit::Other(name),
            None => deciding_value(record, arm).and_then(own_unit).unwrap_or(ResultUnit::Count),
        },
    }
}

/// The text of an arm's unit, which the user may have named.
pub fn unit_name(record: &Record, arm: usize) -> String {
    let own = deciding_value(record, arm).and_then(ValueRule::own_unit);
    own.map_or_else(|| unit(record, arm).name().to_owned(), str::to_owned)
}

/// The direction in which an arm's quantity is better. Other programs only name the unit.
pub fn better(record: &Record, arm: usize) -> Better {
    let of_value = deciding_value(record, arm).map(|rule| rule.better);
    match unit(record, arm).more_is_better() {
        true => Better::Higher,
        false => of_value.unwrap_or(plan_of_arm(record, arm).policy.better),
    }
}

/// The user's unit of a value. Results have no direction beside the unit, so a unit that says the opposite of the user's
/// direction is left out.
pub fn own_unit(rule: &ValueRule) -> Option<ResultUnit> {
    let unit = ResultUnit::Other(rule.own_unit()?.into());
    (unit.more_is_better() != rule.better.is_lower()).then_some(unit)
}

/// The rule of the value that the program prints, if that decides.
pub fn deciding_value(record: &Record, arm: usize) -> Option<&ValueRule> {
    let decide_on = plan_of_arm(record, arm).policy.decide_on;
    let rule = record.header.plan.arms.get(arm)?.value.as_ref();
    rule.filter(|_| decide_on.is_none_or(|it| it == DecideOn::Value))
}

/// The first candidate whose higher values are better, but whose unit does not say so.
pub fn without_direction(record: &Record) -> Option<usize> {
    let mut candidates = record.header.plan.candidates().map(|(at, _)| at);
    candidates.find(|&at| !better(record, at).is_lower() && !unit(record, at).more_is_better())
}

/// A benchmark without launches for each arm; `None` for a hidden arm.
fn benchmarks(record: &Record) -> Vec<Option<BenchmarkValues>> {
    let workers = worker_metadata(record);
    let common = revision_of_all(record);
    let of_arm = |(index, arm): (usize, &Arm)| {
        let imported = imported(record, index);
        if arm.role != Role::Candidate && imported.is_none() {
            return None;
        }
        let mut made = BenchmarkValues::new(&name(record, index), unit(record, index));
        made.parameters.clone_from(&arm.parameters);
        made.is_control = arm.role.is_control();
        if let Some(imported) = imported {
            made.group.clone_from(&imported.group);
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

const REVISION: &str = "git_revision";

/// The commit, if all arms share one.
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

/// Metadata of the workers, without words of the protocol and without the hash seed, which differs in each block.
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

/// Facts about the machine, under pyperf's names where they exist.
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
    say("runnable_threads", facts.runnable_threads.map(|n| MetaValue::Int(n.into())));
    say("uptime", facts.uptime_s.map(MetaValue::Float));
    say("boot_time", text(&pyperf_facts::boot_time(header)));
    say("cpu_freq", text(&pyperf_facts::cpu_freq(facts)));
    say("cpu_config", text(&pyperf_facts::cpu_config(facts)));
    say("virtualisation", text(&facts.virtualisation));
    say("container", text(&facts.container));
    say("date", Some(pyperf_facts::local(&header.created).as_str().into()));
    say("stillwell_version", Some(header.tool.trim_start_matches("stillwell ").into()));
    say("stillwell_order", Some(plan.order.name().as_str().into()));
    say("stillwell_seed", Some(plan.seed.to_string().as_str().into()));
    say(REVISION, revision_of_all(record).map(MetaValue::from));
    metadata
}

/// The thread variables, as `OMP_NUM_THREADS=2 OMP_PROC_BIND=true`; empty without any.
pub fn threads(process: &ProcessPlan) -> String {
    let variables = process.thread_variables.iter();
    variables.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The memory policy, as `bind 0,2`.
fn memory(policy: &MemoryPolicy) -> String {
    let nodes: Vec<String> = policy.nodes.iter().map(usize::to_string).collect();
    format!("{} {}", policy.mode.name(), nodes.join(","))
}
