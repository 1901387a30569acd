//! `bench SUITE.toml` with variants that Stillwell checks out and builds.

use std::path::PathBuf;

use crate::bench::{Bench, Ran, Record, STILLWELL, skipped, wait_until};

/// Commits all files of the directory.
pub fn commit(bench: &Bench, message: &str) {
    let git = |arguments: &[&str]| {
        let mut command = bench.command("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
        Ran::from(command.output().unwrap()).ends_with(0)
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", message]);
}

/// The built trees, without the locks beside them.
fn built(cache: &Bench) -> Vec<PathBuf> {
    let found = std::fs::read_dir(cache.path("cache/stillwell/builds")).unwrap();
    found.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

/// A repository with two commits of a C program of three objects; `None` without git or a compiler.
fn repository() -> Option<Bench> {
    let bench = Bench::new();
    let has = |program: &str| bench.command(program).arg("--version").output().is_ok();
    if !["git", "cc", "make", "nm"].into_iter().all(has) {
        skipped("there is no git, cc, make or nm to build a suite with");
        return None;
    }
    bench.write("a.c", "int work(int); int main(void) { return work(1000) == 42; }\n");
    bench.write("b.c", "int part(int); int work(int n) { return n ? part(n) : 0; }\n");
    bench.write("c.c", "int part(int n) { return n * 7; }\n");
    bench.write("Makefile", "prog: a.o b.o c.o\n\t$(CC) -o $@ $^\n");
    commit(&bench, "one");
    bench.write("a.c", "int work(int); int main(void) { return work(2000) == 42; }\n");
    commit(&bench, "two");
    Some(bench)
}

/// Runs `bench suite.toml` with its builds in `cache`.
fn measured(bench: &Bench, cache: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.env("XDG_CACHE_HOME", cache.path("cache")).args(["bench", "suite.toml"]);
    Ran::from(command.args(arguments).output().unwrap())
}

#[test]
fn revisions_are_built_in_work_trees_with_several_orders_of_linking() {
    let Some(bench) = repository() else { return };
    let text = r#"
[[variant]]
name = "before"
revision = "HEAD~1"
build = { command = "make", link_order = "random", builds = 4 }
[[variant]]
name = "after"
revision = "HEAD"
build = { command = "make" }
[[benchmark]]
name = "prog"
command = "./prog"
conclude = "pwd >> $LOG"
env = { LOG = "@/where" }
"#;
    bench.write(
        "suite.toml",
        &text.replace('@', bench.path("").to_str().unwrap().trim_end_matches('/')),
    );
    let ran = measured(&bench, &bench, &["--runs", "8", "-o", "out"]).ends_with(0);
    // One line for all link orders.
    assert_eq!(ran.stderr.matches("building before").count(), 1, "{}", ran.stderr);
    let trees = built(&bench);
    assert_eq!(trees.len(), 5);
    let mut layouts = std::collections::BTreeSet::new();
    for tree in trees.iter().filter(|tree| tree.to_str().unwrap().contains("-link")) {
        let nm = bench.command("nm").arg("-n").arg(tree.join("prog")).output().unwrap();
        let names = String::from_utf8(nm.stdout).unwrap();
        let names = names.lines().filter_map(|line| line.rsplit(' ').next());
        let ours = names.filter(|name| ["main", "work", "part"].contains(name));
        layouts.insert(ours.map(str::to_owned).collect::<Vec<_>>());
        assert!(std::fs::read_to_string(tree.join("a.c")).unwrap().contains("1000"));
    }
    assert!(layouts.len() > 1, "{layouts:?}");
    // Eight blocks and a warm-up run each of the four builds twice, and the first once more. All nine use the one build.
    let visited = bench.read("where");
    let n_runs_in =
        |tree: &PathBuf| visited.lines().filter(|line| line == &tree.to_str().unwrap()).count();
    let mut counts: Vec<usize> = trees.iter().map(n_runs_in).collect();
    counts.sort_unstable();
    // Under load a first block may be a warm-up. Another one replaces it, after a warm-up run, both in the first build.
    let more = counts[4] - 9;
    assert!(more == 0 || more == 2, "{counts:?}");
    assert_eq!(counts, [2, 2, 2, 3 + more, 9 + more]);
    // The next session finds the builds.
    let ran = measured(&bench, &bench, &["--runs", "1", "-o", "again"]).ends_with(0);
    assert!(!ran.stderr.contains("building"), "{}", ran.stderr);
    // Copies of uncommitted files belong to their session and end with it.
    let (copied, elsewhere) = (text.replace("revision = \"HEAD~1\"\n", ""), Bench::new());
    bench.write("suite.toml", &copied.replace('@', "/tmp"));
    let ran = measured(&bench, &elsewhere, &["--runs", "1", "-o", "copied"]).ends_with(0);
    // One line for all link orders.
    assert_eq!(ran.stderr.matches("building before").count(), 1, "{}", ran.stderr);
    let left = built(&elsewhere);
    assert!(left.len() == 1 && !left[0].to_str().unwrap().contains("-link"), "{left:?}");
    let broken = text.replace("\"make\"", "\"echo no such luck; false\"");
    bench.write("suite.toml", &broken.replace('@', "/tmp"));
    measured(&bench, &bench, &[]).ends_with(2).says(&["\"before\"", "no such luck"]);
}

/// A repository with files that need no compiler; `None` without git.
pub fn plain_repository(suite: &str) -> Option<Bench> {
    let bench = Bench::new();
    if bench.command("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    bench.write("suite.toml", suite);
    commit(&bench, "one");
    Some(bench)
}

/// Two variants of one commit whose builds have different variables, and a benchmark that prints its build.
const TWO_FLAVOURS: &str = r#"
[[variant]]
name = "l 2"
revision = "HEAD"
env = { FL = "{variant}" }
build = { command = "echo $FL > flavour" }
[[variant]]
name = "l-2"
revision = "HEAD"
env = { FL = "{variant}" }
build = { command = "echo $FL > flavour" }
[[benchmark]]
name = "say"
command = "sh -c 'echo $FL is $(cat flavour) >> $LOG'"
env = { LOG = "LOGFILE" }
"#;

#[test]
fn variables_and_names_make_another_build() {
    let Some(bench) = plain_repository("") else { return };
    let suite = TWO_FLAVOURS.replace("LOGFILE", bench.path("log").to_str().unwrap());
    let linked = suite
        .replace("revision = \"HEAD\"\n", "")
        .replace("flavour\" }", "flavour\", link_order = \"random\", builds = 2 }");
    // The copies differ too, although the names of both variants give the same file name.
    let cache = Bench::new();
    for text in [&suite, &linked] {
        bench.write("suite.toml", text);
        bench.write("log", "");
        measured(&bench, &cache, &["--runs", "3", "-o", "out"]).ends_with(0);
        let log = bench.read("log");
        let mut said: Vec<&str> = log.lines().collect();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said, ["l 2 is l 2", "l-2 is l-2"]);
        std::fs::remove_dir_all(bench.path("out")).unwrap();
    }
    // The same holds in another session.
    let other = suite.replace("env = { FL = \"{variant}\" }", "env = { FL = \"other\" }");
    bench.write("suite.toml", &other);
    bench.write("log", "");
    let ran = measured(&bench, &cache, &["--runs", "3", "-o", "out"]).ends_with(0);
    assert!(bench.read("log").lines().all(|line| line == "other is other"), "{ran:?}");
    // Now both variants are equal, so there is one build.
    assert_eq!(ran.stderr.matches("building").count(), 1, "{}", ran.stderr);
}

#[test]
fn two_sessions_do_not_build_in_one_tree() {
    let build = "echo $$ > id; echo x >> $AT/begun; until [ -e $AT/go ]; do sleep 0.01; done; test $(cat id) = $$";
    let suite = |revision: &str, at: &Bench| {
        let at = at.path("").display().to_string();
        format!(
            "[[variant]]\nname = \"a\"\n{revision}env = {{ AT = \"{at}\" }}\nbuild = {{ command = \"{build}\" }}\n\
             [[benchmark]]\nname = \"n\"\ncommand = \"cat id\"\n"
        )
    };
    let Some(bench) = plain_repository("") else { return };
    // First in a work tree, then in place.
    for (revision, n_builds) in [("revision = \"HEAD\"\n", 1), ("", 2)] {
        bench.write("suite.toml", &suite(revision, &bench));
        let session = |place: &Bench| {
            let mut command = place.command(STILLWELL);
            command.env("XDG_CACHE_HOME", bench.path("cache")).arg("bench");
            command.arg(bench.path("suite.toml")).args(["--runs", "1", "-o", "out"]);
            place.spawn(command)
        };
        let (here, there) = (Bench::new(), Bench::new());
        let first = session(&here);
        wait_until("the build", || bench.read("begun").lines().count() == 1);
        let second = session(&there);
        let is_told = || there.read("stderr").contains("waiting for another session that builds a");
        wait_until("the second waits", is_told);
        bench.write("go", "");
        first.finish().ends_with(0);
        second.finish().ends_with(0);
        assert_eq!(bench.read("begun").lines().count(), n_builds);
        for name in ["go", "begun"] {
            std::fs::remove_file(bench.path(name)).unwrap();
        }
    }
}

/// The machines of a pool may share the repository. Each may have its own work tree at the same path.
#[test]
fn work_trees_of_other_machines_are_none_of_ours() {
    let suite = "[[variant]]\nname = \"a\"\nrevision = \"HEAD\"\n\
                 build = { command = \"git rev-parse HEAD > id\" }\n\
                 [[benchmark]]\nname = \"n\"\ncommand = \"true\"\n";
    let Some(bench) = plain_repository(suite) else { return };
    let (mine, other) = (Bench::new(), Bench::new());
    let run = |cache: &Bench| {
        let out = ["--runs", "1", "-o", "out"];
        measured(&bench, cache, &out).ends_with(0);
        std::fs::remove_dir_all(bench.path("out")).unwrap();
    };
    run(&other);
    // This machine does not see the other's work tree and leaves it as it is.
    std::fs::rename(other.path("cache"), other.path("away")).unwrap();
    run(&mine);
    std::fs::rename(other.path("away"), other.path("cache")).unwrap();
    let mut command = bench.command("git");
    command.arg("-C").arg(&built(&other)[0]).args(["rev-parse", "HEAD"]);
    Ran::from(command.output().unwrap()).ends_with(0);
    // A work tree at our path whose machine is creating it, or died while creating it.
    let known = |tree: &PathBuf| {
        let text = std::fs::read_to_string(tree.join(".git")).unwrap();
        PathBuf::from(text.trim().strip_prefix("gitdir: ").unwrap())
    };
    std::fs::write(known(&built(&mine)[0]).join("locked"), "initializing").unwrap();
    std::fs::remove_dir_all(mine.path("cache")).unwrap();
    run(&mine);
    // A work tree that git no longer knows.
    let tree = &built(&mine)[0];
    std::fs::remove_dir_all(known(tree)).unwrap();
    std::fs::remove_file(tree.join(".stillwell-built")).unwrap();
    run(&mine);
    // Only one machine at a time writes to the repository.
    let lock = std::fs::File::open(bench.path(".git/stillwell.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::fs::remove_file(tree.join(".stillwell-built")).unwrap();
    let mut command = bench.command(STILLWELL);
    command.env("XDG_CACHE_HOME", mine.path("cache"));
    command.args(["bench", "suite.toml", "--runs", "1", "-o", "out"]);
    let waiting = bench.spawn(command);
    wait_until("it waits", || bench.read("stderr").contains("waiting for another session"));
    drop(lock);
    waiting.finish().ends_with(0);
}

/// git sets variables for hooks that name its repository. A suite ignores them and uses its own repository.
#[test]
fn a_suite_in_a_hook_of_another_repository_is_of_its_own() {
    let suite = "[[variant]]\nname = \"a\"\nrevision = \"HEAD\"\n\
                 build = { command = \"git rev-parse HEAD > id\" }\n\
                 [[benchmark]]\nname = \"n\"\ncommand = \"test -e suite.toml\"\n";
    let Some(bench) = plain_repository(suite) else { return };
    let Some(other) = plain_repository("") else { return };
    let head = |of: &Bench| {
        let output = of.command("git").args(["rev-parse", "HEAD"]).output().unwrap();
        Ran::from(output).ends_with(0).stdout
    };
    let mut command = bench.command(STILLWELL);
    command
        .env("GIT_DIR", other.path(".git"))
        .env("GIT_WORK_TREE", other.path(""))
        .env("GIT_INDEX_FILE", other.path(".git/index"));
    command.args(["bench", "suite.toml", "--runs", "1", "-o", "out"]);
    Ran::from(command.output().unwrap()).ends_with(0);
    assert_eq!(std::fs::read_to_string(built(&bench)[0].join("id")).unwrap(), head(&bench));
    assert_eq!(
        std::fs::read_to_string(other.path(".git/HEAD")).unwrap().matches("ref:").count(),
        1
    );
    assert!(!other.path(".git/worktrees").exists());
}

#[test]
fn submodules_are_there_when_a_revision_is_built() {
    let suite = "[[variant]]\nname = \"a\"\nrevision = \"HEAD\"\n\
                 build = { command = \"test -e part/suite.toml\" }\n\
                 [[benchmark]]\nname = \"n\"\ncommand = \"true\"\n";
    let Some(part) = plain_repository("") else { return };
    let Some(bench) = plain_repository(suite) else { return };
    let allowed = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add"];
    let added =
        bench.command("git").args(allowed).args(add).arg(part.path("")).arg("part").output();
    Ran::from(added.unwrap()).ends_with(0);
    commit(&bench, "two");
    // git refuses to clone a submodule from a directory unless a setting allows it.
    measured(&bench, &bench, &["--runs", "1", "-o", "out"])
        .ends_with(2)
        .says(&["its submodules", "submodule.NAME.update none"]);
    let mut command = bench.command(STILLWELL);
    let settings = [("COUNT", "1"), ("KEY_0", "protocol.file.allow"), ("VALUE_0", "always")];
    command.envs(settings.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value)));
    command.args(["bench", "suite.toml", "--runs", "1", "-o", "out"]);
    Ran::from(command.output().unwrap()).ends_with(0);
}

/// Stillwell builds only the selected variants. That does not change their measurement.
#[test]
fn only_variants_that_are_measured_are_built() {
    let bench = Bench::new();
    let variant = |name: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\nbuild = {{ command = \"echo {name} >> built\" }}\n"
        )
    };
    let benchmark = |name: &str, variants: &str| {
        format!(
            "[[benchmark]]\nname = \"{name}\"\ncommand = \"true\"\nvariants = [{variants}]\ntags = [\"{name}\"]\n"
        )
    };
    let all = ["one", "two", "three"].map(variant).concat();
    let both = benchmark("a", "\"one\", \"two\"") + &benchmark("b", "\"two\", \"three\"");
    bench.write("suite.toml", &(all + &both));
    let run = |options: &[&str], out: &str, expected: &str| {
        let words = ["bench", "suite.toml", "--seed", "3", "--runs", "1", "-o", out];
        bench.stillwell(&[&words[..], options].concat()).ends_with(0);
        assert_eq!(bench.read("built"), expected, "{options:?}");
        std::fs::remove_file(bench.path("built")).ok();
    };
    run(&["--only", "b"], "b.swell", "two\nthree\n");
    run(&["--filter", "a"], "a", "one\ntwo\n");
    run(&["--tag", "b"], "tagged", "two\nthree\n");
    run(&[], "all", "one\ntwo\nthree\n");
    let list = ["bench", "suite.toml", "--list"];
    assert_eq!(bench.stillwell(&list).ends_with(0).stdout, "a\nb\n");
    assert_eq!(bench.read("built"), "");
    let alone = Record::read(&bench.path("b.swell")).header["plan"]["seed"].clone();
    let records = std::fs::read_dir(bench.path("all")).unwrap();
    let mut seeds = records.filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_record = path.extension().is_some_and(|extension| extension == "swell");
        is_record.then(|| Record::read(&path).header["plan"]["seed"].clone())
    });
    assert!(seeds.any(|seed| seed == alone));
}

/// Stillwell asks built programs for their benchmarks, so that all other benchmarks keep their places.
#[test]
fn variants_of_programs_are_built_to_be_asked() {
    let bench = Bench::new();
    let text = "[[variant]]\nname = \"one\"\nbuild = { command = \"echo built; exit 7\" }\n\
                [[benchmark]]\nname = \"a\"\ncommand = \"true\"\n";
    bench.write("suite.toml", text);
    bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(0);
    bench.write("suite.toml", &format!("{text}[[benchmark]]\nprogram = \"./prog\"\n"));
    let ran = bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(2);
    ran.says(&["suite.toml:3:21: the variant \"one\": its build", "exit status: 7"]);
}
