//! `--schema`: prints the schema of a verb's `--json` documents. The option is added here for all verbs at once.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use crate::spec::default_verbs::{NO_DEFAULTS, are_for};
use crate::spec::{Cli, short_help, verb_groups};

/// Ids of the options.
pub(super) const SCHEMA: &str = "json_schema";
const JSON: &str = "json";
/// The heading for verbs that have headings.
const OUTPUT: &str = "Output";

/// Verbs whose `--json` is a contract, and the names of their documents. Each may print an error instead.
pub const DOCUMENTS: [(&str, &[&str]); 20] = [
    ("bench", &["session"]),
    ("bisect", &["bisect"]),
    ("calibrate", &["calibration"]),
    ("campaign confirm", &["campaign"]),
    ("campaign status", &["campaign"]),
    ("campaign try", &["attempt"]),
    ("check", &["check"]),
    ("compare", &["pairs", "sessions", "files"]),
    ("gate", &["gate"]),
    ("history changes", &["changes"]),
    ("noise", &["noise", "lost_time"]),
    ("pool collect", &["pool"]),
    ("race", &["race"]),
    ("run", &["session"]),
    ("show", &["session"]),
    ("system", &["system"]),
    ("system advise", &["advice"]),
    ("system show", &["system"]),
    ("timeit", &["session"]),
    ("why", &["why", "session"]),
];

pub enum Request {
    Verb(Box<Cli>),
    /// The schema of these documents.
    Schema(&'static [&'static str]),
    /// The short help of a verb.
    ShortHelp(String),
}

pub fn command() -> Command {
    let command = with_shared(Cli::command(), "");
    let template = verb_groups::template(&command);
    command.help_template(template)
}

fn documents_of(verb: &str) -> Option<&'static [&'static str]> {
    DOCUMENTS.iter().find(|(name, _)| *name == verb).map(|(_, documents)| *documents)
}

/// Adds `--schema` to each verb of the table, and `--no-defaults` to each that takes defaults.
fn with_shared(mut command: Command, name: &str) -> Command {
    let actions: Vec<String> =
        command.get_subcommands().map(|action| action.get_name().to_owned()).collect();
    for action in actions {
        let name = format!("{name} {action}").trim().to_owned();
        command = command.mut_subcommand(action, |action| with_shared(action, &name));
    }
    if are_for(name) {
        let option = Arg::new(NO_DEFAULTS).long("no-defaults").action(ArgAction::SetTrue).help(
            "Take no options from $STILLWELL_OPTIONS and stillwell.toml (docs/commands.md, Defaults)",
        );
        command = command.arg(option.help_heading(Some(OUTPUT)));
    }
    if documents_of(name).is_none() {
        return command;
    }
    let json = command.get_arguments().find(|arg| arg.get_id() == JSON);
    let is_output = json.and_then(Arg::get_help_heading) == Some(OUTPUT);
    let option =
        Arg::new(SCHEMA).long("schema").action(ArgAction::SetTrue).exclusive(true).help(
            "Print the JSON Schema of what --json prints, and do nothing else (docs/json.md)",
        );
    // Without a heading of its own, the option would be under the last group's.
    command.arg(option.help_heading(is_output.then_some(OUTPUT)))
}

/// Parses the command line. Errors: a mistake, or a request for a text such as the help.
pub fn parse(words: &[OsString]) -> Result<Request, clap::Error> {
    let mut command = command();
    let mut matches = match command.try_get_matches_from_mut(words) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let short = short_help::asked(words, &command);
            return short.map(Request::ShortHelp).ok_or(error);
        }
        matches => matches?,
    };
    if let Some(documents) = asked_schema(&matches, "") {
        return Ok(Request::Schema(documents));
    }
    let cli =
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok(Request::Verb(Box::new(cli)))
}

/// The documents of the verb that is given with `--schema`.
fn asked_schema(matches: &ArgMatches, name: &str) -> Option<&'static [&'static str]> {
    let is_asked = |matches: &ArgMatches| {
        matches.try_get_one::<bool>(SCHEMA).is_ok_and(|flag| flag == Some(&true))
    };
    if is_asked(matches) {
        return documents_of(name);
    }
    let (action, inside) = matches.subcommand()?;
    asked_schema(inside, format!("{name} {action}").trim())
}

/// Destination of the `--json` document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonTarget {
    Stdout,
    /// The file of `gate --json FILE`.
    File(OsString),
}

/// Destination of the `--json` document, even if the command line has mistakes. `None` without `--json`.
pub fn json_target(words: &[OsString]) -> Option<JsonTarget> {
    let own = words.iter().take_while(|word| *word != "--");
    let names_file = words.get(1).is_some_and(|verb| verb == "gate");
    let mut own = own.skip(1);
    while let Some(word) = own.next() {
        let bytes = word.as_encoded_bytes();
        if word == "--json" {
            return match names_file {
                true => own.next().map(|file| JsonTarget::File(file.clone())),
                false => Some(JsonTarget::Stdout),
            };
        }
        if let Some(file) = bytes.strip_prefix(b"--json=").filter(|_| names_file) {
            use std::os::unix::ffi::OsStringExt as _;
            return Some(JsonTarget::File(OsString::from_vec(file.to_vec())));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("stillwell").chain(line.split(' ')).map(OsString::from).collect()
    }

    /// With `--schema`, no word is required and no other option is allowed.
    #[test]
    fn each_verb_of_the_table_prints_its_schema() {
        command().debug_assert();
        for (verb, documents) in DOCUMENTS {
            let Ok(Request::Schema(found)) = parse(&words(&format!("{verb} --schema"))) else {
                panic!("{verb} --schema")
            };
            assert_eq!(found, documents, "{verb}");
            assert!(parse(&words(&format!("{verb} --schema x"))).is_err(), "{verb}");
        }
    }

    #[test]
    fn the_target_of_a_document_is_known_without_parsing() {
        let target = |line| json_target(&words(line));
        assert_eq!(target("run --json --bogus"), Some(JsonTarget::Stdout));
        assert_eq!(target("run a -- --json"), None);
        assert_eq!(target("run a b"), None);
        let file = |name: &str| Some(JsonTarget::File(name.into()));
        assert_eq!(target("gate --json x.json --old a"), file("x.json"));
        assert_eq!(target("gate --json=x.json"), file("x.json"));
        assert_eq!(target("gate --json"), None);
    }
}
