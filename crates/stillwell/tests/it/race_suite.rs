//! `race --suite`: the commands of a suite, compared by the geometric mean of their values.

use serde_json::Value;

use crate::bench::{Bench, Ran};

/// Says its arguments times its first one; those that are above 150 only.
const SCALED: &str =
    "#!/bin/sh\nby=$1; shift\n\"$@\" | awk -v by=\"$by\" '{ print ($1 > 150 ? $1 * by : $1) }'\n";
const TWO: &str = "[[benchmark]]\nname = \"echo-{n}\"\ncommand = \"{prefix} echo {n}\"\n\
                   matrix = { n = [100, 200] }\nvalue = \"(.+)\"\n";

fn race(bench: &Bench, suite: &str, words: &[&str]) -> Ran {
    bench.script("by", SCALED);
    bench.write("s.toml", suite);
    bench.stillwell(&[&["race", "--suite", "s.toml", "--seed", "7", "-o", "kept"], words].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"))
}

#[test]
fn prefixes_race_by_the_geometric_mean_of_a_suite() {
    let bench = Bench::new();
    let ran = race(&bench, TWO, &["-L", "by", "1,0.9,0.8,0.7", "./by {by}"]).ends_with(0);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "4 variants, compared by the geometric mean of 2 benchmarks; the reference is";
    assert!(words.starts_with(first), "{ran:#?}");
    let found = json(&bench.stillwell(&["race", "--resume", "kept", "--json"]).ends_with(0));
    assert_eq!(found["winner"], "./by 0.7", "{found:#}");
    let ratio = found["arms"][0]["to_reference"]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.7_f64.sqrt()).abs() < 1e-9, "{found:#}");
    // Each record is one of a suite's benchmarks, compared together.
    let shown = bench.stillwell(&["show", "kept/001.swell"]).ends_with(0);
    assert!(shown.stdout.contains("geometric mean"), "{shown:#?}");
}

#[test]
fn the_variants_of_a_suite_race_and_are_built_once() {
    let bench = Bench::new();
    let variants = "[[variant]]\nname = \"base\"\nprefix = \"./by 1\"\n\
                    [[variant]]\nname = \"fast\"\nprefix = \"./by $FACTOR\"\nenv = { FACTOR = \"0.8\" }\n\
                    build = { command = \"echo built >> builds\" }\n";
    let ran = race(&bench, &format!("{variants}{TWO}"), &["--json"]).ends_with(0);
    let found = json(&ran);
    assert_eq!(found["winner"], "fast", "{found:#}");
    let ratio = found["arms"][0]["to_reference"]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.8_f64.sqrt()).abs() < 1e-9, "{found:#}");
    // A race that is over builds nothing.
    bench.stillwell(&["race", "--resume", "kept"]).ends_with(0);
    assert_eq!(bench.read("builds"), "built\n");
}

#[test]
fn a_prefix_that_fails_is_named_with_the_benchmark() {
    let bench = Bench::new();
    bench.script("fails", "#!/bin/sh\n\"$@\" && test $2 -lt 150\n");
    let ran = race(&bench, TWO, &["./by 1", "./by 0.8", "./fails"]).ends_with(0);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("./fails exited with 1 in the benchmark \"echo-200\""), "{ran:#?}");
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    let fails = |suite: &str, words: &[&str], text: &str| {
        let ran = race(&bench, suite, words).ends_with(2);
        assert!(ran.stderr.contains(text), "{ran:#?}");
        assert!(!bench.path("kept").exists(), "{ran:#?}");
    };
    fails(TWO, &[], "the suite has no `[[variant]]`");
    fails(TWO, &["./by 1"], "a race has from 2 to 200");
    fails(TWO, &["--setup", "x", "./by 1", "./by 2"], "--setup");
    let statement = "[[benchmark]]\nname = \"s\"\nstatement = \"1\"\n";
    fails(statement, &["./by 1", "./by 2"], "s.toml:3:");
    let unbuilt =
        "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nbuild = { command = \"false\" }\n";
    fails(&format!("{unbuilt}{TWO}"), &[], "b");
}
