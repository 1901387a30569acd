//! The peak memory of all processes of a run: the kernel's count of a control group with only the launcher and the
//! runs. Version 1 has it since Linux 2.6.25. In version 2 it can be reset since 6.12
//! (Documentation/admin-guide/cgroup-v2.rst, `memory.peak`).
#![expect(clippy::disallowed_methods, reason = "makes a control group and reads its files")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::proc_counts::read_anew;
use host::{Gap, Host, MemoryGroup, memory_group, sys};
use model::values::metric::Metric;
use model::words::reason;
use record::Row;

pub const TREE_MEMORY: &str = "tree-memory";
/// Prefix of our groups' names; the launcher's process id follows.
const NAME: &str = "stillwell-memory-";
const PROCESSES: &str = "cgroup.procs";

#[derive(Debug)]
pub struct MemoryUse {
    group: PathBuf,
    /// The group that the launcher came from.
    from: PathBuf,
    peak: File,
    usage: File,
    before_bytes: Option<u64>,
}

impl MemoryUse {
    /// Enters a group with this process and its runs, if wanted. On failure, `gaps` gets what is missing, why, and what
    /// to do.
    pub fn open_own(is_wanted: bool, gaps: &mut Vec<Gap>) -> Option<Self> {
        if !is_wanted {
            return None;
        }
        let entered = match memory_group(&Host::new("/")) {
            Some(own) => Self::enter("/", &own, std::process::id()),
            None => Err("no control group can be made that counts memory".into()),
        };
        let fix = "run as root in a group where others can be made (memory in cgroup.subtree_control of the one above), or \
                   choose maxrss, the memory of the largest process";
        let gap = |why| Gap { what: TREE_MEMORY.into(), why, fix: fix.into() };
        entered.map_err(|why| gaps.push(gap(why))).ok()
    }

    /// Makes the group and enters it. `root`: where the paths begin. Errors: the kernel does not let this process make
    /// the group, or the group has no count.
    fn enter(root: &str, own: &MemoryGroup, process: u32) -> Result<Self, String> {
        let in_root = |path: &str| Path::new(&format!("{root}{path}")).to_owned();
        let (from, above) = (in_root(&own.directory), in_root(&own.above));
        remove_empty_groups(&above);
        let group = above.join(format!("{NAME}{process}"));
        let failed =
            |what: &Path, error: io::Error| format!("{}: {}", what.display(), reason(error));
        std::fs::create_dir(&group).map_err(|error| failed(&group, error))?;
        let [peak, usage] = if own.version == 1 {
            ["memory.max_usage_in_bytes", "memory.usage_in_bytes"]
        } else {
            ["memory.peak", "memory.current"]
        };
        let entered = || {
            let open = |name: &str, writes: bool| {
                let path = group.join(name);
                let file = OpenOptions::new().read(true).write(writes).open(&path);
                file.map_err(|error| failed(&path, error))
            };
            let counts = (open(peak, true)?, open(usage, false)?);
            // Before Linux 6.12, version 2 opens the file for root but refuses each write.
            counts.0.write_all_at(b"0", 0).map_err(|error| {
                let what = group.join(peak);
                format!("{}; a peak can be reset since Linux 6.12", failed(&what, error))
            })?;
            let processes = group.join(PROCESSES);
            let entered = std::fs::write(&processes, process.to_string());
            entered.map_err(|error| failed(&processes, error))?;
            Ok(counts)
        };
        match entered() {
            Ok((peak, usage)) => Ok(Self { group, from, peak, usage, before_bytes: None }),
            Err(why) => {
                std::fs::remove_dir(&group).ok();
                Err(why)
            }
        }
    }

    /// Begins a new peak before a run.
    pub fn before(&mut self) {
        // Any text resets it; in version 1 only `0`.
        let is_reset = self.peak.write_all_at(b"0", 0).is_ok();
        self.before_bytes = bytes_in(&self.usage).filter(|_| is_reset);
    }

    /// Sets the run's peak, without what the group had before: the launcher, and pages of files.
    pub fn after(&self, row: &mut Row) {
        let peak = bytes_in(&self.peak).zip(self.before_bytes);
        let bytes = peak.map(|(peak, before)| peak.saturating_sub(before));
        row.set(Metric::TreePeakBytes, bytes);
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        sys::with_own_files(|| {
            std::fs::write(self.from.join(PROCESSES), std::process::id().to_string()).ok();
            std::fs::remove_dir(&self.group).ok();
        });
    }
}

/// Removes the groups of killed launchers. The kernel keeps any with a process.
fn remove_empty_groups(above: &Path) {
    for entry in std::fs::read_dir(above).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NAME) {
            std::fs::remove_dir(entry.path()).ok();
        }
    }
}

fn bytes_in(file: &File) -> Option<u64> {
    read_anew::<32, _>(file, |text| std::str::from_utf8(text).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_peak_without_what_was_there_before() {
        let directory = tempfile::tempdir().unwrap();
        let root = format!("{}/", directory.path().display());
        let set = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        set("peak", "70000\n");
        set("usage", "50000\n");
        let open = |name: &str| {
            let path = directory.path().join(name);
            OpenOptions::new().read(true).write(true).open(path).unwrap()
        };
        let [group, from] = ["group", "from"].map(|name| directory.path().join(name));
        let (peak, usage) = (open("peak"), open("usage"));
        let mut found = MemoryUse { group, from, peak, usage, before_bytes: None };
        let mut row = Row::new(0, 0, Some(0), 0);
        found.before();
        assert_eq!(std::fs::read_to_string(directory.path().join("peak")).unwrap(), "00000\n");
        set("peak", "90000\n");
        found.after(&mut row);
        assert_eq!(row.get(Metric::TreePeakBytes), Some(40_000));
        // A directory that is no control group has no count, and nothing of ours remains.
        let own = MemoryGroup { version: 2, directory: "here".into(), above: "above".into() };
        std::fs::create_dir_all(directory.path().join("above")).unwrap();
        let why = MemoryUse::enter(&root, &own, 5).unwrap_err();
        assert!(why.contains("above/stillwell-memory-5/memory.peak: "), "{why}");
        assert_eq!(std::fs::read_dir(directory.path().join("above")).unwrap().count(), 0);
    }
}
