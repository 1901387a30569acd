//! Counts in `/proc` that the launcher reads between the runs.
#![expect(clippy::disallowed_methods, reason = "reads /proc")]

/// Second field of `/proc/PID/schedstat`: time spent waiting on a run queue, in ns (Documentation/scheduler/
/// sched-stats.rst). Readable while the child is a zombie.
pub fn read_run_queue_wait_ns(pid: i32) -> Option<u64> {
    let path = format!("/proc/{pid}/schedstat");
    let file =
        rustix::fs::open(path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).ok()?;
    let mut buffer = [0; 96];
    let n_bytes = rustix::io::read(file, &mut buffer).ok()?;
    std::str::from_utf8(&buffer[..n_bytes]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// `VmHWM` of this process.
pub fn peak_resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
