//! The documents of `--json`: what all of them begin with, and the errors.
//!
//! **A verb's own document.** Its data is a struct with `#[derive(Serialize, JsonSchema)]`. Then:
//!
//! 1. `impl DocumentBody for MyBody { const NAME: &str = "mine"; }`: the name of its schema;
//! 2. `document::write(&mut terminal::data(), &body, conclusion, None)` prints it;
//! 3. a line for the body in `render::schema`'s test `bodies`, and the verb with this name in [`model::spec::DOCUMENTS`]:
//!    the verb gets `--schema`;
//! 4. `INSTA_UPDATE=always cargo test -p stillwell --bin stillwell schema` writes `schemas/documents.json`, and from now
//!    on a test fails if a field goes away.
//!
//! Numbers that are not finite are null.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::Conclusion;
use model::values::exit_code;
use model::words::in_words;

/// Writes indented JSON with a final newline, or nothing if the document cannot be JSON.
pub fn pretty(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}

/// The data of one kind of document.
pub trait DocumentBody: Serialize + JsonSchema {
    /// Name of the schema, one word: `schema` in the document.
    const NAME: &'static str;
    /// Version of the schema. It grows when a field goes away or changes its meaning, not when one is added.
    const VERSION: u32 = 1;
}

/// A document: the same beginning for all verbs, then the fields of its body.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a, Body> {
    /// The name of the schema.
    schema: &'static str,
    /// The version of the schema.
    version: u32,
    /// The result, its certainty, and the next action.
    conclusion: Conclusion,
    /// The error, if any; then the numbers are from everything that had finished before.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorObject>,
    #[serde(flatten)]
    body: &'a Body,
}

/// Writes a document.
pub fn write<Body: DocumentBody>(
    to: &mut impl Write,
    body: &Body,
    conclusion: Conclusion,
    error: Option<&ErrorObject>,
) -> io::Result<()> {
    let (schema, version) = (Body::NAME, Body::VERSION);
    pretty(to, &Document { schema, version, conclusion, error, body })
}

/// A document without results: nothing was found because something went wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorDocument {
    /// The name of the schema.
    schema: &'static str,
    /// The version of the schema.
    version: u32,
    /// The error.
    error: ErrorObject,
}

/// Name and version of the schema of [`ErrorDocument`].
pub const ERROR_SCHEMA: (&str, u32) = ("error", 1);

/// Writes a document that has only an error.
pub fn write_error(to: &mut impl Write, error: ErrorObject) -> io::Result<()> {
    let (schema, version) = ERROR_SCHEMA;
    pretty(to, &ErrorDocument { schema, version, error })
}

/// An error of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorObject {
    /// The kind of error.
    pub code: ErrorCode,
    /// Subject, place, cause and remedy: the text that is on standard error too.
    pub message: String,
    /// The exit code of the program.
    pub exit_code: u8,
}

impl ErrorObject {
    /// The error beside what had finished when ^C came.
    pub fn interrupted(message: String) -> Self {
        Self { code: ErrorCode::Interrupted, message, exit_code: exit_code::INTERRUPTED }
    }

    /// The early end of a session, with an output that could not be written. If there is one, its exit code is the
    /// program's.
    pub fn with_unwritten(early: Option<Self>, unwritten: Option<&anyhow::Error>) -> Option<Self> {
        let Some(error) = unwritten else { return early };
        let (code, message) = (ErrorCode::of(error), in_words(error));
        let exit_code = code.exit_code();
        Some(match early {
            None => Self { code, message, exit_code },
            Some(early) => Self {
                code: early.code,
                // What a program wrote before it failed stands in lines of its own.
                message: match early.message.contains('\n') {
                    true => format!("{}\n{message}", early.message),
                    false => format!("{}; {message}", early.message),
                },
                exit_code,
            },
        })
    }
}

/// The kinds of errors. docs/json.md lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The command line has a mistake.
    Usage,
    /// A file, a directory or a program is not there.
    NotFound,
    /// The rights are missing.
    PermissionDenied,
    /// The operating system refused something else, such as a write to a full disk.
    Io,
    /// A command that was measured failed.
    CommandFailed,
    /// A hook (`--setup`, `--prepare`, `--conclude`, `--cleanup`, `--validate`) failed.
    HookFailed,
    /// A command did not say the value that decides.
    ValueMissing,
    /// A worker (`timeit`, `bench`) failed.
    WorkerFailed,
    /// The session could not start.
    CannotStart,
    /// The record could not be written any further.
    RecordFull,
    /// A run took longer than `--timeout`.
    Timeout,
    /// SIGINT or SIGTERM ended it.
    Interrupted,
    /// Anything else: the message says what.
    Failed,
}

/// An error whose code does not follow from its causes.
#[derive(Debug)]
pub struct CodedError {
    pub code: ErrorCode,
    pub message: String,
}

impl std::fmt::Display for CodedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CodedError {}

impl ErrorCode {
    pub fn error(self, message: String) -> anyhow::Error {
        CodedError { code: self, message }.into()
    }

    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupted => exit_code::INTERRUPTED,
            _ => exit_code::ERROR,
        }
    }

    /// The code of an error, from its causes.
    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(coded) = error.downcast_ref::<CodedError>() {
            return coded.code;
        }
        let mut causes = error.chain();
        let kind = causes.find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
        match kind {
            None => Self::Failed,
            Some(io::ErrorKind::NotFound) => Self::NotFound,
            Some(io::ErrorKind::PermissionDenied) => Self::PermissionDenied,
            Some(_) => Self::Io,
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn an_unwritten_output_is_named_beside_what_ended_the_session() {
        let unwritten = anyhow!("no space");
        let early = || Some(ErrorObject::interrupted("stopped".into()));
        assert_eq!(ErrorObject::with_unwritten(early(), None), early());
        let alone = ErrorObject::with_unwritten(None, Some(&unwritten)).unwrap();
        assert_eq!(
            (alone.code, &*alone.message, alone.exit_code),
            (ErrorCode::Failed, "no space", 2)
        );
        let both = ErrorObject::with_unwritten(early(), Some(&unwritten)).unwrap();
        assert_eq!(
            (both.code, &*both.message, both.exit_code),
            (ErrorCode::Interrupted, "stopped; no space", 2)
        );
        let quoted = Some(ErrorObject::interrupted("stopped:\n  | why".into()));
        let both = ErrorObject::with_unwritten(quoted, Some(&unwritten)).unwrap();
        assert_eq!(both.message, "stopped:\n  | why\nno space");
    }

    #[test]
    fn the_code_is_that_of_the_cause() {
        let of_kernel = |kind: io::ErrorKind| Err::<(), _>(io::Error::from(kind)).context("a.json");
        let code = |kind| ErrorCode::of(&of_kernel(kind).unwrap_err());
        assert_eq!(code(io::ErrorKind::NotFound), ErrorCode::NotFound);
        assert_eq!(code(io::ErrorKind::PermissionDenied), ErrorCode::PermissionDenied);
        assert_eq!(code(io::ErrorKind::StorageFull), ErrorCode::Io);
        assert_eq!(ErrorCode::of(&anyhow!("odd")), ErrorCode::Failed);
        let coded = ErrorCode::HookFailed.error("no".into()).context("more");
        assert_eq!(ErrorCode::of(&coded), ErrorCode::HookFailed);
    }
}
