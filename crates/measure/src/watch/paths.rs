//! Which files of a run matter, and for which way of cheating.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::watch::memory::Memory;
use model::values::CheatKind;

/// The places where a run may leave files.
pub struct OwnPlace {
    /// Working directory, without links.
    pub directory: PathBuf,
    /// Whether the directory is a fresh copy.
    pub is_fresh: bool,
    /// The directories of PATH: every program finds its tools there.
    pub tools: Vec<PathBuf>,
    /// The declared files, without links.
    pub files: Vec<PathBuf>,
}

impl OwnPlace {
    /// The way of cheating that a file at this path could serve; `None` if the run may write it.
    pub fn kind_of(&self, path: &Path) -> Option<CheatKind> {
        if path.starts_with("/dev/shm") || path.starts_with("/dev/mqueue") {
            return Some(CheatKind::SharedMemory);
        }
        if path.starts_with("/sys") || path.starts_with("/proc/sys") {
            return Some(CheatKind::Priority);
        }
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return None;
        }
        if path.to_string_lossy().starts_with("/etc/ld.so.") {
            return Some(CheatKind::Tool);
        }
        if !path.starts_with(&self.directory) {
            let is_tool =
                path.parent().is_some_and(|place| self.tools.iter().any(|it| it == place));
            return Some(if is_tool { CheatKind::Tool } else { CheatKind::OutsideFile });
        }
        let is_own =
            self.is_fresh || path == self.directory || self.files.iter().any(|it| it == path);
        (!is_own).then_some(CheatKind::SecondCall)
    }
}

/// `AT_FDCWD` as in a register.
const CURRENT_DIRECTORY: i32 = libc::AT_FDCWD;

/// The path that a system call names, without links as far as it exists.
pub fn named(thread: u32, memory: &Memory, directory: u64, address: u64) -> Option<PathBuf> {
    let path = PathBuf::from(memory.text(address)?);
    let base = match directory as i32 {
        CURRENT_DIRECTORY => format!("/proc/{thread}/cwd"),
        number => format!("/proc/{thread}/fd/{number}"),
    };
    let base = if path.is_absolute() { PathBuf::new() } else { std::fs::read_link(base).ok()? };
    Some(without_links(&base.join(path)))
}

pub fn open(thread: u32, number: u64) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{thread}/fd/{}", number as i32)).ok()
}

pub fn without_links(path: &Path) -> PathBuf {
    let whole = || path.canonicalize().ok();
    let parent = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    whole().or_else(parent).unwrap_or_else(|| path.to_owned())
}

pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Time of a file's last change, ns.
pub fn changed_ns(path: &Path) -> Option<i64> {
    let meta = path.metadata().ok().filter(|meta| !meta.is_dir())?;
    meta.ctime().checked_mul(1_000_000_000)?.checked_add(meta.ctime_nsec())
}
