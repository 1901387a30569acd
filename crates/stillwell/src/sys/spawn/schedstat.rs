//! How long a child has waited for a CPU when it is about to exec: the wait of its start is not a wait of the program.

/// The text of a schedstat file.
#[derive(Clone, Copy, Debug)]
pub struct SchedstatText {
    bytes: [u8; 64],
    len: usize,
}

impl SchedstatText {
    pub(super) const EMPTY: Self = Self { bytes: [0; 64], len: 0 };

    /// The text, empty if it could not be read.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the time that the calling thread has waited for a CPU so far.
///
/// # Safety
/// `text` is valid, and no other thread uses it.
pub(super) unsafe fn read(text: *mut SchedstatText) {
    // SAFETY: the path ends with a NUL, and the buffer is as long as the call says.
    unsafe {
        let path = c"/proc/thread-self/schedstat".as_ptr();
        let file = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
        if file >= 0 {
            let bytes = &raw mut (*text).bytes;
            let n_bytes = libc::read(file, bytes.cast(), (*bytes).len());
            (*text).len = usize::try_from(n_bytes).unwrap_or(0);
            libc::close(file);
        }
    }
}
