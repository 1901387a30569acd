//! The clock of the program outside the launcher's child: CLOCK_MONOTONIC, integer nanoseconds.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC now.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
