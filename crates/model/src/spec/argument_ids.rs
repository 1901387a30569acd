//! The arguments that a command line has, as a value that clap fills.

use clap::error::Error;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Deserializer};

/// The ids of the arguments on the command line, without defaults. Flattened into a verb as its first field, because
/// clap removes values from the matches field by field.
#[derive(Clone, Debug, Default)]
pub struct ArgumentIds(Vec<String>);

impl ArgumentIds {
    pub fn has(&self, id: &str) -> bool {
        self.0.iter().any(|given| given == id)
    }
}

impl FromArgMatches for ArgumentIds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let ids = matches.ids().map(clap::Id::as_str);
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Ok(Self(ids.filter(is_given).map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ArgumentIds {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

pub(super) fn names(arg: &Arg) -> String {
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let longs = arg.get_long().into_iter().chain(aliases);
    let longs: Vec<String> = longs.map(|long| format!("--{long}")).collect();
    if longs.is_empty() { arg.to_string() } else { longs.join("/") }
}

/// Deserializes an option with an optional value. Without this, `null` would mean "no option" instead of "an option
/// without a value". Errors: the value is invalid.
pub fn given<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}
