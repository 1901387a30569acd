//! `--revisions`: commands, statements, programs and suites in checkouts of a repository's commits.

use std::path::Path;

use rustix::process::Signal;

use crate::bench::{Bench, Ran, STILLWELL, skipped, wait_until};
use crate::suite_builds::commit;

/// A repository with three commits of a script in a directory, which writes where it runs to `log`; `None` without git.
fn repository() -> Option<Bench> {
    let bench = Bench::new();
    if bench.command("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    bench.write(".gitignore", "built\nstate\ncache\nr*.swell\nlog\nstdout\nstderr\n*.suite\n");
    std::fs::create_dir(bench.path("sub")).unwrap();
    for n in ["one", "two", "three"] {
        bench.write("sub/source", n);
        bench.write("sub/module.py", &format!("WORD = {n:?}\n"));
        commit(&bench, n);
    }
    Some(bench)
}

const BUILD: &str = "sed s/^/built-/ source > built";
const SAY: &str = "sh -c 'echo {revision} $(cat built) >> $LOG'";

/// Runs in the directory `sub`.
fn below(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("sub")).env("LOG", bench.path("log")).args(arguments);
    Ran::from(command.output().unwrap())
}

fn git(bench: &Bench, arguments: &[&str]) -> String {
    let ran = Ran::from(bench.command("git").args(arguments).output().unwrap()).ends_with(0);
    ran.stdout.trim().to_owned()
}

/// The labels of a record's arms.
fn labels(bench: &Bench, record: &str) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path(record)).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let arms = header["plan"]["arms"].as_array().unwrap();
    arms.iter().map(|arm| arm["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn commits_that_a_shallow_clone_lacks_have_a_remedy() {
    let Some(bench) = repository() else { return };
    let origin = format!("file://{}", bench.path(".").display());
    git(&bench, &["tag", "c1", "HEAD~2"]);
    git(&bench, &["clone", "-q", "--depth", "1", &origin, "shallow"]);
    let below = |arguments: &[&str]| {
        let mut command = bench.command(STILLWELL);
        command.current_dir(bench.path("shallow")).args(arguments);
        let remedy = "; this clone is shallow, `git fetch --unshallow` gets the older commits";
        Ran::from(command.output().unwrap()).ends_with(2).says(&[remedy]);
    };
    below(&["bisect", "HEAD~2", "HEAD", "--", "true"]);
    below(&["run", "--revisions", "HEAD~2,HEAD", "true"]);
    git(&bench, &["-C", "shallow", "fetch", "-q", "--depth", "1", "origin", "tag", "c1"]);
    below(&["bisect", "c1", "HEAD", "--", "true"]);
    below(&["run", "--revisions", "c1..HEAD", "true"]);
}

#[test]
fn a_command_runs_in_the_build_of_each_revision() {
    let Some(bench) = repository() else { return };
    let words = ["run", "--revisions", "HEAD~1,HEAD", "--build", BUILD, "-r2", "-o", "../r.swell"];
    let ran = below(&bench, &[&words[..], &[SAY]].concat()).ends_with(0);
    assert_eq!(ran.stderr.matches("building ").count(), 2, "{ran:#?}");
    let [before, head] = ["HEAD~1", "HEAD"].map(|it| git(&bench, &["rev-parse", it]));
    let names = [format!("HEAD~1 ({})", &before[..10]), format!("HEAD ({})", &head[..10])];
    assert_eq!(labels(&bench, "r.swell"), names);
    assert!(names.iter().all(|name| ran.stdout.contains(name)), "{ran:#?}");
    let mut said: Vec<String> = bench.read("log").lines().map(str::to_owned).collect();
    said.sort();
    said.dedup();
    let mut expected = [format!("{before} built-two"), format!("{head} built-three")];
    expected.sort();
    assert_eq!(said, expected);
    // The next session finds the builds.
    let ran = below(&bench, &["run", "--revisions", "HEAD,HEAD~1", "--build", BUILD, "-r1", SAY]);
    assert!(!ran.ends_with(0).stderr.contains("building"));
}

#[test]
fn an_interrupt_during_a_build_is_no_failure() {
    let Some(bench) = repository() else { return };
    let build = format!("touch {}; exec sleep 1000", bench.path("begun").display());
    for verb in ["run", "timeit"] {
        let mut command = bench.command(STILLWELL);
        command.args([verb, "--json", "--revisions", "HEAD~1,HEAD", "--build", &build, "1"]);
        let running = bench.spawn(command);
        wait_until("the build", || bench.path("begun").exists());
        running.signal(Signal::INT);
        let ran = running.finish().ends_with(130).says(&["interrupted before anything"]);
        assert!(ran.stdout.contains("\"code\": \"interrupted\""), "{ran:#?}");
        std::fs::remove_file(bench.path("begun")).unwrap();
    }
}

#[test]
fn uncommitted_changes_are_a_revision_and_nothing_of_the_user_changes() {
    let Some(bench) = repository() else { return };
    bench.write("sub/source", "four");
    bench.write("sub/new", "five");
    let before = git(&bench, &["status", "--porcelain"]);
    let build = "cat source new > built";
    let words = ["run", "--revisions", "WORK", "--build", build, "-r1", "-o", "../r.swell", SAY];
    below(&bench, &words).ends_with(0);
    let said = bench.read("log");
    assert!(said.contains(" fourfive"), "{said}");
    assert_eq!(git(&bench, &["status", "--porcelain"]), before);
    assert_eq!(git(&bench, &["log", "--branches", "--tags", "--format=%s"]), "three\ntwo\none");
    let head = git(&bench, &["rev-parse", "HEAD"]);
    assert_eq!(labels(&bench, "r.swell"), [format!("WORK ({} + changes)", &head[..10])]);
    // The same changes are found built.
    let ran = below(&bench, &["run", "--revisions", "WORK", "--build", build, "-r1", SAY]);
    assert!(!ran.ends_with(0).stderr.contains("building"));
    git(&bench, &["checkout", "--quiet", "."]);
    std::fs::remove_file(bench.path("sub/new")).unwrap();
    let ran = below(&bench, &["run", "--revisions", "WORK,HEAD", SAY]).ends_with(2);
    assert!(ran.stderr.contains("are the same commit"), "{ran:#?}");
}

#[test]
fn a_range_is_each_commit_from_its_base() {
    let Some(bench) = repository() else { return };
    let words = ["run", "--revisions", "HEAD~2..", "--build", BUILD, "-r1", "-o", "../r.swell"];
    below(&bench, &[&words[..], &[SAY]].concat()).ends_with(0);
    let ids = ["HEAD~2", "HEAD~1", "HEAD"].map(|it| git(&bench, &["rev-parse", it]));
    assert_eq!(labels(&bench, "r.swell"), ids.map(|id| id[..10].to_owned()));
    for (word, says) in [
        ("HEAD..HEAD~1", "has no commit"),
        ("nothing", "there is no commit \"nothing\""),
        ("HEAD,", "has an empty one"),
    ] {
        let ran = below(&bench, &["run", "--revisions", word, "true"]).ends_with(2);
        assert!(ran.stderr.contains(says), "{ran:#?}");
    }
    let ran = below(&bench, &["run", "--revisions", "HEAD", "--build", "echo no luck; false", "x"]);
    ran.ends_with(2).says(&["no luck", "name the other commits to leave out this one"]);
    let ran = below(&bench, &["run", "--revisions", "HEAD", "--build", "false", "x"]).ends_with(2);
    assert!(ran.stderr.trim_end().ends_with("; it wrote nothing"), "{ran:#?}");
    let ran = below(&bench, &["run", "--revisions", "HEAD~1,HEAD", "./built"]).ends_with(2);
    ran.says(&["there is no such file; a checkout has what git keeps and what its build makes"]);
}

#[test]
fn statements_programs_and_suites_have_revisions_too() {
    let Some(bench) = repository() else { return };
    let two = ["--revisions", "HEAD~1,HEAD"];
    let quick = ["--runs", "1", "--values", "1", "--loops", "1"];
    let statement = "import module; print(module.WORD, file=open('../../../../log', 'a'))";
    let statement = statement.replace("../../../..", bench.path("").to_str().unwrap());
    let words = ["timeit", "-o", "../r1.swell", &*statement];
    below(&bench, &[&words[..], &two, &quick].concat()).ends_with(0);
    let said = bench.read("log");
    assert!(said.contains("two") && said.contains("three") && !said.contains("one"), "{said}");
    // A program of a framework is asked for its benchmarks in each checkout.
    let google = crate::harnesses::google_benchmark(1000);
    bench.script("sub/sums", &google);
    commit(&bench, "four");
    bench.script("sub/sums", &google.replace("BM_fib", "BM_fob"));
    commit(&bench, "five");
    let ran = below(&bench, &[&["bench", "--list", "./sums"][..], &two].concat()).ends_with(0);
    assert!(ran.stdout.contains("BM_fib/8") && ran.stdout.contains("BM_fob/8"), "{ran:#?}");
    bench.write("s.toml", "[[benchmark]]\nname = \"cat\"\ncommand = \"cat sub/built\"\n");
    let build = "cd sub && sed s/^/built-/ source > built";
    let words = ["bench", "s.toml", "--runs", "1", "--build", build, "-o", "o.suite"];
    let ran = bench.stillwell(&[&words[..], &two].concat()).ends_with(0);
    assert_eq!(ran.stderr.matches("building HEAD").count(), 2, "{ran:#?}");
    assert!(ran.stdout.contains("HEAD~1 ("), "{ran:#?}");
    bench.write("s.toml", "[[variant]]\nname=\"a\"\n[[variant]]\nname=\"b\"\n[[benchmark]]\nname=\"c\"\ncommand=\"d\"\n");
    let ran = bench.stillwell(&["bench", "s.toml", "--revisions", "HEAD"]).ends_with(2);
    assert!(ran.stderr.contains("s.toml has 2 variants"), "{ran:#?}");
}

#[test]
fn a_history_has_one_series_of_all_commits() {
    let Some(bench) = repository() else { return };
    let words = ["run", "--revisions", "HEAD~2..", "--build", BUILD, "-r3", "-o", "../r.swell"];
    below(&bench, &[&words[..], &["cat built"]].concat()).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "r.swell"]).ends_with(0);
    bench.stillwell(&["history", "add", "--db", "h.db", "r.swell"]).ends_with(0);
    let ran = bench.stillwell(&["history", "show", "--db", "h.db", "--by", "median"]).ends_with(0);
    assert!(ran.stdout.contains("cat built        3 "), "{ran:#?}");
    let ran = bench
        .stillwell(&["history", "show", "--db", "h.db", "--by", "median", "cat built"])
        .ends_with(0);
    let id = |revision: &str| git(&bench, &["rev-parse", revision])[..10].to_owned();
    for revision in ["HEAD~2", "HEAD~1", "HEAD"] {
        assert_eq!(ran.stdout.matches(&id(revision)[..8]).count(), 1, "{ran:#?}");
    }
}

#[test]
fn outside_of_a_repository_the_error_says_so() {
    let bench = Bench::new();
    let mut command = bench.command(STILLWELL);
    command.env("GIT_CEILING_DIRECTORIES", Path::new("/")).args([
        "run",
        "--revisions",
        "HEAD",
        "x",
    ]);
    let ran = Ran::from(command.output().unwrap()).ends_with(2);
    assert!(ran.stderr.contains("around the current directory"), "{ran:#?}");
}

/// A project with a dependency beside it, whose build script says that it ran; `None` without cargo.
fn cargo_project() -> Option<Bench> {
    let bench = Bench::new();
    for directory in ["dep/src", "project/src"] {
        std::fs::create_dir_all(bench.path(directory)).unwrap();
    }
    let manifest = |name: &str, more: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n{more}\n[workspace]\n"
        )
    };
    bench.write("dep/Cargo.toml", &manifest("dep", ""));
    bench.write("dep/src/lib.rs", "pub const ONE: u32 = 1;");
    let log = bench.path("log");
    let build = format!(
        "use std::io::Write;\nfn main() {{ println!(\"cargo:rerun-if-changed=build.rs\");\n\
         let log = std::fs::OpenOptions::new().create(true).append(true).open({log:?});\n\
         writeln!(log.unwrap(), \"built\").unwrap(); }}"
    );
    bench.write("dep/build.rs", &build);
    let depends = format!("[dependencies]\ndep = {{ path = {:?} }}\n", bench.path("dep"));
    bench.write("project/Cargo.toml", &manifest("prog", &depends));
    bench.write("project/.gitignore", "target\n");
    let project = bench.path("project");
    let in_project = |program: &str, words: &[&str]| {
        let mut command = bench.command(program);
        command.env_remove("CARGO_TARGET_DIR").current_dir(&project).args(words);
        command.output().ok().filter(|output| output.status.success())
    };
    for n in [2, 3] {
        let source = format!("fn main() {{ println!(\"{{}}\", dep::ONE + {n}); }}");
        bench.write("project/src/main.rs", &source);
        if in_project("cargo", &["build", "--offline", "-q"]).is_none() {
            skipped("there is no cargo");
            return None;
        }
        for words in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "a commit"]] {
            in_project("git", words).unwrap();
        }
    }
    Some(bench)
}

#[test]
fn dependencies_that_cargo_has_built_are_not_built_again() {
    let Some(bench) = cargo_project() else { return };
    assert_eq!(bench.read("log"), "built\n");
    // A program of the user's work tree that no commit has.
    let stale = bench.path("project/target/debug/deps/stale-0123456789abcdef");
    std::fs::copy("/bin/true", &stale).unwrap();
    let words = ["run", "--revisions", "HEAD~1,HEAD", "--build", "cargo build --offline -q"];
    let more = ["-r1", "-w0", "--output", "inherit", "-N", "target/debug/prog"];
    let mut command = bench.command(STILLWELL);
    command.env_remove("CARGO_TARGET_DIR").current_dir(bench.path("project"));
    let ran = Ran::from(command.args(words).args(more).output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("3\n") && ran.stdout.contains("4\n"), "each its own: {ran:#?}");
    assert_eq!(bench.read("log"), "built\n", "{ran:#?}");
    let builds = bench.path("cache/stillwell/builds");
    let trees: Vec<_> = std::fs::read_dir(builds).unwrap().map(|it| it.unwrap().path()).collect();
    let trees: Vec<_> = trees.iter().filter(|it| it.is_dir()).collect();
    assert_eq!(trees.len(), 2, "{trees:?}");
    for tree in trees {
        let deps = tree.join("target/debug/deps");
        assert!(deps.is_dir() && !deps.join("stale-0123456789abcdef").exists(), "{deps:?}");
    }
    assert!(stale.exists(), "the user's own files stay");
}
