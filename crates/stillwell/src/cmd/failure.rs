//! The end of a failed program: the text on standard error, and with `--json` a document.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use anyhow::{Error, Result};
use rustix::io::Errno;

use crate::cmd::output_file::write_one;
use host::terminal;
use host::user_files::whose_rights;
use model::spec::JsonTarget;
use model::spec::defaults::DefaultOption;
use model::values::exit_code;
use model::words::{in_prose, in_words};
use render::document::{ErrorCode, ErrorObject, write_error};
use render::remedies::Audience;

/// An error that the verb's own document names. A second document would replace it, or follow it.
#[derive(Debug)]
struct InDocument(Error);

impl std::fmt::Display for InDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for InDocument {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Ends a verb that has shown its results and named the unwritten output in its document. The error of the output comes
/// last.
pub fn end_with<T>(unwritten: Option<Error>, shown: Result<T>) -> Result<T> {
    match (unwritten, shown) {
        (None, shown) => shown,
        (Some(unwritten), Ok(_)) => Err(InDocument(unwritten).into()),
        (Some(unwritten), Err(error)) => {
            terminal::say(in_words(&error));
            Err(unwritten)
        }
    }
}

/// Reports a mistake of the command line. Returns the exit code.
pub fn report_mistake(message: &str, target: Option<&JsonTarget>) -> u8 {
    told(ErrorCode::Usage, message, target)
}

/// Reports an error. Returns the exit code.
pub fn report_error(error: &Error, audience: Audience, target: Option<&JsonTarget>) -> u8 {
    let mut message = audience.words(&in_prose(error));
    // The machine's own files are opened as root.
    if let Some(whose) =
        whose_rights().filter(|_| audience != Audience::Machine && is_denied(error))
    {
        message += &format!("; {whose}");
    }
    // Also where the launcher met it, which answers with words.
    if message.ends_with("Too many open files") {
        message += "; raise the limit of open files (ulimit -n)";
    }
    message += &blamed_defaults(&message);
    let target = target.filter(|_| error.downcast_ref::<InDocument>().is_none());
    told(ErrorCode::of(error), &message, target)
}

/// The source of the options in a message, if the command line does not have them itself.
fn blamed_defaults(message: &str) -> String {
    let words: Vec<&str> = message.split(|it: char| it.is_whitespace() || it == ':').collect();
    let blame = |option: &DefaultOption| {
        let name = option.words.first()?.split('=').next()?;
        words.contains(&name).then(|| format!("; {name} is from {}", option.from))
    };
    record::defaults().iter().filter_map(blame).collect()
}

/// Whether the kernel refused a file. Errors of `host::user_files` name their remedy already, and have no number.
fn is_denied(error: &Error) -> bool {
    let number = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error)
    };
    error.chain().any(|cause| number(cause) == Some(Errno::ACCESS.raw_os_error()))
}

/// The exit code of an error for `git bisect run`, which takes 1 to 127 for "bad" (125: skip) and stops at larger ones
/// (git-bisect(1), "Bisect run").
pub fn for_git(words: &[OsString], code: u8) -> u8 {
    let has = |word: &str| words.iter().any(|it| it == word);
    if has("bisect") && has("--step") { exit_code::ABORTS_GIT } else { code }
}

fn told(code: ErrorCode, message: &str, target: Option<&JsonTarget>) -> u8 {
    terminal::say(message);
    let exit_code = code.exit_code();
    document(ErrorObject { code, message: message.into(), exit_code }, target);
    exit_code
}

/// Prints a document if a verb with `--json` ended early and printed none.
pub fn ensure_document(exit_code: u8, target: Option<&JsonTarget>) {
    let code = match exit_code {
        exit_code::ERROR => ErrorCode::Failed,
        exit_code::TIMEOUT => ErrorCode::Timeout,
        exit_code::INTERRUPTED => ErrorCode::Interrupted,
        _ => return,
    };
    if target == Some(&JsonTarget::Stdout) && !terminal::has_data() {
        let message = "it ended early; standard error says why".into();
        document(ErrorObject { code, message, exit_code }, target);
    }
}

/// Ignores an error of writing: standard error has the reason in any case.
fn document(error: ErrorObject, target: Option<&JsonTarget>) {
    match target {
        None => {}
        Some(JsonTarget::Stdout) => drop(write_error(&mut terminal::data(), error)),
        Some(JsonTarget::File(path)) => {
            let path = Path::new(OsStr::new(path));
            drop(write_one(path, |mut to| Ok(write_error(&mut to, error.clone())?)));
        }
    }
}
