//! What the program says of its own build (`metadata` of the worker protocol): the compiler and its optimisation.
#![expect(clippy::disallowed_methods, reason = "cargo runs this, and it asks the compiler")]

use std::env::{var, var_os};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Without an answer the compiler is unknown, which is no reason not to build.
    let said = var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let version = said.split(' ').nth(1).unwrap_or_default().trim();
    println!("cargo::rustc-env=STILLWELL_BENCH_COMPILER={}", said.trim());
    println!("cargo::rustc-env=STILLWELL_BENCH_RUST={version}");
    let level = var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=STILLWELL_BENCH_OPT_LEVEL={level}");
}
