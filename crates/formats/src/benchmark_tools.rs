//! Files of BenchmarkTools.jl: `[{"Julia": …, "BenchmarkTools": …}, [["Trial", {…}], …]]`, with nested groups. A trial
//! is one launch. A `TrialEstimate` is one number of an unnamed kind.

use std::num::NonZeroU64;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::{Document, Element};
use crate::json::{self, NotNegative, Positive};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics,
};

const GC: &str = "gc";
/// Nesting of groups.
const DEPTH_MAX: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolVersions {
    #[serde(rename = "Julia")]
    julia: String,
    #[serde(rename = "BenchmarkTools")]
    tools: Value,
}

#[derive(Deserialize)]
struct Trial {
    params: TrialParameters,
    times: Vec<Positive>,
    #[serde(default)]
    gctimes: Vec<NotNegative>,
    memory: Option<u64>,
    allocs: Option<u64>,
}

/// A time per evaluation: a minimum, a median or a mean.
#[derive(Deserialize)]
struct TrialEstimate {
    time: Positive,
    memory: Option<u64>,
    allocs: Option<u64>,
}

/// `["BenchmarkTools.TrialParameters", {…}]`.
#[derive(Deserialize)]
struct TrialParameters(#[expect(dead_code, reason = "the type's name")] String, ParameterFields);

#[derive(Deserialize)]
struct ParameterFields {
    evals: NonZeroU64,
}

/// Reads a file. Errors: the document is no list of versions and results.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut root = document.list("")?.into_iter();
    let mut results = Results { tool: "BenchmarkTools.jl".into(), ..Results::default() };
    let versions = root.next().context("there are no versions")?;
    match versions.read::<ToolVersions>() {
        Ok(ToolVersions { julia, tools }) => {
            results.tool = format!("BenchmarkTools.jl {}", json::text(&tools));
            results.metadata.insert("julia_version".into(), julia.as_str().into());
        }
        Err(error) => results.note(format!("left out: {error:#}")),
    }
    let nodes = root.next().context("there are no results after the versions")?;
    let nodes = nodes.part().elements("[1]").context("[1]: it is not a list")?;
    let (n_nodes, file) = (nodes.len(), files[0].name());
    for (index, node) in nodes.iter().enumerate() {
        let name = if n_nodes == 1 { file.to_owned() } else { format!("{file}[{index}]") };
        add(&mut results, &name, (n_nodes == 1).then_some(""), node, DEPTH_MAX);
    }
    document.tell_cut(&mut results);
    results.note_one_process();
    Ok(results)
}

/// Adds a node; the names of a group's members begin with `prefix`, or else with `name`.
fn add(results: &mut Results, name: &str, prefix: Option<&str>, node: &Element<'_>, depth: usize) {
    let read = (|| {
        let pair = node.part().elements(&node.place);
        let pair = pair.filter(|pair| pair.len() == 2);
        let pair = pair.with_context(|| {
            format!("{}: a pair of a type and its fields is expected", node.place)
        })?;
        let (kind, body) = (pair[0].read::<String>()?, &pair[1]);
        match kind.rsplit('.').next().unwrap_or(&kind) {
            "Trial" => results.benchmarks.push(trial(name, &body.read()?)?),
            "TrialEstimate" => results.benchmarks.push(estimate(name, &body.read()?)),
            "BenchmarkGroup" => {
                ensure!(depth > 0, "more than {DEPTH_MAX} groups in groups");
                let members = body.part().members(&body.place);
                let data = members.iter().find(|member| member.0 == "data");
                let (_, data) = data.with_context(|| format!("{}: it has no data", body.place))?;
                for (key, member) in data.part().members(&data.place) {
                    let prefix = prefix.unwrap_or(name);
                    let name = if prefix.is_empty() { key } else { format!("{prefix}/{key}") };
                    add(results, &name, None, &member, depth - 1);
                }
            }
            _ => ensure!(false, "it is a {kind}, which has no times"),
        }
        Ok(())
    })();
    if let Err(error) = read {
        results.unread(name.to_owned(), node.line(), format!("{error:#}"));
    }
}

fn trial(name: &str, trial: &Trial) -> Result<BenchmarkValues> {
    ensure!(!trial.times.is_empty(), "times: there is none");
    let mut benchmark = BenchmarkValues::new(name, ResultUnit::Time);
    for (index, time) in trial.times.iter().enumerate() {
        benchmark.values.push(time.0);
        if let Some(gc) = trial.gctimes.get(index) {
            benchmark.push_extra(GC, &ResultUnit::Time, gc.0);
        }
    }
    allocations(&mut benchmark, trial.memory, trial.allocs);
    benchmark.end_launch(LaunchInfo { loops: Some(trial.params.1.evals), ..LaunchInfo::default() });
    Ok(benchmark)
}

fn estimate(name: &str, estimate: &TrialEstimate) -> BenchmarkValues {
    let mut benchmark = BenchmarkValues::new(name, ResultUnit::Time);
    benchmark.summary =
        Some(SummaryStatistics { estimate: Some(estimate.time.0), ..SummaryStatistics::default() });
    allocations(&mut benchmark, estimate.memory, estimate.allocs);
    benchmark
}

fn allocations(benchmark: &mut BenchmarkValues, memory: Option<u64>, allocs: Option<u64>) {
    for (key, value) in [("memory_bytes", memory), ("allocs", allocs)] {
        benchmark.add_fact(key, value.map(u64::cast_signed).map(MetaValue::Int));
    }
}
