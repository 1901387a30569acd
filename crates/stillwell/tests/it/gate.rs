//! `gate`: the benchmarks of two builds, from directories and from revisions, and what it writes for a pull request.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, wait_until};
use crate::harnesses::google_benchmark;

/// Two builds in `old` and `new`; the first benchmark of the new one takes this many ns, where the old one takes 1000.
fn builds(new_ns: u32) -> Bench {
    let bench = Bench::new();
    for (side, ns) in [("old", 1000), ("new", new_ns)] {
        std::fs::create_dir(bench.path(side)).unwrap();
        bench.script(&format!("{side}/sums"), &google_benchmark(ns));
    }
    bench
}

/// [`builds`] whose memory is above the launcher's.
fn large_builds() -> Bench {
    let bench = builds(1300);
    for (side, ns) in [("old", 1000), ("new", 1300)] {
        let use_memory = "dd bs=20M count=1 if=/dev/zero of=/dev/null 2>/dev/null\nn=$((";
        let program = google_benchmark(ns).replacen("n=$((", use_memory, 1);
        bench.script(&format!("{side}/sums"), &program);
    }
    bench
}

fn gate(bench: &Bench, options: &[&str]) -> Ran {
    let files = ["--markdown", "c.md", "--junit", "j.xml", "--json", "g.json", "-o", "out.suite"];
    let builds = ["gate", "--old", "old", "--new", "new"];
    bench.stillwell(&[&builds[..], &files, options].concat())
}

fn json(bench: &Bench) -> Value {
    serde_json::from_str(&bench.read("g.json")).unwrap()
}

#[test]
fn a_slowdown_fails_the_gate_and_is_in_every_file() {
    let bench = builds(1300);
    let ran = gate(&bench, &["--report", "r.html"]).ends_with(1);
    assert!(ran.stdout.contains("gate: fail"), "{ran:#?}");
    let comment = bench.read("c.md");
    assert!(comment.starts_with("### Benchmarks: fail\n"), "{comment}");
    let row = comment.lines().find(|line| line.starts_with("| `BM_fib/8`")).unwrap();
    assert!(row.contains("**30 % slower") && row.contains("1.3"), "{row}");
    let xml = bench.read("j.xml");
    assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
    assert!(xml.contains("name=\"BM_fib/8\"><failure message="), "{xml}");
    let found = json(&bench);
    assert_eq!((&found["answer"], &found["exit_code"]), (&"fail".into(), &1.into()));
    assert_eq!(found["benchmarks"].as_array().unwrap().len(), 2);
    assert!(bench.read("r.html").contains("BM_fib/8"));
    // It is still known what fails it.
    let again = bench.stillwell(&["bench", "--resume", "out.suite"]).ends_with(1);
    assert!(again.stdout.contains("gate: fail"), "{again:#?}");
    gate(&bench, &[]).ends_with(2).says(&["or go on with `stillwell bench --resume out.suite`"]);
}

/// The list of pytest or of Java takes seconds.
#[test]
fn a_program_lists_its_benchmarks_once() {
    let bench = builds(1300);
    let asked = bench.path("asked").display().to_string();
    let program = google_benchmark(1300);
    bench.script("new/sums", &program.replacen('\n', &format!("\necho \"$*\" >> '{asked}'\n"), 1));
    bench.stillwell(&["gate", "--old", "old", "--new", "new"]).ends_with(1);
    let list = bench.stillwell(&["show", "--list"]).ends_with(0).stdout;
    assert!(list.contains("gate --old old --new new "), "{list}");
    let asked = bench.read("asked");
    let lists = asked.lines().filter(|line| line.contains("--benchmark_list_tests"));
    assert_eq!(lists.count(), 1, "{asked}");
}

/// The record of a benchmark in the results of [`gate`].
fn record(bench: &Bench, name: &str) -> String {
    let files = std::fs::read_dir(bench.path("out.suite")).unwrap().flatten();
    let mut paths = files.map(|file| file.path());
    let path = paths.find(|path| path.to_string_lossy().ends_with(&format!("-{name}.swell")));
    std::fs::read_to_string(path.unwrap()).unwrap()
}

/// After five blocks of each, half of the time goes to the one that may be slower.
#[test]
fn the_benchmark_that_may_be_slower_is_a_suspect() {
    let bench = builds(1300);
    gate(&bench, &["--seed", "7"]).ends_with(1);
    let [slow, other] = ["BM_fib-8", "BM_sum"].map(|name| record(&bench, name));
    let suspect = "{\"event\":\"suspect\"}";
    assert!(slow.contains(suspect) && !other.contains(suspect), "{slow}");
    let suite: Value = serde_json::from_str(&bench.read("out.suite/suite.json")).unwrap();
    assert_eq!(suite["suite"]["seed"], 7);
    let words = ["show", "out.suite", "--fail-on", "slower"];
    let shown = bench.stillwell(&words).ends_with(1).stdout;
    assert!(shown.contains("1 slower, 1 the same"), "{shown}");
}

#[test]
fn a_gate_has_the_options_for_the_machine() {
    let bench = builds(1300);
    gate(&bench, &["--affinity", "all", "--nice", "3"]).ends_with(1);
    let slow = record(&bench, "BM_fib-8");
    let header: Value = serde_json::from_str(slow.lines().next().unwrap()).unwrap();
    let process = &header["plan"]["process"];
    assert_eq!((&process["affinity"], &process["nice"]), (&Value::Null, &3.into()));
    let bench = builds(1300);
    let ran = gate(&bench, &["--affinity", "4000"]).ends_with(2);
    assert!(ran.stderr.contains("--affinity") && !ran.stderr.contains("bench --"), "{ran:#?}");
}

#[test]
fn a_slowdown_within_the_limit_passes() {
    let bench = builds(1300);
    gate(&bench, &["--fail-on", "slower:50%"]).ends_with(0);
    let comment = bench.read("c.md");
    assert!(comment.starts_with("### Benchmarks: pass\n"), "{comment}");
    assert!(comment.contains("<details>") && comment.contains("Runner: "), "{comment}");
    assert!(!bench.read("j.xml").contains("<failure"));
}

#[test]
fn too_little_time_is_no_verdict() {
    let bench = builds(1001);
    gate(&bench, &["--budget", "50ms", "--timeout", "1min"]).ends_with(3);
    assert!(bench.read("c.md").starts_with("### Benchmarks: not decided\n"));
    assert!(bench.read("j.xml").contains("<skipped message="));
}

/// A program of Google Benchmark in C that says its directory, and whose first benchmark takes 1000 ns and this many more.
fn c_program(bench: &Bench, side: &str, more_ns: u32) {
    let code = r#"#include <stdio.h>
#include <string.h>
int main(int n, char **words) {
    if (n > 1 && !strcmp(words[1], "--help")) return puts("[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>]") < 0;
    if (n > 1 && strstr(words[1], "list_tests")) return puts("BM_fib/8") < 0;
    fprintf(stderr, "%s\n", PLACE);
    printf("{\"benchmarks\": [{\"name\": \"BM_fib/8\", \"real_time\": %d, \"time_unit\": \"ns\"}]}\n", 1000 + MORE);
}
"#;
    bench.write("b.c", code);
    let place = format!("-DPLACE=\"{}\"", bench.path(side).canonicalize().unwrap().display());
    let more = format!("-DMORE={more_ns}");
    let to = format!("{side}/sums");
    let words = [&*place, &more, "-g", "-Wl,--build-id", "-o", &to, "b.c"];
    let built = Command::new("cc").args(words).current_dir(bench.path(".")).output().unwrap();
    assert!(built.status.success(), "{built:?}");
}

#[test]
fn builds_that_are_the_same_are_not_measured() {
    let bench = builds(1000);
    c_program(&bench, "old", 0);
    std::fs::copy(bench.path("old/sums"), bench.path("new/sums")).unwrap();
    let ran = gate(&bench, &[]).ends_with(0);
    assert!(ran.stdout.contains("gate: pass: nothing was measured, exit code 0"), "{ran:#?}");
    assert_eq!(json(&bench)["same"], serde_json::json!(["sums"]));
    assert!(!bench.path("out.suite").exists());
    // Built in another directory.
    c_program(&bench, "new", 0);
    gate(&bench, &[]).ends_with(0);
    let found = json(&bench);
    assert_eq!(found["same_but_for_build"], serde_json::json!(["sums"]));
    assert_eq!(found["same"], serde_json::json!([]));
    assert!(bench.read("c.md").contains("but for the directory and the number of the build"));
    assert!(!bench.path("out.suite").exists());
    // One number differs. All programs are measured if the user wants that.
    c_program(&bench, "new", 300);
    gate(&bench, &["--budget", "1s"]);
    assert_eq!(json(&bench)["benchmarks"][0]["name"], "BM_fib/8");
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    c_program(&bench, "new", 0);
    gate(&bench, &["--budget", "1s", "--select", "all"]);
    assert_eq!(json(&bench)["benchmarks"][0]["name"], "BM_fib/8");
}

/// What a script loads is not known.
#[test]
fn scripts_that_are_the_same_are_measured() {
    let bench = builds(1000);
    gate(&bench, &["--budget", "50ms", "--timeout", "1min"]).ends_with(3);
    assert_eq!(json(&bench)["same"], serde_json::json!([]));
}

#[test]
fn a_program_that_does_not_answer_is_failing() {
    let bench = builds(1001);
    bench.script(
        "new/sums",
        &google_benchmark(1001).replace("*--help*)", "*--help*) exec sleep 1000;;\n*--nothing*)"),
    );
    let ran = gate(&bench, &["--timeout", "3s"]).ends_with(2);
    let said =
        "sums (head): asked with --help, it did not end within 3 s; give it longer with --timeout";
    assert_eq!(json(&bench)["failing"], serde_json::json!([said]), "{ran:#?}");
}

#[test]
fn a_benchmark_that_crashes_is_failing() {
    let bench = builds(1001);
    let name = "BM_fib/a_name_that_is_longer_than_a_column/8";
    let named = |program: String| program.replace("BM_fib/8", name);
    bench.script("old/sums", &named(google_benchmark(1000)));
    let crash =
        google_benchmark(1001).replace("printf \"{", "[ $n -gt 5 ] && kill -SEGV $$\nprintf \"{");
    bench.script("new/sums", &named(crash));
    let ran = gate(&bench, &["--budget", "600s"]).ends_with(2);
    let failing = json(&bench)["failing"].to_string();
    let why = format!("{name}: head was ended by signal 11");
    assert!(failing.contains(&why), "{failing} {ran:#?}");
    assert!(bench.read("c.md").contains(&format!("Failing: `{why}")));
    assert!(!bench.read("j.xml").contains("errors=\"0\""));
}

#[test]
fn another_metric_can_decide() {
    let bench = large_builds();
    let options = ["--decide-on", "maxrss", "--fail-on", "slower:200%", "--budget", "300s"];
    gate(&bench, &options).ends_with(0);
    let row = &json(&bench)["benchmarks"][0];
    assert_eq!(row["by"], "decide_on");
    let ratio = row["ratio"]["ratio"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn a_benchmark_can_be_limited() {
    let bench = large_builds();
    // Of a time, a busy machine would tell only an upper limit.
    let options = ["--decide-on", "maxrss", "--fail-on", "above:64KiB"];
    gate(&bench, &options).ends_with(1);
    let (answer, place) = ("2 above the limit", "all of it above 64 KiB");
    let comment = bench.read("c.md");
    assert!(comment.contains(answer), "{comment}");
    let row = comment.lines().find(|line| line.starts_with("| `BM_fib/8`")).unwrap();
    assert!(row.contains(place), "{comment}");
    let found = json(&bench);
    assert_eq!(found["benchmarks"][0]["by"], "ceiling", "{found:#}");
    assert_eq!(found["above"]["value"], 65536.0, "{found:#}");
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    // A slowdown is no failure unless it is asked for.
    gate(&bench, &["--fail-on", "above:1ms"]).ends_with(0);
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    gate(&bench, &["--fail-on", "slower:1%,above:1ms"]).ends_with(1);
    let options = ["--fail-on", "above:64MiB", "--budget", "5s"];
    gate(&bench, &options).ends_with(2).says(&["above:64MiB", "--decide-on"]);
}

#[test]
fn benchmarks_can_be_left_out() {
    for options in [["--only", "BM_s*"], ["--skip", "fib"]] {
        let bench = builds(1300);
        let ran = gate(&bench, &options).ends_with(0);
        let found = json(&bench);
        assert_eq!(found["benchmarks"].as_array().unwrap().len(), 1, "{ran:#?}");
        assert_eq!(found["left_out"][0], "sums: BM_fib/8", "{found:#}");
        assert!(bench.read("c.md").contains("Left out by --only and --skip"), "{ran:#?}");
    }
    gate(&builds(1300), &["--only", "BM_a"]).ends_with(2).says(&["BM_fib/8", "--only"]);
}

#[test]
fn what_is_new_gone_or_failing_is_named() {
    let bench = builds(1001);
    bench.script("new/more", &google_benchmark(5));
    bench.script("old/less", &google_benchmark(5));
    let renamed = google_benchmark(1001).replace("BM_sum", "BM_total");
    bench.script("new/sums", &renamed);
    gate(&bench, &["--fail-on", "slower:50%"]).ends_with(0);
    let found = json(&bench);
    assert_eq!(found["new"], serde_json::json!(["more", "sums: BM_total"]));
    assert_eq!(found["gone"], serde_json::json!(["less", "sums: BM_sum"]));
    let broken = builds(1001);
    broken.script("new/sums", &google_benchmark(1001).replace("BM_fib/8\\nBM_sum", ""));
    let ran = gate(&broken, &["sums"]).ends_with(2);
    assert!(ran.stdout.contains("failing: sums (head): asked for"), "{ran:#?}");
    assert!(broken.read("j.xml").contains("errors=\"1\""));
    gate(&broken, &["nothing"]).ends_with(2).says(&["there is no program \"nothing\""]);
}

#[test]
fn a_program_of_cargo_is_found_without_its_hash() {
    let bench = builds(1001);
    for (side, hash) in [("old", "0123456789abcdef"), ("new", "fedcba9876543210")] {
        std::fs::create_dir_all(bench.path(&format!("{side}/target/release/deps"))).unwrap();
        let program = format!("{side}/target/release/deps/sort-{hash}");
        bench.script(&program, &google_benchmark(if side == "old" { 1000 } else { 1300 }));
    }
    gate(&bench, &["target/release/deps/sort"]).ends_with(1);
    assert_eq!(json(&bench)["benchmarks"][0]["name"], "BM_fib/8");
}

/// Executes git in a directory of the bench.
fn git(bench: &Bench, directory: &str, words: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
    let mut git = Command::new("git");
    let git = git.args(identity).args(words).current_dir(bench.path(directory));
    let done = git.env("HOME", bench.path(".")).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Commits a program whose first benchmark takes this many ns.
fn commit(bench: &Bench, ns: u32) {
    bench.script("sums.in", &google_benchmark(ns));
    git(bench, ".", &["add", "sums.in"]);
    git(bench, ".", &["commit", "-q", "-m", &ns.to_string()]);
}

/// A repository whose branch `change` is slower than its merge base with `main`, which went on.
fn repository() -> Bench {
    let bench = Bench::new();
    git(&bench, ".", &["init", "-q"]);
    commit(&bench, 1000);
    git(&bench, ".", &["switch", "-q", "-c", "change"]);
    commit(&bench, 1300);
    git(&bench, ".", &["switch", "-q", "main"]);
    // Not in the merge base, so it changes nothing.
    commit(&bench, 9000);
    git(&bench, ".", &["switch", "-q", "change"]);
    bench
}

const BUILD: &str = "mkdir bin && cp sums.in bin/sums";

#[test]
fn the_merge_base_and_the_head_are_built_and_compared() {
    let bench = repository();
    let words = ["gate", "--base", "main", "--build", BUILD];
    let files = ["--budget", "600s", "-o", "out.suite", "--json", "g.json", "bin/sums"];
    bench.stillwell(&[&words[..], &files].concat()).ends_with(1);
    let ratio = json(&bench)["benchmarks"][0]["ratio"]["ratio"].as_f64().unwrap();
    assert!((1.28..1.32).contains(&ratio), "{ratio}");
    let words = ["gate", "--base", "main", "--build", "exit 3", "bin/sums"];
    let ran = bench.stillwell(&words).ends_with(2).says(&["build"]);
    assert!(!ran.stderr.contains("not committed"), "{ran:#?}");
    bench.script("sums.in", "#!/bin/sh\n");
    bench.stillwell(&words).ends_with(2).says(&["some changes are not committed"]);
    let words = ["gate", "--base", "nowhere", "--build", "true"];
    bench.stillwell(&words).ends_with(2).says(&["nowhere"]);
}

#[test]
fn a_gate_that_is_interrupted_while_it_builds_writes_its_files() {
    let bench = repository();
    let build = format!("touch {}; exec sleep 1000", bench.path("begun").display());
    let mut command = bench.command(STILLWELL);
    command.args(["gate", "--base", "main", "--build", &build, "--markdown", "c.md"]);
    command.args(["--junit", "j.xml", "--json", "g.json", "bin/sums"]);
    let running = bench.spawn(command);
    wait_until("the build", || bench.path("begun").exists());
    running.signal(Signal::INT);
    running.finish().ends_with(130).says(&["interrupted before anything"]);
    let error = &json(&bench)["error"];
    assert_eq!(error["code"], "interrupted");
    assert_eq!(error["exit_code"], 130);
    assert!(bench.read("c.md").contains("interrupted before anything"), "{}", bench.read("c.md"));
    assert!(bench.read("j.xml").contains("errors=\"1\""), "{}", bench.read("j.xml"));
}

/// `ci/gate` in a shallow clone of a bare repository, as on a runner.
#[test]
fn the_script_for_ci_runs_in_a_shallow_clone() {
    let bench = repository();
    git(&bench, ".", &["clone", "-q", "--bare", ".", "origin.git"]);
    let origin = format!("file://{}", bench.path("origin.git").display());
    git(&bench, ".", &["clone", "-q", "--depth", "1", "-b", "change", &origin, "clone"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/gate");
    let program = Path::new(STILLWELL).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let mut command = bench.command("sh");
    let command = command.arg(script).current_dir(bench.path("clone")).envs([
        ("PATH", path.as_str()),
        ("BASE", "main"),
        ("BUILD", BUILD),
        ("PROGRAMS", "bin/sums"),
        ("OPTIONS", "--budget 600s"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
    ]);
    let done = command.output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(bench.read("clone/summary.md").starts_with("### Benchmarks: fail\n"));
    let results = ["gate.md", "gate.xml", "gate.json", "gate.html"];
    assert!(results.iter().all(|it| bench.path(&format!("clone/gate-results/{it}")).is_file()));
}
