//! Pools from the outside, with a queue that runs each job at once. `tests/slurm/` has the tests on a real Slurm.

use serde_json::Value;

use crate::bench::{Bench, Ran, wait_until};
use crate::suite_builds::{commit, plain_repository};

const SUITE: &str = r#"
name = "demo"
[[variant]]
name = "base"
[[variant]]
name = "new"
[[benchmark]]
name = "first"
command = "true"
[[benchmark]]
name = "second"
command = "true"
"#;

/// Job 0 on node n0, job 1 on n1, ...: three nodes.
const ON_THREE: &str = "sh -c 'set -- {script}; SLURMD_NODENAME=n$(($2 % 3)) sh \"$1\" \"$2\"'";

fn bench(suite: &str) -> Bench {
    let bench = Bench::new();
    bench.write("s.toml", suite);
    bench
}

fn run(bench: &Bench, submit: &str, repetitions: &str) -> Ran {
    let fixed = ["pool", "run", "s.toml", "-o", "p", "--seed", "3", "--runs", "2"];
    let asked = ["--repetitions", repetitions, "--submit", submit];
    bench.stillwell(&[&fixed[..], &asked[..]].concat())
}

fn json(bench: &Bench, words: &[&str]) -> Value {
    let ran = bench.stillwell(&[&["pool"], words, &["p", "--json"]].concat()).ends_with(0);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|it| it.as_str().expect("a text")).collect()
}

#[test]
fn every_task_is_measured_once_and_counts_for_its_node() {
    let bench = bench(SUITE);
    let said = run(&bench, ON_THREE, "6").ends_with(0).stdout;
    assert!(said.starts_with("12 tasks: 2 benchmarks × 6 repetitions, 2 blocks each\n"), "{said}");
    let found = json(&bench, &["collect"]);
    assert_eq!((&found["n_done"], &found["n_tasks"]), (&12.into(), &12.into()));
    let variants = found["variants"].as_array().expect("a list");
    assert_eq!(variants.len(), 2);
    for line in variants {
        assert_eq!((&line["n_pairs"], &line["arm"]), (&12.into(), &"new".into()), "{line:#}");
        let pairs = line["nodes"].as_array().expect("nodes").iter();
        let pairs: u64 = pairs.map(|node| node["n_pairs"].as_u64().expect("a number")).sum();
        assert_eq!(pairs, 12);
    }
    let status = json(&bench, &["status"]);
    let nodes = status["nodes"].as_object().expect("nodes");
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["n0", "n1", "n2"]);
    assert!(nodes.values().all(|n| n == 4), "{nodes:?}");
    // A second run of the task measures nothing.
    let before = bench.read("p/done/0.swell");
    bench.stillwell(&["pool", "task", "p", "0"]).ends_with(0);
    assert_eq!(bench.read("p/done/0.swell"), before);
    assert_eq!(std::fs::read_dir(bench.path("p/part")).expect("part").count(), 0);
    let said = bench.stillwell(&["pool", "resume", "p"]).ends_with(0).stdout;
    assert_eq!(said, "nothing to submit: 12 done\n");
}

#[test]
fn what_is_missing_or_damaged_is_named_and_comes_back() {
    let bench = bench(SUITE);
    run(&bench, ON_THREE, "3").ends_with(0);
    let manifest: Value = serde_json::from_str(&bench.read("p/pool.json")).expect("JSON");
    let label = |task: usize| {
        let task = &manifest["tasks"][task];
        let benchmark =
            &manifest["benchmarks"][task["benchmark"].as_u64().expect("a number") as usize];
        let repetition = task["repetition"].as_u64().expect("a number") + 1;
        format!("{} #{repetition}", benchmark["name"].as_str().expect("a name"))
    };
    let done = |task: usize| bench.path(&format!("p/done/{task}.swell"));
    // Four damaged tasks: missing, of another task, cut off, and one that never ended and stayed in `part`.
    std::fs::remove_file(done(0)).expect("done");
    std::fs::copy(done(2), done(1)).expect("done");
    let text = bench.read("p/done/3.swell");
    bench.write("p/done/3.swell", &text[..text.len() - 30]);
    bench.write("p/part/0.n0.1.swell", &text);
    let found = json(&bench, &["collect"]);
    assert_eq!(found["n_done"], 3);
    assert_eq!(strings(&found["missing"]), [label(0)]);
    let damaged = found["damaged"].as_array().expect("a list");
    let why = |at: usize| (damaged[at][0].as_str(), damaged[at][1].as_str().unwrap_or_default());
    assert_eq!(damaged.len(), 2, "{damaged:?}");
    assert!(why(0).0 == Some(&label(1)) && why(0).1.contains("of another task"), "{damaged:?}");
    assert!(why(1).0 == Some(&label(3)) && why(1).1.contains("no proper end"), "{damaged:?}");
    // A benchmark without results may be slower, so the gate cannot pass.
    bench.stillwell(&["pool", "collect", "p", "--fail-on", "slower"]).ends_with(3);
    for task in [1, 3] {
        std::fs::remove_file(done(task)).expect("done");
    }
    bench.stillwell(&["pool", "resume", "p"]).ends_with(0);
    let found = json(&bench, &["collect"]);
    assert_eq!((&found["n_done"], &found["damaged"]), (&6.into(), &serde_json::json!([])));
}

#[test]
fn two_who_measure_the_same_leave_one_record() {
    let bench = bench(SUITE);
    // This queue runs no job.
    run(&bench, "echo queued {script}", "1").ends_with(0);
    assert!(bench.read("p/submissions.jsonl").contains("\"id\":\"queued "));
    let both: Vec<_> = ["a", "b"]
        .map(|node| {
            let mut command = bench.command("sh");
            command.args(["p/job.sh", "1"]).env("SLURMD_NODENAME", node);
            command.spawn().expect("sh")
        })
        .into_iter()
        .map(|mut child| child.wait().expect("it ends").code())
        .collect();
    assert_eq!(both, [Some(0), Some(0)]);
    let files = std::fs::read_dir(bench.path("p/done")).expect("done").flatten();
    let names: Vec<_> = files.map(|file| file.file_name()).collect();
    assert_eq!(names, ["1.swell"]);
    assert_eq!(std::fs::read_dir(bench.path("p/part")).expect("part").count(), 0);
    let found = json(&bench, &["collect"]);
    assert_eq!((&found["n_done"], found["missing"].as_array().map(Vec::len)), (&1.into(), Some(1)));
}

#[test]
fn a_task_that_fails_is_told_of_and_tried_again() {
    let suite =
        SUITE.replace("command = \"true\"\n[[benchmark]]", "command = \"./tool\"\n[[benchmark]]");
    let bench = bench(&suite);
    bench.script("tool", "#!/bin/sh\necho it broke >&2\nexit 9\n");
    // The job fails, as on Slurm, but the submission succeeds.
    run(&bench, "sh -c 'sh {script} || true'", "1").ends_with(0);
    let status = json(&bench, &["status"]);
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()), "{status:#}");
    let text = bench.stillwell(&["pool", "status", "p"]).ends_with(0).stdout;
    assert!(text.contains("first #1 failed: ") && text.contains("it broke"), "{text}");
    bench.script("tool", "#!/bin/sh\nexit 0\n");
    bench.stillwell(&["pool", "resume", "p"]).ends_with(0);
    assert_eq!(json(&bench, &["status"])["done"], 2);
    // Another suite needs another pool.
    std::fs::remove_file(bench.path("p/done/0.swell")).expect("done");
    bench.write("s.toml", &suite.replace("./tool", "./tool2"));
    let ran = bench.stillwell(&["pool", "task", "p", "0"]).ends_with(2);
    ran.says(&["s.toml was changed since this pool was made"]);
}

#[test]
fn mistakes_are_told_before_anything_is_submitted() {
    let bench = bench(&SUITE.replace("[[variant]]\nname = \"new\"\n", ""));
    let refused = |submit: &str, parts: &[&str]| {
        run(&bench, submit, "1").ends_with(2).says(parts);
        assert!(!bench.path("p").exists());
    };
    refused("sh {script}", &["\"first\" has one variant", "--arms"]);
    refused("qsub", &["does not say where the job's command goes"]);
    bench.write("s.toml", SUITE);
    refused("false {script}", &["nothing was submitted", "false"]);
    refused("./nosuch {script}", &["nothing was submitted", "nosuch"]);
    bench.stillwell(&["pool", "collect", "."]).ends_with(2).says(&["is no pool", "pool.json"]);
    bench
        .stillwell(&["pool", "collect", "12345"])
        .ends_with(2)
        .says(&["knows no pool of job 12345"]);
    run(&bench, "true {script}", "1").ends_with(0);
    run(&bench, "true {script}", "1").ends_with(2).says(&["exists already"]);
    bench.stillwell(&["pool", "task", "p", "2"]).ends_with(2).says(&["there is no job 2"]);
    bench.write("p/pool.json", "{\"format\":\"stillwell-pool\"}");
    bench.stillwell(&["pool", "status", "p"]).ends_with(2).says(&["pool.json", "missing field"]);
}

#[test]
fn a_job_that_is_told_to_end_leaves_the_task_to_the_next() {
    let bench = bench(&SUITE.replacen("\"true\"", "\"sh -c 'touch begun; exec sleep 600'\"", 1));
    run(&bench, "true {script}", "1").ends_with(0);
    let manifest: Value = serde_json::from_str(&bench.read("p/pool.json")).expect("JSON");
    let job = if manifest["tasks"][0]["benchmark"] == 0 { "0" } else { "1" };
    let mut command = bench.command(crate::bench::STILLWELL);
    command.args(["pool", "task", "p", job]);
    let running = bench.spawn(command);
    wait_until("the benchmark has begun", || bench.path("begun").exists());
    running.signal(rustix::process::Signal::TERM);
    running.finish().ends_with(130);
    assert_eq!(std::fs::read_dir(bench.path("p/part")).expect("part").count(), 0);
    assert_eq!(json(&bench, &["status"])["done"], 0);
}

/// A branch may move during a pool. The remaining tasks still measure the commits of the manifest.
#[test]
fn all_tasks_are_of_the_commits_that_the_pool_was_made_of() {
    let suite = "[[variant]]\nname = \"a=b\"\nrevision = \"HEAD\"\n[[variant]]\nname = \"new\"\n\
                 [[benchmark]]\nname = \"n\"\ncommand = \"true\"\n";
    let Some(bench) = plain_repository("") else { return };
    bench.write("s.toml", suite);
    run(&bench, "true {script}", "4").ends_with(0);
    let manifest: Value = serde_json::from_str(&bench.read("p/pool.json")).expect("JSON");
    let commits = manifest["commits"].as_object().expect("commits");
    assert_eq!(commits.keys().collect::<Vec<_>>(), ["a=b"]);
    let task = |number: &str| {
        bench.stillwell(&["pool", "task", "p", number]).ends_with(0);
    };
    let commit_of = |task: &str| {
        let record = crate::bench::Record::read(&bench.path(&format!("p/done/{task}.swell")));
        record.header["plan"]["arms"][0]["git"]["revision"].clone()
    };
    task("0");
    bench.write("more", "");
    commit(&bench, "two");
    task("1");
    assert_eq!(commit_of("0"), commits["a=b"]);
    assert_eq!(commit_of("1"), commits["a=b"]);
    assert_eq!(json(&bench, &["collect"])["n_done"], 2);
    // An older manifest names no commits, so every task counts.
    let mut older = manifest.clone();
    older.as_object_mut().expect("a manifest").remove("commits");
    bench.write("p/pool.json", &older.to_string());
    task("2");
    assert_ne!(commit_of("2"), commits["a=b"]);
    assert_eq!(json(&bench, &["collect"])["n_done"], 3);
    // If the manifest names them, only tasks of these commits count.
    bench.write("p/pool.json", &manifest.to_string());
    let found = json(&bench, &["collect"]);
    assert_eq!(found["n_done"], 2);
    let why = found["damaged"][0][1].as_str().unwrap_or_default();
    assert!(why.contains("its variant \"a=b\" is of commit"), "{found:#}");
}
