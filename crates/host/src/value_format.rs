//! Formats of the values in files. Stillwell compares values by their meaning: the kernel writes `0-1` for `0,1`, and
//! `00000003` for `3`.

use model::values::{CPUS_MAX, parse_cpu_list};

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
            Self::Word | Self::Timer | Self::Unit => a == b,
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

/// CPU masks in the kernel's format: hexadecimal, in groups of 32 bits with commas, the highest CPUs first
/// (`bitmap_parse` and `%*pb` in lib/bitmap-str.c).
const GROUP_CPUS: usize = 32;

/// Parses a mask like `3` or `0000000f,ffffffff` into ascending CPU numbers.
pub fn parse_cpu_mask(text: &str) -> Result<Vec<usize>, String> {
    let mistake = || format!("{text:?} is not a mask of CPUs like f or 3,ffffffff");
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() > CPUS_MAX / GROUP_CPUS {
        return Err(format!("a mask with {} groups is above CPU {}", groups.len(), CPUS_MAX - 1));
    }
    let mut cpus = Vec::new();
    for (index, group) in groups.iter().rev().enumerate() {
        // `from_str_radix` would accept `+1`.
        if group.is_empty() || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(mistake());
        }
        let bits = u32::from_str_radix(group, 16).map_err(|_| mistake())?;
        let first = index * GROUP_CPUS;
        cpus.extend((0..GROUP_CPUS).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    Ok(cpus)
}

/// Formats CPUs as a mask for [`parse_cpu_mask`]. The kernel pads a short mask with zeros.
pub fn format_cpu_mask(cpus: &[usize]) -> String {
    let n_groups = cpus.iter().max().map_or(1, |last| last / GROUP_CPUS + 1);
    let mut groups = vec![0_u32; n_groups];
    for cpu in cpus {
        groups[cpu / GROUP_CPUS] |= 1 << (cpu % GROUP_CPUS);
    }
    let mut text = String::new();
    for (index, bits) in groups.iter().rev().enumerate() {
        text += &if index == 0 { format!("{bits:x}") } else { format!(",{bits:08x}") };
    }
    text
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

    #[test]
    fn masks_of_the_kernel() {
        for (text, expect) in [
            ("0", &[] as &[usize]),
            ("f", &[0, 1, 2, 3]),
            ("0000000c", &[2, 3]),
            ("00000001,00000000", &[32]),
            ("80000000,00000000,00000001", &[0, 95]),
        ] {
            assert_eq!(parse_cpu_mask(text).as_deref(), Ok(expect), "{text:?}");
        }
        for text in ["", "g", "+1", "1,,1", "(null)", "123456789", "-1"] {
            assert!(parse_cpu_mask(text).is_err(), "{text:?}");
        }
        assert!(parse_cpu_mask(&vec!["0"; 10_000].join(",")).is_err());
    }

    #[test]
    fn what_is_written_is_read_back_beyond_1024_cpus() {
        for cpus in [vec![], vec![0], vec![31, 32], vec![1024, 2047, 8191], (0..1100).collect()] {
            let text = format_cpu_mask(&cpus);
            assert_eq!(parse_cpu_mask(&text), Ok(cpus), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn masks_round_trip(cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..200)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            proptest::prop_assert_eq!(parse_cpu_mask(&format_cpu_mask(&cpus)), Ok(cpus));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,40}", masklike in "[0-9a-fA-F, x-]{0,30}") {
            let _ = (parse_cpu_mask(&text), parse_cpu_mask(&masklike));
        }
    }
}
