//! Common slips of a command line, which would measure something unintended. They are told before anything is measured.

#![expect(clippy::disallowed_methods, reason = "looks for programs in PATH")]

use std::path::Path;

use anyhow::{Result, bail};

use crate::cmd::programs::is_executable;
use model::spec::RunSpec;
use model::values::Shell;
use record::plan::shell_syntax;

/// Options with the letter of an interpreter's option: `python3 -c pass`.
const LETTERS: [(&str, &str); 3] =
    [("-c", "--cleanup"), ("-s", "--setup"), ("-i", "--ignore-failure")];
const INTERPRETERS: [&str; 10] =
    ["python", "perl", "ruby", "node", "sh", "bash", "dash", "zsh", "php", "lua"];
/// Operators of a shell.
const OPERATORS: [&str; 9] = ["&&", "||", "|", "&", ";", ">", ">>", "<", "2>"];

/// Refuses a command line with a slip, and says what was probably meant. `words`: the command line of this process.
pub(super) fn refuse(spec: &RunSpec, words: &[String]) -> Result<()> {
    refuse_operators(spec)?;
    let has_placeholders = !spec.revisions.revisions.is_empty()
        || !spec.arms.parameter_lists.is_empty()
        || spec.arms.parameter_scan.is_some();
    let has_own_place = !spec.process.execution.env.is_empty();
    if has_placeholders || has_own_place || spec.arms.shell.is_some() {
        return Ok(());
    }
    refuse_arguments(spec, &found_in_path)?;
    refuse_interpreter(spec, words)
}

/// `sleep 0.1` without quotes: the second word is taken for a second command.
fn refuse_arguments(spec: &RunSpec, is_found: &dyn Fn(&str) -> bool) -> Result<()> {
    let commands = &spec.commands;
    let is_bare = |command: &String| !command.contains(char::is_whitespace);
    let [first, others @ ..] = &commands[..] else { return Ok(()) };
    let has_empty = commands.iter().any(String::is_empty);
    if others.is_empty() || has_empty || !commands.iter().all(is_bare) || !is_found(first) {
        return Ok(());
    }
    let missing = others.iter().find(|word| shell_syntax(word).is_none() && !is_found(word));
    let Some(missing) = missing else { return Ok(()) };
    let meant = shell_words::quote(&shell_words::join(commands)).into_owned();
    bail!(
        "{missing:?} is not a program; each command is one argument; did you mean: stillwell run {meant}?"
    )
}

/// `python3 -c pass` without quotes: `-c` is taken for our own option.
fn refuse_interpreter(spec: &RunSpec, words: &[String]) -> Result<()> {
    let [command] = &spec.commands[..] else { return Ok(()) };
    let name = Path::new(command).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let bare = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let at = words.iter().position(|word| word == command).filter(|_| INTERPRETERS.contains(&bare));
    let Some(behind) = at.map(|at| &words[at + 1..]) else { return Ok(()) };
    let ours = LETTERS.iter().find(|(letter, _)| behind.first().is_some_and(|word| word == letter));
    let Some((letter, long)) = ours else { return Ok(()) };
    let whole: Vec<&String> = std::iter::once(command).chain(behind).collect();
    let meant = shell_words::quote(&shell_words::join(whole)).into_owned();
    bail!(
        "{letter} is {long} of stillwell here, and {name} alone would be timed; each command is one argument; did you \
         mean: stillwell run {meant}? If not, write {long}"
    )
}

/// `-N 'a && b'`: without a shell `&&` would be an argument of `a`.
fn refuse_operators(spec: &RunSpec) -> Result<()> {
    if !spec.arms.no_shell && spec.arms.shell != Some(Shell::None) {
        return Ok(());
    }
    for command in spec.commands.iter().chain(&spec.arms.reference) {
        // A quoted operator is meant to be an argument.
        if shell_syntax(command).is_none() {
            continue;
        }
        let slip = command.split_whitespace().find(|word| OPERATORS.contains(word));
        if let Some(operator) = slip {
            bail!(
                "-N: no shell reads {command:?}, so {operator:?} would be an argument of its program; leave -N out, or quote it"
            );
        }
    }
    Ok(())
}

fn found_in_path(word: &str) -> bool {
    // A missing or not executable path has an error of its own.
    if word.contains('/') {
        return true;
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories).any(|directory| is_executable(&directory.join(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(commands: &[&str]) -> RunSpec {
        RunSpec {
            commands: commands.iter().map(ToString::to_string).collect(),
            ..RunSpec::default()
        }
    }

    #[track_caller]
    fn check_arguments(commands: &[&str], meant: Option<&str>) {
        let is_found = |word: &str| ["sleep", "gzip", "true"].contains(&word) || word.contains('/');
        let error =
            refuse_arguments(&spec(commands), &is_found).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), meant.is_some(), "{error:?}");
        if let Some((error, meant)) = error.zip(meant) {
            assert!(error.ends_with(&format!("did you mean: stillwell run {meant}?")), "{error}");
        }
    }

    #[test]
    fn arguments_without_quotes() {
        check_arguments(&["sleep", "0.1"], Some("'sleep 0.1'"));
        check_arguments(&["gzip", "-1", "-c", "f"], Some("'gzip -1 -c f'"));
        check_arguments(&["./a", "input.txt"], Some("'./a input.txt'"));
        check_arguments(&["sleep", "true"], None);
        check_arguments(&["./a", "./b"], None);
        check_arguments(&["sleep 0.1", "sleep"], None);
        check_arguments(&["true", "exit"], None);
        check_arguments(&["nosuch", "0.1"], None);
    }

    #[test]
    fn an_interpreter_with_an_option_of_ours() {
        let check = |line: &str, command: &str| {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            refuse_interpreter(&spec(&[command]), &words).err().map(|error| error.to_string())
        };
        let error = check("stillwell run python3.12 -c pass", "python3.12").unwrap();
        assert!(error.contains("stillwell run 'python3.12 -c pass'?"), "{error}");
        assert_eq!(check("stillwell run -c pass python3", "python3"), None);
        assert_eq!(check("stillwell run ./a -c pass", "./a"), None);
        assert_eq!(check("stillwell run python3 --cleanup pass", "python3"), None);
    }

    #[test]
    fn an_operator_that_no_shell_reads() {
        let check = |command: &str, no_shell: bool| {
            let mut spec = spec(&[command]);
            spec.arms.no_shell = no_shell;
            refuse_operators(&spec).is_err()
        };
        assert!(check("a && b", true) && check("a > f", true));
        assert!(!check("a && b", false) && !check("a '&&' b", true) && !check("a 'x > y'", true));
    }
}
