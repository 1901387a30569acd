//! Which CPUs a thread may use, by their numbers.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Binds a thread to these CPUs; `None` is the one that calls.
///
/// # Errors
/// The kernel's answer; a number that its mask has no room for is EINVAL, as one that does not exist.
pub fn bind(thread: Option<Pid>, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(rustix::io::Errno::INVAL.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(thread, &set)?)
}

/// The CPUs that the calling thread may use, ascending.
///
/// # Errors
/// The kernel's answer: it has more CPUs than its mask here has room for.
pub fn bound_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_room_is_an_error_and_changes_nothing() {
        let before = bound_cpus().unwrap();
        let error = bind(None, &[before[0], CpuSet::MAX_CPU]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        assert_eq!(bound_cpus().unwrap(), before);
    }
}
