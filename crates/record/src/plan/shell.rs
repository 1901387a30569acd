//! Whether commands are executed by a shell.

use crate::plan::{Arm, ShellReason};
use model::spec::run::ArmOptions;
use model::values::Shell;

/// Decides for all commands at once. If only one command had a shell, the comparison would include the shell.
pub(super) fn choose_shell(
    options: &ArmOptions,
    arms: &[Arm],
) -> (Option<Vec<String>>, ShellReason) {
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

/// Words that only a shell can execute.
const BUILTINS: [&str; 24] = [
    ".", ":", "alias", "case", "cd", "eval", "exec", "exit", "export", "for", "if", "read",
    "return", "set", "shift", "source", "times", "trap", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

/// The first piece of shell syntax that would have no effect without a shell.
pub fn shell_syntax(command: &str) -> Option<String> {
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

/// Replaces a word of a script by a text. A text with blanks is quoted unless the script already quotes the word.
pub(super) fn replace_in_script(script: &str, word: &str, text: &str) -> String {
    let mut out = String::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once(word) {
        out += before;
        out += &if is_quoted(&out) { text.into() } else { shell_words::quote(text) };
        rest = after;
    }
    out + rest
}

/// Whether a quote is open at the end of a script.
fn is_quoted(script: &str) -> bool {
    let mut quote = None;
    let mut characters = script.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => drop(characters.next()),
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            _ => {}
        }
    }
    quote.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
