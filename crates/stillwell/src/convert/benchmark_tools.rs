//! Files of BenchmarkTools.jl: `[{"Julia": …, "BenchmarkTools": …}, [["Trial", {…}], …]]`, with groups in groups. A
//! trial is of one process: one launch.

use std::fmt;
use std::num::NonZeroU64;

use anyhow::Result;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use crate::convert::json::{self, NotNegative, Positive};
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, LaunchInfo, MetaValue, NOTE_ONE_PROCESS, NOTE_ORDER, ResultUnit, Results,
};

/// Name of the extra for the time of the garbage collector.
const GC: &str = "gc";

#[derive(Deserialize)]
struct BenchmarkToolsDocument(ToolVersions, Vec<TrialNode>);

#[derive(Deserialize)]
struct ToolVersions {
    #[serde(rename = "Julia")]
    julia: String,
    #[serde(rename = "BenchmarkTools")]
    tools: Value,
}

/// A pair of the type's name and its fields.
enum TrialNode {
    Trial(Box<Trial>),
    Group(TrialGroup),
    Other(String),
}

#[derive(Deserialize)]
struct TrialGroup {
    data: serde_json::Map<String, Value>,
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

/// `["BenchmarkTools.TrialParameters", {…}]`.
#[derive(Deserialize)]
struct TrialParameters(#[expect(dead_code, reason = "the type's name")] String, ParameterFields);

#[derive(Deserialize)]
struct ParameterFields {
    evals: NonZeroU64,
}

impl<'de> Deserialize<'de> for TrialNode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(TrialNodeVisitor)
    }
}

struct TrialNodeVisitor;

impl<'de> Visitor<'de> for TrialNodeVisitor {
    type Value = TrialNode;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a pair of a type and its fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<TrialNode, A::Error> {
        let kind: String =
            pair.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let is_missing = || de::Error::invalid_length(1, &self);
        let node = match kind.rsplit('.').next().unwrap_or(&kind) {
            "Trial" => TrialNode::Trial(pair.next_element()?.ok_or_else(is_missing)?),
            "BenchmarkGroup" => TrialNode::Group(pair.next_element()?.ok_or_else(is_missing)?),
            _ => {
                pair.next_element::<IgnoredAny>()?.ok_or_else(is_missing)?;
                TrialNode::Other(kind)
            }
        };
        if pair.next_element::<IgnoredAny>()?.is_some() {
            return Err(de::Error::invalid_length(3, &self));
        }
        Ok(node)
    }
}

/// Reads a file.
///
/// # Errors
/// The file does not match the format; the message has the place.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let BenchmarkToolsDocument(versions, nodes) = json::read(files[0].bytes)?;
    let tools = json::text(&versions.tools);
    let mut results = Results { tool: format!("BenchmarkTools.jl {tools}"), ..Results::default() };
    results.metadata.insert("julia_version".into(), versions.julia.as_str().into());
    let (n_nodes, file) = (nodes.len(), files[0].name());
    for (index, node) in nodes.into_iter().enumerate() {
        let name = match &node {
            TrialNode::Group(_) if n_nodes == 1 => String::new(),
            _ if n_nodes == 1 => file.to_owned(),
            _ => format!("{file}[{index}]"),
        };
        add(&mut results, &name, node)?;
    }
    results.note(NOTE_ONE_PROCESS);
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

fn add(results: &mut Results, name: &str, node: TrialNode) -> Result<()> {
    match node {
        TrialNode::Trial(trial) => {
            if trial.times.is_empty() {
                anyhow::bail!("{name}: times: there is none");
            }
            results.benchmarks.push(benchmark(name, &trial));
        }
        TrialNode::Group(group) => {
            for (key, value) in group.data {
                let name = if name.is_empty() { key } else { format!("{name}/{key}") };
                let node = TrialNode::deserialize(value)
                    .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
                add(results, &name, node)?;
            }
        }
        TrialNode::Other(kind) => {
            results.note(format!("{name} is a {kind}, not a Trial: it has no times"))
        }
    }
    Ok(())
}

fn benchmark(name: &str, trial: &Trial) -> BenchmarkValues {
    let mut found = BenchmarkValues::new(name, ResultUnit::Time);
    for (index, time) in trial.times.iter().enumerate() {
        found.values.push(time.0);
        if let Some(gc) = trial.gctimes.get(index) {
            found.push_extra(GC, &ResultUnit::Time, gc.0);
        }
    }
    for (key, value) in [("memory_bytes", trial.memory), ("allocs", trial.allocs)] {
        if let Some(value) = value {
            found.metadata.insert(key.into(), MetaValue::Int(value.cast_signed()));
        }
    }
    found.end_launch(LaunchInfo { loops: Some(trial.params.1.evals), ..LaunchInfo::default() });
    found
}
