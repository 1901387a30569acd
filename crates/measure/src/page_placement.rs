//! Where a program's file lies in memory.
//!
//! The kernel keeps the pages of a file where it once read them, so a build has one place in all runs of a session, and
//! another build another one. Caches find lines by their physical address, and the processor joins neighbouring pages in
//! its TLB. A program of fancy-regex and its copy were read anew four times. Their ratio in the benchmark
//! `parse_lifetime_re` was 1.01, 1.00, 1.04 and 0.95, and most of the intervals excluded each other. If the files are read
//! anew for each block, that difference is noise between blocks, which the permutation test takes into account.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Advice, fadvise, fdatasync};

use crate::clock::monotonic_ns;
use crate::value::as_user;
use crate::wire::{Command, RowId};
use host::sys::User;
use host::user_files::open_regular;

/// Largest share of the session's time. A slow disk has the files read anew for some blocks only.
const SHARE: f64 = 0.2;

/// The blocks whose programs are read anew.
#[derive(Default)]
pub struct PagePlacement {
    began_ns: Option<u64>,
    spent_ns: u64,
    /// The last block, and whether its programs are read anew.
    block: Option<(u32, bool)>,
}

impl PagePlacement {
    /// Reads the program of a timed run anew, if it asks for that, with the rights of its user. A file that cannot be read
    /// stays where it is.
    pub fn before(&mut self, run: Option<RowId>, command: &Command, user: Option<&User>) {
        let is_timed = command.is_moved && command.count.is_none();
        if let Some(block) = run.and_then(|run| run.block).filter(|_| is_timed) {
            self.before_block(block, &command.path, user);
        }
    }

    fn before_block(&mut self, block: u32, program: &[u8], user: Option<&User>) {
        let now_ns = monotonic_ns();
        let elapsed_ns = now_ns - *self.began_ns.get_or_insert(now_ns);
        // All runs of a block have the same.
        let is_due = match self.block {
            Some((last, is_due)) if last == block => is_due,
            _ => self.spent_ns as f64 <= SHARE * elapsed_ns as f64,
        };
        self.block = Some((block, is_due));
        if is_due {
            let path = Path::new(OsStr::from_bytes(program));
            as_user(user, || read_anew(path)).ok();
            self.spent_ns += monotonic_ns() - now_ns;
        }
    }
}

/// Has the kernel forget a file's pages and read them again. Pages that a process has mapped stay (posix_fadvise(2)).
fn read_anew(path: &Path) -> std::io::Result<()> {
    // The links to a gate's programs are its own.
    let mut file = open_regular(&path.canonicalize()?)?;
    // Pages that were not written yet would stay.
    fdatasync(&file)?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let mut piece = vec![0; 1 << 20];
    while file.read(&mut piece)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_read_anew_is_the_same_and_a_fifo_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        host::user_files::replace(&path, 0o600, &[7; 3 << 20]).unwrap();
        read_anew(&path).unwrap();
        assert_eq!(host::user_files::read_whole(&path).unwrap(), [7; 3 << 20]);
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(read_anew(&fifo).is_err());
        assert!(read_anew(&folder.path().join("nothing")).is_err());
    }

    /// A slow disk: the first block's files took most of the time.
    #[test]
    fn a_block_has_all_its_programs_read_anew_or_none() {
        let mut placement = PagePlacement::default();
        placement.before_block(0, b"/nothing", None);
        assert_eq!(placement.block, Some((0, true)));
        placement.spent_ns = u64::MAX / 2;
        placement.before_block(0, b"/nothing", None);
        assert_eq!(placement.block, Some((0, true)));
        placement.before_block(1, b"/nothing", None);
        assert_eq!(placement.block, Some((1, false)));
    }
}
