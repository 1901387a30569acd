//! Makes the arms of a plan from commands, names, parameters and per-command options.

use anyhow::{Context as _, Result, bail, ensure};

use crate::plan::parameters::{Assignment, assignments, substitute};
use crate::plan::shell::choose_shell;
use crate::plan::{Arm, Control, Role, ShellReason, ValueRule};
use model::spec::RunSpec;
use model::spec::run::{ArmOptions, ExecutionOptions};
use model::values::{IgnoreFailure, OutputTarget};

/// The arms, with the settings that depend on how they are executed.
#[derive(Debug)]
pub struct Arms {
    /// Candidates in the order of the command line, then the twin, then the control.
    pub arms: Vec<Arm>,
    pub control: Option<Control>,
    /// The shell; `None` when commands are executed directly.
    pub shell: Option<Vec<String>>,
    /// Why a shell is used, or not.
    pub shell_reason: ShellReason,
}

/// Makes the arms. Errors: a command is empty or cannot be split into words, or an option is given the wrong number of
/// times.
pub fn arms(spec: &RunSpec) -> Result<Arms> {
    let commands: Vec<&String> = spec.arms.reference.iter().chain(&spec.commands).collect();
    let assignments = assignments(&spec.arms)?;
    refuse_unused(spec, &commands, assignments.first())?;
    let order = order_of_arms(spec, &commands, &assignments);
    let is_named = |(command, _): &&(usize, _)| *command > 0 || spec.arms.reference.is_none();
    let mut arms = Vec::new();
    for (arm, &(command, assignment)) in order.iter().enumerate() {
        let position = Position {
            command,
            n_commands: commands.len(),
            arm,
            n_arms: order.len(),
            named: order[..arm].iter().filter(is_named).count(),
            n_named: order.iter().filter(is_named).count(),
        };
        arms.push(candidate(spec, commands[command], assignment, position)?);
    }
    if spec.judgement.aa {
        arms.push(Arm { role: Role::Twin, ..arms[0].clone() });
    }
    let (shell, shell_reason) = choose_shell(&spec.arms, &arms);
    let control = add_control(spec, shell.is_some(), &mut arms);
    for (index, arm) in arms.iter_mut().enumerate() {
        arm.argv = words(&arm.command, shell.as_deref())
            .with_context(|| format!("command {} ({:?})", index + 1, arm.command))?;
    }
    Ok(Arms { arms, control, shell, shell_reason })
}

static NO_PARAMETERS: Assignment = Vec::new();

/// Command and assignment of each arm. Commands change fastest, then the parameters, as in hyperfine. The command of
/// `--reference` is measured once if neither it nor its hooks and variables mention a parameter.
fn order_of_arms<'a>(
    spec: &RunSpec,
    commands: &[&String],
    assignments: &'a [Assignment],
) -> Vec<(usize, &'a Assignment)> {
    let names = || assignments.first().into_iter().flatten().map(|(name, _)| name);
    let around = around_runs(spec).chain(&spec.arms.reference).collect::<Vec<_>>();
    let is_once = spec.arms.reference.is_some()
        && !names().any(|name| around.iter().any(|template| mentions(template, name)));
    let mut order: Vec<(usize, &Assignment)> = Vec::new();
    order.extend(is_once.then_some((0, &NO_PARAMETERS)));
    for assignment in assignments {
        let with_values = usize::from(is_once)..commands.len();
        order.extend(with_values.map(|command| (command, assignment)));
    }
    order
}

/// Hooks and variables of the runs, which may mention parameters.
fn around_runs(spec: &RunSpec) -> impl Iterator<Item = &String> {
    let hooks = &spec.hooks;
    let lists = [&hooks.prepare, &hooks.conclude, &spec.process.execution.env];
    lists.into_iter().flatten().chain(&hooks.setup).chain(&hooks.cleanup)
}

fn mentions(template: &str, parameter: &str) -> bool {
    template.contains(&format!("{{{parameter}}}"))
}

/// Refuses an unused parameter, because all of its values would measure the same.
fn refuse_unused(
    spec: &RunSpec,
    commands: &[&String],
    assignment: Option<&Assignment>,
) -> Result<()> {
    for (name, _) in assignment.into_iter().flatten() {
        let mut templates = commands.iter().copied().chain(around_runs(spec));
        ensure!(
            templates.any(|template| mentions(template, name)),
            "no command mentions the parameter {name:?}; write {{{name}}} where its value goes"
        );
    }
    Ok(())
}

/// The place of an arm, for options that are given once or for each command.
#[derive(Clone, Copy)]
struct Position {
    command: usize,
    n_commands: usize,
    arm: usize,
    n_arms: usize,
    /// Index of the arm, not counting the arms of `--reference`.
    named: usize,
    n_named: usize,
}

impl Position {
    /// The element of an option's list for this arm.
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
        let skipped = usize::from(has_reference);
        let n_commands = self.n_commands - skipped;
        ensure!(
            names.len() <= n_commands || names.len() == self.n_named,
            "--command-name is given {} times for {n_commands} commands",
            names.len()
        );
        let index = if names.len() == self.n_named { self.named } else { self.command - skipped };
        Ok(names.get(index).cloned())
    }
}

fn candidate(
    spec: &RunSpec,
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
    let execution = &spec.process.execution;
    let environment = match position.pick("--env", &execution.env)? {
        None => Vec::new(),
        Some(text) => parse_environment(&substitute(&text, assignment))?,
    };
    let output = if execution.show_output {
        OutputTarget::Inherit
    } else {
        position.pick("--output", &execution.output)?.unwrap_or(OutputTarget::Null)
    };
    let value = ValueRule::of(&execution.value)?;
    let is_read = value.as_ref().is_some_and(ValueRule::is_in_stdout);
    ensure!(
        !is_read || !matches!(output, OutputTarget::Tty { .. }),
        "--output tty: the value of a run is read from its standard output, which is a file for that"
    );
    // A command without the parameter is the same for all values.
    let is_of_value = |template: &&String| assignment.iter().any(|it| mentions(template, &it.0));
    let of_value = |hook: &Option<String>| {
        hook.as_ref().filter(is_of_value).map(|hook| substitute(hook, assignment))
    };
    let name = position.name(&spec.arms)?;
    let unused = unused([template, name.as_deref().unwrap_or_default()], assignment);
    let name = name.map(|name| substitute(&name, assignment));
    Ok(Arm {
        name: match unused {
            Some(unused) => Some(format!("{} ({unused})", name.as_ref().unwrap_or(&command))),
            None => name,
        },
        command,
        parameters: assignment.clone(),
        environment,
        setup: of_value(&spec.hooks.setup),
        cleanup: of_value(&spec.hooks.cleanup),
        prepare: hook("--prepare", &spec.hooks.prepare)?,
        conclude: hook("--conclude", &spec.hooks.conclude)?,
        output,
        value,
        accept: accepted_statuses(execution),
        ..Arm::bare("", Role::Candidate)
    })
}

/// The parameters that neither the command nor its name mentions, with their values.
fn unused(templates: [&str; 2], assignment: &Assignment) -> Option<String> {
    let is_unused = |(parameter, _): &&(String, String)| {
        !templates.iter().any(|template| mentions(template, parameter))
    };
    let unused = assignment.iter().filter(is_unused);
    let unused: Vec<String> = unused.map(|(name, value)| format!("{name} = {value}")).collect();
    (!unused.is_empty()).then(|| unused.join(", "))
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

fn add_control(spec: &RunSpec, in_shell: bool, arms: &mut Vec<Arm>) -> Option<Control> {
    // The time of a subtracted command contains the shell's, so one control is enough.
    let (role, command) = match &spec.arms.subtract {
        Some(command) => (Role::Subtract, command.clone()),
        None if in_shell => (Role::EmptyShell, String::new()),
        None => return None,
    };
    arms.push(Arm {
        name: (role == Role::EmptyShell).then(|| "empty shell".into()),
        accept: if role == Role::Subtract {
            accepted_statuses(&spec.process.execution)
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

#[cfg(test)]
mod tests {
    use super::arms as made;
    use super::*;

    fn spec(commands: &[&str]) -> RunSpec {
        RunSpec { commands: commands.iter().map(|&c| c.into()).collect(), ..RunSpec::default() }
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
        let expected = ["ref (n = 1)", "bee 1", "c 1", "ref (n = 2)", "bee 2", "c 2"];
        assert_eq!(labels, expected);
        assert_eq!(made.arms[4].prepare.as_deref(), Some("p1 2"));
    }

    #[test]
    fn commands_change_faster_than_parameters() {
        let mut spec = spec(&["true 1 {x}", "true 2 {x}"]);
        spec.arms.parameter_lists = vec!["x".into(), "a,b".into()];
        spec.arms.command_names = ["1-a", "2-a", "1-b", "2-b"].map(String::from).to_vec();
        let labels = |spec: &RunSpec| {
            let arms = made(spec).unwrap().arms;
            arms.iter().map(|arm| format!("{} | {}", arm.label(), arm.command)).collect::<Vec<_>>()
        };
        let expected =
            ["1-a | true 1 a", "2-a | true 2 a", "1-b | true 1 b", "2-b | true 2 b"].as_slice();
        assert_eq!(labels(&spec), expected);
        // A reference without the parameter is measured once. Names are for the other arms.
        spec.arms.reference = Some("true".into());
        assert_eq!(labels(&spec), [&["true | true"], expected].concat());
        assert!(made(&spec).unwrap().arms[0].parameters.is_empty());
    }

    #[test]
    fn a_value_that_the_command_does_not_show_is_in_the_name() {
        let mut spec = spec(&["make"]);
        spec.arms.parameter_lists = ["x", "1,2", "y", "3"].map(String::from).to_vec();
        spec.hooks.prepare = vec!["p {x} {y}".into()];
        let labels = |spec: &RunSpec| {
            made(spec).unwrap().arms.iter().map(|arm| arm.label().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&spec), ["make (x = 1, y = 3)", "make (x = 2, y = 3)"]);
        spec.arms.command_names = vec!["M{y}".into()];
        assert_eq!(labels(&spec), ["M3 (x = 1)", "M3 (x = 2)"]);
    }

    #[test]
    fn a_setup_with_a_parameter_is_of_each_value() {
        let mut spec = spec(&["./p"]);
        spec.arms.parameter_lists = ["branch", "main,perf"].map(String::from).to_vec();
        spec.hooks.setup = Some("git switch {branch}".into());
        spec.hooks.cleanup = Some("git switch -".into());
        let arms = made(&spec).unwrap().arms;
        assert_eq!(arms[1].setup.as_deref(), Some("git switch perf"));
        assert_eq!(arms[1].cleanup, None);
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
