//! The sources of the crate `stillwell`, which is a program, as a library for the fuzzer. A library beside the program
//! would compile every source twice in each build.
#![allow(dead_code, unused_imports, unfulfilled_lint_expectations, reason = "the program uses the rest")]

#[path = "../../crates/stillwell/src/cmd/mod.rs"]
mod cmd;
#[path = "../../crates/stillwell/src/session/mod.rs"]
mod session;

pub use cmd::fuzz::{FuzzTarget, Mutator, TARGETS, target};

/// The folder of the crate `stillwell`.
pub fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/stillwell")
}

/// Reads an input as the target of this name does.
pub fn read(name: &str, bytes: &[u8]) {
    (target(name).expect("the name of a target").read)(bytes);
}
