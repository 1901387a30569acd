//! `bisect`: which commits made a program slower, or faster.

mod gated;
mod layouts;
mod measuring;
mod program;
mod range;
mod state;
mod unbuilt;

use std::path::Path;

use anyhow::{Context as _, Error, Result, bail, ensure};

use crate::cmd::commits::Place;
use crate::cmd::failure::end_with;
use crate::cmd::output_file::{check_path, write_option};
use crate::cmd::print::print;
use crate::cmd::rights;
use crate::cmd::step_directory::{
    self, StepManifest as _, manifest_in, require_same_request, usual_directory,
};
use crate::cmd::unmeasured::Unmeasured;
use crate::session::drawn_seed;
use host::terminal;
use measure::interrupt::Interrupt;
use model::spec::BisectVerb;
use model::values::exit_code;
use record::new_path;
use record::plan::defaults;
use render::bisect::StepRecord;
use render::document::{self, ErrorCode, ErrorObject};
use render::{QuantityWords, bisect as page, bisect_document};
use search::bisection::{Answer, BisectSearch, CommitGraph, Observation, SearchRules, SearchStep};

use measuring::BisectMeasurer;
use state::{BisectManifest, BisectRange, BisectState, ObservedLine};
pub use state::{confirmed, is_search};

/// `git bisect run` leaves out a commit with this exit code.
const SKIP: u8 = 125;
/// Longest `git bisect run` for which the steps share their error rate.
const STEPS_USUAL: f64 = 16.0;

/// Searches, or goes on with a search, and shows what it found.
pub fn bisect(verb: &BisectVerb) -> Result<u8> {
    // A mistake makes no directory.
    rules_of(verb)?;
    if verb.step {
        return step(verb);
    }
    let Some(directory) = &verb.resume else {
        let verb = if let Some(gate) = &verb.gate { &gated::search_of(verb, gate)? } else { verb };
        return begin(verb, Path::new("."));
    };
    step_directory::refuse_with_resume(verb.refused_with_resume(), "search")?;
    let found = manifest_in::<BisectManifest>(directory)?;
    let manifest = found.ok_or_else(|| BisectManifest::FILES.missing(directory))?;
    let mut asked = manifest.request.clone();
    rights::take_for_kept(verb.process.rights, &mut asked.process.rights, "search")?;
    asked.output.answer = verb.output.answer.or_style_of(asked.output.answer);
    if let Some(report) = &verb.report {
        asked.report = Some(std::path::absolute(report)?);
    }
    if let Some(history) = &verb.history {
        asked.history = Some(history.clone());
        asked.benchmark = verb.benchmark.clone().or(asked.benchmark);
    }
    let state = BisectState::open(directory.clone(), || Ok(manifest))?;
    search(&asked, state)
}

/// Begins a search in a repository, or goes on with it. Errors: a revision is unknown, or an end cannot be built.
pub fn begin(verb: &BisectVerb, here: &Path) -> Result<u8> {
    let place = Place::of(here)?;
    let (good, bad) = ends(verb)?;
    let range = range::range_of(&place, good, bad, verb.first_parent)?;
    let here = std::path::absolute(here).context("cannot find the current directory")?;
    unbuilt::warn(verb, &here);
    let here = here.to_string_lossy().into_owned();
    let directory = match &verb.output.directory {
        Some(directory) => directory.clone(),
        None => usual_directory("bisect", verb, &[&here, &range.commits[range.hi].id])?,
    };
    let ends = range.ends().map(String::clone);
    let state = BisectState::open(directory, || {
        let seed = verb.seed.map_or_else(drawn_seed, Ok)?;
        Ok(BisectManifest { request: verb.clone(), here: here.clone(), seed, range })
    })?;
    ensure!(
        state.manifest.range.ends() == [&ends[0], &ends[1]] && state.manifest.here == here,
        "{} has a search of other commits, or of another directory; choose another directory, or go on with it by --resume",
        state.directory.display()
    );
    let requests = (&state.manifest.request, verb);
    require_same_request(requests, BisectManifest::FILES, &state.directory)?;
    search(verb, state)
}

fn ends(verb: &BisectVerb) -> Result<(&str, &str)> {
    let ends = verb.good.as_deref().zip(verb.bad.as_deref());
    ends.context("GOOD and BAD are missing")
}

fn search(verb: &BisectVerb, state: BisectState) -> Result<u8> {
    let directory = state.directory.clone();
    let ended = search_to_end(verb, state);
    ended.map_err(|error| step_directory::with_way_on(error, "bisect", &directory))
}

/// Searches to the end. Each observation is saved before the next step.
fn search_to_end(verb: &BisectVerb, mut state: BisectState) -> Result<u8> {
    let here = Path::new(&state.manifest.here);
    let report = verb.report.as_deref().map(|report| here.join(report));
    report.as_deref().map_or(Ok(()), |report| check_path("--report", report))?;
    let place = Place::of(here)?;
    let rules = rules_of(verb)?;
    let BisectRange { lo, hi, commits } = state.manifest.range.clone();
    let mut search = BisectSearch::new(CommitGraph::new(commits), lo, hi, rules);
    let beginning = search.clone();
    state.lines.iter().for_each(|line| search.take(&line.observation));
    let mut measurer = BisectMeasurer::new(verb, &place, state.manifest.seed)?;
    let answer = verb.output.answer;
    if answer.is_text() {
        print(&page::beginning(&search, &state.directory, state.lines.len()))?;
    }
    let interrupt = Interrupt::catch_first()?;
    loop {
        let step = search.next_step();
        if step == SearchStep::Done {
            break;
        }
        let told = page::step(search.graph(), &step);
        let mut lines = Vec::new();
        let observed = observe(&mut measurer, &state, &search, &step, &mut lines);
        let is_interrupted = interrupt.take();
        // Also those before an error: a build counts, whatever ends the step after it.
        for line in lines {
            // It also goes to a program that is being listed, whose failure then says nothing about the commit.
            if is_interrupted && matches!(line.observation, Observation::Failed { .. }) {
                continue;
            }
            if answer.is_text()
                && let Some(text) =
                    page::observed(&search, &told, &line.observation, quantity(verb))
            {
                print(&text)?;
            }
            search.take(&line.observation);
            state.keep(line)?;
        }
        match observed {
            Ok(()) if !is_interrupted => {}
            Err(Unmeasured::Failed(error)) if !is_interrupted => return Err(error),
            // A terminal sends ^C to git as well.
            _ => return interrupted(verb, &state.directory, &search),
        }
    }
    drop(interrupt);
    state::keep_in_history(verb, &state, &search)?;
    let unwritten = report.and_then(|report| {
        let steps: Vec<StepRecord<'_>> = state.lines.iter().map(step_record).collect();
        let page = |to: &mut dyn std::io::Write| {
            page::write_page(to, &search, beginning.clone(), &steps, quantity(verb))
        };
        write_option("--report", &report, page).err()
    });
    let shown = show(verb, &state, &search, unwritten.as_ref());
    let is_found = !search.outcome().culprits.is_empty();
    let code = if is_found { exit_code::SUCCESS } else { exit_code::UNDECIDED };
    end_with(unwritten, shown.map(|()| code))
}

fn show(
    verb: &BisectVerb,
    state: &BisectState,
    search: &BisectSearch,
    unwritten: Option<&Error>,
) -> Result<()> {
    if verb.output.answer.json {
        let observations: Vec<&Observation> =
            state.lines.iter().map(|it| &it.observation).collect();
        let (body, conclusion) = bisect_document::document(search, &observations);
        let error = ErrorObject::with_unwritten(None, unwritten);
        document::write(&mut terminal::data(), &body, conclusion, error.as_ref())?;
    } else if verb.output.answer.is_text() {
        print(&page::text(search, quantity(verb)))?;
        let is_built = verb.build.is_some() && verb.script.is_none();
        let builds = record::builds_path().ok().filter(|_| is_built);
        print(&page::kept(&state.directory, builds.as_deref()))?;
    }
    Ok(())
}

fn quantity(verb: &BisectVerb) -> QuantityWords {
    QuantityWords::of_options(verb.decide_on, &verb.process.execution.value)
}

fn step_record(line: &ObservedLine) -> StepRecord<'_> {
    StepRecord { observation: &line.observation, record: line.record.as_deref() }
}

fn rules_of(verb: &BisectVerb) -> Result<SearchRules> {
    let margin_pct = verb.same.map_or(defaults::BISECT_SAME_PCT, |percent| percent.0);
    Ok(SearchRules {
        alpha: defaults::alpha(verb.alpha.unwrap_or(defaults::BISECT_ALPHA))?,
        margin: (margin_pct / 100.0).ln_1p(),
        // Without a build nothing is linked.
        asks_layouts: verb.layouts != Some(0) && verb.build.is_some() && verb.script.is_none(),
    })
}

fn interrupted(verb: &BisectVerb, directory: &Path, search: &BisectSearch) -> Result<u8> {
    let answer = verb.output.answer;
    if answer.is_text() {
        print(&page::so_far(search, quantity(verb)))?;
    }
    let message = step_directory::interrupted("bisect", directory);
    if answer.json {
        document::write_error(&mut terminal::data(), ErrorObject::interrupted(message))?;
    }
    Ok(exit_code::INTERRUPTED)
}

/// Takes a step: builds what it needs, then measures. What it has observed is in `lines`, also after an error. Errors: ^C
/// came, an end of the search cannot be measured, or the verb itself failed.
fn observe(
    measurer: &mut BisectMeasurer<'_>,
    state: &BisectState,
    search: &BisectSearch,
    step: &SearchStep,
    lines: &mut Vec<ObservedLine>,
) -> Result<(), Unmeasured> {
    if let SearchStep::Layouts { base, head, alpha } = *step {
        lines.extend(layouts::observe(measurer, state, search, base, head, alpha)?);
        return Ok(());
    }
    let Some((arms, alpha)) = step.compared() else { return Ok(()) };
    let commits = search.graph().commits();
    let mut add = |observation, record| lines.push(ObservedLine { observation, record });
    let ends = [search.good, search.bad];
    let failed = |commit: usize, why: String, seconds: f64| {
        if ends.contains(&commit) {
            let unbuilt = match unbuilt::is_it(&state.manifest.request) {
                true => "; without --build it was checked out and not built",
                false => "",
            };
            let text = format!("the end {}: {why}{unbuilt}", page::name(&commits[commit]));
            return Err(ErrorCode::CommandFailed.error(text));
        }
        Ok(Observation::Failed { commit, why, seconds })
    };
    for &commit in &arms {
        match measurer.build(&commits[commit]) {
            Ok(None) => {}
            Ok(Some(seconds)) => add(Observation::Built { commit, seconds }, None),
            Err((Unmeasured::Program(_, why), seconds)) => {
                add(failed(commit, why, seconds)?, None);
                return Ok(());
            }
            Err((why, _)) => return Err(why),
        }
    }
    let record = state.new_record();
    let file = Some(step_directory::file_name(&record));
    measurer.reseed();
    let of_arms: Vec<_> = arms.iter().map(|&commit| &commits[commit]).collect();
    match measurer.measure(&of_arms, alpha, record) {
        Ok((found, seconds)) => add(step.observed(&found, seconds), file),
        Err(Unmeasured::Program(arm, why)) => add(failed(arms[arm], why, 0.0)?, file),
        Err(why) => return Err(why),
    }
    Ok(())
}

/// One step of `git bisect run`: HEAD with both ends in the same blocks.
fn step(verb: &BisectVerb) -> Result<u8> {
    let place = Place::here()?;
    let (good, bad) = ends(verb)?;
    let words = ["HEAD", good, bad].map(str::to_owned);
    let commit = |word: &String| {
        let id = place.commit(word)?;
        let subject = word.clone();
        Ok(search::bisection::Commit { id, subject, parents: Vec::new(), is_old: false })
    };
    let commits: Vec<_> = words.iter().map(commit).collect::<Result<_>>()?;
    for (end, code) in [(1, exit_code::SUCCESS), (2, exit_code::CHECK_FAILED)] {
        if commits[0].id == commits[end].id {
            return Ok(code);
        }
    }
    let mut measurer = BisectMeasurer::new(verb, &place, verb.seed.map_or_else(drawn_seed, Ok)?)?;
    for (arm, commit) in commits.iter().enumerate() {
        match measurer.build(commit) {
            Ok(_) => {}
            Err((Unmeasured::Program(_, why), _)) if arm > 0 => {
                bail!("the end {}: {why}", words[arm])
            }
            Err((Unmeasured::Program(_, why), _)) => {
                print(&format!("HEAD cannot be built: {why}\n"))?;
                return Ok(SKIP);
            }
            Err((Unmeasured::Interrupted, _)) => return Ok(exit_code::INTERRUPTED),
            Err((Unmeasured::Failed(error), _)) => return Err(error),
        }
    }
    let rules = rules_of(verb)?;
    let arms: Vec<_> = commits.iter().collect();
    let record = new_path(&host::local_time::now())?;
    let relations = match measurer.measure(&arms, rules.alpha / STEPS_USUAL, record) {
        Ok((relations, _)) => relations,
        Err(Unmeasured::Program(0, why)) => {
            print(&format!("HEAD cannot be measured: {why}\n"))?;
            return Ok(SKIP);
        }
        Err(Unmeasured::Program(arm, why)) => bail!("the end {}: {why}", words[arm]),
        Err(Unmeasured::Interrupted) => return Ok(exit_code::INTERRUPTED),
        Err(Unmeasured::Failed(error)) => return Err(error),
    };
    let [of_old, of_new] = [0, 1].map(|at| relations[at].inverse());
    let told = search::bisection::answer(&of_old, &of_new, rules.margin);
    print(&page::told(told, &of_old, &of_new, quantity(verb)))?;
    Ok(match told {
        Answer::LikeOld => exit_code::SUCCESS,
        Answer::LikeNew => exit_code::CHECK_FAILED,
        Answer::Neither | Answer::Undecided => SKIP,
    })
}
