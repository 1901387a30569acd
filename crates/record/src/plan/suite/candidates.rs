//! The candidates of a suite file: parameters are filled in, and each variant has its command, statement or program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::plan::parameters::{Assignment, combinations, substitute};
use crate::plan::programs::PYTHON;
use crate::plan::value::ValueRule;
use crate::plan::workers::WorkerCode;
use crate::plan::{Arm, Role};
use host::Git;
use model::prose::Prose;
use model::spec::RunSpec;
use model::spec::run::{ArmOptions, ExecutionOptions, HookOptions, ProcessOptions, ValueOptions};
use model::spec::suite::{Flaw, Policy, SuiteBenchmark, SuiteFile, SuiteItem, Text, Variant};
use model::values::{ExitStatuses, Percent, Shell};
use model::words::in_prose;

/// Placeholder names that are not parameters.
const RESERVED: [&str; 3] = ["prefix", "python", "variant"];

/// The `input` that is empty instead of a file.
const NO_INPUT: &str = "null";

/// A variant with its checkout and build.
#[derive(Clone, Debug, Default)]
pub struct VariantBuild {
    /// The variant's table in the file.
    pub variant: Variant,
    /// The directories that the blocks use in turns.
    pub directories: Vec<String>,
    pub git: Option<Git>,
    /// Whether each build linked objects that can change places.
    pub is_relinked: bool,
    /// Whether something was built, and not only found.
    pub is_new: bool,
}

/// A benchmark of the file with one combination of parameters. A program may turn out to have several benchmarks.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of the benchmark; for a program, the prefix of its benchmarks' names.
    pub name: String,
    /// Words to select the candidate by.
    pub tags: Vec<String>,
    /// The variants to compare.
    pub variants: Vec<BenchmarkVariant>,
    pub kind: BenchmarkKind,
    /// The key of the file that makes it of this kind.
    pub key: &'static str,
    pub policy: Policy,
    /// Error rate of the whole suite.
    pub alpha: Option<Percent>,
    /// Place in the file, in bytes.
    pub place: Range<usize>,
}

#[derive(Clone, Debug)]
pub struct BenchmarkVariant {
    pub name: String,
    pub directories: Vec<String>,
    pub git: Option<Git>,
    pub environment: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub enum BenchmarkKind {
    /// A command line for each variant, with the options for executing it; `prepare` and `conclude` are one for each, or none.
    Commands(Box<RunSpec>),
    /// A statement for each variant.
    Statements(Vec<Arm>),
    /// A program for each variant, which lists its benchmarks itself.
    Programs {
        /// In the order of the variants.
        arms: Vec<Arm>,
        /// Only these of the programs' benchmarks.
        only: Vec<String>,
    },
}

impl Candidate {
    /// The key in whose value this error is; `None` if no single key is at fault.
    pub fn key_of(&self, error: &anyhow::Error) -> Option<&'static str> {
        if error.is::<shell_words::ParseError>() {
            return Some(self.key);
        }
        let BenchmarkKind::Commands(spec) = &self.kind else { return None };
        let options = &spec.process.execution.value;
        let why = ValueRule::of(options).err()?;
        let key = if options.value.is_some() { "value" } else { "value_json" };
        (in_prose(&why) == in_prose(error)).then_some(key)
    }

    /// The full name of a program's benchmark.
    pub fn inner_name(&self, inner: &str) -> String {
        if self.name.is_empty() { inner.into() } else { format!("{}/{inner}", self.name) }
    }
}

/// The candidates of a suite file in `directory`. Errors: a command cannot be split into words, or parameters have too
/// many combinations or a reserved name.
pub fn candidates(
    text: Text<'_>,
    file: &SuiteFile,
    built: &[VariantBuild],
    directory: &str,
) -> Result<Vec<Candidate>, Prose> {
    let mut all = Vec::new();
    for benchmark in &file.benchmarks {
        let named = benchmark.name.as_ref().or(benchmark.program.as_ref());
        let named = format!("the benchmark {:?}", named.map_or("", String::as_str));
        let wrong = |wrong: Flaw| text.wrong(Some(&benchmark.span()), wrong.of(&named));
        for assignment in assignments(benchmark).map_err(wrong)? {
            let expanded = Expansion { file, benchmark, assignment: &assignment, directory };
            all.push(expanded.candidate(built).map_err(wrong)?);
        }
    }
    Ok(all)
}

fn assignments(benchmark: &SuiteBenchmark) -> Result<Vec<Assignment>, Flaw> {
    let matrix = &benchmark.matrix;
    if let Some(name) = matrix.keys().find(|name| RESERVED.contains(&name.as_str())) {
        let what =
            format!("a parameter cannot be called {name:?}: that is what the variant fills in");
        return Err(Flaw::value(&["matrix", name], what));
    }
    let parameters: Vec<(String, Vec<String>)> = matrix
        .iter()
        .map(|(name, values)| (name.clone(), values.iter().map(|it| it.text.clone()).collect()))
        .collect();
    let found = combinations(&parameters);
    let mut found = found.map_err(|error| Flaw::value(&["matrix"], in_prose(&error)))?;
    // `exclude` compares numbers: 1.0 equals 1, although they are filled in differently.
    let is_left_out = |name: &String, text: &String, value: &str| {
        matrix[name].iter().any(|it| it.text == *text && it.value == value)
    };
    found.retain(|assignment| {
        let value_of = |name: &str| assignment.iter().find(|(other, _)| other == name);
        !benchmark.exclude.iter().any(|left_out| {
            let mut values = left_out.iter();
            values.all(|(name, value)| {
                value_of(name).is_some_and(|(_, text)| is_left_out(name, text, &value.value))
            })
        })
    });
    if found.is_empty() {
        let what = "`exclude` leaves no combination of its parameters";
        return Err(Flaw::value(&["exclude"], what));
    }
    Ok(found)
}

/// A benchmark with one combination of parameters.
struct Expansion<'a> {
    file: &'a SuiteFile,
    benchmark: &'a SuiteItem<SuiteBenchmark>,
    assignment: &'a Assignment,
    directory: &'a str,
}

impl Expansion<'_> {
    fn candidate(&self, built: &[VariantBuild]) -> Result<Candidate, Flaw> {
        let wanted = &self.benchmark.variants;
        let is_wanted = |built: &&VariantBuild| {
            wanted.as_ref().is_none_or(|wanted| wanted.contains(&built.variant.name))
        };
        let variants: Vec<&VariantBuild> = built.iter().filter(is_wanted).collect();
        if variants.is_empty() {
            return Err(Flaw::value(&["variants"], "none of its variants is measured"));
        }
        let compared = |built: &&VariantBuild| BenchmarkVariant {
            name: built.variant.name.clone(),
            directories: built.directories.clone(),
            git: built.git.clone(),
            environment: self.environment(&built.variant),
        };
        let SuiteBenchmark { command, statement, .. } = &**self.benchmark;
        let key = match (command, statement) {
            (Some(_), _) => "command",
            (None, Some(_)) => "statement",
            (None, None) => "program",
        };
        Ok(Candidate {
            name: self.name(),
            tags: self.benchmark.tags.clone(),
            variants: variants.iter().map(compared).collect(),
            kind: self.kind(&variants).map_err(|error| Flaw::value(&[key], in_prose(&error)))?,
            key,
            policy: self.benchmark.policy.or(&self.file.policy),
            alpha: self.file.alpha,
            place: self.benchmark.span(),
        })
    }

    fn name(&self) -> String {
        let template = self.benchmark.name.as_deref().unwrap_or_default();
        let rest = self.assignment.iter();
        let rest = rest.filter(|(name, _)| !template.contains(&format!("{{{name}}}")));
        let rest: Vec<String> = rest.map(|(name, value)| format!("{name}={value}")).collect();
        let name = substitute(template, self.assignment);
        if rest.is_empty() { name } else { format!("{name}[{}]", rest.join(",")) }
    }

    fn fill(&self, template: &str, variant: &Variant) -> String {
        substitute(template, &[self.assignment.as_slice(), &own_values(variant)].concat())
    }

    fn environment(&self, variant: &Variant) -> Vec<(String, String)> {
        let mut variables = variant.env.clone();
        variables.extend(self.benchmark.env.clone());
        let filled = variables.into_iter();
        filled.map(|(name, value)| (name, self.fill(&value, variant))).collect()
    }

    /// Puts the variant's prefix in front, unless the template has a place for it.
    fn with_prefix(&self, template: &str, variant: &Variant) -> String {
        match variant.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            Some(_) if template.contains("{prefix}") || template.contains("{python}") => {
                self.fill(template, variant)
            }
            Some(prefix) => format!("{prefix} {}", self.fill(template, variant)),
            None => self.fill(template, variant).trim_start().to_owned(),
        }
    }

    fn kind(&self, variants: &[&VariantBuild]) -> Result<BenchmarkKind> {
        let benchmark = self.benchmark;
        if let Some(command) = &benchmark.command {
            let commands: Vec<String> =
                variants.iter().map(|it| self.with_prefix(command, &it.variant)).collect();
            ensure!(
                !command.trim_start().starts_with("{prefix}")
                    || commands.iter().all(|it| !it.is_empty() && !it.starts_with('-')),
                "`{{prefix}}` is empty; a [[variant]] gives it with `prefix`"
            );
            return Ok(BenchmarkKind::Commands(Box::new(self.run_spec(commands, variants))));
        }
        if let Some(statement) = &benchmark.statement {
            let arms = variants.iter().map(|it| self.statement(statement, it));
            return Ok(BenchmarkKind::Statements(arms.collect::<Result<_>>()?));
        }
        let program = benchmark.program.as_deref().unwrap_or_default();
        let arms = variants.iter().map(|it| self.program(program, it));
        let only = benchmark.only.iter().map(|name| substitute(name, self.assignment));
        Ok(BenchmarkKind::Programs { arms: arms.collect::<Result<_>>()?, only: only.collect() })
    }

    fn run_spec(&self, commands: Vec<String>, variants: &[&VariantBuild]) -> RunSpec {
        let benchmark = self.benchmark;
        let once = |text: &Option<String>| Some(substitute(text.as_deref()?, self.assignment));
        let each = |text: &Option<String>| match text {
            Some(text) => variants.iter().map(|it| self.fill(text, &it.variant)).collect(),
            None => Vec::new(),
        };
        let execution = ExecutionOptions {
            input: once(&benchmark.input).map(|input| self.input(input)),
            expect_exit: benchmark.expect_exit.clone().map(ExitStatuses),
            value: ValueOptions {
                value: once(&benchmark.value),
                value_json: once(&benchmark.value_json),
                value_file: once(&benchmark.value_file),
                value_unit: benchmark.value_unit.clone(),
                value_better: benchmark.value_better,
            },
            ..ExecutionOptions::default()
        };
        RunSpec {
            commands,
            arms: ArmOptions {
                command_names: variants.iter().map(|it| it.variant.name.clone()).collect(),
                shell: benchmark.shell.map(|in_shell| match in_shell {
                    true => Shell::Words(vec!["sh".into()]),
                    false => Shell::None,
                }),
                ..ArmOptions::default()
            },
            hooks: HookOptions {
                setup: once(&benchmark.setup),
                prepare: each(&benchmark.prepare),
                conclude: each(&benchmark.conclude),
                cleanup: once(&benchmark.cleanup),
                validate: once(&benchmark.validate),
                cold_cache: false,
            },
            process: ProcessOptions { execution, ..ProcessOptions::default() },
            ..RunSpec::default()
        }
    }

    /// Converts as `run --input` does, with paths relative to the suite file's directory.
    fn input(&self, input: String) -> String {
        if input == NO_INPUT {
            return input;
        }
        Path::new(self.directory).join(input).to_string_lossy().into_owned()
    }

    fn statement(&self, statement: &str, built: &VariantBuild) -> Result<Arm> {
        let (benchmark, variant) = (self.benchmark, &built.variant);
        let python = variant.python.as_deref().unwrap_or(PYTHON);
        let argv = words(python).context("its interpreter")?;
        let duplicate = benchmark.duplicate.unwrap_or(1);
        let inner_loops = benchmark.inner_loops.unwrap_or(1);
        let statement = self.fill(statement, variant);
        Ok(Arm {
            name: Some(variant.name.clone()),
            argv,
            benchmark: Some(self.name()),
            inner_loops: inner_loops
                .checked_mul(u64::from(duplicate))
                .context("inner_loops times duplicate is too large")?,
            source: Some(WorkerCode {
                setup: self.fill(&benchmark.code_setup.text(), variant),
                teardown: self.fill(&benchmark.code_teardown.text(), variant),
                duplicate,
                statement: statement.clone(),
            }),
            directories: built.directories.clone(),
            ..Arm::bare(&statement, Role::Candidate)
        })
    }

    fn program(&self, program: &str, built: &VariantBuild) -> Result<Arm> {
        let command = self.with_prefix(program, &built.variant);
        Ok(Arm {
            name: Some(built.variant.name.clone()),
            argv: words(&command)?,
            directories: built.directories.clone(),
            environment: self.environment(&built.variant),
            ..Arm::bare(&command, Role::Candidate)
        })
    }
}

/// The placeholders of a variant with their values.
fn own_values(variant: &Variant) -> [(String, String); 3] {
    let own = [
        ("prefix", variant.prefix.as_deref().unwrap_or_default()),
        ("python", variant.python.as_deref().unwrap_or(PYTHON)),
        ("variant", variant.name.as_str()),
    ];
    own.map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The variables of a variant, for its build.
pub fn environment_of(variant: &Variant) -> BTreeMap<String, String> {
    let own = own_values(variant);
    let filled = |(name, value): (&String, &String)| (name.clone(), substitute(value, &own));
    variant.env.iter().map(filled).collect()
}

fn words(command: &str) -> Result<Vec<String>> {
    let words = shell_words::split(command).with_context(|| format!("{command:?}"))?;
    ensure!(words.first().is_some_and(|word| !word.is_empty()), "there is no program to execute");
    Ok(words)
}
