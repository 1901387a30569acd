//! Histories with results of suites and of resumed sessions.

use serde_json::{Value, json};

use crate::bench::{Bench, Ran, STILLWELL};

/// Runs git with a fixed author, on a day of January 2026.
fn git(bench: &Bench, day: u32, words: &[&str]) -> String {
    let mut git = bench.command("git");
    git.args(["-C", "project", "-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
    git.env("GIT_COMMITTER_DATE", format!("2026-01-{day:02}T00:00:00Z"));
    let ran = Ran::from(git.output().expect("git")).ends_with(0);
    ran.stdout.trim().to_owned()
}

/// Makes a repository `project` with three commits, one a day. Returns the ids.
fn repository(bench: &Bench) -> Vec<String> {
    std::fs::create_dir(bench.path("project")).expect("a directory");
    git(bench, 1, &["init", "-q", "-b", "main"]);
    let commit = |day: u32| {
        bench.script("project/prog", &format!("#!/bin/sh\n# of day {day}\n"));
        git(bench, day, &["add", "prog"]);
        git(bench, day, &["commit", "-q", "-m", &format!("day {day}")]);
        git(bench, day, &["rev-parse", "HEAD"])
    };
    (1..=3).map(commit).collect()
}

fn bench_suite(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.env("XDG_CACHE_HOME", bench.path("cache")).arg("bench").args(arguments);
    Ran::from(command.output().expect("stillwell"))
}

/// For each series: benchmark, arm, and these keys of its only result.
fn only_results(bench: &Bench, keys: [&str; 2]) -> Vec<Value> {
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--json"]).ends_with(0);
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let of = |series: &Value| {
        let [entry] = &series["entries"].as_array().expect("entries")[..] else {
            panic!("{series:#}")
        };
        let [first, second] = keys.map(|key| entry[key].clone());
        json!([series["benchmark"], series["arm"], first, second])
    };
    all.as_array().expect("series").iter().map(of).collect()
}

const SUITE: &str = r#"
[[variant]]
name = "first"
revision = "main~2"
[[variant]]
name = "here"
[[variant]]
name = "tagged"
revision = "v2"
[[benchmark]]
name = "prog"
command = "./prog"
[[benchmark]]
name = "alone"
command = "./prog"
variants = ["tagged"]
"#;

/// Midnight of a day of January 2026, UTC.
fn midnight_s(day: i64) -> i64 {
    1_767_225_600 + (day - 1) * 86_400
}

/// The commits depend neither on the checkout nor on the working directory.
#[test]
fn results_of_a_suite_have_the_commits_of_their_variants() {
    let bench = Bench::new();
    let commits = repository(&bench);
    git(&bench, 2, &["tag", "-a", "-m", "a tag is no commit", "v2", "main~1"]);
    // `git show` may print a signature or colours before the commit.
    git(&bench, 3, &["config", "log.showSignature", "true"]);
    bench.write("project/suite.toml", SUITE);
    let (first, tagged, here) = (&commits[0], &commits[1], &commits[2]);
    bench_suite(&bench, &["project/suite.toml", "--runs", "3", "-o", "out"]).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "out"]).ends_with(0);
    let of_checkout = json!(null);
    assert_eq!(
        only_results(&bench, ["revision", "committed_s"]),
        [
            json!(["alone", null, tagged, midnight_s(2)]),
            json!(["prog", "first", first, midnight_s(1)]),
            // Only git knows the time of this commit, and Stillwell asked it in another directory.
            json!(["prog", "here", here, of_checkout]),
            json!(["prog", "tagged", tagged, midnight_s(2)]),
        ]
    );
    let ran = bench.stillwell(&["history", "get", "--db", "h.db", "1", "-o", "one.swell"]);
    ran.ends_with(0);
    bench.stillwell(&["history", "add", "--db", "asked.db", "--repository", "project", "out"]);
    std::fs::rename(bench.path("asked.db"), bench.path("h.db")).expect("a file");
    assert_eq!(
        only_results(&bench, ["revision", "committed_s"])[2],
        json!(["prog", "here", here, midnight_s(3)])
    );
    let add = ["history", "add", "--db", "other.db", "--revision", "v9", "out"];
    bench
        .stillwell(&add)
        .ends_with(2)
        .says(&["001-prog.swell: its results are of several commits"]);
    // The converted file has the same commits.
    bench
        .stillwell(&["convert", "out/001-prog.swell", "--to", "pyperf", "-o", "p.json"])
        .ends_with(0);
    let converted: Value = serde_json::from_str(&bench.read("p.json")).expect("JSON");
    let revisions: Vec<&Value> = converted["benchmarks"]
        .as_array()
        .expect("benchmarks")
        .iter()
        .map(|benchmark| &benchmark["metadata"]["git_revision"])
        .collect();
    assert_eq!(revisions, [first, here, tagged]);
}

/// Early records have no commits of variants. There the commit of the checkout applies only to variants that ran in it.
#[test]
fn a_suite_that_does_not_say_has_the_commit_of_where_it_ran() {
    let bench = Bench::new();
    let commits = repository(&bench);
    bench.write("project/suite.toml", SUITE.replace("v2", "main").as_str());
    let mut command = bench.command(STILLWELL);
    command.env("XDG_CACHE_HOME", bench.path("cache")).current_dir(bench.path("project"));
    command.args(["bench", "suite.toml", "--runs", "3", "-o", "../out", "--only", "prog"]);
    Ran::from(command.output().expect("stillwell")).ends_with(0);
    let record = bench.read("out/001-prog.swell");
    let (header, rows) = record.split_once('\n').expect("a header");
    let mut header: Value = serde_json::from_str(header).expect("JSON");
    for arm in header["plan"]["arms"].as_array_mut().expect("arms") {
        assert!(arm.as_object_mut().expect("an arm").remove("git").is_some(), "{arm:#}");
    }
    bench.write("old.swell", &format!("{header}\n{rows}"));
    bench.stillwell(&["history", "add", "--db", "h.db", "old.swell"]).ends_with(0);
    assert_eq!(
        only_results(&bench, ["revision", "committed_s"]),
        [
            json!(["prog", "first", null, null]),
            json!(["prog", "here", commits[2], null]),
            json!(["prog", "tagged", null, null]),
        ]
    );
}

/// A suite whose ninth run fails, and a copy of its results at that time.
fn interrupted() -> Bench {
    let bench = Bench::new();
    bench.script("count", "#!/bin/sh\necho x >> log\n[ $(wc -l < log) != 9 ] || exit 3\n");
    let text = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                [[benchmark]]\nname = \"n\"\ncommand = \"./count\"\n";
    bench.write("suite.toml", text);
    bench_suite(&bench, &["suite.toml", "--runs", "8", "-o", "out"]).ends_with(2);
    let copy = Ran::from(bench.command("cp").args(["-a", "out", "old"]).output().expect("cp"));
    copy.ends_with(0);
    bench
}

#[test]
fn a_suite_that_was_gone_on_with_is_one_result() {
    let bench = interrupted();
    let add = |directory: &str| {
        bench.stillwell(&["history", "add", "--db", "h.db", directory]).ends_with(0).stdout
    };
    assert_eq!(add("out"), "1 file added\n");
    let before = only_results(&bench, ["record", "n_runs"]);
    assert_eq!(before, [json!(["n", "a", 1, 3]), json!(["n", "b", 1, 3])]);
    bench_suite(&bench, &["--resume", "out"]).ends_with(0);
    assert_eq!(add("out"), "0 files added, 1 brought up to date\n");
    let after = only_results(&bench, ["record", "n_runs"]);
    // A block that is left out as warm-up is made up for.
    let expected = |n: u64| vec![json!(["n", "a", 1, n]), json!(["n", "b", 1, n])];
    assert!((7..=9).any(|n| after == expected(n)), "{after:?}");
    // Neither the older state nor the same state adds a result.
    for directory in ["old", "out"] {
        assert_eq!(add(directory), "0 files added, 1 known already\n");
        assert_eq!(only_results(&bench, ["record", "n_runs"]), after);
    }
    bench.stillwell(&["history", "get", "--db", "h.db", "1", "-o", "again.swell"]).ends_with(0);
    assert_eq!(bench.read("again.swell"), bench.read("out/001-n.swell"));
}

/// No run is lost: two copies of one session were resumed, so each has runs that the other lacks.
#[test]
fn copies_that_were_both_gone_on_with_are_both_kept() {
    let bench = interrupted();
    for directory in ["out", "old"] {
        bench_suite(&bench, &["--resume", directory]).ends_with(0);
    }
    let ran = bench.stillwell(&["history", "add", "--db", "h.db", "out", "old"]).ends_with(0);
    assert_eq!(ran.stdout, "2 files added\n");
}
