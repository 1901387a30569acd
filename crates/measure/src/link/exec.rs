//! Executes the compiler with its objects reordered.
#![expect(clippy::disallowed_methods, reason = "reads @files, and becomes the compiler")]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::IntoRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use rustix::fs::{MemfdFlags, memfd_create};

use super::command;
use super::response::{self, Word};

/// Set for the children of a link: their compiler may find our `ld` in PATH, and a second shuffle could undo the first.
const IS_DONE: &str = "STILLWELL_LINK_ORDER";

/// Variable with a file that gets a line for each link whose objects can change places.
pub(super) const LOG: &str = "STILLWELL_LINK_LOG";

/// Largest `@file` that is read; larger ones are passed on unchanged.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// An argument: a word, or an `@file` with several words.
enum Argument<'a> {
    Word(&'a OsStr),
    Response { name: &'a OsStr, text: Vec<u8>, words: Vec<Word> },
}

/// Replaces this process by a compiler or linker. Returns only on failure.
pub fn exec(command: &[OsString], seed: u64) -> anyhow::Error {
    let mut compiler = match compiler(command, seed) {
        Ok(compiler) => compiler,
        Err(error) => return error,
    };
    let error = anyhow::Error::from(compiler.exec());
    error.context(format!("cannot execute {}", compiler.get_program().display()))
}

fn compiler(command: &[OsString], seed: u64) -> Result<Command> {
    let (program, arguments) = command.split_first().context("there is no command")?;
    let mut compiler = Command::new(program);
    if std::env::var_os(IS_DONE).is_some() {
        compiler.args(arguments);
    } else {
        compiler.args(shuffled(command, seed)?).env(IS_DONE, seed.to_string());
    }
    Ok(compiler)
}

fn shuffled(command: &[OsString], seed: u64) -> Result<Vec<OsString>> {
    let pieces: Vec<Argument<'_>> = command.iter().map(|word| Argument::of(word)).collect();
    let words: Vec<&[u8]> = pieces.iter().flat_map(Argument::words).collect();
    let order = command::order(&words, seed);
    if command::can_change(&words) {
        log();
    }
    let mut new = order.iter().map(|&from| words[from]);
    let pieces = pieces.iter().map(|piece| piece.with(&mut new));
    pieces.skip(1).collect()
}

/// Logs a link. A failure to log does not fail the build.
fn log() {
    let Some(file) = std::env::var_os(LOG) else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(b"\n")).ok();
}

impl<'a> Argument<'a> {
    fn of(word: &'a OsStr) -> Self {
        let file = word.as_bytes().strip_prefix(b"@");
        match file.and_then(|file| read(Path::new(OsStr::from_bytes(file)))) {
            Some(text) => Self::Response { name: word, words: response::words(&text), text },
            // Compilers also treat an `@` without a file as a plain argument.
            None => Self::Word(word),
        }
    }

    fn words(&self) -> Vec<&[u8]> {
        match self {
            Self::Word(word) => vec![word.as_bytes()],
            Self::Response { words, .. } => words.iter().map(|word| &word.bytes[..]).collect(),
        }
    }

    /// The argument with its words replaced by the next of `new`.
    fn with<'b>(&self, new: &mut impl Iterator<Item = &'b [u8]>) -> Result<OsString> {
        match self {
            Self::Word(_) => {
                let word = new.next().context("an order has as many places as words")?;
                Ok(OsString::from_vec(word.to_vec()))
            }
            Self::Response { name, text, words } => {
                let others: Vec<&[u8]> = new.take(words.len()).collect();
                if words.iter().map(|word| &word.bytes[..]).eq(others.iter().copied()) {
                    return Ok((*name).to_owned());
                }
                unnamed(&response::replaced(text, words, &others))
            }
        }
    }
}

/// Reads an `@file`. A pipe can be read only once, so it is left to the compiler.
fn read(file: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(file).ok()?;
    let is_ours = meta.is_file() && meta.len() <= RESPONSE_BYTES_MAX;
    is_ours.then(|| std::fs::read(file).ok())?
}

/// An `@file` in memory (memfd_create(2)). The compiler inherits it, and no file has to be deleted.
fn unnamed(text: &[u8]) -> Result<OsString> {
    let write = || {
        let mut file = std::fs::File::from(memfd_create("link-order", MemfdFlags::empty())?);
        file.write_all(text)?;
        std::io::Result::Ok(file.into_raw_fd())
    };
    let fd = write().context("cannot write the arguments of a link into memory")?;
    Ok(format!("@/proc/self/fd/{fd}").into())
}
