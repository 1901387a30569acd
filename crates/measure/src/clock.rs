//! Clocks of Stillwell's processes, in integer nanoseconds. Times are CLOCK_MONOTONIC.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// CLOCK_BOOTTIME: CLOCK_MONOTONIC plus the time that the machine was suspended.
pub fn boottime_ns() -> u64 {
    ns(clock_gettime(ClockId::Boottime))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
