//! Mistakes of the command line in one line: clap's own text has five, and the usage, which `--help` shows better.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use model::spec::{command, renamed};
use model::words::n_edits;

/// Whether clap's "error" is a requested text, such as the help.
pub fn is_answer(error: &Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// The mistake, clap's tips, and a pointer to the help. `words`: the command line.
pub fn mistake(error: &Error, words: &[String]) -> String {
    if let Some(text) = no_verb(error, words) {
        return text;
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let what = what(error, words).unwrap_or_else(|| {
        let lines: Vec<&str> = first.lines().map(str::trim).collect();
        let line = lines.join(" ");
        line.strip_prefix("error: ").unwrap_or(&line).to_owned()
    });
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // A value that looks like an option is usually a mistyped option.
    let tips: Vec<&str> = tips.filter(|tip| !tip.starts_with("to pass '")).collect();
    let tips: String = tips.iter().map(|tip| format!("; {tip}")).collect();
    format!("{what}{tips}; `{} --help` shows more", verb(words))
}

/// Verbs of pyperf without an alias here: ours would silently do something else.
const VERBS_OF_PYPERF: [(&str, &str); 2] = [
    ("command", "stillwell run 'PROGRAM ARGUMENT', each command in quotes"),
    (
        "collect_metadata",
        "stillwell system, or python -m stillwell.pyperf_compat collect_metadata for its file",
    ),
];

/// The message for a first word that is no verb: a record, a typing error, or a program without a slash.
fn no_verb(error: &Error, words: &[String]) -> Option<String> {
    let is_first = error.kind() == ErrorKind::InvalidSubcommand && verb(words) == "stillwell";
    if !is_first {
        return None;
    }
    let word = words.get(1)?;
    let quoted = shell_words::quote(word);
    let of_pyperf = VERBS_OF_PYPERF.iter().find(|(verb, _)| verb == word);
    Some(if word.ends_with(".swell") {
        format!("{word} is a record, not a verb; to see it: stillwell show {quoted}")
    } else if let Some((_, here)) = of_pyperf {
        format!("there is no verb {word:?}; for what pyperf does with it: {here}")
    } else {
        let similar = match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::String(verb)) => format!(" (similar: {verb})"),
            Some(ContextValue::Strings(verbs)) if !verbs.is_empty() => {
                // Names from other tools are understood, but not recommended.
                let mut ours: Vec<&str> =
                    verbs.iter().map(String::as_str).filter(|it| !it.contains('_')).collect();
                ours.sort_by_key(|verb| n_edits(verb, word));
                format!(" (similar: {})", ours.join(", "))
            }
            _ => one_edit_away(word),
        };
        format!(
            "there is no verb {word:?}{similar}; to time a command of that name: stillwell run \
             {quoted}; `stillwell --help` lists the verbs"
        )
    })
}

/// A verb that a word becomes with one edit. clap suggests none for a short word.
fn one_edit_away(word: &str) -> String {
    let program = command();
    let near = program.get_subcommands().find(|verb| n_edits(verb.get_name(), word) == 1);
    near.map_or_else(String::new, |verb| format!(" (similar: {})", verb.get_name()))
}

/// A better message for invalid numbers.
fn what(error: &Error, words: &[String]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg)?;
    if error.kind() == ErrorKind::ArgumentConflict && argument.starts_with("--parameter-scan") {
        return Some(
            "one -P scans one parameter; several: -L a 1,2,3 -L b 4,5 takes every pair".into(),
        );
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(now) = renamed(words.get(1).map_or("", |verb| verb), argument)
    {
        return Some(format!("{argument} is now {now}"));
    }
    if error.kind() == ErrorKind::UnknownArgument && argument.parse::<f64>().is_ok() {
        // clap names the first letter of possible short options: `-1` for `-1s`.
        let is_it =
            |word: &String| word == argument || (argument.len() == 2 && word.starts_with(argument));
        let at = words.iter().position(is_it)?;
        let before = words.get(at.checked_sub(1)?).filter(|word| word.starts_with('-'))?;
        return Some(format!("{before} {}: the value cannot be negative", words[at]));
    }
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let value = context(ContextKind::InvalidValue)?;
    let option = argument.split_once([' ', '=', '[']).map_or(argument, |(option, _)| option);
    let why = std::error::Error::source(error)?.to_string();
    let why = match why.as_str() {
        "invalid digit found in string" => match value.parse::<f64>() {
            Ok(number) if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
                format!("write a whole number with digits only: {number:.0}")
            }
            Ok(number) if number < 0.0 => "the value cannot be negative".into(),
            _ => "this is not a whole number".into(),
        },
        "number too large to fit in target type" => "the number is too large".into(),
        "cannot parse integer from empty string" => "a number is missing".into(),
        other => {
            match other.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
                Some((least, most)) => format!("the value must be from {least} to {most}"),
                None => other.to_owned(),
            }
        }
    };
    if why.contains(&format!("{value:?}")) {
        return Some(format!("{option}: {why}"));
    }
    let value = if value.is_empty() { "''" } else { value };
    Some(format!("{option} {value}: {why}"))
}

/// The verb with its action: `stillwell history add`.
fn verb(words: &[String]) -> String {
    let (mut name, mut command) = (String::from("stillwell"), &command());
    for word in words.iter().skip(1) {
        let Some(inside) = command.find_subcommand(word) else { break };
        command = inside;
        name = format!("{name} {word}");
    }
    name
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use model::spec::Cli;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = Cli::try_parse_from(&words).unwrap_err();
        assert!(!is_answer(&error));
        assert_eq!(mistake(&error, &words), expected);
    }

    #[test]
    fn one_line_says_what_is_wrong() {
        check(
            "stillwell run --runs 1e9 true",
            "--runs 1e9: write a whole number with digits only: 1000000000; `stillwell run --help` shows more",
        );
        check(
            "stillwell run -r -1 true",
            "-r -1: the value cannot be negative; `stillwell run --help` shows more",
        );
        check(
            "stillwell noise --for -1s",
            "--for -1s: the value cannot be negative; `stillwell noise --help` shows more",
        );
        check(
            "stillwell run -r 0 true",
            "--runs 0: the value must be from 1 to 4294967295; `stillwell run --help` shows more",
        );
        check(
            "stillwell run -r 1.5 true",
            "--runs 1.5: this is not a whole number; `stillwell run --help` shows more",
        );
        check(
            "stillwell run --budgt 3 true",
            "unexpected argument '--budgt' found; a similar argument exists: '--budget'; \
             `stillwell run --help` shows more",
        );
        check(
            "stillwell history add",
            "the following required arguments were not provided: <FILE>...; \
             `stillwell history add --help` shows more",
        );
        check(
            "stillwell make",
            "there is no verb \"make\" (similar: man); to time a command of that name: stillwell run make; \
             `stillwell --help` lists the verbs",
        );
        check(
            "stillwell x/a.swell",
            "x/a.swell is a record, not a verb; to see it: stillwell show x/a.swell",
        );
        check(
            "stillwell rn true",
            "there is no verb \"rn\" (similar: run); to time a command of that name: stillwell run rn; \
             `stillwell --help` lists the verbs",
        );
        check(
            "stillwell runn true",
            "there is no verb \"runn\" (similar: run); to time a command of that name: stillwell run runn; \
             `stillwell --help` lists the verbs",
        );
    }
}
