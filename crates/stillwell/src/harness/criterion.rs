//! criterion.rs, 0.5 and later. Its options are those that its `--help` lists. `--discard-baseline` leaves the results of
//! the project's own runs in `target/criterion` alone.

use regex_lite::Regex;

use crate::harness::{Adapter, time_ns, with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "criterion",
    markers: &["Criterion.rs benchmark"],
    programs: &[],
    help: &["Criterion.rs benchmark", "--measurement-time"],
    listing: |program| with(program, &["--bench", "--list"]),
    list: |text| {
        let names = text.lines().filter_map(|line| line.strip_suffix(": benchmark"));
        names.map(String::from).collect()
    },
    command: |program, benchmark| {
        let options = [
            "--bench",
            "--exact",
            benchmark,
            "--noplot",
            "--discard-baseline",
            "--warm-up-time=0.05",
            "--measurement-time=0.1",
            "--sample-size=10",
            "--nresamples=1001",
            "--color=never",
        ];
        with(program, &options)
    },
    value_ns: |benchmark, text| {
        // A long name has a line of its own. The middle one of the three numbers is the estimate.
        let time = Regex::new(r"time:\s*\[\S+ \S+ (\S+) (\S+) \S+ \S+\]").ok()?;
        let of = text.lines().position(|line| {
            let rest = line.strip_prefix(benchmark);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
                && (rest == Some("") || line.contains("time:"))
        })?;
        let said = text.lines().skip(of).find_map(|line| time.captures(line))?;
        time_ns(&said[1], &said[2])
    },
    writes_file: false,
};

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn the_estimate_is_read() {
        let listed = "fib 15: benchmark\nsum/100: benchmark\n";
        let said =
            "Gnuplot not found\nfib 15                  time:   [1.8934 µs 1.8948 µs 1.8962 µs]\n";
        check(Harness::Criterion, listed, &["fib 15", "sum/100"], said, 1894.8);
        let long = "a_benchmark_with_a_long_name\n                        time:   [26.1 ps 26.2 ps 26.3 ps]\n";
        let name = "a_benchmark_with_a_long_name";
        assert_eq!(Harness::Criterion.value_ns(name, long), Some(26.2 * 1e-3));
    }
}
