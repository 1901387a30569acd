//! Makes the commands of a plan: finds programs, builds environments, chooses streams.
#![expect(clippy::disallowed_methods, reason = "looks at files")]

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use crate::jobs::is_undercover;
use crate::prepared::is_telling;
use crate::valgrind::{COUNT, CountTask, HALF};
use crate::value::ValueTask;
use crate::wire::{Bytes, Command, StderrTarget, StdoutTarget};
use crate::{programs, stepped_clock};
use host::sys::{self, User};
use host::user_files::refuse_strange_links;
use model::harness::{RESULT_FILE, chooses_by_clock, has_runtime, readings};
use model::prose::{Prose, prose};
use model::values::OutputTarget;
use model::words::bytes_of;
use record::plan::{Arm, Plan, ValueRule, ValueSource, for_arm};

/// Shell for hooks when commands are executed directly.
const HOOK_SHELL: &str = "sh";

/// The environments and the commands of a plan.
#[derive(Debug)]
pub struct Commands {
    /// Each different set of variables once.
    environments: Vec<Vec<Bytes>>,
    environment_of_arm: Vec<u32>,
    stdin: Option<Bytes>,
    hook_shell: Vec<String>,
    loud: Vec<bool>,
    /// The user of the commands, if not our own.
    run_as: Option<User>,
    files: OwnFiles,
}

/// Paths of the temporary files and directories of the runs.
#[derive(Debug)]
pub struct OwnFiles {
    /// For the standard output of runs, to validate it or to find their value.
    pub stdout: Option<Bytes>,
    /// For the value that runs write.
    pub result: Option<Bytes>,
    /// Directory for valgrind's files.
    pub counts: Option<Bytes>,
}

impl Commands {
    /// Builds the environments of all arms. Programs are searched for later, because a setup hook may build them.
    pub fn new(plan: &Plan, run_as: Option<&User>, files: OwnFiles) -> Self {
        let mut inherited = host::environment_for(run_as);
        if is_undercover(plan) {
            inherited.retain(|(name, _)| !is_telling(name.as_bytes()));
        }
        let mut distinct: Vec<Vec<(String, String)>> = Vec::new();
        let environment_of_arm = plan
            .arms
            .iter()
            .map(|arm| {
                let mut environment = plan.process.environment_of(arm);
                if let Some(file) = files.result.as_ref().filter(|_| has_own_file(arm)) {
                    let file = String::from_utf8_lossy(file);
                    let values = environment.iter_mut().map(|(_, value)| value);
                    values.for_each(|value| *value = value.replace(RESULT_FILE, &file));
                }
                let known = distinct.iter().position(|set| *set == environment);
                let index = known.unwrap_or_else(|| {
                    distinct.push(environment);
                    distinct.len() - 1
                });
                u32::try_from(index)
                    .expect("fewer environments than arms, which are counted in u32")
            })
            .collect();
        Self {
            environments: distinct.iter().map(|set| environment(&inherited, set)).collect(),
            environment_of_arm,
            stdin: plan.input.as_ref().map(|path| path.clone().into_bytes()),
            hook_shell: plan.shell.clone().unwrap_or_else(|| vec![HOOK_SHELL.into()]),
            loud: vec![false; plan.arms.len()],
            run_as: run_as.cloned(),
            files,
        }
    }

    pub fn environments(&self) -> &[Vec<Bytes>] {
        &self.environments
    }

    /// Stops keeping the arm's standard error, because it is too long.
    pub fn mark_loud(&mut self, arm: usize) {
        self.loud[arm] = true;
    }

    /// The command of an arm. Errors: there is no such program.
    pub fn arm_command(
        &self,
        plan: &Plan,
        arm: usize,
        block: Option<u32>,
    ) -> Result<Command, Prose> {
        let Arm { output, accept, role, value, is_revision, .. } = &plan.arms[arm];
        let argv = plan.argv(arm, block);
        let directory = plan.arms[arm].directory(block);
        let is_captured = plan.validate.is_some() || has_value_in_stdout(&plan.arms[arm]);
        let captured = self.files.stdout.as_ref();
        let captured = captured.filter(|_| is_captured && !role.is_control());
        let environment = self.environment_of_arm[arm];
        if let Some(input) = &plan.input {
            refuse_fifo(prose![Input], input)?;
        }
        if let OutputTarget::File(path) = output {
            refuse_fifo("--output".into(), path)?;
            refuse_strange_links(Path::new(path))
                .map_err(|error| prose!["--output {path}: cannot write: {error}"])?;
        }
        let path = self.find(&programs::seen_from(directory, &argv[0]), environment);
        let path = path.map_err(|why| match *is_revision && argv[0].contains('/') {
            true => why + "; a checkout has what git keeps and what its build makes",
            false => why,
        })?;
        let command = Command {
            path,
            argv: self.arguments(&argv, has_own_file(&plan.arms[arm])),
            environment,
            directory: directory.map(|directory| directory.as_bytes().to_vec()),
            stdin: self.stdin.clone(),
            stdout: match (captured, output) {
                (Some(path), _) => StdoutTarget::File(path.clone()),
                (None, OutputTarget::Null) => StdoutTarget::Null,
                (None, OutputTarget::Pipe) => StdoutTarget::Pipe,
                (None, &OutputTarget::Tty { columns, rows }) => StdoutTarget::Tty(columns, rows),
                (None, OutputTarget::Inherit) => StdoutTarget::Inherit,
                (None, OutputTarget::File(path)) => StdoutTarget::File(path.clone().into_bytes()),
            },
            stderr: match output {
                OutputTarget::Inherit => StderrTarget::Inherit,
                _ if self.loud[arm] => StderrTarget::Null,
                _ => StderrTarget::Keep,
            },
            accept: accept.clone(),
            value: value.as_ref().and_then(|rule| self.value_task(rule, directory)),
            count: None,
        };
        Ok(self.counted(command, plan, arm, block))
    }

    /// The command under the instruction counter.
    fn counted(&self, command: Command, plan: &Plan, arm: usize, block: Option<u32>) -> Command {
        let counted = plan.arms[arm].counted.as_ref().filter(|_| block.is_some());
        let n_iterations = counted.map_or(1, |counted| counted.n);
        let half =
            counted.map(|counted| self.arguments(&counted.half, has_own_file(&plan.arms[arm])));
        let folder = self.files.counts.as_ref().filter(|_| plan.is_under_valgrind(block));
        let Some((valgrind, folder)) = plan.valgrind().zip(folder) else {
            let count = half.map(|half| CountTask {
                folder: None,
                half: Some(half),
                n_iterations,
                readings: None,
                has_runtime: false,
            });
            return Command { count, ..command };
        };
        let is_stepped = counted.is_some_and(|counted| counted.has_stepped_clock);
        let harness = counted.and_then(|counted| counted.harness);
        let wrapped = |prefix, argv: Vec<Bytes>| {
            let argv = CountTask::wrapped(folder, valgrind, prefix, counted, argv);
            let file = CountTask::readings_file(folder, prefix);
            let is_needed = harness.is_some_and(chooses_by_clock);
            match is_stepped {
                true => stepped_clock::wrapped(file, is_needed, argv),
                false => argv,
            }
        };
        let count = CountTask {
            folder: Some(folder.clone()),
            half: half.map(|half| wrapped(HALF, half)),
            n_iterations,
            readings: counted.and_then(|it| readings(it.harness?, it.n, it.n_together)),
            has_runtime: harness.is_some_and(has_runtime),
        };
        let own = || sys::own_program().into_os_string().into_vec();
        let path = if is_stepped { own() } else { bytes_of(valgrind) };
        Command { path, argv: wrapped(COUNT, command.argv), count: Some(count), ..command }
    }

    /// The arguments, with the path of the file for the value.
    fn arguments(&self, argv: &[String], has_own_file: bool) -> Vec<Bytes> {
        let file = self.files.result.as_ref().filter(|_| has_own_file);
        let file = file.map(|file| String::from_utf8_lossy(file).into_owned());
        let filled = |word: &String| match &file {
            Some(file) => bytes_of(&word.replace(RESULT_FILE, file)),
            None => bytes_of(word),
        };
        argv.iter().map(filled).collect()
    }

    /// Where a value is found, from the current directory.
    fn value_task(&self, rule: &ValueRule, directory: Option<&str>) -> Option<ValueTask> {
        let mut folder = None;
        let path = match &rule.source {
            ValueSource::Stdout => self.files.stdout.clone()?,
            ValueSource::OwnFolder(file) => {
                folder = Some((self.files.result.clone()?, file.clone()));
                self.files.stdout.clone()?
            }
            ValueSource::OwnFile => self.files.result.clone()?,
            ValueSource::File(path) => {
                let path = OsString::from_vec(bytes_of(path));
                Path::new(directory.unwrap_or_default()).join(path).into_os_string().into_vec()
            }
        };
        Some(ValueTask { rule: rule.clone(), path, folder })
    }

    /// A hook's command, for the shell, with the environment of an arm. Errors: there is no such shell.
    pub fn hook_command(
        &self,
        plan: &Plan,
        arm: usize,
        block: Option<u32>,
        command: &str,
    ) -> Result<Command, String> {
        let directory = plan.arms[arm].directory(block);
        let environment = self.environment_of_arm[arm];
        let inherit = plan.arms[arm].output == OutputTarget::Inherit;
        let command = plan.hook(command, block);
        let words = self.hook_shell.iter().map(String::as_str).chain(["-c", &command]);
        Ok(Command {
            path: self.find(self.hook_shell[0].as_bytes(), environment)?,
            argv: words.map(bytes_of).collect(),
            environment,
            directory: directory.map(|directory| directory.as_bytes().to_vec()),
            stdin: None,
            stdout: if inherit { StdoutTarget::Inherit } else { StdoutTarget::Null },
            stderr: if inherit { StderrTarget::Inherit } else { StderrTarget::Keep },
            accept: Some(vec![0]),
            value: None,
            count: None,
        })
    }

    /// The validator's command: a hook that reads the captured standard output. Errors: there is no such shell.
    pub fn validator_command(
        &self,
        plan: &Plan,
        arm: usize,
        block: Option<u32>,
        command: &str,
    ) -> Result<Command, String> {
        let command = for_arm(command, arm);
        let hook = self.hook_command(plan, arm, block, &command)?;
        Ok(Command { stdin: self.files.stdout.clone(), ..hook })
    }

    fn find(&self, program: &[u8], environment: u32) -> Result<Bytes, String> {
        programs::find(program, &self.environments[environment as usize], self.run_as.as_ref())
    }
}

/// Whether an arm's runs print their value to standard output.
pub(super) fn has_value_in_stdout(arm: &Arm) -> bool {
    arm.value.as_ref().is_some_and(ValueRule::is_in_stdout)
}

/// Opening a FIFO blocks until the other end is opened. The launcher, which waits for the child's exec, would hang too.
fn refuse_fifo(option: Prose, path: &str) -> Result<(), Prose> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.file_type().is_fifo() => {
            Err(prose![(option) " {path}: it is a FIFO, and each run would wait for its other end"])
        }
        _ => Ok(()),
    }
}

/// Whether a temporary file or directory replaces `{result}` in an arm's arguments and variables.
pub(super) fn has_own_file(arm: &Arm) -> bool {
    arm.counted.is_some() || arm.value.as_ref().is_some_and(ValueRule::has_own_file)
}

/// The inherited variables that are not set, and the set ones.
pub(super) fn environment(
    inherited: &[(OsString, OsString)],
    set: &[(String, String)],
) -> Vec<Bytes> {
    let is_set = |name: &OsString| set.iter().any(|(other, _)| name.as_bytes() == other.as_bytes());
    let kept = inherited.iter().filter(|(name, _)| !is_set(name));
    let kept = kept.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    // If a name is given twice, the last value counts.
    let last = |(index, (name, _)): &(usize, &(String, String))| {
        !set[index + 1..].iter().any(|(later, _)| later == name)
    };
    let added = set.iter().enumerate().filter(last);
    kept.chain(added.map(|(_, (name, value))| format!("{name}={value}").into_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_not_repeated() {
        let inherited = [("A".into(), "1".into()), ("B".into(), "2".into())];
        let set =
            [("A".to_owned(), "3".to_owned()), ("C".into(), "4".into()), ("C".into(), "5".into())];
        let found: Vec<_> = environment(&inherited, &set)
            .into_iter()
            .map(|entry| String::from_utf8(entry).unwrap())
            .collect();
        assert_eq!(found, ["B=2", "A=3", "C=5"]);
    }
}
