//! `bisect`: whole searches in small repositories. The program says its value, so no search depends on the machine.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, Running, STILLWELL, is_root, skipped, wait_until};
use crate::callers::under_sudo;
use crate::processes::{Session, has_pending_signal};

/// A history of commits with these values, in a file; a commit without a value does not build. `None` without git.
fn repository(values: &[Option<f64>]) -> Option<Bench> {
    let bench = Bench::new();
    if bench.command("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    let mut import = String::new();
    for (n, value) in values.iter().enumerate() {
        let text = value.map_or("broken".to_owned(), |value| format!("{value}\n"));
        let message = format!("commit {n}");
        import += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter a <a@example.org> {} +0000\ndata {}\n{message}\n",
            n + 1,
            1_700_000_000 + n,
            message.len()
        );
        import += &if n > 0 { format!("from :{n}\n") } else { String::new() };
        import += &format!("M 100644 inline value\ndata {}\n{text}\n", text.len());
    }
    bench.write("import", &import);
    git(&bench, &["init", "--quiet", "-b", "main", "repo"]);
    let mut command = bench.command("git");
    command.current_dir(bench.path("repo")).args(["fast-import", "--quiet"]);
    command.stdin(std::fs::File::open(bench.path("import")).unwrap());
    Ran::from(command.output().unwrap()).ends_with(0);
    Some(bench)
}

fn git(bench: &Bench, arguments: &[&str]) -> String {
    Ran::from(bench.command("git").args(arguments).output().unwrap()).ends_with(0).stdout
}

/// The id of a commit by its number.
fn id(bench: &Bench, n: usize) -> String {
    let found = format!(":/^commit {n}$");
    git(bench, &["-C", "repo", "rev-parse", &found]).trim().to_owned()
}

const BUILD: &str = "! grep broken value && sort value > built";

fn command(bench: &Bench, options: &[&str]) -> std::process::Command {
    let first = git(bench, &["-C", "repo", "rev-list", "--max-parents=0", "main"]);
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("repo")).args(["bisect", "--build", BUILD, "--value", "(.+)"]);
    command.args(["--budget", "1h", "--seed", "5"]).args(options);
    command.args([first.trim(), "main", "--", "cat", "built"]);
    command
}

fn search(bench: &Bench, options: &[&str]) -> Ran {
    Ran::from(command(bench, options).output().unwrap())
}

fn json(bench: &Bench, options: &[&str]) -> Value {
    let ran = search(bench, &[&["--json"], options].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"))
}

/// `n` values of 100, then 105 from `at` on.
fn step(n: usize, at: usize) -> Vec<Option<f64>> {
    (0..n).map(|commit| Some(if commit < at { 100.0 } else { 105.0 })).collect()
}

fn ids(commits: &Value) -> Vec<String> {
    let commits = commits.as_array().unwrap().iter();
    commits.map(|commit| commit["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_commit_is_named_with_its_size() {
    let Some(bench) = repository(&step(17, 11)) else { return };
    let ran = search(&bench, &["-o", "../found"]).ends_with(0);
    let parent = id(&bench, 10);
    let answer = format!("{} \"commit 11\" is", &id(&bench, 11)[..10]);
    assert!(ran.stdout.contains(&answer) && ran.stdout.contains(&parent[..10]), "{ran:#?}");
    assert!(ran.stdout.contains("confirm  "), "{ran:#?}");
    // The same command line shows the answer again, without a build or a run.
    let n_files = std::fs::read_dir(bench.path("found")).unwrap().count();
    let again = search(&bench, &["-o", "../found"]).ends_with(0);
    assert!(again.stdout.contains(&answer) && !again.stderr.contains("building"), "{again:#?}");
    assert_eq!(std::fs::read_dir(bench.path("found")).unwrap().count(), n_files);
    let longer = bench.stillwell(&["bisect", "--resume", "found", "--budget", "9s"]).ends_with(2);
    assert!(longer.stderr.contains("leave --budget out, or begin another search"), "{longer:#?}");
    let kept = ["bisect", "--resume", "found", "--history", "h.db", "--benchmark", "sums"];
    bench.stillwell(&kept).ends_with(0);
    assert!(bench.path("h.db").is_file(), "a search that is over can go into a history");
    // Each record can be read as any other.
    bench.stillwell(&["show", "found/001.swell"]).ends_with(0);
    // What runs as the caller may have written the directory, so it gives no rights of root.
    let forged = bench.read("found/bisect.json").replace("\"as_root\":false", "\"as_root\":true");
    assert!(forged.contains("\"as_root\":true"), "{forged}");
    bench.write("found/bisect.json", &forged);
    Ran::from(bench.command("chmod").args(["-R", "a+rX", "found"]).output().unwrap()).ends_with(0);
    if is_root() {
        let ran = under_sudo(&bench, &["bisect", "--resume", "found"]).ends_with(2);
        ran.says(&["give --as-root again"]);
    }
}

#[test]
fn a_good_commit_of_another_branch_is_replaced_by_the_merge_base() {
    let Some(bench) = repository(&step(9, 4)) else { return };
    let base = id(&bench, 2);
    let tree = format!("{base}^{{tree}}");
    let identity = ["-C", "repo", "-c", "user.name=a", "-c", "user.email=a@example.org"];
    let commit = ["commit-tree", &tree, "-p", &base, "-m", "a release"];
    let release = git(&bench, &[&identity[..], &commit].concat());
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("repo")).args(["bisect", "--build", BUILD, "--value", "(.+)"]);
    command.args(["--budget", "1h", "--seed", "5", "-o", "../found"]);
    let words = [release.trim(), "main", "--", "cat", "built"];
    let ran = Ran::from(command.args(words).output().unwrap()).ends_with(0);
    let said = format!("is no ancestor of main; searching from their merge base {}", &base[..12]);
    assert!(ran.stderr.contains(&said), "{ran:#?}");
    assert!(ran.stdout.contains("\"commit 4\" is"), "{ran:#?}");
}

#[test]
fn ends_that_are_the_same_end_the_search() {
    let Some(bench) = repository(&step(9, 99)) else { return };
    let ran = search(&bench, &[]).ends_with(3);
    assert!(ran.stdout.contains("The two ends are the same:"), "{ran:#?}");
    assert_eq!(ran.stderr.matches("building").count(), 2, "{ran:#?}");
}

#[test]
fn a_search_that_was_killed_goes_on_where_it_was() {
    let Some(bench) = repository(&step(33, 20)) else { return };
    let options = ["-o", "../found"];
    let running = bench.spawn(command(&bench, &options));
    let observed = || bench.read("found/observations.jsonl");
    wait_until("two probes", || observed().matches("\"probe\"").count() >= 2);
    running.signal(Signal::KILL);
    running.finish();
    let before = observed();
    let kept = &before[..=before.rfind('\n').unwrap()];
    let ran = bench.stillwell(&["bisect", "--resume", "found"]).ends_with(0);
    assert!(ran.stdout.contains("going on with") && ran.stdout.contains("\"commit 20\" is"));
    assert!(observed().starts_with(kept), "what was measured is not measured again");
}

/// A search whose first session waits in its cleanup for a file `go`.
fn waiting(bench: &Bench, environment: &str) -> Running {
    let log = bench.path("log").display().to_string();
    let go = bench.path("go").display().to_string();
    let cleanup =
        format!("echo begun >> '{log}'; while ! test -e '{go}'; do :; done; echo over >> '{log}'");
    let options = ["-o", "../found", "-c", &cleanup, "--env", environment];
    let running = bench.spawn(command(bench, &options));
    wait_until("the cleanup is under way", || bench.read("log").contains("begun"));
    running
}

#[test]
fn an_interrupt_ends_the_search_in_order() {
    let Some(bench) = repository(&step(9, 4)) else { return };
    let running = waiting(&bench, "A=1");
    running.signal(Signal::INT);
    bench.write("go", "");
    running.finish().ends_with(130).says(&["interrupted; go on with `stillwell bisect --resume"]);
    assert_eq!(bench.read("found/observations.jsonl").matches("built").count(), 2);
    // The runs were finished, and so is the cleanup.
    assert_eq!(bench.read("log"), "begun\nover\n");
    let ran = bench.stillwell(&["bisect", "--resume", "found"]).ends_with(0);
    assert!(ran.stdout.contains("\"commit 4\" is"), "{ran:#?}");
}

#[test]
fn a_second_interrupt_ends_the_search_at_once() {
    let Some(bench) = repository(&step(9, 4)) else { return };
    let mut session = Session::new(&bench);
    let running = waiting(&bench, &session.environment());
    session.find_launcher(running.pid());
    running.signal(Signal::INT);
    wait_until("the first one has arrived", || !has_pending_signal(running.pid()));
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, None, "it ends by the signal: {ran:#?}");
    assert_eq!(bench.read("log"), "begun\n");
    session.is_gone();
    bench.write("go", "");
    let ran = bench.stillwell(&["bisect", "--resume", "found"]).ends_with(0);
    assert!(ran.stdout.contains("\"commit 4\" is"), "{ran:#?}");
}

#[test]
fn git_can_drive_the_search() {
    let mut values = step(17, 6);
    values[8] = None;
    let Some(bench) = repository(&values) else { return };
    let code = |n: usize| {
        git(&bench, &["-C", "repo", "checkout", "--quiet", "--detach", &id(&bench, n)]);
        search(&bench, &["--step"]).code
    };
    assert_eq!([code(5), code(6), code(8)], [Some(0), Some(1), Some(125)]);
}

/// A program whose value depends on the place of a function, as that of a loop does, in a history of commits. `moving` is
/// the one that only adds a function before it, `slower` the one that does more work.
fn laid_out(moving: Option<usize>, slower: Option<usize>) -> Option<Bench> {
    let bench = repository(&step(1, 1))?;
    if bench.command("cc").arg("--version").output().is_err() {
        skipped("there is no cc");
        return None;
    }
    let main = "#include <stdint.h>\n#include <stdio.h>\nint hot(int);\nint work(void);\nint main(void) {\n\
                int extra = (uintptr_t)hot >> 4 & 1 ? 50 : 0;\n\
                return printf(\"%d\\n\", 1000 + extra + work()) < 0;\n}\n";
    let make = "for file in main pad work hot; do cc -O2 -fno-pie -c $file.c || exit; done\n\
                cc -no-pie -o prog main.o pad.o work.o hot.o\n";
    let files = [("main.c", main), ("make", make), ("hot.c", "int hot(int x) { return x + 1; }\n")];
    for (name, text) in files {
        bench.write(&format!("repo/{name}"), text);
    }
    let commit = |n: usize| {
        let pads: String = (0..=u8::from(moving.is_some_and(|at| n >= at)))
            .map(|pad| format!("int pad{pad}(int x) {{ return x * {}; }}\n", 3 + pad))
            .collect();
        bench.write("repo/pad.c", &pads);
        let work = if slower.is_some_and(|at| n >= at) { 40 } else { 0 };
        bench.write("repo/work.c", &format!("int work(void) {{ return {work}; }} /* {n} */\n"));
        git(&bench, &["-C", "repo", "add", "."]);
        let identity =
            ["-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q"];
        git(&bench, &[&identity[..], &["-m", &format!("change {n}")]].concat());
    };
    git(&bench, &["-C", "repo", "checkout", "-q", "main"]);
    (0..5).for_each(commit);
    Some(bench)
}

fn search_layouts(bench: &Bench, options: &[&str]) -> Value {
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("repo")).args(["bisect", "--json", "--value", "(.+)"]);
    command.args(["--seed", "5", "--budget", "1h"]).args(options);
    command.args(["main~4", "main", "--", "./prog"]);
    let ran = Ran::from(command.output().unwrap()).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_build_that_links_nothing_is_named() {
    let Some(bench) = repository(&step(9, 4)) else { return };
    let ran = search(&bench, &["--report", "../r.html"]).ends_with(0);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Other link orders were not measured"), "{ran:#?}");
    assert_eq!(text.matches("link order").count(), 1, "{ran:#?}");
    assert_eq!(ran.stderr.matches("in random link orders").count(), 1, "{ran:#?}");
    let possible = |line: &str| -> Option<u32> {
        line.strip_prefix("probe ")?.split_whitespace().nth(1)?.parse().ok()
    };
    let possible: Vec<u32> = ran.stdout.lines().filter_map(possible).collect();
    assert!(possible.len() >= 3 && possible[0] == 8, "{ran:#?}");
    assert!(possible.windows(2).all(|two| two[1] < two[0]), "{ran:#?}");
    let page = bench.read("r.html");
    assert!(page.contains("commit 4") && !page.contains("<script"), "{page}");
    assert!(page.matches("class=\"mark ").count() >= 4, "{page}");
}

/// In a checkout of a compiled program there is nothing to run before something is built.
#[test]
fn without_a_build_it_is_said_that_nothing_is_built() {
    let Some(bench) = repository(&step(3, 2)) else { return };
    let search = |files: &[&str]| {
        files.iter().for_each(|file| bench.write(&format!("repo/{file}"), ""));
        let mut command = bench.command(STILLWELL);
        command.current_dir(bench.path("repo")).args(["bisect", "main~2", "main", "--", "./prog"]);
        Ran::from(command.output().unwrap()).ends_with(2)
    };
    let plain = search(&[]);
    assert!(!plain.stderr.contains("--build make"), "{plain:#?}");
    plain.says(&["./prog", "without --build it was checked out and not built"]);
    search(&["Makefile"]).says(&[
        "without --build nothing is built; this directory has a Makefile: `--build make` builds each commit",
    ]);
}

#[test]
fn a_directory_has_one_search() {
    let Some(bench) = repository(&step(9, 4)) else { return };
    search(&bench, &["-o", "../found"]).ends_with(0);
    let mut other = bench.command(STILLWELL);
    other.current_dir(bench.path("repo")).args(["bisect", "--build", BUILD, "-o", "../found"]);
    other.args(["main~3", "main", "--", "cat", "built"]);
    let ran = Ran::from(other.output().unwrap()).ends_with(2);
    assert!(ran.stderr.contains("has a search of other commits"), "{ran:#?}");
}

#[test]
fn times_can_be_made_up() {
    let Some(bench) = repository(&step(33, 9)) else { return };
    let line = |n: usize| {
        let time = if n == 12 {
            ""
        } else if n < 20 {
            "20ms"
        } else {
            "20.6ms"
        };
        format!("{} {time}\n", id(&bench, n))
    };
    let noise: String =
        (0..997).map(|at| format!(" {}", 1.0 + f64::from(at * 37 % 101) * 1e-4)).collect();
    bench.write("times", &format!("at{noise}\n{}", (0..33).map(line).collect::<String>()));
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("repo")).args(["bisect", "--json", "--seed", "5"]);
    command.args(["--script", "../times", &id(&bench, 0), "main", "--", "prog"]);
    let ran = Ran::from(command.output().unwrap()).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ids(&found["culprits"][0]["commits"]), [id(&bench, 20)], "{found:#}");
}

#[test]
fn mistakes_are_named() {
    let Some(bench) = repository(&[Some(1.0), Some(1.0), None]) else { return };
    let ran = search(&bench, &[]).ends_with(2);
    assert!(ran.stderr.contains("the end ") && ran.stderr.contains("grep broken"), "{ran:#?}");
    let mut turned = bench.command(STILLWELL);
    turned.current_dir(bench.path("repo")).args(["bisect", "main", "main~1", "--", "true"]);
    let ran = Ran::from(turned.output().unwrap()).ends_with(2);
    assert!(ran.stderr.contains("main~1 is an ancestor of main; swap them"), "{ran:#?}");
    let ran = search(&bench, &["--alpha", "100", "-o", "../no"]).ends_with(2);
    assert!(ran.stderr.contains("--alpha 100 is out of range: from 0.01 to 50"), "{ran:#?}");
    assert!(!bench.path("no").exists(), "a mistake makes no directory");
    let ran = bench.stillwell(&["bisect", "--resume", "nowhere"]).ends_with(2);
    assert!(ran.stderr.contains("there is no search in nowhere"), "{ran:#?}");
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    #[test]
    fn what_does_not_build_is_named_as_a_range() {
        let mut values = step(17, 9);
        (values[8], values[9], values[10]) = (None, None, None);
        let Some(bench) = repository(&values) else { return };
        let told = search(&bench, &["-o", "../told"]).ends_with(0).stdout;
        // What the build wrote, not how it ended.
        assert!(told.contains("skipped") && told.contains("  broken\n"), "{told}");
        assert!(told.contains("rm -r ") && told.contains("git worktree prune"), "{told}");
        let found = json(&bench, &[]);
        let expected = [8, 9, 10, 11].map(|n| id(&bench, n));
        assert_eq!(ids(&found["culprits"][0]["commits"]), expected, "{found:#}");
        assert_eq!(found["culprits"][0]["base"], id(&bench, 7).as_str());
        let name = format!("one of 4 commits up to {}", id(&bench, 11));
        assert_eq!(found["conclusion"]["effects"][0]["name"], name.as_str());
        assert!(!found["unbuildable"].as_array().unwrap().is_empty());
    }

    #[test]
    fn a_step_up_and_a_step_down_are_two_commits() {
        let mut values = step(17, 5);
        values[12..].iter_mut().for_each(|value| *value = Some(102.0));
        let Some(bench) = repository(&values) else { return };
        let told = search(&bench, &["-o", "../found"]).ends_with(0).stdout;
        let balance = "Together that is about 2.0 % worse. Bad is 2.0 % worse";
        assert!(told.contains(balance), "{told}");
        let again = bench.stillwell(&["bisect", "--resume", "found", "--json"]).ends_with(0);
        let found: Value = serde_json::from_str(&again.stdout).unwrap();
        let culprits = found["culprits"].as_array().unwrap();
        let named: Vec<String> = culprits.iter().flat_map(|it| ids(&it["commits"])).collect();
        assert_eq!(named, [5, 12].map(|n| id(&bench, n)), "{found:#}");
        let sizes: Vec<f64> =
            culprits.iter().map(|it| it["size"]["ratio"].as_f64().unwrap()).collect();
        assert!(sizes[0] > 1.04 && sizes[1] < 0.98, "{sizes:?}");
    }

    #[test]
    fn a_commit_that_only_moves_code_is_layout() {
        let Some(bench) = laid_out(Some(2), None) else { return };
        let found = search_layouts(&bench, &["--build", "sh make", "--report", "../r.html"]);
        let culprit = &found["culprits"][0];
        assert_eq!(culprit["layout"]["verdict"], "layout", "{found:#}");
        assert_eq!(culprit["layout"]["n"], 12);
        let page = bench.read("r.html");
        assert!(page.contains("is layout: it moved code") && page.contains("<svg"), "{page}");
    }

    #[test]
    fn a_commit_that_does_more_is_slower_in_all_link_orders() {
        let Some(bench) = laid_out(None, Some(3)) else { return };
        let found = search_layouts(&bench, &["--build", "sh make", "--layouts", "4"]);
        let layout = &found["culprits"][0]["layout"];
        assert_eq!((&layout["verdict"], &layout["n"]), (&"source".into(), &4.into()), "{found:#}");
        // A script that links nothing has no other order, and the answer says so.
        let found = search_layouts(&bench, &["--build", "sh make && true", "--layouts", "0"]);
        assert!(found["culprits"][0]["layout"].is_null(), "{found:#}");
    }
}
