//! `system`: what is said about every machine in tests/hosts. Nothing here reads the machine that runs the tests, but one
//! test that says so.

use std::path::{Path, PathBuf};

use crate::bench::{Bench, Ran};

#[path = "../../src/host/fixture_text.rs"]
mod fixture_text;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts")
}

/// A machine below the directory of a test.
struct Host {
    bench: Bench,
}

impl Host {
    fn new(name: &str) -> Self {
        let text = std::fs::read_to_string(directory().join(format!("{name}.txt"))).unwrap();
        Self::of(&text)
    }

    fn of(text: &str) -> Self {
        let bench = Bench::new();
        fixture_text::unpack(text, &bench.path("machine"));
        Self { bench }
    }

    fn system(&self, args: &[&str]) -> Ran {
        let root = self.bench.path("machine");
        let root = root.to_str().unwrap();
        let mut all = vec!["system"];
        all.extend(args);
        all.extend(["--host-root", root]);
        self.bench.stillwell(&all)
    }

    /// What an action prints, after its exit code.
    fn shown(&self, args: &[&str]) -> String {
        let ran = self.system(args);
        for line in ran.stdout.lines() {
            assert_eq!(line.trim_end(), line);
        }
        format!(
            "$ stillwell system {}\n{}{}exit code {}\n\n",
            args.join(" "),
            ran.stdout,
            ran.stderr,
            ran.code.unwrap()
        )
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned())).collect();
    names.sort();
    names
}

/// Machines that have only the files of the facts, and so lack most knobs: not shown, but looked at by the other tests.
const FACTS_ONLY: [&str; 6] = [
    "aarch64-big-little",
    "acpi-cpufreq-numa",
    "amd-pstate-desktop",
    "docker-cpu-max",
    "intel-pstate-laptop",
    "qemu-one-cpu",
];

/// The pages in tests/hosts/shown: each is read by a person when it changes.
#[test]
fn every_machine_is_shown() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(directory().join("shown"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for name in names().iter().filter(|name| !FACTS_ONLY.contains(&name.as_str())) {
        let host = Host::new(name);
        let page = host.shown(&["show"]) + &host.shown(&["boot"]);
        insta::assert_snapshot!(name.as_str(), page);
    }
}
