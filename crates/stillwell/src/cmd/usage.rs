//! Mistakes of the command line in one line. clap's own text has five, and the usage, which `--help` shows better.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Error};

use crate::spec::Cli;

/// Whether an error of clap is a text that was asked for, such as the help.
pub fn is_answer(error: &Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// The mistake, clap's tips, and where the help is. `words` is the command line.
pub fn mistake(error: &Error, words: &[String]) -> String {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let what = what(error, words).unwrap_or_else(|| {
        let lines: Vec<&str> = first.lines().map(str::trim).collect();
        let line = lines.join(" ");
        line.strip_prefix("error: ").unwrap_or(&line).to_owned()
    });
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // A value that looks like an option is nearly always an option with a mistake.
    let tips: Vec<&str> = tips.filter(|tip| !tip.starts_with("to pass '")).collect();
    let tips: String = tips.iter().map(|tip| format!("; {tip}")).collect();
    format!("{what}{tips}; `{} --help` shows more", verb(words))
}

/// Better words for numbers that are none.
fn what(error: &Error, words: &[String]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg)?;
    if error.kind() == ErrorKind::UnknownArgument && argument.parse::<f64>().is_ok() {
        let at = words.iter().position(|word| word == argument)?;
        let before = words.get(at.checked_sub(1)?).filter(|word| word.starts_with('-'))?;
        return Some(format!("{before} {argument}: the value cannot be negative"));
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

/// The verb, and the verb in it: `stillwell history add`.
fn verb(words: &[String]) -> String {
    let (mut name, mut command) = (String::from("stillwell"), &Cli::command());
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
            "stillwell runn true",
            "unrecognized subcommand 'runn'; a similar subcommand exists: 'run'; \
             `stillwell --help` shows more",
        );
    }
}
