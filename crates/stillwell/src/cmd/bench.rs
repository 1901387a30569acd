//! `bench`: the benchmarks of programs that speak the worker protocol.

use std::io::Write as _;

use anyhow::{Result, anyhow, bail};

use crate::cli::BenchVerb;
use crate::cmd::measuring::worker_failure;
use crate::cmd::measuring::{Measuring, drawn_seed};
use crate::host::{self, Host};
use crate::measure::slices::list_benchmarks;
use crate::measure::worker::Failure;
use crate::plan::Arm;
use crate::plan::programs::{Listed, decide_bench, programs};

/// Lists the benchmarks, measures them, then shows.
pub fn bench(verb: &BenchVerb) -> Result<u8> {
    let spec = &verb.spec;
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let commands = programs(spec)?;
    let found = match spec.fork_server {
        None => list_benchmarks(&commands, spec.workers.timeout)
            .map_err(|(index, failure)| not_listed(&commands[index], index, &failure))?,
        // A forked worker runs the one function that it was forked for.
        Some(_) => {
            let name = spec.benchmark.first().cloned().unwrap_or_else(|| "function".into());
            commands.iter().map(|_| vec![Listed { name: name.clone(), inner_loops: 1 }]).collect()
        }
    };
    if spec.list {
        return list(&found);
    }
    let plan = decide_bench(spec, &commands, &found, &facts, drawn_seed()?)?;
    let measuring = Measuring {
        plan,
        facts,
        gaps,
        output: &spec.output,
        fail_on: spec.judging.fail_on,
        script: None,
        fork_server: spec.fork_server,
        run_as: None,
    };
    measuring.run()
}

fn not_listed(program: &Arm, index: usize, failure: &Failure) -> anyhow::Error {
    let program = format!("program {} ({:?})", index + 1, program.label());
    anyhow!("{}", worker_failure::explain(&program, "nothing was measured", failure))
}

/// Each name once.
fn list(found: &[Vec<Listed>]) -> Result<u8> {
    let mut names: Vec<&str> = Vec::new();
    for listed in found.iter().flatten() {
        if !names.contains(&listed.name.as_str()) {
            names.push(&listed.name);
        }
    }
    if names.is_empty() {
        bail!("the programs have no benchmark");
    }
    let mut stdout = std::io::stdout().lock();
    names.iter().try_for_each(|name| writeln!(stdout, "{name}"))?;
    Ok(0)
}
