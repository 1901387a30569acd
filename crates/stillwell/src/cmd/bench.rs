//! `bench`: the benchmarks of programs that speak the worker protocol.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::cmd::conclusion::{Presentation, measure_and_show, opening};
use crate::cmd::exports::by_suffix;
use crate::cmd::frameworks::KnownPrograms;
use crate::cmd::unmeasured::Unmeasured;
use crate::cmd::{frameworks, pyperf, revisions, suites};
use crate::session::{
    Guard, Opening, Session, SessionEnd, instruction_counters, surroundings, told_gap,
};
use host::{Host, Survey, terminal, user_of_commands};
use measure::slices::{WorkerFactory, list_benchmarks};
use model::spec::BenchVerb;
use model::spec::workers::{BenchSpec, SessionOptions};
use model::values::{DecideOn, exit_code};
use model::words::in_words;
use record::plan::programs::{ProgramBenchmark, decide_bench, names, programs};
use record::plan::{Arm, Plan, Terms, across, require_comparison};
use render::failure::worker::explain as explain_worker;
use render::remedies::Audience;

/// The name of the benchmark that forked functions are variants of.
const FUNCTION: &str = "function";

/// Lists the benchmarks, measures them, then shows.
pub fn bench(verb: &BenchVerb) -> Result<u8> {
    let spec = &verb.spec;
    if suites::is_suite(spec) {
        return suites::bench(verb, &mut KnownPrograms::default());
    }
    suites::refuse_several(spec)?;
    let mut commands = across(programs(spec)?, &revisions::built(&spec.revisions)?);
    if spec.as_pyperf {
        pyperf::prepare(&mut commands)?;
    }
    let workers = &spec.session.workers;
    let maker =
        WorkerFactory::new(spec.fork_server, user_of_commands(workers.machine.rights.as_root))?;
    if spec.list {
        return measure(verb, &commands, maker, &mut Guard::bare(workers.machine.rights));
    }
    let mut guard = Guard::for_workers(&verb.host_root, workers)?;
    let code = measure(verb, &commands, maker, &mut guard);
    guard.restore(code)
}

fn measure(
    verb: &BenchVerb,
    commands: &[Arm],
    mut maker: WorkerFactory,
    guard: &mut Guard,
) -> Result<u8> {
    let spec = &verb.spec;
    let session = by_suffix(&spec.session)?;
    let mut found = listed(spec, commands, &mut maker)?;
    if spec.fork_server.is_some() {
        // Each fork runs one function. The functions are variants of one benchmark.
        let name = spec.benchmark.first().map_or(FUNCTION, String::as_str);
        found.iter_mut().flatten().for_each(|listed| listed.name = name.into());
    }
    if spec.list {
        return list(&names(&spec.benchmark, &found)?);
    }
    time_iterations(spec, commands, &mut found)?;
    let (plan, survey) = planned(verb, commands, &found, &Terms::default(), guard)?;
    let opening = Opening { maker: Some(maker), ..opening(&session, survey, guard) };
    measure_and_show(&plan, opening, &Presentation::of_workers(&session))
}

/// Looks at the machine under a guard, and decides the plan of a session there.
fn planned(
    verb: &BenchVerb,
    programs: &[Arm],
    found: &[Vec<ProgramBenchmark>],
    terms: &Terms<'_>,
    guard: &Guard,
) -> Result<(Plan, Survey)> {
    let SessionOptions { workers, judgement, .. } = &verb.spec.session;
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let mut around = surroundings(&host, guard, &survey, false)?;
    if judgement.decide_on == Some(DecideOn::Instructions) {
        around.counters = Some(instruction_counters(workers.machine.rights.as_root));
    }
    let plan = decide_bench(&verb.spec, programs, found, terms, &around)?;
    require_comparison(&plan, judgement)?;
    survey.gaps.extend(told_gap(&around, &workers.machine.placement));
    Ok((plan, survey))
}

/// The benchmarks of each program: those that its framework or its worker lists.
fn listed(
    spec: &BenchSpec,
    programs: &[Arm],
    maker: &mut WorkerFactory,
) -> Result<Vec<Vec<ProgramBenchmark>>> {
    let workers = &spec.session.workers;
    if spec.fork_server.is_none() && !spec.as_pyperf {
        let user = user_of_commands(workers.machine.rights.as_root);
        if let Some(found) = frameworks::listed(programs, user.as_ref(), workers.timeout)? {
            return Ok(found);
        }
    }
    list_benchmarks(maker, programs, workers.timeout, None).map_err(|(index, failure)| {
        let program = format!("program {} ({:?})", index + 1, programs[index].label());
        anyhow!("{}", explain_worker(&program, "nothing was measured", &failure, Audience::Workers))
    })
}

/// The benchmarks of a program of another verb, which decides what its failure means.
pub fn listed_at(verb: &BenchVerb, program: &Arm) -> Result<Vec<ProgramBenchmark>, Unmeasured> {
    let user = user_of_commands(verb.spec.session.workers.machine.rights.as_root);
    let mut maker = WorkerFactory::new(None, user)?;
    let listed = listed(&verb.spec, std::slice::from_ref(program), &mut maker);
    let listed = listed.map_err(|error| Unmeasured::Program(0, in_words(&error)))?;
    Ok(listed.concat())
}

/// Measures listed benchmarks, and shows only progress. Returns the record and the end of the session.
pub fn measure_at(
    verb: &BenchVerb,
    programs: &[Arm],
    listed_benchmarks: &[Vec<ProgramBenchmark>],
    terms: &Terms<'_>,
) -> Result<(PathBuf, SessionEnd)> {
    let spec = &verb.spec;
    let workers = &spec.session.workers;
    let mut listed_benchmarks = listed_benchmarks.to_vec();
    time_iterations(spec, programs, &mut listed_benchmarks)?;
    let session = by_suffix(&spec.session)?;
    let mut guard = Guard::for_workers(&verb.host_root, workers)?;
    let measured =
        planned(verb, programs, &listed_benchmarks, terms, &guard).and_then(|(plan, survey)| {
            Session::open(&plan, opening(&session, survey, &mut guard))?.run()
        });
    guard.restore(measured)
}

/// Asks how long an iteration takes, if instructions decide.
fn time_iterations(
    spec: &BenchSpec,
    programs: &[Arm],
    benchmarks: &mut [Vec<ProgramBenchmark>],
) -> Result<()> {
    if spec.session.judgement.decide_on != Some(DecideOn::Instructions) {
        return Ok(());
    }
    let wanted = names(&spec.benchmark, benchmarks)?;
    let workers = &spec.session.workers;
    let user = user_of_commands(workers.machine.rights.as_root);
    frameworks::time_iterations(programs, benchmarks, &wanted, user.as_ref(), workers.timeout)
}

fn list(names: &[String]) -> Result<u8> {
    let mut stdout = terminal::data();
    names.iter().try_for_each(|name| writeln!(stdout, "{name}"))?;
    Ok(exit_code::SUCCESS)
}
