//! How the value in a file is to be understood. Values are compared by what they mean, never by their text: the kernel
//! writes `0-1` where `0,1` was written, and `00000003` for `3`.

use crate::host::mask::parse_cpu_mask;
use crate::values::parse_cpu_list;

/// What kind of value a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One word, like a governor.
    Word,
    /// A decimal number.
    Number,
    /// A decimal number that the kernel itself may lower later (`perf_event_max_sample_rate`, kernel/events/core.c).
    Lowered,
    /// CPUs like `0-3,6`.
    CpuList,
    /// CPUs as a hexadecimal mask.
    CpuMask,
    /// CPUs like `0-3,6` that a thread of the kernel may run on: read in its `/proc/PID/status`, written with
    /// sched_setaffinity(2).
    Affinity,
    /// µs of `pm_qos_resume_latency_us`, where `0` is "no limit" and `n/a` is zero
    /// (Documentation/ABI/testing/sysfs-devices-power).
    Latency,
    /// One bit of a model-specific register, `0` or `1`; the file is a `/dev/cpu/N/msr`.
    MsrBit {
        /// Number of the register, which is the offset in the file (msr(4)).
        register: u64,
        /// The bit.
        bit: u8,
    },
    /// A unit of systemd, `active` or `inactive`; the path is that of its control group.
    Unit,
}

impl Format {
    /// Whether two values mean the same.
    pub fn same(self, a: &str, b: &str) -> bool {
        let (a, b) = (a.trim(), b.trim());
        match self {
            Self::Number | Self::Lowered => both(a, b, |text| text.parse::<i64>().ok()),
            Self::CpuList | Self::Affinity => both(a, b, |text| parse_cpu_list(text).ok()),
            Self::CpuMask => both(a, b, |text| parse_cpu_mask(text).ok()),
            Self::Latency => both(a, b, latency_us),
            Self::Word | Self::MsrBit { .. } | Self::Unit => a == b,
        }
    }

    /// Whether `now` is what is left of `written`, if nobody but the kernel has touched it since.
    pub fn is_still(self, written: &str, now: &str) -> bool {
        let number = |text: &str| text.trim().parse::<i64>().ok();
        self.same(written, now)
            || (self == Self::Lowered
                && number(now).zip(number(written)).is_some_and(|(now, written)| now < written))
    }
}

/// Equal after parsing; texts that cannot be parsed are equal when they are the same text.
fn both<T: PartialEq>(a: &str, b: &str, parse: impl Fn(&str) -> Option<T>) -> bool {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        _ => false,
    }
}

/// The limit that a value of `pm_qos_resume_latency_us` sets; `u64::MAX` is none.
pub(super) fn latency_us(text: &str) -> Option<u64> {
    match text.trim() {
        "n/a" => Some(0),
        "0" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_their_meaning() {
        for (format, a, b) in [
            (Format::Word, "performance\n", "performance"),
            (Format::Number, "00", "0\n"),
            (Format::CpuList, "0-2,3", "0-3"),
            (Format::CpuMask, "00000000,00000003", "3"),
            (Format::Latency, "n/a", "n/a\n"),
        ] {
            assert!(format.same(a, b), "{format:?} {a:?} {b:?}");
        }
        for (format, a, b) in [
            (Format::Word, "performance", "powersave"),
            (Format::Number, "1", "(null)"),
            (Format::CpuList, "0-3", "0,3"),
            (Format::CpuMask, "10", "2"),
        ] {
            assert!(!format.same(a, b), "{format:?} {a:?} {b:?}");
        }
    }

    /// The trap of `pm_qos_resume_latency_us`.
    #[test]
    fn zero_is_no_limit_and_na_is_zero_latency() {
        assert!(!Format::Latency.same("0", "n/a"));
        assert_eq!((latency_us("0"), latency_us("n/a")), (Some(u64::MAX), Some(0)));
    }

    /// The kernel lowers the rate at run time: reading less back is not tampering.
    #[test]
    fn a_sample_rate_that_the_kernel_lowered_is_still_ours() {
        assert!(Format::Lowered.is_still("1000", "800"));
        assert!(!Format::Lowered.is_still("1000", "1200"));
        assert!(!Format::Number.is_still("1000", "800"));
    }
}
