//! CPU masks in the kernel's format: hexadecimal, in groups of 32 bits with commas, the highest CPUs first
//! (`bitmap_parse` and `%*pb` in lib/bitmap-str.c).

use model::values::CPUS_MAX;

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
