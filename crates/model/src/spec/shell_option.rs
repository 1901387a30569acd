//! `-S` takes a shell in hyperfine 1 and is a flag in hyperfine 2. Both work.

use std::ffi::OsString;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let found = with_shell_named(words.iter().map(OsString::from).collect());
        assert_eq!(found, expected.iter().map(OsString::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_shell_is_taken_and_a_command_is_not() {
        let flag = ["stillwell", "run", "--shell=default", "echo a && echo b", "echo c"];
        check(&["stillwell", "run", "-S", "echo a && echo b", "echo c"], &flag);
        for shell in ["bash", "/usr/bin/dash", "bash --norc", "none"] {
            let named = ["stillwell", "run", "-S", shell, "echo c"];
            check(&named, &named);
        }
        let script = ["stillwell", "run", "--shell=default", "sh build.sh"];
        check(&["stillwell", "run", "-S", "sh build.sh"], &script);
        let other = ["stillwell", "timeit", "-S", "x"];
        check(&other, &other);
        let after = ["stillwell", "run", "--", "-S", "x"];
        check(&after, &after);
        check(&["stillwell", "run", "x", "-S"], &["stillwell", "run", "x", "--shell=default"]);
    }
}
