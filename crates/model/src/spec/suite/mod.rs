//! A suite file in TOML: variants and benchmarks. docs/suites.md describes it; `stillwell bench --suite-schema` prints
//! the JSON schema.

mod mistakes;
mod places;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::{Better, Clock, DecideOn, Estimand, Gc, Percent, TimeSpan};

pub(super) use mistakes::closest;
pub use mistakes::parse;
pub use places::{Flaw, Text};
use values::OneOrMany;
pub use values::{Scalar, SuiteItem};

/// A whole suite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Name of the suite [default: the name of the file].
    pub name: Option<String>,
    /// Most time for the whole suite, for example "5min" [default: 10s for each benchmark that compares, 3s for others].
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::TimeText>")]
    pub budget: Option<TimeSpan>,
    /// In how many percent of whole suites anything that is the same may be called different [default: 1].
    #[serde(default, deserialize_with = "values::alpha")]
    #[schemars(with = "Option<values::PercentText>")]
    pub alpha: Option<Percent>,
    /// How benchmarks are measured and judged that do not say otherwise.
    #[serde(default)]
    pub policy: Policy,
    /// The variants to compare; the first is the reference [default: one, which adds nothing].
    #[serde(default, rename = "variant")]
    pub variants: Vec<SuiteItem<Variant>>,
    /// The benchmarks.
    #[serde(default, rename = "benchmark")]
    pub benchmarks: Vec<SuiteItem<SuiteBenchmark>>,
}

/// One of the things that are compared, in every benchmark.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name.
    pub name: String,
    /// Put in front of each command and program, or where these have `{prefix}`; not of those that have `{python}`.
    pub prefix: Option<String>,
    /// The interpreter of statements, and what `{python}` in commands is [default: python3].
    pub python: Option<String>,
    /// Variables to set, for the build too; `{variant}`, `{prefix}` and `{python}` are filled in.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where to run; relative to the suite file, or to the checkout of `revision` [default: the suite file's directory].
    pub cwd: Option<String>,
    /// A revision of the git repository that `repository` is in, checked out in a worktree of its own.
    pub revision: Option<String>,
    /// The repository of `revision`, relative to the suite file [default: that of the suite file].
    pub repository: Option<String>,
    /// How it is built.
    pub build: Option<Build>,
}

/// How a variant is built, before anything is measured.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Executed by a shell in the checkout of `revision`, or in a copy of `source` for each build.
    pub command: String,
    /// "random" makes several builds, each with its object files linked in another order, and takes the next one in
    /// each block: what the order does is then in the error and not in the result.
    #[serde(default)]
    pub link_order: LinkOrder,
    /// How many builds with a random order [default: 8].
    pub builds: Option<u32>,
    /// The directory that is copied for each build where there is no `revision`, relative to the suite file [default:
    /// the suite file's directory].
    pub source: Option<String>,
}

/// In which order object files are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkOrder {
    /// As the build says.
    #[default]
    AsBuilt,
    /// Another one in each build.
    Random,
}

/// One benchmark, or one for each combination of `matrix`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Benchmark")]
pub struct SuiteBenchmark {
    /// What to call it. `{parameter}` is replaced; parameters that are not in it are added in brackets. Of a `program`,
    /// what its benchmarks' names begin with.
    pub name: Option<String>,
    /// A command line to time.
    pub command: Option<String>,
    /// A Python statement to time in each variant's interpreter.
    pub statement: Option<String>,
    /// A program that speaks the worker protocol; each of its benchmarks is one of the suite.
    pub program: Option<String>,
    /// Of a `program`: only these of its benchmarks.
    #[serde(default)]
    pub only: Vec<String>,
    /// Words to select it by (`--tag`).
    #[serde(default)]
    pub tags: Vec<String>,
    /// The variants that it is measured with [default: all].
    pub variants: Option<Vec<String>>,
    /// Parameters and their values: one benchmark for each combination, with `{parameter}` replaced everywhere. Numbers are as
    /// they are written.
    #[serde(default)]
    pub matrix: BTreeMap<String, Vec<SuiteItem<Scalar>>>,
    /// Combinations to leave out: those that have all of the values of one of these.
    #[serde(default)]
    pub exclude: Vec<BTreeMap<String, Scalar>>,
    /// Of a statement: code before the loops of each slice, not timed.
    #[serde(default)]
    pub code_setup: OneOrMany,
    /// Of a statement: code after them, not timed.
    #[serde(default)]
    pub code_teardown: OneOrMany,
    /// Of a statement: how often it repeats itself inside [default: 1].
    pub inner_loops: Option<u64>,
    /// Of a statement: how often it stands in one loop [default: 1].
    pub duplicate: Option<u32>,
    /// Of a command: whether a shell executes it [default: only if one of its variants needs one].
    pub shell: Option<bool>,
    /// Of a command: executed once before everything else of this benchmark, by a shell.
    pub setup: Option<String>,
    /// Of a command: executed before each run.
    pub prepare: Option<String>,
    /// Of a command: executed after each run.
    pub conclude: Option<String>,
    /// Of a command: executed once after everything else of this benchmark.
    pub cleanup: Option<String>,
    /// Of a command: gets each run's standard output, and has to exit with 0.
    pub validate: Option<String>,
    /// Of a command: a file for its standard input, relative to the suite file; or "null", which is the default.
    pub input: Option<String>,
    /// Of a command: exit statuses that are right [default: 0].
    pub expect_exit: Option<Vec<i32>>,
    /// Of a command: the value of a run is what the first group of this expression matches in its standard output.
    pub value: Option<String>,
    /// Of a command: the value of a run is the number at this JSON Pointer in its standard output.
    pub value_json: Option<String>,
    /// Of a command: the file that has the value instead, relative to the directory in which it runs.
    pub value_file: Option<String>,
    /// Of a command: the unit of the value.
    pub value_unit: Option<String>,
    /// Of a command: which values are better, lower or higher [default: lower].
    pub value_better: Option<Better>,
    /// Variables to set, in every variant.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How it is measured and judged.
    #[serde(default)]
    pub policy: Policy,
}

/// How a benchmark is measured and judged.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Most time for this benchmark [default: four times its share of the suite's].
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::TimeText>")]
    pub budget: Option<TimeSpan>,
    /// Stop when the error falls below this many percent.
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::PercentText>")]
    pub precision: Option<Percent>,
    /// Differences below this many percent count as the same [default: 1].
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::PercentText>")]
    pub same: Option<Percent>,
    /// The estimand [default: adaptive].
    pub estimand: Option<Estimand>,
    /// The time that is compared: clean, wall or cpu [default: clean].
    pub clock: Option<Clock>,
    /// What is compared instead of a time: user, sys, maxrss, faults, switches, instructions, cycles or value; of a statement
    /// or program only maxrss.
    pub decide_on: Option<DecideOn>,
    /// Fewest blocks.
    pub min_blocks: Option<u32>,
    /// Most blocks.
    pub max_blocks: Option<u32>,
    /// Of a command: warm-up runs of each variant at the beginning of each visit, which are left out [default: 1]. Of a
    /// statement or program: slices at the beginning of each process that are left out [default: found out].
    pub warmup: Option<u32>,
    /// Most time for one run, or one answer of a worker.
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::TimeText>")]
    pub timeout: Option<TimeSpan>,
    /// Of a statement or program: how long a slice should take [default: 1ms].
    #[serde(default, deserialize_with = "values::text")]
    #[schemars(with = "Option<values::TimeText>")]
    pub min_time: Option<TimeSpan>,
    /// Of a statement or program: garbage collection while it is timed.
    pub gc: Option<Gc>,
}

impl Policy {
    /// Merges two policies; the values of `self` win.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            budget: self.budget.or(other.budget),
            precision: self.precision.or(other.precision),
            same: self.same.or(other.same),
            estimand: self.estimand.or(other.estimand),
            clock: self.clock.or(other.clock),
            decide_on: self.decide_on.or(other.decide_on),
            min_blocks: self.min_blocks.or(other.min_blocks),
            max_blocks: self.max_blocks.or(other.max_blocks),
            warmup: self.warmup.or(other.warmup),
            timeout: self.timeout.or(other.timeout),
            min_time: self.min_time.or(other.min_time),
            gc: self.gc.or(other.gc),
        }
    }
}
