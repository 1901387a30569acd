//! criterion.rs 0.3 and later. Options are those in `--help`. Samples go to CRITERION_HOME, a directory of ours, so the
//! project's own results in `target/criterion` are untouched.

use regex_lite::Regex;
use serde_json::Value;

use crate::harness::{Adapter, HarnessOutput, RESULT_FILE, time_ns, with};

/// Where the samples go.
pub(super) const ENVIRONMENT: [(&str, &str); 1] = [("CRITERION_HOME", RESULT_FILE)];

pub(super) const ADAPTER: Adapter = Adapter {
    name: "criterion",
    markers: &["Criterion.rs benchmark"],
    programs: &[],
    // 0.5.1 builds clap without the feature `help`, unless another crate enables it.
    answers: &[
        &["Criterion.rs benchmark", "--measurement-time"],
        &["error: unexpected argument found"],
    ],
    listing: |program| with(program, &["--bench", "--list"]),
    list: |text| {
        // 0.4 lists them as "bench".
        let names = text
            .lines()
            .filter_map(|it| it.strip_suffix(": benchmark").or(it.strip_suffix(": bench")));
        names.map(String::from).collect()
    },
    command: |program, benchmark, _| {
        let options = [
            "--bench",
            // 0.4 has no --exact.
            &format!("^{}$", regex_lite::escape(benchmark)),
            "--noplot",
            "--warm-up-time=0.003",
            "--measurement-time=0.01",
            "--sample-size=10",
            "--nresamples=1001",
            "--color=never",
        ];
        with(program, &options)
    },
    samples_ns: |benchmark, text| {
        let Some(printed) = printed_ns(benchmark, text) else { return Vec::new() };
        // If the project sets its own directory, the samples are not found: take the printed estimate.
        samples_ns(text).filter(|samples| !samples.is_empty()).unwrap_or_else(|| vec![printed])
    },
    output: HarnessOutput::Folder("sample.json"),
};

/// 0.3 takes whole seconds.
pub(super) const ADAPTER_0_3: Adapter = Adapter {
    name: "criterion 0.3",
    // clap 2 says it like this, and later versions otherwise.
    answers: &[&["Criterion Benchmark", "Prints help information"]],
    command: |program, benchmark, iteration_ns| {
        let whole = |word: String| match word.split_once("-time=") {
            Some((option, _)) if option.starts_with('-') => format!("{option}-time=1"),
            _ => word,
        };
        let words = (ADAPTER.command)(&[], benchmark, iteration_ns).into_iter().map(whole);
        program.iter().cloned().chain(words).collect()
    },
    ..ADAPTER
};

fn printed_ns(benchmark: &str, text: &str) -> Option<f64> {
    // A long name is on a line of its own. The middle number of the three is the estimate.
    let time = Regex::new(r"time:\s*\[\S+ \S+ (\S+) (\S+) \S+ \S+\]").ok()?;
    let of = text.lines().position(|line| {
        let rest = line.strip_prefix(benchmark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            && (rest == Some("") || line.contains("time:"))
    })?;
    let said = text.lines().skip(of).find_map(|line| time.captures(line))?;
    time_ns(&said[1], &said[2])
}

/// The samples in the file. The last line of the printed text is the content of the file.
fn samples_ns(text: &str) -> Option<Vec<f64>> {
    let file: Value = serde_json::from_str(text.lines().last()?).ok()?;
    let numbers = |key: &str| {
        let all = file.get(key)?.as_array()?.iter();
        Some(all.filter_map(Value::as_f64).collect::<Vec<f64>>())
    };
    let (times, iterations) = (numbers("times")?, numbers("iters")?);
    Some(times.iter().zip(&iterations).map(|(ns, n)| ns / n).collect())
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;
    use crate::values::ProcessValue;

    #[test]
    fn a_program_without_help_is_recognised() {
        let said = "Gnuplot not found, using plotters backend\nerror: unexpected argument found\n";
        assert!(Harness::Criterion.has_answered(said));
        assert!(!Harness::Divan.has_answered(said) && !Harness::Criterion.has_answered("error"));
    }

    #[test]
    fn version_0_3_gets_whole_seconds() {
        let help = "Criterion Benchmark \n    -h, --help       Prints help information\n";
        let first = Harness::ALL.into_iter().find(|it| it.has_answered(help));
        assert_eq!(first, Some(Harness::Criterion0_3));
        let words = Harness::Criterion0_3.command(&["./a-time=2".into()], "b-time=3", None);
        let expected = "./a-time=2 --bench ^b\\-time=3$ --noplot --warm-up-time=1 --measurement-time=1 --sample-size=10";
        assert!(words.join(" ").starts_with(expected), "{words:?}");
    }

    #[test]
    fn the_list_of_version_0_4_is_read() {
        check(Harness::Criterion, "a: bench\n", &["a"], "a  time:   [1 ns 2 ns 3 ns]\n", 2.0);
    }

    #[test]
    fn the_estimate_is_read() {
        let listed = "fib 15: benchmark\nsum/100: benchmark\n";
        let said =
            "Gnuplot not found\nfib 15                  time:   [1.8934 µs 1.8948 µs 1.8962 µs]\n";
        check(Harness::Criterion, listed, &["fib 15", "sum/100"], said, 1894.8);
        let long = "a_benchmark_with_a_long_name\n                        time:   [26.1 ps 26.2 ps 26.3 ps]\n";
        let name = "a_benchmark_with_a_long_name";
        let value = |name, text: &str| Harness::Criterion.value_ns(name, text, ProcessValue::Low);
        assert_eq!(value(name, long), Some(26.2 * 1e-3));
        let file = r#"{"sampling_mode":"Linear","iters":[10.0,20.0,30.0],"times":[19000.0,90000.0,60000.0]}"#;
        assert_eq!(value("fib 15", &format!("{said}{file}")), Some(1900.0));
    }
}
