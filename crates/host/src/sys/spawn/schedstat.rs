//! How long a child has waited for a CPU when it is about to exec: the wait of its start is not the program's.

use crate::sys::spawn::monotonic_ns;

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

/// A reading takes some 5 µs. One that takes longer than this lost its CPU meanwhile, ns.
const READING_NS_MAX: u64 = 50_000;
const READINGS_MAX: u32 = 4;

/// Reads the file, and then the clock. A wait between the two would count as the run's, although the run's clock starts
/// after it: under load, runs of 4 ms had no time left. So it reads again if the child lost its CPU.
///
/// # Safety
/// See [`read`].
pub(super) unsafe fn read_beside_the_clock(text: *mut SchedstatText) -> u64 {
    let mut now_ns = monotonic_ns();
    for _ in 0..READINGS_MAX {
        // SAFETY: as the caller promises.
        unsafe { read(text) };
        let before_ns = std::mem::replace(&mut now_ns, monotonic_ns());
        if now_ns.saturating_sub(before_ns) < READING_NS_MAX {
            break;
        }
    }
    now_ns
}

/// Reads the time that the calling thread has waited for a CPU so far.
///
/// # Safety
/// `text` is valid, and no other thread uses it.
unsafe fn read(text: *mut SchedstatText) {
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
