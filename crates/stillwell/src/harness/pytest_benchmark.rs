//! pytest with pytest-benchmark, 4 and later: `pytest FILE...` or `python -m pytest FILE...`. Its results are in a file of
//! JSON. Only a run shows which tests are benchmarks, so the list comes from a short run of all.

use serde_json::Value;

use crate::harness::{Adapter, HarnessOutput, RESULT_FILE, with};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "pytest-benchmark",
    markers: &["from pytest import"],
    programs: &["pytest", "py.test"],
    answers: &[&["--benchmark-only", "--benchmark-json"]],
    listing: |program| {
        let quick = ["--benchmark-min-rounds=1", "--benchmark-max-time=0.000001"];
        with(program, &[&COMMON[..], &quick, &[&*json()]].concat())
    },
    list: |text| {
        let names =
            benchmarks(text).into_iter().map(|it| it["fullname"].as_str().map(String::from));
        names.flatten().collect()
    },
    listed_ns: |_, _| None,
    command: |program, benchmark, _| {
        // The test takes the place of the files and directories that have it.
        let is_place = |word: &&String| !word.starts_with('-') && covers(word, benchmark);
        let others: Vec<String> = program.iter().filter(|word| !is_place(word)).cloned().collect();
        let short =
            ["--benchmark-min-rounds=5", "--benchmark-max-time=0.1", "--benchmark-warmup=on"];
        with(&others, &[&COMMON[..], &short, &[&*json(), benchmark]].concat())
    },
    environment: &[],
    samples_ns: |benchmark, text| {
        let of = benchmarks(text).into_iter().filter(|it| it["fullname"] == benchmark);
        let rounds = of.flat_map(|it| it["stats"]["data"].as_array().cloned().unwrap_or_default());
        rounds.filter_map(|it| Some(it.as_f64()? * 1e9)).collect()
    },
    output: HarnessOutput::File,
};

const COMMON: [&str; 4] =
    ["-q", "--benchmark-only", "--benchmark-warmup-iterations=1", "-pno:cacheprovider"];

fn json() -> String {
    format!("--benchmark-json={RESULT_FILE}")
}

/// Whether a path names the file of a test, or a directory above it.
fn covers(place: &str, test: &str) -> bool {
    let place = place.strip_prefix("./").unwrap_or(place);
    let place = place.trim_end_matches('/').split("::").next().unwrap_or(place);
    let file = test.split("::").next().unwrap_or(test);
    place == "." || file == place || file.strip_prefix(place).is_some_and(|it| it.starts_with('/'))
}

fn benchmarks(text: &str) -> Vec<Value> {
    let document: Option<Value> = serde_json::from_str(text).ok();
    let found = document.and_then(|it| it.get("benchmarks")?.as_array().cloned());
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn a_test_takes_the_place_of_its_file() {
        let said = r#"{"benchmarks": [{"fullname": "t/b.py::test_x[1]", "stats": {"data": [2.5e-6, 9e-6, 3e-6]}}]}"#;
        check(Harness::PytestBenchmark, said, &["t/b.py::test_x[1]"], said, 2500.0);
        let words = |text: &str| -> Vec<String> { text.split(' ').map(String::from).collect() };
        let command = Harness::PytestBenchmark.command(
            &words("python3 -m pytest ./t/ -x"),
            "t/b.py::test_x",
            None,
        );
        assert_eq!(command[..4], words("python3 -m pytest -x"));
        assert_eq!(command.last().unwrap(), "t/b.py::test_x");
    }
}
