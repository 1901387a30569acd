//! Remembers the launcher's current job in memory that outlives it: a killed launcher cannot answer. Its run must end,
//! and the conclude hook of its step must still run.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

use host::sys;

/// Place of the current run's process group.
const GROUP: usize = 0;
/// Place of the current job's number, from 1.
const JOB: usize = 1;
const N_BYTES: usize = size_of::<[u32; 2]>();

/// A file in memory (memfd_create(2)) with two numbers for the front end to read; 0 stands for none.
#[derive(Debug)]
pub(super) struct JobMark(OwnedFd);

impl JobMark {
    /// A mark that a launcher can share.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create(c"stillwell-job", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, N_BYTES as u64)?;
        Ok(Self(file))
    }

    /// Passes the mark to a launcher as its first argument.
    pub fn hand_to(&self, launcher: &mut Command) {
        launcher.arg(self.0.as_raw_fd().to_string());
        sys::leave_open(launcher, self.0.as_fd());
    }

    /// Forgets the jobs of the last batch.
    pub fn clear(&self) {
        pwrite(&self.0, &[0; N_BYTES], 0).ok();
    }

    /// The index of the current job; `None` before the first one.
    pub fn get(&self) -> Option<u32> {
        self.read(JOB).checked_sub(1)
    }

    /// The process group of the current run or hook; 0 if there is none.
    pub fn group(&self) -> i32 {
        self.read(GROUP).cast_signed()
    }

    fn read(&self, place: usize) -> u32 {
        let mut bytes = [0_u8; size_of::<u32>()];
        pread(&self.0, &mut bytes, (place * size_of::<u32>()) as u64).ok();
        u32::from_ne_bytes(bytes)
    }
}

/// The launcher's side of a [`JobMark`]. It is mapped, so writing takes no system call, which would run beside a timed run.
#[derive(Debug)]
pub(super) struct JobMarker(&'static [AtomicU32; 2]);

impl JobMarker {
    /// The mark that the front end passed to this launcher.
    pub fn handed(argument: Option<&OsStr>) -> Option<Self> {
        let number = argument?.to_str()?.parse().ok()?;
        let file = sys::inherited_descriptor(number).ok()?;
        sys::share_numbers(file.as_fd()).ok().map(Self)
    }

    pub fn set(&self, job: u32) {
        self.0[JOB].store(job + 1, Relaxed);
    }

    /// Sets the process group of the current run or hook; 0 when there is none.
    pub fn set_group(&self, group: i32) {
        self.0[GROUP].store(group.cast_unsigned(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_job_is_known() {
        let mark = JobMark::new().unwrap();
        let number = mark.0.as_raw_fd().to_string();
        let launcher = JobMarker::handed(Some(OsStr::new(&number))).unwrap();
        assert_eq!((mark.get(), mark.group()), (None, 0));
        launcher.set(7);
        launcher.set(300);
        assert_eq!(mark.get(), Some(300));
        mark.clear();
        assert_eq!((mark.get(), mark.group()), (None, 0));
        launcher.set_group(4000);
        assert_eq!((mark.get(), mark.group()), (None, 4000));
        assert!(JobMarker::handed(None).is_none());
        assert!(JobMarker::handed(Some(OsStr::new("x"))).is_none());
    }
}
