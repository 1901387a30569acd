//! JMH 1.21 and later: `java -jar benchmarks.jar`. Each combination of parameter values is a benchmark. JMH forks one
//! virtual machine, because the JVM options of a benchmark apply only to a fork.

use serde_json::Value;

use crate::harness::{Adapter, HarnessOutput, time_ns, with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "JMH",
    // The annotation processor writes this file into the jar.
    markers: &["META-INF/BenchmarkList"],
    programs: &[],
    // JMH has only `-h`.
    answers: &[&["not a recognized option"]],
    listing: |program| with(program, &["-lp"]),
    list: |text| {
        let mut found: Vec<Vec<String>> = Vec::new();
        for line in text.lines().skip_while(|line| !line.starts_with("Benchmarks:")).skip(1) {
            match (parameter(line), found.last_mut()) {
                (Some((name, values)), Some(all)) => *all = combined(all, name, &values),
                (None, _) if !line.trim().is_empty() => found.push(vec![line.trim().to_owned()]),
                _ => {}
            }
        }
        found.concat()
    },
    command: |program, benchmark, _| {
        let mut words = benchmark.split(' ');
        let name = format!("^{}$", regex_lite::escape(words.next().unwrap_or_default()));
        let parameters: Vec<&str> = words.flat_map(|word| ["-p", word]).collect();
        let short = ["-f", "1", "-wi", "5", "-w", "100ms", "-i", "50", "-r", "2ms", "-foe", "true"];
        let said =
            ["-bm", "avgt", "-tu", "ns", "-rf", "json", "-rff", "/dev/stdout", "-o", "/dev/stderr"];
        with(program, &[&[&*name], &parameters[..], &short, &said].concat())
    },
    samples_ns: |benchmark, text| iterations_ns(benchmark, text).unwrap_or_default(),
    output: HarnessOutput::Stdout,
};

/// The iteration times of a benchmark in the single fork.
fn iterations_ns(benchmark: &str, text: &str) -> Option<Vec<f64>> {
    let document: Value = serde_json::from_str(text.get(text.find('[')?..)?).ok()?;
    let of = document.as_array()?.iter().find(|it| is(it, benchmark))?;
    let metric = &of["primaryMetric"];
    let unit_ns = time_ns("1", metric["scoreUnit"].as_str()?.strip_suffix("/op")?)?;
    let forks = metric["rawData"].as_array()?.iter().filter_map(Value::as_array);
    Some(forks.flatten().filter_map(|it| Some(it.as_f64()? * unit_ns)).collect())
}

/// A parameter of a benchmark and its values: `  param "n" = {100, 1000}`.
fn parameter(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, values) = line.trim_start().strip_prefix("param \"")?.split_once("\" = {")?;
    Some((name, values.strip_suffix('}')?.split(", ").collect()))
}

/// Every entry combined with every value of one more parameter: `demo.Sums.sum n=100`.
fn combined(all: &[String], name: &str, values: &[&str]) -> Vec<String> {
    let of = |one: &String| {
        values.iter().map(|value| format!("{one} {name}={value}")).collect::<Vec<String>>()
    };
    all.iter().flat_map(of).collect()
}

/// Whether a result belongs to this benchmark and these parameter values.
fn is(result: &Value, benchmark: &str) -> bool {
    let mut words = benchmark.split(' ');
    let parameters: Vec<(&str, &str)> =
        words.clone().skip(1).filter_map(|it| it.split_once('=')).collect();
    result["benchmark"].as_str() == words.next()
        && parameters.iter().all(|(name, value)| result["params"][name].as_str() == Some(value))
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;
    use crate::values::ProcessValue;

    #[test]
    fn each_combination_of_parameters_is_a_benchmark() {
        let listed = "# JMH\nBenchmarks: \ndemo.Sums.sum\n  param \"n\" = {1, 20}\n  param \"k\" = {a, b}\ndemo.Sums.logs\n";
        let names = [
            "demo.Sums.sum n=1 k=a",
            "demo.Sums.sum n=1 k=b",
            "demo.Sums.sum n=20 k=a",
            "demo.Sums.sum n=20 k=b",
            "demo.Sums.logs",
        ];
        let said = r#"[{"benchmark": "demo.Sums.sum", "params": {"n": "1", "k": "a"}, "primaryMetric":
            {"score": 9.0, "scoreUnit": "us/op", "rawData": [[2.5, 30.0, 3.5, 4.0]]}}]"#;
        check(Harness::Jmh, listed, &names, said, 2500.0);
        let other = Harness::Jmh.value_ns("demo.Sums.sum n=20 k=a", said, ProcessValue::Low);
        assert_eq!(other, None);
        let program = ["java", "-jar", "b.jar"].map(String::from);
        let command = Harness::Jmh.command(&program, names[3], None);
        assert_eq!(command[3..8], ["^demo\\.Sums\\.sum$", "-p", "n=20", "-p", "k=b"]);
    }
}
