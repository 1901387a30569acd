//! What cargo has built of other packages in the user's work tree, for a new work tree of the same repository.
//!
//! Cargo names what it builds of a package by where the source is. So in the copy it finds the packages of registries
//! built, and builds those of the work tree.
#![expect(clippy::disallowed_methods, reason = "the environment has the directory of cargo")]

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use host::command_of_invoker;

/// The parts of a profile's directory with what is built of other packages. Fingerprints come first: each was written after
/// what it is about.
const PARTS: [&str; 3] = [".fingerprint", "build", "deps"];
const PROFILES: [&str; 2] = ["debug", "release"];

/// Copies what the user's work tree has, if the new one is of cargo and has nothing. Without a copy cargo builds everything,
/// so a failure is none of the build.
pub fn copy_dependencies(repository: &Path, tree: &Path) {
    let (from, to) = (repository.join("target"), tree.join("target"));
    let is_cargo = [repository, tree].iter().all(|it| it.join("Cargo.toml").is_file());
    let is_elsewhere = std::env::var_os("CARGO_TARGET_DIR").is_some();
    if is_elsewhere || !is_cargo || !from.join("CACHEDIR.TAG").is_file() || to.exists() {
        return;
    }
    if copy(&from, &to).is_err() {
        // Half a library would be taken for a whole one.
        execute("rm", &[Path::new("-rf"), Path::new("--"), &to]).ok();
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for profile in PROFILES {
        let source = from.join(profile);
        let parts = PARTS.map(|part| source.join(part));
        // Cargo holds this lock while it builds.
        let lock = source.join(".cargo-lock");
        if !lock.is_file() || !parts.iter().all(|part| part.is_dir()) {
            continue;
        }
        let profile = to.join(profile);
        execute("mkdir", &[Path::new("-p"), Path::new("--"), &profile])?;
        let [fingerprints, build, deps] = &parts;
        let words = ["--nonblock", "--shared"].map(Path::new);
        let cp = ["cp", "-a", "--reflink=auto", "--"].map(Path::new);
        let files: [&Path; 4] = [fingerprints, build, deps, &profile];
        execute("flock", &[&words[..], &[&lock], &cp, &files].concat())?;
        // Nobody may take a program of the user's work tree for one of this commit.
        let programs = ["-type", "f", "-perm", "/111", "!", "-name", "*.so", "-delete"];
        let deps = profile.join("deps");
        execute("find", &[&[Path::new("-P"), &*deps][..], &programs.map(Path::new)].concat())?;
    }
    Ok(())
}

/// Executes a command as the user who called sudo: what is in these directories may be links.
fn execute(program: &str, words: &[&Path]) -> Result<()> {
    let output = command_of_invoker(program).args(words).output();
    let output = output.with_context(|| format!("cannot execute {program}"))?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
