//! How much a compressed file may unpack to: a small file can become larger than the memory.
#![expect(clippy::disallowed_methods, reason = "reads what memory is free")]

use rustix::process::{Resource, getrlimit};

/// Part of the free memory that an unpacked file may have. A file of times takes 18 bytes for each of its own in
/// `slowest`; the verbs that analyse more were not measured.
const SHARE: u64 = 64;
/// Where neither the kernel nor a limit tells, bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// The default of `--max-unpacked`, bytes.
pub(super) fn unpacked_max() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").as_deref().and_then(available);
    let of_group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    let of_process = getrlimit(Resource::As).current;
    let limits = [free, of_group, of_process].into_iter().flatten();
    limits.min().unwrap_or(UNKNOWN_BYTES) / SHARE
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

    #[test]
    fn available_memory() {
        let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   22314204 kB\n";
        assert_eq!(available(meminfo), Some(22_314_204 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
