//! The files of a machine: `/proc`, `/sys` and the like, below a root.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
use crate::host::knobs::Format;
use crate::values::CPUS_MAX;

/// The only way to `/proc`, `/sys` and the like. Paths are relative to a root, which is `/` in production and a
/// directory of captured files in tests.
#[derive(Clone, Debug)]
pub struct Host {
    pub(super) root: PathBuf,
    /// Where the paths are noted that are looked at.
    pub(super) touched: Option<PathLog>,
    /// How the kernel of a machine of captured files answers a write.
    #[cfg(test)]
    pub(super) kernel: Option<Kernel>,
    /// What that kernel does a moment after a write.
    #[cfg(test)]
    pub(super) moment: Option<fn(&Host)>,
}

/// What a write to a file does: its format, its path, the value.
#[cfg(test)]
pub(super) type Kernel = fn(&Host, Format, &str, &str) -> std::io::Result<()>;

/// No file of the kernel that we need is longer up to the part we need; an uncapped read of a strange file might never
/// end.
pub(super) const READ_BYTES_MAX: u64 = 64 << 10;

/// /proc lists some ten threads of the kernel for each CPU; the rest is room for processes.
const LIST_ENTRIES_MAX: usize = 32 * CPUS_MAX;

impl Host {
    /// A machine whose files are below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            touched: None,
            #[cfg(test)]
            kernel: None,
            #[cfg(test)]
            moment: None,
        }
    }

    /// The text of a file without the white space at its end; `None` when it cannot be read.
    pub fn read(&self, relative: impl AsRef<Path>) -> Option<String> {
        let mut text = read_capped(&self.below_root(relative.as_ref()), READ_BYTES_MAX)?;
        text.truncate(text.trim_end().len());
        Some(text)
    }

    /// As [`Host::read`], for a file that may be longer than others.
    pub fn read_long(&self, relative: impl AsRef<Path>, bytes_max: u64) -> Option<String> {
        read_capped(&self.below_root(relative.as_ref()), bytes_max)
    }

    /// The value of a file that holds one; `None` also when it holds something else.
    pub fn read_value<T: std::str::FromStr>(&self, relative: impl AsRef<Path>) -> Option<T> {
        self.read(relative)?.parse().ok()
    }

    /// The names in a directory, sorted; empty when it cannot be read.
    pub fn list(&self, relative: impl AsRef<Path>) -> Vec<String> {
        #[expect(clippy::disallowed_methods, reason = "this is where the machine is read")]
        let Ok(entries) = std::fs::read_dir(self.below_root(relative.as_ref())) else {
            return Vec::new();
        };
        let names = entries.take(LIST_ENTRIES_MAX).flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.below_root(relative.as_ref()).exists()
    }

    pub(super) fn below_root(&self, relative: &Path) -> PathBuf {
        assert!(relative.is_relative(), "{} must be relative to the root", relative.display());
        if let Some(touched) = &self.touched {
            touched.add(relative);
        }
        self.root.join(relative)
    }
}

/// The first `bytes_max` bytes of a file as text. Bytes that are not UTF-8 are replaced: the cap may cut a character.
pub(super) fn read_capped(path: &Path, bytes_max: u64) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is where the machine is read")]
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The paths that were looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct PathLog(Arc<Mutex<BTreeSet<PathBuf>>>);

impl PathLog {
    pub(super) fn add(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
