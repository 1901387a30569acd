//! Searches for programs, as execvp(3) does.
#![expect(clippy::disallowed_methods, reason = "looks for programs")]

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use host::command_as;
use host::sys::{self, User};
use model::words::{bytes_of, reason};

/// The path of a program for a process in another directory, relative to the current one.
pub fn seen_from(directory: Option<&str>, program: &str) -> Vec<u8> {
    match directory {
        Some(directory) if program.contains('/') => Path::new(directory)
            .join(OsString::from_vec(bytes_of(program)))
            .into_os_string()
            .into_vec(),
        _ => bytes_of(program),
    }
}

/// Searches the PATH of the program's own environment, with the user's rights. Errors: the program cannot be executed;
/// the message says why.
pub fn find(
    program: &[u8],
    environment: &[Vec<u8>],
    run_as: Option<&User>,
) -> Result<Vec<u8>, String> {
    let shown = String::from_utf8_lossy(program);
    if program.contains(&b'/') {
        return match executable(Path::new(OsStr::from_bytes(program)), run_as) {
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
    let mut refused = None;
    let found = files.find(|file| match executable(file, run_as) {
        Ok(()) => true,
        Err(_) if refused.is_some() || !file.is_file() => false,
        Err(why) => {
            refused = Some(format!("{}: {why}", file.display()));
            false
        }
    });
    found.map(|file| file.into_os_string().into_vec()).ok_or_else(|| match refused {
        Some(why) => format!("cannot execute {shown:?}: {why}"),
        None => {
            let is_here = executable(Path::new(OsStr::from_bytes(program)), run_as).is_ok();
            let advice = if is_here {
                format!("; it is in this directory: write ./{shown}")
            } else {
                String::new()
            };
            format!("cannot execute {shown:?}: there is no such program in PATH{advice}")
        }
    })
}

/// Like [`find`], in this process's PATH.
pub fn find_here(program: &[u8], run_as: Option<&User>) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = find(program, &[[b"PATH=", path.as_bytes()].concat()], run_as)?;
    Ok(PathBuf::from(OsString::from_vec(found)))
}

/// Finds the interpreter behind a version manager's shim (pyenv, asdf): a shell script that takes several times as long
/// to start. Stillwell runs the interpreter as the workers' user and asks for its path. `None` if the file is no shim.
pub fn behind_shim(python: &str, run_as: Option<&User>) -> Option<String> {
    let file = find_here(python.as_bytes(), run_as).ok()?;
    if file.parent()?.file_name()? != "shims" {
        return None;
    }
    let mut command = command_as(&file, run_as);
    command.args(["-c", "import sys; print(sys.executable)"]).stderr(std::process::Stdio::null());
    let output = command.output().ok()?;
    let executable = String::from_utf8(output.stdout).ok()?.trim_end().to_owned();
    executable.starts_with('/').then_some(executable)
}

/// Whether this user can execute a file; `None` is this process's user. Errors: the reason why the user cannot.
pub fn executable(file: &Path, run_as: Option<&User>) -> Result<(), String> {
    match run_as {
        Some(user) => sys::with_files_of(user, || executable_by(file, Some(user.uid))),
        None => sys::with_own_files(|| executable_by(file, None)),
    }
}

/// Whether the thread's user can execute a file. With `AT_EACCESS` the kernel checks the user that the thread opens
/// files as, without it the real one (`do_faccessat()` in fs/open.c).
fn executable_by(file: &Path, uid: Option<u32>) -> Result<(), String> {
    let meta = std::fs::metadata(file).map_err(|error| match (error.kind(), uid) {
        (ErrorKind::NotFound, _) => "there is no such file".into(),
        (ErrorKind::PermissionDenied, Some(uid)) => {
            format!("user {uid}, who would run it, may not enter its directory (chmod +x?)")
        }
        _ => reason(error),
    })?;
    if meta.is_dir() {
        return Err("it is a directory".into());
    }
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).map_err(|_| match uid {
        Some(uid) => format!("it is not executable for user {uid}, who would run it (chmod +x?)"),
        None => "it is not executable (chmod +x?)".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Root can execute any file with one x bit; the user who runs the command may have none.
    #[test]
    fn a_program_is_judged_with_the_rights_of_its_user() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let file = directory.path().join(name);
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            file
        };
        let (ours, all) = (make("ours", 0o700), make("all", 0o755));
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let nobody = User { uid: 65534, gid: 65534, groups: vec![65534] };
        assert_eq!(executable(&ours, None), Ok(()));
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let why = executable(&ours, Some(&nobody)).unwrap_err();
        assert_eq!(why, "it is not executable for user 65534, who would run it (chmod +x?)");
        assert_eq!(executable(&all, Some(&nobody)), Ok(()));
        let path = [b"PATH=", directory.path().as_os_str().as_bytes()].concat();
        let why = find(b"ours", std::slice::from_ref(&path), Some(&nobody)).unwrap_err();
        assert!(why.contains("/ours: it is not executable for user 65534"), "{why}");
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
        let why = executable(&all, Some(&nobody)).unwrap_err();
        assert!(why.contains("may not enter its directory"), "{why}");
        // The rights of this thread are back.
        assert_eq!(executable(&ours, None), Ok(()));
        assert!(find(b"ours", &[path], None).is_ok());
    }
}
