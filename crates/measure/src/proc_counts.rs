//! Counts in `/proc` that the launcher reads between runs.
#![expect(clippy::disallowed_methods, reason = "reads /proc")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::clock::monotonic_ns;

/// Room for the three numbers of a schedstat file.
pub const SCHEDSTAT_BYTES: usize = 96;

/// Times of a schedstat file, ns (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub ran_ns: u64,
    /// Time on a run queue, ready to run.
    pub waited_ns: u64,
}

impl CpuTimes {
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [ran_ns, waited_ns] = fields(text)?;
        Some(Self { ran_ns, waited_ns })
    }

    /// The times of a process's first thread, which are readable while it is a zombie.
    pub fn read_process(pid: i32) -> Option<Self> {
        let path = format!("/proc/{pid}/schedstat");
        let file = rustix::fs::open(path, OFlags::RDONLY, Mode::empty()).ok()?;
        read_anew::<SCHEDSTAT_BYTES, _>(file, Self::parse)
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    pub waited_ns: u64,
    /// How often the thread got a CPU.
    pub n_arrivals: u64,
}

impl Waits {
    pub fn since(self, before: Self) -> Self {
        Self {
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            n_arrivals: self.n_arrivals.saturating_sub(before.n_arrivals),
        }
    }
}

/// The open schedstat of the calling thread.
#[derive(Debug)]
pub struct OwnCpuTimes {
    file: OwnedFd,
}

impl OwnCpuTimes {
    /// `None` if the kernel has none.
    pub fn open() -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open("/proc/thread-self/schedstat", flags, Mode::empty()).ok()?;
        Some(Self { file })
    }

    /// The thread's waits for a CPU so far.
    pub fn waits(&self) -> Option<Waits> {
        let [_, waited_ns, n_arrivals] = read_anew::<SCHEDSTAT_BYTES, _>(&self.file, fields::<3>)?;
        Some(Waits { waited_ns, n_arrivals })
    }
}

/// Reads an open file at offset 0, which makes the kernel write it anew. A file that fills the buffer of `N` bytes may
/// be cut off.
pub fn read_anew<const N: usize, T>(
    file: impl AsFd,
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Option<T> {
    // Most of a large buffer stays unused, and clearing it would take time before and after each slice.
    let mut buffer = [MaybeUninit::uninit(); N];
    let (text, _) = rustix::io::pread(file, &mut buffer, 0).ok()?;
    parse(text)
}

/// The first fields of a schedstat file: time on a CPU and on a run queue, ns, and number of times it got a CPU.
fn fields<const N: usize>(text: &[u8]) -> Option<[u64; N]> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut found = [0; N];
    for field in &mut found {
        *field = fields.next()?.parse().ok()?;
    }
    Some(found)
}

/// `VmHWM` of this process.
pub fn peak_resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The sum so far; `None` if the launcher reads no counts.
#[derive(Clone, Copy, Debug)]
pub struct ReadingTime {
    sum_ns: Option<u64>,
}

impl ReadingTime {
    /// A sum of zero. `reads`: whether the launcher reads any counts.
    pub fn new(reads: bool) -> Self {
        Self { sum_ns: reads.then_some(0) }
    }

    /// The time now, if the launcher reads any counts.
    pub fn start(self) -> Option<u64> {
        self.sum_ns.map(|_| monotonic_ns())
    }

    pub fn add_since(&mut self, start_ns: Option<u64>) {
        if let (Some(sum_ns), Some(start_ns)) = (&mut self.sum_ns, start_ns) {
            *sum_ns += monotonic_ns() - start_ns;
        }
    }

    pub fn sum_ns(self) -> Option<u64> {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_has_two_times() {
        let expected = CpuTimes { ran_ns: 36_550_462, waited_ns: 271_361 };
        assert_eq!(CpuTimes::parse(b"36550462 271361 26\n"), Some(expected));
        assert_eq!((CpuTimes::parse(b""), CpuTimes::parse(b"1")), (None, None));
    }

    #[test]
    fn it_is_added_up_where_something_is_read() {
        let mut time = ReadingTime::new(true);
        time.add_since(None);
        assert_eq!(time.sum_ns(), Some(0));
        let start_ns = time.start().unwrap();
        time.add_since(Some(start_ns - 1_000));
        assert!(time.sum_ns().unwrap() >= 1_000);
        let mut none = ReadingTime::new(false);
        none.add_since(none.start());
        assert_eq!((none.start(), none.sum_ns()), (None, None));
    }
}
