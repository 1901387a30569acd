//! pytest with pytest-benchmark 4 and later: `pytest FILE...` or `python -m pytest FILE...`. Results are a JSON file.
//! Only a run shows which tests are benchmarks, so a short run of everything makes the list.

use crate::harness::{Adapter, HarnessOutput, RESULT_FILE, json_list, with};

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
        let found = json_list(text, "benchmarks").into_iter();
        found.filter_map(|it| it["fullname"].as_str().map(String::from)).collect()
    },
    command: |program, benchmark, _| {
        // The test replaces the file or directory that contains it.
        let place = |word: &String| (!word.starts_with('-')).then(|| located(word, benchmark))?;
        let benchmark = &*program.iter().find_map(place).unwrap_or_else(|| benchmark.to_owned());
        let others = (0..program.len()).filter(|&at| place(&program[at]).is_none());
        let others = others.filter(|&at| !is_test_file(program, at));
        let others: Vec<String> = others.map(|at| program[at].clone()).collect();
        let short =
            ["--benchmark-min-rounds=5", "--benchmark-max-time=0.1", "--benchmark-warmup=on"];
        with(&others, &[&COMMON[..], &short, &[&*json(), benchmark]].concat())
    },
    samples_ns: |benchmark, text| {
        let of = json_list(text, "benchmarks").into_iter().filter(|it| it["fullname"] == benchmark);
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

/// The test as an argument of pytest, if the path names its file or a directory above it. Names of tests begin at pytest's
/// rootdir, which may be below or above the current directory, and arguments at the current directory
/// (docs.pytest.org, "Initialization: determining rootdir and configfile").
fn located(place: &str, test: &str) -> Option<String> {
    let place = place.split("::").next().unwrap_or(place);
    let place: Vec<&str> = place
        .split('/')
        .enumerate()
        .filter(|(at, it)| *at == 0 || !it.is_empty())
        .map(|it| it.1)
        .collect();
    let place = place.strip_prefix(&["."]).unwrap_or(&place);
    let (file, rest) = test.split_once("::").map_or((test, ""), |(file, rest)| (file, rest));
    let file: Vec<&str> = file.split('/').collect();
    let joined = |words: &[&str]| {
        let path = words.join("/");
        if rest.is_empty() { path } else { format!("{path}::{rest}") }
    };
    if place.is_empty() {
        return Some(test.to_owned());
    }
    // Join at the overlap: `old/t` and `t/b.py` are `old/t/b.py`.
    for from in 0..place.len() {
        if file.starts_with(&place[from..]) {
            return Some(joined(&[&place[..from], &file].concat()));
        }
    }
    // The name contains the whole path: `t` and `old/t/b.py` are `t/b.py`.
    let at = file.windows(place.len()).position(|part| part == place)?;
    Some(joined(&file[at..]))
}

/// Whether a word is a file with tests, or a test in one, and not the value of an option.
fn is_test_file(words: &[String], at: usize) -> bool {
    let file = words[at].split("::").next().unwrap_or_default();
    let pytest =
        words.iter().position(|word| word.ends_with("pytest") || word.ends_with("py.test"));
    let before = at.checked_sub(1).map_or("", |before| &words[before]);
    let is_value = before == "-c" || (before.starts_with("--") && !before.contains('='));
    file.ends_with(".py") && pytest.is_some_and(|pytest| at > pytest) && !is_value
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

    #[test]
    fn other_files_are_left_out() {
        let program =
            "python3 -m pytest a.py -x t/b.py t/c.py::test_z --ignore t/d.py --maxfail=1 e.py";
        let program: Vec<String> = program.split(' ').map(String::from).collect();
        let command = Harness::PytestBenchmark.command(&program, "t/b.py::test_x", None).join(" ");
        assert!(command.starts_with("python3 -m pytest -x --ignore t/d.py --maxfail=1 -q "));
        assert!(command.ends_with(" t/b.py::test_x"), "{command}");
    }

    #[test]
    fn a_test_is_found_from_another_directory() {
        for (place, test, argument) in [
            ("old/t", "t/b.py::test_x", "old/t/b.py::test_x"),
            ("/a/old/t/", "t/b.py::test_x[1/2]", "/a/old/t/b.py::test_x[1/2]"),
            ("old/t/b.py", "t/b.py::test_x", "old/t/b.py::test_x"),
            ("t", "old/t/b.py::test_x", "t/b.py::test_x"),
            ("./b.py::C", "t/b.py::C::test_x", "b.py::C::test_x"),
            (".", "t/b.py::test_x", "t/b.py::test_x"),
        ] {
            assert_eq!(super::located(place, test).as_deref(), Some(argument), "{place}");
        }
        for place in ["x", "old/x", "python3", "t/c.py"] {
            assert_eq!(super::located(place, "t/b.py::test_x"), None, "{place}");
        }
    }
}
