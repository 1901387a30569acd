//! `campaign new --suite`: the commands of a suite, compared by the geometric mean of their values.

use serde_json::Value;

use crate::bench::{Bench, Ran};
use crate::campaign::{in_repository, repository};

/// Says its arguments; those that are above 150 times 0.9, if it is called with 0.9.
const SCALED: &str =
    "#!/bin/sh\nby=$1; shift\n\"$@\" | awk -v by=\"$by\" '{ print ($1 > 150 ? $1 * by : $1) }'\n";
const TWO: &str =
    "[[benchmark]]\nname = \"echo-{n}\"\ncommand = \"echo {n}\"\nmatrix = { n = [100, 200] }\n";

fn begin(bench: &Bench, suite: &str, prefix: &[&str]) -> Ran {
    bench.write("s.toml", suite);
    let words = ["campaign", "new", "c", "--suite", "s.toml", "--seed", "7", "--budget", "60s"];
    bench.stillwell(&[&words[..], &["--"], prefix].concat())
}

fn attempt(bench: &Bench, name: &str, prefix: &[&str]) -> Ran {
    bench.stillwell(&[&["campaign", "try", "c", name, "--"], prefix].concat())
}

fn words(ran: &Ran) -> String {
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_geometric_mean_of_a_suite_decides() {
    let bench = Bench::new();
    bench.script("by", SCALED);
    let hooks = "value = \"(.+)\"\nenv = { WHO = \"a b\" }\nsetup = \"echo {n} >> setups\"\n\
                 prepare = \"test \\\"$WHO\\\" = 'a b' || echo {n} >> wrong\"\ncleanup = \"echo {n} >> cleanups\"\n";
    let began = begin(&bench, &format!("{TWO}{hooks}"), &["./by", "1"]).ends_with(0);
    let said = words(&began);
    assert!(said.starts_with("./by 1 is the program to make better"), "{began:#?}");
    assert!(said.contains("geometric mean of 2 benchmarks: echo-100 and echo-200"), "{began:#?}");
    // What is measured stays what it was.
    bench.write("s.toml", "no suite");
    let same = attempt(&bench, "same", &["./by", "1.0"]).ends_with(1);
    assert!(words(&same).contains("a gain of 1.0 % is out of reach"), "{same:#?}");
    let faster = attempt(&bench, "faster", &["./by", "0.9"]).ends_with(0);
    // 1 - the square root of 0.9.
    let said = words(&faster);
    assert!(said.contains("faster: accepted, ") && said.contains("5.1 % better"), "{faster:#?}");
    attempt(&bench, "broken", &["false"]).ends_with(1);
    let ran = bench.stillwell(&["campaign", "status", "c", "--json"]).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let gain = found["gain"]["ratio"].as_f64().unwrap();
    assert!((gain - 0.9_f64.sqrt()).abs() < 1e-9, "{gain}");
    assert_eq!(bench.read("setups").lines().take(2).collect::<Vec<_>>(), ["100", "200"]);
    assert_eq!(bench.read("setups"), bench.read("cleanups"));
    let shown = bench.stillwell(&["show", "c/001.swell"]).ends_with(0);
    assert!(
        words(&shown).contains("same against accepted in the geometric mean of 2 benchmarks"),
        "{shown:#?}"
    );
    let whole = bench.stillwell(&["campaign", "confirm", "c", "-r", "60"]).ends_with(0);
    assert!(words(&whole).contains("5.1 % better"), "{whole:#?}");
}

#[test]
fn each_benchmark_has_its_own_validation() {
    let bench = Bench::new();
    bench.script("by", SCALED);
    let validate = "value = \"(.+)\"\nvalidate = \"grep -q '^{n}$' # nothing else\"\n";
    begin(&bench, &format!("{TWO}{validate}"), &["./by", "1"]).ends_with(0);
    let same = attempt(&bench, "same", &["./by", "1.0"]).ends_with(1);
    assert!(words(&same).contains("out of reach"), "{same:#?}");
    let wrong = attempt(&bench, "wrong", &["./by", "0.9"]).ends_with(1);
    assert!(words(&wrong).contains("wrong: rejected: it fails."), "{wrong:#?}");
}

#[test]
fn mistakes_have_their_place() {
    let bench = Bench::new();
    let says = |suite: &str, parts: &[&str]| {
        begin(&bench, suite, &[]).ends_with(2).says(parts);
        assert!(!bench.path("c").exists(), "{suite}");
    };
    let statement = "[[benchmark]]\nname = \"s\"\nstatement = \"1\"\n";
    says(statement, &["s.toml:3:", "only commands of a suite can be measured"]);
    let twice = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n";
    says(&twice.repeat(2), &["s.toml:5:", "another benchmark has this name"]);
    let other = "[[benchmark]]\nname = \"b\"\ncommand = \"x\"\n";
    says(&format!("{twice}{other}input = \"y\"\n"), &["s.toml:7:", "its `input` is not that of"]);
    says(&format!("{twice}{other}validate = \"y\"\n"), &["all need it or none"]);
    bench
        .stillwell(&["campaign", "new", "c", "--suite", "nowhere.toml"])
        .ends_with(2)
        .says(&["cannot read nowhere.toml"]);
    let words = ["campaign", "new", "c", "--suite", "s.toml", "--setup", "x"];
    bench.stillwell(&words).ends_with(2).says(&["--setup"]);
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    /// The commands run in the checkout of each attempt. The times in the repository are 60 and 40, and the patches make one
    /// of them 50 or 35.
    #[test]
    fn commands_of_a_suite_run_where_an_attempt_is_built() {
        let Some(bench) = repository() else { return };
        let suite = "[[benchmark]]\nname = \"{n}\"\ncommand = \"cat {n}\"\nmatrix = { n = [\"first\", \"second\"] }\n\
                     value = \"(.+)\"\n";
        bench.write("s.toml", suite);
        let build = "awk '/[0-9]/ { print > (n++ ? \"second\" : \"first\") }' times";
        let begin = ["new", "../c", "--suite", "../s.toml", "--build", build, "--seed", "3"];
        let began = in_repository(&bench, &begin).ends_with(0);
        assert!(words(&began).starts_with("the suite at "), "{began:#?}");
        let attempt = |name: &str, file: &str| {
            let tried = in_repository(&bench, &["try", "../c", name, "--patch", file]).ends_with(0);
            assert!(!tried.stdout.contains("not checked: the audit"), "{tried:#?}");
            words(&tried)
        };
        // 1 - the square root of 50 : 60.
        assert!(attempt("first", "../first.patch").contains("8.7 % better"));
        attempt("second", "../second.patch");
        let ran = in_repository(&bench, &["status", "../c", "--json"]).ends_with(0);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let gain = found["gain"]["ratio"].as_f64().unwrap();
        assert!((gain - (50.0_f64 / 60.0 * 35.0 / 40.0).sqrt()).abs() < 1e-9, "{gain}");
    }

    /// Each benchmark writes something else, so only its own reference can judge it.
    #[test]
    fn each_benchmark_is_compared_with_its_own_reference() {
        let bench = Bench::new();
        bench.script("by", SCALED);
        begin(&bench, TWO, &["./by", "1"]).ends_with(0);
        let words_of = |name: &str, by: &str| {
            let ran = bench.stillwell(&["campaign", "try", "c", name, "--", "./by", by]);
            (ran.code, words(&ran))
        };
        let (code, honest) = words_of("honest", "1.00");
        assert!(code != Some(2) && !honest.contains("not fair"), "{honest}");
        let (code, wrong) = words_of("wrong", "0.9");
        assert!(code == Some(1) && wrong.contains("not fair"), "{wrong}");
        assert!(wrong.contains("of the attempt in the benchmark"), "{wrong}");
    }
}
