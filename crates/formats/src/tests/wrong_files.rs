//! Wrong files: each error names the place.

use crate::samples::BENCHMARK_TOOLS;
use crate::{BenchmarkValues, FileFormat, ReadOptions, SourceFile, detect};

#[track_caller]
fn check(format: FileFormat, text: &str, expected: &str) {
    let read =
        format.read(&[SourceFile { path: "file", bytes: text.as_bytes() }], ReadOptions::default());
    let error = match read {
        Ok(results) => results.notes.join("\n"),
        Err(error) => format!("{error:#}"),
    };
    assert!(error.contains(expected), "{error:?} does not say {expected:?}");
}

fn pyperf(runs: &str) -> String {
    format!(r#"{{"benchmarks":[{{"metadata":{{"name":"a"}},"runs":[{runs}]}}],"version":"1.0"}}"#)
}

#[test]
fn pyperf_values() {
    let bad = |runs: &str, expected: &str| check(FileFormat::Pyperf, &pyperf(runs), expected);
    bad(
        r#"{"values":[1,2,-3]}"#,
        "benchmarks[0].runs[0].values[2]: a value must be above 0, not -3 at line 1",
    );
    bad(
        r#"{"values":[1]},{"values":[0]}"#,
        "benchmarks[0].runs[1].values[0]: a value must be above 0",
    );
    bad(r#"{"values":[1,"2"]}"#, "benchmarks[0].runs[0].values[1]: invalid type: string");
    bad(r#"{"values":[1,null]}"#, "benchmarks[0].runs[0].values[1]: invalid type: null");
    bad(r#"{"values":[1e999]}"#, "benchmarks[0].runs[0].values[0]: number out of range");
    bad(r#"{"values":[NaN]}"#, "benchmarks[0].runs[0].values[0]");
    bad(r#"{"values":[1e305]}"#, "a is left out: a value is too large");
    bad(
        r#"{"values":1}"#,
        "benchmarks[0].runs[0].values: invalid type: integer `1`, expected a list of numbers",
    );
    bad(r#"{"warmups":[[0,1.0]],"values":[1]}"#, "benchmarks[0].runs[0].warmups[0]");
    bad(r#"{"warmups":[[1,-1.0]],"values":[1]}"#, "benchmarks[0].runs[0].warmups[0]");
    bad(r#"{"warmups":[[1]],"values":[1]}"#, "benchmarks[0].runs[0].warmups[0]");
    bad(r#"{"metadata":{}}"#, "benchmarks[0].runs[0]: a run has values or warmups");
    bad(r#"{"values":[]}"#, "benchmarks[0].runs[0]: a run has values or warmups");
    bad(r#"{"values":[1],"values":[2]}"#, "are there twice");
    bad(r#"{"values":[1],"samples":[2]}"#, "are there twice");
    bad(r#"{"samples":[1]}"#, "of version 5");
    bad("", "benchmarks[0]: runs: there is none");
}

#[test]
fn pyperf_metadata() {
    let bad = |runs: &str, expected: &str| check(FileFormat::Pyperf, &pyperf(runs), expected);
    bad(
        r#"{"values":[1],"metadata":{"loops":0}}"#,
        "benchmarks[0].runs[0].metadata.loops: invalid value",
    );
    bad(
        r#"{"values":[1],"metadata":{"loops":1.5}}"#,
        "benchmarks[0].runs[0].metadata.loops: invalid type",
    );
    bad(
        r#"{"values":[1],"metadata":{"unit":"hour"}}"#,
        "benchmarks[0].runs[0].metadata.unit: unknown variant `hour`",
    );
    bad(
        r#"{"values":[1],"metadata":{"x":true}}"#,
        "benchmarks[0].runs[0].metadata.x: invalid type: boolean",
    );
    bad(r#"{"values":[1],"metadata":{"x":1,"x":2}}"#, "\"x\" is there twice");
    bad(
        r#"{"values":[1],"metadata":{"name":" "}}"#,
        "benchmarks[0].runs[0].metadata: the name is empty",
    );
    bad(
        r#"{"values":[1],"metadata":{"name":"b"}},{"values":[1]}"#,
        "benchmarks[0]: the name of its runs",
    );
    bad(
        r#"{"values":[1],"metadata":{"name":"b"}},{"values":[1],"metadata":{"name":"c"}}"#,
        "benchmarks[0].runs[1]",
    );
    bad(
        r#"{"values":[1],"metadata":{"unit":"byte"}},{"values":[1]}"#,
        "benchmarks[0]: the unit of its runs",
    );
}

#[test]
fn pyperf_suites() {
    let bad = |text: &str, expected: &str| check(FileFormat::Pyperf, text, expected);
    bad(r#"{"benchmarks":[]}"#, "missing field `version`");
    bad(r#"{"benchmarks":[],"version":"1.0"}"#, "there is no benchmark");
    bad(r#"{"benchmarks":[],"version":"2.0"}"#, "version: the versions that can be read are");
    bad(r#"{"benchmarks":[],"version":4}"#, "version: the versions that can be read are");
    bad(
        r#"{"benchmarks":[{"runs":[{"values":[1]}]}],"version":"1.0"}"#,
        "benchmarks[0]: the name of its runs: nothing",
    );
    let twice = r#"{"metadata":{"name":"a"},"runs":[{"values":[1]}]}"#;
    bad(
        &format!(r#"{{"benchmarks":[{twice},{twice}],"version":"1.0"}}"#),
        "\"a\" is there more than once: its results are numbered",
    );
    bad(&pyperf(r#"{"values":[1]}"#)[..40], "EOF while parsing");
    bad(&(pyperf(r#"{"values":[1]}"#) + "x"), "what follows the JSON document is not read");
    bad(&"[".repeat(100_000), "missing field");
    bad(&format!(r#"{{"benchmarks":{}"#, "[".repeat(100_000)), "benchmarks");
}

#[test]
fn hyperfine() {
    let bad = |result: &str, expected: &str| {
        check(FileFormat::Hyperfine, &format!(r#"{{"results":[{result}]}}"#), expected)
    };
    bad("", "there is no benchmark");
    bad(r#"{"times":[1]}"#, "results[0]: missing field `command`");
    bad(r#"{"command":"a","times":[1,-1]}"#, "results[0].times[1]: a value must not be negative");
    bad(r#"{"command":"a","times":[1e305]}"#, "a value is too large");
    bad(r#"{"command":"a","mean":1e305}"#, "a value is too large");
    bad(r#"{"command":"a","times":[]}"#, "results[0]: times: there is none");
    bad(r#"{"command":"a"}"#, "results[0]: it has neither times nor a mean");
    bad(
        r#"{"command":"a","times":[1],"exit_codes":[]}"#,
        "results[0]: exit_codes: 0 values, but 1 times",
    );
    bad(r#"{"command":"","times":[1]}"#, "it has no name");
    bad(
        r#"{"command":"a","measurements":[{}]}"#,
        "results[0]: measurements[0]: it has no time_wall_clock",
    );
    bad(
        r#"{"command":"a","measurements":[{"value":{"value":1}},{"value":{"value":1,"unit":"byte"}}]}"#,
        "results[0]: measurements[1]: value.unit: the other measurements have another one",
    );
    let csv = |text: &str, expected: &str| check(FileFormat::HyperfineCsv, text, expected);
    csv("command,mean\na,x\n", "a (line 2) is left out: mean: \"x\" is not a number");
    csv("command,mean\na,-1\n", "a (line 2) is left out: mean: a value must not be negative");
    csv("command,mean\na,1,2\n", "line: 2");
    csv("command,men\n", "there is no column \"mean\"");
    csv("command,mean\n", "there is no benchmark");
}

/// Our own summary of a session of values has their wall times too.
#[test]
fn values_that_decided_are_read_in_place_of_wall_times() {
    let header = "command,time_wall_clock_unit,time_wall_clock_mean,value_unit,value_mean,\
                  value_min,value_max,stillwell_t0";
    let text = format!("{header}\nv,s,0.2,ops/s,-7,-9,-5,-8\nw,s,0.2,ops/s,7,5,9,0.19\n");
    let file = SourceFile { path: "", bytes: text.as_bytes() };
    let results = FileFormat::HyperfineCsv.read(&[file], ReadOptions::default()).unwrap();
    let mean = |it: &BenchmarkValues| (it.unit.name().to_owned(), it.summary.unwrap().mean);
    let means: Vec<_> = results.benchmarks.iter().map(mean).collect();
    assert_eq!(means, [("ops/s".to_owned(), Some(-7.0)), ("ns".to_owned(), Some(0.2e9))]);
    assert!(results.notes.iter().any(|note| note.starts_with("value_…")));
}

#[test]
fn a_command_that_was_measured_twice_is_numbered() {
    let text = br#"{"results":[{"command":"a","times":[0,1]},{"command":"a","times":[1]}]}"#;
    let results = FileFormat::Hyperfine
        .read(&[SourceFile { path: "", bytes: text }], ReadOptions::default())
        .unwrap();
    assert_eq!(results.benchmarks[1].name, "a (2)");
    assert!(results.notes.iter().any(|note| note.contains("numbered")));
    assert!(results.notes.iter().any(|note| note.contains("1 times are 0")));
}

#[test]
fn google_benchmark() {
    let bad = |entry: &str, expected: &str| {
        check(
            FileFormat::GoogleBenchmark,
            &format!(r#"{{"context":{{}},"benchmarks":[{entry}]}}"#),
            expected,
        );
    };
    bad(
        r#"{"name":"a","iterations":0,"real_time":1,"time_unit":"ns"}"#,
        "benchmarks[0]: iterations: 0",
    );
    bad(
        r#"{"name":"a","iterations":1,"real_time":0,"time_unit":"ns"}"#,
        "benchmarks[0]: real_time: a value must be above 0",
    );
    bad(
        r#"{"name":"a","iterations":1,"real_time":1,"time_unit":"h"}"#,
        "benchmarks[0]: time_unit: Some(\"h\")",
    );
    bad(
        r#"{"name":"a","iterations":1,"real_time":-1,"time_unit":"ns"}"#,
        "benchmarks[0].real_time",
    );
    bad(
        r#"{"name":"a","error_occurred":true,"error_message":"no"}"#,
        "a (line 1) is left out: benchmarks[0]: it has no time: no",
    );
    bad(r#"{"name":"a","run_type":"other"}"#, "run_type: \"other\" is not known");
    // The other repetition is kept.
    bad(
        r#"{"name":"a","iterations":1,"real_time":NaN,"time_unit":"ns"},
           {"name":"a","iterations":1,"real_time":5,"time_unit":"ns"}"#,
        "a result of a (line 1) is left out: benchmarks[0].real_time",
    );
}

#[test]
fn criterion() {
    let info = SourceFile { path: "x/new/benchmark.json", bytes: br#"{"group_id":"g"}"# };
    let bad = |sample: &str, expected: &str| {
        let sample = SourceFile { path: "x/new/sample.json", bytes: sample.as_bytes() };
        let error =
            FileFormat::Criterion.read(&[info, sample], ReadOptions::default()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    };
    bad(r#"{"iters":[1],"times":[1,2]}"#, "x/new is left out: sample.json: 1 iters, but 2 times");
    bad(
        r#"{"iters":[0],"times":[1]}"#,
        "x/new is left out: sample.json: iters[0]: a value must be above 0",
    );
    bad(r#"{"iters":[1.5],"times":[1]}"#, "iters[0]: 1.5 is not a number of iterations");
    bad(r#"{"iters":[],"times":[]}"#, "times: there is none");
    let error = FileFormat::Criterion
        .read(&[info], ReadOptions { side: "base", ..ReadOptions::default() })
        .unwrap_err();
    assert!(format!("{error:#}").contains("there is no */base/benchmark.json"));
    let error = FileFormat::Criterion.read(&[info], ReadOptions::default()).unwrap_err();
    assert!(format!("{error:#}").contains("neither sample.json nor estimates.json"));
}

#[test]
fn go() {
    check(
        FileFormat::Go,
        "goos: linux\nBenchmarkA 1 2\n",
        "BenchmarkA (line 2) is left out: its line has no result",
    );
    check(
        FileFormat::Go,
        "BenchmarkA 0 2 ns/op\n",
        "BenchmarkA (line 1) is left out: 0 iterations",
    );
    check(
        FileFormat::Go,
        "BenchmarkA 1 -2 ns/op\n",
        "BenchmarkA (line 1) is left out: ns/op: a value must be above 0",
    );
    check(
        FileFormat::Go,
        "BenchmarkA-4 \t1 x ns/op\n",
        "BenchmarkA-4 (line 1) is left out: its line",
    );
    check(
        FileFormat::Go,
        "BenchmarkA-4 \t1 inf ns/op\n",
        "BenchmarkA-4 (line 1) is left out: its line",
    );
    check(
        FileFormat::Go,
        "BenchmarkA 1 2 ns/op\nBenchmarkA 1 2 B/op\n",
        "a result of BenchmarkA (line 2) is left out: B/op is not the unit",
    );
    check(FileFormat::Go, "PASS\nok x 1.0s\n", "there is no benchmark");
    let two = b"pkg: a\nBenchmarkA 1 2 ns/op\npkg: b\nBenchmarkA 1 2 ns/op\n";
    let results = FileFormat::Go
        .read(&[SourceFile { path: "", bytes: two }], ReadOptions::default())
        .unwrap();
    assert_eq!(results.labels(), ["a.BenchmarkA", "b.BenchmarkA"]);
}

#[test]
fn jmh() {
    let bad = |metric: &str, expected: &str| {
        let text = format!(
            r#"[{{"jmhVersion":"1","benchmark":"b","mode":"avgt","primaryMetric":{{"scoreUnit":"ns/op",{metric}}}}}]"#
        );
        check(FileFormat::Jmh, &text, expected);
    };
    bad(
        r#""score":1,"rawData":[[1,0]]"#,
        "[0]: primaryMetric.rawData[0][1]: a value must be above 0",
    );
    bad(r#""score":1,"rawData":[[1,"NaN"]]"#, "[0].primaryMetric.rawData[0][1]: invalid type");
    bad(r#""score":"NaN""#, "[0]: primaryMetric.score: \"NaN\" is not a number");
    bad(r#""score":1,"rawDataHistogram":[[[[1,1000000000000]]]]"#, "more than 100000000 times");
    bad(r#""score":1,"rawData":[]"#, "there is no value");
}

#[test]
fn the_others() {
    check(
        FileFormat::Pytest,
        r#"{"benchmarks":[{"name":"a","stats":{"min":0}}]}"#,
        "benchmarks[0].stats.min: a value must be",
    );
    check(
        FileFormat::Pytest,
        r#"{"benchmarks":[{"stats":{}}]}"#,
        "benchmarks[0].stats: missing field `min`",
    );
    let asv = |results: &str| {
        format!(
            r#"{{"version":2,"result_columns":["result","params","samples"],"results":{results}}}"#
        )
    };
    check(
        FileFormat::Asv,
        &asv(r#"{"time_a":[[1,2],[["x"]]]}"#),
        "time_a (line 1) is left out: 2 results for 1 parameters",
    );
    check(
        FileFormat::Asv,
        &asv(r#"{"a":[[1],[]]}"#),
        "a (line 1) is left out: what its values are is not known",
    );
    check(
        FileFormat::Asv,
        &asv(r#"{"time_a":[[-1],[]]}"#),
        "time_a (line 1) is left out: result[0]: a value must be above 0",
    );
    check(
        FileFormat::Asv,
        &asv(r#"{"time_a":[[1],[],[[1,-2]]]}"#),
        "samples[0][1]: a value must be above 0",
    );
    check(
        FileFormat::Asv,
        &asv(r#"{"time_a":[[NaN],[]]}"#),
        "time_a is left out: it failed or was skipped",
    );
    check(FileFormat::Asv, &asv("{}").replace('2', "1"), "version: only 2 is known");
    let nanobench = |epoch: &str| {
        format!(r#"{{"results":[{{"title":"t","name":"n","measurements":[{epoch}]}}]}}"#)
    };
    check(
        FileFormat::Nanobench,
        &nanobench(r#"{"iterations":1,"elapsed":0}"#),
        "results[0].measurements[0].elapsed: a value",
    );
    check(
        FileFormat::Nanobench,
        &nanobench(r#"{"iterations":0,"elapsed":1}"#),
        "results[0]: measurements[0].iterations: 0",
    );
    check(FileFormat::Nanobench, &nanobench(""), "results[0]: measurements: there is none");
    let other = r#"{"creator":{"name":"a","version":"1"},"instrument":{"type":"valgrind"},"benchmarks":[]}"#;
    check(FileFormat::Codspeed, other, "instrument.type: \"valgrind\" does not measure time");
    let julia = str::from_utf8(BENCHMARK_TOOLS.bytes).unwrap();
    check(
        FileFormat::BenchmarkTools,
        &julia.replace("23.25", "null"),
        "utf8/join (line 2) is left out: [1][0][1].data.utf8[1].data.join[1].times[1]: invalid type: null",
    );
    check(FileFormat::BenchmarkTools, &julia.replace("997", "0"), "utf8/join (line 2) is left out");
    check(
        FileFormat::Times,
        "-1e-3\ta\n",
        "a (line 1) is left out: -1e-3: a time is between 0 and 100 years",
    );
    check(FileFormat::Times, "1\ta\nfast\tb\n", "(line 2) is left out: \"fast\" is not a time");
}

#[test]
fn what_is_not_known() {
    for (text, expected) in [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("hello\n", "pyperf, hyperfine JSON, hyperfine CSV, Google"),
        ("{}", "its format is not known"),
        ("[1]", "its format is not known"),
        (r#"{"benchmarks":[{"x":1}],"version":"1.0"}"#, "its format is not known"),
        ("\u{1f}\u{8b}", "its format is not known"),
    ] {
        let error = detect(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let damaged = SourceFile { path: "", bytes: b"\x1f\x8b\x08\x00\x00" };
    let error = FileFormat::Pyperf.read(&[damaged], ReadOptions::default()).unwrap_err();
    assert!(format!("{error:#}").contains("cannot unpack gzip"), "{error:#}");
}
