//! `link-order`: works as a compiler, or makes a directory of compilers.

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use anyhow::Result;

use host::terminal;
use measure::link::{self, CompilerWrappers};
use model::spec::LinkOrderVerb;
use model::values::exit_code;

/// Executes the compiler, or prints the path variable of the new directory.
pub fn link_order(verb: &LinkOrderVerb) -> Result<u8> {
    let Some(directory) = &verb.wrappers else {
        return Err(link::exec(&verb.command, verb.seed));
    };
    let path = CompilerWrappers::create(directory, verb.seed)?.path_variable();
    // As bytes: a directory in PATH need not be UTF-8.
    let line = [path.as_bytes(), b"\n"].concat();
    terminal::data().write_all(&line)?;
    Ok(exit_code::SUCCESS)
}
