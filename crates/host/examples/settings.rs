//! Prints the settings of a machine that make timings noisy: `cargo run --example settings [DIRECTORY]`.

use std::io::Write as _;

use stillwell_host::knobs::{Machine, State, knobs};
use stillwell_host::{Host, look};

#[expect(clippy::disallowed_methods, reason = "prints")]
fn main() -> std::io::Result<()> {
    let host = Host::new(std::env::args_os().nth(1).unwrap_or_else(|| "/".into()));
    let machine = Machine::new(&host, Vec::new());
    let mut out = std::io::stdout().lock();
    for knob in knobs() {
        if let State::NotTuned { .. } = knob.read(&machine).state {
            writeln!(out, "{}", knob.name)?;
        }
    }
    for gap in look(&host).gaps {
        writeln!(out, "missing: {}: {}", gap.what, gap.why)?;
    }
    Ok(())
}
