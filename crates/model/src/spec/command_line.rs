//! Rewrites the words of a command line before clap reads them: a missing verb `run`, and `-S` of hyperfine 1 and 2.
//! Also removes options from an earlier command line.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Args as _, Command};

use crate::spec::run::RunVerb;
use crate::spec::schema::command;

/// Inserts the verb `run` where it is left out: `stillwell ./a ./b`.
pub fn complete(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|first| is_command(first) || is_option_of_run(first)) {
        words.insert(1, "run".into());
    }
    with_shell_named(words)
}

/// Whether a word is a command to time: it has a blank or a slash, which no verb ever has. So a later verb cannot
/// change what a script does. A plain word is never a command: `stillwell tets` is a typo and must execute nothing.
fn is_command(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    let is_record = bytes.ends_with(b".swell");
    !is_record && bytes.iter().any(|&byte| byte == b'/' || byte.is_ascii_whitespace())
}

/// Whether a word is an option of `run`, or the `--` before commands.
fn is_option_of_run(word: &OsStr) -> bool {
    let Some(word) = word.to_str().filter(|word| word.starts_with('-')) else { return false };
    if word == "--" {
        return true;
    }
    let run = RunVerb::augment_args(Command::new("run"));
    if let Some(long) = word.strip_prefix("--") {
        return long_option(&run, long.split('=').next().unwrap_or(long)).is_some();
    }
    word.chars().nth(1).is_some_and(|letter| short_option(&run, letter).is_some())
}

pub(super) fn long_option<'a>(verb: &'a Command, name: &str) -> Option<&'a Arg> {
    verb.get_arguments().find(|option| {
        option.get_long() == Some(name)
            || option.get_all_aliases().is_some_and(|names| names.contains(&name))
    })
}

pub(super) fn short_option(verb: &Command, letter: char) -> Option<&Arg> {
    verb.get_arguments().find(|option| option.get_short() == Some(letter))
}

pub(super) fn n_values(option: &Arg) -> usize {
    let takes_values = option.get_action().takes_values() && !option.is_require_equals_set();
    let n_values = option.get_num_args().map_or(1, |range| range.min_values());
    if takes_values { n_values } else { 0 }
}

/// The words behind a verb, without the options in `left_out` (long names). Handles grouped letters with a value:
/// `-vr12`.
pub fn without_options(verb: &str, words: &[String], left_out: &[&str]) -> Vec<String> {
    let all = command();
    let Some(verb) = all.find_subcommand(verb) else { return words.to_vec() };
    let is_kept = |option: Option<&Arg>| {
        let long = option.and_then(Arg::get_long);
        long.is_none_or(|long| !left_out.contains(&long))
    };
    let mut out = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            out.push(word.clone());
            break;
        }
        // The part of the word that stays, and the option whose values follow.
        let (kept, last) = if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |it| (it.0, Some(it.1)));
            let option = long_option(verb, name);
            (is_kept(option).then(|| word.clone()), option.filter(|_| value.is_none()))
        } else if let Some(letters) = word.strip_prefix('-').filter(|it| !it.is_empty()) {
            let (kept, last) = letters_without(verb, letters, is_kept);
            (Some(kept).filter(|kept| !kept.is_empty()).map(|kept| format!("-{kept}")), last)
        } else {
            (Some(word.clone()), None)
        };
        out.extend(kept);
        let values = rest.by_ref().take(last.map_or(0, n_values));
        out.extend(values.filter(|_| is_kept(last)).cloned());
    }
    out.extend(rest.cloned());
    out
}

/// The letters of a word without some options, and the option whose value is in the next word.
fn letters_without<'a>(
    verb: &'a Command,
    letters: &str,
    is_kept: impl Fn(Option<&Arg>) -> bool,
) -> (String, Option<&'a Arg>) {
    let mut kept = String::new();
    for (at, letter) in letters.char_indices() {
        let option = short_option(verb, letter);
        let value = &letters[at + letter.len_utf8()..];
        let has_value = option.is_some_and(|option| option.get_action().takes_values());
        let end = if has_value { letters.len() } else { at + letter.len_utf8() };
        if is_kept(option) {
            kept += &letters[at..end];
        }
        if has_value {
            return (kept, option.filter(|_| value.is_empty()));
        }
    }
    (kept, None)
}

/// Shells that `-S` can name.
const SHELLS: [&str; 17] = [
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "pwsh", "rc",
    "sh", "tcsh", "xonsh", "yash", "zsh",
];
const KEYWORDS: [&str; 3] = ["auto", "default", "none"];

/// Replaces an `-S` of `run` that no shell follows by `--shell=default`.
pub fn with_shell_named(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|verb| verb != "run") {
        return words;
    }
    let options = words.iter().take_while(|word| *word != "--").count();
    for at in 2..options {
        let is_named = words.get(at + 1).and_then(|next| next.to_str()).is_some_and(is_shell);
        if words[at] == "-S" && !is_named {
            words[at] = "--shell=default".into();
        }
    }
    words
}

/// Whether a word is the name or the path of a shell, perhaps with options.
fn is_shell(word: &str) -> bool {
    let mut parts = word.split_whitespace();
    let program = parts.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_known = SHELLS.contains(&name) || KEYWORDS.contains(&word);
    is_known && parts.all(|part| part.starts_with('-'))
}

/// Verb (empty: any), old name, replacement.
const RENAMED: [(&str, &str, &str); 22] = [
    ("timeit", "-p", "-r (--runs)"),
    ("bench", "-p", "-r (--runs)"),
    ("timeit", "-n", "--values"),
    ("bench", "-n", "--values"),
    ("history", "-n", "--last"),
    ("hist", "-n", "--bins"),
    ("slowest", "-n", "--first"),
    ("why", "--page", "--report"),
    ("noise", "--no-verdict", "nothing: stillwell calibrate measures what it left out"),
    ("", "--processes", "--runs (-r)"),
    ("", "--blocks", "--runs (-r)"),
    ("", "--min-blocks", "--min-runs (-m)"),
    ("", "--max-blocks", "--max-runs (-M)"),
    ("", "--arm-name", "--command-name"),
    ("", "--arm", "--command-name"),
    ("", "--baseline-cmd", "--reference"),
    ("", "--baseline", "--reference"),
    ("", "--directory", "--record (-o)"),
    ("", "--clock", "--decide-on"),
    ("", "--export-times", "--export times FILE"),
    ("", "--export-json-v1", "--export hyperfine-1 FILE"),
    ("", "--output-file", "--record (-o)"),
];

/// The replacement for an old option of this verb, if the verb has it.
pub fn renamed(verb: &str, option: &str) -> Option<&'static str> {
    let all = command();
    let has = |new: &str| {
        let name = new.trim_start_matches("--").split(' ').next().unwrap_or_default();
        all.find_subcommand(verb).is_none_or(|verb| long_option(verb, name).is_some())
    };
    let is_it = |(of, old, new): &&(&str, &str, &str)| {
        *old == option && if of.is_empty() { has(new) } else { *of == verb }
    };
    RENAMED.iter().find(is_it).map(|(.., new)| *new)
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
        check(&["--reference", "a", "b"], &["run", "--reference", "a", "b"]);
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

    #[track_caller]
    fn check_shell(words: &[&str], expected: &[&str]) {
        let found = with_shell_named(words.iter().map(OsString::from).collect());
        assert_eq!(found, expected.iter().map(OsString::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_shell_is_taken_and_a_command_is_not() {
        let flag = ["stillwell", "run", "--shell=default", "echo a && echo b", "echo c"];
        check_shell(&["stillwell", "run", "-S", "echo a && echo b", "echo c"], &flag);
        for shell in ["bash", "/usr/bin/dash", "bash --norc", "none"] {
            let named = ["stillwell", "run", "-S", shell, "echo c"];
            check_shell(&named, &named);
        }
        let script = ["stillwell", "run", "--shell=default", "sh build.sh"];
        check_shell(&["stillwell", "run", "-S", "sh build.sh"], &script);
        let other = ["stillwell", "timeit", "-S", "x"];
        check_shell(&other, &other);
        let after = ["stillwell", "run", "--", "-S", "x"];
        check_shell(&after, &after);
        check_shell(
            &["stillwell", "run", "x", "-S"],
            &["stillwell", "run", "x", "--shell=default"],
        );
    }

    #[test]
    fn a_new_name_is_an_option_of_the_verb() {
        for verb in ["run", "--max-blocks"] {
            assert_eq!(renamed(verb, "--max-blocks"), Some("--max-runs (-M)"), "{verb}");
        }
        for verb in ["timeit", "bench", "show"] {
            assert_eq!(renamed(verb, "--max-blocks"), None, "{verb}");
        }
        assert_eq!(renamed("bench", "--blocks"), Some("--runs (-r)"));
        assert_eq!(renamed("history", "-n"), Some("--last"));
    }

    #[test]
    fn no_old_name_is_an_option() {
        for (verb, old, _) in RENAMED {
            for command in
                command().get_subcommands().filter(|it| verb.is_empty() || it.get_name() == verb)
            {
                for arg in command.get_arguments() {
                    let long = arg.get_long().map(|long| format!("--{long}"));
                    let short = arg.get_short().map(|short| format!("-{short}"));
                    let names = [long, short];
                    assert!(!names.contains(&Some(old.to_owned())), "{} {old}", command.get_name());
                }
            }
        }
    }
}
