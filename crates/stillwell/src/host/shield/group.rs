//! Making, writing and removing our control groups: the only names that are ever made, and the only files of others that
//! are written, which are those that tasks are moved with and the switch of the controller.

use std::io;

use crate::host::Host;
use crate::host::knobs::Format;

/// Names of our groups: the partition, or the set for the benchmark; the set for everything else; what systemd calls
/// those of its own.
pub(super) const OURS: &[&str] = &[
    "stillwell",
    "stillwell-user",
    "stillwell-system",
    "stillwell.slice",
    "stillwell-shield.service",
];

/// Files that may be written in our groups.
const OWN_FILES: &[&str] = &[
    "cgroup.procs",
    "tasks",
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.cpu_exclusive",
    "cpuset.cpus.exclusive",
    "cpuset.cpus.partition",
];
/// Files that may be written in the root of all groups.
const ROOT_FILES: &[&str] = &["cgroup.procs", "tasks", "cgroup.subtree_control"];

/// Whether it may be written.
fn is_allowed(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or("");
    let group = parts.next().unwrap_or("");
    let files = if OURS.contains(&group) { OWN_FILES } else { ROOT_FILES };
    files.contains(&file) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl Host {
    /// Writes a file of a control group.
    ///
    /// # Errors
    /// The kernel's answer, or it is none of those that may be written.
    pub(super) fn write_group(&self, path: &str, value: &str) -> io::Result<()> {
        if !is_allowed(path) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{path:?} is no file of a shield"),
            ));
        }
        crate::host::kill::kill_point();
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            return super::tests::fake_write(self, path, value);
        }
        self.write_value(Format::Word, path, value)
    }

    /// Makes a group; that it is there already is no error.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(super) fn make_group(&self, path: &str) -> io::Result<()> {
        crate::host::kill::kill_point();
        self.make_directory(path, OURS)?;
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            super::tests::fake_group(self, path);
        }
        Ok(())
    }

    /// Removes a group; that it is not there is no error.
    ///
    /// # Errors
    /// The kernel's answer: EBUSY while a process is in it.
    pub(super) fn remove_group(&self, path: &str) -> io::Result<()> {
        crate::host::kill::kill_point();
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            return super::tests::fake_remove(self, path);
        }
        self.remove_directory(path, OURS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_may_be_written() {
        for path in [
            "sys/fs/cgroup/stillwell/cpuset.cpus.partition",
            "sys/fs/cgroup/cgroup.procs",
            "sys/fs/cgroup/cpuset/stillwell-user/tasks",
        ] {
            assert!(is_allowed(path), "{path}");
        }
        for path in [
            "sys/fs/cgroup/system.slice/cpuset.cpus",
            "sys/fs/cgroup/cpuset.cpus",
            "etc/passwd",
            "sys/fs/cgroup/stillwell/memory.max",
            "etc/../tasks",
        ] {
            assert!(!is_allowed(path), "{path}");
        }
    }
}
