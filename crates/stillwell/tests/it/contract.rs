//! The contract of `--json`: its schemas, the conclusion, and errors as objects.

use serde_json::{Value, json};

use crate::bench::{Bench, STILLWELL, skipped};
use crate::documents::{VERBS, check_document, schema, validator};

/// The only document of a command line.
fn document(bench: &Bench, words: &[&str], code: i32) -> Value {
    let ran = bench.stillwell(words).ends_with(code);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|why| panic!("{why}: {ran:#?}"))
}

#[test]
fn the_schemas_are_schemas() {
    for verb in VERBS.into_iter().chain(["gate"]) {
        jsonschema::meta::validate(&schema(verb)).unwrap_or_else(|why| panic!("{verb}: {why}"));
    }
}

/// The check sees what it is for.
#[test]
fn a_wrong_document_is_refused() {
    let bench = Bench::new();
    let right = document(&bench, &["run", "--json", "-r", "3", "true"], 0);
    for (name, value) in [("schema", json!("x")), ("more", json!(1)), ("plan", json!({}))] {
        let mut wrong = right.clone();
        wrong[name] = value;
        assert!(!validator("run").is_valid(&wrong), "{name}");
    }
    assert!(validator("run").is_valid(&right));
}

/// 60 times of about 10 ms for each of two programs.
fn script(bench: &Bench, factor: f64) {
    let times = |factor: f64, offset: usize| {
        let time = |n: usize| 10.0 * factor * (1.0 + 0.02 * ((n * 37 + offset) % 23) as f64 / 23.0);
        (0..60).map(|n| format!("{:.6}ms", time(n))).collect::<Vec<_>>().join(" ")
    };
    bench.write("script", &format!("{}\n{}\n", times(1.0, 3), times(factor, 11)));
}

#[test]
fn a_decided_session_has_an_effect_with_its_interval_and_no_next_action() {
    let bench = Bench::new();
    script(&bench, 1.1);
    let words = ["run", "--json", "--script", "script", "-r", "59", "--seed", "1", "./a", "./b"];
    let found = document(&bench, &words, 0);
    assert_eq!((&found["schema"], &found["version"]), (&"session".into(), &1.into()));
    let conclusion = &found["conclusion"];
    assert_eq!(conclusion["verdict"], "slower");
    let effect = &conclusion["effects"][0];
    let number = |name: &str| effect[name].as_f64().unwrap();
    assert_eq!((&effect["name"], &effect["against"]), (&"./b".into(), &"./a".into()));
    assert!(1.0 < number("lo") && number("lo") < number("ratio") && number("ratio") < number("hi"));
    assert_eq!(number("confidence"), 0.99);
    assert_eq!(conclusion["measured"][1]["n_runs"], 59);
    assert!(conclusion["next"].is_null(), "{conclusion:#}");
}

#[test]
fn an_undecided_session_says_what_would_decide_and_what_that_costs() {
    let bench = Bench::new();
    script(&bench, 1.0);
    let words = [
        "run", "--json", "--script", "script", "-r12", "--same", "0.1", "--seed", "1", "./a", "./b",
    ];
    let found = document(&bench, &words, 0);
    assert_eq!(found["conclusion"]["verdict"], "undecided");
    let next = &found["conclusion"]["next"];
    assert_eq!(next["action"], "measure_longer", "{next:#}");
    assert!(next["cost_s"].as_f64().unwrap() > 0.0, "{next:#}");
    let command: Vec<&str> =
        next["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command[..3], ["stillwell", "run", "--runs"], "{next:#}");
    assert!(command[3].parse::<u32>().unwrap() > 12, "{next:#}");
    assert_eq!(command[command.len() - 2..], ["./a", "./b"]);
    // It is not refused.
    document(&bench, &command[1..], 0);
}

#[test]
fn a_failure_is_an_object_with_a_code_on_standard_output() {
    let bench = Bench::new();
    let error = |words: &[&str], exit: i32| {
        let found = document(&bench, words, exit);
        assert_eq!(found["error"]["exit_code"], exit, "{words:?}");
        assert!(!found["error"]["message"].as_str().unwrap().is_empty(), "{words:?}");
        found["error"]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(error(&["run", "--json", "--bogus", "true"], 2), "usage");
    assert_eq!(error(&["run", "--json"], 2), "usage");
    assert_eq!(error(&["show", "--json", "none.swell"], 2), "not_found");
    assert_eq!(error(&["run", "--json", "-r", "2", "false"], 2), "command_failed");
    assert_eq!(error(&["run", "--json", "-r", "2", "--setup", "exit 3", "true"], 2), "hook_failed");
    let slow = ["run", "--json", "-r", "2", "--timeout", "20ms", "sleep 9"];
    assert_eq!(error(&slow, 124), "timeout");
    let valued = ["run", "--json", "-r", "2", "--value", "x=([0-9]+)", "echo y"];
    assert_eq!(error(&valued, 2), "value_missing");
    assert_eq!(error(&["compare", "--json", "none.swell"], 2), "not_found");
    assert_eq!(error(&["bisect", "--json", "a", "b", "--", "true"], 2), "failed");
    assert_eq!(error(&["bisect", "--json", "--resume", "none"], 2), "not_found");
    assert_eq!(error(&["campaign", "status", "--json", "none"], 2), "not_found");
    assert_eq!(error(&["race", "--json", "true"], 2), "usage");
    assert_eq!(error(&["race", "--json", "false", "true"], 2), "command_failed");
    let hook = ["race", "--json", "--prepare", "exit 3", "true", "sleep 0"];
    assert_eq!(error(&hook, 2), "hook_failed");
    assert_eq!(error(&["run", "--json", "-r", "3", "--export-csv", "-", "true"], 2), "failed");
}

#[test]
fn an_error_of_a_gate_is_in_its_file() {
    let bench = Bench::new();
    bench.stillwell(&["gate", "--json", "g.json", "--old", "none", "--new", "none"]).ends_with(2);
    let found: Value = serde_json::from_str(&bench.read("g.json")).unwrap();
    check_document("gate", &found);
    assert_eq!(found["error"]["exit_code"], 2);
}

/// Names that are no UTF-8 are text in JSON.
#[test]
fn any_name_is_text_in_a_document() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let odd = std::ffi::OsStr::from_bytes(b"true \xff\xfe\x1b[2J\xc3");
    let mut command = bench.command(STILLWELL);
    command.args(["run", "--json", "-r", "3"]).arg(odd);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_document("run", &found);
    assert_ne!(found["conclusion"]["measured"][0]["name"], "true");
    let file = std::ffi::OsStr::from_bytes(b"\xff.swell");
    let mut command = bench.command(STILLWELL);
    let output = command.args(["run", "--json", "-r", "3", "true", "-o"]).arg(file).output();
    let found: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    check_document("run", &found);
    assert!(found["record"].as_str().unwrap().ends_with(".swell"));
}

#[test]
fn a_reader_that_ends_early_is_no_error() {
    let bench = Bench::new();
    bench.run(&["-r", "3", "true"]).ends_with(0);
    for words in ["show --json r.swell", "run --schema", "run --json --bogus"] {
        let line = format!("{STILLWELL} {words} | true; exit \"${{PIPESTATUS[0]}}\"");
        let ran = bench.command("bash").args(["-c", &line]).output();
        let Ok(ran) = ran else { return skipped("there is no bash") };
        let expected = if words.contains("bogus") { 2 } else { 0 };
        assert_eq!(ran.status.code(), Some(expected), "{words}: {ran:?}");
        assert!(!String::from_utf8_lossy(&ran.stderr).contains("panicked"), "{words}: {ran:?}");
    }
}
