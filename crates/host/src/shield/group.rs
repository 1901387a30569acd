//! Creates, writes and removes Stillwell's control groups, under no other names. Of other groups it writes only the
//! files that move tasks and the one that switches the controller on.

use std::io;

use crate::Host;
#[cfg(test)]
use crate::fault;
use crate::knobs::Format;

/// Files that Stillwell may write in its own groups.
const OWN_FILES: &[&str] = &[
    "cgroup.procs",
    "tasks",
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.cpu_exclusive",
    "cpuset.cpus.exclusive",
    "cpuset.cpus.partition",
];
/// Files that Stillwell may write in the root group.
const ROOT_FILES: &[&str] = &["cgroup.procs", "tasks", "cgroup.subtree_control"];

fn is_allowed(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or("");
    let group = parts.next().unwrap_or("");
    let files = if super::OURS.contains(&group) { OWN_FILES } else { ROOT_FILES };
    files.contains(&file) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl Host {
    /// Writes a file of a control group. Errors: the kernel refuses the write, or the file is not one that Stillwell
    /// may write.
    pub(super) fn write_group(&self, path: &str, value: &str) -> io::Result<()> {
        if !is_allowed(path) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{path:?} is no file of a shield"),
            ));
        }
        #[cfg(test)]
        if !self.is_this_machine() {
            return fault::by_kernel(path, || super::fake::fake_write(self, path, value));
        }
        self.write_value(Format::Word, path, value)
    }

    /// Creates a group. An existing group is no error.
    pub(super) fn make_group(&self, path: &str) -> io::Result<()> {
        self.make_directory(path, super::OURS)?;
        #[cfg(test)]
        if !self.is_this_machine() {
            super::fake::fake_group(self, path);
        }
        Ok(())
    }

    /// Removes a group. A missing group is no error. Errors: the kernel refuses: EBUSY while a process is in the group.
    pub(super) fn remove_group(&self, path: &str) -> io::Result<()> {
        #[cfg(test)]
        if !self.is_this_machine() {
            return fault::by_kernel(path, || super::fake::fake_remove(self, path));
        }
        self.remove_directory(path, super::OURS)
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
