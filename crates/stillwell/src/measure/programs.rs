//! The search for a program, as execvp(3) does it.
#![expect(clippy::disallowed_methods, reason = "looks for programs")]

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::host::environment_for;
use crate::measure::wire::Bytes;
use crate::sys::{self, User};
use crate::words::bytes_of;

/// The path of a program for a process that runs in another directory, relative to the current one.
pub fn seen_from(directory: Option<&str>, program: &str) -> Bytes {
    match directory {
        Some(directory) if program.contains('/') => Path::new(directory)
            .join(OsString::from_vec(bytes_of(program)))
            .into_os_string()
            .into_vec(),
        _ => bytes_of(program),
    }
}

/// Searches the PATH of the program's own environment.
///
/// # Errors
/// The program cannot be executed; the message says why.
pub fn find(program: &[u8], environment: &[Bytes]) -> Result<Bytes, String> {
    let shown = String::from_utf8_lossy(program);
    if program.contains(&b'/') {
        return match executable(Path::new(OsStr::from_bytes(program))) {
            Ok(()) => Ok(program.to_vec()),
            Err(why) => Err(format!("cannot execute {shown:?}: {why}")),
        };
    }
    let path = environment.iter().find_map(|entry| entry.strip_prefix(b"PATH="));
    let path = OsString::from_vec(path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin").to_vec());
    let found = std::env::split_paths(&path).map(|directory| {
        // An empty element is the current directory.
        if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory }
    });
    let mut files = found.map(|directory| directory.join(OsStr::from_bytes(program)));
    files
        .find(|file| executable(file).is_ok())
        .map(|file| file.into_os_string().into_vec())
        .ok_or_else(|| {
            let is_here = executable(Path::new(OsStr::from_bytes(program))).is_ok();
            let advice = if is_here {
                format!("; it is in this directory: write ./{shown}")
            } else {
                String::new()
            };
            format!("cannot execute {shown:?}: there is no such program in PATH{advice}")
        })
}

/// Finds the interpreter behind a version manager's shim (pyenv, asdf). A shim is a shell script that takes several
/// times as long to start as the interpreter. Stillwell runs the interpreter as the user of the workers and asks for
/// its path. Returns `None` if the file is no shim.
pub fn behind_shim(python: &str, run_as: Option<&User>) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let entry = [b"PATH=", path.as_bytes()].concat();
    let found = find(python.as_bytes(), &[entry]).ok()?;
    let file = PathBuf::from(OsString::from_vec(found));
    if file.parent()?.file_name()? != "shims" {
        return None;
    }
    let mut command = std::process::Command::new(&file);
    command.args(["-c", "import sys; print(sys.executable)"]).stderr(std::process::Stdio::null());
    if let Some(user) = run_as {
        command.env_clear().envs(environment_for(Some(user)));
        sys::run_as(&mut command, user.clone());
    }
    let output = command.output().ok()?;
    let executable = String::from_utf8(output.stdout).ok()?.trim_end().to_owned();
    executable.starts_with('/').then_some(executable)
}

/// Whether a file can be executed.
///
/// # Errors
/// The reason why it cannot.
pub fn executable(file: &Path) -> Result<(), String> {
    let meta = std::fs::metadata(file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        _ => error.to_string(),
    })?;
    if meta.is_dir() {
        return Err("it is a directory".into());
    }
    access(file, Access::EXEC_OK).map_err(|_| "it is not executable (chmod +x?)".into())
}
