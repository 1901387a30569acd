//! How the program is linked.
#![expect(clippy::disallowed_methods, reason = "cargo runs this, and says what it builds")]

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).as_deref() == Ok(value);
    // The program of `make build` has 166 000 addresses which each start would have to relocate, and tests start it thousands of times.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
