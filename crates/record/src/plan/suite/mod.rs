//! Makes one plan for each benchmark from a suite file and the command line.
//!
//! There are two stages, because only the programs know their benchmarks: [`Candidate`]s come from the file alone; a
//! [`Suite`] includes the programs' benchmarks.

mod candidates;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Stream;

use crate::plan::arms::arms;
use crate::plan::decide::{
    BUDGET_ONE_NS, BUDGET_SEVERAL_NS, check_online, decide, fewest_blocks, limits,
};
use crate::plan::programs::{LONGER, ProgramBenchmark, decide_bench, decide_workers, names};
use crate::plan::surroundings::Surroundings;
use crate::plan::terms::Terms;
use crate::plan::workers::run_spec;
use crate::plan::{Arm, BlockRule, Plan};
use model::prose::prose;
use model::spec::RunSpec;
use model::spec::run::{LengthOptions, ProcessOptions};
use model::spec::suite::{Flaw, Policy, SuiteFile, Text};
use model::spec::workers::{BenchSpec, SessionOptions};
use model::values::Cpus;
use model::words::in_prose;

pub use candidates::{
    BenchmarkKind, BenchmarkVariant, Candidate, VariantBuild, candidates, environment_of,
};

/// A benchmark may take this many times its share of the suite's time, if the others do not need it.
const SHARE_MAX: u64 = 4;
/// In a gate, suspects together get this fraction (one part in so many) of the time, and a benchmark may take as much.
pub const SUSPECT_PARTS: u64 = 2;
/// Range of the numbers that give each benchmark its own random stream.
const SEEDS: u64 = 1 << 32;
/// Separates the stream of first builds from the benchmarks' streams.
const BUILD_STREAM: u64 = 0x51c7_09e3_a4d8_6f1b;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suite {
    pub name: String,
    /// Time for all benchmarks together, ns.
    pub budget_ns: u64,
    /// Seed of the order of visits.
    pub seed: u64,
    pub members: Vec<SuiteMember>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteMember {
    /// Name of the benchmark, unique in the suite.
    pub name: String,
    /// Words to select the benchmark by.
    pub tags: Vec<String>,
    pub plan: Plan,
}

/// The suite that a benchmark belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteMembership {
    /// Name of the suite.
    pub name: String,
    /// Name of the benchmark there.
    pub benchmark: String,
    /// Comparisons of the whole suite, which are judged together.
    pub family: usize,
    /// Whether a gate made the suite: its user has other options, and no file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gate: bool,
    /// Whether benchmarks that may be slower get more time, so that a look may spend less. Earlier gates had no suspects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_suspects: bool,
}

/// Whether the command line selects a benchmark.
pub fn is_selected(name: &str, tags: &[String], said: &BenchSpec) -> bool {
    let (only, options) = (&said.benchmark, &said.suite);
    (only.is_empty() || only.iter().any(|only| only == name))
        && (options.filter.is_empty() || options.filter.iter().any(|text| name.contains(&**text)))
        && (options.tag.is_empty() || options.tag.iter().any(|tag| tags.contains(tag)))
}

/// Decides the whole suite. `listed` has the benchmarks of each candidate's programs, in the order of its arms; empty
/// for other kinds. Errors: no benchmark is selected, two benchmarks have one name, or a setting contradicts another
/// one or this machine.
pub fn decide_suite(
    text: Text<'_>,
    file: &SuiteFile,
    candidates: &[Candidate],
    listed: &[Vec<Vec<ProgramBenchmark>>],
    said: &BenchSpec,
    surroundings: &Surroundings,
) -> Result<Suite> {
    let seed = said.session.workers.seed.unwrap_or(surroundings.drawn_seed);
    let of_members = Surroundings::of(&surroundings.facts, seed);
    // The file is not at fault, so the message names no benchmark.
    if let Some(Cpus(cpus)) = said.session.workers.machine.chosen_cpus() {
        check_online(cpus, &surroundings.facts)?;
    }
    let mut members: Vec<SuiteMember> = Vec::new();
    let mut policies = Vec::new();
    let mut known = HashSet::new();
    for (candidate, listed) in candidates.iter().zip(listed) {
        let planner = BenchmarkPlanner { candidate, said, surroundings: &of_members };
        let wrong = |wrong| text.wrong(Some(&candidate.place), wrong);
        let decided = planner.decide(listed).map_err(|error| {
            let whose = match &*candidate.name {
                "" => "its benchmarks".into(),
                name => format!("the benchmark {name:?}"),
            };
            let what = prose![(whose + ": ")(in_prose(&error))];
            wrong(Flaw::value(candidate.key_of(&error).as_slice(), what))
        })?;
        for (name, plan) in decided {
            ensure!(
                known.insert(name.clone()),
                wrong(Flaw::value(&["name"], format!("two benchmarks are called {name:?}")))
            );
            if is_selected(&name, &candidate.tags, said) {
                policies.push(&candidate.policy);
            }
            members.push(SuiteMember { name, tags: candidate.tags.clone(), plan });
        }
    }
    for (index, member) in (0..).zip(&mut members) {
        member.plan.seed = Stream::new(seed).after(index).below(SEEDS);
        begin_anywhere(&mut member.plan);
    }
    members.retain(|member| is_selected(&member.name, &member.tags, said));
    if members.is_empty() {
        let (shown, known) = (text.path.display(), known.len());
        bail!("{shown}: none of the {known} benchmarks is asked for; `--list` shows them");
    }
    let is_compared = members.iter().any(|member| !member.plan.compared().is_empty());
    ensure!(
        is_compared || said.session.judgement.fail_on.is_none_or(|it| it.slower_pct.is_none()),
        "--fail-on slower needs something to compare, but no benchmark is in two variants"
    );
    let budget_ns = share_out(&mut members, &policies, file, said);
    place(&mut members, &said.session, surroundings)?;
    let name = file.name.clone().unwrap_or_default();
    Ok(Suite { name, budget_ns, seed, members })
}

/// Gives all benchmarks their priority and place, and one counter. No benchmark is at fault if that fails.
fn place(
    members: &mut [SuiteMember],
    options: &SessionOptions,
    surroundings: &Surroundings,
) -> Result<()> {
    let machine = &options.workers.machine;
    let mut plans: Vec<&mut Plan> = members.iter_mut().map(|it| &mut it.plan).collect();
    surroundings.count(plans.iter_mut().map(|plan| &mut **plan), options.judgement.counter)?;
    plans.into_iter().try_for_each(|plan| {
        surroundings.bind(&mut plan.process, &machine.priority);
        surroundings.place_process(&mut plan.process, &machine.placement)
    })
}

/// Starts each variant at a random build. Blocks use the builds in turns, so short sessions that always began with the
/// first would never reach the others.
fn begin_anywhere(plan: &mut Plan) {
    let mut stream = Stream::new(plan.seed ^ BUILD_STREAM);
    for arm in plan.arms.iter_mut().filter(|arm| arm.directories.len() > 1) {
        let first = stream.below(arm.directories.len() as u64);
        arm.directories.rotate_left(first as usize);
    }
}

/// Gives each benchmark its share of the time and of alpha by its policy. Returns the total time.
fn share_out(
    members: &mut [SuiteMember],
    policies: &[&Policy],
    file: &SuiteFile,
    said: &BenchSpec,
) -> u64 {
    let workers = &said.session.workers;
    let family: usize = members.iter().map(|member| member.plan.compared().len()).sum();
    let usual = |member: &SuiteMember| {
        let is_lone = member.plan.compared().is_empty();
        if is_lone { BUDGET_ONE_NS } else { BUDGET_SEVERAL_NS }
    };
    let asked = workers.stop.budget.or(file.budget).map(|budget| budget.ns);
    let mut budget_ns = asked.unwrap_or_else(|| members.iter().map(usual).sum());
    budget_ns = if workers.rigorous { budget_ns * LONGER } else { budget_ns };
    budget_ns = if workers.fast { budget_ns / LONGER } else { budget_ns };
    let (name, is_gate) = (file.name.as_deref().unwrap_or_default(), said.suite.is_gate);
    let share_max = if is_gate { members.len() as u64 / SUSPECT_PARTS } else { SHARE_MAX };
    let most_ns = budget_ns.min(share_max.max(1) * budget_ns / members.len() as u64);
    for (member, policy) in members.iter_mut().zip(policies) {
        let plan = &mut member.plan;
        let (name, benchmark) = (name.to_owned(), member.name.clone());
        plan.suite =
            Some(SuiteMembership { name, benchmark, family, is_gate, has_suspects: is_gate });
        let alpha = plan.policy.alpha;
        let is_compared = !plan.compared().is_empty();
        if let BlockRule::Budget { budget_ns, min, max, firm } = &mut plan.blocks {
            *budget_ns = policy.budget.map_or(most_ns, |budget| budget.ns);
            let fewest = if is_compared { fewest_blocks(family, alpha) } else { *min };
            let usual = (fewest, (*max).max(fewest));
            (*min, *max) = limits((policy.min_blocks, policy.max_blocks), usual);
            *firm = policy.min_blocks.unwrap_or(1);
        }
    }
    budget_ns
}

/// Makes the plans of a candidate.
struct BenchmarkPlanner<'a> {
    candidate: &'a Candidate,
    said: &'a BenchSpec,
    surroundings: &'a Surroundings,
}

impl BenchmarkPlanner<'_> {
    fn decide(&self, listed: &[Vec<ProgramBenchmark>]) -> Result<Vec<(String, Plan)>> {
        let (candidate, terms) = (self.candidate, Terms::default());
        let plans = match &candidate.kind {
            BenchmarkKind::Commands(spec) => {
                vec![(candidate.name.clone(), self.command_plan(spec)?)]
            }
            BenchmarkKind::Statements(arms) => {
                let plan =
                    decide_workers(arms.clone(), &self.session(), &terms, self.surroundings)?;
                vec![(candidate.name.clone(), plan)]
            }
            BenchmarkKind::Programs { arms, only } => {
                let found = names(only, listed)?.into_iter();
                found.map(|name| self.program_plan(arms, listed, name)).collect::<Result<_>>()?
            }
        };
        Ok(plans.into_iter().map(|(name, plan)| (name.clone(), self.finish(&name, plan))).collect())
    }

    fn program_plan(
        &self,
        programs: &[Arm],
        listed: &[Vec<ProgramBenchmark>],
        inner: String,
    ) -> Result<(String, Plan)> {
        let name = self.candidate.inner_name(&inner);
        let spec =
            BenchSpec { benchmark: vec![inner], session: self.session(), ..BenchSpec::default() };
        Ok((name, decide_bench(&spec, programs, listed, &Terms::default(), self.surroundings)?))
    }

    /// Fills in what all kinds have in common.
    fn finish(&self, name: &str, mut plan: Plan) -> Plan {
        for arm in &mut plan.arms {
            // A program's benchmark keeps the name that the program knows.
            arm.benchmark.get_or_insert_with(|| name.to_owned());
            let mut variants = self.candidate.variants.iter();
            let variant = variants.find(|variant| arm.name.as_ref() == Some(&variant.name));
            if let Some(variant) = variant.filter(|_| !arm.role.is_control()) {
                arm.directories.clone_from(&variant.directories);
                arm.git.clone_from(&variant.git);
                arm.is_revision = !self.said.revisions.revisions.is_empty();
                // A program's arm has them already, and its framework's own.
                let variables = variant.environment.iter();
                let missing = variables.filter(|(name, _)| !arm.sets(name)).cloned();
                arm.environment.extend(missing.collect::<Vec<_>>());
            }
        }
        plan
    }

    /// The options of workers. The command line overrides the file.
    fn session(&self) -> SessionOptions {
        let policy = &self.candidate.policy;
        let mut session = self.said.session.clone();
        let SessionOptions { workers, judgement, .. } = &mut session;
        workers.stop.budget = None;
        (workers.rigorous, workers.fast) = (false, false);
        workers.warmups = workers.warmups.or(policy.warmup);
        workers.stop.precision = workers.stop.precision.or(policy.precision);
        workers.timeout = workers.timeout.or(policy.timeout);
        workers.min_time = workers.min_time.or(policy.min_time);
        workers.gc = workers.gc.or(policy.gc);
        judgement.same = judgement.same.or(policy.same);
        judgement.estimand = judgement.estimand.or(policy.estimand);
        judgement.clock = judgement.clock.or(policy.clock);
        judgement.decide_on = judgement.decide_on.or(policy.decide_on);
        judgement.alpha = judgement.alpha.or(self.candidate.alpha);
        session
    }

    /// Commands are timed as a whole, so only some options of workers apply.
    fn command_plan(&self, spec: &RunSpec) -> Result<Plan> {
        let SessionOptions { workers, judgement, .. } = self.session();
        ensure!(!workers.delta, "--delta is for statements and programs, and this is a command");
        let policy = &self.candidate.policy;
        let affinity = workers.machine.chosen_cpus().cloned();
        let RunSpec { length, process, .. } = run_spec(&workers, &judgement, affinity);
        let spec = RunSpec {
            length: LengthOptions {
                warmup: workers.warmups,
                min_runs: policy.min_blocks.filter(|_| length.runs.is_none()),
                max_runs: policy.max_blocks.filter(|_| length.runs.is_none()),
                ..length
            },
            process: ProcessOptions { execution: spec.process.execution.clone(), ..process },
            judgement,
            ..spec.clone()
        };
        decide(&spec, arms(&spec)?, &Terms::default(), self.surroundings)
    }
}
