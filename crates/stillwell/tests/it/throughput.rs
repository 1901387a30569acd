//! Values of which higher is better, and imported values that are no times.

use serde_json::{Value, json};

use crate::bench::Bench;

/// Writes a file of JMH with a throughput near `level`. Returns its name.
fn jmh(bench: &Bench, number: usize, level: f64) -> String {
    let noise = |i: usize| 1.0 + 0.002 * ((number * 7 + i * 13) % 11) as f64 / 11.0;
    let fork = |fork: usize| (0..5).map(|i| level * noise(5 * fork + i)).collect::<Vec<_>>();
    let name = format!("{number:02}.json");
    let file = json!([{
        "jmhVersion": "1.37", "benchmark": "x.sum", "mode": "thrpt", "params": {},
        "primaryMetric": {"score": level, "scoreUnit": "ops/s", "rawData": [fork(0), fork(1)]},
    }]);
    bench.write(&name, &file.to_string());
    name
}

/// Writes twenty files: ten of the one level, and then ten of the other.
fn files(bench: &Bench, [before, after]: [f64; 2]) -> Vec<String> {
    (0..20).map(|i| jmh(bench, i, if i < 10 { before } else { after })).collect()
}

#[test]
fn a_history_knows_that_more_throughput_is_better() {
    let check = |levels: [f64; 2], code: i32, word: &str, verdict: &str| {
        let bench = Bench::new();
        let files = files(&bench, levels);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        bench.stillwell(&[&["history", "add", "--db", "h.db"], &files[..]].concat()).ends_with(0);
        let changes = ["history", "changes", "--db", "h.db", "--fail-on", "slower:2%"];
        let ran = bench.stillwell(&changes).ends_with(code);
        assert!(ran.stdout.starts_with(&format!("1 change (1 {word}) in")), "{ran:#?}");
        let ran = bench.stillwell(&[&changes[..], &["--json"]].concat()).ends_with(code);
        let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let effect = &found["conclusion"]["effects"][0];
        assert_eq!(
            (&effect["verdict"], &found["changes"][0]["better"]),
            (&json!(verdict), &json!("higher"))
        );
        assert_eq!(effect["ratio"].as_f64() > Some(1.0), verdict == "slower", "{effect:#}");
        let shown = bench.stillwell(&["history", "show", "--db", "h.db"]).ends_with(0).stdout;
        assert!(shown.contains("median level") && !shown.contains("t0"), "{shown}");
    };
    check([1200.0, 1000.0], 1, "worse", "slower");
    check([1000.0, 1200.0], 0, "better", "faster");
}

/// Writes the first ten results of a history as an older version stored them.
fn make_older(bench: &Bench, history: &str) {
    let mut lines: Vec<Value> = bench
        .read(history)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    for line in &mut lines[1..=10] {
        let result = line["record"]["results"][0].as_object_mut().expect("a result");
        assert_eq!(result.remove("better"), Some(json!("higher")));
        result.insert("t0".into(), json!(900.0));
        result.insert("t0_is_limit".into(), json!(true));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    bench.write(history, &text);
}

#[test]
fn a_history_of_an_older_version_goes_on() {
    let bench = Bench::new();
    let files = files(&bench, [1000.0, 1000.01]);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    bench.stillwell(&[&["history", "add", "--db", "h.db"], &files[..]].concat()).ends_with(0);
    make_older(&bench, "h.db");
    let again = bench.stillwell(&["history", "add", "--db", "h.db", files[0]]).ends_with(0);
    assert_eq!(again.stdout, "0 files added, 1 known already\n");
    let changes = ["history", "changes", "--db", "h.db"];
    let text = bench.stillwell(&changes).ends_with(0).stdout;
    assert!(text.starts_with("no change found in 1 benchmark with 20 results\n"), "{text}");
}

#[test]
fn what_is_no_time_has_no_t0() {
    let bench = Bench::new();
    let file = jmh(&bench, 0, 1000.0);
    let shown = bench.stillwell(&["show", "-v", &file]).ends_with(0).stdout;
    assert!(shown.contains("   median 1000.8") && shown.contains(" ops/s\n"), "{shown}");
    let stats = bench.stillwell(&["stats", &file]).ends_with(0).stdout;
    assert!(stats.contains("median [ops/s]"), "{stats}");
    assert!(!shown.contains("t0") && !stats.contains("t0"), "{shown}{stats}");
    let ran = bench.stillwell(&["show", "--json", &file]).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let measured = &found["conclusion"]["measured"][0];
    assert_eq!(measured["value"], measured["median"], "{measured:#}");
    bench.stillwell(&["report", &file, "-o", "page.html"]).ends_with(0);
    let page = bench.read("page.html");
    assert!(page.contains("The line is the median") && !page.contains("took this long"), "{page}");
    // A file of times and of memory.
    let asv = format!("{}/../formats/samples/results/asv", env!("CARGO_MANIFEST_DIR"));
    let shown = bench.stillwell(&["show", &asv]).ends_with(0).stdout;
    assert!(shown.contains("t0 or median"), "{shown}");
    let table = bench.stillwell(&["show", "-v", &asv]).ends_with(0).stdout;
    let time = table.lines().rfind(|line| line.contains("time_sum n=10 ")).expect("a row");
    assert!(time.ends_with(" 10"), "ten values: {time}");
}

/// The text with single blanks between its words.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_session_among_others_has_no_slower_throughput() {
    let bench = Bench::new();
    let files = files(&bench, [1000.0, 1200.0]);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = bench.stillwell(&[&["compare"], &files[..]].concat()).ends_with(0);
    let text = unwrapped(&ran.stdout);
    assert!(text.starts_with("the median of x.sum is 1.20 times that of the past"), "{text}");
    assert!(text.contains(" new median 120") && text.contains(" ops/s new:old"), "{text}");
    assert!(text.contains(" higher than ") && text.contains("; more is better"), "{text}");
    for wrong in ["slower", "took", "t0", "stillwell run --reference"] {
        assert!(!text.contains(wrong), "{wrong}: {text}");
    }
}

/// Without the options, the offered session would compare wall times.
#[test]
fn the_offered_session_compares_the_same_value() {
    let bench = Bench::new();
    bench.script("prog", "#!/bin/sh\necho value: 1$(($$ % 100 + 100))\n");
    let value = ["--value", "value: (.*)", "--value-unit", "ops/s", "--value-better", "higher"];
    for record in ["a.swell", "b.swell"] {
        let run = [&["run", "-N", "-r", "12", "-o", record][..], &value, &["./prog"]].concat();
        bench.stillwell(&run).ends_with(0);
    }
    let text = bench.stillwell(&["compare", "a.swell", "b.swell"]).ends_with(0).stdout;
    let options = "--value 'value: (.*)' --value-unit ops/s --value-better higher";
    assert!(text.contains(&format!("run {options} --reference OLD ./prog\n")), "{text}");
    assert!(text.contains("new     median 1"), "{text}");
    let shown = unwrapped(&bench.stillwell(&["show", "a.swell"]).ends_with(0).stdout);
    assert!(shown.contains("12 runs: half were at least 1"), "{shown}");
    assert!(shown.contains("ops/s, nine of ten at least 1"), "{shown}");
}
