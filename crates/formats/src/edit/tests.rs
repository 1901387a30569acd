use super::*;
use crate::statistics::summary;
use crate::{FileFormat, LaunchInfo, ReadOptions, SourceFile};

const SUITE: &str = r#"{"benchmarks":[
    {"metadata":{"name":"a","python_version":"3.11"},"runs":[
        {"warmups":[[1,1.0]],"metadata":{"calibrate_loops":8,"mem_max_rss":5}},
        {"values":[1,2],"warmups":[[1,9.0]],"metadata":{"duration":3,"mem_max_rss":10}},
        {"values":[3],"metadata":{"duration":4.5,"mem_max_rss":30}}]},
    {"metadata":{"name":"b","duration":7},"runs":[{"values":[4]},{"values":[5]},{"values":[6]}]}],
    "metadata":{"hostname":"h"},"version":"1.0"}"#;

fn suite() -> Results {
    changed("", "")
}

fn changed(from: &str, to: &str) -> Results {
    let text = SUITE.replace(from, to);
    let text = if from.is_empty() { SUITE } else { &text };
    FileFormat::Pyperf
        .read(&[SourceFile { path: "", bytes: text.as_bytes() }], ReadOptions::default())
        .unwrap()
}

fn names(results: &Results) -> Vec<&str> {
    results.benchmarks.iter().map(|it| &*it.name).collect()
}

fn values(results: &Results) -> Vec<Vec<f64>> {
    results
        .benchmarks
        .iter()
        .map(|it| it.values.iter().map(|value| value / 1e9).collect())
        .collect()
}

#[track_caller]
fn check_error<T>(result: Result<T>, expected: &str) {
    let error = format!("{:#}", result.err().expect(expected));
    assert!(error.contains(expected), "{error}");
}

fn numbers(text: &str) -> LaunchNumbers {
    text.parse().unwrap()
}

#[test]
fn benchmarks_by_name() {
    let (a, b) = (["a".to_owned()], ["b".to_owned()]);
    let mut results = suite();
    include_benchmarks(&mut results, &a).unwrap();
    assert_eq!(names(&results), ["a"]);
    check_error(exclude_benchmarks(&mut results, &a), "no benchmark would be left");
    check_error(include_benchmarks(&mut results, &b), "there is no benchmark \"b\"; there are: a");
    assert_eq!(names(&results), ["a"]);
    let mut results = suite();
    exclude_benchmarks(&mut results, &a).unwrap();
    assert_eq!(names(&results), ["b"]);
}

#[test]
fn runs_by_number() {
    let mut results = suite();
    include_launches(&mut results, &numbers("1-2,7")).unwrap();
    assert_eq!(values(&results), [vec![1.0, 2.0], vec![4.0, 5.0]]);
    assert_eq!(results.benchmarks[0].warmups.len(), 2);
    let mut results = suite();
    exclude_launches(&mut results, &numbers("2")).unwrap();
    assert_eq!(values(&results), [vec![3.0], vec![4.0, 6.0]]);
    check_error(
        include_launches(&mut results, &numbers("1")),
        "\"a\" would have no value left: it has 2 runs",
    );
    assert_eq!(values(&results), [vec![3.0], vec![4.0, 6.0]]);
    for wrong in ["", "0", "a", "3-1", "1-", "1,,2", "-1", "1-2-3"] {
        assert!(wrong.parse::<LaunchNumbers>().is_err(), "{wrong:?}");
    }
    assert!(numbers("18446744073709551615").contains(usize::MAX));
}

#[test]
fn no_warmups() {
    let mut results = suite();
    remove_warmups(&mut results).unwrap();
    let benchmark = &results.benchmarks[0];
    assert_eq!((benchmark.n_launches(), benchmark.warmups.len()), (2, 0));
    assert_eq!(values(&results), values(&suite()));
    assert!(benchmark.launches().all(|launch| launch.warmups.is_empty()));
}

#[test]
fn one_added_to_another() {
    let mut results = suite();
    let other = changed("\"name\":\"b\"", "\"name\":\"c\"");
    add(&mut results, other).unwrap();
    assert_eq!(names(&results), ["a", "b", "c"]);
    assert_eq!(values(&results)[0], [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    let launches: Vec<_> = results.benchmarks[0].launches().collect();
    assert_eq!(
        (launches.len(), launches[4].values, launches[4].warmups),
        (6, &[1e9, 2e9][..], &[(1, 9e9)][..])
    );
    assert_eq!(results.metadata.len(), 1);
    // Another machine or interpreter.
    let before = results.clone();
    check_error(
        add(&mut results, changed("\"h\"", "\"other\"")),
        "hostname is h in one and other in the other",
    );
    check_error(add(&mut results, changed("3.11", "3.12")), "python_version is 3.11");
    assert_eq!(results, before);
    let mut results = suite();
    add(&mut results, changed("\"duration\":7", "\"duration\":8")).unwrap();
    extract_metadata(&mut results, "duration").unwrap();
    assert_eq!(values(&results)[1], [7.0, 7.0, 7.0, 8.0, 8.0, 8.0]);
}

#[test]
fn added_extras_keep_their_places() {
    let of = |text: &str| {
        FileFormat::Go
            .read(&[SourceFile { path: "", bytes: text.as_bytes() }], ReadOptions::default())
            .unwrap()
    };
    let mut results = of("BenchmarkA 10 1 ns/op\n");
    add(&mut results, of("BenchmarkA 20 2 ns/op 8 B/op\n")).unwrap();
    add(&mut results, of("BenchmarkA 30 3 ns/op\n")).unwrap();
    let benchmark = &results.benchmarks[0];
    assert_eq!(benchmark.extra("B/op").unwrap(), [None, Some(8.0), None]);
    assert_eq!(benchmark.loops, [10, 20, 30]);
    include_launches(&mut results, &numbers("2-3")).unwrap();
    assert_eq!(results.benchmarks[0].extra("B/op").unwrap(), [Some(8.0), None]);
    assert_eq!(results.benchmarks[0].loops, [20, 30]);
}

#[test]
fn metadata_as_values() {
    let mut results = suite();
    extract_metadata(&mut results, "duration").unwrap();
    assert_eq!(values(&results), [vec![3.0, 4.5], vec![7.0; 3]]);
    assert_eq!(results.benchmarks[0].unit, ResultUnit::Time);
    check_error(
        extract_metadata(&mut suite(), "mem_max_rss"),
        "\"b\", run 1: it has no mem_max_rss",
    );
    check_error(
        extract_metadata(&mut suite(), "hostname"),
        "\"a\", run 2: hostname is \"h\", which is not a number",
    );
    let mut results = suite();
    include_benchmarks(&mut results, &["a".to_owned()]).unwrap();
    extract_metadata(&mut results, "mem_max_rss").unwrap();
    assert_eq!(
        (&results.benchmarks[0].unit, &results.benchmarks[0].values),
        (&ResultUnit::Bytes, &vec![10.0, 30.0])
    );
}

#[test]
fn metadata_changed() {
    let mut results = suite();
    update_metadata(&mut results, "duration", " long ").unwrap();
    assert_eq!(results.metadata["duration"], "long".into());
    check_error(extract_metadata(&mut results, "duration"), "which is not a number");
    for key in ["loops", "inner_loops", "unit"] {
        check_error(update_metadata(&mut results, key, "1"), "cannot be changed");
    }
    check_error(update_metadata(&mut results, "name", "x"), "2 benchmarks cannot all be called");
    check_error(update_metadata(&mut results, "", "x"), "KEY=VALUE");
    include_benchmarks(&mut results, &["b".to_owned()]).unwrap();
    update_metadata(&mut results, "name", "x").unwrap();
    assert_eq!(names(&results), ["x"]);
    remove_all_metadata(&mut results);
    assert!(results.metadata.is_empty() && results.benchmarks[0].metadata.is_empty());
    assert_eq!((names(&results), values(&results)[0].len()), (vec!["x"], 3));
}

/// Figures of `python3 -m pyperf convert pyperf_suite_ref.json …` (pyperf 2.10.0), then mean() of each benchmark. Its
/// `--remove-warmups` ends with a ValueError here: the only warm-ups of the file are calibrations.
#[test]
fn as_pyperf_does() {
    let file = |bytes| {
        FileFormat::Pyperf.read(&[SourceFile { path: "", bytes }], ReadOptions::default()).unwrap()
    };
    let reference = || file(include_bytes!("../../samples/results/pyperf_suite_ref.json"));
    let changed = file(include_bytes!("../../samples/results/pyperf_suite_changed.json"));
    let check = |results: &Results, n_runs: [usize; 4], means: [f64; 4]| {
        for ((benchmark, n_runs), mean) in results.benchmarks.iter().zip(n_runs).zip(means) {
            assert_eq!(benchmark.n_launches(), n_runs);
            let ours = summary(benchmark).mean.unwrap() / 1e9;
            assert!((ours / mean - 1.0).abs() < 1e-12, "{}: {ours}", benchmark.name);
        }
    };
    let means = [
        1.936221401638371e-06,
        1.5359008873842144e-08,
        1.0741078270803776e-07,
        8.538997120327994e-09,
    ];
    // --include-runs 2-3,5
    let mut results = reference();
    include_launches(&mut results, &numbers("2-3,5")).unwrap();
    check(&results, [3; 4], means);
    let means = [
        1.7579538960772051e-06,
        1.7638915278120452e-08,
        9.989366397857979e-08,
        7.925697072346955e-09,
    ];
    // --add pyperf_suite_changed.json
    let mut results = reference();
    add(&mut results, changed).unwrap();
    check(&results, [12, 12, 12, 6], means);
}

/// Commands are compared with one another, and a count is no time.
#[test]
fn commands_of_several_units_stay_apart() {
    let of = |name: &str, unit: ResultUnit| {
        let mut made = BenchmarkValues::new(name, unit);
        made.values.push(5.0);
        made.end_launch(LaunchInfo::default());
        Results { benchmarks: vec![made], are_commands: true, ..Results::default() }
    };
    let mut results = of("a", ResultUnit::Time);
    let expected = "\"a\" is measured in ns and \"b\" in count";
    check_error(add(&mut results, of("b", ResultUnit::Count)), expected);
    assert_eq!(results, of("a", ResultUnit::Time));
    add(&mut results, of("b", ResultUnit::Time)).unwrap();
    assert_eq!(names(&results), ["a", "b"]);
}
