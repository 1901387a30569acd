//! Builds with the object files in another order, so that where code happens to be is averaged instead of reported
//! (docs/layout.md).
//!
//! `command` says which arguments change places (pure), `response` reads and writes `@files` (pure), `exec` becomes the compiler
//! with them, and `wrappers` makes compilers for a whole build that go through it.

mod command;
mod exec;
mod response;
mod wrappers;

pub use exec::exec;
pub use wrappers::CompilerWrappers;
