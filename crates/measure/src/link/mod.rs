//! Builds with the object files in random order. Several such builds average the effect of code layout
//! (docs/layout.md).
//!
//! `command` and `response` are pure: they permute arguments, and read and write `@files`. `exec` executes the
//! compiler, `wrappers` makes compiler wrappers for a whole build.

mod command;
mod exec;
mod response;
mod wrappers;

pub use exec::exec;
pub use wrappers::CompilerWrappers;
