//! Programs of benchmark frameworks in `bench` and suites.
#![expect(clippy::disallowed_methods, reason = "links to programs")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use host::sys::User;
use host::terminal;
use measure::harnesses::{Asker, benchmarks, iteration_ns, recognise};
use model::prose::{Prose, prose};
use model::values::TimeSpan;
use record::plan::defaults::ASKING;
use record::plan::programs::ProgramBenchmark;
use record::plan::{Arm, Plan};

/// Measures the time of an iteration of each benchmark, with one process of the first program that has the benchmark.
/// A count needs it to choose iterations of some milliseconds. Errors: a program does not end in time.
pub fn time_iterations(
    programs: &[Arm],
    benchmarks: &mut [Vec<ProgramBenchmark>],
    names: &[String],
    user: Option<&User>,
    timeout: Option<TimeSpan>,
) -> Result<()> {
    let asker = Asker { run_as: user, limit: Duration::from_nanos(timeout.unwrap_or(ASKING).ns) };
    for name in names {
        let is_known =
            benchmarks.iter().flatten().any(|it| it.name == *name && it.iteration_ns.is_some());
        let of_first = benchmarks.iter_mut().zip(programs).find_map(|(listed, program)| {
            Some((listed.iter_mut().find(|it| it.name == *name)?, program))
        });
        let Some((listed, program)) = of_first.filter(|_| !is_known) else { continue };
        if let Some(harness) = listed.harness {
            let timed = iteration_ns(harness, program, name, asker);
            listed.iteration_ns = timed.map_err(|why| anyhow!("{name}: {why}"))?;
        }
    }
    Ok(())
}

/// The directory of links to the programs, in the directory of a gate's results.
pub const PROGRAMS: &str = "programs";

/// A gate's plan with the kept links in `directory` of its results: the plan's own links no longer exist.
pub fn with_kept_programs(plan: Plan, directory: &Path) -> Plan {
    plan.with_words(|word| {
        let path = Path::new(word);
        let mut parts = path.iter().rev();
        let (index, side) = (parts.next()?, parts.next()?);
        let kept = directory.join(PROGRAMS).join(side).join(index);
        let file = (!path.exists()).then(|| std::fs::read_link(kept).ok()).flatten()?;
        Some(file.to_string_lossy().into_owned())
    })
}

/// A gate's knowledge of its programs before its suite begins, and what no record of the suite tells it.
#[derive(Debug, Default)]
pub struct KnownPrograms {
    /// The listed benchmarks by words and directory. Each program lists them once, because pytest and Java need
    /// seconds.
    lists: BTreeMap<(Vec<String>, String), Vec<ProgramBenchmark>>,
    /// Links in the directory of the results, each with its target. The links of the session end with it.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Programs that did not list their benchmarks, with the reason.
    pub failing: Vec<String>,
    /// Whether the directory of the results exists: it has the sums that the gate has counted.
    pub has_directory: bool,
    /// The failed benchmarks of a suite without a single finished run, with the reason.
    pub failed: Vec<String>,
}

impl KnownPrograms {
    pub fn keep(&mut self, argv: Vec<String>, directory: &str, list: Vec<ProgramBenchmark>) {
        self.lists.insert((argv, directory.to_owned()), list);
    }

    pub fn link_into(&self, directory: &Path) -> Result<()> {
        for (place, file) in &self.links {
            let link = directory.join(place);
            let made = || -> std::io::Result<()> {
                std::fs::create_dir_all(link.parent().unwrap_or(directory))?;
                std::os::unix::fs::symlink(file, &link)
            };
            made().with_context(|| format!("cannot link {}", link.display()))?;
        }
        Ok(())
    }

    /// The lists of these programs; `None` if any is unknown.
    pub fn of(&self, programs: &[Arm]) -> Option<Vec<Vec<ProgramBenchmark>>> {
        let list = |program: &Arm| {
            let directory = program.directory(None).unwrap_or_default().to_owned();
            self.lists.get(&(program.argv.clone(), directory)).cloned()
        };
        programs.iter().map(list).collect()
    }
}

/// The benchmarks of each program; `None` if no program is of a known framework, so that all speak the worker protocol.
/// Errors: only some programs are of a framework, or one has no benchmark or does not answer in time.
pub fn listed(
    programs: &[Arm],
    user: Option<&User>,
    timeout: Option<TimeSpan>,
) -> Result<Option<Vec<Vec<ProgramBenchmark>>>> {
    let asker = Asker { run_as: user, limit: Duration::from_nanos(timeout.unwrap_or(ASKING).ns) };
    let wrong = |index: usize, why: Prose| {
        let program = format!("program {} ({:?}): ", index + 1, programs[index].label());
        prose![(program) (why) "; nothing was measured"]
    };
    let mut harnesses = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        harnesses.push(recognise(program, asker).map_err(|why| wrong(index, why))?);
    }
    let Some((first, harness)) =
        harnesses.iter().enumerate().find_map(|(index, known)| Some((index, (*known)?)))
    else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for (index, (program, known)) in programs.iter().zip(&harnesses).enumerate() {
        let Some(known) = known else {
            // `target/release/deps/NAME-*` matches it too.
            let is_list = program.argv.first().is_some_and(|file| file.ends_with(".d"));
            let why = if is_list {
                "is a file in which Cargo notes dependencies; leave it out"
            } else {
                "is of no framework that is known; compare them apart"
            };
            bail!(
                "program {} ({:?}) is of {}, and program {} ({:?}) {why}",
                first + 1,
                programs[first].label(),
                harness.name(),
                index + 1,
                program.label()
            );
        };
        let list = benchmarks(*known, program, asker).map_err(|why| wrong(index, why))?;
        let name = known.name();
        match list.failure {
            Some(why) if list.benchmarks.is_empty() => bail!(wrong(index, why.into())),
            None if list.benchmarks.is_empty() => {
                let why = format!("asked for its {name} benchmarks, it lists no benchmark");
                bail!(wrong(index, why.into()));
            }
            Some(why) => {
                let label = programs[index].label();
                terminal::say_bare(format!("note: {label:?} may have more benchmarks: {why}"));
            }
            None => {}
        }
        all.push(list.benchmarks);
    }
    Ok(Some(all))
}
