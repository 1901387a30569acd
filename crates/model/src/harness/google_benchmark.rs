//! Google Benchmark 1.5 and later. All of these versions accept a minimal time without a unit.

use serde_json::Value;

use crate::harness::{Adapter, HarnessOutput, SAMPLES, json_list, time_ns, with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "Google Benchmark",
    // The second marks a program that links the shared library.
    markers: &["benchmark_list_tests", "libbenchmark.so"],
    programs: &[],
    answers: &[&["--benchmark_list_tests", "--benchmark_filter"]],
    listing: |program| with(program, &["--benchmark_list_tests=true"]),
    list: |text| text.lines().filter(|line| !line.is_empty()).map(String::from).collect(),
    command: |program, benchmark, _| {
        let filter = format!("--benchmark_filter=^{}$", regex_lite::escape(benchmark));
        let repetitions = format!("--benchmark_repetitions={SAMPLES}");
        let options = [
            &*filter,
            &*repetitions,
            "--benchmark_format=json",
            "--benchmark_min_time=0.001",
            "--benchmark_color=false",
        ];
        with(program, &options)
    },
    samples_ns: |benchmark, text| {
        let is_it = |run: &&Value| {
            // Repetitions add means and medians.
            run["run_type"] != "aggregate"
                && (run["run_name"] == benchmark || run["name"] == benchmark)
        };
        let time = |run: &Value| {
            Some(run["real_time"].as_f64()? * time_ns("1", run["time_unit"].as_str()?)?)
        };
        runs(text).iter().filter(is_it).filter_map(time).collect()
    },
    output: HarnessOutput::Stdout,
};

/// The runs in the output. The program may print lines of its own first.
fn runs(text: &str) -> Vec<Value> {
    let start = text.find("\n{").map_or(0, |at| at + 1);
    json_list(&text[start..], "benchmarks")
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn repetitions_are_samples_and_aggregates_are_not() {
        let run = |kind: &str, time: f64| {
            format!(
                r#"{{"name":"BM_sum/8","run_name":"BM_sum/8","run_type":"{kind}","real_time":{time},"cpu_time":1,"time_unit":"us"}}"#
            )
        };
        let runs = [run("iteration", 2.0), run("iteration", 3.0), run("aggregate", 99.0)];
        let said = format!("loading\n{{\"context\": {{}}, \"benchmarks\": [{}]}}", runs.join(","));
        check(Harness::GoogleBenchmark, "BM_sum/8\nBM_x\n", &["BM_sum/8", "BM_x"], &said, 2000.0);
    }

    #[test]
    fn a_name_is_no_expression() {
        let command = Harness::GoogleBenchmark.command(&["./b".into()], "BM<int>/8.5", None);
        assert_eq!(command[1], r"--benchmark_filter=^BM<int>/8\.5$");
    }
}
