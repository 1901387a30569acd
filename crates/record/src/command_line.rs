//! The command line of this process, with the options that it did not have itself. Set once, before a verb begins.

use std::ffi::OsString;
use std::sync::OnceLock;

use model::spec::defaults::DefaultOption;
use model::words::text_of;

static WITH_DEFAULTS: OnceLock<(Vec<OsString>, Vec<DefaultOption>)> = OnceLock::new();

/// Sets the words of the command line, and those among them that are defaults. The first call counts.
pub fn set_command_line(words: Vec<OsString>, defaults: Vec<DefaultOption>) {
    WITH_DEFAULTS.set((words, defaults)).ok();
}

/// The words of the command line, defaults included.
pub fn command_line() -> Vec<String> {
    let text = |word: &OsString| text_of(word.as_encoded_bytes());
    match WITH_DEFAULTS.get() {
        Some((words, _)) => words.iter().map(text).collect(),
        None => std::env::args_os().map(|word| text(&word)).collect(),
    }
}

/// The options that the command line did not have itself.
pub fn defaults() -> Vec<DefaultOption> {
    WITH_DEFAULTS.get().map(|(_, defaults)| defaults.clone()).unwrap_or_default()
}
