//! `link-order`: a build with the object files in another order.

use std::ffi::OsString;
use std::path::PathBuf;

/// `link-order`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: that of COMMAND. docs/layout.md says which objects change places, and what for"
)]
pub struct LinkOrderVerb {
    /// Which order: the same seed makes the same order of the same command
    #[arg(long, value_name = "NUM")]
    pub seed: u64,
    /// Make a directory of compilers that do this, one for each compiler and linker in PATH, and print the PATH to build with
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub wrappers: Option<PathBuf>,
    /// A compiler or linker and its arguments
    #[arg(last = true, required_unless_present = "wrappers", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
