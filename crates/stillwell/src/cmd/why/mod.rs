//! `why`: measures two commands with samples, and names the functions that make the difference.

mod earlier;
mod solo;

use std::env::temp_dir;
use std::io::Write;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, ensure};
use tempfile::NamedTempFile;

use crate::cmd::conclusion::{Presentation, files_of_commands, finish};
use crate::cmd::failure::end_with;
use crate::cmd::output_file::{check_distinct, check_path, named, write_all, write_one};
use crate::cmd::print::print;
use crate::cmd::run_session::measure_profiled;
use crate::session::{self, SampledSession};
use host::user_files::no_temporary;
use host::{Host, environment_for, system_call_tracepoint, terminal};
use measure::profile::breakdown::{BLOCKS_MIN, breakdown, n_sampled_blocks};
use measure::profile::collect::collect;
use measure::profile::flame::{flame_graph, folded};
use measure::profile::saved::{Profile, path_of};
use measure::profile::whole_chains::ChainKeeper;
use measure::wire::SamplingSettings;
use model::spec::run::{OutputOptions, Style};
use model::spec::{RunSpec, RunVerb, WhyVerb};
use model::values::exit_code;
use record::plan::{ArmTerms, EarlierArms, Ending, PYTHON_NAMES, Terms, defaults};
use record::{EndReason, Readers, Record};
use render::document::{self, ErrorCode, ErrorObject};
use render::units::counted;
use render::why as page;
use render::why::page as html;

use earlier::{EarlierSession, WhyInput};

pub use earlier::has_difference;

const NS_PER_S: u64 = 1_000_000_000;

pub fn why(verb: &WhyVerb) -> Result<u8> {
    check_paths(verb)?;
    match WhyInput::of(verb)? {
        WhyInput::Profile(path) => {
            refuse(verb.refused_with_profile(), |option| {
                let shown = path.display();
                format!(
                    "{shown} is shown again and not measured, so {option} would change nothing; leave it out, or give the \
                     commands to why"
                )
            })?;
            let profile = Profile::read(&path_of(&path))?;
            show(&profile, verb, None).map(|()| exit_code::SUCCESS)
        }
        WhyInput::Session(session) => {
            refuse(verb.refused_with_session(), |option| {
                let shown = session.record.path.display();
                format!(
                    "the commands of {shown} are executed as they were, so {option} would change nothing; leave it out, or give \
                     the commands to why"
                )
            })?;
            again(verb, *session)
        }
        WhyInput::Commands => {
            let session = session_of(verb, verb.commands.clone())?;
            measure(verb, &session, ArmTerms::AsAsked)
        }
    }
}

/// Refuses an option that would change nothing.
fn refuse(option: Option<String>, why: impl FnOnce(&str) -> String) -> Result<()> {
    option.map_or(Ok(()), |option| Err(ErrorCode::Usage.error(why(&option))))
}

fn again(verb: &WhyVerb, mut session: EarlierSession) -> Result<u8> {
    let files = solo::as_commands(&session.record, &mut session.arms)?;
    let commands = session.arms.iter().map(|_| "true".to_owned()).collect();
    let earlier = EarlierArms {
        plan: &session.record.header.plan,
        arms: session.arms.clone(),
        directory: session.directory(),
    };
    let code = measure(verb, &session_of(verb, commands)?, ArmTerms::Earlier(earlier))?;
    files.map_or(Ok(()), |files| files.check())?;
    Ok(code)
}

/// Measures with samples to the last run, whatever it shows, and shows what the samples say.
fn measure(verb: &WhyVerb, session: &RunVerb, arms: ArmTerms<'_>) -> Result<u8> {
    let seed = session.spec.length.seed.unwrap_or_default();
    let samples = NamedTempFile::new().with_context(no_temporary)?;
    let chains = tempfile::tempfile().with_context(no_temporary)?;
    let what = format!("cannot keep the call chains in {}", temp_dir().display());
    let keeper = ChainKeeper::new(samples.path(), chains.try_clone()?);
    let mut keeper = keeper.with_context(|| what.clone())?;
    let period_ns = NS_PER_S / u64::from(verb.rate.unwrap_or(defaults::SAMPLES_PER_S));
    let settings = SamplingSettings {
        file: samples.path().as_os_str().as_bytes().to_vec(),
        period_ns,
        stack_bytes: 1024 * u32::from(verb.stack_kib.unwrap_or(defaults::STACK_KIB)),
        stacks_grow: verb.stack_kib.is_none(),
        seed,
        system_calls: system_call_tracepoint(&Host::new("/")),
    };
    let take = move || keeper.take().with_context(|| what.clone());
    let file = samples.into_temp_path();
    let sampling = SampledSession { settings, file, take: Box::new(take) };
    let names_functions = environment_for(None).iter().all(|(name, _)| name != PYTHON_NAMES);
    let terms = Terms { arms, ending: Ending::AtTheEnd, names_functions, ..Terms::default() };
    let (record, end) = measure_profiled(session, &terms, sampling)?;
    let is_whole = end.reason.is_final();
    if !is_whole && end.reason != EndReason::Interrupted {
        return finish(&Presentation::of_run(&session.spec), &record, &end);
    }
    // Opened again, so that it is read from its beginning.
    let own = PathBuf::from(format!("/proc/self/fd/{}", chains.as_raw_fd()));
    let found = collect(&Record::read(&record)?, &own, period_ns)?;
    drop(chains);
    let (n_blocks, n_lost) = n_sampled_blocks(&found);
    if end.reason == EndReason::Interrupted && n_blocks < BLOCKS_MIN {
        let blocks = counted(n_blocks, "block");
        terminal::say(format!("interrupted after {blocks} with samples, too few to say anything"));
        return Ok(exit_code::INTERRUPTED);
    }
    let remedy = match n_lost {
        0 => "give it more time with --budget".to_owned(),
        n => format!(
            "of {} more samples were lost, and a lower --rate loses fewer",
            counted(n, "block")
        ),
    };
    ensure!(
        n_blocks >= BLOCKS_MIN,
        "{} with samples are too few; {BLOCKS_MIN} are needed; {remedy}",
        counted(n_blocks, "block")
    );
    let path = path_of(&record);
    found.write(&path, Readers::of(verb.shared))?;
    let message = "interrupted: the blocks that had finished are in the numbers".to_owned();
    let shown = show(&found, verb, (!is_whole).then(|| ErrorObject::interrupted(message)));
    if verb.style != Some(Style::None) && !verb.json {
        print(&page::kept(&record))?;
    }
    shown?;
    Ok(if is_whole { exit_code::SUCCESS } else { exit_code::INTERRUPTED })
}

fn show(profile: &Profile, verb: &WhyVerb, error: Option<ErrorObject>) -> Result<()> {
    let stacks = verb.folded.as_deref();
    let stacks = stacks.map(|path| write(path, |to| Ok(to.write_all(folded(profile).as_bytes())?)));
    let found = breakdown(profile)?;
    let report = verb.report.as_deref().map(|path| {
        let graph = flame_graph(profile)?;
        write(path, |to| html::write(to, &found, &graph))
    });
    let unwritten = write_all(stacks.into_iter().chain(report)).err();
    let shown = if verb.json {
        let conclusion = page::conclusion(&found);
        let error = ErrorObject::with_unwritten(error, unwritten.as_ref());
        document::write(&mut terminal::data(), &found, conclusion, error.as_ref())
            .map_err(Error::from)
    } else if verb.style == Some(Style::None) {
        Ok(())
    } else {
        print(&page::text(&found))
    };
    end_with(unwritten, shown)
}

fn write(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    write_one(path, export).with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses unwritable files, and a file that would replace another, before anything is measured.
fn check_paths(verb: &WhyVerb) -> Result<()> {
    let profile = verb.record.as_deref().map(path_of);
    let pages =
        named(&[("--folded", verb.folded.as_deref()), ("--report", verb.report.as_deref())]);
    let kept = named(&[("-o", verb.record.as_deref()), ("the profile", profile.as_deref())]);
    let commands = files_of_commands(&verb.process.execution);
    check_distinct(&[kept, pages.clone()].concat(), &commands)?;
    pages.into_iter().try_for_each(|(option, path)| check_path(option, path))
}

fn session_of(verb: &WhyVerb, commands: Vec<String>) -> Result<RunVerb> {
    let seed = verb.seed.map_or_else(session::drawn_seed, Ok)?;
    let mut spec = RunSpec { commands, ..RunSpec::default() };
    spec.arms.command_names.clone_from(&verb.command_names);
    spec.arms.shell.clone_from(&verb.shell);
    spec.length.runs = verb.runs;
    spec.length.warmup = Some(verb.warmup.unwrap_or(defaults::WHY_WARMUPS));
    if verb.runs.is_none() {
        spec.length.stop.budget = Some(verb.budget.unwrap_or(defaults::WHY_BUDGET));
        spec.length.max_runs = Some(u32::MAX);
    }
    spec.length.seed = Some(seed);
    spec.judgement.alpha = verb.alpha;
    spec.hooks = verb.hooks.clone();
    spec.process = verb.process.clone();
    spec.output = OutputOptions {
        record: verb.record.clone(),
        shared: verb.shared,
        json: verb.json,
        style: verb.style,
        ..OutputOptions::default()
    };
    Ok(RunVerb::of(spec, &verb.host_root))
}
