//! A batch as the launcher runs it. Strings that do not change from run to run are prepared once, to keep the time
//! between two runs short.

use std::ffi::CString;

use crate::wire::{Bytes, Command, Job, StdoutTarget};
use host::sys::CStrings;

/// Variables with the number of the run. The second is hyperfine's.
const ITERATION_VARIABLES: [&str; 2] = ["STILLWELL_ITERATION", "HYPERFINE_ITERATION"];
/// Variable that seeds Python's hashes (docs.python.org, "PYTHONHASHSEED").
pub const HASH_SEED: &str = "PYTHONHASHSEED";
pub const PADDING_VARIABLE: &str = "STILLWELL_PADDING";
/// Name of the padding variable if a run must not know that it is measured.
const PLAIN_PADDING_VARIABLE: &str = "PADDING";

pub fn padding_variable(is_undercover: bool) -> &'static str {
    if is_undercover { PLAIN_PADDING_VARIABLE } else { PADDING_VARIABLE }
}

/// Whether a variable's name reveals to a run that it is measured, and by whom. A user's own settings do too.
pub fn is_telling(name: &[u8]) -> bool {
    [&b"STILLWELL_"[..], b"HYPERFINE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// A command with its strings, prepared once for a batch.
pub struct PreparedCommand<'a> {
    pub command: &'a Command,
    pub path: CString,
    pub argv: CStrings,
    /// The arguments of the process whose count is subtracted.
    pub half: Option<CStrings>,
    pub directory: Option<CString>,
    pub stdin: Option<CString>,
    pub stdout: Option<CString>,
}

impl<'a> PreparedCommand<'a> {
    pub fn new(command: &'a Command) -> Self {
        let strings = |words: &[Bytes]| CStrings::new(words.iter().map(|word| c_string(word)));
        let half = command.count.as_ref().and_then(|count| count.half.as_ref());
        Self {
            command,
            path: c_string(&command.path),
            argv: strings(&command.argv),
            half: half.map(|words| strings(words)),
            directory: command.directory.as_deref().map(c_string),
            stdin: command.stdin.as_deref().map(c_string),
            stdout: match &command.stdout {
                StdoutTarget::File(path) => Some(c_string(path)),
                _ => None,
            },
        }
    }
}

impl PreparedCommand<'_> {
    pub fn is_under_valgrind(&self) -> bool {
        self.command.count.as_ref().is_some_and(|count| count.folder.is_some())
    }
}

pub fn environment(entries: &[Bytes]) -> CStrings {
    CStrings::new(entries.iter().map(|entry| c_string(entry)))
}

/// The variables of this run alone: its number, and Python's hash seed, which always has the same length.
pub fn variables_of(job: &Job) -> impl Iterator<Item = CString> {
    let value = job.iteration.iter();
    let numbers = value.flat_map(|value| {
        ITERATION_VARIABLES.map(|name| c_string([name, "=", value].concat().as_bytes()))
    });
    let seed = job.hash_seed.map(|seed| c_string(format!("{HASH_SEED}={seed:010}").as_bytes()));
    numbers.chain(seed)
}

/// Converts to a C string. The front end has refused strings with a NUL, which would cut off the rest.
pub fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).expect("no NUL before the first NUL")
}
