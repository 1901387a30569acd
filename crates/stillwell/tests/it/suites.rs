//! `bench SUITE.toml`: benchmarks of all kinds from one file, interrupted and resumed.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, Record, STILLWELL, wait_until};

/// Two variants of a command that logs its runs and waits at a given run.
const COUNTED: &str = r#"
[[variant]]
name = "base"
env = { WHO = "base" }
[[variant]]
name = "new"
env = { WHO = "new" }
[[benchmark]]
name = "count-{n}"
command = "./count {n}"
matrix = { n = [1, 2, 3] }
"#;

/// Waits from its 20th run on, until a file `go` exists.
const COUNT: &str = "#!/bin/sh
echo \"$1 $WHO\" >> log
while [ ! -e go ] && [ $(wc -l < log) -ge 20 ]; do sleep 0.01; done
";

fn counted() -> Bench {
    let bench = Bench::new();
    bench.write("suite.toml", COUNTED);
    bench.script("count", COUNT);
    bench
}

/// The records of a suite, in the order of the suite.
fn records(bench: &Bench, directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.path(directory)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "swell"));
    paths.sort();
    paths
}

/// Number of timed runs of each (arm, block) of a record.
#[track_caller]
fn check_blocks(record: &Record, n_blocks: i64, n_arms: i64) {
    for block in 0..n_blocks {
        for arm in 0..n_arms {
            let is_it = |row: &&crate::bench::Row| row.block == Some(block) && row.arm == arm;
            assert_eq!(record.timed().filter(is_it).count(), 1, "arm {arm} of block {block}");
        }
    }
    // Blocks that are left out as warm-up are made up for.
    let n_more = record.timed().count() as i64 - n_blocks * n_arms;
    assert!((0..=n_arms * (n_blocks / 4)).contains(&n_more), "{n_more} more");
}

/// A benchmark that was killed in its first block has no pace yet. It was said to have no time.
#[test]
fn a_benchmark_that_was_killed_in_its_first_block_goes_on() {
    let bench = counted();
    bench.write("go", "");
    bench.stillwell(&["bench", "suite.toml", "--budget", "3s", "-o", "out"]).ends_with(0);
    let path = records(&bench, "out").remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let is_timed = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row.as_array().is_some_and(|row| row[2] == 0)
    };
    let n_lines = 1 + text.lines().position(is_timed).unwrap();
    let kept: Vec<&str> = text.lines().take(n_lines).collect();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    assert_eq!(Record::read(&path).timed().count(), 1);
    bench.stillwell(&["bench", "--resume", "out"]).ends_with(0);
    assert!(Record::read(&path).timed().count() > 8);
}

#[test]
fn a_suite_that_was_killed_goes_on_without_repeating_a_block() {
    for signal in [Signal::KILL, Signal::INT] {
        let bench = counted();
        let mut command = bench.command(STILLWELL);
        command.args(["bench", "suite.toml", "--runs", "6", "-o", "out"]);
        let running = bench.spawn(command);
        wait_until("the 20th run", || bench.read("log").lines().count() >= 20);
        running.signal(signal);
        let ended = running.finish();
        assert_eq!(ended.code, (signal == Signal::INT).then_some(130), "{ended:#?}");
        let before: Vec<(PathBuf, Record)> = records(&bench, "out")
            .into_iter()
            .map(|path| (path.clone(), Record::read(&path)))
            .collect();
        let shown = bench.stillwell(&["show", "out"]).ends_with(0).stdout;
        assert_eq!(shown.contains("\nnot begun: "), before.len() < 3, "{shown}");
        let n_before: usize = before.iter().map(|(_, record)| record.rows.len()).sum();
        // 20 runs were started, and the last was interrupted.
        assert_eq!(n_before, 19);
        bench.write("go", "");
        bench.stillwell(&["bench", "--resume", "out", "--style", "basic"]).ends_with(0);
        assert_eq!(records(&bench, "out").len(), 3);
        for path in records(&bench, "out") {
            let record = Record::read(&path);
            assert_eq!(record.end(), Some("complete"), "{path:?}");
            let before = before.iter().find(|(other, _)| *other == path);
            for (old, new) in before.iter().flat_map(|(_, it)| it.rows.iter().zip(&record.rows)) {
                assert_eq!((old.step, old.arm, old.block), (new.step, new.arm, new.block));
                assert_eq!(old.get("wall_ns"), new.get("wall_ns"));
            }
        }
        // Stillwell does not repeat an interrupted block. It is one of the six blocks, but gives no pair.
        let whole = records(&bench, "out").into_iter().map(|path| Record::read(&path));
        let n_pairs: usize = whole.map(|record| record.timed().count() / 2).sum();
        assert!((17..=22).contains(&n_pairs), "{n_pairs}");
        let shown = bench.stillwell(&["show", "out", "--json"]).ends_with(0);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["analysis"]["comparisons"].as_array().unwrap().len(), 3);
        // The suite is complete.
        let log = bench.read("log");
        bench.stillwell(&["bench", "--resume", "out", "--style", "none"]).ends_with(0);
        assert_eq!(bench.read("log"), log);
    }
}

/// The list of copies that a session removes at its end is in `suite.json`.
#[test]
fn an_edited_suite_removes_no_other_directory() {
    let bench = counted();
    bench.write("go", "");
    bench.stillwell(&["bench", "suite.toml", "--runs", "6", "-o", "out"]).ends_with(0);
    let builds = bench.path("cache/stillwell/builds");
    std::fs::create_dir_all(builds.join("copy")).unwrap();
    std::fs::create_dir_all(bench.path("precious")).unwrap();
    let copies = [bench.path("precious"), builds.join("../../../precious"), builds.join("copy")];
    let copies = serde_json::to_string(&copies).unwrap();
    let edited = bench.read("out/suite.json").replacen('{', &format!("{{\"copies\":{copies},"), 1);
    bench.write("out/suite.json", &edited);
    bench.stillwell(&["bench", "--resume", "out"]).ends_with(0);
    assert!(bench.path("precious").is_dir());
    assert!(!builds.join("copy").exists());
}

#[test]
fn only_one_measures_into_a_directory() {
    let bench = counted();
    let mut command = bench.command(STILLWELL);
    command.args(["bench", "suite.toml", "--runs", "6", "-o", "out"]);
    let running = bench.spawn(command);
    wait_until("the 20th run", || bench.read("log").lines().count() >= 20);
    let second = bench.stillwell(&["bench", "--resume", "out"]);
    second.ends_with(2).says(&["somebody else is measuring into out"]);
    bench.write("go", "");
    running.finish().ends_with(0);
}

#[test]
fn a_suite_that_goes_on_keeps_its_plan() {
    let bench = counted();
    bench.write("go", "");
    bench.stillwell(&["bench", "suite.toml", "--runs", "1", "-o", "out"]).ends_with(0);
    let changes: [&[&str]; 12] = [
        &["--budget", "1s"],
        &["--no-aslr"],
        &["--nice", "1"],
        &["--sched", "batch"],
        &["--delta"],
        &["--track-memory"],
        &["--tracemalloc"],
        &["--decide-on", "cpu"],
        &["--subtract-loop"],
        &["--env-padding", "off"],
        &["--inherit-environ", "A"],
        &["--debug-single-value"],
    ];
    for change in changes {
        let ran = bench.stillwell(&[&["bench", "--resume", "out"], change].concat());
        let advice = format!("leave {} out, or start a new suite", change[0]);
        ran.ends_with(2).says(&["--resume goes on by the plan", &advice]);
    }
    bench.stillwell(&["bench", "--resume", "out", "--runs", "2"]).ends_with(2).says(&["--runs"]);
    bench.stillwell(&["bench", "--resume", "out", "--json"]).ends_with(0);
}

#[test]
fn a_run_that_failed_is_no_time_when_its_benchmark_goes_on() {
    let bench = counted();
    bench.script("count", "#!/bin/sh\necho x >> log\n[ $(wc -l < log) != 9 ] || exit 3\n");
    let text = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                [[benchmark]]\nname = \"n\"\ncommand = \"./count\"\n";
    bench.write("suite.toml", text);
    let ran = bench.stillwell(&["bench", "suite.toml", "--runs", "8", "-o", "out"]);
    ran.ends_with(2).says(&["exited with 3", "--resume out"]);
    bench.stillwell(&["bench", "--resume", "out", "--style", "none"]).ends_with(0);
    // The ninth run is the first of the fourth block, after the warm-ups. That block stays incomplete and does not count.
    let shown = bench.stillwell(&["show", "out", "--json"]).ends_with(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let arms = shown["analysis"]["arms"].as_array().unwrap();
    let mut n_runs: Vec<_> = arms.iter().map(|arm| arm["n_runs"].as_u64().unwrap()).collect();
    n_runs.sort_unstable();
    // Blocks that are left out as warm-up are made up for.
    assert!(n_runs[0] == n_runs[1] && (7..=9).contains(&n_runs[0]), "{n_runs:?}");
}

#[test]
fn a_suite_goes_on_when_there_is_room_again() {
    let bench = counted();
    bench.write("go", "");
    let limited = format!("ulimit -f 24; exec '{STILLWELL}' bench suite.toml --runs 60 -o out");
    let ran = Ran::from(bench.command("sh").args(["-c", &limited]).output().unwrap());
    ran.ends_with(2).says(&["File too large", "--resume out"]);
    let has_ended = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("\"end\"");
    assert!(!records(&bench, "out").iter().all(has_ended));
    bench.stillwell(&["bench", "--resume", "out", "--style", "none"]).ends_with(0);
    for path in records(&bench, "out") {
        let record = Record::read(&path);
        assert_eq!(record.end(), Some("complete"));
        assert!((118..=150).contains(&record.timed().count()), "{path:?}");
    }
}

#[test]
fn all_kinds_of_benchmarks_and_their_combinations() {
    let bench = Bench::new();
    bench.write(
        "suite.toml",
        r#"
name = "kinds"
[[variant]]
name = "base"
[[variant]]
name = "new"
prefix = "env X=1"
[[benchmark]]
name = "command"
command = "sh -c 'test $X$WHAT = ok || test $X$WHAT = 1ok'"
shell = false
env = { WHAT = "ok" }
tags = ["fast"]
[[benchmark]]
name = "sum"
statement = "sum(range({n}) if {n} > 1 else [])"
code_setup = ["import os", "assert '{variant}' in ('base', 'new')"]
matrix = { n = [1, 10], kind = ["a", "b"] }
exclude = [{ n = 1, kind = "b" }]
[[benchmark]]
name = "alone"
command = "{python} -S -c pass"
variants = ["new"]
"#,
    );
    let list = bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(0);
    let names = "command\nsum[kind=a,n=1]\nsum[kind=a,n=10]\nsum[kind=b,n=10]\nalone\n";
    assert_eq!(list.stdout, names);
    let picked = bench.stillwell(&["bench", "suite.toml", "--list", "--tag", "fast"]).ends_with(0);
    assert_eq!(picked.stdout, "command\n");
    let picked = bench.stillwell(&["bench", "suite.toml", "--list", "--filter", "n=10"]);
    assert_eq!(picked.ends_with(0).stdout, "sum[kind=a,n=10]\nsum[kind=b,n=10]\n");
    let run = ["bench", "suite.toml", "--runs", "3", "--seed", "7", "-o", "out"];
    let shown = bench.stillwell(&run).ends_with(0).stdout;
    assert!(shown.contains("in one program only: alone"), "{shown}");
    // One comparison needs 8 pairs; a family of four needs more.
    assert!(shown.contains("needs 10 complete pairs of runs; there are 3"), "{shown}");
    let json = bench.stillwell(&["bench", "suite.toml", "--list", "--json"]).ends_with(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["benchmarks"][4]["variants"], serde_json::json!(["new"]));
    // The other verbs accept the directory too.
    bench.stillwell(&["history", "add", "out", "--db", "h.db"]).ends_with(0);
    // On a busy machine a t0 may only be a limit, which a history leaves out.
    let history = bench.stillwell(&["history", "show", "--db", "h.db", "--by=median"]);
    let history = history.ends_with(0).stdout;
    assert!(history.contains("sum[kind=b,n=10]") && history.contains("alone"), "{history}");
    bench.stillwell(&["report", "out", "-o", "page.html"]).ends_with(0);
    assert!(bench.read("page.html").contains("sum[kind=a,n=10]"));
    bench.stillwell(&["convert", "out", "--to", "pyperf", "-o", "out.json"]).ends_with(0);
    assert!(bench.read("out.json").contains("\"command"));
}

#[test]
fn one_benchmark_of_a_suite_is_a_record_like_any_other() {
    let bench = counted();
    bench.write("go", "");
    let only = ["bench", "suite.toml", "--only", "count-2", "--runs", "5", "--seed", "3"];
    bench.stillwell(&[&only[..], &["-o", "r.swell"]].concat()).ends_with(0);
    check_blocks(&bench.record(), 5, 2);
    assert_eq!(bench.record().header["plan"]["suite"]["benchmark"], "count-2");
    assert_eq!(bench.record().header["plan"]["arms"][1]["name"], "new");
    let several = ["bench", "suite.toml", "--runs", "5", "-o", "s.swell"];
    bench.stillwell(&several).ends_with(2).says(&["of one benchmark", "3 are asked for"]);
    let none = ["bench", "suite.toml", "--only", "count-4"];
    bench.stillwell(&none).ends_with(2).says(&["none of the 3 benchmarks is asked for"]);
}

#[test]
fn the_command_line_can_name_the_variants() {
    let bench = counted();
    bench.write("go", "");
    bench.write(
        "suite.toml",
        "[[benchmark]]\nname = \"n\"\ncommand = \"1\"\nenv = {WHO = \"{variant}\"}\n",
    );
    let arms = ["--arms", "old=./count,other=./count"];
    let run = ["bench", "suite.toml", "--runs", "2", "-o", "out"];
    bench.stillwell(&[&run[..], &arms].concat()).ends_with(0);
    let mut log: Vec<String> = bench.read("log").lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["1 old", "1 old", "1 old", "1 other", "1 other", "1 other"]);
}

#[test]
fn a_benchmark_that_fails_does_not_take_the_others_with_it() {
    let bench = counted();
    bench.write("go", "");
    let text = COUNTED.to_owned() + "[[benchmark]]\nname = \"bad\"\ncommand = \"sh -c 'exit 7'\"\n";
    bench.write("suite.toml", &text);
    let ran = bench.stillwell(&["bench", "suite.toml", "--runs", "2", "-o", "out"]);
    let ran = ran.ends_with(2).says(&["bad: command", "exited with 7"]);
    assert!(ran.stdout.starts_with("FAILED: bad: "), "{ran:#?}");
    let ends: Vec<_> =
        records(&bench, "out").iter().map(|it| Record::read(it).end().map(str::to_owned)).collect();
    let complete = Some("complete".to_owned());
    assert_eq!(ends, [complete.clone(), complete.clone(), complete, Some("failed".into())]);
    for format in ["bmf", "pyperf"] {
        let convert = ["convert", "out", "--to", format, "-o", format];
        bench.stillwell(&convert).ends_with(0).says(&["note: bad (", "is left out"]);
        assert!(bench.read(format).contains("count-3 (new)"));
    }
    // The user may have repaired the command, so `--resume` tries it again.
    let resume = ["bench", "--resume", "out", "--style", "none"];
    bench.stillwell(&resume).ends_with(2).says(&["bad: command", "--resume out"]);
    bench.write("suite.toml", "[[benchmark]]\nname = \"bad\"\ncommand = \"./missing\"\n");
    let ran = bench.stillwell(&["bench", "suite.toml", "-o", "nothing"]);
    ran.ends_with(2).says(&["bad: cannot execute", "nothing has been measured"]);
    assert!(!bench.path("nothing").exists());
}

#[test]
fn setup_and_cleanup_are_executed_once_for_each_benchmark() {
    let bench = counted();
    bench.write("go", "");
    let hooks = "setup = \"echo up {n} >> hooks\"\ncleanup = \"echo down {n} >> hooks\"\n";
    bench.write("suite.toml", &format!("{COUNTED}{hooks}"));
    let ran = bench.stillwell(&["bench", "suite.toml", "--runs", "2", "-o", "out"]);
    ran.ends_with(0);
    let mut hooks: Vec<String> = bench.read("hooks").lines().map(str::to_owned).collect();
    hooks.sort();
    assert_eq!(hooks, ["down 1", "down 2", "down 3", "up 1", "up 2", "up 3"]);
}

#[test]
fn the_example_is_what_its_text_says() {
    let bench = Bench::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/suite.toml");
    let list = bench.stillwell(&["bench", example, "--list", "--json"]).ends_with(0).stdout;
    let list: Value = serde_json::from_str(&list).unwrap();
    let names: Vec<_> =
        list["benchmarks"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names.len(), 10 + 5, "{names:?}");
}

#[test]
fn warm_up_runs_and_limits_of_blocks_are_policies() {
    let bench = counted();
    bench.write("go", "");
    let policy = "policy = { warmup = 3, max_blocks = 5 }\n";
    bench.write("suite.toml", &COUNTED.replace("matrix", &format!("{policy}matrix")));
    let run = ["bench", "suite.toml", "--only", "count-1", "-o", "r.swell"];
    bench.stillwell(&run).ends_with(0);
    let record = bench.record();
    let n_warmups = record.rows.iter().filter(|row| row.block.is_none()).count();
    assert_eq!((n_warmups, record.timed().count()), (6, 10));
    let statement = "[[benchmark]]\nname = \"s\"\nstatement = \"sum(range(9))\"\n\
                     policy = { max_blocks = 2, warmup = 4, min_time = \"100us\" }\n";
    bench.write("suite.toml", statement);
    bench.stillwell(&["bench", "suite.toml", "-o", "s.swell"]).ends_with(0);
    let record = Record::read(&bench.path("s.swell"));
    assert_eq!(record.rows.iter().filter_map(|row| row.block).max(), Some(1));
    assert_eq!(record.header["plan"]["workers"]["n_warmup_slices"], 4);
}
