//! Which programs `gate` knows, and what it says of others.

use std::process::Command;

use crate::bench::{Bench, Ran};
use crate::two_builds::compile;

/// Two directories, `o` and `n`.
fn directories() -> Bench {
    let bench = Bench::new();
    for side in ["o", "n"] {
        std::fs::create_dir(bench.path(side)).unwrap();
    }
    bench
}

fn gate(bench: &Bench, more: &[&str]) -> Ran {
    bench.stillwell(&[&["gate", "--old", "o", "--new", "n"], more].concat())
}

/// All output, without the breaks of long lines.
fn said(ran: &Ran) -> String {
    [&*ran.stdout, &ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_program_of_the_worker_protocol_is_measured() {
    let bench = directories();
    compile(&bench, "two_builds.c", "-DSIZE=64", "o/prog");
    compile(&bench, "two_builds.c", "-DSIZE=96", "n/prog");
    // Few machines decide anything in a second, and a busy one may need longer for an answer.
    let short = ["--budget", "1s", "--timeout", "10min"];
    gate(&bench, &[&short[..], &["--only", "*mix", "--json", "g.json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&bench.read("g.json")).unwrap();
    let benchmarks = document["benchmarks"].as_array().unwrap();
    assert_eq!((benchmarks.len(), &benchmarks[0]["name"]), (1, &"mix".into()), "{document:#}");
    let counted = gate(&bench, &["--decide-on", "instructions", "./prog"]).ends_with(2);
    assert!(said(&counted).contains("not counted for the loops of a worker"), "{counted:#?}");
}

/// A worker that can list its benchmark, and cannot execute it.
const FAILING: &str = r#"#!/usr/bin/env python3
# --stillwell-worker=
import os, sys
asked, says = [os.fdopen(int(fd), mode) for fd, mode in zip(sys.argv[1].split("=")[1].split(","), "rw")]
def say(line): says.write(line + "\n"); says.flush()
say("stillwell 1 language=python")
answers = {"list": "benchmark bad timer=own\nend", "select": "ok", "run": "error boom", "metadata": "end"}
for line in asked:
    if line.split()[0] == "quit": break
    say(answers.get(line.split()[0], "error unknown"))
"#;

/// Its session leaves no record.
#[test]
fn the_only_benchmark_is_named_if_it_fails() {
    let bench = directories();
    bench.script("o/prog", FAILING);
    bench.script("n/prog", &FAILING.replace("boom", "bang"));
    let ran =
        gate(&bench, &["--budget", "5s", "--json", "g.json", "--junit", "j.xml"]).ends_with(2);
    let document: serde_json::Value = serde_json::from_str(&bench.read("g.json")).unwrap();
    let failing = document["failing"][0].to_string();
    assert!(failing.starts_with("\"bad: program "), "{ran:#?} {document:#}");
    assert!(bench.read("j.xml").contains("name=\"bad\"><error message=\"bad: program "));
    assert!(said(&ran).contains("gate: error: a program or a benchmark fails"), "{ran:#?}");
}

/// The advice can be copied to the command line.
#[test]
fn a_program_of_no_framework_is_named_with_what_compares_it() {
    let bench = directories();
    for path in ["o/prog", "n/prog"] {
        bench.script(path, "#!/bin/sh\n");
    }
    let says = |words: &[&str], expected: &str| {
        let ran = bench.stillwell(&[&["gate"], words].concat()).ends_with(2);
        let said = said(&ran);
        assert!(said.contains(expected), "{expected:?} is missing: {said}");
        said
    };
    let finished = ["--old", "o", "--new", "n"];
    let advice = "`stillwell run --fail-on slower:1% o/prog n/prog` compares";
    says(&[&finished[..], &["./prog"]].concat(), advice);
    let command = r"'sh -c '\''cd o && exec ./prog x'\''' 'sh -c";
    says(&[&finished[..], &["./prog x"]].concat(), command);
    says(&finished, "/n; build them first, or name them, for example");
    let git = |words: &[&str]| {
        let mut git: Command = bench.command("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
        Ran::from(git.output().unwrap()).ends_with(0);
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let build = ["--base", "HEAD", "--build", "cp /bin/true prog"];
    let unnamed = says(&build, "; name them, for example");
    assert!(!unnamed.contains(" or /"), "both builds are in one directory: {unnamed}");
    let named = [&build[..], &["./prog"]].concat();
    let advice = "--revisions HEAD,HEAD --build 'cp /bin/true prog' --fail-on slower:1% ./prog`";
    // First the build has the program, then it exists before.
    for _ in 0..2 {
        let said = says(&named, advice);
        assert!(said.contains("\"./prog\" is of no benchmark framework that is known"), "{said}");
        bench.script("prog", "#!/bin/sh\n");
    }
}
