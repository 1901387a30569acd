//! Files that went wrong in some reader, in the verbs that read files.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL};

fn case(name: &str) -> String {
    format!("{}/../formats/cases/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn sample(name: &str) -> String {
    format!("{}/../formats/samples/results/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn show(words: &[&str]) -> String {
    Bench::new().stillwell(words).ends_with(0).stdout
}

/// Its words, with single blanks between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    let text = words(text);
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn the_number_of_processors_is_told_and_can_be_ignored() {
    let (eight, four) = (case("go-procs-8.txt"), case("go-procs-4.txt"));
    let ran = Bench::new().stillwell(&["compare", &eight, &four]).ends_with(2);
    ran.says(&["no benchmark in common", "-8 in 1 and", "-4 in 2", "--ignore-procs"]);
    let paired = show(&["compare", "--ignore-procs", &eight, &four]);
    has(&paired, &["2 ÷ 1"]);
    assert!(!paired.contains("only in"), "{paired}");
    let bench = Bench::new();
    bench.write("both.txt", "BenchmarkA-8 1 5 ns/op\nBenchmarkA-4 1 5 ns/op\n");
    let ran = bench.stillwell(&["compare", "--ignore-procs", "both.txt", "both.txt"]).ends_with(2);
    ran.says(&["both.txt: it has BenchmarkA-8 and BenchmarkA-4", "choose one with -b"]);
}

#[test]
fn a_new_package_renames_no_other() {
    let found = show(&["compare", &case("go-package-old.txt"), &case("go-package-new.txt")]);
    has(&found, &["900 ns 910 ns 1.01", "only in 2: example.org/shelf.BenchmarkGet-4"]);
}

#[test]
fn more_of_a_rate_is_better() {
    let file = case("jmh-no-version.json");
    has(
        &show(&["show", &file]),
        &["G ops/s, the median of its values; more is better", "at least"],
    );
    has(&show(&["compare", &file, &file]), &["3.375 G ops/s 1.00", "more is better: ops/s"]);
    let bench = Bench::new();
    bench.write("old.txt", "BenchmarkA-4 1 10 ns/op\nBenchmarkB-4 1 50 req/s\n");
    bench.write("new.txt", "BenchmarkA-4 1 20 ns/op\nBenchmarkB-4 1 100 req/s\n");
    let shown = bench.stillwell(&["show", "new.txt"]).ends_with(0).stdout;
    has(&shown, &["BenchmarkB-4 median 100 req/s, more is better"]);
    let found = bench.stillwell(&["compare", "--table", "old.txt", "new.txt"]).ends_with(0).stdout;
    // The t0 of one process has no error, so nothing is slower or better.
    has(
        &found,
        &["10 ns 20 ns 2.00 ", "geometric mean 2.00 ", "the geometric mean is without them"],
    );
}

#[test]
fn a_value_below_zero_has_a_difference() {
    let bench = Bench::new();
    bench.write("old.txt", "BenchmarkA-4 1 -2 drift/op\nBenchmarkB-4 1 10 ns/op\n");
    bench.write("new.txt", "BenchmarkA-4 1 3 drift/op\nBenchmarkB-4 1 20 ns/op\n");
    let found = bench.stillwell(&["compare", "old.txt", "new.txt"]).ends_with(0).stdout;
    has(
        &found,
        &[
            "-2 drift/op median 3 drift/op median +5 drift/op",
            "geometric mean 2.00",
            "has no ratio",
        ],
    );
    let document =
        bench.stillwell(&["compare", "--json", "old.txt", "new.txt"]).ends_with(0).stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    let cell = &document["comparison"]["lines"][0]["cells"][1];
    assert_eq!((&cell["ratio"], &cell["difference"]), (&Value::Null, &5.0.into()), "{document}");
}

#[test]
fn values_that_are_no_times_lack_no_time() {
    let bench = Bench::new();
    bench.write("drift.txt", "BenchmarkA-4 1 2 drift/op\n");
    let shown = bench.stillwell(&["show", "drift.txt"]).ends_with(0).stdout;
    has(&shown, &["BenchmarkA-4 gives 2 drift/op"]);
    assert!(!shown.contains("not measured"), "{shown}");
}

#[test]
fn summaries_are_compared_as_estimates() {
    let found = show(&["compare", &case("julia.json"), &case("julia.json")]);
    has(
        &found,
        &[
            "1 has summaries: compared as estimates are its numbers of an unknown kind",
            "no verdict",
        ],
    );
    let found = show(&["compare", &sample("catch2.xml"), &sample("catch2.txt")]);
    has(&found, &["compared as estimates are its means", "Fire 20", "1.00"]);
    has(&show(&["show", &case("julia.json")]), &["estimate (mean, median or minimum) 1.042 µs"]);
    let mixed = show(&["show", &case("google-mean-beside-values.json")]);
    has(&mixed, &["BM_Cool mean 100 ns, a summary"]);
    let bench = Bench::new();
    // Medians alone, as asv saves them by default.
    let asv =
        r#"{"version":2,"result_columns":["result","params"],"results":{"time_a":[[1.5],[]]}}"#;
    bench.write("asv.json", asv);
    let found = bench.stillwell(&["compare", "asv.json", "asv.json"]).ends_with(0).stdout;
    has(&found, &["time_a 1.500 s 1.500 s 1.00", "compared as estimates are its medians"]);
}

#[test]
fn names_are_whole_in_a_pipe_and_in_markdown() {
    let file = case("go-alike.txt");
    for options in [&[][..], &["--table-format", "md"], &["-G"]] {
        let found = show(&[&["compare", &file, &file], options].concat());
        for poly in ["Ieee", "Castagnoli", "Koopman"] {
            let name = format!("BenchmarkChecksum/poly={poly}/size=15/align=1-4");
            assert!(found.contains(&name), "{options:?}: {found}");
        }
    }
    let long = "BenchmarkA/".to_owned() + &"x".repeat(200);
    let bench = Bench::new();
    bench.write("long.txt", &format!("{long}1-4 1 5 ns/op\n{long}2-4 1 6 ns/op\n"));
    for verb in [&["show"][..], &["show", "-v"], &["stats"]] {
        let found = bench.stillwell(&[verb, &["long.txt"]].concat()).ends_with(0).stdout;
        assert!(found.contains(&format!("{long}2-4")), "{verb:?}: {found}");
    }
}

#[test]
fn warm_ups_alone_are_shown() {
    let file = case("pyperf-warmups-only.json");
    has(&show(&["show", &file]), &["no values, only"]);
    let ran = Bench::new().stillwell(&["convert", &file, "-o", "x.swell"]).ends_with(2);
    ran.says(&["only warm-ups", "`show` has what there is"]);
}

#[test]
fn folders_patterns_and_standard_input_in_all_verbs_that_read() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("old/deep")).unwrap();
    bench.write("old/a.txt", "BenchmarkA-4 1 5 ns/op\n");
    bench.write("old/deep/b.json", r#"{"results":[{"command":"b","times":[1.0,1.1]}]}"#);
    bench.write("old/notes.txt", "nothing\n");
    for verb in ["show", "stats", "dump", "metadata"] {
        let words: &[&str] = if verb == "dump" { &["dump", "--format", "text"] } else { &[verb] };
        for files in [&["old"][..], &["old/*.txt", "old/*/b.jso?"], &["old/a.txt", "old/deep"]] {
            let pattern = files.contains(&"old/*.txt");
            let ran = bench.stillwell(&[words, files].concat());
            if pattern {
                // A pattern is what the user said, also of a file that cannot be read.
                ran.ends_with(2).says(&["notes.txt", "its format is not known"]);
                continue;
            }
            let found = ran.ends_with(0).stdout;
            assert_eq!(found.matches("== ").count(), 2, "{verb} {files:?}: {found}");
        }
    }
    let found = bench.stillwell(&["show", "old/?.txt"]).ends_with(0).stdout;
    has(&found, &["BenchmarkA-4"]);
    bench.stillwell(&["show", "old/*.csv"]).ends_with(2).says(&["no file matches old/*.csv"]);
    for words in
        [&["compare", "-", "old/a.txt"][..], &["stats", "-"], &["convert", "-", "--stdout"]]
    {
        let mut command = bench.command(STILLWELL);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"BenchmarkA-4 1 6 ns/op\n").unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap()).ends_with(0);
        assert!(!ran.stdout.is_empty(), "{words:?}");
    }
}

/// Every new format in every verb that shows, compares or converts.
#[test]
fn every_new_format_goes_through_the_verbs() {
    let bench = Bench::new();
    let with_values = ["dotnet_full.json", "perf_stat.csv", "gnu_time.txt", "lit.json", "lnt.json"];
    let summaries = [
        "cargo_bench.txt",
        "catch2.txt",
        "catch2.xml",
        "dotnet_brief.json",
        "bmf.json",
        "bencher.json",
        "github_action.js",
        "perf_stat.jsonl",
    ];
    for name in with_values.iter().chain(&summaries) {
        let file = sample(name);
        for words in [
            &["show", &file][..],
            &["stats", &file],
            &["show", "--metadata", &file],
            &["compare", "--table", &file, &file],
            &["compare", "--table", "--json", &file, &file],
            &["convert", &file, "--stdout", "--to", "markdown"],
            &["convert", &file, "--stdout", "--to", "bmf"],
        ] {
            let ran = bench.stillwell(words).ends_with(0);
            assert!(!ran.stdout.is_empty(), "{words:?}");
        }
    }
    for name in with_values {
        let (file, record) = (sample(name), format!("{name}.swell"));
        bench.stillwell(&["convert", &file, "-o", &record]).ends_with(0);
        for words in [&["metadata"][..], &["dump", "--format", "text"]] {
            let of = |path: &str| bench.stillwell(&[words, &[path]].concat()).ends_with(0).stdout;
            assert_eq!(of(&file), of(&record), "{words:?} {name}");
        }
    }
}

#[test]
fn two_records_in_one_file_can_be_split() {
    let bench = Bench::new();
    for file in ["a.swell", "b.swell"] {
        bench.stillwell(&["run", "-o", file, "-r", "2", "true"]).ends_with(0);
    }
    bench.write("ab.swell", &(bench.read("a.swell") + &bench.read("b.swell")));
    let ran = bench.stillwell(&["show", "ab.swell"]).ends_with(2);
    let number = bench.read("a.swell").lines().count() + 1;
    let message = format!(
        "stillwell: ab.swell, line {number}: a second session begins here; split the file: "
    );
    let commands = ran.stderr.strip_prefix(&message).unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(bench.command("sh").args(["-c", commands]).status().unwrap().success());
    assert_eq!(bench.read("1.swell"), bench.read("a.swell"));
    assert_eq!(bench.read("2.swell"), bench.read("b.swell"));
}
