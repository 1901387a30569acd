//! Lists of CPUs as the kernel and taskset(1) write them: `0-3,6` (cpuset(7), "List format"; lib/bitmap-str.c,
//! `bitmap_parselist`).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// CPUs of an option, as a list: `0-3,5`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus(pub Vec<usize>);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The kernel may write an empty list; a user who does has made a mistake.
        match parse_cpu_list(text)? {
            cpus if cpus.is_empty() => Err("no CPU is named".into()),
            cpus => Ok(Self(cpus)),
        }
    }
}

/// Largest `NR_CPUS` of any architecture (`MAXSMP`, arch/x86/Kconfig). It makes `0-99999999999` an error instead of an
/// 800 GB allocation.
pub const CPUS_MAX: usize = 8192;

/// Parses a list like `0-3,6`: ascending, without repetitions. `0-7:1/2` takes the first of every two CPUs. White space
/// around items is ignored. An empty text is an empty list: the kernel writes it when no CPU is isolated. Errors: the
/// mistake in the list, as a sentence.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut set = CpuSet::new();
    for item in text.split(',') {
        set.add(item, &Grammar { list: text, cpu_last: None })?;
    }
    Ok(set.cpus())
}

/// Parses a CPU list of the kernel's command line. `N` is the machine's last possible CPU, and `all` is `0-N`. Spaces
/// and empty items are allowed (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"). Errors: the mistake, as
/// a sentence. The kernel ignores a list with any mistake.
pub fn parse_boot_cpu_list(text: &str, cpu_last: usize) -> Result<Vec<usize>, String> {
    let grammar = Grammar { list: text, cpu_last: Some(cpu_last.min(CPUS_MAX - 1)) };
    let is_between = |char: char| char == ',' || char.is_ascii_whitespace();
    let mut set = CpuSet::new();
    for item in text.split(is_between).filter(|item| !item.is_empty()) {
        set.add(item, &grammar)?;
    }
    Ok(set.cpus())
}

/// Reads a CPU list from a kernel file. `(null)` is the empty set (/sys/devices/system/cpu/nohz_full without
/// `nohz_full=`). `None` if the text is no list.
pub fn read_cpu_list(text: &str) -> Option<Vec<usize>> {
    match text.trim_matches(|char: char| char == '\0' || char.is_ascii_whitespace()) {
        "(null)" => Some(Vec::new()),
        list => parse_cpu_list(list).ok(),
    }
}

/// Syntax of the items of a list.
struct Grammar<'a> {
    /// The whole list, for error messages.
    list: &'a str,
    /// The last CPU; set for the kernel's command line.
    cpu_last: Option<usize>,
}

impl Grammar<'_> {
    fn number(&self, number: &str) -> Result<usize, String> {
        let (number, list) = (number.trim(), self.list);
        if let (Some(cpu_last), "N") = (self.cpu_last, number) {
            return Ok(cpu_last);
        }
        // `parse` would accept `+1`.
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "{number:?} in CPU list {list:?} is not a CPU number; write 0-3,6"
            ));
        }
        let cpu_last = self.cpu_last.unwrap_or(CPUS_MAX - 1);
        match number.parse() {
            Ok(cpu) if cpu <= cpu_last => Ok(cpu),
            _ => Err(format!("CPU {number} in list {list:?} is above {cpu_last}")),
        }
    }

    /// The first and the last CPU of a range.
    fn range(&self, range: &str) -> Result<(usize, usize), String> {
        if let (Some(cpu_last), true) = (self.cpu_last, range.eq_ignore_ascii_case("all")) {
            return Ok((0, cpu_last));
        }
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (self.number(first)?, self.number(last)?);
        if first > last {
            return Err(format!("{:?} in CPU list {:?} runs backwards", range.trim(), self.list));
        }
        Ok((first, last))
    }

    /// A stride such as `1/2`: the CPUs used in each group, and the group's size.
    fn stride(&self, stride: &str) -> Result<(usize, usize), String> {
        let mistake = || {
            format!("{stride:?} in CPU list {:?} is not USED/GROUP; 0-7:1/2 is 0,2,4,6", self.list)
        };
        let (used, group) = stride.split_once('/').ok_or_else(mistake)?;
        let number = |text: &str| self.number(text).map_err(|_| mistake());
        match (number(used)?, number(group)?) {
            (used, group) if group > 0 && used <= group => Ok((used, group)),
            _ => Err(mistake()),
        }
    }
}

/// A set of CPUs as flags, so overlapping ranges take no extra memory.
struct CpuSet {
    flags: [bool; CPUS_MAX],
    /// One past the highest CPU.
    end: usize,
}

impl CpuSet {
    fn new() -> Self {
        Self { flags: [false; CPUS_MAX], end: 0 }
    }

    fn add(&mut self, item: &str, grammar: &Grammar<'_>) -> Result<(), String> {
        // The kernel also refuses a stride after a single CPU: `3:1/2`.
        let (range, stride) = match item.split_once(':') {
            Some((range, stride)) if range.contains('-') || range.contains("all") => {
                (range, Some(grammar.stride(stride)?))
            }
            _ => (item, None),
        };
        let (first, last) = grammar.range(range)?;
        let (used, group) = stride.unwrap_or((1, 1));
        for start in (first..=last).step_by(group) {
            self.flags[start..(start + used).min(last + 1)].fill(true);
        }
        self.end = self.end.max(last + 1);
        Ok(())
    }

    fn cpus(&self) -> Vec<usize> {
        (0..self.end).filter(|cpu| self.flags[*cpu]).collect()
    }
}

/// The shortest list for these CPUs, in any order; [`parse_cpu_list`] reads it.
pub fn format_cpu_list(cpus: &[usize]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    let ranges = cpus.chunk_by(|cpu, next| cpu + 1 == *next);
    let items: Vec<String> = ranges
        .map(|range| match range {
            [cpu] => cpu.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => unreachable!("chunk_by yields no empty chunk"),
        })
        .collect();
    items.join(",")
}

/// `CPU 3`, or `CPUs 0-1,4`.
pub fn name_cpus(cpus: &[usize]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, format_cpu_list(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&[usize], &str>) {
        match (parse_cpu_list(text), expect) {
            (Ok(cpus), Ok(expect)) => assert_eq!(cpus, expect, "{text:?}"),
            (Err(error), Err(expect)) => assert_eq!(error, expect, "{text:?}"),
            (got, expect) => panic!("{text:?}: {got:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn lists_of_the_kernel() {
        check("", Ok(&[]));
        check("0", Ok(&[0]));
        check("0-3,6", Ok(&[0, 1, 2, 3, 6]));
        check("0-1,4-5", Ok(&[0, 1, 4, 5]));
        check(" 3 , 1 - 2 ", Ok(&[1, 2, 3]));
        check("2,0-2,2", Ok(&[0, 1, 2]));
        check("8191", Ok(&[8191]));
        check("0-7:1/2", Ok(&[0, 2, 4, 6]));
        check("0-11:2/4,1", Ok(&[0, 1, 4, 5, 8, 9]));
        check("3-3:1/2", Ok(&[3]));
        // No CPU of each group.
        check("0-3:0/2", Ok(&[]));
    }

    #[test]
    fn mistakes_are_named() {
        check("1,", Err("\"\" in CPU list \"1,\" is not a CPU number; write 0-3,6"));
        check("-2", Err("\"\" in CPU list \"-2\" is not a CPU number; write 0-3,6"));
        check("+2", Err("\"+2\" in CPU list \"+2\" is not a CPU number; write 0-3,6"));
        check("3:1/2", Err("\"3:1/2\" in CPU list \"3:1/2\" is not a CPU number; write 0-3,6"));
        for stride in ["2", "1/0", "3/2", "x/2", "1/2/3", ""] {
            let list = format!("0-7:{stride}");
            let expect =
                format!("{stride:?} in CPU list {list:?} is not USED/GROUP; 0-7:1/2 is 0,2,4,6");
            check(&list, Err(&expect));
        }
        check("N", Err("\"N\" in CPU list \"N\" is not a CPU number; write 0-3,6"));
        check("all", Err("\"all\" in CPU list \"all\" is not a CPU number; write 0-3,6"));
        check("(null)", Err("\"(null)\" in CPU list \"(null)\" is not a CPU number; write 0-3,6"));
        check("5-2", Err("\"5-2\" in CPU list \"5-2\" runs backwards"));
        check("8192", Err("CPU 8192 in list \"8192\" is above 8191"));
        check("0-99999999999", Err("CPU 99999999999 in list \"0-99999999999\" is above 8191"));
        let huge = "9".repeat(30);
        check(&huge, Err(&format!("CPU {huge} in list {huge:?} is above 8191")));
    }

    #[test]
    fn many_overlapping_ranges_stay_small() {
        let text = vec!["0-8191"; 1000].join(",");
        assert_eq!(parse_cpu_list(&text).map(|cpus| cpus.len()), Ok(CPUS_MAX));
    }

    #[test]
    fn every_subset_round_trips() {
        for subset in 0_u32..1 << 12 {
            let cpus: Vec<usize> = (0..12).filter(|cpu| subset >> cpu & 1 == 1).collect();
            let text = format_cpu_list(&cpus);
            assert_eq!(parse_cpu_list(&text), Ok(cpus), "{text:?}");
        }
    }

    /// The parser refuses a text, or the canonical form has the same CPUs and is no longer.
    #[test]
    fn every_short_text_has_a_canonical_form() {
        let mut texts = vec![String::new()];
        let mut n_lists = 0;
        for _ in 0..5 {
            texts = texts
                .iter()
                .flat_map(|t| "019-,:/ ".chars().map(move |c| format!("{t}{c}")))
                .collect();
            for text in &texts {
                let Ok(cpus) = parse_cpu_list(text) else { continue };
                assert!(cpus.is_sorted_by(|a, b| a < b), "{text:?}");
                let short = format_cpu_list(&cpus);
                let is_longer = short.len() > text.len() && !text.contains(':');
                assert!(!is_longer, "{text:?} became {short:?}");
                assert_eq!(parse_cpu_list(&short), Ok(cpus), "{text:?} became {short:?}");
                n_lists += 1;
            }
        }
        assert!(n_lists > 500, "only {n_lists} texts were lists");
    }

    /// Examples of Documentation/admin-guide/kernel-parameters.rst and lib/test_bitmap.c.
    #[test]
    fn lists_of_the_command_line() {
        let check = |text: &str, expect: &[usize]| {
            assert_eq!(parse_boot_cpu_list(text, 7).as_deref(), Ok(expect), "{text:?}");
        };
        check("", &[]);
        check("all", &[0, 1, 2, 3, 4, 5, 6, 7]);
        check("ALL", &[0, 1, 2, 3, 4, 5, 6, 7]);
        check("N", &[7]);
        check("5-N", &[5, 6, 7]);
        check("N-N:1/1", &[7]);
        check("all:1/2", &[0, 2, 4, 6]);
        check("0-N:1/3", &[0, 3, 6]);
        check(",2,,3-4, 6 ,", &[2, 3, 4, 6]);
        for mistake in ["8", "0-8", "n", "all-3", "-", "N-0", "3:1/2", "domain"] {
            assert!(parse_boot_cpu_list(mistake, 7).is_err(), "{mistake}");
        }
    }

    #[test]
    fn files_of_the_kernel() {
        assert_eq!(read_cpu_list("(null)\n"), Some(vec![]));
        assert_eq!(read_cpu_list(""), Some(vec![]));
        assert_eq!(read_cpu_list("\0"), Some(vec![]));
        assert_eq!(read_cpu_list("0,2\n"), Some(vec![0, 2]));
        assert_eq!(read_cpu_list("N"), None);
        assert_eq!(read_cpu_list("yes"), None);
    }

    proptest::proptest! {
        #[test]
        fn lists_round_trip(
            cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..200),
        ) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            let list = format_cpu_list(&cpus);
            proptest::prop_assert_eq!(parse_cpu_list(&list), Ok(cpus.clone()));
            proptest::prop_assert_eq!(parse_boot_cpu_list(&list, CPUS_MAX), Ok(cpus));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,40}", listlike in "[0-9N:/,all x-]{0,30}") {
            for text in [&text, &listlike] {
                let _ = (parse_cpu_list(text), read_cpu_list(text));
                let _ = parse_boot_cpu_list(text, 127);
            }
        }
    }
}
