//! divan 0.1. `--list` leaves out the arguments of a benchmark, so a short run of everything makes the list. Results
//! are a tree; a benchmark is named by its path.

use regex_lite::Regex;

use crate::harness::{Adapter, HarnessOutput, time_ns, with};

/// Separates the parts of a path, as in divan's filters.
const WITHIN: &str = "::";
/// Width of one tree level: `├─ `, `│  `.
const LEVEL_COLUMNS: usize = 3;

pub(super) const ADAPTER: Adapter = Adapter {
    name: "divan",
    markers: &["DIVAN_SAMPLE_COUNT"],
    programs: &[],
    answers: &[&["--skip-ext-time", "--sample-count"]],
    listing: |program| {
        let quick = ["--sample-count", "1", "--sample-size", "1", "--color", "never"];
        with(program, &[&["--bench"], &quick[..]].concat())
    },
    list: |text| results(text).into_iter().map(|(path, _)| path).collect(),
    command: |program, benchmark, _| {
        let one = ["--bench", "--exact", benchmark, "--max-time", "0.2", "--color", "never"];
        with(program, &one)
    },
    // divan prints only the median of the samples. Each takes some microseconds.
    samples_ns: |benchmark, text| {
        let of = results(text).into_iter().filter(|(name, _)| name == benchmark);
        of.map(|(_, median)| median).take(1).collect()
    },
    output: HarnessOutput::Stdout,
};

/// Each benchmark of the tree with its median, ns.
fn results(text: &str) -> Vec<(String, f64)> {
    // Columns after the name: fastest, slowest, median, mean, samples, iterations.
    let Ok(row) =
        Regex::new(r"^(.*?)\s+[\d.]+ \S+\s+│\s+[\d.]+ \S+\s+│\s+([\d.]+) (ps|ns|µs|ms|s)\s+│")
    else {
        return Vec::new();
    };
    let (mut path, mut found): (Vec<String>, _) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let name = line.trim_start_matches(['│', '├', '╰', '─', ' ']);
        let level = (line.chars().count() - name.chars().count()) / LEVEL_COLUMNS;
        let times = row.captures(name);
        let name = match &times {
            Some(times) => times[1].to_owned(),
            None => name.split("  ").next().unwrap_or_default().to_owned(),
        };
        if name.is_empty() || level > path.len() {
            continue;
        }
        path.truncate(level);
        path.push(name);
        let median = times.and_then(|times| time_ns(&times[2], &times[3]));
        found.extend(median.map(|ns| (path.join(WITHIN), ns)));
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;
    use crate::values::ProcessValue;

    #[test]
    fn a_benchmark_is_its_path_in_the_tree() {
        let said = "\
Timer precision: 20 ns
sums             fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ sum                         │               │               │               │         │
│  ├─ 100        1.351 ns      │ 1.356 ns      │ 1.354 ns      │ 1.356 ns      │ 20      │ 40960
│  │             74.02 Gitem/s │ 73.74 Gitem/s │ 73.86 Gitem/s │ 73.74 Gitem/s │         │
│  ╰─ a b        1.351 µs      │ 1.356 µs      │ 2.5 µs        │ 1.354 µs      │ 20      │ 40960
├─ fill                        │               │               │               │         │
│  ╰─ String                   │               │               │               │         │
│     ╰─ 10      12.94 ns      │ 173.3 ns      │ 13.06 ns      │ 21.26 ns      │ 20      │ 2560
╰─ one           0.27 ns       │ 0.273 ns      │ 0.275 ns      │ 0.272 ns      │ 20      │ 81920
";
        let names = ["sums::sum::100", "sums::sum::a b", "sums::fill::String::10", "sums::one"];
        check(Harness::Divan, said, &names, said, 1.354);
        for (name, ns) in names.iter().zip([1.354, 2500.0, 13.06, 0.275]) {
            let found = Harness::Divan.value_ns(name, said, ProcessValue::Low);
            assert_eq!(found, Some(ns), "{name}");
        }
    }
}
