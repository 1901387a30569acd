//! Builds with the object files in random order. Several such builds average the effect of code layout
//! (docs/layout.md).
//!
//! `command` permutes the arguments (pure), and `response` reads and writes `@files` (pure). `exec` executes the
//! compiler with the permuted arguments. `wrappers` makes compiler wrappers for a whole build.

mod command;
mod exec;
mod response;
mod wrappers;

pub use exec::exec;
pub use wrappers::CompilerWrappers;
