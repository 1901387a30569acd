//! Go test programs, made by `go test -c`. Only a run shows the sub-benchmarks, so a short run of everything makes the
//! list. It also has the time of an iteration, which fixes the iterations of a sample: otherwise Go would calibrate
//! each sample in several rounds, each with a garbage collection.

use regex_lite::{Regex, escape};

use crate::harness::{Adapter, HarnessOutput, SAMPLE_NS, n_samples, time_ns, with};

/// One CPU reduces the variation between processes by a third to two thirds (docs/frameworks/go.md) and shortens them.
/// A benchmark that runs in parallel is then a different benchmark.
pub(super) const ONE_CPU: &str = "-test.cpu=1";

/// The option for patterns of benchmarks, separated by `|`.
pub(super) const BENCH: &str = "-test.bench=";

pub(super) const ADAPTER: Adapter = Adapter {
    name: "go test",
    markers: &["test.benchtime"],
    programs: &[],
    answers: &[&["-test.bench ", "-test.benchtime"]],
    listing: |program| with(program, &["-test.run=^$", "-test.bench=.", "-test.benchtime=1ms"]),
    list: |text| lines(text).into_iter().map(|(name, _)| name).collect(),
    command: |program, benchmark, iteration_ns| {
        let bench = format!("{BENCH}{}", pattern(benchmark));
        let n = iteration_ns.filter(|ns| *ns > 0.0).map(|ns| (SAMPLE_NS / ns).max(1.0) as u64);
        let time = n.map_or("1ms".into(), |n| format!("{n}x"));
        let time = format!("-test.benchtime={time}");
        let count = format!("-test.count={}", n_samples(iteration_ns));
        with(program, &["-test.run=^$", &bench, &time, &count])
    },
    samples_ns: |benchmark, text| {
        let of = lines(text).into_iter().filter(|(name, _)| name == benchmark);
        of.map(|(_, ns)| ns).collect()
    },
    output: HarnessOutput::Stdout,
};

/// The pattern of one benchmark. Each part matches one level of sub-benchmarks.
pub(super) fn pattern(benchmark: &str) -> String {
    let parts: Vec<String> =
        benchmark.split('/').map(|part| format!("^{}$", escape(part))).collect();
    parts.join("/")
}

/// The benchmarks with their times, ns. Every name ends with GOMAXPROCS, unless that is 1.
fn lines(text: &str) -> Vec<(String, f64)> {
    let Ok(line) = Regex::new(r"^(Benchmark\S*)\s+\d+\s+([0-9.e+]+) ns/op") else {
        return Vec::new();
    };
    let found = text.lines().filter_map(|text| line.captures(text));
    let found: Vec<(String, f64)> =
        found.filter_map(|found| Some((found[1].to_owned(), time_ns(&found[2], "ns")?))).collect();
    let suffix = |name: &str| {
        let (_, digits) = name.rsplit_once('-')?;
        digits.parse::<u32>().ok().filter(|&n| n > 1).map(|_| format!("-{digits}"))
    };
    let first = found.first().and_then(|(name, _)| suffix(name));
    let common = first.filter(|common| found.iter().all(|(name, _)| name.ends_with(common)));
    let without = |name: String| match &common {
        Some(common) => name.strip_suffix(&**common).map_or(name.clone(), String::from),
        None => name,
    };
    found.into_iter().map(|(name, ns)| (without(name), ns)).collect()
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn the_number_of_processors_is_no_part_of_a_name() {
        let said = "goos: linux\nBenchmarkSum/n-8-4  \t  100\t  12.5 ns/op\t 0 B/op\nBenchmarkX-4 1 3e+06 ns/op\nPASS\n";
        check(Harness::Go, said, &["BenchmarkSum/n-8", "BenchmarkX"], said, 12.5);
        let one = "BenchmarkSum 100 12.5 ns/op\nBenchmarkN/8-2 1 2 ns/op\n";
        assert_eq!(Harness::Go.list(one), ["BenchmarkSum", "BenchmarkN/8-2"]);
        let command = Harness::Go.command(&["./t".into()], "BenchmarkSum/n=8", Some(10e6));
        let options = ["-test.bench=^BenchmarkSum$/^n=8$", "-test.benchtime=1x", "-test.count=5"];
        assert_eq!(command[2..], options);
        let command = Harness::Go.command(&["./t".into()], "BenchmarkSum", Some(3.0));
        assert_eq!(command[3..], ["-test.benchtime=333333x", "-test.count=10"]);
        assert_eq!(Harness::Go.listed_ns(said, "BenchmarkX"), Some(3e6));
    }
}
