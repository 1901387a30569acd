//! The CPUs that a thread may use, for any number of CPUs that Linux supports. `libc::cpu_set_t` and
//! `rustix::thread::CpuSet` have 1024 bits; the system calls take a mask of any length (sched_setaffinity(2), "Handling
//! systems with large CPU affinity masks").

use std::ffi::{c_int, c_long, c_ulong};
use std::io;

use rustix::process::Pid;

use super::checked;
use model::values::CPUS_MAX;

const WORD_BITS: usize = c_ulong::BITS as usize;
/// Most machines have fewer CPUs, so one call reads the mask.
const FIRST_MASK_BITS: usize = 1024;

/// A set of CPUs as the kernel reads it: CPU `n` is bit `n % 64` of word `n / 64` (32 where `long` has 32 bits).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMask {
    words: Vec<c_ulong>,
}

impl CpuMask {
    /// The shortest mask for these CPUs. A list with a number of [`CPUS_MAX`] or more makes the empty mask, which the
    /// kernel refuses like any set without an existing CPU.
    pub fn new(cpus: &[usize]) -> Self {
        let n_words = cpus.iter().max().map_or(0, |last| last / WORD_BITS + 1);
        if n_words > CPUS_MAX / WORD_BITS {
            return Self::default();
        }
        let mut words = vec![0; n_words];
        for cpu in cpus {
            words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
        }
        Self { words }
    }

    /// The CPUs of the set, ascending.
    fn cpus(&self) -> Vec<usize> {
        let is_in = |cpu: &usize| self.words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
        (0..self.words.len() * WORD_BITS).filter(is_in).collect()
    }

    /// Binds a thread (0: the calling one). Returns 0, or -1 and `errno`. It allocates nothing, so a child can call it
    /// between clone and exec.
    pub(super) fn bind(&self, thread: libc::pid_t) -> c_int {
        // SAFETY: the kernel reads as many bytes as the call says, and the mask has that many. The C type only has the
        // usual length.
        unsafe {
            libc::sched_setaffinity(thread, size_of_val(&*self.words), self.words.as_ptr().cast())
        }
    }
}

/// A memory policy as the kernel reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePolicy {
    /// `MPOL_BIND` or `MPOL_INTERLEAVE`.
    mode: c_int,
    /// A mask of nodes has the form of a mask of CPUs.
    nodes: CpuMask,
}

impl NodePolicy {
    /// The policy with this rule for these nodes.
    pub fn new(mode: c_int, nodes: &[usize]) -> Self {
        Self { mode, nodes: CpuMask::new(nodes) }
    }

    /// Sets the policy of the calling thread; execve(2) keeps it. Returns 0, or -1 and `errno`. It allocates nothing.
    pub(super) fn set(&self) -> c_long {
        // The kernel reads one bit less than it is told (`get_nodes` in mm/mempolicy.c), and libnuma tells it one more.
        let n_bits = self.nodes.words.len() * WORD_BITS + 1;
        // SAFETY: the kernel reads as many bits as the mask has.
        unsafe {
            libc::syscall(
                libc::SYS_set_mempolicy,
                c_long::from(self.mode),
                self.nodes.words.as_ptr(),
                n_bits,
            )
        }
    }
}

/// Binds a thread to these CPUs; `None` is the calling thread. Errors: the kernel's answer: EINVAL if the thread may
/// use none of the CPUs, or one is [`CPUS_MAX`] or more. The kernel ignores missing CPUs beside existing ones.
pub fn bind(thread: Option<Pid>, cpus: &[usize]) -> io::Result<()> {
    checked(CpuMask::new(cpus).bind(Pid::as_raw(thread)))
}

/// The CPUs that the calling thread may use, ascending. Errors: the kernel's answer: EINVAL if it can have more than
/// [`CPUS_MAX`] CPUs.
pub fn bound_cpus() -> io::Result<Vec<usize>> {
    read_mask(read_own_words).map(|mask| mask.cpus())
}

/// Reads a mask whose length only the kernel knows. `read` fills a buffer and returns the number of bytes written. It
/// fails with EINVAL while the buffer is too short (sched_getaffinity(2), "C library/kernel differences").
fn read_mask(mut read: impl FnMut(&mut [c_ulong]) -> io::Result<usize>) -> io::Result<CpuMask> {
    let mut words = vec![0; FIRST_MASK_BITS / WORD_BITS];
    loop {
        match read(&mut words) {
            Ok(n_bytes) => {
                words.truncate(n_bytes.div_ceil(size_of::<c_ulong>()));
                return Ok(CpuMask { words });
            }
            Err(error)
                if error.raw_os_error() == Some(libc::EINVAL)
                    && words.len() < CPUS_MAX / WORD_BITS =>
            {
                words = vec![0; words.len() * 2];
            }
            Err(error) => return Err(error),
        }
    }
}

/// The system call: the C library's function does not return the length.
fn read_own_words(words: &mut [c_ulong]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many bytes as the call says, and the buffer has that many.
    let n_bytes = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(words), words.as_mut_ptr())
    };
    usize::try_from(n_bytes).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_bits_of_its_cpus_and_no_other() {
        let mask = CpuMask::new(&[1500]);
        let bytes: Vec<u8> = mask.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes[1500 / 8], 1 << (1500 % 8));
        assert_eq!(mask.words.iter().map(|word| word.count_ones()).sum::<u32>(), 1);
        for cpus in [vec![], vec![0], vec![63, 64], vec![1023, 1024], (0..2048).collect()] {
            assert_eq!(CpuMask::new(&cpus).cpus(), cpus);
        }
        assert_eq!(CpuMask::new(&[CPUS_MAX - 1]).cpus(), [CPUS_MAX - 1]);
        assert_eq!(CpuMask::new(&[0, usize::MAX]), CpuMask::default());
    }

    /// A kernel for `cpus_max` CPUs, with CPU 3 and the last one.
    fn kernel(cpus_max: usize) -> impl FnMut(&mut [c_ulong]) -> io::Result<usize> {
        move |words| {
            if words.len() * WORD_BITS < cpus_max {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            for cpu in [3, cpus_max - 1] {
                words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
            }
            Ok(cpus_max / 8)
        }
    }

    #[test]
    fn the_buffer_grows_until_the_mask_of_the_kernel_fits() {
        for cpus_max in [64, 1024, 1088, 2048, 5120, CPUS_MAX] {
            assert_eq!(read_mask(kernel(cpus_max)).unwrap().cpus(), [3, cpus_max - 1]);
        }
        let error = read_mask(kernel(2 * CPUS_MAX)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "it does not grow for ever");
        let mut n_calls = 0;
        let refuse = |_: &mut [c_ulong]| {
            n_calls += 1;
            Err(io::Error::from_raw_os_error(libc::EPERM))
        };
        assert_eq!(read_mask(refuse).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert_eq!(n_calls, 1, "only EINVAL asks for a longer buffer");
    }

    #[test]
    fn cpus_that_no_machine_has_are_an_error_and_change_nothing() {
        let before = bound_cpus().unwrap();
        for cpus in [&[before[0], CPUS_MAX] as &[usize], &[CPUS_MAX - 1], &[]] {
            let error = bind(None, cpus).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{cpus:?}");
            assert_eq!(bound_cpus().unwrap(), before);
        }
    }

    #[test]
    fn a_mask_that_is_longer_than_the_kernels_binds() {
        let before = bound_cpus().unwrap();
        // The test's own thread, so it binds no other.
        bind(None, &[before[0], CPUS_MAX - 1]).unwrap();
        assert_eq!(bound_cpus().unwrap(), [before[0]]);
        bind(None, &before).unwrap();
        assert_eq!(bound_cpus().unwrap(), before);
    }
}
