//! Samples of formats whose tools were not at hand, and the values in their texts.

use crate::samples::*;
use crate::{
    BenchmarkValues, CPU, EXIT_CODE, PEAK_MEMORY, ReadOptions, ResultUnit, Results, SourceFile,
    detect,
};

fn read(file: SourceFile<'_>) -> Results {
    detect(file.bytes).unwrap().read(&[file], ReadOptions::default()).unwrap()
}

/// Group, name and the number that stands for all.
fn centers(results: &Results) -> Vec<(Option<&str>, &str, f64)> {
    let of = |it: &'_ BenchmarkValues| it.summary.unwrap().center().unwrap();
    results.benchmarks.iter().map(|it| (it.group.as_deref(), &*it.name, of(it))).collect()
}

#[test]
fn cargo_bench() {
    let results = read(CARGO_BENCH);
    let (lib, curves, tree) =
        (Some("unittests src/lib.rs"), Some("benches/curves.rs"), Some("tree"));
    assert_eq!(
        centers(&results),
        [
            (lib, "bench_fire", 1042.0),
            (lib, "bench_glaze", 2310.55),
            (lib, "bench_loud", 10_500.0),
            (curves, "fire", 1042.0),
            (curves, "kiln/glaze/64", 2.31),
            (curves, "kiln/a_glaze_with_a_rather_long_name", 12_200_000.0),
            (tree, "clay", 2239.0),
            (tree, "glaze::8", 40.77),
            (tree, "glaze::64", 887.8),
        ]
    );
    assert!(results.unread.is_empty(), "{:?}", results.unread);
    assert_eq!(results.benchmarks[4].metadata["throughput"], "25.803 GiB/s".into());
    let clay = results.benchmarks[6].summary.unwrap();
    assert_eq!((clay.count, clay.min, clay.max), (Some(512), Some(2068.0), Some(3206.0)));
    assert_eq!(clay.mean, Some(2225.0));
}

#[test]
fn broken_lines_of_cargo_bench_are_told() {
    let text = "test a ... bench: 1 ns/iter (+/- 0)\ntest b ... stopped\ntest c ... FAILED\n\
                Benchmarking d\nBenchmarking d: Warming up for 3.0000 s\nBenchmarking e\n\
                e  time:   [1.0 ns x ns 2.0 ns]\n\
                p  fastest │ slowest │ median │ mean │ samples │ iters\n├─ f  1 ns │ 2 ns │ x │ 1 ns │ 1 │ 1\n\
                ╰─ g  -\n";
    let results = read(SourceFile { path: "log", bytes: text.as_bytes() });
    let unread: Vec<&str> = results.unread.iter().map(|it| &*it.name).collect();
    assert_eq!(results.benchmarks.len(), 1);
    assert_eq!(unread, ["b", "c", "d", "e", "f", "g"], "{:?}", results.unread);
}

#[test]
fn catch2() {
    let text = read(CATCH2);
    let (kiln, shelf) = (Some("Kiln"), Some("Shelf / with two boards"));
    let wrapped = "Glaze a very long name that is wrapped";
    assert_eq!(
        centers(&text),
        [(kiln, "Fire 20", 12_118.5), (kiln, wrapped, 13_550_200.0), (shelf, "Fire 20", 44_016.0)]
    );
    let xml = read(CATCH2_XML);
    let escaped = "Glaze <int> & clay";
    assert_eq!(
        centers(&xml),
        [(kiln, "Fire 20", 12_118.5), (kiln, escaped, 13_550_200.0), (shelf, "Fire 20", 44_016.0)]
    );
    assert_eq!(xml.benchmarks[0], text.benchmarks[0]);
    assert_eq!(text.benchmarks[0].summary.unwrap().stddev, Some(176.5));
    assert_eq!((&*text.tool, &*xml.tool), ("Catch2", "Catch2 3.5.0"));
}

#[test]
fn benchmark_dot_net() {
    let results = read(DOTNET);
    let [fire, job] = &results.benchmarks[..] else {
        panic!("{} benchmarks", results.benchmarks.len())
    };
    assert_eq!((fire.group.as_deref(), &*fire.name), (Some("Bench.Kiln"), "Fire"));
    assert_eq!((fire.n_launches(), &fire.values[..]), (2, &[1042.0, 1044.5, 1040.25][..]));
    assert_eq!(fire.loops, [1000; 3]);
    assert_eq!(fire.parameters, [("N".to_owned(), "8".to_owned())]);
    assert_eq!(job.parameters[1], ("job".to_owned(), "Runtime=.NET 8.0".to_owned()));
    assert_eq!((job.n_launches(), &job.values[..]), (1, &[900.5, 910.25][..]));
    let brief = read(DOTNET_BRIEF);
    assert_eq!(brief.benchmarks[0].summary.unwrap().median, Some(1042.0));
    assert_eq!(brief.benchmarks[1].summary.unwrap().stddev, None);
}

#[test]
fn bencher() {
    let results = read(BENCHER);
    assert_eq!(
        centers(&results),
        [(None, "fire", 1042.0), (None, "fire", 12.5), (None, "glaze", 2310.5)]
    );
    assert_eq!(results.benchmarks[1].unit, ResultUnit::Other("ops/s".into()));
    let bmf = read(BMF);
    assert_eq!((&bmf.benchmarks[3].unit, bmf.benchmarks.len()), (&ResultUnit::Bytes, 5));
}

#[test]
fn github_action() {
    let results = read(GITHUB_ACTION);
    let (rust, python) = (Some("Rust"), Some("Python"));
    assert_eq!(
        centers(&results),
        [(rust, "fire", 1042.0), (rust, "glaze", 2310.55), (python, "t.py::fire", 64.05)]
    );
    assert_eq!(results.benchmarks[2].unit, ResultUnit::Other("iter/sec".into()));
    assert!(results.notes.iter().any(|note| note.starts_with("Rust: of 2 runs the newest")));
    let custom = br#"[{"name":"a","unit":"ms","value":1.5},{"name":"b","unit":"ms","value":0}]"#;
    let custom = read(SourceFile { path: "custom", bytes: custom });
    assert_eq!(centers(&custom), [(None, "a", 1_500_000.0)]);
    assert_eq!(custom.unread[0].name, "b");
}

#[test]
fn perf_stat() {
    let results = read(PERF_STAT);
    let found: Vec<_> = results.benchmarks.iter().map(|it| (&*it.name, it.values[0])).collect();
    let expected = [
        ("task-clock:u", 1_200_000.0),
        ("context-switches:u", 0.0),
        ("page-faults:u", 70.0),
        ("cycles:u", 4_567_890.0),
        ("instructions:u", 9_876_543.0),
    ];
    assert_eq!(found, expected);
    assert_eq!(results.unread[0].name, "LLC-load-misses");
    let means = read(PERF_STAT_JSON);
    assert_eq!(centers(&means)[0], (None, "cpu-clock", 225_904_823.0));
    assert_eq!((means.benchmarks.len(), means.unread.len()), (2, 1));
    let lines = "1.000,5,,cycles,10,100.00,,\n1.000,<not counted>,,faults,0,100.00,,\n2.000,7,,cycles,10,100.00,,\nCPU0;1.5;msec;cpu-clock;10;100.00;;\n";
    let lines = read(SourceFile { path: "lines", bytes: lines.as_bytes() });
    assert_eq!(lines.benchmarks[0].values, [5.0, 7.0]);
    assert_eq!(lines.benchmarks[1].values, [1_500_000.0]);
    assert_eq!(lines.unread[0].name, "faults");
}

#[test]
fn gnu_time() {
    let results = read(GNU_TIME);
    let [pipe, glaze] = &results.benchmarks[..] else {
        panic!("{} commands", results.benchmarks.len())
    };
    assert_eq!((&*pipe.name, pipe.n_launches()), ("sh -c ./fire | wc -l", 2));
    assert_eq!(pipe.values, [1.03e9, 1.01e9]);
    assert_eq!(pipe.extra(CPU).unwrap()[0], Some(0.6e9));
    assert_eq!(pipe.extra(PEAK_MEMORY).unwrap()[1], Some(2012.0 * 1024.0));
    assert_eq!((glaze.values[0], glaze.extra(EXIT_CODE).unwrap()[0]), (3723e9, Some(3.0)));
    assert!(results.are_commands);
}

#[test]
fn lnt() {
    let results = read(LIT);
    let labels = results.labels();
    assert_eq!(labels[0], "test-suite :: Kiln/fire.test metric=compile_time");
    let time = &results.benchmarks[1];
    assert_eq!((time.parameters.is_empty(), &time.values[..]), (true, &[1.2345e9][..]));
    assert_eq!((results.benchmarks.len(), results.unread.len()), (6, 1));
    assert!(results.notes.iter().any(|note| note == "1 tests have no metrics"));
    let lnt = read(LNT);
    let glaze = lnt.benchmarks.last().unwrap();
    assert_eq!((glaze.n_launches(), &glaze.values[..]), (3, &[1.25e9, 1.5e9, 1.375e9][..]));
    let old = br#"{"Machine":{"Name":"m"},"Tests":[{"Name":"nts.a/b.exec","Data":[1.5]},{"Name":"nts.a/b.compile","Data":[2.5]},{"Name":"nts.a/b.hash","Data":["00"]}]}"#;
    let old = read(SourceFile { path: "old", bytes: old });
    assert_eq!(old.labels(), ["nts.a/b", "nts.a/b metric=compile"]);
}

#[test]
fn texts_for_people_say_what_to_run() {
    for (text, run) in [
        ("timeit: Mean +- std dev: 1 us +- 2 ns\n", "-o FILE.json"),
        (
            "Benchmark 1: true\n  Time (mean ± σ): 1 ms\n  Range (min … max): 1 ms\n",
            "--export-json",
        ),
        ("Benchmark   Mode  Cnt  Score  Error  Units\nK.f avgt 5 1 ± 1 ns/op\n", "-rf json"),
        ("real\t0m1.0s\nuser\t0m0.5s\nsys\t0m0.1s\n", "env time -v"),
    ] {
        let error = detect(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(run), "{text}: {error}");
    }
}

/// hyperfine 2 writes a parameter as an object, and a counter without a unit.
#[test]
fn parameters_and_counters_of_hyperfine_2() {
    let text = r#"{"schema_version":2,"results":[{"command":"true a","parameters":{"mode":{"value":"a"},"n":{"value":7}},
        "measurements":[{"time_wall_clock":{"value":0.5,"unit":"second"},"cpu_cycles":{"value":9},"exit_code":0}]}]}"#;
    let results = read(SourceFile { path: "", bytes: text.as_bytes() });
    let [only] = &results.benchmarks[..] else { panic!("{:?}", results.unread) };
    let parameters =
        [("mode", "a"), ("n", "7")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(only.parameters, parameters);
    assert_eq!(only.values, [5e8]);
    assert_eq!(only.extra("cpu_cycles").unwrap(), [Some(9.0)]);
}

/// Values that are no wall times, in our own export.
#[test]
fn values_of_hyperfine_2() {
    let read = |primary: &str, measurement: &str| {
        let text = format!(
            r#"{{"schema_version":2,"primary_metric":"{primary}","results":[{{"command":"a","measurements":[{measurement}]}}]}}"#
        );
        read(SourceFile { path: "", bytes: text.as_bytes() })
    };
    let both =
        r#"{"time_wall_clock":{"value":0.5,"unit":"second"},"value":{"value":-3,"unit":"ops/s"}}"#;
    let value = read("value", both);
    assert_eq!(value.benchmarks[0].unit, ResultUnit::Other("ops/s".into()));
    assert_eq!(value.benchmarks[0].values, [-3.0]);
    assert!(!value.compares_commands());
    let wall = read("time_wall_clock", both);
    assert_eq!(
        (&wall.benchmarks[0].unit, &*wall.benchmarks[0].values),
        (&ResultUnit::Time, &[5e8][..])
    );
    assert!(wall.compares_commands());
    let memory = read("time_wall_clock", r#"{"value":{"value":64,"unit":"byte"}}"#);
    assert_eq!(
        (&memory.benchmarks[0].unit, &*memory.benchmarks[0].values),
        (&ResultUnit::Bytes, &[64.0][..])
    );
}
