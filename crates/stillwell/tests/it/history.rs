//! Results over months, from the outside.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::Bench;

/// Results of one commit a day: json becomes 3 % slower at the 21st.
fn make(bench: &Bench) -> Vec<String> {
    let git = |words: &[&str], date: &str| {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(bench.path(""))
            .args(["-c", "user.name=n", "-c", "user.email=e@x"])
            .args(words);
        let ran = git.env("GIT_COMMITTER_DATE", date).output().expect("git");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).expect("UTF-8").trim().to_owned()
    };
    git(&["init", "-q"], "");
    let day = |number: usize| format!("2026-0{}-{:02}", 1 + number / 20, 1 + number % 20);
    let made = (0..40).map(|number| {
        git(&["commit", "-q", "--allow-empty", "-m", &format!("step {number}")], &format!("{}T12:00:00Z", day(number)));
        let commit = git(&["rev-parse", "HEAD"], "");
        let level = if number < 20 { 1e-3 } else { 1.03e-3 };
        // Noise that is the same whenever this runs.
        let noise = |i: usize| 1.0 + 0.002 * ((number * 7 + i * 13) % 11) as f64 / 11.0;
        let benchmark = |name: &str, level: f64| {
            let runs: Vec<Value> = (0..6).map(|i| json!({"values": [level * noise(i)]})).collect();
            json!({"metadata": {"name": name, "unit": "second"}, "runs": runs})
        };
        // Added in another order than they were committed in.
        let file = format!("{:02}.json", 39 - number);
        let results = json!({
            "version": "1.0",
            "metadata": {"hostname": "box", "commit_id": commit, "python_version": if number < 20 { "3.11" } else { "3.12" }},
            "benchmarks": [benchmark("json", level), benchmark("fib", 2e-3)],
        });
        bench.write(&file, &results.to_string());
        file
    });
    made.collect()
}

#[test]
fn a_change_is_found_with_its_commit_and_what_else_changed() {
    let bench = Bench::new();
    let files = make(&bench);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran =
        bench.stillwell(&[&["history", "add", "--db", "h.db"], &files[..]].concat()).ends_with(0);
    assert_eq!(ran.stdout, "40 files added\n");
    let ran = bench.stillwell(&["history", "changes", "--db", "h.db", "--json"]).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let [change] = &found.as_array().expect("a list")[..] else { panic!("{found:#}") };
    assert_eq!((&change["benchmark"], &change["at"]), (&json!("json"), &json!(20)));
    let ratio = change["ratio"]["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 1.03).abs() < 0.002, "{ratio}");
    assert_eq!(change["also_changed"], json!([["python_version", "3.11", "3.12"]]));
    assert_eq!(change["commits"]["n"], 1);
    let subject = change["commits"]["newest"][0].as_str().expect("a commit");
    assert!(subject.ends_with("step 20"), "{subject}");
    let fails = |limit: &str, last: &str, code: i32| {
        let words = ["history", "changes", "--db", "h.db", "--fail-on", limit, "--last", last];
        bench.stillwell(&words).ends_with(code);
    };
    fails("slower:2%", "40", 1);
    fails("slower:4%", "40", 0);
    fails("slower:2%", "19", 0);
}

#[test]
fn a_record_is_kept_once_and_comes_back() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "8", "-o", "a.swell", "true"]).ends_with(0);
    let add = || {
        bench
            .stillwell(&["history", "add", "--db", "h.db", "--revision", "v1", "a.swell"])
            .ends_with(0)
    };
    assert_eq!(add().stdout, "1 file added\n");
    assert_eq!(add().stdout, "0 files added, 1 known already\n");
    bench.stillwell(&["history", "get", "--db", "h.db", "1", "-o", "b.swell"]).ends_with(0);
    assert_eq!(bench.read("a.swell"), bench.read("b.swell"));
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "true"]).ends_with(0);
    assert!(ran.stdout.contains("v1"), "{ran:#?}");
}

#[test]
fn mistakes_are_explained_and_the_rest_is_added() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "8", "-o", "a.swell", "true"]).ends_with(0);
    let explains = |words: &[&str], expect: &str| {
        let ran = bench.stillwell(&[&["history"], words].concat()).ends_with(2);
        assert!(ran.stderr.contains(expect), "{ran:#?}");
    };
    explains(&["show", "--db", "none.db"], "there is no history at none.db");
    explains(&["add", "--db", "h.db", "nothere.json", "a.swell"], "nothere.json");
    let ran = bench.stillwell(&["history", "show", "--db", "h.db"]).ends_with(0);
    assert!(ran.stdout.contains("true"), "{ran:#?}");
    explains(&["show", "--db", "h.db", "nosuch"], "no such result");
    explains(&["get", "--db", "h.db", "9", "-o", "x"], "has no record 9");
    explains(&["get", "--db", "h.db", "1", "-o", "a.swell"], "exists");
    explains(&["add", "--db", "a.swell", "a.swell"], "cannot use a.swell as a history");
    explains(&["add", "--db", "h.db", "-"], "standard input has no name");
}
