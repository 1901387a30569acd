//! The help, `completions` and `--schema`.

use std::ffi::OsString;

use anyhow::{Context as _, Result, bail};

use crate::cmd::print::print;
use crate::cmd::usage;
use host::terminal::{self, NOT_PRINTED};
use model::spec::{VerbName, command, parse};
use model::values::exit_code;
use render::json::pretty;
use render::schema;

pub fn help(verb: &VerbName) -> Result<u8> {
    let words = std::iter::once("stillwell").chain(verb.words.iter().map(String::as_str));
    let words: Vec<String> = words.chain(["--help"]).map(String::from).collect();
    let asked: Vec<OsString> = words.iter().map(OsString::from).collect();
    match parse(&asked) {
        Err(error) if usage::is_answer(&error) => print_answer(&error),
        Err(error) => bail!("{}", usage::mistake(&error, &words)),
        // With --help, clap always answers.
        Ok(_) => Ok(exit_code::SUCCESS),
    }
}

/// Prints a text of clap's, such as the help. Returns the exit code.
pub fn print_answer(answer: &clap::Error) -> Result<u8> {
    terminal::flushed(answer.print()).context(NOT_PRINTED)?;
    Ok(u8::try_from(answer.exit_code()).unwrap_or(exit_code::ERROR))
}

pub fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "stillwell", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit_code::SUCCESS)
}

pub fn print_schema(documents: &[&str]) -> Result<u8> {
    pretty(&mut terminal::data(), &schema::schema(documents))?;
    Ok(exit_code::SUCCESS)
}
