//! `bench`: the benchmarks of programs that speak the worker protocol.

use std::io::Write as _;

use anyhow::{Result, anyhow};

use crate::cmd::conclusion::measure_and_show;
use crate::cmd::{suites, tuning};
use crate::host::{self, Host};
use crate::measure::slices::{Maker, list_benchmarks};
use crate::measure::worker::Failure;
use crate::plan::Arm;
use crate::plan::programs::{decide_bench, names, programs};
use crate::render::failure::worker::explain as explain_worker;
use crate::render::remedies::Asked;
use crate::session::{Measuring, drawn_seed};
use crate::spec::BenchVerb;

/// What forked functions are called together.
const FUNCTION: &str = "function";

/// Lists the benchmarks, measures them, then shows.
pub fn bench(verb: &BenchVerb) -> Result<u8> {
    let spec = &verb.spec;
    if suites::is_asked(spec) {
        return suites::bench(verb);
    }
    let commands = programs(spec)?;
    let workers = &spec.session.workers;
    let maker = Maker::new(spec.fork_server, tuning::user_of_commands(&workers.tuning))?;
    if spec.list {
        return measure(verb, &commands, maker);
    }
    tuning::tuned(workers, &verb.host_root, || measure(verb, &commands, maker))
}

fn measure(verb: &BenchVerb, commands: &[Arm], mut maker: Maker) -> Result<u8> {
    let spec = &verb.spec;
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let found = list_benchmarks(&mut maker, commands, spec.session.workers.timeout, None);
    let mut found =
        found.map_err(|(index, failure)| not_listed(&commands[index], index, &failure))?;
    if spec.fork_server.is_some() {
        // Each fork is of one function; what is compared are variants of one benchmark.
        let name = spec.benchmark.first().map_or(FUNCTION, String::as_str);
        found.iter_mut().flatten().for_each(|listed| listed.name = name.into());
    }
    if spec.list {
        return list(&names(&spec.benchmark, &found)?);
    }
    let plan = decide_bench(spec, commands, &found, &facts, drawn_seed()?)?;
    let mut measuring = Measuring {
        plan,
        facts,
        gaps,
        output: &spec.session.output,
        fail_on: spec.session.judgement.fail_on,
        script: None,
        maker: Some(maker),
        pyperf: Some(&spec.session.pyperf),
        attribute: false,
        run_as: tuning::user_of_commands(&spec.session.workers.tuning),
        isolating: None,
    };
    let (_, code) = measure_and_show(&mut measuring)?;
    Ok(code)
}

fn not_listed(program: &Arm, index: usize, failure: &Failure) -> anyhow::Error {
    let program = format!("program {} ({:?})", index + 1, program.label());
    anyhow!("{}", explain_worker(&program, "nothing was measured", failure, Asked::Workers))
}

/// Prints the names.
fn list(names: &[String]) -> Result<u8> {
    let mut stdout = std::io::stdout().lock();
    names.iter().try_for_each(|name| writeln!(stdout, "{name}"))?;
    Ok(0)
}
