//! `race`: which of many commands is the best.

mod arms;
mod measuring;
mod played;
mod state;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::cmd::print::print;
use crate::cmd::rights;
use crate::cmd::step_directory::{
    StepManifest as _, digest_of, has_ended, interrupted, manifest_in, refuse_with_resume,
    require_same_request, usual_directory, with_way_on,
};
use crate::cmd::suite_commands::KeptSuite;
use crate::session::drawn_seed;
use analysis::watch::estimand_of;
use host::terminal;
use measure::interrupt::Interrupt;
use model::spec::RaceVerb;
use model::values::exit_code;
use record::plan::{Plan, defaults};
use render::{document, race as page, race_document};
use search::race::{Race, RaceRules};

use arms::RaceSuite;
use measuring::RaceMeasurer;
use state::{RaceManifest, RaceState};

/// The arm that runs in every block.
const REFERENCE: usize = 0;

/// Races, or goes on with a race, and shows the winner.
pub fn race(verb: &RaceVerb) -> Result<u8> {
    let Some(directory) = &verb.resume else {
        return begin(verb);
    };
    refuse_with_resume(verb.refused_with_resume(), "race")?;
    let found = manifest_in::<RaceManifest>(directory)?;
    let manifest = found.ok_or_else(|| RaceManifest::FILES.missing(directory))?;
    let mut asked = manifest.request.clone();
    rights::take_for_kept(verb.process.rights, &mut asked.process.rights, "race")?;
    asked.output.answer = verb.output.answer.or_style_of(asked.output.answer);
    let directory = absolute(directory)?;
    let state = RaceState::open(directory, || Ok(manifest))?;
    let manifest = &state.manifest;
    std::env::set_current_dir(&manifest.here)
        .with_context(|| format!("cannot go to {}", manifest.here))?;
    let is_over = has_ended(&state.directory);
    let suite = manifest.suite.clone().filter(|_| !is_over);
    let contest = Contest::new(
        &asked,
        &manifest.commands,
        &manifest.names,
        suite,
        Path::new(&manifest.here),
    )?;
    if !is_over {
        require_same_programs(manifest, &contest)?;
    }
    run(&asked, state, &contest)
}

/// Refuses to continue an unfinished race with other programs.
fn require_same_programs(manifest: &RaceManifest, contest: &Contest) -> Result<()> {
    // In a suite, each benchmark has a command for each arm.
    let arms = contest.plan.arms.iter().cycle();
    for ((before, now), arm) in manifest.programs.iter().zip(&contest.programs).zip(arms) {
        ensure!(
            before == now,
            "the program of {:?} was replaced since this race began; begin another one",
            arm.label()
        );
    }
    Ok(())
}

/// The participants and the digests of all programs.
struct Contest {
    plan: Plan,
    suite: Option<RaceSuite>,
    programs: Vec<Option<String>>,
}

impl Contest {
    /// Builds the variants of a suite if they race.
    fn new(
        verb: &RaceVerb,
        commands: &[String],
        names: &[String],
        suite: Option<KeptSuite>,
        here: &Path,
    ) -> Result<Self> {
        let plan = arms::planned(verb, commands, names)?;
        let suite = suite.map(|kept| RaceSuite::new(verb, kept, &plan)).transpose()?;
        let programs = match &suite {
            Some(suite) => suite.digests()?,
            None => plan.arms.iter().map(|arm| digest_of(&arm.command, here)).collect(),
        };
        Ok(Self { plan, suite, programs })
    }
}

fn begin(verb: &RaceVerb) -> Result<u8> {
    let here = std::path::absolute(".").context("cannot find the current directory")?;
    let here = here.to_string_lossy().into_owned();
    let suite = verb.suite.as_deref().map(KeptSuite::read).transpose()?;
    let (commands, names) = arms::asked(verb, suite.as_ref())?;
    // A mistake creates no directory.
    let contest = Contest::new(verb, &commands, &names, suite.clone(), Path::new(&here))?;
    let programs = contest.programs.clone();
    let directory = match &verb.output.directory {
        Some(directory) => {
            let directory = absolute(directory)?;
            ensure!(
                !has_ended(&directory),
                "the race in {shown} has ended; show it with --resume {shown}, or name another directory",
                shown = directory.display()
            );
            directory
        }
        None => {
            let more = [&*here].into_iter().chain(commands.iter().map(|it| &**it));
            let more: Vec<&str> =
                more.chain(programs.iter().map(|it| it.as_deref().unwrap_or_default())).collect();
            next_directory(&usual_directory("race", verb, &more)?)
        }
    };
    let made =
        RaceManifest { request: verb.clone(), here, seed: 0, commands, names, suite, programs };
    let state = RaceState::open(directory, || {
        let seed = verb.seed.map_or_else(drawn_seed, Ok)?;
        Ok(RaceManifest { seed, ..made.clone() })
    })?;
    let before = &state.manifest;
    require_same_request((&before.request, verb), RaceManifest::FILES, &state.directory)?;
    ensure!(
        (&before.here, &before.commands, &before.names, &before.suite)
            == (&made.here, &made.commands, &made.names, &made.suite),
        "there is a race of other commands, or of another directory, in {}; name another directory, or go on with that race by --resume",
        state.directory.display()
    );
    require_same_programs(&state.manifest, &contest)?;
    run(verb, state, &contest)
}

/// The directory of the next race: a finished race stays, and the same command line begins another one.
fn next_directory(usual: &Path) -> PathBuf {
    let numbered = (2..).map(|number| {
        let mut name = usual.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    let mut all = std::iter::once(usual.to_owned()).chain(numbered);
    all.find(|directory| !has_ended(directory)).unwrap_or_else(|| usual.to_owned())
}

/// An absolute path, because the race changes to its directory.
fn absolute(directory: &Path) -> Result<PathBuf> {
    std::path::absolute(directory)
        .with_context(|| format!("cannot make {} absolute", directory.display()))
}

fn run(verb: &RaceVerb, state: RaceState, contest: &Contest) -> Result<u8> {
    let directory = state.directory.clone();
    race_to_end(verb, state, contest).map_err(|error| with_way_on(error, "race", &directory))
}

/// Races to the end. Each round is saved before the next one.
fn race_to_end(verb: &RaceVerb, mut state: RaceState, contest: &Contest) -> Result<u8> {
    // Between sessions too: one that comes there ends the race in order.
    let interrupt = Interrupt::catch_first()?;
    let manifest = state.manifest.clone();
    let plan = &contest.plan;
    let labels: Vec<String> = plan.arms.iter().map(|arm| arm.label().to_owned()).collect();
    let mut race = Race::new(labels.len(), rules_of(verb, plan, manifest.seed));
    let mut measurer = RaceMeasurer::new(verb, &manifest, &labels, contest.suite.as_ref())?;
    let is_told = verb.output.answer.is_text();
    if is_told {
        let n_benchmarks = manifest.suite.as_ref().map(KeptSuite::names).transpose()?;
        print(&page::beginning(
            &labels,
            n_benchmarks.map(|it| it.len()),
            &state.directory,
            state.lines.len(),
        ))?;
    }
    for line in &state.lines {
        measurer.replay(&mut race, &state.directory, line)?;
    }
    while let Some(round) = race.next_round() {
        let record = state.new_record();
        let measured = measurer.measure(&race, &round.arms, round.n_blocks, record);
        let is_interrupted = interrupt.take();
        let line = match measured {
            Ok(Some(line)) => line,
            Err(error) if !is_interrupted => return Err(error),
            Ok(None) | Err(_) => {
                interrupted("race", &state.directory);
                return Ok(exit_code::INTERRUPTED);
            }
        };
        measurer.replay(&mut race, &state.directory, &line)?;
        if is_told {
            print(&page::round(&race, &round, &line.failed, line.counts, &labels))?;
        }
        state.keep(line)?;
        if is_interrupted {
            interrupted("race", &state.directory);
            return Ok(exit_code::INTERRUPTED);
        }
    }
    drop(interrupt);
    state.mark_ended()?;
    let (outcome, arms) = (race.outcome(), race.standings());
    let shown = page::RacePage { outcome: &outcome, arms: &arms, labels: &labels, plan };
    if verb.output.answer.json {
        let (body, conclusion) = race_document::document(&shown);
        document::write(&mut terminal::data(), &body, conclusion, None)?;
    } else if is_told {
        print(&shown.text())?;
        print(&page::kept(&state.directory))?;
    }
    Ok(if outcome.is_confirmed { exit_code::SUCCESS } else { exit_code::UNDECIDED })
}

fn rules_of(verb: &RaceVerb, plan: &Plan, seed: u64) -> RaceRules {
    let budget = verb.budget.unwrap_or(defaults::RACE_BUDGET);
    RaceRules {
        reference: REFERENCE,
        alpha: plan.policy.alpha,
        margin: plan.policy.same_within.ln_1p(),
        estimand: estimand_of(plan.policy.estimand),
        budget_s: budget.ns as f64 / 1e9,
        seed,
    }
}
