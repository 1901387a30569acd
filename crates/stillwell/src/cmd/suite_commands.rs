//! `--suite` of `campaign` and `race`: the commands of a suite in place of one command.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use host::user_files::read_text;
use model::spec::RunSpec;
use model::spec::run::ValueOptions;
use model::spec::suite::{Flaw, SuiteFile, Text, Variant, parse};
use record::plan::suite::{BenchmarkKind, BenchmarkVariant, Candidate, VariantBuild, candidates};
use record::plan::{ARM_WORD, ArmPlace};

/// Hooks are given per benchmark; this command does nothing.
const NOTHING: &str = ":";

/// A suite as it was when the work began: later edits of the file do not matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSuite {
    path: PathBuf,
    text: String,
    /// The directory of its commands, unless they are built.
    directory: String,
}

/// The commands of a suite for some programs: for each benchmark one for each program, in the same order.
pub struct SuiteCommands {
    pub spec: RunSpec,
    /// Names of the benchmarks.
    names: Vec<String>,
    programs: Vec<BenchmarkVariant>,
    directory: String,
}

/// A program as a variant of a suite; its commands begin with `prefix`.
pub fn prefixed(name: &str, prefix: &str) -> VariantBuild {
    let (name, prefix) = (name.to_owned(), Some(prefix.to_owned()));
    let variant = Variant { name, prefix, ..Variant::default() };
    VariantBuild { variant, ..VariantBuild::default() }
}

impl KeptSuite {
    /// Errors: the file cannot be read, or its benchmarks cannot be measured together.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = read_text(path).with_context(|| format!("cannot read {shown}"))?;
        let path = path.canonicalize().with_context(|| format!("cannot find {shown}"))?;
        let directory = path.parent().unwrap_or(Path::new("/")).to_str();
        let directory = directory.with_context(|| format!("{shown} is not UTF-8"))?.to_owned();
        Ok(Self { path, text, directory })
    }

    /// Names of the benchmarks. Errors: the file has a mistake, or its benchmarks cannot be measured together.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.commands(&[])?.names)
    }

    /// The value that all of its commands say. Errors: see [`Self::names`].
    pub fn value(&self) -> Result<ValueOptions> {
        Ok(self.commands(&[])?.spec.process.execution.value)
    }

    pub fn directory(&self) -> &Path {
        Path::new(&self.directory)
    }

    /// The suite's own variants.
    pub fn variants(&self) -> Result<Vec<Variant>> {
        let file: SuiteFile = parse(self.text())?;
        Ok(file.variants.iter().map(|variant| Variant::clone(variant)).collect())
    }

    fn text(&self) -> Text<'_> {
        Text { path: &self.path, text: &self.text }
    }

    /// The commands of these programs. Errors: see [`Self::names`].
    pub fn commands(&self, programs: &[VariantBuild]) -> Result<SuiteCommands> {
        let nothing = [VariantBuild::default()];
        let programs = if programs.is_empty() { &nothing } else { programs };
        let mut file: SuiteFile = parse(self.text())?;
        // All of these variants, instead of the suite's own.
        file.benchmarks.iter_mut().for_each(|benchmark| benchmark.variants = None);
        let candidates = candidates(self.text(), &file, programs, &self.directory)?;
        let mut session = Together::default();
        for candidate in &candidates {
            session.add(candidate).map_err(|flaw| {
                let flaw = flaw.of(&format!("the benchmark {:?}", candidate.name));
                self.text().wrong(Some(&candidate.place), flaw)
            })?;
        }
        let variants = candidates.first().map(|candidate| candidate.variants.clone());
        let names = candidates.into_iter().map(|candidate| candidate.name).collect();
        let (directory, spec) = (self.directory.clone(), session.finish(programs.len()));
        Ok(SuiteCommands { spec, names, programs: variants.unwrap_or_default(), directory })
    }
}

impl SuiteCommands {
    /// The place of each command, with at least one directory. The start of a shell is in the times of all: nothing can be
    /// subtracted from a geometric mean.
    pub fn places(&self) -> impl Iterator<Item = ArmPlace> {
        let of_benchmark = |benchmark: &String| {
            let place = |program: &BenchmarkVariant| {
                let mut directories = program.directories.clone();
                if directories.is_empty() {
                    directories.push(self.directory.clone());
                }
                let (name, git) = (program.name.clone(), program.git.clone());
                ArmPlace { name, benchmark: benchmark.clone(), directories, git }
            };
            self.programs.iter().map(place).collect::<Vec<_>>()
        };
        self.names.iter().flat_map(of_benchmark)
    }
}

/// The benchmarks of a suite in one session.
#[derive(Default)]
struct Together {
    spec: RunSpec,
    names: HashSet<String>,
    setups: Vec<String>,
    cleanups: Vec<String>,
    /// One for each benchmark, or none.
    validates: Vec<String>,
}

impl Together {
    fn add(&mut self, candidate: &Candidate) -> Result<(), Flaw> {
        let BenchmarkKind::Commands(own) = &candidate.kind else {
            let what = format!(
                "only commands of a suite can be measured together; this is a {}",
                candidate.key
            );
            return Err(Flaw::key(candidate.key, what));
        };
        if !self.names.insert(candidate.name.clone()) {
            return Err(Flaw::value(&["name"], "another benchmark has this name"));
        }
        self.take_common(own)?;
        let (spec, RunSpec { commands, hooks, .. }) = (&mut self.spec, &**own);
        let lists = [
            (&mut spec.hooks.prepare, &hooks.prepare),
            (&mut spec.hooks.conclude, &hooks.conclude),
        ];
        for (all, own) in lists {
            match own.as_slice() {
                [] => all.extend(commands.iter().map(|_| NOTHING.to_owned())),
                own => all.extend_from_slice(own),
            }
        }
        let words = |environment: &Vec<(String, String)>| {
            shell_words::join(environment.iter().map(|(name, value)| format!("{name}={value}")))
        };
        let variables = candidate.variants.iter().map(|variant| words(&variant.environment));
        spec.process.execution.env.extend(variables);
        spec.commands.extend_from_slice(commands);
        self.setups.extend(hooks.setup.clone());
        self.cleanups.extend(hooks.cleanup.clone());
        self.validates.extend(hooks.validate.clone());
        match self.validates.len() {
            0 => Ok(()),
            n if n == self.names.len() => Ok(()),
            _ => Err(Flaw::whole(
                "some benchmarks have `validate` and others do not; they are measured together, so all need it or none",
            )),
        }
    }

    /// Takes the options that all benchmarks must share, because a session has them once.
    fn take_common(&mut self, asked: &RunSpec) -> Result<(), Flaw> {
        let (has, own) = (&mut self.spec.process.execution, &asked.process.execution);
        if self.names.len() == 1 {
            *has = own.clone();
            self.spec.arms.shell.clone_from(&asked.arms.shell);
            return Ok(());
        }
        let differs = [
            ("shell", self.spec.arms.shell != asked.arms.shell),
            ("input", has.input != own.input),
            ("expect_exit", has.expect_exit != own.expect_exit),
            ("value", has.value != own.value),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((key, _)) => Err(Flaw::value(
                &[key],
                format!(
                    "its `{key}` is not that of the first benchmark; they are measured together, so all need one"
                ),
            )),
        }
    }

    fn finish(self, n_programs: usize) -> RunSpec {
        let mut spec = self.spec;
        for all in [&mut spec.hooks.prepare, &mut spec.hooks.conclude] {
            if all.iter().all(|hook| hook == NOTHING) {
                all.clear();
            }
        }
        if spec.process.execution.env.iter().all(String::is_empty) {
            spec.process.execution.env.clear();
        }
        let in_subshells = |hooks: Vec<String>, joint: &str| {
            let hooks: Vec<String> = hooks.iter().map(|hook| format!("({hook}\n)")).collect();
            (!hooks.is_empty()).then(|| hooks.join(joint))
        };
        spec.hooks.setup = in_subshells(self.setups, " &&\n");
        spec.hooks.cleanup = in_subshells(self.cleanups, "\n");
        if !self.validates.is_empty() {
            let mut text = format!("case {ARM_WORD} in\n");
            for (benchmark, validate) in self.validates.iter().enumerate() {
                let arms = benchmark * n_programs..(benchmark + 1) * n_programs;
                let arms: Vec<String> = arms.map(|arm| arm.to_string()).collect();
                writeln!(text, "{}) {validate}\n;;", arms.join("|")).ok();
            }
            spec.hooks.validate = Some(text + "esac");
        }
        spec
    }
}
