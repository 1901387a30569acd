//! `why`: measures two commands with samples, and says which functions make the difference.

use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::NamedTempFile;

use crate::cmd::output_file::{check_path, write_one};
use crate::cmd::print::print;
use crate::cmd::run::{conclude_failed, measure_profiled};
use crate::measure::wire::SamplingSettings;
use crate::plan::defaults;
use crate::profile::breakdown::{BLOCKS_MIN, breakdown};
use crate::profile::collect::collect;
use crate::profile::flame::flame_graph;
use crate::profile::folded::folded;
use crate::profile::saved::{EXTENSION, Profile, path_of};
use crate::record::{EndReason, Readers, Record};
use crate::render::why::{firefox, page as html};
use crate::render::{json, why as page};
use crate::session;
use crate::spec::run::{OutputOptions, Style};
use crate::spec::{RunSpec, RunVerb, WhyVerb};
use crate::terminal;
use crate::values::exit_code;
use crate::words::bytes_of;

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;

/// `why`.
pub fn why(verb: &WhyVerb) -> Result<u8> {
    check_paths(verb)?;
    if let Some(path) = earlier(&verb.commands) {
        let profile = Profile::read(&path_of(&path)).with_context(|| {
            format!(
                "{} has no profile next to it; `stillwell why COMMAND...` makes one",
                path.display()
            )
        })?;
        return show(&profile, verb).map(|()| exit_code::SUCCESS);
    }
    let seed = verb.seed.map_or_else(session::drawn_seed, Ok)?;
    let samples = NamedTempFile::new().context("cannot make a temporary file for the samples")?;
    let period_ns = NS_PER_S / u64::from(verb.rate.unwrap_or(defaults::SAMPLES_PER_S));
    let sampling =
        SamplingSettings { file: samples.path().as_os_str().as_bytes().to_vec(), period_ns, seed };
    let session = session_of(verb, seed);
    let (record, end) = measure_profiled(&session, sampling)?;
    let is_whole =
        matches!(end.reason, EndReason::Complete | EndReason::Decided | EndReason::Precise);
    if !is_whole && end.reason != EndReason::Interrupted {
        return conclude_failed(&session, &record, &end);
    }
    let found = collect(&Record::read(&record)?, samples.path(), period_ns)?;
    drop(samples);
    let n_blocks = found.runs.len() / found.arms.len();
    ensure!(
        n_blocks > BLOCKS_MIN,
        "{n_blocks} blocks were measured, and {} are needed; give it more time with --budget",
        BLOCKS_MIN + 1
    );
    let path = path_of(&record);
    found.write(&path, Readers::of(verb.shared))?;
    show(&found, verb)?;
    if verb.style != Some(Style::None) && !verb.json {
        print(&page::kept(&record))?;
    }
    Ok(if is_whole { exit_code::SUCCESS } else { exit_code::INTERRUPTED })
}

/// The file of an earlier session, if the only word is one.
fn earlier(commands: &[String]) -> Option<PathBuf> {
    let [only] = commands else { return None };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(&bytes_of(only)));
    let extension = path.extension()?.to_str()?;
    ((extension == EXTENSION || extension == "swell") && path.is_file()).then_some(path)
}

fn show(profile: &Profile, verb: &WhyVerb) -> Result<()> {
    if let Some(path) = &verb.folded {
        write(path, |to| Ok(to.write_all(folded(profile).as_bytes())?))?;
    }
    if let Some(path) = &verb.firefox {
        write(path, |to| firefox::write(to, profile))?;
    }
    let found = breakdown(profile)?;
    if let Some(path) = &verb.page {
        let graph = flame_graph(profile)?;
        write(path, |to| html::write(to, &found, &graph))?;
    }
    if verb.json {
        return Ok(json::pretty(&mut terminal::data(), &found)?);
    }
    if verb.style == Some(Style::None) {
        return Ok(());
    }
    print(&page::text(&found))
}

fn write(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    write_one(path, export).with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses files that cannot be written, before anything is measured.
fn check_paths(verb: &WhyVerb) -> Result<()> {
    let paths = [("--folded", &verb.folded), ("--firefox", &verb.firefox), ("--page", &verb.page)];
    for (option, path) in paths {
        path.as_deref().map_or(Ok(()), |path| check_path(option, path))?;
    }
    Ok(())
}

/// The options of the session.
fn session_of(verb: &WhyVerb, seed: u64) -> RunVerb {
    let mut spec = RunSpec { commands: verb.commands.clone(), ..RunSpec::default() };
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
    RunVerb::of(spec, &verb.host_root)
}
