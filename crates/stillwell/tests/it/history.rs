//! Results over months: `stillwell history`, from the outside.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::Bench;

/// Results of one commit a day. json becomes 3 % slower on day 21.
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
        // The noise is the same in each run of the test.
        let noise = |i: usize| 1.0 + 0.002 * ((number * 7 + i * 13) % 11) as f64 / 11.0;
        let benchmark = |name: &str, level: f64| {
            let runs: Vec<Value> = (0..6).map(|i| json!({"values": [level * noise(i)]})).collect();
            json!({"metadata": {"name": name, "unit": "second"}, "runs": runs})
        };
        // The order of adding differs from the order of the commits.
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
    let [change] = &found["changes"].as_array().expect("a list")[..] else { panic!("{found:#}") };
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
    // All results are of one day, so the time of day tells them apart.
    let row = ran.stdout.lines().find(|line| line.contains("v1")).unwrap();
    let time = row.split_whitespace().nth(2).unwrap();
    assert!(time.len() == 8 && time.matches(':').count() == 2, "{ran:#?}");
    let list = bench.stillwell(&["history", "show", "--db", "h.db"]).ends_with(0).stdout;
    assert!(list.contains("t0 level") && !list.contains(" now "), "{list}");
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
    explains(&["get", "--db", "h.db", "1", "-o", "a.swell"], "choose another name");
    explains(&["add", "--db", "a.swell", "a.swell"], "cannot use a.swell as a history");
    explains(&["add", "--db", "h.db", "-"], "standard input has no name");
}

/// A history with two benchmarks, one of which changed.
fn made() -> Bench {
    let bench = Bench::new();
    let files = make(&bench);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    bench.stillwell(&[&["history", "add", "--db", "h.db"], &files[..]].concat()).ends_with(0);
    bench
}

fn names(bench: &Bench, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path(directory)).expect("a directory");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("UTF-8")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn a_site_is_replaced_and_nothing_else() {
    let bench = made();
    let report = |words: &[&str]| {
        bench.stillwell(&[&["history", "report", "--db", "h.db", "-o", "site"], words].concat())
    };
    let ran = report(&[]).ends_with(0);
    assert_eq!(ran.stdout, "report: site/index.html, 11 files new or changed\n");
    let index = bench.read("site/index.html");
    assert!(index.contains("+3.0 %") && index.contains("step 20"), "{index}");
    assert_eq!(names(&bench, "site/b").len(), 2);
    // The same history is the same site.
    bench.write("site/CNAME", "bench.example");
    assert_eq!(
        report(&[]).ends_with(0).stdout,
        "report: site/index.html, 0 files new or changed\n"
    );
    // A benchmark that left the history has no page. Files of others stay.
    report(&["fib"]).ends_with(0);
    let pages = names(&bench, "site/b");
    assert!(pages.len() == 1 && pages[0].starts_with("fib-"), "{pages:?}");
    assert_eq!(bench.read("site/CNAME"), "bench.example");
    assert_eq!(names(&bench, "site"), ["CNAME", "assets", "b", "index.html", "stillwell-site.txt"]);
}

#[test]
fn what_is_not_ours_is_no_place_for_a_site() {
    let bench = made();
    let explains = |words: &[&str], expect: &str| {
        let ran =
            bench.stillwell(&[&["history", "report", "--db", "h.db"], words].concat()).ends_with(2);
        assert!(ran.stderr.contains(expect), "{ran:#?}");
    };
    std::fs::create_dir(bench.path("home")).expect("a directory");
    bench.write("home/notes.txt", "mine");
    explains(&["-o", "home"], "not empty, and no report of ours");
    assert_eq!(names(&bench, "home"), ["notes.txt"]);
    explains(&["-o", "home/notes.txt"], "cannot make the directory");
    explains(&["-o", "-"], "a site is a directory");
    explains(&["-o", "new", "nosuch"], "no such result");
    assert!(!bench.path("new").exists(), "nothing is made for nothing");
    // A site of one benchmark, with a foreign file at the place of the other's page.
    bench.stillwell(&["history", "report", "--db", "h.db", "-o", "all"]).ends_with(0);
    bench.stillwell(&["history", "report", "--db", "h.db", "-o", "site", "fib"]).ends_with(0);
    let page =
        names(&bench, "all/b").into_iter().find(|name| name.starts_with("json-")).expect("a page");
    bench.write(&format!("site/b/{page}"), "mine");
    explains(&["-o", "site"], "is there and not ours");
    assert_eq!(bench.read(&format!("site/b/{page}")), "mine");
    // A foreign list of pages removes no file outside of the site.
    bench.write("victim", "mine");
    let list = bench.read("all/stillwell-site.txt");
    bench.write("all/stillwell-site.txt", &format!("{list}../victim\n"));
    explains(&["-o", "all"], "no list of ours");
    assert_eq!(bench.read("victim"), "mine");
    // A symbolic link does not lead outside either.
    bench.write("all/stillwell-site.txt", &list);
    std::fs::remove_dir_all(bench.path("all/b")).expect("ours");
    std::os::unix::fs::symlink(bench.path("home"), bench.path("all/b")).expect("a link");
    explains(&["-o", "all"], "is a link");
    assert_eq!(names(&bench, "home"), ["notes.txt"]);
}

#[test]
fn every_format_is_added_with_its_commit_and_its_machine() {
    let bench = Bench::new();
    let samples =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/samples/results");
    let samples = samples.to_str().expect("UTF-8");
    let known = |name: &str| format!("{samples}/{name}");
    let add =
        |path: &str| bench.stillwell(&["history", "add", "--db", "h.db", path]).ends_with(0).stdout;
    // This includes compressed files and files in subdirectories. A file that is there in both forms counts once.
    assert_eq!(add(samples), "28 files added, 1 known already\n");
    assert_eq!(add(&known("go_bench.txt")), "0 files added, 1 known already\n");
    for directory in ["criterion/grp", "criterion/grp"] {
        add(&known(directory));
    }
    assert_eq!(add(&known("criterion/grp")), "0 files added, 1 known already\n");
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--json"]).ends_with(0);
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let of = |file: &str| -> Vec<&Value> {
        let entries = all
            .as_array()
            .expect("series")
            .iter()
            .flat_map(|series| series["entries"].as_array().expect("entries"));
        entries.filter(|entry| entry["file"].as_str().expect("a name").ends_with(file)).collect()
    };
    let asv = of("558c2ed6-existing-py.json");
    assert!(asv.iter().all(|it| it["revision"] == "558c2ed60693ae2c20ae6a91e4e87d7c12037693"
        && it["committed_s"] == 1_795_287_460));
    assert_eq!(asv[0]["machine"], "vm, Intel(R) Xeon(R) Processor");
    assert_eq!(of("google_benchmark.json")[0]["machine"], "vm");
    assert_eq!(of("pytest_benchmark.json")[0]["revision"], Value::Null);
    // The result of a file with summaries only is its smallest value.
    let summaries = of("hyperfine_2.0.csv");
    let list = summaries.iter().find(|it| it["benchmark"] == "list").expect("list");
    let whole = |key: &str| list[key].as_f64().expect("a number").round();
    assert_eq!((whole("t0"), whole("median")), (353_026.0, 397_801.0));
    // It does not say of how many runs.
    assert_eq!(list["n_runs"], Value::Null);
    let shown = bench.stillwell(&["history", "show", "--db", "h.db", "list"]).ends_with(0).stdout;
    let row = shown.lines().find(|row| row.contains("397.8"));
    assert!(row.is_some_and(|row| row.trim_end().ends_with("  -")), "{shown}");
    assert_eq!(of("pytest_codspeed_walltime.json")[0]["n_runs"], 99);
    // The record of a directory is an archive of it.
    let record = of("criterion/grp")[0]["record"].to_string();
    bench.stillwell(&["history", "get", "--db", "h.db", &record, "-o", "grp.tar"]).ends_with(0);
    let tar = Command::new("tar")
        .args(["-xf", "grp.tar"])
        .current_dir(bench.path(""))
        .status()
        .expect("tar");
    assert!(tar.success());
    assert_eq!(
        bench.read("sum/64/new/sample.json"),
        std::fs::read_to_string(known("criterion/grp/sum/64/new/sample.json")).expect("a sample")
    );
}

/// A directory as pyperformance leaves it: compressed files, with subdirectories for uploaded files and patched sources. The
/// metadata are in the benchmarks, the dates in the runs.
#[test]
fn results_of_pyperformance_are_in_the_order_of_their_commits() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("json/uploaded")).expect("a directory");
    std::fs::create_dir_all(bench.path("json/patch")).expect("a directory");
    let write = |path: &str, branch: &str, day: u32, patch: Option<&str>| {
        let benchmark = |name: &str| {
            json!({
                "metadata": {"name": name, "commit_id": format!("{day:040}"), "commit_branch": branch,
                    "commit_date": format!("2026-01-{day:02}T10:00:00"), "hostname": "box", "patch_file": patch.unwrap_or_default()},
                "runs": [{"metadata": {"date": format!("2026-02-{:02} 10:00:00.123456", 28 - day)}, "values": [0.001, 0.00101]}],
            })
        };
        let results = json!({"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": [benchmark("json"), benchmark("fib")]});
        bench.write(path, &results.to_string());
        let gzip = Command::new("gzip").arg(bench.path(path)).status().expect("gzip");
        assert!(gzip.success());
    };
    write("json/a.json", "main", 3, None);
    write("json/uploaded/b.json", "main", 1, None);
    write("json/c.json", "3.14", 2, None);
    write("json/patch/d.json", "main", 4, Some("fast.patch"));
    let ran = bench.stillwell(&["history", "add", "--db", "h.db", "json"]).ends_with(2);
    assert_eq!(ran.stdout, "3 files added, 1 could not be\n");
    assert!(ran.stderr.contains("sources that fast.patch has changed"), "{ran:#?}");
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "json", "--json"]).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let of = |place: usize, key: &str| -> Vec<Value> {
        found[place]["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .map(|entry| entry[key].clone())
            .collect()
    };
    assert_eq!(
        (&found[0]["arm"], &found[1]["arm"]),
        (&json!("3.14"), &json!("main")),
        "branches are apart"
    );
    assert_eq!(of(1, "revision"), [json!(format!("{:040}", 1)), json!(format!("{:040}", 3))]);
    // 2026-02-27 and 2026-02-25, 10:00 UTC.
    assert_eq!(of(1, "measured_s"), [json!(1_772_186_400), json!(1_772_013_600)]);
}

/// Twelve processes add files at once: each its own files, and one that all have.
#[test]
fn processes_that_add_at_once_lose_nothing() {
    let bench = Bench::new();
    let files = make(&bench);
    let adding = files[1..].chunks(4).map(|own| {
        let mut add = bench.command(crate::bench::STILLWELL);
        add.args(["history", "add", "--db", "h.db", &files[0]])
            .args(own)
            .stdout(std::process::Stdio::null());
        add.spawn().expect("a process")
    });
    for mut process in adding.collect::<Vec<_>>() {
        assert!(process.wait().expect("its end").success());
    }
    assert_eq!(n_results(&bench), [40, 40]);
}

fn n_results(bench: &Bench) -> Vec<usize> {
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--json"]).ends_with(0);
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    all.as_array()
        .expect("series")
        .iter()
        .map(|series| series["values"].as_array().expect("values").len())
        .collect()
}

/// `history add` is killed again and again. The history has only whole results, and in the end each of them once.
#[test]
fn a_killed_writer_leaves_whole_records() {
    let bench = Bench::new();
    let files = make(&bench);
    let len = || bench.path("h.db").metadata().map_or(0, |meta| meta.len());
    bench.stillwell(&["history", "add", "--db", "h.db", &files[0]]).ends_with(0);
    for _ in 0..6 {
        let before = len();
        let mut add = bench.command(crate::bench::STILLWELL);
        add.args(["history", "add", "--db", "h.db"])
            .args(&files)
            .stdout(std::process::Stdio::null());
        let mut process = add.spawn().expect("a process");
        // Kill it as soon as it has begun to write.
        while process.try_wait().expect("a state").is_none() && len() == before {
            std::thread::yield_now();
        }
        process.kill().ok();
        process.wait().expect("its end");
        let found = n_results(&bench);
        assert!(found.len() == 2 && found[0] == found[1], "half of a record: {found:?}");
    }
    bench
        .stillwell(
            &[
                &["history", "add", "--db", "h.db"],
                &files.iter().map(String::as_str).collect::<Vec<_>>()[..],
            ]
            .concat(),
        )
        .ends_with(0);
    assert_eq!(n_results(&bench), [40, 40]);
    bench.stillwell(&["history", "get", "--db", "h.db", "40", "-o", "again.json"]).ends_with(0);
}
