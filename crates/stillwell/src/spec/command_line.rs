//! The words of the command line before clap reads them: a session without its verb, and `-S` of hyperfine 1 and 2.

use std::ffi::{OsStr, OsString};

use clap::{Args as _, Command};

use crate::spec::run::RunVerb;
use crate::spec::shell_option::with_shell_named;

/// The words of the command line with the verb `run` put in where it is left out: `stillwell ./a ./b`.
pub fn complete(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|first| is_command(first) || is_option_of_run(first)) {
        words.insert(1, "run".into());
    }
    with_shell_named(words)
}

/// Whether a word is a command to time: it has a blank or a slash. No verb has either, so a later verb cannot change what
/// a script does. A single plain word is no command, although a program may have that name: `stillwell tets` is a
/// mistake, and must not execute anything.
fn is_command(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    let is_record = bytes.ends_with(b".swell");
    !is_record && bytes.iter().any(|&byte| byte == b'/' || byte.is_ascii_whitespace())
}

/// Whether a word is an option that `run` has, or the `--` before commands.
fn is_option_of_run(word: &OsStr) -> bool {
    let Some(word) = word.to_str().filter(|word| word.starts_with('-')) else { return false };
    if word == "--" {
        return true;
    }
    let run = RunVerb::augment_args(Command::new("run"));
    let mut options = run.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return options.any(|option| {
            option.get_long() == Some(name)
                || option.get_all_aliases().is_some_and(|names| names.contains(&name))
        });
    }
    let short = word.chars().nth(1);
    short.is_some() && options.any(|option| option.get_short() == short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: &[&str]) {
        let words = std::iter::once(&"stillwell").chain(line).map(OsString::from);
        let expected: Vec<OsString> =
            std::iter::once(&"stillwell").chain(expected).map(OsString::from).collect();
        assert_eq!(complete(words), expected, "{line:?}");
    }

    #[test]
    fn commands_and_options_of_run_need_no_verb() {
        check(&["./a", "./b"], &["run", "./a", "./b"]);
        check(&["sleep 1"], &["run", "sleep 1"]);
        check(&["/bin/true"], &["run", "/bin/true"]);
        check(&["-r", "3", "true"], &["run", "-r", "3", "true"]);
        check(&["-r3", "true"], &["run", "-r3", "true"]);
        check(&["--warmup=2", "true"], &["run", "--warmup=2", "true"]);
        check(&["--baseline-cmd", "a", "b"], &["run", "--baseline-cmd", "a", "b"]);
        check(&["--", "true"], &["run", "--", "true"]);
        check(&["-S", "echo a && echo b"], &["run", "--shell=default", "echo a && echo b"]);
    }

    #[test]
    fn plain_words_records_and_own_options_stay() {
        for line in [
            &["make"][..],
            &["show", "./a.swell"],
            &["results/a.swell"],
            &["--help"],
            &["-V"],
            &["--no-such-option"],
            &["-"],
            &[""],
            &[],
        ] {
            check(line, line);
        }
    }
}
