//! The programs of both builds in pairs, and the new, missing and unchanged ones.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, Result, bail, ensure};

use crate::cmd::frameworks::time_iterations;
use host::sys::User;
use host::user_of_commands;
use measure::harnesses::{
    Asker, BenchmarkList, CpuTime, benchmarks, no_exact_iterations, recognise,
};
use model::harness::{Harness, lists_by_running};
use model::prose::Prose;
use model::spec::{GateSelection, GateVerb};
use model::words::text_of;
use record::plan::programs::ProgramBenchmark;
use record::plan::{Arm, Role};

use super::files::{BuiltFiles, file_named};
use super::same::{Libraries, Sameness};
use super::timeout;
use super::trees::Trees;
use super::unknown::{no_program, run_instead};
use super::workers::worker_benchmarks;

/// A list that takes longer executes benchmarks.
const START_MAX_NS: u64 = 30_000_000;
/// The kernel tells a short process's own part of its CPU time by chance, so it takes several.
const N_STARTS: u64 = 16;

/// A program of both builds.
#[derive(Clone)]
pub(super) struct Pair {
    /// Path without hash, or a command.
    pub name: String,
    /// The files of the old and the new build; `None` for a command that both execute.
    pub files: Option<[PathBuf; 2]>,
    /// The benchmarks in both builds, as each build lists them.
    pub common: [Vec<ProgramBenchmark>; 2],
    /// CPU time of the old program for its list.
    pub listing: CpuTime,
    /// Why its instructions cannot be counted.
    pub no_counts: Option<&'static str>,
}

impl Pair {
    /// CPU time of a start of the old program, as its list needs it: the mean of some; `None` if the list is more.
    pub(super) fn start(&self, verb: &GateVerb, trees: &Trees) -> Option<CpuTime> {
        if self.listing.all_ns > START_MAX_NS {
            return None;
        }
        let harness = self.common[0].first()?.harness?;
        let user = user_of_commands(verb.machine.rights.as_root);
        let file = self.files.as_ref().map(|files| &files[0]);
        let arm = arm_of(trees, 0, &self.name, file).ok()?;
        let asker = asker(verb, user.as_ref());
        let started = (0..N_STARTS).map(|_| Some(benchmarks(harness, &arm, asker).ok()?.cpu));
        let started: Vec<CpuTime> = started.collect::<Option<_>>()?;
        let mean = |ns: fn(&CpuTime) -> u64| started.iter().map(ns).sum::<u64>() / N_STARTS;
        Some(CpuTime { all_ns: mean(|it| it.all_ns), system_ns: mean(|it| it.system_ns) })
    }

    /// Expected CPU time of a process of one benchmark without its iterations, ns: the list takes no less.
    pub(super) fn process_ns(&self) -> f64 {
        let all_ns = self.listing.all_ns as f64;
        let is_run = self.common[0].iter().any(|it| it.harness.is_some_and(lists_by_running));
        if is_run { all_ns / self.common[0].len() as f64 } else { all_ns }
    }

    /// Measures the time of an iteration of each benchmark.
    pub(super) fn time_iterations(&mut self, verb: &GateVerb, trees: &Trees) -> Result<()> {
        let file = |side: usize| self.files.as_ref().map(|files| &files[side]);
        let arms = (0..2).map(|side| arm_of(trees, side, &self.name, file(side)));
        let arms: Vec<Arm> = arms.collect::<Result<_, _>>().map_err(Error::msg)?;
        let names: Vec<String> = self.common[0].iter().map(|it| it.name.clone()).collect();
        let user = user_of_commands(verb.machine.rights.as_root);
        time_iterations(&arms, &mut self.common, &names, user.as_ref(), Some(timeout(verb)))
    }

    /// The benchmarks of all pairs, with their names in the gate.
    pub(super) fn all_named(pairs: &[Self]) -> impl Iterator<Item = (String, &ProgramBenchmark)> {
        let named = |pair: &Self, listed: &ProgramBenchmark| match pairs.len() {
            1 => listed.name.clone(),
            _ => format!("{}/{}", pair.name, listed.name),
        };
        let all = pairs.iter().flat_map(|pair| pair.common[0].iter().map(move |it| (pair, it)));
        all.map(move |(pair, listed)| (named(pair, listed), listed))
    }

    /// This pair with only these benchmarks, each with the time of an iteration.
    pub(super) fn with(&self, kept: &[(String, Option<f64>)]) -> Self {
        let of = |list: &Vec<ProgramBenchmark>| {
            let one = |it: &ProgramBenchmark| {
                let (_, iteration_ns) = kept.iter().find(|(name, _)| *name == it.name)?;
                Some(ProgramBenchmark { iteration_ns: *iteration_ns, ..it.clone() })
            };
            list.iter().filter_map(one).collect()
        };
        let [old, new] = &self.common;
        let common = [of(old), of(new)];
        Self { common, ..self.clone() }
    }
}

/// The programs that are measured, and those that are not.
#[derive(Default)]
pub(super) struct Changes {
    /// Programs that differ.
    pub pairs: Vec<Pair>,
    /// Programs that are byte for byte the same.
    pub same: Vec<String>,
    /// Programs that differ only in the build's directory or number, or in parts that are not loaded.
    pub same_loaded: Vec<String>,
    /// Programs and benchmarks of the new build alone.
    pub new: Vec<String>,
    /// Programs and benchmarks of the old build alone.
    pub gone: Vec<String>,
    /// Programs that failed to list benchmarks, with the reason.
    pub failing: Vec<String>,
    /// Benchmarks that the user leaves out.
    pub left_out: Vec<String>,
}

impl Changes {
    /// Finds all programs, or the named ones. Errors: a named one is in neither build, or there is none at all.
    pub(super) fn find(trees: &Trees, verb: &GateVerb) -> Result<Self> {
        let mut all = Self::default();
        let [old, new] = [0, 1].map(|side| BuiltFiles::below(&trees.directories[side]));
        let libraries = Libraries::new(&trees.directories, [old.libraries, new.libraries]);
        let finder = Finder { trees, verb, libraries };
        if verb.programs.is_empty() {
            let [old, new] = [old.programs, new.programs];
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                all.take(&finder, name, [old.get(name), new.get(name)], false)?;
            }
        }
        for name in &verb.programs {
            let files = [0, 1].map(|side| file_named(&trees.directories[side], name));
            let is_command = files.iter().all(Option::is_none) && name.contains(' ');
            ensure!(
                is_command || files.iter().any(Option::is_some),
                "there is no program {name:?} in {}",
                trees.shown()
            );
            all.take(&finder, name, [files[0].as_ref(), files[1].as_ref()], true)?;
        }
        all.leave_out(verb)?;
        let lists = [&mut all.same, &mut all.same_loaded, &mut all.new, &mut all.gone];
        let n_found: usize = lists.iter().map(|names| names.len()).sum();
        lists.into_iter().for_each(|names| names.sort());
        if n_found + all.pairs.len() + all.failing.len() == 0 {
            bail!(no_program(verb, trees));
        }
        Ok(all)
    }

    /// Applies --only and --skip to the benchmarks. Errors: none is left.
    fn leave_out(&mut self, verb: &GateVerb) -> Result<()> {
        let is_wanted = |name: &str| {
            (verb.only.is_empty() || verb.only.iter().any(|it| it.is_in(name)))
                && !verb.skip.iter().any(|it| it.is_in(name))
        };
        let n_before = self.pairs.len();
        let mut known = Vec::new();
        for pair in &mut self.pairs {
            for listed in &pair.common[0] {
                let name = format!("{}: {}", pair.name, listed.name);
                self.left_out.extend((!is_wanted(&name)).then(|| name.clone()));
                known.push(name);
            }
            for list in &mut pair.common {
                list.retain(|it| is_wanted(&format!("{}: {}", pair.name, it.name)));
            }
        }
        self.pairs.retain(|pair| !pair.common[0].is_empty());
        ensure!(
            n_before == 0 || !self.pairs.is_empty(),
            "no benchmark is left by --only and --skip; there are {}",
            known.join(", ")
        );
        Ok(())
    }

    /// Whether everything measurable is missing from one of the builds.
    pub(super) fn is_in_one_build_alone(&self) -> bool {
        let others = [&self.same, &self.same_loaded, &self.failing];
        let is_alone = !self.gone.is_empty() || !self.new.is_empty();
        self.pairs.is_empty() && others.iter().all(|it| it.is_empty()) && is_alone
    }

    /// Adds one program. `is_named`: the user named it, so it has to have benchmarks.
    fn take(
        &mut self,
        finder: &Finder<'_>,
        name: &str,
        files: [Option<&PathBuf>; 2],
        is_named: bool,
    ) -> Result<()> {
        let listed = |side: usize| finder.listed(side, name, files[side], is_named);
        let has = |list: &[ProgramBenchmark], it: &ProgramBenchmark| {
            list.iter().any(|other| other.name == it.name)
        };
        if let Some(same) = self.list_unchanged(finder, files)? {
            // A test program without benchmarks does not matter.
            same.extend(has_some(listed(0)).then(|| name.into()));
            return Ok(());
        }
        match files {
            [Some(_), None] => {
                let has_some = has_some(listed(0));
                self.gone.extend(has_some.then(|| name.into()));
                return Ok(());
            }
            [None, Some(_)] => {
                match listed(1) {
                    Ok(Some(BenchmarkList { failure: Some(why), .. })) | Err(why) => {
                        self.failing.push(format!("{name} (head): {}", joined(&why)));
                    }
                    found => self.new.extend(has_some(found).then(|| name.into())),
                }
                return Ok(());
            }
            _ => {}
        }
        match (listed(0), listed(1)) {
            (Ok(old), Ok(None))
                if !is_named && old.as_ref().is_none_or(BenchmarkList::is_empty) => {}
            (Ok(_), Ok(None)) => {
                let serves = run_instead(finder.verb, name);
                self.failing
                    .push(format!("{name} (head): it is of no framework that is known; {serves}"));
            }
            (Ok(old), Ok(Some(new))) => {
                let old = old.unwrap_or_default();
                let listing = old.cpu;
                let harness = old.benchmarks.first().and_then(|it| it.harness);
                let no_counts = harness.and_then(|it| finder.no_counts(it, name, files[0]));
                // Ignore failures that occur in both builds when both list the same benchmarks.
                let is_same = old
                    .benchmarks
                    .iter()
                    .map(|it| &it.name)
                    .eq(new.benchmarks.iter().map(|it| &it.name));
                if let Some(why) = new.failure.filter(|_| old.failure.is_none() || !is_same) {
                    self.failing.push(format!("{name} (head): {}", joined(&why)));
                }
                let (old, new) = (old.benchmarks, new.benchmarks);
                let (old, gone): (Vec<_>, Vec<_>) = old.into_iter().partition(|it| has(&new, it));
                let (new, added): (Vec<_>, Vec<_>) = new.into_iter().partition(|it| has(&old, it));
                let of = |benchmark: &ProgramBenchmark| format!("{name}: {}", benchmark.name);
                self.gone.extend(gone.iter().map(of));
                self.new.extend(added.iter().map(of));
                let common = [old, new];
                // A command has no files.
                let [old, new] = files.map(|file| file.cloned());
                let files = old.zip(new).map(<[PathBuf; 2]>::from);
                if !common[0].is_empty() {
                    self.pairs.push(Pair { name: name.into(), files, common, listing, no_counts });
                }
            }
            (Err(why), _) => self.failing.push(format!("{name} (base): {}", joined(&why))),
            (_, Err(why)) => self.failing.push(format!("{name} (head): {}", joined(&why))),
        }
        Ok(())
    }

    /// The list for an unchanged program, which is not measured.
    fn list_unchanged(
        &mut self,
        finder: &Finder<'_>,
        files: [Option<&PathBuf>; 2],
    ) -> Result<Option<&mut Vec<String>>> {
        let [Some(old), Some(new)] = files else { return Ok(None) };
        if finder.verb.select == Some(GateSelection::All) {
            return Ok(None);
        }
        Ok(match finder.libraries.compare([old, new])? {
            Sameness::Bytes => Some(&mut self.same),
            Sameness::Loaded => Some(&mut self.same_loaded),
            Sameness::Different => None,
        })
    }
}

/// The builds and options of a search for programs.
struct Finder<'a> {
    trees: &'a Trees,
    verb: &'a GateVerb,
    libraries: Libraries,
}

impl Finder<'_> {
    /// Why the instructions of a program's benchmarks cannot be counted, if the program tells.
    fn no_counts(
        &self,
        harness: Harness,
        name: &str,
        file: Option<&PathBuf>,
    ) -> Option<&'static str> {
        let user = user_of_commands(self.verb.machine.rights.as_root);
        let arm = arm_of(self.trees, 0, name, file).ok()?;
        no_exact_iterations(harness, &arm, asker(self.verb, user.as_ref())).ok()?
    }

    /// The benchmarks of a program in a build; `None` if it has none: a file may only look like a benchmark program.
    fn listed(
        &self,
        side: usize,
        name: &str,
        file: Option<&PathBuf>,
        is_named: bool,
    ) -> Result<Option<BenchmarkList>, String> {
        let arm = arm_of(self.trees, side, name, file)?;
        let user = user_of_commands(self.verb.machine.rights.as_root);
        let asker = asker(self.verb, user.as_ref());
        let words = |why: Prose| why.to_string();
        let Some(harness) = recognise(&arm, asker).map_err(words)? else {
            return worker_benchmarks(self.verb, &arm, is_named);
        };
        let list = benchmarks(harness, &arm, asker).map_err(words)?;
        let is_empty = list.is_empty();
        match (list.failure, is_empty) {
            (Some(why), true) => Err(why),
            (None, true) if is_named => {
                Err(format!("asked for its {} benchmarks, it lists no benchmark", harness.name()))
            }
            (failure, _) => Ok(Some(BenchmarkList { failure, ..list })),
        }
    }
}

/// A program of a build, to be asked.
fn arm_of(trees: &Trees, side: usize, name: &str, file: Option<&PathBuf>) -> Result<Arm, String> {
    let argv = match file {
        Some(file) => vec![text_of(file.as_os_str().as_encoded_bytes())],
        None => shell_words::split(name).map_err(|error| error.to_string())?,
    };
    let directories = vec![trees.directories[side].to_string_lossy().into_owned()];
    Ok(Arm { argv, directories, ..Arm::bare(name, Role::Candidate) })
}

fn asker<'a>(verb: &GateVerb, user: Option<&'a User>) -> Asker<'a> {
    Asker { run_as: user, limit: Duration::from_nanos(timeout(verb).ns) }
}

fn has_some(listed: Result<Option<BenchmarkList>, String>) -> bool {
    listed.is_ok_and(|list| list.is_some_and(|list| !list.is_empty()))
}

/// A reason with the program's message, on one line.
fn joined(why: &str) -> String {
    let lines = why.lines().map(|line| line.trim_start_matches([' ', '|']).trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
