//! Counts of a worker in `/proc`. The files stay open and are read again at offset 0, which makes the kernel write them
//! anew (fs/seq_file.c, `seq_read_iter`); nothing is allocated.
//!
//! Measured on Linux 6.18 in a virtual machine: schedstat 0.7, stat 2.8, status 6.2, sched 4.9 µs. Before and after a
//! slice together 21 µs with parsing, in which the worker sleeps.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::proc_counts::{CpuTimes, SCHEDSTAT_BYTES, read_anew};

/// The open files of one process. Without a file its values are `None`.
#[derive(Debug)]
pub struct ProcFiles {
    schedstat: Option<OwnedFd>,
    stat: Option<OwnedFd>,
    status: Option<OwnedFd>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcStatus {
    /// `VmHWM`: peak resident set since exec, KiB.
    pub maxrss_kib: Option<u64>,
    /// `voluntary_ctxt_switches` of the main thread.
    pub voluntary_switches: Option<u64>,
    /// `nonvoluntary_ctxt_switches` of the main thread.
    pub involuntary_switches: Option<u64>,
    pub n_threads: Option<u32>,
    /// Whether `State` of the main thread is S or D: it has gone to sleep, and the switch is counted.
    pub is_asleep: Option<bool>,
}

impl ProcFiles {
    pub fn open(pid: i32) -> Self {
        let open = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
        };
        Self { schedstat: open("schedstat"), stat: open("stat"), status: open("status") }
    }

    /// The times of the main thread so far.
    pub fn main_thread(&self) -> Option<CpuTimes> {
        read_anew::<SCHEDSTAT_BYTES, _>(self.schedstat.as_ref()?, CpuTimes::parse)
    }

    /// Field 39 of stat: the CPU that the main thread ran on last (proc_pid_stat(5)).
    pub fn cpu(&self) -> Option<u32> {
        read_anew::<1024, _>(self.stat.as_ref()?, cpu)
    }

    pub fn status(&self) -> ProcStatus {
        // The switches come after the allowed CPUs: with 8192 CPUs 2.3 kB of mask and up to 20 kB of list.
        // The lines searched for are always whole.
        let read = |file: &OwnedFd| read_anew::<32768, _>(file, |text| Some(status(text)));
        self.status.as_ref().and_then(read).unwrap_or_default()
    }
}

fn cpu(stat: &[u8]) -> Option<u32> {
    // The second field is the name in parentheses, which may contain anything.
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let field = stat.get(after_name..)?.split(|&byte| byte == b' ').nth(39 - 3)?;
    number(field)?.try_into().ok()
}

fn status(status: &[u8]) -> ProcStatus {
    let mut found = ProcStatus::default();
    // The fields come after the name, in which the kernel escapes newlines.
    for line in status.split_inclusive(|&byte| byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let text = line[colon + 1..].trim_ascii();
        let value = || number(text.strip_suffix(b" kB").unwrap_or(text));
        match &line[..colon] {
            b"State" => {
                found.is_asleep = text.first().map(|state| matches!(state, b'S' | b'D'));
            }
            b"VmHWM" => found.maxrss_kib = value(),
            b"Threads" => found.n_threads = value().and_then(|n| n.try_into().ok()),
            b"voluntary_ctxt_switches" => found.voluntary_switches = value(),
            b"nonvoluntary_ctxt_switches" => found.involuntary_switches = value(),
            _ => {}
        }
    }
    found
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_process() {
        let stat = b"1156 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 \
            30 31 32 33 34 35 36 37 38\n";
        // State is field 3, so the field after it, 1 here, is field 4.
        assert_eq!(cpu(stat), Some(36));
        let text = b"Name:\tsh\\nVmHWM:\t1\nState:\tS (sleeping)\nVmHWM:\t    3456 kB\nThreads:\t2\nvoluntary_ctxt_switches:\t20\n\
            nonvoluntary_ctxt_switches:\t6";
        let expected = ProcStatus {
            maxrss_kib: Some(3456),
            voluntary_switches: Some(20),
            involuntary_switches: None,
            n_threads: Some(2),
            is_asleep: Some(true),
        };
        assert_eq!(status(text), expected, "the last line was cut off");
        assert_eq!((cpu(b""), status(b"")), (None, ProcStatus::default()));
    }

    #[test]
    fn an_open_file_is_read_anew() {
        let files = ProcFiles::open(std::process::id().cast_signed());
        let first = files.status().voluntary_switches;
        assert!(first.is_some() && files.status().voluntary_switches >= first);
        assert!(files.cpu().is_some() && files.status().maxrss_kib > Some(0));
    }
}
