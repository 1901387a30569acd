//! `bench SUITE.toml`: from the text of a suite file to the results.

mod builds;
mod entry;
mod list;
mod session;
mod variants;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::conclusion::{Presentation, measure_and_show, opening};
use crate::cmd::frameworks::{self, KnownPrograms, with_kept_programs};
use crate::cmd::pyperf::{PYPERFORMANCE, suite_of_pyperformance};
use crate::session::{Guard, instruction_counters, surroundings, told_gap};
use host::user_files::{directory_of, read_whole};
use host::{self, Host, Survey, terminal};
use measure::interrupt::Interrupt;
use measure::slices::{WorkerFactory, list_benchmarks};
use measure::worker::FailureCause;
use model::spec::BenchVerb;
use model::spec::suite::{Flaw, SuiteFile, SuiteItem, Text, Variant, parse};
use model::spec::workers::{BenchSpec, SessionOptions};
use model::values::{DecideOn, exit_code};
use model::words::in_prose;
use record::plan::programs::{self, ProgramBenchmark};
use record::plan::suite::{
    BenchmarkKind, Candidate, Suite, VariantBuild, candidates, decide_suite, is_selected,
};
use record::{self, Readers, SuiteManifest};
use render::failure::worker::explain as explain_worker;
use render::remedies::Audience;

pub use variants::{build_failure, built, built_here, from_here};

use builds::{Builder, VariantError};
use variants::{arms, revisions};

const EXTENSION: &str = "toml";
/// Extension of a record, which holds one benchmark.
const RECORD_EXTENSION: &str = "swell";
/// Name of the variant if a file has none.
const ONLY: &str = "only";

pub fn is_suite(spec: &BenchSpec) -> bool {
    let options = &spec.suite;
    options.suite_schema || options.resume.is_some() || suite_path(spec).is_some()
}

fn suite_path(spec: &BenchSpec) -> Option<&Path> {
    let [command] = spec.commands.as_slice() else { return None };
    (is_suite_file(command) || command == PYPERFORMANCE).then_some(Path::new(command))
}

fn is_suite_file(command: &str) -> bool {
    Path::new(command).extension().is_some_and(|extension| extension == EXTENSION)
}

/// Errors: the user names a suite beside something else.
pub fn refuse_several(spec: &BenchSpec) -> Result<()> {
    let suite = spec.commands.iter().find(|command| is_suite_file(command));
    match suite {
        Some(suite) if spec.commands.len() > 1 => bail!(
            "{suite:?} is a suite, and one suite is measured at a time; call `stillwell bench` for each"
        ),
        _ => Ok(()),
    }
}

/// Measures a suite, or lists its benchmarks. Some of its programs may be listed already.
pub fn bench(verb: &BenchVerb, known: &mut KnownPrograms) -> Result<u8> {
    let spec = &verb.spec;
    if spec.suite.suite_schema {
        return list::schema();
    }
    Presentation::of_workers(&spec.session).check_exports()?;
    let survey = host::look(&Host::new(&verb.host_root));
    if let Some(directory) = &spec.suite.resume {
        refuse_with_resume(verb)?;
        let mut manifest = SuiteManifest::read(directory)?;
        for member in &mut manifest.suite.members {
            member.plan = with_kept_programs(member.plan.clone(), directory);
        }
        let interrupt = Rc::new(Interrupt::catch().context("cannot catch ^C")?);
        let mut guard = Guard::for_workers(&verb.host_root, &spec.session.workers)?;
        let code =
            session::measure(spec, &manifest, known, directory, &survey, &mut guard, interrupt);
        return guard.restore(code);
    }
    let path = suite_path(spec).context("a suite file is needed")?;
    let read = SuiteDocument::of(path, spec)?;
    let builder = Builder::new()?;
    let mut suite = read.decide(verb, &builder, known, &survey);
    let (copies, was_interrupted) = (builder.copies.take(), builder.was_interrupted());
    if was_interrupted {
        suite = suite.and_then(|_| bail!("interrupted before anything was measured"));
    }
    // Caught until the session catches it: ^C must not leave a folder without records.
    let interrupt = builder.interrupt();
    drop(builder);
    let mut are_needed = false;
    let done = suite.and_then(|suite| {
        let planned = PlannedSuite { document: read, suite, known, copies: &copies };
        planned.measure(verb, &survey, interrupt, &mut are_needed)
    });
    if !are_needed {
        builds::remove(&copies);
    }
    match done {
        Err(error) if was_interrupted => {
            terminal::say(Audience::Suite.words(&in_prose(&error)));
            Ok(exit_code::INTERRUPTED)
        }
        done => done,
    }
}

/// A suite before its session.
struct PlannedSuite<'a> {
    document: SuiteDocument,
    suite: Suite,
    known: &'a mut KnownPrograms,
    /// The builds for this session alone.
    copies: &'a [PathBuf],
}

impl PlannedSuite<'_> {
    /// Measures the suite. Sets `are_needed` when a resumed session would need the copies.
    fn measure(
        self,
        verb: &BenchVerb,
        survey: &Survey,
        interrupt: Rc<Interrupt>,
        are_needed: &mut bool,
    ) -> Result<u8> {
        let Self { document: SuiteDocument { path, text, .. }, suite, known, copies } = self;
        let spec = &verb.spec;
        if spec.list {
            return list::benchmarks(&suite, spec.session.output.json);
        }
        if let Some(record) = one_record(spec) {
            // The session of a record catches ^C itself.
            drop(interrupt);
            let mut guard = Guard::for_workers(&verb.host_root, &spec.session.workers)?;
            let code = measure_one(spec, &suite, record, survey, &mut guard);
            return guard.restore(code);
        }
        let now = host::local_time::now();
        let directory = match &spec.session.output.record {
            Some(directory) => directory.clone(),
            None => record::new_path(&now)?.with_extension("suite"),
        };
        let created = now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        let mut manifest = SuiteManifest::new(created, path.display().to_string(), text, suite);
        manifest.copies = copies.to_vec();
        manifest.failing.clone_from(&known.failing);
        let readers = Readers::of(spec.session.output.shared);
        if !known.has_directory {
            record::make_directory(&directory, readers)?;
        }
        manifest.create(&directory, readers)?;
        known.link_into(&directory)?;
        // The session removes the copies when it is done.
        *are_needed = true;
        let mut guard = Guard::for_workers(&verb.host_root, &spec.session.workers)?;
        let code =
            session::measure(spec, &manifest, known, &directory, survey, &mut guard, interrupt);
        guard.restore(code)
    }
}

/// Refuses options that a resumed suite ignores, because it keeps its plan.
fn refuse_with_resume(verb: &BenchVerb) -> Result<()> {
    match verb.refused_with_resume() {
        Some(option) => bail!(
            "--resume goes on by the plan that the suite was started with; leave {option} out, or start a new suite"
        ),
        None => Ok(()),
    }
}

/// The record for a single benchmark, if --record names one.
fn one_record(spec: &BenchSpec) -> Option<&Path> {
    let path = spec.session.output.record.as_deref()?;
    path.extension().is_some_and(|extension| extension == RECORD_EXTENSION).then_some(path)
}

/// Measures one benchmark of a suite in one go, into a single record.
fn measure_one(
    spec: &BenchSpec,
    suite: &Suite,
    record: &Path,
    survey: &Survey,
    guard: &mut Guard,
) -> Result<u8> {
    let [member] = suite.members.as_slice() else {
        bail!(
            "{} is a record, of one benchmark, and {} are asked for; name one with --only, or a directory",
            record.display(),
            suite.members.len()
        );
    };
    let opening = opening(&spec.session, survey.clone(), guard);
    measure_and_show(&member.plan, opening, &Presentation::of_workers(&spec.session))
}

/// A suite file and its text.
struct SuiteDocument {
    path: PathBuf,
    text: String,
    file: SuiteFile,
}

impl SuiteDocument {
    fn of(path: &Path, spec: &BenchSpec) -> Result<Self> {
        let shown = path.display();
        let bytes = if path == Path::new(PYPERFORMANCE) {
            let pythons = spec.suite.arms.iter().map(|arm| from_here(&arm.prefix));
            let pythons = pythons.collect::<Result<Vec<_>>>()?;
            suite_of_pyperformance(&pythons, &spec.benchmark)?.into_bytes()
        } else {
            read_whole(path).with_context(|| format!("cannot read {shown}"))?
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
            let before = String::from_utf8_lossy(&bytes[..at]);
            let what = format!("the byte {:#04x} is not UTF-8, which TOML is in", bytes[at]);
            Text { path, text: &before }.mistake(&(at..at), what)
        })?;
        let mut file = parse(Text { path, text: &text })?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        file.name = file.name.or(stem);
        ensure!(
            !spec.session.judgement.aa,
            "--aa: add a variant to {shown} that is what the first is, or give --arms the same twice"
        );
        ensure!(
            !spec.as_pyperf,
            "--as-pyperf is for scripts on the command line; {shown} has `env`, where PYTHONPATH can name the folder that \
             `python -m stillwell.pyperf_compat path` prints"
        );
        if !spec.suite.arms.is_empty() {
            file.variants = arms(&file, &spec.suite.arms)?;
        }
        if !spec.revisions.revisions.is_empty() {
            file.variants = revisions(&file, path, &spec.revisions)?;
        }
        for (name, commit) in &spec.suite.pin {
            let mut variants = file.variants.iter_mut();
            let pinned = variants.find(|it| it.name == *name && it.revision.is_some());
            let pinned = pinned.with_context(|| {
                format!("--pin: {shown} has no variant {name:?} with a `revision`")
            })?;
            pinned.revision = Some(commit.clone());
        }
        if file.variants.is_empty() {
            file.variants.push(Variant { name: ONLY.into(), ..Variant::default() }.into());
        }
        Ok(Self { path: path.into(), text, file })
    }

    fn text(&self) -> Text<'_> {
        Text { path: &self.path, text: &self.text }
    }

    fn directory(&self) -> Result<PathBuf> {
        let parent = directory_of(&self.path);
        parent.canonicalize().with_context(|| format!("cannot find {}", parent.display()))
    }

    /// The variants to build: programs that list their own benchmarks, and variants of selected benchmarks.
    fn needed(&self, spec: &BenchSpec, directory: &str) -> Result<HashSet<String>> {
        let planned = |variant: &SuiteItem<Variant>| VariantBuild {
            variant: Variant::clone(variant),
            ..VariantBuild::default()
        };
        let planned: Vec<VariantBuild> = self.file.variants.iter().map(planned).collect();
        let is_needed = |candidate: &Candidate| {
            matches!(candidate.kind, BenchmarkKind::Programs { .. })
                || (!spec.list && is_selected(&candidate.name, &candidate.tags, spec))
        };
        let all = candidates(self.text(), &self.file, &planned, directory)?.into_iter();
        let needed = all.filter(is_needed).flat_map(|candidate| candidate.variants);
        Ok(needed.map(|variant| variant.name).collect())
    }

    fn decide(
        &self,
        verb: &BenchVerb,
        builder: &Builder,
        known: &KnownPrograms,
        survey: &Survey,
    ) -> Result<Suite> {
        let spec = &verb.spec;
        let directory = self.directory()?;
        let shown = directory.to_str().context("the directory of the suite is not UTF-8")?;
        let text = self.text();
        let needed = self.needed(spec, shown)?;
        let built = self.file.variants.iter().map(|variant| {
            let is_needed = needed.contains(&variant.name);
            let built = builds::variant(variant, &directory, builder, is_needed);
            built.map_err(|VariantError { keys, error }| match variant.span() {
                // The path came from the command line.
                place if place.is_empty() => error.context(self.path.display().to_string()),
                place => text.wrong(Some(&place), Flaw::value(keys, in_prose(&error))).into(),
            })
        });
        let built: Vec<VariantBuild> = built.collect::<Result<_>>()?;
        let candidates = candidates(text, &self.file, &built, shown)?;
        let listed: Vec<_> =
            candidates.iter().map(|it| listed(it, spec, builder, known)).collect::<Result<_>>()?;
        let SessionOptions { workers, judgement, .. } = &spec.session;
        let guard = Guard::bare(workers.machine.rights);
        let mut around = surroundings(&Host::new(&verb.host_root), &guard, survey, false)?;
        let decides = |it: &Candidate| judgement.decide_on.or(it.policy.decide_on);
        if candidates.iter().any(|it| decides(it) == Some(DecideOn::Instructions)) {
            around.counters = Some(instruction_counters(workers.machine.rights.as_root));
        }
        let suite = decide_suite(text, &self.file, &candidates, &listed, spec, &around)?;
        told_gap(&around, &workers.machine.placement);
        Ok(suite)
    }
}

/// The benchmarks of each of the candidate's programs; empty without programs.
fn listed(
    candidate: &Candidate,
    spec: &BenchSpec,
    builder: &Builder,
    known: &KnownPrograms,
) -> Result<Vec<Vec<ProgramBenchmark>>> {
    let BenchmarkKind::Programs { arms, only } = &candidate.kind else { return Ok(Vec::new()) };
    let workers = &spec.session.workers;
    let user = host::user_of_commands(workers.machine.rights.as_root);
    let timeout = workers.timeout.or(candidate.policy.timeout);
    let programs = match known.of(arms) {
        None => frameworks::listed(arms, user.as_ref(), timeout)?,
        known => known,
    };
    if let Some(mut found) = programs {
        let decides = spec.session.judgement.decide_on.or(candidate.policy.decide_on);
        if decides == Some(DecideOn::Instructions) && !spec.list {
            let all = programs::names(only, &found)?.into_iter();
            let wanted =
                all.filter(|it| is_selected(&candidate.inner_name(it), &candidate.tags, spec));
            let wanted: Vec<String> = wanted.collect();
            frameworks::time_iterations(arms, &mut found, &wanted, user.as_ref(), timeout)?;
        }
        return Ok(found);
    }
    let mut maker = WorkerFactory::new(None, user)?;
    list_benchmarks(&mut maker, arms, timeout, Some(builder.interrupt())).map_err(
        |(index, failure)| {
            if failure.what == FailureCause::Interrupted {
                builder.note_interrupt();
            }
            let arm = &arms[index];
            let program = format!("program {:?} of variant {:?}", arm.command, arm.label());
            anyhow::anyhow!(
                "{}",
                explain_worker(&program, "nothing was measured", &failure, Audience::Suite)
            )
        },
    )
}
