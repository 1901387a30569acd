//! Options from `STILLWELL_OPTIONS` and from the nearest `stillwell.toml` up to the root of the repository.
#![expect(clippy::disallowed_methods, reason = "reads a variable, and asks where we are")]

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rustix::process::geteuid;

use crate::cmd::usage::mistake;
use host::user_files::open_to_read;
use host::{terminal, user_of_files};
use model::spec::defaults::{DefaultsMistake, FILE, VARIABLE, takes_defaults, with_defaults};
use model::words::reason;

/// A larger file is not a file of options.
const BYTES_MAX: u64 = 1 << 20;

/// The command line with the defaults of a verb that measures. Errors: an option is wrong, or the file is unreadable.
pub fn filled_in(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    if !takes_defaults(&words) {
        return Ok(words);
    }
    let variable = std::env::var_os(VARIABLE).filter(|text| !text.is_empty());
    let variable = variable.map(OsString::into_string).transpose();
    let variable = variable.map_err(|_| format!("{VARIABLE}: it is no text: it is not UTF-8"))?;
    let file = file()?;
    if variable.is_none() && file.is_none() {
        return Ok(words);
    }
    let shown: Vec<String> = words.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let file = file.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    let (words, taken) =
        with_defaults(words, variable.as_deref(), file).map_err(|wrong| match wrong {
            DefaultsMistake::Text(text) => text,
            DefaultsMistake::Refused { from, error } => {
                format!("{from}: {}", mistake(&error, &shown))
            }
        })?;
    record::set_command_line(words.clone(), taken);
    Ok(words)
}

/// The nearest file, and its text. It has to be the user's own or root's.
fn file() -> Result<Option<(String, String)>, String> {
    let Ok(here) = std::env::current_dir() else { return Ok(None) };
    let n_inside = here.ancestors().position(|directory| directory.join(".git").exists());
    for directory in here.ancestors().take(n_inside.unwrap_or(0) + 1) {
        let path = directory.join(FILE);
        let shown = if directory == here { PathBuf::from(FILE) } else { path.clone() };
        let shown = shown.display().to_string();
        let wrong = |error: std::io::Error| format!("cannot read {shown}: {}", reason(error));
        let file = match open_to_read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file.map_err(wrong)?,
        };
        let owner = file.metadata().map_err(wrong)?.uid();
        if owner != 0 && owner != user_of_files().unwrap_or_else(|| geteuid().as_raw()) {
            terminal::say(format!("{shown} belongs to another user, so its options are not taken"));
            return Ok(None);
        }
        let mut text = String::new();
        file.take(BYTES_MAX).read_to_string(&mut text).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => format!("{shown}: it is no text: it is not UTF-8"),
            _ => wrong(error),
        })?;
        return Ok(Some((shown.clone(), text)));
    }
    Ok(None)
}
