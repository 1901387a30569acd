//! Memory that processes share.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;

use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// The numbers at the beginning of a file in memory (memfd_create(2)), which the processes that have the file share. They
/// stay mapped until this process ends. If the file is cut later, access ends this process. Errors: the file is too
/// short, or mmap(2) fails.
pub fn share_numbers<const N: usize>(file: BorrowedFd<'_>) -> io::Result<&'static [AtomicU32; N]> {
    let n_bytes = size_of::<[AtomicU32; N]>();
    if fstat(file)?.st_size.cast_unsigned() < n_bytes as u64 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // With POPULATE the first access takes no longer than others.
    let how = MapFlags::SHARED | MapFlags::POPULATE;
    // SAFETY: the kernel chooses a place where nothing is mapped.
    let place = unsafe { mmap(null_mut(), n_bytes, access, how, file, 0) }?;
    // SAFETY: pages are aligned and hold the numbers, which are never unmapped. All access is atomic.
    Ok(unsafe { &*place.cast::<[AtomicU32; N]>() })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::sync::atomic::Ordering::Relaxed;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let file = memfd_create(c"numbers", MemfdFlags::CLOEXEC).unwrap();
        assert!(share_numbers::<2>(file.as_fd()).is_err());
        ftruncate(&file, 8).unwrap();
        let [one, other] = [(); 2].map(|()| share_numbers::<2>(file.as_fd()).unwrap());
        one[1].store(7, Relaxed);
        assert_eq!((other[0].load(Relaxed), other[1].load(Relaxed)), (0, 7));
    }
}
