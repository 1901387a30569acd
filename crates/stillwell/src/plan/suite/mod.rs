//! A suite file, and what was said on the command line → one plan for each benchmark.
//!
//! Between the two a program has to be asked what benchmarks it has, so there are two stages: [`Candidate`]s, which are
//! all that can be known from the file, and [`Suite`], with which measuring can begin.

mod candidates;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use stats::Stream;

use crate::host::Facts;
use crate::plan::decide::{
    BUDGET_ONE_NS, BUDGET_SEVERAL_NS, check_online, decide, fewest_blocks, limits,
};
use crate::plan::programs::{LONGER, Listed, decide_bench, decide_workers, names};
use crate::plan::{Arm, BlockRule, Plan};
use crate::spec::RunSpec;
use crate::spec::suite::{Policy, SuiteFile, Text, Wrong};
use crate::spec::workers::{Affinity, BenchSpec, SessionOptions};
use crate::values::{Cpus, ExitStatuses, IgnoreFailure, Shell};

pub use candidates::{Built, Candidate, Kind, candidates, environment_of};

/// A benchmark may take so many times its share of the suite's time: what the others leave over.
const SHARE_MAX: u64 = 4;
/// Each benchmark has its own stream of random choices: a number from this many.
const SEEDS: u64 = 1 << 32;
/// Separates the stream of the first builds from those of the benchmarks.
const BUILD_STREAM: u64 = 0x51c7_09e3_a4d8_6f1b;

/// A whole suite, decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suite {
    /// What it is called.
    pub name: String,
    /// Time for all benchmarks together, ns.
    pub budget_ns: u64,
    /// Seed of the order in which benchmarks are visited.
    pub seed: u64,
    /// Its benchmarks, in the order of the file.
    pub members: Vec<Member>,
}

/// One benchmark of a suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    /// What it is called; no two have the same name.
    pub name: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// What will be done.
    pub plan: Plan,
}

/// What a benchmark has to do with the others of its suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InSuite {
    /// What the suite is called.
    pub name: String,
    /// What the benchmark is called there.
    pub benchmark: String,
    /// Comparisons of the whole suite, which are judged together.
    pub family: usize,
}

/// Whether a benchmark is asked for.
pub fn is_selected(name: &str, tags: &[String], said: &BenchSpec) -> bool {
    let (only, options) = (&said.benchmark, &said.suite);
    (only.is_empty() || only.iter().any(|only| only == name))
        && (options.filter.is_empty() || options.filter.iter().any(|text| name.contains(&**text)))
        && (options.tag.is_empty() || options.tag.iter().any(|tag| tags.contains(tag)))
}

/// Decides everything. `listed` are the benchmarks of each candidate's programs, in the order of its arms; empty for
/// other kinds.
///
/// # Errors
/// Nothing is selected, two benchmarks have one name, or something contradicts itself or this machine.
pub fn decide_suite(
    (text, file): (Text<'_>, &SuiteFile),
    candidates: &[Candidate],
    listed: &[Vec<Vec<Listed>>],
    said: &BenchSpec,
    (facts, drawn_seed): (&Facts, u64),
) -> Result<Suite> {
    let seed = said.session.workers.seed.unwrap_or(drawn_seed);
    // Not a mistake of the file, so no benchmark is named.
    if let Some(Affinity::Cpus(Cpus(cpus))) = &said.session.workers.affinity {
        check_online(cpus, facts)?;
    }
    let mut members: Vec<Member> = Vec::new();
    let mut policies = Vec::new();
    let mut known = HashSet::new();
    for (candidate, listed) in candidates.iter().zip(listed) {
        let decider = Decider { candidate, said, facts };
        let wrong = |wrong| text.wrong(Some(&candidate.place), wrong);
        let decided = decider.decide(listed, seed).map_err(|error| {
            let what = format!("the benchmark {:?}: {error:#}", candidate.name);
            match error.downcast_ref::<shell_words::ParseError>() {
                Some(_) => wrong(Wrong::value(&[candidate.key()], what)),
                None => wrong(Wrong::whole(what)),
            }
        })?;
        for (name, plan) in decided {
            ensure!(
                known.insert(name.clone()),
                wrong(Wrong::value(&["name"], format!("two benchmarks are called {name:?}")))
            );
            if is_selected(&name, &candidate.tags, said) {
                policies.push(&candidate.policy);
            }
            members.push(Member { name, tags: candidate.tags.clone(), plan });
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
        is_compared || said.session.judging.fail_on.is_none(),
        "--fail-on needs something to compare, but each benchmark has only one variant"
    );
    let budget_ns = share_out(&mut members, &policies, file, said);
    let name = file.name.clone().unwrap_or_default();
    Ok(Suite { name, budget_ns, seed, members })
}

/// Blocks take the builds of a variant in turns, and the first block any of them: of a few blocks, often repeated, those after the
/// first ones would have none.
fn begin_anywhere(plan: &mut Plan) {
    let mut stream = Stream::new(plan.seed ^ BUILD_STREAM);
    for arm in plan.arms.iter_mut().filter(|arm| arm.directories.len() > 1) {
        let first = stream.below(arm.directories.len() as u64);
        arm.directories.rotate_left(first as usize);
    }
}

/// Gives every benchmark, by its policy, its part of the time and of alpha. Returns all of the time.
fn share_out(
    members: &mut [Member],
    policies: &[&Policy],
    file: &SuiteFile,
    said: &BenchSpec,
) -> u64 {
    let workers = &said.session.workers;
    let family: usize = members.iter().map(|member| member.plan.compared().len()).sum();
    let usual = |member: &Member| {
        let is_lone = member.plan.compared().is_empty();
        if is_lone { BUDGET_ONE_NS } else { BUDGET_SEVERAL_NS }
    };
    let asked = workers.budget.or(file.budget).map(|budget| budget.ns);
    let mut budget_ns = asked.unwrap_or_else(|| members.iter().map(usual).sum());
    budget_ns = if workers.rigorous { budget_ns * LONGER } else { budget_ns };
    budget_ns = if workers.fast { budget_ns / LONGER } else { budget_ns };
    let most_ns = budget_ns.min(SHARE_MAX * budget_ns / members.len() as u64);
    let name = file.name.as_deref().unwrap_or_default();
    for (member, policy) in members.iter_mut().zip(policies) {
        let plan = &mut member.plan;
        plan.suite = Some(InSuite { name: name.into(), benchmark: member.name.clone(), family });
        let alpha = plan.policy.alpha;
        let is_compared = !plan.compared().is_empty();
        if let BlockRule::Budget { budget_ns, min, max } = &mut plan.blocks {
            *budget_ns = policy.budget.map_or(most_ns, |budget| budget.ns);
            let fewest = if is_compared { fewest_blocks(family, alpha) } else { *min };
            let usual = (fewest, (*max).max(fewest));
            (*min, *max) = limits((policy.min_blocks, policy.max_blocks), usual);
        }
    }
    budget_ns
}

/// One candidate → plans.
struct Decider<'a> {
    candidate: &'a Candidate,
    said: &'a BenchSpec,
    facts: &'a Facts,
}

impl Decider<'_> {
    fn decide(&self, listed: &[Vec<Listed>], seed: u64) -> Result<Vec<(String, Plan)>> {
        let candidate = self.candidate;
        let plans = match &candidate.kind {
            Kind::Commands { commands, benchmark } => {
                let spec = self.command_spec(commands, benchmark)?;
                let plan = decide(&spec, self.facts, seed)?;
                vec![(candidate.name.clone(), plan)]
            }
            Kind::Statements(arms) => {
                let plan = decide_workers(arms.clone(), &self.session(), self.facts, seed)?;
                vec![(candidate.name.clone(), plan)]
            }
            Kind::Programs { arms, only } => {
                let found = names(only, listed)?.into_iter();
                found
                    .map(|name| self.of_program(arms, listed, name, seed))
                    .collect::<Result<_>>()?
            }
        };
        Ok(plans.into_iter().map(|(name, plan)| (name.clone(), self.finish(&name, plan))).collect())
    }

    fn of_program(
        &self,
        arms: &[Arm],
        listed: &[Vec<Listed>],
        inner: String,
        seed: u64,
    ) -> Result<(String, Plan)> {
        let name = self.candidate.inner_name(&inner);
        let spec =
            BenchSpec { benchmark: vec![inner], session: self.session(), ..BenchSpec::default() };
        Ok((name, decide_bench(&spec, arms, listed, self.facts, seed)?))
    }

    /// What commands, statements and programs have in common, and no kind decides itself.
    fn finish(&self, name: &str, mut plan: Plan) -> Plan {
        for arm in &mut plan.arms {
            // A program's benchmark keeps the name by which the program knows it.
            arm.benchmark.get_or_insert_with(|| name.to_owned());
            let mut variants = self.candidate.variants.iter();
            let variant = variants.find(|variant| arm.name.as_ref() == Some(&variant.name));
            if let Some(variant) = variant.filter(|_| !arm.role.is_control()) {
                arm.directories.clone_from(&variant.directories);
                arm.git.clone_from(&variant.git);
                arm.environment.clone_from(&variant.environment);
            }
        }
        plan
    }

    fn policy(&self) -> Policy {
        let workers = &self.said.session.workers;
        let judging = &self.said.session.judging;
        let said = Policy {
            warmup: workers.warmups,
            precision: workers.precision,
            same: judging.same,
            estimand: judging.estimand,
            timeout: workers.timeout,
            min_time: workers.min_time,
            gc: workers.gc,
            ..Policy::default()
        };
        said.or(&self.candidate.policy)
    }

    /// The options of workers, with what the file says where the command line says nothing.
    fn session(&self) -> SessionOptions {
        let policy = self.policy();
        let mut session = self.said.session.clone();
        let workers = &mut session.workers;
        workers.budget = None;
        (workers.rigorous, workers.fast) = (false, false);
        workers.warmups = policy.warmup;
        workers.precision = policy.precision;
        workers.timeout = policy.timeout;
        workers.min_time = policy.min_time;
        workers.gc = policy.gc;
        session.judging.same = policy.same;
        session.judging.estimand = policy.estimand;
        session.judging.alpha = session.judging.alpha.or(self.candidate.alpha);
        if self.candidate.variants.len() < 2 {
            session.judging.fail_on = None;
        }
        session
    }

    fn command_spec(
        &self,
        commands: &[String],
        benchmark: &candidates::CommandOptions,
    ) -> Result<RunSpec> {
        let SessionOptions { workers, judging, output, .. } = self.session();
        let policy = self.policy();
        let mut spec =
            RunSpec { commands: commands.to_vec(), judging, output, ..RunSpec::default() };
        let variants = &self.candidate.variants;
        spec.arms.command_names = variants.iter().map(|variant| variant.name.clone()).collect();
        spec.arms.shell = benchmark.shell.map(|in_shell| match in_shell {
            true => Shell::Words(vec!["sh".into()]),
            false => Shell::None,
        });
        spec.length.runs = workers.processes.or(workers.debug_single_value.then_some(1));
        if spec.length.runs.is_none() {
            spec.length.min_runs = policy.min_blocks;
            spec.length.max_runs = policy.max_blocks;
        }
        spec.length.warmup = policy.warmup;
        spec.length.precision = policy.precision;
        spec.length.timeout = policy.timeout;
        spec.hooks.setup.clone_from(&benchmark.setup);
        spec.hooks.prepare.clone_from(&benchmark.prepare);
        spec.hooks.conclude.clone_from(&benchmark.conclude);
        spec.hooks.cleanup.clone_from(&benchmark.cleanup);
        spec.hooks.validate.clone_from(&benchmark.validate);
        spec.process.affinity = match workers.affinity {
            Some(Affinity::Cpus(Cpus(cpus))) => Some(Cpus(cpus)),
            Some(Affinity::All) | None => None,
        };
        spec.process.nice = workers.nice;
        spec.process.sched = workers.sched;
        spec.process.no_aslr = workers.no_aslr;
        spec.process.env_padding = workers.env_padding;
        spec.process.input.clone_from(&benchmark.input);
        spec.process.expect_exit = benchmark.expect_exit.clone().map(ExitStatuses);
        spec.process.ignore_failure = None::<IgnoreFailure>;
        ensure!(!workers.delta, "--delta is for statements and programs, and this is a command");
        Ok(spec)
    }
}
