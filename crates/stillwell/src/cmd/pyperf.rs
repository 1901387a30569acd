//! `bench --as-pyperf` and `bench pyperformance`: scripts that import pyperf get this program's Python package instead
//! (`python/stillwell/pyperf_compat`). The measured Pythons need no installation.
#![expect(
    clippy::disallowed_methods,
    reason = "writes the package into the cache; reads PYTHONPATH, which it extends"
)]

use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use host::command_of_invoker;
use host::user_files::{directory_of, make_directories, read_whole, replace};
use record::plan::Arm;
use record::plan::programs::PYTHON;

/// The word for the benchmarks of the package pyperformance.
pub const PYPERFORMANCE: &str = "pyperformance";
const PYTHON_PATH: &str = "PYTHONPATH";
/// The folder in which `pyperf` is our own package.
const SHADOW: &str = "stillwell/pyperf_compat/shadow";

/// The package's files at these paths below `python/`.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../python/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "stillwell/__init__.py",
    "stillwell/__main__.py",
    "stillwell/benchmarks.py",
    "stillwell/binary.py",
    "stillwell/comparison.py",
    "stillwell/forks.py",
    "stillwell/histogram.py",
    "stillwell/interrupts.py",
    "stillwell/options.py",
    "stillwell/place.py",
    "stillwell/pyperf_compat/__init__.py",
    "stillwell/pyperf_compat/__main__.py",
    "stillwell/pyperf_compat/_hooks.py",
    "stillwell/pyperf_compat/benchmark.py",
    "stillwell/pyperf_compat/commands.py",
    "stillwell/pyperf_compat/convert.py",
    "stillwell/pyperf_compat/direct.py",
    "stillwell/pyperf_compat/files.py",
    "stillwell/pyperf_compat/from_record.py",
    "stillwell/pyperf_compat/metadata.py",
    "stillwell/pyperf_compat/options.py",
    "stillwell/pyperf_compat/pyperformance_suite.py",
    "stillwell/pyperf_compat/report.py",
    "stillwell/pyperf_compat/run.py",
    "stillwell/pyperf_compat/runner.py",
    "stillwell/pyperf_compat/shadow/pyperf/__init__.py",
    "stillwell/pyperf_compat/suite.py",
    "stillwell/pyperf_compat/values.py",
    "stillwell/pytest_plugin.py",
    "stillwell/record.py",
    "stillwell/runner.py",
    "stillwell/script.py",
    "stillwell/variants.py",
    "stillwell/worker.py",
];

/// Lets scripts import this package as pyperf. A script without an interpreter gets the usual one. Errors: the cache is
/// not writable.
pub fn prepare(arms: &mut [Arm]) -> Result<()> {
    let path = python_path()?;
    for arm in arms {
        if Path::new(&arm.argv[0]).extension().is_some_and(|extension| extension == "py") {
            arm.argv.insert(0, PYTHON.into());
        }
        arm.environment.push((PYTHON_PATH.into(), path.clone()));
    }
    Ok(())
}

/// A suite of the benchmarks that all these interpreters can run. Benchmarks that are left out are reported on standard
/// error. With `only`, other scripts are not asked. Errors: no interpreter has pyperformance, or no script works in all
/// of them.
pub fn suite_of_pyperformance(pythons: &[String], only: &[String]) -> Result<String> {
    let first = pythons.first().map_or(PYTHON, String::as_str);
    let words = shell_words::split(first).with_context(|| format!("the interpreter {first:?}"))?;
    let (program, options) = words.split_first().context("the interpreter is empty")?;
    let mut command = command_of_invoker(program);
    command.args(options).args(["-m", "pyperf", "pyperformance_suite"]);
    command.args(only.iter().map(|name| format!("--only={name}")));
    command.args(if pythons.is_empty() {
        vec![PYTHON]
    } else {
        pythons.iter().map(String::as_str).collect()
    });
    command.env(PYTHON_PATH, python_path()?).stdin(Stdio::null()).stderr(Stdio::inherit());
    let done = command.output().with_context(|| format!("cannot execute {program}"))?;
    ensure!(
        done.status.success(),
        "the benchmarks of pyperformance cannot be listed by {first}, which ended with {}",
        done.status
    );
    String::from_utf8(done.stdout).context("the suite of pyperformance is not UTF-8")
}

/// `PYTHONPATH` with the package in front.
fn python_path() -> Result<String> {
    let shadow = installed()?.join(SHADOW);
    let shadow = shadow.to_str().with_context(|| format!("{} is not UTF-8", shadow.display()))?;
    Ok(match std::env::var(PYTHON_PATH) {
        Ok(path) if !path.is_empty() => format!("{shadow}:{path}"),
        _ => shadow.to_owned(),
    })
}

/// The folder with the package. Each version has its own folder, so a running session keeps its version.
fn installed() -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    for (path, text) in FILES {
        hasher.write(path.as_bytes());
        hasher.write(text.as_bytes());
    }
    let folder = record::cache_path(&format!("python-{:016x}", hasher.finish()))?;
    for (path, text) in FILES {
        let path = folder.join(path);
        write(&path, text)
            .with_context(|| format!("cannot write {}; set XDG_CACHE_HOME", path.display()))?;
    }
    Ok(folder)
}

/// Writes a file that is missing or different. Another session reads the old file or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if read_whole(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    make_directories(directory_of(path), 0o777)?;
    replace(path, 0o666, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn python_files(folder: &Path, files: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                python_files(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                files.insert(path);
            }
        }
    }

    /// Otherwise only users without the package would notice a missing module.
    #[test]
    fn the_program_has_every_file_of_the_package() {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
        let mut files = BTreeSet::new();
        python_files(&python.join("stillwell"), &mut files);
        let listed: BTreeSet<PathBuf> = FILES.iter().map(|(path, _)| python.join(path)).collect();
        assert_eq!(listed, files);
    }
}
