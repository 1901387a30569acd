//! Small files that went wrong in some reader, with what is right. `cases/` holds own text, made after public reports.

use std::path::Path;

use stillwell_formats::{BenchmarkValues, ReadOptions, ResultUnit, Results};

#[track_caller]
fn read(name: &str) -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(name);
    stillwell_formats::read(&path, ReadOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

/// Labels and first values.
#[track_caller]
fn check(name: &str, expected: &[(&str, f64)]) -> Results {
    let results = read(name);
    let first = |it: &BenchmarkValues| it.values.first().copied();
    let center = |it: &BenchmarkValues| it.summary.and_then(|summary| summary.center());
    let values = results.benchmarks.iter().map(|it| first(it).or(center(it)).unwrap());
    let labels = results.labels();
    let found: Vec<(&str, f64)> = labels.iter().map(String::as_str).zip(values).collect();
    assert_eq!(found, expected, "{name}");
    results
}

fn said(results: &Results) -> String {
    results.notes.join("\n")
}

const FIRE: (&str, f64) = ("BenchmarkFire-4", 1042.0);
const GLAZE: (&str, f64) = ("BenchmarkGlaze-4", 2310.0);
const COOL: (&str, f64) = ("BenchmarkCool-4", 611.5);

#[test]
fn encodings() {
    check("go-bom.txt", &[FIRE, GLAZE]);
    for name in ["go-utf16.txt", "go-crlf.txt"] {
        check(name, &[FIRE, GLAZE, COOL]);
    }
    check("google-bom.json", &[("BM_Fire", 100.5)]);
}

#[test]
fn a_log_line_inside_a_result_of_go() {
    check("go-wedged.txt", &[FIRE, GLAZE, COOL]);
    check("go-wedged-after-count.txt", &[FIRE, GLAZE, COOL]);
}

#[test]
fn a_time_of_zero_costs_one_benchmark() {
    let results = check("go-zero.txt", &[FIRE, GLAZE]);
    let cool = &results.unread[0];
    assert_eq!((&*cool.name, cool.line), ("BenchmarkCool-4", Some(7)));
    assert!(
        said(&results)
            .contains("BenchmarkCool-4 (line 7) is left out: ns/op: a value must be above 0")
    );
}

#[test]
fn units_of_go() {
    let results = read("go-units.txt");
    let build = &results.benchmarks[0];
    assert_eq!((&build.unit, &build.values[..]), (&ResultUnit::Time, &[14_780_000_000.0][..]));
    let serve = &results.benchmarks[1];
    let extra = |name: &str| serve.extras.iter().find(|extra| extra.name == name).unwrap();
    assert_eq!(extra("p99-ns/op").unit, ResultUnit::Time);
    assert_eq!(extra("req/s").unit, ResultUnit::Other("req/s".into()));
}

#[test]
fn a_new_package_renames_no_other() {
    let (old, new) = (read("go-package-old.txt"), read("go-package-new.txt"));
    let identity = |it: &BenchmarkValues| (it.group.clone(), it.name.clone());
    let kiln = identity(&old.benchmarks[0]);
    assert_eq!(kiln.0.as_deref(), Some("example.org/kiln"));
    let same: Vec<&BenchmarkValues> =
        new.benchmarks.iter().filter(|it| identity(it) == kiln).collect();
    assert_eq!(same.len(), 1);
    assert_eq!((old.benchmarks[0].values[0], same[0].values[0]), (900.0, 910.0));
}

#[test]
fn configurations_of_go_are_not_pooled() {
    let results = read("go-config.txt");
    let found: Vec<_> = results
        .labels()
        .into_iter()
        .zip(results.benchmarks.iter().map(|it| it.values.clone()))
        .collect();
    assert_eq!(
        found,
        [
            ("BenchmarkGet-4 gomaxprocs=4 toolchain=old".to_owned(), vec![100.0, 102.0]),
            ("BenchmarkGet-4 gomaxprocs=4 toolchain=new".to_owned(), vec![80.0, 81.0]),
        ]
    );
}

#[test]
fn numbers_that_are_none() {
    let results = check("google-infinity.json", &[("BM_Fire", 100.5), ("BM_Glaze", 50.25)]);
    assert!(said(&results).contains("BM_Glaze: the counter rate is not a finite number: left out"));
    let results = check("google-nan-time.json", &[("BM_Fire", 100.5)]);
    assert!(said(&results).contains("BM_Glaze (line 25) is left out"), "{}", said(&results));
    check(
        "jmh-nan-error.json",
        &[("org.example.Kiln.fire", 3.37e9), ("org.example.Kiln.glaze", 3.37e9)],
    );
    let results = check("pytest-nan.json", &[("t.py::test_fire", 1e6)]);
    assert_eq!(results.benchmarks[0].metadata["extra.score"], "NaN".into());
}

#[test]
fn summaries_beside_values() {
    let results =
        check("google-mean-beside-values.json", &[("BM_Fire", 100.5), ("BM_Cool", 100.0)]);
    assert_eq!(results.benchmarks[1].summary.unwrap().mean, Some(100.0));
    let results = check("julia.json", &[("fire", 1042.0)]);
    assert_eq!(results.benchmarks[0].summary.unwrap().estimate, Some(1042.0));
}

#[test]
fn jmh_without_a_version() {
    let results = read("jmh-no-version.json");
    assert_eq!(results.benchmarks[0].unit, ResultUnit::Other("ops/s".into()));
    assert_eq!(results.tool, "JMH");
}

#[test]
fn a_damaged_directory_of_criterion_costs_itself() {
    let results = check("criterion", &[("fire", 100.0)]);
    let unread: Vec<&str> = results.unread.iter().map(|it| &*it.name).collect();
    assert_eq!(unread, ["stale/new", "zero/new"]);
}

#[test]
fn a_command_that_took_no_time_stays() {
    check("hyperfine-null.json", &[("fire", 5e8), ("glaze", 0.0)]);
}

#[test]
fn only_warmups() {
    let results = read("pyperf-warmups-only.json");
    assert!(results.benchmarks[0].values.is_empty() && !results.benchmarks[0].warmups.is_empty());
}

#[test]
fn text_of_cargo_bench() {
    let results =
        check("cargo-bench-libtest.txt", &[("bench_fire", 1042.0), ("bench_glaze", 2310.55)]);
    assert_eq!(results.benchmarks[1].metadata["throughput"], "441 MB/s".into());
    let results = check("cargo-bench-criterion.txt", &[("fire", 1042.0), ("kiln/glaze/64", 2.31)]);
    let fire = &results.benchmarks[0];
    assert_eq!(fire.summary.unwrap().estimate, Some(1042.0));
    let bounds = ["interval_low_ns", "interval_high_ns"].map(|key| fire.metadata[key].to_string());
    assert_eq!(bounds, ["1030.1", "1055.1"]);
    assert!(results.unread.is_empty());
}

#[test]
fn bmf_is_read() {
    let results = check(
        "bmf.json",
        &[("kiln::fire", 1042.0), ("kiln::glaze (ns)", 2310.0), ("kiln::glaze (ops/s)", 12.5)],
    );
    let units: Vec<&str> = results.benchmarks.iter().map(|it| it.unit.name()).collect();
    assert_eq!(units, ["ns", "ns", "ops/s"]);
    assert_eq!(results.benchmarks[0].metadata["upper_value"].to_string(), "1100");
}
