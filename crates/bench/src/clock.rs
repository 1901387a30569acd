//! The two clocks of the worker protocol.

/// The protocol's integers are below 2^63.
pub(crate) const INTEGER_MAX: u64 = i64::MAX as u64;

/// CLOCK_MONOTONIC, as [`std::time::Instant`] reads it.
pub(crate) fn wall_ns() -> u64 {
    now_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the process with all its threads, which the standard library does not have.
pub(crate) fn cpu_ns() -> u64 {
    now_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[expect(unsafe_code, reason = "a clock that the standard library lacks")]
fn now_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    // Neither is negative: both clocks count from a start of their own.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
