//! Programs of benchmark frameworks as programs of `bench`: scripts that speak as they do, and real ones where the tools
//! are.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, skipped};

/// A framework as a script: its marker, its answer to `--help`, the words by which it is asked to list and what it then
/// says, and what it says of one benchmark, with `$T` for the time in ns.
struct Framework {
    name: &'static str,
    marker: &'static str,
    help: &'static str,
    list_when: &'static str,
    list: &'static str,
    said: &'static str,
    /// In the arguments of the first benchmark and in no others.
    filter: &'static str,
    first: &'static str,
}

const FRAMEWORKS: [Framework; 7] = [
    Framework {
        name: "criterion",
        marker: "Criterion.rs benchmark",
        help: "--measurement-time  This executable is a Criterion.rs benchmark.",
        list_when: "--list",
        list: "fib 15: benchmark\\nsum/9: benchmark",
        said: "fib 15    time:   [1.0 ns $T ns 9999.9 ns]\\nsum/9     time:   [1.0 ns $T ns 9999.9 ns]",
        filter: "--bench ^fib 15$",
        first: "fib 15",
    },
    Framework {
        name: "libtest",
        marker: "The FILTER string is tested against the name of all tests",
        help: "--bench The FILTER string is tested against the name of all tests",
        list_when: "--list",
        list: "t::works: test\\nt::fib: benchmark\\nt::sum: benchmark",
        said: "test t::fib ... bench: $T ns/iter (+/- 1)\\ntest t::sum ... bench: $T ns/iter (+/- 1)",
        filter: "--exact t::fib",
        first: "t::fib",
    },
    Framework {
        name: "google",
        marker: "benchmark_list_tests",
        help: "[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>]",
        list_when: "--benchmark_list_tests=true",
        list: "BM_fib/8\\nBM_sum",
        said: "{\"benchmarks\": [{\"name\": \"BM_fib/8\", \"real_time\": $T, \"time_unit\": \"ns\"}, \
               {\"name\": \"BM_sum\", \"real_time\": $T, \"time_unit\": \"ns\"}]}",
        filter: "filter=^BM_fib/8$",
        first: "BM_fib/8",
    },
    Framework {
        name: "catch2",
        marker: "benchmark-samples",
        help: "--benchmark-samples --benchmark-no-analysis",
        list_when: "--benchmark-no-analysis",
        list: "<TestCase name=\"a\"><BenchmarkResults name=\"x\"></BenchmarkResults></TestCase>\\n\
               <TestCase name=\"b\"><BenchmarkResults name=\"y\"></BenchmarkResults></TestCase>",
        said: "<TestCase name=\"a\"><BenchmarkResults name=\"x\"><mean value=\"$T\"/></BenchmarkResults></TestCase>\\n\
               <TestCase name=\"b\"><BenchmarkResults name=\"y\"><mean value=\"$T\"/></BenchmarkResults></TestCase>",
        filter: "a -r xml",
        first: "a / x",
    },
    Framework {
        name: "go",
        marker: "test.benchtime",
        help: "-test.bench regexp -test.benchtime d",
        list_when: "-test.bench=. ",
        list: "BenchmarkFib-2 1 5 ns/op\\nBenchmarkSum/n-2 1 5 ns/op",
        said: "BenchmarkFib-2 1 $T ns/op\\nBenchmarkSum/n-2 1 $T ns/op",
        filter: "^BenchmarkFib$",
        first: "BenchmarkFib",
    },
    Framework {
        name: "divan",
        marker: "DIVAN_SAMPLE_COUNT",
        help: "--skip-ext-time --sample-count",
        list_when: "--sample-size 1",
        list: "c  fastest │\n├─ fib  1 ns │ 1 ns │ 1 ns │ 1 ns │ 1 │ 1\n╰─ sum  1 ns │ 1 ns │ 1 ns │ 1 ns │ 1 │ 1",
        said: "c  fastest │\n├─ fib  1 ns │ 1 ns │ $T ns │ 1 ns │ 1 │ 1\n╰─ sum  1 ns │ 1 ns │ $T ns │ 1 ns │ 1 │ 1",
        filter: "--exact c::fib",
        first: "c::fib",
    },
    Framework {
        name: "jmh",
        marker: "META-INF/BenchmarkList",
        help: "help is not a recognized option",
        list_when: "-lp",
        list: "Benchmarks:\nd.S.fib\n  param \"n\" = {1, 2}",
        said: "[{\"benchmark\": \"d.S.fib\", \"params\": {\"n\": \"1\"}, \"primaryMetric\": {\"score\": $T, \"scoreUnit\": \"ns/op\", \"rawData\": [[$T]]}}, \
               {\"benchmark\": \"d.S.fib\", \"params\": {\"n\": \"2\"}, \"primaryMetric\": {\"score\": $T, \"scoreUnit\": \"ns/op\", \"rawData\": [[$T]]}}]",
        filter: "-p n=1 ",
        first: "d.S.fib n=1",
    },
];

/// A script of a framework, whose first benchmark takes this many ns and 0 to 6 more.
fn script(of: &Framework, ns: u32) -> String {
    let Framework { marker, help, list_when, list, said, filter, .. } = of;
    let said = said.replace('"', "\\\"");
    let list = list.replace('"', "\\\"");
    format!(
        "#!/bin/sh
# {marker}
case \"$*\" in
*--help*) printf '%s\\n' '{help}'; exit 0 ;;
*'{list_when}'*) printf \"{list}\\n\"; exit 0 ;;
*'{filter}'*) T={ns} ;;
*) T=500 ;;
esac
n=$(( $(cat n 2>/dev/null || echo 0) + 1 )); echo $n > n; echo \"$*\" >> log
T=$(( T + n * 7919 % 7 )).5
printf \"{said}\\n\"
"
    )
}

/// A program of Google Benchmark with two benchmarks, the first of which takes this many ns.
pub fn google_benchmark(ns: u32) -> String {
    script(&FRAMEWORKS[2], ns)
}

/// A program of libtest, likewise.
pub fn libtest(ns: u32) -> String {
    script(&FRAMEWORKS[1], ns)
}

#[test]
fn each_framework_is_recognised_listed_and_compared() {
    for of in &FRAMEWORKS {
        let bench = Bench::new();
        bench.script("old", &script(of, 1000));
        bench.script("new", &script(of, 1300));
        let listed = bench.stillwell(&["bench", "./old", "./new", "--list"]).ends_with(0);
        assert_eq!(listed.stdout.lines().next(), Some(of.first), "{}", of.name);
        assert_eq!(listed.stdout.lines().count(), 2, "{listed:#?}");
        let words =
            ["bench", "./old", "./new", "--runs", "20", "--seed", "7", "-o", "r.swell", "--json"];
        let ran = bench.stillwell(&words).ends_with(0);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let judged = document["judgements"].as_array().unwrap();
        assert_eq!(judged[0]["verdict"], "slower", "{}: {ran:#?}", of.name);
        assert_ne!(judged[1]["verdict"], "slower", "{}: {ran:#?}", of.name);
        let ratio = judged[0]["interval"]["ratio"].as_f64().unwrap();
        assert!((1.28..1.32).contains(&ratio), "{}: {ratio}", of.name);
        // Each run is a process of one benchmark of one program.
        let log = bench.read("log");
        assert_eq!(log.lines().count(), 80, "{log}");
        assert_eq!(log.lines().filter(|line| line.contains(of.filter)).count(), 40, "{log}");
    }
}

/// Criterion writes its samples to a directory of ours. The lowest of them are the value, unless the mean is wanted.
#[test]
fn the_samples_of_criterion_are_read() {
    let bench = Bench::new();
    let samples = r#"{"iters":[10,10,10,10,10],"times":[5000,3000,7000,9000,90000]}"#;
    let folder = "$CRITERION_HOME/fib/new";
    let write =
        format!("mkdir -p \"{folder}\"; echo '{samples}' > \"{folder}/sample.json\"\nn=$((");
    bench.script("b", &script(&FRAMEWORKS[0], 1000).replacen("n=$((", &write, 1));
    let value = |options: &[&str]| {
        let words = ["bench", "./b", "--only", "fib 15", "--runs", "2", "--json", "-o", "r.swell"];
        let ran = bench.stillwell(&[&words[..], options].concat()).ends_with(0);
        std::fs::remove_file(bench.path("r.swell")).unwrap();
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        document["analysis"]["arms"][0]["wall"]["median"]["value"].as_f64().unwrap()
    };
    assert_eq!((value(&[]), value(&["--estimand", "mean"])), (300.0, 2280.0));
}

#[test]
fn a_benchmark_that_prints_no_time_ends_the_session() {
    let of = &FRAMEWORKS[2];
    let bench = Bench::new();
    bench.script("old", &script(of, 1000));
    bench.script("new", &script(of, 1000).replace("real_time", "no_time"));
    let words = ["bench", "./old", "./new", "--runs", "12", "-o", "r.swell"];
    let ran = bench
        .stillwell(&words)
        .ends_with(2)
        .says(&["has no time above zero of", "Google Benchmark"]);
    assert!(ran.stderr.contains("did not say its value"), "{ran:#?}");
}

#[test]
fn programs_of_two_kinds_are_not_mixed() {
    let bench = Bench::new();
    bench.script("old", &script(&FRAMEWORKS[0], 1000));
    bench.script("new", "#!/bin/sh\nexit 1\n");
    bench
        .stillwell(&["bench", "./old", "./new"])
        .ends_with(2)
        .says(&["program 1 (\"./old\") is of criterion", "compare them apart"]);
    bench.script("none", &script(&FRAMEWORKS[4], 5).replace("Benchmark", "X"));
    bench.stillwell(&["bench", "./none"]).ends_with(2).says(&["it lists no benchmark"]);
    bench.stillwell(&["bench", "./old", "--loops", "5"]).ends_with(2).says(&["--loops"]);
}

#[test]
fn a_suite_measures_them_too() {
    let bench = Bench::new();
    bench.script("old", &script(&FRAMEWORKS[0], 1000));
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    bench.write("s.toml", &format!("{variants}[[benchmark]]\nprogram = \"./old\"\n"));
    let listed = bench.stillwell(&["bench", "s.toml", "--list"]).ends_with(0);
    assert_eq!(listed.stdout, "fib 15\nsum/9\n");
    let words = ["bench", "s.toml", "--runs", "10", "-o", "out"];
    let ran = bench.stillwell(&words).ends_with(0);
    assert!(ran.stdout.contains("fib 15") && ran.stdout.contains("sum/9"), "{ran:#?}");
}

/// Two processes of a real program that Go has built.
#[test]
fn a_test_program_of_go_is_measured() {
    let bench = Bench::new();
    bench.write("go.mod", "module example.org/b\n\ngo 1.20\n");
    let code = "package b\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkSum(b *testing.B) {\n\tfor i := 0; i < b.N; \
                i++ {\n\t\tfor j := 0; j < 100; j++ {\n\t\t\tsink += j\n\t\t}\n\t}\n}\n\nfunc BenchmarkSub(b *testing.B) {\n\tb.Run(\"n=1\", \
                BenchmarkSum)\n}\n";
    bench.write("b_test.go", code);
    let built = Command::new("go")
        .args(["test", "-c", "-o", "b.test", "."])
        .current_dir(bench.path("."))
        .env("GOFLAGS", "-mod=mod")
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        return skipped("there is no Go that builds a test program");
    }
    let listed = bench.stillwell(&["bench", "./b.test", "--list"]).ends_with(0);
    assert_eq!(listed.stdout, "BenchmarkSum\nBenchmarkSub/n=1\n");
    let words = ["bench", "./b.test", "./b.test", "--only", "BenchmarkSub/n=1", "--runs", "2"];
    let ran = bench.stillwell(&[&words[..], &["-o", "r.swell", "--json"]].concat()).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let ns = document["analysis"]["arms"][0]["wall"]["median"]["value"].as_f64().unwrap();
    assert!(ns > 1.0 && ns < 1e6, "{ns} ns for a hundred additions");
}

/// `q` lacks a benchmark of `p`, and `apart` has none of them.
#[test]
fn benchmarks_in_one_program_only_are_named_and_not_judged() {
    let bench = Bench::new();
    let renamed = google_benchmark(1000).replace("BM_fib/8", "BM_new");
    bench.script("p", &google_benchmark(1000));
    bench.script("q", &renamed);
    bench.script("apart", &renamed.replace("BM_sum", "BM_other"));
    bench.write(
        "s.toml",
        "[[variant]]\nname = \"a\"\nprefix = \"./p\"\n[[variant]]\nname = \"b\"\nprefix = \"./q\"\n\
         [[benchmark]]\nprogram = \"{prefix}\"\n",
    );
    let judged = ["--runs", "20", "--seed", "7", "--fail-on", "slower:50%"];
    let suite = bench.stillwell(&[&["bench", "s.toml"], &judged[..]].concat());
    for said in ["b against a in 1 benchmark", "in one program only: BM_fib/8, BM_new", "gate: "] {
        assert!(suite.stdout.contains(said), "{suite:#?}");
    }
    let none = ["bench", "./p", "./apart", "--runs", "2"];
    let ran = bench.stillwell(&none).ends_with(0);
    let alone = "in one program only: BM_fib/8, BM_sum, BM_new, BM_other";
    assert!(ran.stdout.contains(alone), "{ran:#?}");
    bench
        .stillwell(&[&none[..], &["--fail-on", "slower"]].concat())
        .ends_with(2)
        .says(&["no benchmark is in two of the programs"]);
}
