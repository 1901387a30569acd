//! `history report`: a directory of pages. A list names our files there; all others stay untouched.
#![expect(clippy::disallowed_methods, reason = "writes a directory, and reads what is in it")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::output_file::write_one;
use host::user_files::{make_directories, read_text, read_whole};
use model::words::reason;
use render::site::{ASSETS, INDEX, PAGES};

/// The list of our files. The next report replaces only these.
const LIST: &str = "stillwell-site.txt";
/// First line of the list.
const HEADING: &str =
    "# files of stillwell history report; the next one replaces and removes these and no others";

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Files of an earlier report.
    old: BTreeSet<String>,
    new: BTreeSet<String>,
    /// Number of changed files.
    n_written: usize,
}

impl Folder {
    /// Opens or creates a directory. Errors: the directory has files that are not ours.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        make(path).with_context(|| format!("-o {shown}: cannot make the directory"))?;
        let entries = std::fs::read_dir(path);
        let mut entries = entries.with_context(|| format!("-o {shown}: cannot read"))?;
        let list = path.join(LIST);
        let old = if list.symlink_metadata().is_ok() {
            let text = read_text(&list);
            let text = text.with_context(|| format!("cannot read {}", list.display()))?;
            listed(&text).with_context(|| format!("{}: it is no list of ours", list.display()))?
        } else {
            ensure!(
                entries.next().is_none(),
                "-o {shown}: the directory is not empty, and no report of ours; name another, or a new one"
            );
            BTreeSet::new()
        };
        Ok(Self { path: path.into(), old, new: BTreeSet::new(), n_written: 0 })
    }

    /// Lists the new files before they are written, so that a killed report leaves a directory of ours. Errors: a file
    /// exists and is not ours.
    pub fn announce(&mut self, names: impl Iterator<Item = String>) -> Result<()> {
        self.new = names.collect();
        for name in self.new.difference(&self.old) {
            let path = self.path.join(name);
            ensure!(
                path.symlink_metadata().is_err(),
                "{} is there and not ours; move it away, or name another directory",
                path.display()
            );
        }
        for directory in [ASSETS, PAGES] {
            let path = self.path.join(directory);
            ensure!(!path.is_symlink(), "{} is a link, and not ours; remove it", path.display());
        }
        self.write_list(self.old.union(&self.new))?;
        for directory in [ASSETS, PAGES] {
            let path = self.path.join(directory);
            make(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(())
    }

    /// Writes a whole file, unless it has this text already.
    pub fn write(&mut self, name: &str, text: &str) -> Result<()> {
        assert!(self.new.contains(name), "{name} was not announced");
        let path = self.path.join(name);
        ensure!(!path.is_symlink(), "{} is a link, and not ours; remove it", path.display());
        if read_whole(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        self.n_written += 1;
        write_one(&path, |to| Ok(to.write_all(text.as_bytes())?))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes obsolete files of an earlier report. Returns the number of written files.
    pub fn finish(self) -> Result<usize> {
        for name in self.old.difference(&self.new) {
            let path = self.path.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    bail!(
                        "cannot remove {}, which an earlier report has written: {}",
                        path.display(),
                        reason(error)
                    )
                }
                _ => {}
            }
        }
        self.write_list(self.new.iter())?;
        Ok(self.n_written)
    }

    fn write_list<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<()> {
        let mut text = format!("{HEADING}\n");
        for name in names {
            text.push_str(name);
            text.push('\n');
        }
        let path = self.path.join(LIST);
        write_one(&path, |to| Ok(to.write_all(text.as_bytes())?))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn make(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    make_directories(path, 0o777)
}

/// The names in a list, which says which files to remove. Only names of reports are accepted.
fn listed(text: &str) -> Result<BTreeSet<String>> {
    let mut lines = text.lines();
    ensure!(lines.next() == Some(HEADING), "its first line is another");
    let name = |line: &str| {
        ensure!(is_ours(line), "{line:?} is no name of a file that we write");
        Ok(line.to_owned())
    };
    lines.map(name).collect()
}

fn is_ours(name: &str) -> bool {
    let is_plain = |name: &str| {
        let is_fitting = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_fitting)
    };
    match name.split_once('/') {
        Some((directory, name)) => [ASSETS, PAGES].contains(&directory) && is_plain(name),
        None => name == INDEX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_nothing_but_files_of_ours() {
        let check = |name: &str, is_fine: bool| {
            assert_eq!(listed(&format!("{HEADING}\n{name}\n")).is_ok(), is_fine, "{name}");
        };
        check("index.html", true);
        check("b/json-0123456789ab.html", true);
        check("assets/d3-7.9.0.12345678.js", true);
        for name in
            ["../x", "b/../../x", "/etc/passwd", "b/", "b/.x", "c/x.html", "mine.html", "b/x/y", ""]
        {
            check(name, false);
        }
        assert!(listed("index.html\n").is_err());
    }
}
