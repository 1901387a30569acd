//! Options that a command line need not have, because a variable or a file has them. The command line goes before the
//! variable, and the variable before the file. An option gives way to itself, and to one that excludes it.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::spec::command_line::{long_option, n_values, renamed, short_option};
use crate::spec::default_verbs::{NO_DEFAULTS, VERBS};
use crate::spec::schema::{SCHEMA, command, parse};
use crate::spec::suite::closest;

pub use crate::spec::default_verbs::takes_defaults;

/// The variable: options as in a shell.
pub const VARIABLE: &str = "STILLWELL_OPTIONS";
/// The name of the file: options of all verbs, and a table for each verb.
pub const FILE: &str = "stillwell.toml";

/// Options of the command line alone: rights, and what is about one session.
const REFUSED: [&str; 5] = ["as_root", "resume", "record", NO_DEFAULTS, SCHEMA];

/// The kinds of values that a file may give, as the help names them. A checkout can bring a file, so the file chooses
/// neither what is executed nor which files are read or written. An option with a new kind of value is refused.
#[rustfmt::skip]
const KINDS_OF_FILE: [&str; 28] = [
    "BYTES", "CPUS", "ERROR", "KNOBS", "METRIC", "METRIC[:UNIT],...", "MODE", "N", "NAME", "NODES", "NUM",
    "ORDER", "PART", "PATTERN", "PCT", "POINTER", "POLICY", "REGEX", "RESOURCE=VALUE", "STATUSES", "STYLE", "TAG",
    "TEXT", "TIME", "UNIT", "WHEN", "WHICH", "slower[:PCT]",
];

/// Options without a value that a file may not have: they open records to others, and trust programs.
const FLAGS_NOT_OF_FILE: [&str; 2] = ["shared", "trusted"];

/// An option that the command line did not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultOption {
    /// The option and its values.
    pub words: Vec<String>,
    /// `STILLWELL_OPTIONS`, or file and line.
    pub from: String,
}

/// A mistake in the variable or the file.
#[derive(Debug)]
pub enum DefaultsMistake {
    /// What is wrong, with its place.
    Text(String),
    /// An option that clap refuses.
    Refused {
        /// The place of the option.
        from: String,
        /// The reason.
        error: Box<clap::Error>,
    },
}

impl From<String> for DefaultsMistake {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// An option of any verb with its words; none if it is switched off.
type Found<'a> = (&'a Arg, Vec<String>);

/// The words with the options of the variable and of the file (its name and text), and those that were taken. Errors:
/// an option has a mistake. Mistakes of the command line itself are found later.
pub fn with_defaults(
    words: Vec<OsString>,
    variable: Option<&str>,
    file: Option<(&str, &str)>,
) -> Result<(Vec<OsString>, Vec<DefaultOption>), DefaultsMistake> {
    let all = command();
    let depth = if words.get(1).is_some_and(|verb| verb == "campaign") { 3 } else { 2 };
    let Some((verb, matches)) = verb_of(&all, &words, depth) else {
        return Ok((words, Vec::new()));
    };
    let options = Options { all: &all, verb };
    let of_variable = variable.map(|text| options.variable_options(text)).transpose()?;
    let of_file = file.map(|(path, text)| options.file_options(path, text)).transpose()?;
    let levels = of_variable.into_iter().chain(of_file.into_iter().flatten());
    let is_given = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        matches!(matches.try_contains_id(id), Ok(true))
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut given: Vec<&Arg> = verb.get_arguments().filter(is_given).collect();
    if given.iter().any(|arg| arg.is_exclusive_set() || arg.get_id() == "resume") {
        return Ok((words, Vec::new()));
    }
    let mut taken = Vec::new();
    for level in levels {
        let mut of_level = Vec::new();
        for ((arg, words), from) in level {
            // The same option of this verb, if it has it.
            let own = verb.get_arguments().find(|own| own.get_long() == arg.get_long());
            let Some(own) = own else { continue };
            if given.iter().any(|other| gives_way(verb, own, other)) {
                continue;
            }
            of_level.push(own);
            taken.extend((!words.is_empty()).then_some(DefaultOption { words, from }));
        }
        given.extend(of_level);
    }
    let words_with = |n: usize| {
        let defaults = taken[..n].iter().flat_map(|option| option.words.iter().map(OsString::from));
        let own = words[depth..].iter().cloned();
        words[..depth].iter().cloned().chain(defaults).chain(own).collect::<Vec<_>>()
    };
    let is_refused = |words: &[OsString]| parse(words).err().filter(clap::Error::use_stderr);
    let whole = words_with(taken.len());
    if is_refused(&whole).is_none() || is_refused(&words).is_some() {
        return Ok((whole, taken));
    }
    let refused = (1..=taken.len()).find_map(|n| Some((n, is_refused(&words_with(n))?)));
    let (n, error) = refused.expect("all of them together are refused");
    Err(DefaultsMistake::Refused { from: taken[n - 1].from.clone(), error: Box::new(error) })
}

/// The verb of a command line, and what clap reads of it, mistakes left out. `None` if it asks for help.
fn verb_of<'a>(
    all: &'a Command,
    words: &[OsString],
    depth: usize,
) -> Option<(&'a Command, ArgMatches)> {
    let mut matches = all.clone().ignore_errors(true).try_get_matches_from(words).ok()?;
    let mut verb = all;
    for word in &words[1..depth] {
        verb = verb.find_subcommand(word)?;
        matches = matches.remove_subcommand()?.1;
    }
    Some((verb, matches))
}

/// Whether an option is left out beside another one.
fn gives_way(verb: &Command, option: &Arg, other: &Arg) -> bool {
    let id = option.get_id();
    let excludes = |one: &Arg, id: &clap::Id| {
        verb.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == id)
    };
    id == other.get_id() || excludes(option, other.get_id()) || excludes(other, id)
}

/// The verbs that take defaults, by the names that their tables have.
fn verbs(all: &Command) -> impl Iterator<Item = (&'static str, &Command)> {
    VERBS.iter().filter_map(|&name| {
        let verb = all.find_subcommand(name)?;
        Some((name, if name == "campaign" { verb.find_subcommand("new")? } else { verb }))
    })
}

/// The options of one source with their places.
type Level<'a> = Vec<(Found<'a>, String)>;

/// The options of all verbs; the options of the command line's verb come first.
#[derive(Clone, Copy)]
struct Options<'a> {
    all: &'a Command,
    verb: &'a Command,
}

impl<'a> Options<'a> {
    /// The option that one of the verbs has.
    fn find(
        self,
        is_it: impl Fn(&'a Command) -> Option<&'a Arg>,
        called: &str,
    ) -> Result<&'a Arg, String> {
        let found = is_it(self.verb).or_else(|| verbs(self.all).find_map(|(_, verb)| is_it(verb)));
        allowed(found, self.verb, called)
    }

    fn variable_options(self, text: &str) -> Result<Level<'a>, String> {
        let wrong = |why: String| format!("{VARIABLE}: {why}");
        let words = shell_words::split(text).map_err(|error| wrong(error.to_string()))?;
        let options = self.word_options(words).map_err(wrong)?;
        Ok(options.into_iter().map(|option| (option, VARIABLE.to_owned())).collect())
    }

    fn word_options(self, words: Vec<String>) -> Result<Vec<Found<'a>>, String> {
        let mut found = Vec::new();
        let mut rest = words.into_iter();
        while let Some(word) = rest.next() {
            let (option, has_value) = if let Some(long) = word.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |it| (it.0, Some(it.1)));
                let option = self.find(|verb| long_option(verb, name), &format!("--{name}"))?;
                (option, value.is_some())
            } else if let Some(letter) = word.strip_prefix('-').and_then(|it| it.chars().next()) {
                let option = self.find(|verb| short_option(verb, letter), &format!("-{letter}"))?;
                let has_more = word.len() > 1 + letter.len_utf8();
                if has_more && !option.get_action().takes_values() {
                    return Err(format!("{word:?}: write each option for itself"));
                }
                (option, has_more)
            } else {
                return Err(format!("{word:?} is no option"));
            };
            let n = if has_value { 0 } else { n_values(option) };
            let mut words = vec![word];
            words.extend(rest.by_ref().take(n));
            if words.len() <= n {
                return Err(format!("{} needs a value", words[0]));
            }
            found.push((option, words));
        }
        Ok(found)
    }

    /// The options of the verb's own table, and those for all verbs.
    fn file_options(self, path: &str, text: &str) -> Result<[Level<'a>; 2], String> {
        let at = |byte: usize| format!("{path}:{}", text[..byte].matches('\n').count() + 1);
        let root = DeTable::parse(text).map_err(|error| {
            let byte = error.span().map_or(0, |span| span.start.min(text.len()));
            format!("{}: {}", at(byte), error.message().replace('\n', ", "))
        })?;
        let (mut own, mut general) = (Level::new(), Level::new());
        for (key, value) in in_order(root.get_ref()) {
            let (name, place) = (key.get_ref().as_ref(), at(key.span().start));
            let wrong = |why: String| format!("{place}: {why}");
            if name == "variant" && value.get_ref().is_array() {
                return Err(wrong(this_is_a_suite()));
            }
            let DeValue::Table(table) = value.get_ref() else {
                let option = self.find(|verb| long_option(verb, &dashed(name)), name);
                let option = option.and_then(|option| in_file(option, name, value.get_ref()));
                general.push((option.map_err(wrong)?, place));
                continue;
            };
            let of_table = verbs(self.all).find(|(verb, _)| *verb == name);
            let meant =
                closest(name, VERBS.into_iter()).map(|it| format!("; did you mean {it:?}?"));
            let meant = meant.unwrap_or_default();
            let of_table = of_table
                .ok_or_else(|| wrong(format!("{name:?} is no verb that measures{meant}")))?
                .1;
            for (key, value) in in_order(table) {
                let (name, place) = (key.get_ref().as_ref(), at(key.span().start));
                let option = allowed(long_option(of_table, &dashed(name)), of_table, name);
                let option = option.and_then(|option| in_file(option, name, value.get_ref()));
                let option = option.map_err(|why| format!("{place}: {why}"))?;
                if std::ptr::eq(of_table, self.verb) {
                    own.push((option, place));
                }
            }
        }
        Ok([own, general])
    }
}

/// The keys of a table as they are written.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Keys of suites have underscores, options have dashes.
fn dashed(key: &str) -> String {
    key.replace('_', "-")
}

fn allowed<'a>(option: Option<&'a Arg>, verb: &Command, called: &str) -> Result<&'a Arg, String> {
    let option = option.ok_or_else(|| {
        let word = format!("--{}", dashed(called.trim_start_matches('-')));
        let word = if called.starts_with('-') { called } else { &word };
        if let Some(now) = renamed(verb.get_name(), word) {
            return format!("{called} is now {now}");
        }
        let meant = similar(verb, called).map(|it| format!("; did you mean {it:?}?"));
        let meant = meant.unwrap_or_default();
        format!("{called:?} is no option of a verb that measures{meant}")
    })?;
    match REFUSED.contains(&option.get_id().as_str()) {
        true => Err(format!("{called} is for the command line alone")),
        false => Ok(option),
    }
}

/// The option that was probably meant, written as the wrong one is: as a word or as a key.
fn similar(verb: &Command, called: &str) -> Option<String> {
    let named = verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
    let long = closest(&dashed(called.trim_start_matches('-')), named)?;
    let is_word = called.starts_with('-');
    Some(if is_word { format!("--{long}") } else { long.replace('-', "_") })
}

/// Whether a file may have this option.
fn is_harmless(option: &Arg) -> bool {
    if FLAGS_NOT_OF_FILE.contains(&option.get_id().as_str()) {
        return false;
    }
    let kinds = option.get_value_names().filter(|_| option.get_action().takes_values());
    kinds.unwrap_or_default().iter().all(|kind| KINDS_OF_FILE.contains(&kind.as_str()))
}

/// The words of an option with a value of the file.
fn in_file<'a>(option: &'a Arg, key: &str, value: &DeValue<'_>) -> Result<Found<'a>, String> {
    if !is_harmless(option) {
        return Err(format!(
            "{key} is refused here: a checkout can bring this file, so the file may not choose what is executed, read, \
             written or trusted; give --{} on the command line or in {VARIABLE}, or use a suite",
            option.get_long().unwrap_or_default()
        ));
    }
    let long = format!("--{}", option.get_long().unwrap_or_default());
    let may_be_bare = !option.get_action().takes_values() || option.is_require_equals_set();
    let n = n_values(option);
    let words = match value {
        DeValue::Boolean(true) if may_be_bare => vec![long],
        DeValue::Boolean(false) if may_be_bare => Vec::new(),
        _ if !option.get_action().takes_values() => return Err(format!("{long} is true or false")),
        DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
            return Err(this_is_a_suite());
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| scalar(item.get_ref(), &long));
            let items = items.collect::<Result<Vec<String>, String>>()?;
            if n > 1 && items.len() % n != 0 {
                return Err(format!("{long} takes {n} values at a time"));
            }
            match n {
                0 | 1 => items.iter().map(|item| format!("{long}={item}")).collect(),
                _ => items
                    .chunks(n)
                    .flat_map(|it| [std::slice::from_ref(&long), it].concat())
                    .collect(),
            }
        }
        _ if n > 1 => return Err(format!("{long} takes {n} values: a list")),
        value => vec![format!("{long}={}", scalar(value, &long)?)],
    };
    Ok((option, words))
}

fn this_is_a_suite() -> String {
    format!("this is a suite; {FILE} has options, so a suite needs another name")
}

/// A value as it would be on the command line.
fn scalar(value: &DeValue<'_>, long: &str) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        _ => Err(format!("{long} is a text or a decimal number")),
    }
}

#[cfg(test)]
mod tests;
