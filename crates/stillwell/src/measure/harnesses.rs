//! Asks programs whether they are of a benchmark framework, and for their benchmarks.
#![expect(clippy::disallowed_methods, reason = "reads and executes the programs")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::harness::{Harness, QUESTION, RESULT_FILE};
use crate::host::environment_for;
use crate::measure::programs;
use crate::plan::Arm;
use crate::plan::programs::ProgramBenchmark;
use crate::sys::{self, User, with_files_of};
use crate::words::{bytes_of, reason};

/// Lines of its output that a message about a program quotes.
const QUOTED_LINES: usize = 5;

/// The framework of a program; `None` if it is of none that is known.
///
/// # Errors
/// The program cannot be executed.
pub fn recognise(arm: &Arm, run_as: Option<&User>) -> Result<Option<Harness>, String> {
    let Some(file) = file_of(arm, run_as) else { return Ok(None) };
    // Not each script that is called so is one: it is asked. Of `java -jar FILE`, the benchmarks are in the jar.
    let jars = arm.argv.iter().filter(|word| word.ends_with(".jar"));
    let jars = jars.map(|jar| Path::new(directory_of(arm).unwrap_or_default()).join(jar));
    let files = std::iter::once(file).chain(jars);
    let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file).unwrap_or_default()).collect();
    let mut may_be = Harness::ALL.into_iter().filter(|it| it.may_have_made(&bytes, &arm.argv));
    let Some(first) = may_be.next() else { return Ok(None) };
    let question: Vec<String> = arm.argv.iter().cloned().chain([QUESTION.into()]).collect();
    let output = execute(&question, arm, run_as)?;
    let answer = [output.stdout, output.stderr].concat();
    let answer = String::from_utf8_lossy(&answer);
    let mut asked = std::iter::once(first).chain(may_be);
    Ok(asked.find(|harness| harness.has_answered(&answer)))
}

/// Whether a file may be a program of a framework.
pub fn is_marked(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    Harness::ALL.into_iter().any(|harness| harness.may_have_made(&bytes, &[]))
}

/// The benchmarks of a program of a framework.
///
/// # Errors
/// The program cannot be executed, failed, or has none.
pub fn benchmarks(
    harness: Harness,
    arm: &Arm,
    run_as: Option<&User>,
) -> Result<Vec<ProgramBenchmark>, String> {
    let folder = folder_of_results(run_as)
        .map_err(|error| format!("cannot make a temporary directory: {}", reason(error)))?;
    let file = folder.path().join("result");
    let shown = file.to_string_lossy().into_owned();
    let listing = harness.listing(&arm.argv).into_iter();
    let listing: Vec<String> = listing.map(|word| word.replace(RESULT_FILE, &shown)).collect();
    let output = execute(&listing, arm, run_as)?;
    let text = match harness.writes_file() {
        true => std::fs::read(&file).unwrap_or_default(),
        false => output.stdout.clone(),
    };
    let names = harness.list(&String::from_utf8_lossy(&text));
    if names.is_empty() {
        let how = match (output.status.code(), output.status.signal()) {
            (Some(0), _) => "it lists no benchmark".into(),
            (Some(status), _) => format!("it exited with {status}"),
            (None, signal) => format!("signal {} ended it", signal.unwrap_or_default()),
        };
        return Err(format!("asked for its {} benchmarks, {how}{}", harness.name(), said(&output)));
    }
    let listed = |name| ProgramBenchmark {
        name,
        inner_loops: 1,
        has_own_timer: true,
        harness: Some(harness),
    };
    Ok(names.into_iter().map(listed).collect())
}

/// A temporary directory of the user of the programs.
pub(super) fn folder_of_results(run_as: Option<&User>) -> std::io::Result<TempDir> {
    match run_as {
        Some(user) => with_files_of(user, tempfile::tempdir),
        None => tempfile::tempdir(),
    }
}

fn directory_of(arm: &Arm) -> Option<&str> {
    arm.directory(None)
}

/// The file of a program; `None` if there is no such program, about which the caller says more.
fn file_of(arm: &Arm, run_as: Option<&User>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = [b"PATH=", path.as_bytes()].concat();
    let program = programs::seen_from(directory_of(arm), arm.argv.first()?);
    let found = programs::find(&program, &[environment], run_as).ok()?;
    Some(PathBuf::from(OsString::from_vec(found)))
}

fn execute(words: &[String], arm: &Arm, run_as: Option<&User>) -> Result<Output, String> {
    let bytes: Vec<Vec<u8>> = words.iter().map(|word| bytes_of(word)).collect();
    let Some((program, arguments)) = bytes.split_first() else {
        return Err("there is no program".into());
    };
    let mut command = Command::new(OsStr::from_bytes(program));
    command.args(arguments.iter().map(|word| OsStr::from_bytes(word))).stdin(Stdio::null());
    if let Some(user) = run_as {
        command.env_clear().envs(environment_for(Some(user)));
        sys::run_as(&mut command, user.clone());
    }
    command.envs(arm.environment.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = directory_of(arm) {
        command.current_dir(Path::new(directory));
    }
    command.output().map_err(|error| format!("it cannot be executed: {}", reason(error)))
}

/// The end of its output, for a message.
fn said(output: &Output) -> String {
    let text = [&output.stderr[..], &output.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(QUOTED_LINES);
    let quoted: String = lines[from..].iter().map(|line| format!("\n  | {line}")).collect();
    if quoted.is_empty() { "; it said nothing".into() } else { format!("; it said:{quoted}") }
}
