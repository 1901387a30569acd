//! Histories with odd repositories, names and files.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Bench, Ran};
use crate::privileges::as_nobody;

fn git(bench: &Bench, directory: &str, day: usize, words: &[&str]) -> String {
    let mut git = bench.command("git");
    git.args(["-C", directory, "-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
    git.env("GIT_COMMITTER_DATE", format!("2026-01-{day:02}T12:00:00Z"));
    let ran = Ran::from(git.output().expect("git")).ends_with(0);
    ran.stdout.trim().to_owned()
}

/// Makes a repository `project` with one commit a day. Returns the ids.
fn repository(bench: &Bench, n_commits: usize) -> Vec<String> {
    std::fs::create_dir(bench.path("project")).expect("a directory");
    git(bench, "project", 1, &["init", "-q", "-b", "main"]);
    let commit = |day: usize| {
        let subject = format!("day {day}");
        git(bench, "project", day, &["commit", "-q", "--allow-empty", "-m", &subject]);
        git(bench, "project", day, &["rev-parse", "HEAD"])
    };
    (1..=n_commits).map(commit).collect()
}

/// Adds a result of each commit. The second half is 5 % slower. The results have no dates of commits, so the order of
/// measurement stays.
fn add_results(bench: &Bench, commits: &[&str]) {
    add_results_of(bench, commits, None);
}

/// [`add_results`], all with this date of their commits.
fn add_results_of(bench: &Bench, commits: &[&str], committed: Option<&str>) {
    let file = |at: usize| format!("{at:02}.json");
    for (at, commit) in commits.iter().enumerate() {
        let level = if at < commits.len() / 2 { 1e-3 } else { 1.05e-3 };
        let noise = |i: usize| 1.0 + 0.002 * ((at * 7 + i * 13) % 11) as f64 / 11.0;
        let runs: Vec<Value> = (0..6).map(|i| json!({"values": [level * noise(i)]})).collect();
        let benchmarks = json!([{"metadata": {"name": "json", "unit": "second"}, "runs": runs}]);
        let date = format!("2026-02-01 00:00:{at:02}");
        let mut about = json!({"hostname": "box", "commit_id": commit, "date": date});
        if let Some(committed) = committed {
            about["commit_date"] = committed.into();
        }
        let results = json!({"version": "1.0", "metadata": about, "benchmarks": benchmarks});
        bench.write(&file(at), &results.to_string());
    }
    let files: Vec<String> = (0..commits.len()).map(file).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    bench.stillwell(&[&["history", "add", "--db", "h.db"], &files[..]].concat()).ends_with(0);
}

/// The commits of the only change, and the output about it.
fn commits_said(bench: &Bench, repository: &str) -> (Value, String) {
    let words = ["history", "changes", "--db", "h.db", "--repository", repository];
    let ran = bench.stillwell(&[&words[..], &["--json"]].concat()).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let [change] = &found["changes"].as_array().expect("a list")[..] else { panic!("{found:#}") };
    (change["commits"].clone(), bench.stillwell(&words).ends_with(0).stdout)
}

#[test]
fn what_the_user_has_configured_for_git_is_not_in_the_commits() {
    let bench = Bench::new();
    let commits = repository(&bench, 12);
    add_results(&bench, &commits.iter().map(String::as_str).collect::<Vec<_>>());
    for (key, value) in
        [("color.ui", "always"), ("log.showSignature", "true"), ("format.pretty", "fuller")]
    {
        git(&bench, "project", 1, &["config", key, value]);
    }
    let (found, said) = commits_said(&bench, "project");
    let newest = format!("{} day 7", &commits[6][..7]);
    assert_eq!(found, json!({"n": 1, "newest": [newest], "n_undone": 0}));
    assert!(said.contains(&newest), "{said}");
}

/// Both ends of the change were fetched alone. Their order in the clone does not show the commits between them.
#[test]
fn a_shallow_clone_does_not_know_what_lies_between() {
    let bench = Bench::new();
    let commits = repository(&bench, 12);
    let (old, new) = (commits[2].as_str(), commits[9].as_str());
    add_results(&bench, &[[old; 6], [new; 6]].concat());
    assert_eq!(commits_said(&bench, "project").0["n"], 7);
    std::fs::create_dir(bench.path("shallow")).expect("a directory");
    git(&bench, "shallow", 1, &["init", "-q"]);
    let whole = format!("file://{}", bench.path("project").display());
    for commit in [old, new] {
        git(&bench, "shallow", 1, &["fetch", "-q", "--depth=1", &whole, commit]);
    }
    let (found, said) = commits_said(&bench, "shallow");
    assert_eq!(found, Value::Null);
    assert!(said.contains("git does not know what lies between"), "{said}");
}

#[test]
fn commits_that_are_older_the_same_or_gone_are_said_to_be() {
    let bench = Bench::new();
    let commits = repository(&bench, 9);
    let check = |old: &str, new: &str, expect: Value, words: &str| {
        std::fs::remove_file(bench.path("h.db")).ok();
        add_results(&bench, &[[old; 6], [new; 6]].concat());
        let (found, said) = commits_said(&bench, "project");
        assert_eq!(found, expect);
        assert!(said.contains(words), "{said}");
        bench
            .stillwell(&[
                "history",
                "report",
                "--db",
                "h.db",
                "--repository",
                "project",
                "-o",
                "site",
            ])
            .ends_with(0);
        assert!(bench.read("site/index.html").contains(words), "{words}");
    };
    let nothing = |n_undone: usize| json!({"n": 0, "newest": [], "n_undone": n_undone});
    let without = format!("without 3 commits of {}", &commits[8][..12]);
    check(&commits[8], &commits[5], nothing(3), &without);
    check(&commits[8], &commits[8], nothing(0), "both are of this commit");
    let gone = "0123456789012345678901234567890123456789";
    check(gone, &commits[8], Value::Null, "git does not know what lies between");
}

#[test]
fn the_ends_of_a_change_within_a_commit_have_their_times_of_measurement() {
    let bench = Bench::new();
    add_results_of(&bench, &["0123456789abcdef"; 12], Some("2026-01-01 12:00:00"));
    let said = bench.stillwell(&["history", "changes", "--db", "h.db"]);
    let between = said.stdout.lines().find(|line| line.contains("between")).unwrap_or_default();
    assert!(between.contains(":05 ") && between.contains(":06 "), "{said:#?}");
}

#[test]
fn a_repository_that_was_named_has_to_be_one() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    let with = |words: &[&str], expect: &str| {
        let said = bench.stillwell(&[&["history"], words].concat()).ends_with(2);
        said.says(&[expect]);
    };
    let named = ["--db", "h.db", "--repository", "nowhere"];
    with(&[&["add", "a.swell"], &named[..]].concat(), "--repository nowhere: there is no repo");
    assert!(!bench.path("h.db").exists());
    // A script passes an empty value if its variable is not set.
    with(&["add", "--db", "h.db", "a.swell", "--revision", ""], "--revision");
    with(&["add", "--db", "h.db", "a.swell", "--machine", ""], "--machine");
    bench.stillwell(&["history", "add", "--db", "h.db", "a.swell"]).ends_with(0);
    with(&[&["changes"], &named[..]].concat(), "--repository nowhere");
    with(&[&["report", "-o", "site"], &named[..]].concat(), "--repository nowhere");
    assert!(!bench.path("site").exists());
}

#[test]
fn the_same_command_twice_has_two_results() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true", "true"]).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "a.swell"]).ends_with(0);
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--json"]).ends_with(0);
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let arms: Vec<&Value> =
        all.as_array().expect("series").iter().map(|series| &series["arm"]).collect();
    assert_eq!(arms, [&Value::Null, &json!("#2")]);
}

#[test]
fn names_are_nothing_that_a_terminal_obeys() {
    let bench = Bench::new();
    let odd = "a\u{1b}[31m\nb\u{202e}\tc";
    bench.stillwell(&["run", "-N", "-r", "4", "-n", odd, "-o", "a.swell", "true"]).ends_with(0);
    bench
        .stillwell(&[
            "history",
            "add",
            "--db",
            "h.db",
            "a.swell",
            "--machine",
            odd,
            "--revision",
            odd,
        ])
        .ends_with(0);
    for words in [&["show"][..], &["show", "31m"], &["changes"]] {
        let ran = bench.stillwell(&[&["history"], words, &["--db", "h.db"]].concat()).ends_with(0);
        let is_obeyed = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!ran.stdout.contains(is_obeyed), "{ran:#?}");
        assert!(!ran.stdout.contains("\nb"), "{ran:#?}");
    }
}

#[test]
fn an_empty_history_says_so_and_one_result_is_one() {
    let bench = Bench::new();
    bench.stillwell(&["history", "add", "--db", "h.db", "nothere.swell"]).ends_with(2);
    for verb in ["show", "changes"] {
        let ran = bench.stillwell(&["history", verb, "--db", "h.db"]).ends_with(2);
        ran.says(&["the history is empty"]);
        let ran = bench.stillwell(&["history", verb, "--db", "h.db", "name"]).ends_with(2);
        ran.says(&["has no such result"]);
    }
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "a.swell"]).ends_with(0);
    let ran = bench.stillwell(&["history", "changes", "--db", "h.db"]).ends_with(0);
    let expected = "no change found in 1 benchmark with 1 result\n\
                    too few: a change needs 3 results before it and 3 after\n";
    assert_eq!(ran.stdout, expected);
}

/// No name has a meaning of its own.
#[test]
fn a_history_is_the_file_that_was_named() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    for name in [":memory:", "file:h?mode=memory"] {
        bench.stillwell(&["history", "add", "--db", name, "a.swell"]).ends_with(0);
        assert!(bench.path(name).exists(), "{name}");
        bench.stillwell(&["history", "show", "--db", name]).ends_with(0);
    }
}

#[test]
fn a_history_that_ends_within_a_line_says_so() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    let add = ["history", "add", "--db", "h.db", "a.swell"];
    let show = || bench.stillwell(&["history", "show", "--db", "h.db"]);
    bench.stillwell(&add).ends_with(0);
    let whole = bench.read("h.db");
    bench.write("h.db", &whole[..whole.len() - 20]);
    let says = ["the last line of h.db is unfinished"];
    show().ends_with(2).says(&says).says(&["the history is empty"]);
    assert_eq!(bench.stillwell(&add).ends_with(0).says(&says).stdout, "1 file added\n");
    assert_eq!(show().ends_with(0).stderr, "");
}

/// One process writes the history while many read it.
#[test]
fn who_may_not_write_a_history_reads_it() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    let (directory, file) = ("read % only?", "read % only?/h#1.db");
    let add = ["history", "add", "--db", file, "a.swell"];
    bench.stillwell(&add).ends_with(2).says(&["there is no directory read % only?"]);
    std::fs::create_dir(bench.path(directory)).unwrap();
    bench.stillwell(&add).ends_with(0);
    let permit = |path: &str, mode: u32| {
        std::fs::set_permissions(bench.path(path), PermissionsExt::from_mode(mode)).expect("ours");
    };
    permit(file, 0o444);
    permit("a.swell", 0o444);
    permit(directory, 0o555);
    let history = |words: &[&str]| as_nobody(&bench, &[&["history"], words].concat());
    let Some(shown) = history(&["show", "--db", file]) else { return };
    assert!(shown.ends_with(0).stdout.contains("true"));
    for words in [&["changes"][..], &["report", "-o", "site"], &["get", "1", "-o", "b.swell"]] {
        history(&[words, &["--db", file]].concat()).expect("as before").ends_with(0);
    }
    assert_eq!(bench.read("b.swell"), bench.read("a.swell"));
    let ran = history(&add[1..]).expect("as before").ends_with(2);
    ran.says(&["cannot use", "h#1.db", "Permission denied"]);
    permit(directory, 0o755);
}

#[test]
fn a_directory_that_cannot_be_read_costs_no_other_file() {
    let bench = Bench::new();
    let (closed, file) = ("runs/sub/closed", "runs/1.swell");
    std::fs::create_dir_all(bench.path(closed)).expect("a directory");
    bench.stillwell(&["run", "-N", "-r", "4", "-o", file, "true"]).ends_with(0);
    let permit = |path: &str, mode: u32| {
        std::fs::set_permissions(bench.path(path), PermissionsExt::from_mode(mode)).expect("ours");
    };
    permit(file, 0o444);
    permit(closed, 0);
    let ran = as_nobody(&bench, &["history", "add", "--db", "h.db", "runs"]);
    permit(closed, 0o755);
    let Some(ran) = ran else { return };
    assert_eq!(ran.stdout, "1 file added, 1 could not be\n");
    ran.ends_with(2).says(&["cannot read runs/sub/closed: Permission denied"]);
}

/// An unfinished record of a killed job counts neither in the pool nor in the history. The pool's manifest is no result.
#[test]
fn finished_tasks_of_a_pool_are_added() {
    let bench = Bench::new();
    for directory in ["runs/pool/done", "runs/pool/part", "runs/part"] {
        std::fs::create_dir_all(bench.path(directory)).expect("a directory");
        let path = format!("{directory}/1.swell");
        bench.stillwell(&["run", "-N", "-r", "4", "-o", &path, "true"]).ends_with(0);
    }
    bench.write("runs/pool/pool.json", "{}");
    let added = |directory: &str| {
        bench.stillwell(&["history", "add", "--db", "h.db", directory]).ends_with(0).stdout
    };
    assert_eq!(added("runs/pool"), "1 file added\n");
    assert_eq!(added("runs"), "1 file added, 1 known already\n");
}

#[test]
fn a_file_is_the_same_when_it_is_compressed_and_what_was_left_out_can_be_added() {
    let bench = Bench::new();
    let benchmark = |name: &str| {
        let runs: Vec<Value> =
            (0..6).map(|i| json!({"values": [1.0 + 0.01 * f64::from(i)]})).collect();
        json!({"metadata": {"name": name, "unit": "second"}, "runs": runs})
    };
    let results = json!({"version": "1.0", "benchmarks": [benchmark("json"), benchmark("fib")]});
    bench.write("a.json", &results.to_string());
    let gzip = Command::new("gzip").args(["-k"]).arg(bench.path("a.json")).status().expect("gzip");
    assert!(gzip.success());
    let add = |words: &[&str]| {
        bench.stillwell(&[&["history", "add", "--db", "h.db"], words].concat()).ends_with(0).stdout
    };
    let names = || {
        let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--json"]).ends_with(0);
        let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let found = found.as_array().expect("a list").clone();
        assert!(
            found.iter().all(|it| it["values"].as_array().expect("values").len() == 1),
            "{found:?}"
        );
        found
            .iter()
            .map(|it| it["benchmark"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(add(&["-b", "json", "a.json"]), "1 file added\n");
    assert_eq!(names(), ["json"]);
    assert_eq!(add(&["a.json"]), "0 files added, 1 brought up to date\n");
    assert_eq!(names(), ["fib", "json"]);
    assert_eq!(add(&["a.json", "a.json.gz"]), "0 files added, 2 known already\n");
    assert_eq!(names(), ["fib", "json"]);
    bench
        .stillwell(&["history", "get", "--db", "h.db", "1", "-o", "a.json"])
        .ends_with(2)
        .says(&["a.json", "exists"]);
}

#[test]
fn what_can_never_find_anything_is_refused() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-N", "-r", "4", "-o", "a.swell", "true"]).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "a.swell"]).ends_with(0);
    let changes = |words: &[&str]| {
        bench.stillwell(&[&["history", "changes", "--db", "h.db"], words].concat())
    };
    changes(&["--last", "2", "--fail-on", "slower"]).ends_with(2).says(&["--last 3 is the least"]);
    changes(&["--last", "3"]).ends_with(0);
    changes(&["--alpha", "0.0001%"]).ends_with(2).says(&["from 0.001 to 50 percent"]);
    changes(&["--alpha", "100"]).ends_with(2).says(&["--alpha 100 is out of range"]);
}

#[test]
fn errors_are_one_line_and_name_a_file_once() {
    let bench = Bench::new();
    bench.write("bad.json", "{\"x\": 1}");
    bench.write("bad.db", "text and no history");
    let ran = bench.stillwell(&["history", "add", "--db", "h.db", "bad.json"]).ends_with(2);
    assert_eq!(ran.stderr.matches("bad.json").count(), 1, "{ran:#?}");
    let ran = bench.stillwell(&["history", "show", "--db", "bad.db"]).ends_with(2);
    assert_eq!(
        ran.stderr,
        "stillwell: cannot use bad.db as a history: it is no history of stillwell; --db FILE names another file\n"
    );
}
