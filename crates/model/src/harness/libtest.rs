//! Rust's own `#[bench]`, in test programs of nightly Rust.

use regex_lite::Regex;

use crate::harness::{Adapter, HarnessOutput, time_ns, with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "libtest",
    markers: &["The FILTER string is tested against the name of all tests"],
    programs: &[],
    answers: &[&["The FILTER string is tested against the name of all tests", "--bench"]],
    listing: |program| with(program, &["--bench", "--list"]),
    list: |text| {
        let names = text.lines().filter_map(|line| line.strip_suffix(": benchmark"));
        names.map(String::from).collect()
    },
    command: |program, benchmark, _| with(program, &["--bench", "--exact", benchmark]),
    // libtest prints only the median of samples of 1 and 5 ms.
    samples_ns: |benchmark, text| {
        let line = Regex::new(r"^test (.*?) +\.\.\. bench:\s+([0-9.,]+) ns/iter");
        let captures = text.lines().filter_map(|text| line.as_ref().ok()?.captures(text));
        let of = captures.filter(|captures| &captures[1] == benchmark);
        of.filter_map(|captures| time_ns(&captures[2], "ns")).take(1).collect()
    },
    output: HarnessOutput::Stdout,
};

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn the_line_of_the_benchmark_is_read() {
        let listed = "tests::works: test\nbenches::fib: benchmark\n\n1 test, 1 benchmark\n";
        let said =
            "running 1 test\ntest benches::fib ... bench:       1,234.56 ns/iter (+/- 7.10)\n";
        check(Harness::Libtest, listed, &["benches::fib"], said, 1234.56);
        // libtest pads names to the longest one in the program.
        let padded = said.replace("fib ...", "fib       ...");
        check(Harness::Libtest, listed, &["benches::fib"], &padded, 1234.56);
    }
}
