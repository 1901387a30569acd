//! The limit of unpacking: a small compressed file can become larger than the memory.

use rustix::process::{Resource, getrlimit};

use host::{Host, memory_limit_bytes};

/// Part of the free memory for an unpacked file. `slowest` takes 18 bytes for each byte of a file of times; the verbs
/// that analyse more were not measured.
const SHARE: u64 = 64;
/// Free memory if neither the kernel nor a limit tells, bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// The default of `--max-unpacked`, bytes.
pub(super) fn unpacked_max() -> u64 {
    let limits = [limit_bytes(&Host::new("/")), getrlimit(Resource::As).current];
    limits.into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES) / SHARE
}

/// The free memory, or the tightest limit of this process's control groups.
fn limit_bytes(host: &Host) -> Option<u64> {
    let free = host.read("proc/meminfo").as_deref().and_then(available);
    [free, memory_limit_bytes(host)].into_iter().flatten().min()
}

/// `MemAvailable` of /proc/meminfo, bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    #[test]
    fn the_limit_of_a_group_far_above_binds() {
        let meminfo = "proc/meminfo = MemAvailable: 22314204 kB\n";
        let (_directory, host) = expand(meminfo);
        assert_eq!(limit_bytes(&host), Some(22_314_204 * 1024));
        let groups = "proc/self/mountinfo = 30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                      proc/self/cgroup = 0::/user.slice/app.scope\n\
                      sys/fs/cgroup/user.slice/memory.max = 1048576\n\
                      sys/fs/cgroup/user.slice/app.scope/memory.max = 2097152\n";
        let (_directory, host) = expand(&format!("{meminfo}{groups}"));
        assert_eq!(limit_bytes(&host), Some(1 << 20));
    }

    #[test]
    fn available_memory() {
        let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   22314204 kB\n";
        assert_eq!(available(meminfo), Some(22_314_204 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
