//! `help` and `completions`: documents that clap generates from the definition of the command line.

use anyhow::{Result, bail};
use clap::{CommandFactory as _, Parser as _};

use crate::cmd::print::print;
use crate::cmd::usage;
use crate::spec::{Cli, VerbName};
use crate::values::exit_code;

/// The help of a verb, or of all.
pub fn help(verb: &VerbName) -> Result<u8> {
    let words = std::iter::once("stillwell").chain(verb.words.iter().map(String::as_str));
    let words: Vec<String> = words.chain(["--help"]).map(String::from).collect();
    match Cli::try_parse_from(&words) {
        Err(error) if usage::is_answer(&error) => error.print()?,
        Err(error) => bail!("{}", usage::mistake(&error, &words)),
        // With --help, clap always answers.
        Ok(_) => {}
    }
    Ok(exit_code::SUCCESS)
}

/// The completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stillwell", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit_code::SUCCESS)
}
