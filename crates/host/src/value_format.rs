//! Formats of the values in files. Stillwell compares values by their meaning: the kernel writes `0-1` for `0,1`, and
//! `00000003` for `3`.

use crate::mask::parse_cpu_mask;
use model::values::parse_cpu_list;

/// The format of a file's value.
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
    /// CPUs as a hexadecimal mask in `workqueue/cpumask`. Since Linux 6.8 that file shows the mask in force, without
    /// isolated CPUs, and `cpumask_requested` shows what was written.
    RequestedMask,
    /// CPUs like `0-3,6` that a kernel thread may run on. Stillwell reads them in `/proc/PID/status` and sets them with
    /// sched_setaffinity(2).
    Affinity,
    /// Microseconds in `pm_qos_resume_latency_us`, where `0` means "no limit" and `n/a` means zero
    /// (Documentation/ABI/testing/sysfs-devices-power).
    Latency,
    /// One bit of a model-specific register, `0` or `1`. The file is a `/dev/cpu/N/msr`.
    MsrBit {
        /// Number of the register, which is the offset in the file (msr(4)).
        register: u64,
        bit: u8,
    },
    /// A timer of systemd, `active` or `inactive`. The last part of the path is its name; systemctl reads and sets it.
    Timer,
    /// A systemd unit, `active` or `inactive`. The path is its control group's.
    Unit,
}

impl Format {
    /// Whether two values have the same meaning.
    pub fn same(self, a: &str, b: &str) -> bool {
        let (a, b) = (a.trim(), b.trim());
        match self {
            Self::Number | Self::Lowered => both(a, b, |text| text.parse::<i64>().ok()),
            Self::CpuList | Self::Affinity => both(a, b, |text| parse_cpu_list(text).ok()),
            Self::CpuMask | Self::RequestedMask => both(a, b, |text| parse_cpu_mask(text).ok()),
            Self::Latency => both(a, b, latency_us),
            Self::Word | Self::MsrBit { .. } | Self::Timer | Self::Unit => a == b,
        }
    }

    /// Whether `now` is `written`, or a value that the kernel itself has derived from it.
    pub fn is_still(self, written: &str, now: &str) -> bool {
        let number = |text: &str| text.trim().parse::<i64>().ok();
        self.same(written, now)
            || (self == Self::Lowered
                && number(now).zip(number(written)).is_some_and(|(now, written)| now < written))
    }
}

/// Compares parsed values. If neither text can be parsed, it compares the texts.
fn both<T: PartialEq>(a: &str, b: &str, parse: impl Fn(&str) -> Option<T>) -> bool {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        _ => false,
    }
}

/// The limit that a value of `pm_qos_resume_latency_us` sets; `u64::MAX` means no limit.
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

    /// In `pm_qos_resume_latency_us` zero means "no limit".
    #[test]
    fn zero_is_no_limit_and_na_is_zero_latency() {
        assert!(!Format::Latency.same("0", "n/a"));
        assert_eq!((latency_us("0"), latency_us("n/a")), (Some(u64::MAX), Some(0)));
    }

    /// The kernel lowers the rate at run time. A lower value does not mean that another program changed it.
    #[test]
    fn a_sample_rate_that_the_kernel_lowered_is_still_ours() {
        assert!(Format::Lowered.is_still("1000", "800"));
        assert!(!Format::Lowered.is_still("1000", "1200"));
        assert!(!Format::Number.is_still("1000", "800"));
    }
}
