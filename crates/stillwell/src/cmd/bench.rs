//! `bench`: the benchmarks of programs that speak the worker protocol.

use std::io::Write as _;

use anyhow::{Result, anyhow};

use crate::cmd::conclusion::{Presentation, measure_and_show};
use crate::cmd::exports::by_suffix;
use crate::cmd::{frameworks, pyperf, revisions, suites};
use crate::host::{Host, user_of_commands};
use crate::measure::slices::{WorkerFactory, list_benchmarks};
use crate::measure::worker::WorkerFailure;
use crate::plan::priority::{HIGHEST, raise};
use crate::plan::programs::{decide_bench, names, programs};
use crate::plan::{Arm, across};
use crate::record::Readers;
use crate::render::failure::worker::explain as explain_worker;
use crate::render::remedies::Audience;
use crate::session::{Guard, SessionStart, drawn_seed, place};
use crate::spec::BenchVerb;
use crate::sys::may_raise_priority;
use crate::terminal;
use crate::values::exit_code;

/// The name of the benchmark that forked functions are variants of.
const FUNCTION: &str = "function";

/// Lists the benchmarks, measures them, then shows.
pub fn bench(verb: &BenchVerb) -> Result<u8> {
    let spec = &verb.spec;
    if suites::is_suite(spec) {
        return suites::bench(verb);
    }
    let mut commands = across(programs(spec)?, &revisions::built(&spec.revisions)?);
    if spec.as_pyperf {
        pyperf::prepare(&mut commands)?;
    }
    let workers = &spec.session.workers;
    let maker = WorkerFactory::new(spec.fork_server, user_of_commands(workers.rights.as_root))?;
    if spec.list {
        return Guard::bare(workers.rights).hold(|guard| measure(verb, &commands, maker, guard));
    }
    Guard::for_workers(&verb.host_root, workers)?
        .hold(|guard| measure(verb, &commands, maker, guard))
}

fn measure(
    verb: &BenchVerb,
    commands: &[Arm],
    mut maker: WorkerFactory,
    guard: &mut Guard,
) -> Result<u8> {
    let spec = &verb.spec;
    let session = by_suffix(&spec.session)?;
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let user = user_of_commands(spec.session.workers.rights.as_root);
    let asks = spec.fork_server.is_none() && !spec.as_pyperf;
    let of_frameworks = if asks { frameworks::listed(commands, user.as_ref())? } else { None };
    let mut found = match of_frameworks {
        Some(found) => found,
        None => list_benchmarks(&mut maker, commands, spec.session.workers.timeout, None)
            .map_err(|(index, failure)| not_listed(&commands[index], index, &failure))?,
    };
    if spec.fork_server.is_some() {
        // Each fork runs one function. The functions are variants of one benchmark.
        let name = spec.benchmark.first().map_or(FUNCTION, String::as_str);
        found.iter_mut().flatten().for_each(|listed| listed.name = name.into());
    }
    if spec.list {
        return list(&names(&spec.benchmark, &found)?);
    }
    let mut plan = decide_bench(spec, commands, &found, &survey.facts, drawn_seed()?)?;
    raise(&mut plan.process, &spec.session.workers.priority, || may_raise_priority(HIGHEST));
    place(&host, &mut plan, &spec.session.workers.placement, guard, &mut survey)?;
    let record = session.output.record.as_deref();
    let mut start = SessionStart::new(&plan, survey, record, guard);
    start.maker = Some(maker);
    start.readers = Readers::of(session.output.shared);
    let (_, code) = measure_and_show(start, &Presentation::of_workers(&session))?;
    Ok(code)
}

fn not_listed(program: &Arm, index: usize, failure: &WorkerFailure) -> anyhow::Error {
    let program = format!("program {} ({:?})", index + 1, program.label());
    anyhow!("{}", explain_worker(&program, "nothing was measured", failure, Audience::Workers))
}

/// Prints the names.
fn list(names: &[String]) -> Result<u8> {
    let mut stdout = terminal::data();
    names.iter().try_for_each(|name| writeln!(stdout, "{name}"))?;
    Ok(exit_code::SUCCESS)
}
