//! Copies cargo's builds of other packages from the user's work tree into a new one of the same repository.
//!
//! Cargo names builds by the place of the source. So with the copy, packages of registries are built already, and only packages
//! of the work tree are built again.
#![expect(clippy::disallowed_methods, reason = "the environment has the directory of cargo")]

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use host::command_of_invoker;

/// The parts of a profile's directory with builds of other packages. Fingerprints come first: cargo writes each after
/// its build.
const PARTS: [&str; 3] = [".fingerprint", "build", "deps"];
const PROFILES: [&str; 2] = ["debug", "release"];

/// Copies the builds of the user's work tree into a new one without builds, if both use cargo. Ignores failures: without
/// a copy cargo builds everything.
pub fn copy_dependencies(repository: &Path, tree: &Path) {
    let (from, to) = (repository.join("target"), tree.join("target"));
    let is_cargo = [repository, tree].iter().all(|it| it.join("Cargo.toml").is_file());
    let is_elsewhere = std::env::var_os("CARGO_TARGET_DIR").is_some();
    if is_elsewhere || !is_cargo || !from.join("CACHEDIR.TAG").is_file() || to.exists() {
        return;
    }
    if copy(&from, &to).is_err() {
        // An incomplete library would be taken for a complete one.
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
        // A program of the user's work tree must not be taken for this commit's.
        let programs = ["-type", "f", "-perm", "/111", "!", "-name", "*.so", "-delete"];
        let deps = profile.join("deps");
        execute("find", &[&[Path::new("-P"), &*deps][..], &programs.map(Path::new)].concat())?;
    }
    Ok(())
}

/// Executes a command as the user who called sudo: the directories may contain links.
fn execute(program: &str, words: &[&Path]) -> Result<()> {
    let output = command_of_invoker(program).args(words).output();
    let output = output.with_context(|| format!("cannot execute {program}"))?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
