//! `bench SUITE.toml` with variants that are checked out and built.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::bench::{Bench, Ran, Record, Running, STILLWELL, skipped, wait_until};
use crate::processes::Process;

/// A repository with two commits of a C program of three objects; `None` where it cannot be made.
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
    let git = |arguments: &[&str]| {
        let mut command = bench.command("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
        Ran::from(command.output().unwrap()).ends_with(0)
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "a.c", "b.c", "c.c", "Makefile"]);
    git(&["commit", "--quiet", "-m", "one"]);
    bench.write("a.c", "int work(int); int main(void) { return work(2000) == 42; }\n");
    git(&["commit", "--quiet", "-am", "two"]);
    Some(bench)
}

/// `bench suite.toml` with what is built kept in `cache`.
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
    let ran = measured(&bench, &bench, &["--blocks", "8", "-o", "out"]).ends_with(0);
    assert_eq!(ran.stderr.matches("building before").count(), 4, "{}", ran.stderr);
    let trees = std::fs::read_dir(bench.path("cache/stillwell/builds")).unwrap();
    let trees: Vec<PathBuf> = trees.map(|entry| entry.unwrap().path()).collect();
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
    // Eight blocks and a warm-up: each of the four builds twice, the first once more; all of them the one build.
    let visited = bench.read("where");
    let n_runs_in =
        |tree: &PathBuf| visited.lines().filter(|line| line == &tree.to_str().unwrap()).count();
    let mut counts: Vec<usize> = trees.iter().map(n_runs_in).collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 2, 2, 3, 9]);
    // They are found again.
    let ran = measured(&bench, &bench, &["--blocks", "1", "-o", "again"]).ends_with(0);
    assert!(!ran.stderr.contains("building"), "{}", ran.stderr);
    // Copies of files as they are belong to their session, and end with it.
    let (copied, elsewhere) = (text.replace("revision = \"HEAD~1\"\n", ""), Bench::new());
    bench.write("suite.toml", &copied.replace('@', "/tmp"));
    let ran = measured(&bench, &elsewhere, &["--blocks", "1", "-o", "copied"]).ends_with(0);
    assert_eq!(ran.stderr.matches("building before").count(), 4, "{}", ran.stderr);
    let left = std::fs::read_dir(elsewhere.path("cache/stillwell/builds")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.len() == 1 && !left[0].to_str().unwrap().contains("-link"), "{left:?}");
    let broken = text.replace("\"make\"", "\"echo no such luck; false\"");
    bench.write("suite.toml", &broken.replace('@', "/tmp"));
    measured(&bench, &bench, &[]).ends_with(2).says(&["\"before\"", "no such luck"]);
}

/// What nobody asked for is not built; what is measured is measured as if it were.
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
        let words = ["bench", "suite.toml", "--seed", "3", "--blocks", "1", "-o", out];
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

/// Programs are asked for their benchmarks, so that all others keep their places.
#[test]
fn variants_of_programs_are_built_to_be_asked() {
    let bench = Bench::new();
    let text = "[[variant]]\nname = \"one\"\nbuild = { command = \"echo built; exit 7\" }\n\
                [[benchmark]]\nname = \"a\"\ncommand = \"true\"\n";
    bench.write("suite.toml", text);
    bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(0);
    bench.write("suite.toml", &format!("{text}[[benchmark]]\nprogram = \"./prog\"\n"));
    let ran = bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(2);
    ran.says(&["suite.toml:1:1: the variant \"one\": its build", "exit status: 7"]);
}

/// A suite with a build that goes on for ever, and says who it is.
fn endless(bench: &Bench, before: &str) -> (Running, Process) {
    let build = format!("{before} echo $$ > new; mv new pid; while :; do sleep 0.01; done");
    let text = format!(
        "[[variant]]\nname = \"a\"\nbuild = {{ command = \"{build}\" }}\n\
         [[benchmark]]\nname = \"n\"\ncommand = \"true\"\n"
    );
    bench.write("suite.toml", &text);
    let mut command = bench.command(STILLWELL);
    command.args(["bench", "suite.toml", "-o", "out"]);
    let running = bench.spawn(command);
    wait_until("the build", || bench.path("pid").exists());
    (running, Process::of(bench.read("pid").trim().parse().unwrap()).unwrap())
}

#[test]
fn a_build_ends_with_the_program_that_wanted_it() {
    let bench = Bench::new();
    let (running, build) = endless(&bench, "");
    running.signal(Signal::KILL);
    wait_until("the end of the build", || !build.is_alive());
}

#[test]
fn a_build_that_does_not_heed_sigterm_is_ended_by_an_interrupt() {
    let bench = Bench::new();
    let (running, build) = endless(&bench, "trap '' TERM;");
    running.signal(Signal::INT);
    running.finish().ends_with(130).says(&["interrupted while it was built"]);
    assert!(!build.is_alive());
}
