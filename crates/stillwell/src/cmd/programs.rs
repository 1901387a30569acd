//! Programs and commands in place of records: `compare ./a ./b`. The error names the verb that measures them.

#![expect(clippy::disallowed_methods, reason = "looks at the beginning of a file")]

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The first bytes of executable files: ELF and scripts.
const STARTS: [&[u8]; 2] = [b"\x7fELF", b"#!"];

/// Refuses a program in place of a record.
pub fn refuse_program(path: &Path) -> Result<()> {
    if is_program(path) {
        let shown = path.display();
        bail!("{shown} is a program, not a record; to time it: stillwell run {}", quoted(path));
    }
    Ok(())
}

/// Refuses files that are all programs or commands. A missing file with a blank, `sleep 1`, is a command.
pub fn refuse_commands(files: &[PathBuf]) -> Result<()> {
    let is_command = |path: &PathBuf| is_program(path) || is_command_line(path);
    if !files.is_empty() && files.iter().all(is_command) {
        let words: Vec<String> = files.iter().map(|path| quoted(path)).collect();
        bail!(
            "compare reads records, and {} is a command; to measure and compare: stillwell run {}",
            words[0],
            words.join(" ")
        );
    }
    Ok(())
}

fn is_command_line(path: &Path) -> bool {
    !path.exists() && path.to_string_lossy().trim().contains(char::is_whitespace)
}

/// Whether somebody may execute this file.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn is_program(path: &Path) -> bool {
    if !is_executable(path) {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && STARTS.iter().any(|known| start.starts_with(known))
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_command_lines_are_refused_and_records_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8], mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let elf = file("elf", b"\x7fELF\x02", 0o755);
        let script = file("script", b"#!/bin/sh\n", 0o755);
        // A record on a file system without modes is executable too.
        let record = file("record", b"{\"stillwell\":1}", 0o755);
        let text = file("text", b"#!/bin/sh\n", 0o644);
        assert!(refuse_program(&elf).is_err() && refuse_program(&script).is_err());
        assert!(refuse_program(&record).is_ok() && refuse_program(&text).is_ok());
        assert!(refuse_program(&folder.path().join("none")).is_ok());
        let line = PathBuf::from("sleep 1");
        let error = refuse_commands(&[line.clone(), "sleep 2".into()]).unwrap_err().to_string();
        assert!(error.ends_with("stillwell run 'sleep 1' 'sleep 2'"), "{error}");
        assert!(refuse_commands(&[record, line]).is_ok());
        assert!(refuse_commands(&[elf, script]).is_err());
    }
}
