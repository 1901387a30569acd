//! Remembers the launcher's current job in memory that outlives it: a killed launcher cannot answer. Its run must end,
//! and the conclude hook of its step must still run.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

use host::sys;

/// Place of the current run's process group. It is first, so a batch without a job's index has none.
const GROUP_AT: u64 = 0;
/// Place of the current job's index.
const JOB_AT: u64 = 4;

/// A file in memory (memfd_create(2)) with the current run's process group and the index of the current job. It is empty
/// before the first job.
#[derive(Debug)]
pub(super) struct JobMark(OwnedFd);

impl JobMark {
    /// A mark that a launcher can share.
    pub fn new() -> io::Result<Self> {
        Ok(Self(memfd_create(c"stillwell-job", MemfdFlags::CLOEXEC)?))
    }

    /// Passes the mark to a launcher as its first argument.
    pub fn hand_to(&self, launcher: &mut Command) {
        launcher.arg(self.0.as_raw_fd().to_string());
        sys::leave_open(launcher, self.0.as_fd());
    }

    /// The mark that the front end passed to this launcher.
    pub fn handed(argument: Option<&OsStr>) -> Option<Self> {
        let number = argument?.to_str()?.parse().ok()?;
        sys::inherited_descriptor(number).ok().map(Self)
    }

    /// Forgets the jobs of the last batch.
    pub fn clear(&self) {
        ftruncate(&self.0, 0).ok();
    }

    pub fn set(&self, job: u32) {
        pwrite(&self.0, &job.to_ne_bytes(), JOB_AT).ok();
    }

    pub fn get(&self) -> Option<u32> {
        self.read(JOB_AT).map(u32::from_ne_bytes)
    }

    /// Sets the process group of the current run or hook; 0 when there is none.
    pub fn set_group(&self, group: i32) {
        pwrite(&self.0, &group.to_ne_bytes(), GROUP_AT).ok();
    }

    /// The process group of the current run or hook; 0 if there is none.
    pub fn group(&self) -> i32 {
        self.read(GROUP_AT).map_or(0, i32::from_ne_bytes)
    }

    fn read(&self, at: u64) -> Option<[u8; 4]> {
        let mut bytes = [0_u8; 4];
        let n_read = pread(&self.0, &mut bytes, at).ok()?;
        (n_read == bytes.len()).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_job_is_known() {
        let mark = JobMark::new().unwrap();
        assert_eq!(mark.get(), None);
        mark.set(7);
        mark.set(300);
        assert_eq!(mark.get(), Some(300));
        mark.clear();
        assert_eq!((mark.get(), mark.group()), (None, 0));
        mark.set_group(4000);
        assert_eq!((mark.get(), mark.group()), (None, 4000));
        assert!(JobMark::handed(None).is_none());
        assert!(JobMark::handed(Some(OsStr::new("x"))).is_none());
    }
}
