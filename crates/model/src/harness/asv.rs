//! asv 0.6 and later: `python -m asv.benchmark DIRECTORY`, the module that `asv run` starts for each benchmark. The
//! list and the samples are JSON files.

use serde_json::Value;

use crate::harness::{Adapter, HarnessOutput, RESULT_FILE, json_list};

const MODULE: &str = "asv.benchmark";
/// The first words of the settings of one benchmark.
pub(super) const SETTINGS: &str = "{\"rounds\": ";
/// Kinds of benchmarks that measure time. The others measure counts and sizes.
const TIMES: [&str; 2] = ["time", "timeraw"];

pub(super) const ADAPTER: Adapter = Adapter {
    name: "asv",
    markers: &[],
    programs: &[MODULE],
    answers: &[&["discover BENCHMARK_DIR", "run BENCHMARK_DIR"]],
    listing: |program| ordered(program, "discover", &[RESULT_FILE]),
    list: names,
    command: |program, benchmark, _| {
        // A benchmark's own number of calls overrides the sample time. A sample has at least one call.
        let rest = "1, \"repeat\": [3, 10, 0.05], \"sample_time\": 0.001, \"warmup_time\": 0.01}";
        let settings = format!("{SETTINGS}{rest}");
        ordered(program, "run", &[benchmark, &settings, "None", RESULT_FILE])
    },
    samples_ns: |_, text| {
        let samples = json_list(text, "samples");
        samples.iter().filter_map(|it| Some(it.as_f64()? * 1e9)).collect()
    },
    output: HarnessOutput::File,
};

/// The words before the directory. They are enough to ask for the options.
pub(super) fn module(program: &[String]) -> &[String] {
    let end = program.iter().position(|word| word == MODULE).map_or(program.len(), |at| at + 1);
    &program[..end]
}

/// The module with an order, the directory and further arguments.
fn ordered(program: &[String], order: &str, arguments: &[&str]) -> Vec<String> {
    let module = module(program);
    let directory = program.get(module.len()..).unwrap_or_default();
    let order = std::iter::once(order.to_owned());
    let arguments = arguments.iter().map(ToString::to_string);
    module.iter().cloned().chain(order).chain(directory.iter().cloned()).chain(arguments).collect()
}

/// The names of the benchmarks that measure time; a parameter combination has its number, as in asv. Benchmarks with
/// `setup_cache` are left out, because only `asv run` makes that file.
fn names(text: &str) -> Vec<String> {
    let all: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let of_one = |it: &Value| {
        let kind = it["type"].as_str()?;
        let has_cache = !it["setup_cache_key"].is_null();
        let name = it["name"].as_str().filter(|_| TIMES.contains(&kind) && !has_cache)?;
        let values = it["params"].as_array().into_iter().flatten().filter_map(Value::as_array);
        let sizes: Vec<usize> = values.map(Vec::len).collect();
        Some(if sizes.is_empty() {
            vec![name.to_owned()]
        } else {
            (0..sizes.iter().product()).map(|number: usize| format!("{name}-{number}")).collect()
        })
    };
    all.iter().filter_map(of_one).flatten().collect()
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::values::ProcessValue;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn times_are_listed_with_each_combination_of_their_parameters() {
        let listed = r#"[{"name": "b.time_x", "type": "time", "params": []},
            {"name": "b.S.time_y", "type": "time", "params": [["1", "2"], ["'a'", "'b'", "'c'"]]},
            {"name": "b.track_z", "type": "track", "params": []},
            {"name": "b.time_cached", "type": "time", "params": [], "setup_cache_key": "b:12"}]"#;
        let names = Harness::Asv.list(listed);
        assert_eq!(names.len(), 7);
        assert_eq!(
            [&*names[0], &*names[1], &*names[6]],
            ["b.time_x", "b.S.time_y-0", "b.S.time_y-5"]
        );
        assert!(Harness::Asv.list("no JSON").is_empty());
    }

    #[test]
    fn the_order_is_before_the_directory() {
        let program = words("python3 -W ignore -m asv.benchmark bench");
        assert!(Harness::Asv.may_have_made(b"", &program));
        assert_eq!(
            Harness::Asv.question(&program),
            words("python3 -W ignore -m asv.benchmark --help")
        );
        let listing = words("python3 -W ignore -m asv.benchmark discover bench {result}");
        assert_eq!(Harness::Asv.listing(&program), listing);
        let command = Harness::Asv.command(&program, "b.time_x", None);
        assert_eq!(
            command[..7],
            words("python3 -W ignore -m asv.benchmark run bench b.time_x")[..7]
        );
        assert_eq!(command.last().unwrap(), "{result}");
    }

    #[test]
    fn the_samples_are_seconds_of_a_call() {
        let said = r#"{"samples": [2.5e-6, 9e-6, 3e-6], "number": 400}"#;
        let value = |text| Harness::Asv.value_ns("b.time_x", text, ProcessValue::Low);
        assert!((value(said).unwrap() - 2500.0).abs() < 1e-6);
        // asv writes NaN for a skipped combination.
        assert_eq!(value("NaN"), None);
    }
}
