//! Space for the journal. `/run` is a small file system that others may fill. Each line of tuning reserves the space
//! that putting back will need.

use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::fault;
use crate::journal::entries::{Journal, JournalEntry};

/// Room for the lines without paths.
const FIXED_BYTES: u64 = 4096;
/// Lines of putting back that may name a file: about to be restored, restored, or waiting.
const N_LINES: u64 = 3;
/// Quotes and a comma.
const AROUND_PATH: u64 = 3;

/// Reserves the first `n_bytes` of a file without changing its length. Errors: the file system is full.
pub(super) fn reserve(file: impl AsFd, n_bytes: u64) -> std::io::Result<()> {
    fault::changes(super::PATH)?;
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, n_bytes) {
        // Not every file system can. Putting back then goes on without its lines.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The space that the lines of putting back need.
pub(super) fn to_put_back(journal: &Journal) -> u64 {
    let paths = journal.items.iter().map(|item| item.kept.path.len() as u64 + AROUND_PATH);
    FIXED_BYTES + N_LINES * paths.sum::<u64>()
}

/// Upper limit for the additional space that a line of this length makes necessary.
pub(super) fn for_entry(line_bytes: u64) -> u64 {
    N_LINES * line_bytes
}

impl JournalEntry {
    /// Whether the line may be left out when the file system is full.
    pub(super) fn is_of_putting_back(&self) -> bool {
        matches!(
            self,
            Self::Restoring { .. }
                | Self::Waiting { .. }
                | Self::Forgotten { .. }
                | Self::Lowered
                | Self::Plugged
        )
    }
}
