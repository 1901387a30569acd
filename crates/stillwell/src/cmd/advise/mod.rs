//! `system advise`: what each step of tuning is worth for a command on this machine.

mod visits;

use anyhow::{Result, bail, ensure};
use rustix::process::geteuid;

use crate::cmd::advise::visits::AdviceSession;
use crate::cmd::print::print;
use crate::cmd::unmeasured::Unmeasured;
use crate::session::drawn_seed;
use analysis::advice::{worth, worth_taking};
use host::guardian::Guardian;
use host::knobs::{Knob, Machine, bench_cpus};
use host::sys::may_raise_priority;
use host::terminal::{self, say};
use host::{Facts, Host, look};
use measure::interrupt::Interrupt;
use measure::noise;
use model::spec::SystemAdvise;
use model::values::{exit_code, read_cpu_list};
use record::plan::advice::{
    AS_IT_IS, AdviceRights, AdviceStep, MissingStep, steps, together, union,
};
use record::plan::{HIGHEST_PRIORITY, defaults};
use render::advice::{self as shown, Advice, MeasuredStep};
use render::document::{self, ErrorObject};

/// Measures all steps in random blocks, and shows what each is worth.
pub fn advise(verb: &SystemAdvise) -> Result<u8> {
    let host = Host::new(&verb.root.host_root);
    let facts = look(&host).facts;
    // Caught from here on: ^C ends the visit, which puts everything back.
    let interrupt = Interrupt::catch()?;
    let cpu = cpu(verb, &host, &facts, &interrupt)?;
    let rights = AdviceRights {
        may_tune: Guardian::has_rights(&verb.root.host_root),
        may_raise: may_raise_priority(HIGHEST_PRIORITY),
        is_root: geteuid().is_root(),
    };
    let bench = bench_cpus(&host, cpu.as_ref().map(std::slice::from_ref));
    let state = |knob: &Knob| {
        let bench = bench.as_ref().map_err(ToString::to_string)?;
        Ok(knob.read(&Machine::new(&host, bench.clone())).state)
    };
    let (possible, mut missing) = steps(&facts, cpu, rights, state);
    let selected = selected(possible, &missing, verb)?;
    say(shown::announced(&selected));
    let seed = verb.seed.map_or_else(drawn_seed, Ok)?;
    let mut session = AdviceSession::new(verb, seed, &interrupt)?;
    let mut steps = Vec::new();
    if !try_out(selected, &mut session, &mut steps, &mut missing)? {
        return Ok(exit_code::INTERRUPTED);
    }
    let all = together(&steps);
    if !try_out(all, &mut session, &mut steps, &mut missing)? {
        return Ok(exit_code::INTERRUPTED);
    }
    ensure!(steps.len() > 1, "no step can be measured here: {}", reasons(&missing));
    session.plan(&steps, verb.budget.unwrap_or(defaults::ADVICE_BUDGET).ns);
    say(session.described(steps.len()));
    let was_interrupted = session.measure(&steps)?;
    let visits = &session.visits;
    if visits.first().is_none_or(Vec::is_empty) {
        ensure!(was_interrupted, "no block was measured");
        return Ok(exit_code::INTERRUPTED);
    }
    let worth = worth(visits, seed)?;
    let taken = worth_taking(&worth, |step| steps[step].is_choice());
    let changes = union(taken.iter().map(|&step| &steps[step]));
    let advice = Advice {
        command: session.command.clone(),
        clock: verb.clock.unwrap_or_default(),
        n_blocks: visits[0].len(),
        advised: taken.iter().map(|&step| steps[step].name.clone()).collect(),
        command_line: shown::command_line(&changes, &session.command),
        steps: steps
            .iter()
            .zip(worth)
            .map(|(step, worth)| MeasuredStep::new(step, worth))
            .collect(),
        missing,
        was_interrupted,
    };
    show(&advice, verb.json)?;
    Ok(if was_interrupted { exit_code::INTERRUPTED } else { exit_code::SUCCESS })
}

fn show(advice: &Advice, as_json: bool) -> Result<()> {
    if as_json {
        let message = "interrupted: the numbers are those of the finished blocks".to_owned();
        let error = advice.was_interrupted.then(|| ErrorObject::interrupted(message));
        let conclusion = shown::conclude(advice);
        return Ok(document::write(&mut terminal::data(), advice, conclusion, error.as_ref())?);
    }
    print(&shown::text(advice))
}

fn reasons(missing: &[MissingStep]) -> String {
    let all = missing.iter().map(|step| format!("{} ({})", step.name, step.why));
    all.collect::<Vec<_>>().join(", ")
}

/// Takes each step once. Those that fail are missing. Returns false after ^C. Errors: the command itself fails.
fn try_out(
    untried: impl IntoIterator<Item = AdviceStep>,
    session: &mut AdviceSession<'_>,
    steps: &mut Vec<AdviceStep>,
    missing: &mut Vec<MissingStep>,
) -> Result<bool> {
    for step in untried {
        match session.try_out(&step) {
            Ok(()) => steps.push(step),
            Err(Unmeasured::Interrupted) => return Ok(false),
            Err(Unmeasured::Program(_, why)) if step.changes.is_empty() => bail!("{why}"),
            Err(Unmeasured::Program(_, why)) => missing.push(MissingStep { name: step.name, why }),
            Err(Unmeasured::Failed(error)) => return Err(error),
        }
    }
    Ok(true)
}

/// The steps that the user wants, and always the machine as it is.
fn selected(
    steps: Vec<AdviceStep>,
    missing: &[MissingStep],
    verb: &SystemAdvise,
) -> Result<Vec<AdviceStep>> {
    let named = verb.only.iter().flatten().chain(&verb.skip);
    let all: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    for name in named {
        if let Some(step) = missing.iter().find(|step| step.name == *name) {
            ensure!(verb.skip.contains(name), "the step {name:?} cannot be taken: {}", step.why);
        } else if !all.contains(&name.as_str()) {
            bail!("there is no step {name:?}; the steps are {}", all[1..].join(", "));
        }
    }
    let is_wanted = |step: &AdviceStep| {
        let is_named = verb.only.as_ref().is_none_or(|only| only.contains(&step.name));
        step.name == AS_IT_IS || (is_named && !verb.skip.contains(&step.name))
    };
    Ok(steps.into_iter().filter(is_wanted).collect())
}

/// The CPU of bound runs: named, isolated at boot, or with the least lost time now; `None` if there is only one.
fn cpu(
    verb: &SystemAdvise,
    host: &Host,
    facts: &Facts,
    interrupt: &Interrupt,
) -> Result<Option<usize>> {
    let list = |cpus: &Option<String>| cpus.as_deref().and_then(read_cpu_list).unwrap_or_default();
    let (allowed, isolated) = (list(&facts.cpus_allowed), list(&facts.isolated_cpus));
    if let Some(cpu) = verb.cpu {
        let online = list(&facts.cpus_online);
        ensure!(online.contains(&cpu), "--cpu {cpu}: it is not online; online are {online:?}");
        return Ok(Some(cpu));
    }
    if isolated.is_empty() && allowed.len() < 2 {
        return Ok(None);
    }
    if let Some(&last) = isolated.last() {
        return Ok(Some(last));
    }
    let quietest = noise::quietest_of(host, allowed.clone(), interrupt)?;
    // Most interrupts go to the first CPU.
    Ok(quietest.iter().find(|cpu| **cpu != 0).or(allowed.last()).copied())
}
