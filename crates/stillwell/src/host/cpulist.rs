//! Lists of CPUs as the kernel and taskset(1) write them: `0-3,6` (cpuset(7), "List format").

/// Largest `NR_CPUS` of any architecture (`MAXSMP`, arch/x86/Kconfig). A bound, so that `0-99999999999` is an error
/// and not 800 GB of memory.
pub(super) const CPUS_MAX: usize = 8192;

/// The CPUs in a list like `0-3,6`, ascending, each once. White space around the items is ignored. An empty text is an
/// empty list, because that is what the kernel writes when no CPU is isolated.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut ranges = Vec::new();
    for item in text.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (parse_cpu(first, text)?, parse_cpu(last, text)?);
        if first > last {
            return Err(format!("{:?} in CPU list {text:?} runs backwards", item.trim()));
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    let mut cpus: Vec<usize> = Vec::new();
    for (first, last) in ranges {
        // Overlapping ranges must not add up.
        let next = cpus.last().map_or(0, |cpu| cpu + 1);
        cpus.extend(first.max(next)..=last);
    }
    Ok(cpus)
}

fn parse_cpu(number: &str, list: &str) -> Result<usize, String> {
    let number = number.trim();
    // `parse` would let `+1` through.
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{number:?} in CPU list {list:?} is not a CPU number; write 0-3,6"));
    }
    match number.parse() {
        Ok(cpu) if cpu < CPUS_MAX => Ok(cpu),
        _ => Err(format!("CPU {number} in list {list:?} is above {}", CPUS_MAX - 1)),
    }
}

/// The shortest list that [`parse_cpu_list`] reads as these CPUs, in any order.
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
    }

    #[test]
    fn mistakes_are_named() {
        check("1,", Err("\"\" in CPU list \"1,\" is not a CPU number; write 0-3,6"));
        check("-2", Err("\"\" in CPU list \"-2\" is not a CPU number; write 0-3,6"));
        check("+2", Err("\"+2\" in CPU list \"+2\" is not a CPU number; write 0-3,6"));
        check("0-7:1/2", Err("\"7:1/2\" in CPU list \"0-7:1/2\" is not a CPU number; write 0-3,6"));
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

    /// Every subset of 12 CPUs: writing and reading gives it back.
    #[test]
    fn what_is_written_is_read_back() {
        for subset in 0_u32..1 << 12 {
            let cpus: Vec<usize> = (0..12).filter(|cpu| subset >> cpu & 1 == 1).collect();
            let text = format_cpu_list(&cpus);
            assert_eq!(parse_cpu_list(&text), Ok(cpus), "{text:?}");
        }
    }

    /// Every text of up to 5 of these characters: it is refused, or writing what was read keeps the meaning, is never
    /// longer, and is the same when done twice.
    #[test]
    fn what_is_read_is_written_back() {
        let mut texts = vec![String::new()];
        let mut n_lists = 0;
        for _ in 0..5 {
            texts = texts
                .iter()
                .flat_map(|t| "019-, ".chars().map(move |c| format!("{t}{c}")))
                .collect();
            for text in &texts {
                let Ok(cpus) = parse_cpu_list(text) else { continue };
                assert!(cpus.is_sorted_by(|a, b| a < b), "{text:?}");
                let short = format_cpu_list(&cpus);
                assert!(short.len() <= text.len(), "{text:?} became {short:?}");
                assert_eq!(parse_cpu_list(&short), Ok(cpus), "{text:?} became {short:?}");
                n_lists += 1;
            }
        }
        assert!(n_lists > 500, "only {n_lists} texts were lists");
    }
}
