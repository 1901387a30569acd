//! Sessions of workers: statements in interpreters, and benchmarks of programs.

mod statements;

use std::collections::HashSet;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::plan::arms::Arms;
use crate::plan::decide::{BUDGET_ONE_NS, BUDGET_SEVERAL_NS, decide};
use crate::plan::surroundings::Surroundings;
use crate::plan::terms::Terms;
use crate::plan::workers::{Workers, run_spec};
use crate::plan::{Arm, BlockRule, CountedIterations, Plan, Role, ShellReason, ValueRule};
use host::Facts;
use model::harness::{
    Harness, command_of_all, countable, counted_ns, counting_environment, process_iterations,
    with_exact_iterations, works_on_times,
};
use model::prose::prose;
use model::spec::RunSpec;
use model::spec::groups::JudgementOptions;
use model::spec::workers::{Affinity, BenchSpec, SessionOptions, WorkerOptions};
use model::values::{
    Cpus, DecideOn, Estimand, Headline, MetricChoice, ProcessValue, parse_cpu_list,
};

pub use statements::{PYTHON, statements};

/// A slice of a millisecond often falls between other programs' turns on the CPU, of some 3 ms each. Reading the clock
/// takes a thousandth of the slice (docs/methodology.md, "Slices").
const SLICE_NS: u64 = 1_000_000;
/// The factor of --rigorous and --fast on the session's time.
pub(super) const LONGER: u64 = 3;
const COUNTED_MAX: u64 = 10_000_000;
/// Longest time of the iterations of a process whose system calls are listed. A list takes 100 bytes for each.
const LISTED_NS: f64 = 300e6;
/// Fewest processes for ending a session, however precise t0 is.
const PROCESSES_MIN: u32 = 24;

#[derive(Clone, Debug, PartialEq)]
pub struct ProgramBenchmark {
    pub name: String,
    /// Repetitions in one loop.
    pub inner_loops: u64,
    pub has_own_timer: bool,
    /// The framework; `None` for a program that speaks the worker protocol.
    pub harness: Option<Harness>,
    /// Time of an iteration, if the framework's list has it.
    pub iteration_ns: Option<f64>,
    /// Benchmarks that each process executes in its place, to count them as one; empty for a single one.
    pub together: Vec<String>,
}

/// Decides the plan of programs; `found` has the benchmarks of each. Errors: see [`crate::plan::decide_session`]; or no
/// program has a benchmark that the user wants.
pub fn decide_bench(
    spec: &BenchSpec,
    programs: &[Arm],
    found: &[Vec<ProgramBenchmark>],
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let (mut arms, mut n_of_harnesses) = (Vec::new(), 0);
    let judgement = &spec.session.judgement;
    for name in names(&spec.benchmark, found)? {
        // All programs get the same number of samples, so their lowest ones are comparable.
        let of_all = found.iter().flatten().filter(|listed| listed.name == name);
        let iteration_ns = of_all.filter_map(|it| it.iteration_ns).max_by(f64::total_cmp);
        for (program, listed) in programs.iter().zip(found) {
            let Some(listed) = listed.iter().find(|listed| listed.name == name) else { continue };
            let benchmark = Some(name.clone());
            let &ProgramBenchmark { inner_loops, has_own_timer, harness, ref together, .. } =
                listed;
            n_of_harnesses += usize::from(harness.is_some());
            let arm = Arm { benchmark, inner_loops, has_own_timer, ..program.clone() };
            let is_counted = judgement.decide_on == Some(DecideOn::Instructions);
            arms.push(match harness {
                Some(harness) if is_counted => counted_arm(&arm, harness, iteration_ns, together)?,
                Some(harness) => harness_arm(&arm, harness, iteration_ns, judgement.estimand),
                None => arm,
            });
        }
    }
    if n_of_harnesses == 0 {
        return decide_workers(arms, &spec.session, terms, surroundings);
    }
    ensure!(
        n_of_harnesses == arms.len(),
        "some programs are of a benchmark framework and others speak the worker protocol; compare them apart"
    );
    decide_harnesses(arms, &spec.session, terms, surroundings)
}

/// The arm that runs one benchmark of a framework's program in each process.
fn harness_arm(
    program: &Arm,
    harness: Harness,
    iteration_ns: Option<f64>,
    estimand: Option<Estimand>,
) -> Arm {
    let benchmark = program.benchmark.as_deref().unwrap_or_default();
    // Unlike the slices of a worker, a framework's samples have no clean time.
    let value = match estimand {
        Some(Estimand::Mean) => ProcessValue::Mean,
        _ => ProcessValue::Low,
    };
    Arm {
        argv: harness.command(&program.argv, benchmark, iteration_ns),
        value: Some(ValueRule::for_harness(harness, benchmark, value)),
        accept: Some(vec![0]),
        has_own_timer: true,
        environment: with_variables(&program.environment, harness.environment()),
        ..program.clone()
    }
}

fn with_variables(own: &[(String, String)], more: &[(&str, &str)]) -> Vec<(String, String)> {
    let more = more.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    own.iter().cloned().chain(more).collect()
}

/// The arm that counts the instructions of a number of iterations. A second process has fewer. Errors: the
/// framework has no option for a number of iterations.
fn counted_arm(
    program: &Arm,
    harness: Harness,
    iteration_ns: Option<f64>,
    together: &[String],
) -> Result<Arm> {
    let benchmark = program.benchmark.as_deref().unwrap_or_default();
    let timed = harness_arm(program, harness, iteration_ns, None);
    let counted_ns = counted_ns(harness, !together.is_empty());
    let n = iteration_ns.map_or(1, |ns| (counted_ns / ns.max(1e-3)) as u64);
    let n = countable(harness, n.clamp(1, COUNTED_MAX));
    let words = |n: u64| {
        let command = command_of_all(harness, &program.argv, together);
        let words = with_exact_iterations(harness, command.as_ref().unwrap_or(&timed.argv), n);
        let named = format!("{benchmark} ({})", harness.name());
        words.map_err(|why| anyhow!(prose![DecideOn " instructions: {named}: {why}"]))
    };
    let [fewer, more] = process_iterations(harness, n);
    let (argv, half) = (words(more)?, words(fewer)?);
    let counted = CountedIterations {
        n,
        n_together: together.len().max(1) as u64,
        half,
        has_stepped_clock: works_on_times(harness),
        lists_calls: iteration_ns.is_some_and(|ns| more as f64 * ns <= LISTED_NS),
        harness: Some(harness),
    };
    let counted = Some(counted);
    let environment = with_variables(&timed.environment, counting_environment(harness));
    Ok(Arm { argv, counted, environment, value: None, ..timed })
}

/// Decides the plan of frameworks' programs: each run is a process of one benchmark and prints its value.
fn decide_harnesses(
    arms: Vec<Arm>,
    session: &SessionOptions,
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let SessionOptions { workers: options, judgement, .. } = session;
    let of_workers = options.loops.is_some()
        || options.values.is_some()
        || options.min_time.is_some()
        || options.delta
        || options.tracemalloc
        || options.subtract_loop;
    ensure!(
        !of_workers,
        "--loops, --values, --min-time, --delta, --tracemalloc and --subtract-loop are for programs that speak the \
         worker protocol; these programs choose their loops themselves"
    );
    let mut judgement = judgement.clone();
    if options.track_memory {
        judgement.decide_on = judgement.decide_on.or(Some(DecideOn::Maxrss));
    }
    let affinity = options.machine.chosen_cpus().cloned();
    let mut spec = run_spec(options, &judgement, affinity);
    // Each process warms itself up, and listing has shown that the programs work.
    spec.length.warmup = Some(options.warmups.unwrap_or(0));
    decide_benchmarks(arms, &spec, options, terms, surroundings)
}

/// Decides the plan of the arms of several benchmarks. Each benchmark has the usual time, unless the user limits the session.
fn decide_benchmarks(
    mut arms: Vec<Arm>,
    spec: &RunSpec,
    options: &WorkerOptions,
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let n_benchmarks = arms.iter().map(|arm| &arm.benchmark).collect::<HashSet<_>>().len();
    if spec.judgement.aa {
        arms.push(Arm { role: Role::Twin, ..arms[0].clone() });
    }
    let compares = arms.len() > n_benchmarks;
    let arms = Arms { arms, control: None, shell: None, shell_reason: ShellReason::NotNeeded };
    let mut plan = decide(spec, arms, terms, surroundings)?;
    if let BlockRule::Budget { budget_ns, .. } = &mut plan.blocks
        && options.stop.budget.is_none()
    {
        let usual_ns = if compares { BUDGET_SEVERAL_NS } else { BUDGET_ONE_NS };
        *budget_ns = usual_ns * n_benchmarks as u64;
        *budget_ns = if options.rigorous { *budget_ns * LONGER } else { *budget_ns };
        *budget_ns = if options.fast { *budget_ns / LONGER } else { *budget_ns };
    }
    Ok(plan)
}

/// The programs on the command line of `bench`, without their benchmarks. A repeated label gets a
/// number. Errors: a command cannot be split into words, or there are too many names.
pub fn programs(spec: &BenchSpec) -> Result<Vec<Arm>> {
    if spec.fork_server.is_some() {
        let forks = spec.arm_name.iter().map(|name| Arm::bare(name, Role::Candidate));
        return Ok(forks.collect());
    }
    let n_commands = spec.commands.len();
    let names = &spec.arm_name;
    ensure!(
        names.len() <= n_commands,
        "--command-name is given {} times for {n_commands} programs",
        names.len()
    );
    let mut programs: Vec<Arm> = Vec::with_capacity(n_commands);
    for (index, command) in spec.commands.iter().enumerate() {
        let argv = shell_words::split(command)
            .with_context(|| format!("program {} ({command:?})", index + 1))?;
        ensure!(!argv.is_empty(), "program {} is empty", index + 1);
        let label = names.get(index).unwrap_or(command);
        let numbered = (2..).map(|number| format!("{label} ({number})"));
        let is_free = |label: &String| programs.iter().all(|it| it.label() != label);
        let label = std::iter::once(label.clone()).chain(numbered).find(is_free);
        let name = label.filter(|label| label != command);
        programs.push(Arm { name, argv, ..Arm::bare(command, Role::Candidate) });
    }
    Ok(programs)
}

/// The benchmarks that the user wants, or all, without repetitions, in the order of the programs. Errors: no benchmark
/// exists, or none that the user wants.
pub fn names(asked: &[String], benchmarks: &[Vec<ProgramBenchmark>]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for listed in benchmarks.iter().flatten() {
        if !names.contains(&listed.name) {
            names.push(listed.name.clone());
        }
    }
    if let Some(missing) = asked.iter().find(|asked| !names.contains(asked)) {
        bail!("no program has a benchmark {missing:?}; they have {}", names.join(", "));
    }
    ensure!(!names.is_empty(), "the programs have no benchmark");
    names.retain(|name| asked.is_empty() || asked.contains(name));
    Ok(names)
}

/// Decides the plan of workers, such as those of `timeit`. Errors: see [`crate::plan::decide_session`].
pub fn decide_workers(
    mut arms: Vec<Arm>,
    session: &SessionOptions,
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let SessionOptions { workers: options, judgement, .. } = session;
    let (judgement, options) = with_worker_quantity(judgement, options)?;
    let options = &options;
    let headline = options.headline(judgement.clock);
    ensure!(
        judgement.clock.is_none() || headline.unit().is_time(),
        "--decide-on does not go with --track-memory or --tracemalloc, which decide too"
    );
    ensure!(
        !options.delta || headline.unit().is_time(),
        "--delta is about times; it does not go with --track-memory or --tracemalloc"
    );
    ensure!(
        headline != Headline::Cpu || !arms.iter().any(|arm| arm.has_own_timer),
        "--decide-on cpu: a benchmark times itself, so its CPU time is not known"
    );
    arms.iter_mut().for_each(|arm| arm.unit = headline.unit());
    let spec = run_spec(options, &judgement, affinity(options, &surroundings.facts));
    let mut plan = decide_benchmarks(arms, &spec, options, terms, surroundings)?;
    if let Some(precision) = &mut plan.precision {
        // t0 belongs to the luckiest memory layout, which a few processes may all miss.
        precision.n_blocks_min = precision.n_blocks_min.max(PROCESSES_MIN);
    }
    if options.rigorous {
        // Use all of the time.
        plan.precision = plan.precision.filter(|_| options.stop.precision.is_some());
    }
    plan.metrics =
        ["wall", "maxrss"].map(|name| MetricChoice { name: name.into(), unit: None }).to_vec();
    plan.in_slices = true;
    plan.workers = Some(workers(options, headline));
    Ok(plan)
}

/// The options with the deciding quantity of a worker: a clock, or its memory.
fn with_worker_quantity(
    judgement: &JudgementOptions,
    options: &WorkerOptions,
) -> Result<(JudgementOptions, WorkerOptions)> {
    let (mut judgement, mut options) = (judgement.clone(), options.clone());
    if let Some(decide_on) = judgement.decide_on.take() {
        options.track_memory |= decide_on == DecideOn::Maxrss;
        judgement.clock = decide_on.clock();
        ensure!(
            judgement.clock.is_some() || decide_on == DecideOn::Maxrss,
            prose![
                DecideOn " " (decide_on.name())
                ": it is not counted for a loop of a worker; choose clean, wall, cpu or maxrss"
            ]
        );
    }
    Ok((judgement, options))
}

fn workers(options: &WorkerOptions, headline: Headline) -> Workers {
    let single = options.debug_single_value.then_some(1);
    Workers {
        slice_ns: options.min_time.map_or(SLICE_NS, |time| time.ns.max(1)),
        is_slice_named: options.min_time.is_some(),
        loops: options.loops.or(single.map(u64::from)),
        n_slices: options.values.or(single),
        n_warmup_slices: options.warmups.or(single.map(|_| 0)),
        gc: options.gc.unwrap_or_default(),
        delta: options.delta,
        subtract_empty_loop: options.subtract_loop,
        headline,
        inherit: options.inherit_environ.clone(),
    }
}

/// One CPU for all workers, which take turns: the same for all, and no time includes a migration. An isolated CPU if
/// there is one, otherwise the last, because the first serves most interrupts.
pub fn affinity(options: &WorkerOptions, facts: &Facts) -> Option<Cpus> {
    match &options.machine.affinity {
        Some(Affinity::All) => return None,
        Some(Affinity::Cpus(cpus)) => return Some(cpus.clone()),
        None => {}
    }
    let last = |list: &Option<String>| -> Option<usize> {
        parse_cpu_list(list.as_deref()?).ok()?.last().copied()
    };
    let cpu = last(&facts.isolated_cpus).or_else(|| last(&facts.cpus_allowed));
    cpu.map(|cpu| Cpus(vec![cpu]))
}

#[cfg(test)]
mod tests;
