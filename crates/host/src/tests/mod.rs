//! Turns the knobs of captured machines, kills Stillwell at any point, and restores the machines.
#![expect(
    clippy::disallowed_methods,
    reason = "tests write their own files and kill their own children"
)]
#![expect(clippy::print_stdout, reason = "how many cases were restored is worth reading")]

mod away;
mod faults;
mod forged;
mod kernel;
mod kill_points;
mod machines;
mod traps;

use tempfile::TempDir;

use crate::Host;
use crate::fixture::fixture;
use crate::journal::Store;
use crate::knobs::{Knob, Machine, knobs};
use crate::restore::{Restoration, restore};
use crate::tune::{self, KnobResult};
use model::values::parse_cpu_list;

/// Names of the machines in this directory and in `tests/hosts`.
fn all_machines() -> Vec<String> {
    let captured = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts")).unwrap();
    let captured = captured.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_suffix(".txt")?.to_owned())
    });
    let mut names: Vec<String> = captured.collect();
    names.sort();
    names.extend(machines::MACHINES.iter().map(|name| (*name).to_owned()));
    names
}

/// A machine with the imitation of the kernel.
fn machine(name: &str) -> (TempDir, Host) {
    let (directory, host) =
        if machines::MACHINES.contains(&name) { machines::machine(name) } else { fixture(name) };
    // Docker's /sys is read-only. Without its mount table the tests can turn its knobs too.
    std::fs::remove_file(directory.path().join("proc/self/mountinfo")).ok();
    let host = kernel::with_kernel(host);
    (directory, host)
}

/// CPUs for a benchmark: one in the middle, or the last one.
fn benches(host: &Host) -> Vec<Vec<usize>> {
    let online = host.read("sys/devices/system/cpu/online").unwrap_or_default();
    let online = parse_cpu_list(&online).unwrap_or_default();
    if online.len() < 2 {
        return vec![Vec::new()];
    }
    let mut benches = vec![vec![online[online.len() / 2]], vec![online[online.len() - 1]]];
    benches.dedup();
    benches
}

/// All knobs that can be turned, including those that are off by default.
fn all_knobs() -> Vec<&'static Knob> {
    knobs().filter(|knob| !knob.files.is_empty()).collect()
}

/// Acts as soon as the journal's lock is free: a child of another test may hold it for a moment, until it calls exec.
fn unlocked<T>(mut act: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    loop {
        match act() {
            Err(error) if format!("{error:#}").contains("another stillwell is tuning") => {}
            done => return done,
        }
    }
}

fn tune(host: &Host, bench: &[usize], knobs: &[&'static Knob]) -> anyhow::Result<Vec<KnobResult>> {
    let mut store = unlocked(|| Store::open(host))?;
    if store.journal.is_stale() {
        restore(host, &mut store);
    }
    store.begin(host, false, 0, 0)?;
    let planned = tune::plan(&Machine::new(host, bench.to_vec()), knobs);
    tune::turn(host, &mut store, planned)
}

fn reset(host: &Host) -> Restoration {
    let mut store = unlocked(|| Store::open(host)).expect("the journal can be opened");
    restore(host, &mut store)
}
