//! Commands, names, parameters and per-command options → the arms of a plan.

use anyhow::{Context as _, Result, bail, ensure};

use crate::plan::parameters::{Assignment, assignments, substitute};
use crate::plan::request::CommandRequest;
use crate::plan::{Arm, Control, Role, ShellReason};
use crate::spec::run::{ArmOptions, ExecutionOptions};
use crate::values::{IgnoreFailure, OutputTarget, Shell};

/// The arms, with the settings that depend on how they are executed.
#[derive(Debug)]
pub struct Arms {
    /// Candidates in the order of the command line, then the twin, then the control.
    pub arms: Vec<Arm>,
    /// The arm that is subtracted.
    pub control: Option<Control>,
    /// The shell; `None` when commands are executed directly.
    pub shell: Option<Vec<String>>,
    /// The reason why a shell is used, or not.
    pub shell_reason: ShellReason,
}

/// Makes the arms.
///
/// # Errors
/// A command is empty or cannot be split into words, or an option is given the wrong number of times.
pub fn arms(request: CommandRequest<'_>) -> Result<Arms> {
    let commands: Vec<&String> = request.arms.reference.iter().chain(request.commands).collect();
    let assignments = assignments(request.arms)?;
    refuse_unused(request, &commands, assignments.first())?;
    let mut arms = Vec::new();
    let n_arms = commands.len() * assignments.len();
    for (index, template) in commands.iter().enumerate() {
        for assignment in &assignments {
            let position =
                Position { command: index, n_commands: commands.len(), arm: arms.len(), n_arms };
            arms.push(candidate(request, template, assignment, position)?);
        }
    }
    if request.has_twin {
        arms.push(Arm { role: Role::Twin, ..arms[0].clone() });
    }
    let (shell, shell_reason) = choose_shell(request.arms, &arms);
    let control = add_control(request, shell.is_some(), &mut arms);
    for (index, arm) in arms.iter_mut().enumerate() {
        arm.argv = words(&arm.command, shell.as_deref())
            .with_context(|| format!("command {} ({:?})", index + 1, arm.command))?;
    }
    Ok(Arms { arms, control, shell, shell_reason })
}

/// Refuses a parameter that nothing mentions: each of its values would measure the same.
fn refuse_unused(
    request: CommandRequest<'_>,
    commands: &[&String],
    assignment: Option<&Assignment>,
) -> Result<()> {
    let hooks = [&request.hooks.prepare, &request.hooks.conclude, &request.execution.env];
    let templates = commands.iter().copied().chain(hooks.into_iter().flatten());
    for (name, _) in assignment.into_iter().flatten() {
        let placeholder = format!("{{{name}}}");
        ensure!(
            templates.clone().any(|template| template.contains(&placeholder)),
            "no command mentions the parameter {name:?}; write {placeholder} where its value goes"
        );
    }
    Ok(())
}

/// The place of an arm, for options that are given once, or once for each command.
#[derive(Clone, Copy)]
struct Position {
    command: usize,
    n_commands: usize,
    arm: usize,
    n_arms: usize,
}

impl Position {
    /// Returns the element of an option's list for this arm.
    fn pick<T: Clone>(self, option: &str, list: &[T]) -> Result<Option<T>> {
        let index = match list.len() {
            0 => return Ok(None),
            1 => 0,
            n if n == self.n_arms => self.arm,
            n if n == self.n_commands => self.command,
            n => bail!(
                "{option} is given {n} times for {} commands; give it once, or once for each command",
                self.n_commands
            ),
        };
        Ok(Some(list[index].clone()))
    }

    fn name(self, options: &ArmOptions) -> Result<Option<String>> {
        let has_reference = options.reference.is_some();
        if has_reference && self.command == 0 {
            return Ok(options.reference_name.clone());
        }
        let names = &options.command_names;
        ensure!(!names.iter().any(|name| name.trim().is_empty()), "--command-name is empty");
        let n_commands = self.n_commands - usize::from(has_reference);
        let n_arms = self.n_arms / self.n_commands * n_commands;
        ensure!(
            names.len() <= n_commands || names.len() == n_arms,
            "--command-name is given {} times for {n_commands} commands",
            names.len()
        );
        let skipped = usize::from(has_reference);
        let index = if names.len() == n_arms {
            self.arm - skipped * (self.n_arms / self.n_commands)
        } else {
            self.command - skipped
        };
        Ok(names.get(index).cloned())
    }
}

fn candidate(
    request: CommandRequest<'_>,
    template: &str,
    assignment: &Assignment,
    position: Position,
) -> Result<Arm> {
    let command = substitute(template, assignment);
    ensure!(!command.trim().is_empty(), "command {} is empty", position.command + 1);
    ensure!(!command.contains('\0'), "command {} contains a NUL byte", position.command + 1);
    let hook = |option: &str, list: &[String]| -> Result<Option<String>> {
        Ok(position.pick(option, list)?.map(|hook| substitute(&hook, assignment)))
    };
    let environment = match position.pick("--env", &request.execution.env)? {
        None => Vec::new(),
        Some(text) => parse_environment(&substitute(&text, assignment))?,
    };
    let output = if request.execution.show_output {
        OutputTarget::Inherit
    } else {
        position.pick("--output", &request.execution.output)?.unwrap_or(OutputTarget::Null)
    };
    Ok(Arm {
        name: position.name(request.arms)?.map(|name| substitute(&name, assignment)),
        command,
        parameters: assignment.clone(),
        environment,
        prepare: hook("--prepare", &request.hooks.prepare)?,
        conclude: hook("--conclude", &request.hooks.conclude)?,
        output,
        accept: accepted_statuses(request.execution),
        ..Arm::bare("", Role::Candidate)
    })
}

fn accepted_statuses(execution: &ExecutionOptions) -> Option<Vec<i32>> {
    match (&execution.ignore_failure, &execution.expect_exit) {
        (Some(None | Some(IgnoreFailure::All)), _) => None,
        (Some(Some(IgnoreFailure::Statuses(statuses))), _) => {
            Some([&[0], statuses.as_slice()].concat())
        }
        (None, Some(expected)) => Some(expected.0.clone()),
        (None, None) => Some(vec![0]),
    }
}

fn parse_environment(text: &str) -> Result<Vec<(String, String)>> {
    let words = shell_words::split(text).with_context(|| format!("--env {text:?}"))?;
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && !word.contains('\0') => {
            Ok((name.into(), value.into()))
        }
        _ => bail!("--env {text:?}: {word:?} is not NAME=VALUE"),
    };
    words.iter().map(pair).collect()
}

/// Decides once for all commands. With one command in a shell and another without, the comparison would include the
/// shell.
fn choose_shell(options: &ArmOptions, arms: &[Arm]) -> (Option<Vec<String>>, ShellReason) {
    let shell =
        if options.no_shell { Shell::None } else { options.shell.clone().unwrap_or(Shell::Auto) };
    match shell {
        Shell::None => (None, ShellReason::UserChoice),
        Shell::Words(words) => (Some(words), ShellReason::UserChoice),
        Shell::Auto => {
            let subtracted = options.subtract.iter();
            let commands = arms.iter().map(|arm| &arm.command).chain(subtracted);
            let needed = commands.enumerate().find_map(|(arm, command)| {
                shell_syntax(command).map(|syntax| ShellReason::Needed { arm, syntax })
            });
            match needed {
                Some(reason) => (Some(vec!["sh".into()]), reason),
                None => (None, ShellReason::NotNeeded),
            }
        }
    }
}

fn add_control(
    request: CommandRequest<'_>,
    in_shell: bool,
    arms: &mut Vec<Arm>,
) -> Option<Control> {
    // The time of a subtracted command contains the shell's, so one control is enough.
    let (role, command) = match &request.arms.subtract {
        Some(command) => (Role::Subtract, command.clone()),
        None if in_shell => (Role::EmptyShell, String::new()),
        None => return None,
    };
    arms.push(Arm {
        name: (role == Role::EmptyShell).then(|| "empty shell".into()),
        accept: if role == Role::Subtract {
            accepted_statuses(request.execution)
        } else {
            Some(vec![0])
        },
        ..Arm::bare(&command, role)
    });
    Some(Control { arm: arms.len() - 1, role })
}

fn words(command: &str, shell: Option<&[String]>) -> Result<Vec<String>> {
    if let Some(shell) = shell {
        return Ok([shell, &["-c".into(), command.into()]].concat());
    }
    let words = shell_words::split(command)?;
    ensure!(
        words.first().is_some_and(|program| !program.is_empty()),
        "there is no program to execute"
    );
    Ok(words)
}

/// Words that only a shell can execute.
const BUILTINS: [&str; 24] = [
    ".", ":", "alias", "case", "cd", "eval", "exec", "exit", "export", "for", "if", "read",
    "return", "set", "shift", "source", "times", "trap", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

/// Returns the first piece of shell syntax in a command that would have no effect without a shell.
fn shell_syntax(command: &str) -> Option<String> {
    let (mut quote, mut escaped, mut at_word_start) = (None, false, true);
    for character in command.chars() {
        if std::mem::take(&mut escaped) {
            at_word_start = false;
            continue;
        }
        let is_syntax = match quote {
            Some('\'') => false,
            Some(_) => matches!(character, '$' | '`'),
            None => {
                matches!(
                    character,
                    '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '\n'
                ) || (at_word_start && matches!(character, '~' | '#'))
            }
        };
        if is_syntax {
            return Some(character.to_string());
        }
        match (character, quote) {
            ('\\', None | Some('"')) => escaped = true,
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            _ => {}
        }
        at_word_start = quote.is_none() && character.is_whitespace();
    }
    let first = command.split_whitespace().next()?;
    if BUILTINS.contains(&first) {
        return Some(first.into());
    }
    let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
        let mut characters = name.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    is_assignment.then(|| first.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::RunSpec;

    fn made(spec: &RunSpec) -> Result<Arms> {
        arms(spec.into())
    }

    fn spec(commands: &[&str]) -> RunSpec {
        RunSpec { commands: commands.iter().map(|&c| c.into()).collect(), ..RunSpec::default() }
    }

    #[track_caller]
    fn check_syntax(command: &str, expected: Option<&str>) {
        assert_eq!(shell_syntax(command).as_deref(), expected, "{command:?}");
    }

    #[test]
    fn syntax_that_needs_a_shell_is_found() {
        check_syntax("gzip -k -f data.bin", None);
        check_syntax("a | b", Some("|"));
        check_syntax("echo 'a | b' \"c ; d\" e\\;f", None);
        check_syntax("echo \"$HOME\"", Some("$"));
        check_syntax("echo '$HOME'", None);
        check_syntax("ls ~/x", Some("~"));
        check_syntax("ls a~b c#d", None);
        check_syntax("A=1 make", Some("A=1"));
        check_syntax("dd if=/dev/null", None);
        check_syntax("./a=b", None);
        check_syntax("exit 3", Some("exit"));
        check_syntax("ls *.rs", Some("*"));
    }

    #[test]
    fn one_shell_for_all_with_its_control() {
        let made = made(&spec(&["true", "true | cat"])).unwrap();
        assert_eq!(made.shell_reason, ShellReason::Needed { arm: 1, syntax: "|".into() });
        assert_eq!(made.arms[0].argv, ["sh", "-c", "true"]);
        assert_eq!(made.arms[2].argv, ["sh", "-c", ""]);
        assert_eq!(made.control, Some(Control { arm: 2, role: Role::EmptyShell }));
    }

    #[test]
    fn a_subtracted_command_replaces_the_empty_shell() {
        let mut spec = spec(&["a | b"]);
        spec.arms.subtract = Some("b".into());
        let made = made(&spec).unwrap();
        assert_eq!(made.control, Some(Control { arm: 1, role: Role::Subtract }));
        assert_eq!(made.arms[1].argv, ["sh", "-c", "b"]);
    }

    #[test]
    fn names_and_hooks_go_to_their_commands() {
        let mut spec = spec(&["b {n}", "c {n}"]);
        spec.arms.reference = Some("a".into());
        spec.arms.reference_name = Some("ref".into());
        spec.arms.command_names = vec!["bee {n}".into()];
        spec.arms.parameter_lists = vec!["n".into(), "1,2".into()];
        spec.hooks.prepare = vec!["p0".into(), "p1 {n}".into(), "p2".into()];
        let made = made(&spec).unwrap();
        let labels: Vec<_> = made.arms.iter().map(Arm::label).collect();
        assert_eq!(labels, ["ref", "ref", "bee 1", "bee 2", "c 1", "c 2"]);
        assert_eq!(made.arms[3].prepare.as_deref(), Some("p1 2"));
    }

    #[test]
    fn mistakes_are_named() {
        let message = |spec: &RunSpec| format!("{:#}", made(spec).unwrap_err());
        assert!(message(&spec(&["true", " "])).contains("command 2 is empty"));
        assert!(message(&spec(&["echo 'x"])).contains("command 1"));
        let mut many = spec(&["a", "b", "c"]);
        many.hooks.conclude = vec!["x".into(), "y".into()];
        assert!(message(&many).contains("--conclude is given 2 times for 3 commands"));
        let mut environment = spec(&["a"]);
        environment.process.execution.env = vec!["A=1 B".into()];
        assert!(message(&environment).contains("\"B\" is not NAME=VALUE"));
    }
}
