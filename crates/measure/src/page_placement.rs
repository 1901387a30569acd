//! Where the programs' files lie in memory.
//!
//! The kernel keeps the pages of a file where it once read them, so a build has one place in all runs of a session, and
//! another build another one. Caches find lines by their physical address, and the processor joins neighbouring pages in
//! its TLB. Five copies of a loop in 600 kB of Rust took 0.933 to 0.996 times as long as the sixth
//! (`experiments/results/verdicts.md`).
//!
//! All programs give their pages up at the start of each block, and are read again in random order. The kernel gives a
//! file the pages that became free last, so the programs exchange places. Which one gets which is left to chance, as the
//! permutation test assumes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Advice, fadvise, fdatasync};
use stats::Stream;

use crate::clock::monotonic_ns;
use crate::value::as_user;
use crate::wire::{Bytes, Command, RowId};
use host::sys::User;
use host::user_files::open_regular;

/// Largest share of the session's time. With a slow disk or large programs, only some blocks have new places.
const SHARE: f64 = 0.2;
/// Small, because the peak memory of a launcher's children begins at its own.
const PIECE_BYTES: usize = 1 << 16;

/// The programs of a session, and the blocks in which they were read anew.
#[derive(Debug)]
pub struct PagePlacement {
    began_ns: u64,
    spent_ns: u64,
    block: Option<u32>,
    /// By arm: the path.
    programs: BTreeMap<u32, Bytes>,
    orders: Stream,
}

impl Default for PagePlacement {
    fn default() -> Self {
        let began_ns = monotonic_ns();
        let (block, programs, orders) = (None, BTreeMap::new(), Stream::new(began_ns));
        Self { began_ns, spent_ns: 0, block, programs, orders }
    }
}

impl PagePlacement {
    /// Before a timed run that is its program's own, not a counter's.
    pub fn before_run(&mut self, run: Option<RowId>, command: &Command, user: Option<&User>) {
        if let Some(run) = run.filter(|_| command.count.is_none()) {
            self.before(run.arm, run.block, &command.path, user);
        }
    }

    /// Before a program of an arm is executed: if it is the first of its block, all programs are read anew with the
    /// rights of their user. A file that cannot be read stays where it is. Warm-ups only tell the programs.
    pub fn before(&mut self, arm: u32, block: Option<u32>, program: &[u8], user: Option<&User>) {
        self.programs.insert(arm, program.to_vec());
        if block.is_none() || self.block == block {
            return;
        }
        self.block = block;
        let now_ns = monotonic_ns();
        if self.spent_ns as f64 <= SHARE * (now_ns - self.began_ns) as f64 {
            as_user(user, || self.read_anew());
            self.spent_ns += monotonic_ns() - now_ns;
        }
    }

    /// One program alone stays: it would get its own pages again. So do pages that a process has mapped
    /// (posix_fadvise(2)).
    fn read_anew(&mut self) {
        let paths: BTreeSet<&Bytes> = self.programs.values().collect();
        if paths.len() < 2 {
            return;
        }
        let mut files: Vec<File> =
            paths.into_iter().filter_map(|path| forgotten(path).ok()).collect();
        self.orders.shuffle(&mut files);
        let mut piece = [0; PIECE_BYTES];
        for mut file in files {
            while file.read(&mut piece).is_ok_and(|n_bytes| n_bytes > 0) {}
        }
    }
}

/// Opens a program whose pages the kernel has forgotten.
fn forgotten(path: &[u8]) -> std::io::Result<File> {
    // The links are a gate's own, or a virtual environment's.
    let file = open_regular(&Path::new(OsStr::from_bytes(path)).canonicalize()?)?;
    // Pages that were not written yet would stay.
    fdatasync(&file)?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_programs_are_read_at_the_start_of_a_block_unless_that_took_a_fifth_of_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let programs = ["a", "b"].map(|name| folder.path().join(name));
        for program in &programs {
            host::user_files::replace(program, 0o600, &[7; 3 << 20]).unwrap();
        }
        let [a, b] = programs.each_ref().map(|path| path.as_os_str().as_bytes());
        let mut placement = PagePlacement { began_ns: 0, ..Default::default() };
        let mut has_read = |spent_ns: u64, arm, block, program: &[u8]| {
            placement.spent_ns = spent_ns;
            placement.before(arm, block, program, None);
            placement.spent_ns > spent_ns
        };
        assert!(!has_read(0, 0, None, a) && !has_read(0, 1, None, b), "a warm-up");
        assert!(has_read(0, 1, Some(0), b));
        assert!(!has_read(0, 0, Some(0), a), "the same block");
        assert!(!has_read(u64::MAX / 2, 0, Some(1), a), "it took long");
        assert!(!has_read(0, 1, Some(1), b), "a block has all its programs read anew or none");
        assert!(has_read(0, 1, Some(2), b));
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(forgotten(fifo.as_os_str().as_bytes()).is_err());
        assert!(forgotten(b"/nothing").is_err());
    }
}
