//! Where files are opened: few places do it as root, and each that writes by itself is known. docs/security.md has the rule.

use std::path::Path;

use super::{CRATES, N_ALONE};

/// The sources with such a line outside of comments and tests, as `host/files.rs`.
pub fn sources_with(is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = |name| crates.join(name).join("src");
    let mut directories: Vec<_> = CRATES[N_ALONE..].iter().map(source).collect();
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&crates).unwrap().to_str().unwrap().replace("/src/", "/");
            if ["tests", "fixture", "fake"].iter().any(|word| name.contains(word)) {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("mod tests {").next().unwrap();
            let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            if lines.any(&is_one) {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// Once the rights for files are the caller's, these alone take those of root back: for the machine, for the control group
/// of the launcher, for a program that runs as root, and for our own memory.
#[test]
fn few_places_open_files_as_root() {
    let expected = [
        "host/files.rs",
        "host/sys/mod.rs",
        "host/sys/rights.rs",
        "measure/memory_use.rs",
        "measure/profile/frame_rules.rs",
        "measure/programs.rs",
        "stillwell/cmd/rights.rs",
    ];
    assert_eq!(sources_with(|line| line.contains("with_own_files")), expected);
}

/// Each place that opens a file for writing by itself and not by `host::user_files`, and whose file it is. Whoever adds one
/// says here why it needs no descriptor of a directory.
#[test]
fn each_place_that_opens_files_for_writing_is_known() {
    let (machine, own, caller) =
        ("the machine", "a directory of its own", "the caller, without root");
    let expected = [
        ("host/boot/entry.rs", machine),
        ("host/caches.rs", machine),
        ("host/guardian/mod.rs", machine),
        ("host/sys/mod.rs", "our own process"),
        ("host/sys/survival.rs", "our own process"),
        ("host/user_files.rs", "the one way"),
        ("measure/fresh.rs", own),
        ("measure/link/exec.rs", caller),
        ("measure/link/wrappers.rs", own),
        ("measure/memory_use.rs", machine),
        ("measure/watch/mod.rs", own),
        ("search/pool/manifest.rs", caller),
        ("stillwell/cmd/frameworks.rs", own),
        ("stillwell/cmd/gate/suite.rs", own),
        ("stillwell/cmd/manual.rs", caller),
        ("stillwell/cmd/output_file.rs", "a device or a pipe"),
        ("stillwell/cmd/pool/task.rs", caller),
        ("stillwell/cmd/race/played.rs", own),
    ];
    let texts = [
        "fs::write(",
        "File::create",
        "File::options",
        "OpenOptions::new",
        "fs::rename(",
        "fs::create_dir",
        "DirBuilder::new",
        "fs::copy(",
        "hard_link(",
    ];
    let found = sources_with(|line| texts.iter().any(|text| line.contains(text)));
    assert_eq!(found, expected.map(|(file, _)| file));
}

/// Each source that starts a process, and with whose rights. Under sudo the caller chooses `PATH`, and execve(2) gives the
/// process root back, so a program of `PATH` needs `host::command_as` or a process that has become the caller.
#[test]
fn each_place_that_starts_a_process_is_known() {
    let (own, caller) = ("this program, as root", "the caller; the process has no root");
    let (user, run) = ("the user of the commands, root with --as-root", "as the run is");
    let expected = [
        ("host/guardian/front_end.rs", "this program, as root; without root, sudo or doas"),
        ("host/invoker.rs", "the caller; the system's programs as root, with a fixed PATH"),
        ("measure/link/exec.rs", "as the build is, that is the caller"),
        ("measure/load/kinds.rs", own),
        ("measure/load/mod.rs", own),
        ("measure/process.rs", own),
        ("measure/stepped_clock.rs", run),
        ("measure/supervised.rs", user),
        ("measure/watch/mod.rs", run),
        ("search/pool/queue.rs", caller),
        ("search/pool/submit.rs", caller),
        ("stillwell/cmd/manual.rs", caller),
        ("stillwell/cmd/pool/mod.rs", caller),
    ];
    // clippy knows the other names of `Command`; `manual.rs` alone has one.
    let texts = [" Command::new(", "process::Command::new(", " Process::new("];
    let found = sources_with(|line| texts.iter().any(|text| line.contains(text)));
    assert_eq!(found, expected.map(|(file, _)| file));
    // And what these start with the rights of root.
    let found = sources_with(|line| line.contains("prepared(&") && line.contains(", false)"));
    assert_eq!(found, ["stillwell/cmd/mcp/child.rs", "stillwell/cmd/pool/task.rs"]);
}
