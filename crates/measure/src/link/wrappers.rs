//! Compiler wrappers for a whole build: a directory, first in the build's PATH, with a script for every compiler and
//! linker in PATH.
#![expect(clippy::disallowed_methods, reason = "makes a directory of scripts")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::command::is_compiler;
use crate::programs;
use host::sys;

/// Compiler caches, which get no wrapper: they search PATH for the real compiler and would find the wrapper.
const CACHES: [&str; 5] = ["ccache", "sccache", "distcc", "icecc", "buildcache"];

#[derive(Debug)]
pub struct CompilerWrappers {
    directory: PathBuf,
    path: OsString,
}

impl CompilerWrappers {
    /// Creates the wrappers in a new or empty directory. `seed` determines the order of links. Errors: the directory is
    /// not empty or cannot be written, or PATH has no compiler.
    pub fn create(directory: &Path, seed: u64) -> Result<Self> {
        let directory = std::path::absolute(directory)
            .with_context(|| format!("cannot find {}", directory.display()))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let wrappers = Self { directory, path };
        // An early check that the directory can be in PATH.
        wrappers.joined()?;
        wrappers.make_directory()?;
        let compilers = compilers(&wrappers.path);
        ensure!(!compilers.is_empty(), "there is no compiler in PATH (cc, gcc, clang, …)");
        let stillwell = sys::own_path().context("cannot find this program")?;
        for (name, compiler) in &compilers {
            let file = wrappers.directory.join(name);
            let script = script(&stillwell, seed, compiler)?;
            write_new(&file, &script)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(wrappers)
    }

    pub fn path_variable(&self) -> OsString {
        self.joined().expect("it was tried when this was made")
    }

    /// The variable with the file in which the wrappers count links.
    pub const LOG: &'static str = super::exec::LOG;

    fn joined(&self) -> Result<OsString> {
        let directories =
            [self.directory.clone()].into_iter().chain(std::env::split_paths(&self.path));
        std::env::join_paths(directories).with_context(|| {
            format!(
                "{} cannot be in PATH; use a directory without : in its name",
                self.directory.display()
            )
        })
    }

    fn make_directory(&self) -> Result<()> {
        let shown = self.directory.display();
        std::fs::create_dir_all(&self.directory).with_context(|| format!("cannot make {shown}"))?;
        let mut entries =
            std::fs::read_dir(&self.directory).with_context(|| format!("cannot read {shown}"))?;
        if entries.next().is_some() {
            bail!("{shown} is not empty; compilers are only written into a directory of their own");
        }
        Ok(())
    }
}

/// The compilers in PATH, by name. The first directory with a name wins.
fn compilers(path: &OsStr) -> BTreeMap<String, PathBuf> {
    let mut compilers = BTreeMap::new();
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let file = directory.join(&name);
            if is_compiler(&name) && !is_cache(&file) && programs::executable(&file, None).is_ok() {
                compilers.entry(name).or_insert(file);
            }
        }
    }
    compilers
}

fn is_cache(file: &Path) -> bool {
    let target = std::fs::canonicalize(file).unwrap_or_default();
    target.file_name().is_some_and(|name| CACHES.iter().any(|cache| name == *cache))
}

fn script(stillwell: &Path, seed: u64, compiler: &Path) -> Result<String> {
    let quoted = |path: &Path| {
        let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        anyhow::Ok(shell_words::quote(path).into_owned())
    };
    let (stillwell, compiler) = (quoted(stillwell)?, quoted(compiler)?);
    Ok(format!("#!/bin/sh\nexec {stillwell} link-order --seed {seed} -- {compiler} \"$@\"\n"))
}

fn write_new(file: &Path, script: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o755);
    options.open(file)?.write_all(script.as_bytes())
}
