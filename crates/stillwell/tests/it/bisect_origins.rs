//! `bisect` from a benchmark of a program, from a gate that failed, and from a change of a history.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped};
use crate::harnesses::google_benchmark;

/// A repository whose program's first benchmark takes so many ns in each commit.
fn repository(ns: &[u32]) -> Option<Bench> {
    let bench = Bench::new();
    if Command::new("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    git(&bench, &["init", "-q"]);
    for (n, ns) in ns.iter().enumerate() {
        bench.script("sums.in", &google_benchmark(*ns));
        bench.write("number", &n.to_string());
        git(&bench, &["add", "sums.in", "number"]);
        git(&bench, &["commit", "-q", "-m", &format!("commit {n}")]);
    }
    Some(bench)
}

fn git(bench: &Bench, words: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
    let mut git = Command::new("git");
    let git = git.args(identity).args(words).current_dir(bench.path("."));
    let done = git.env("HOME", bench.path(".")).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

const BUILD: &str = "mkdir -p bin && cp sums.in bin/sums";

/// The id of the commit with this number on the current branch.
fn id(bench: &Bench, n: usize) -> String {
    let listed = git(bench, &["log", "--reverse", "--format=%H"]);
    listed.lines().nth(n).unwrap().to_owned()
}

fn named(ran: &Ran) -> Value {
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    found["culprits"][0]["commits"][0]["id"].clone()
}

#[test]
fn a_benchmark_of_a_framework_is_searched() {
    let Some(bench) = repository(&[1000, 1000, 1000, 1100, 1100, 1100]) else { return };
    let words = ["bisect", "--json", "--seed", "5", "--build", BUILD, "--program", "bin/sums"];
    let only = ["--only", "BM_fib/8", "HEAD~5", "HEAD"];
    let ran = bench.stillwell(&[&words[..], &only].concat()).ends_with(0);
    assert_eq!(named(&ran), id(&bench, 3).as_str(), "{ran:#?}");
    // However quick they are.
    let begun = ran.stderr.lines().filter(|line| line.starts_with("building"));
    let begun = begun.filter(|line| !line.ends_with("in random link orders"));
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["n_builds"], begun.count(), "{ran:#?}");
    let ran = bench.stillwell(&[&words[..], &["--only", "BM_none", "HEAD~5", "HEAD"]].concat());
    assert!(ran.ends_with(2).stderr.contains("no benchmark \"BM_none\""));
}

#[test]
fn the_cause_of_a_gate_that_failed_is_found() {
    let Some(bench) = repository(&[1000, 1000, 1000, 1300, 1300]) else { return };
    let first = id(&bench, 0);
    let gate = ["gate", "--base", &first, "--build", BUILD, "-o", "out.suite", "bin/sums"];
    bench.stillwell(&gate).ends_with(1);
    let words = ["bisect", "--json", "--gate", "out.suite", "--build", BUILD];
    let ran = bench.stillwell(&[&words[..], &["--program", "bin/sums"]].concat()).ends_with(0);
    assert_eq!(named(&ran), id(&bench, 3).as_str(), "{ran:#?}");
}

/// A history of a command that says its value, with a change between two commits that lie apart. The values of commits
/// differ by up to 0.09 % without any noise in them: these differences are no changes.
#[test]
fn a_change_of_a_history_is_searched_and_the_commit_stays_in_it() {
    let Some(bench) = repository(&[1; 20]) else { return };
    // The number of each commit decides: from 10 on it is slower. The program is in no commit.
    let script = "#!/bin/sh\nread n < number\nrest=$((n * 7 % 10))\n\
                  [ $n -ge 10 ] && echo 105.0$rest || echo 100.0$rest\n";
    bench.script("prog", script);
    let prog = bench.path("prog").display().to_string();
    let ids: Vec<String> = (0..20).map(|n| id(&bench, n)).collect();
    // Every commit but those around the change.
    let records: Vec<String> = (0..8).chain(12..20).map(|n| format!("{n}.swell")).collect();
    for record in &records {
        let n: usize = record.trim_end_matches(".swell").parse().unwrap();
        git(&bench, &["checkout", "-q", &ids[n]]);
        let run = ["run", "-r", "3", "--value", "(.+)", "-o", record, "--style", "none", &prog];
        bench.stillwell(&run).ends_with(0);
    }
    let records: Vec<&str> = records.iter().map(|record| &**record).collect();
    let add = [&["history", "add", "--db", "h.db"][..], &records[..]].concat();
    bench.stillwell(&add).ends_with(0);
    git(&bench, &["checkout", "-q", "main"]);
    let changes = ["history", "changes", "--db", "h.db"];
    let listed = bench.stillwell(&changes).ends_with(0);
    assert!(listed.stdout.contains("\n1. "), "{listed:#?}");
    let ran = bench.stillwell(&[&changes[..], &["--bisect", "1"]].concat()).ends_with(0);
    let culprit = &ids[10];
    assert!(ran.stdout.contains(&format!("{} \"commit 10\"", &culprit[..10])), "{ran:#?}");
    assert_eq!(ran.stdout.matches("ends  ").count(), 1, "nothing else is left: {ran:#?}");
    let listed = bench.stillwell(&changes).ends_with(0);
    assert!(
        listed.stdout.contains("found: ") && listed.stdout.contains("commit 10"),
        "{listed:#?}"
    );
    let found: Value =
        serde_json::from_str(&bench.stillwell(&[&changes[..], &["--json"]].concat()).stdout)
            .unwrap();
    let culprits = found["changes"][0]["culprits"].as_array().unwrap();
    let heads: Vec<&Value> = culprits.iter().map(|it| &it["head"]).collect();
    assert_eq!(heads, [culprit.as_str()], "{found:#}");
    bench.stillwell(&["history", "report", "--db", "h.db", "-o", "site"]).ends_with(0);
    assert!(bench.read("site/index.html").contains("Found by bisect"));
    let mut none = bench.command(STILLWELL);
    let ran = Ran::from(none.args(changes).args(["--bisect", "2"]).output().unwrap());
    assert!(ran.ends_with(2).stderr.contains("the list has 1 change"));
}
