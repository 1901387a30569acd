//! `why` of what was measured before, and what it says about names, waits and the kernel.

use serde_json::Value;

use crate::bench::{Bench, Ran, skipped};
use crate::harnesses::google_benchmark;
use crate::why::{can_sample, names};

/// `AGAIN`: one more loop, system call or sleep; `STEP`: how the inner function is compiled; `NAME`: what it is called.
const SOURCE: &str = r#"
#include <stdint.h>
#include <fcntl.h>
#include <unistd.h>
#ifndef NAME
#define NAME step
#endif
volatile uint64_t sink;
__attribute__((STEP)) static uint64_t NAME(uint64_t x) {
    for (int i = 0; i < 400000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    return x;
}
__attribute__((noinline)) void work(void) {
    for (int i = 0; i < 1 + AGAIN; i++) { sink = NAME(sink + 1); }
    sink++;
}
int main(void) {
    for (int i = 0; i < 6; i++) { work(); }
#ifdef CALLS
    static char text[1 << 16];
    int zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < CALLS * (1 + AGAIN); i++) { sink += read(zero, text, sizeof text); }
#endif
#ifdef SLEEP
    usleep(SLEEP * (1 + 2 * AGAIN));
#endif
    return 0;
}
"#;

/// Programs of these names with these options of the compiler.
fn builds(programs: &[(&str, &[&str])]) -> Option<Bench> {
    let bench = Bench::new();
    bench.write("s.c", SOURCE);
    for (name, options) in programs {
        let mut compile = bench.command("cc");
        compile.args(["-O1", "-fno-omit-frame-pointer", "-o", name, "s.c"]).args(*options);
        let Ok(output) = compile.output() else {
            skipped("there is no cc to compile with");
            return None;
        };
        Ran::from(output).ends_with(0);
    }
    can_sample(&bench).then_some(bench)
}

const OLD: (&str, &[&str]) = ("old", &["-g", "-DAGAIN=0", "-DSTEP=noinline"]);
const NEW: (&str, &[&str]) = ("new", &["-g", "-DAGAIN=1", "-DSTEP=noinline"]);

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    let ran = bench.stillwell(&[&["why", "--json"], arguments].concat()).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_record_is_measured_again_with_samples_also_from_elsewhere() {
    let Some(bench) = builds(&[OLD, NEW]) else { return };
    bench.stillwell(&["run", "-r", "20", "-o", "r.swell", "./old", "./new", "./old"]).ends_with(0);
    let found = json(&bench, &["-r", "12", "-n", "before", "-n", "after", "r.swell"]);
    assert_eq!(found["arms"], serde_json::json!(["before", "after"]));
    let ran = bench.stillwell(&["why", "--prepare", "true", "r.swell"]).ends_with(2);
    assert!(ran.stderr.contains("so --prepare would change nothing"), "{}", ran.stderr);
    let found = json(&bench, &["-r", "40", "r.swell"]);
    assert_eq!(names(&found, "functions")[0], "step");
    // The third command does not differ, and the second one is the only slower one.
    assert_eq!(found["arms"], serde_json::json!(["./old", "./new"]));
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    let mut there = bench.command(crate::bench::STILLWELL);
    there.args(["why", "--json", "-r", "20", "--of", "2", "../r.swell"]);
    there.current_dir(bench.path("elsewhere"));
    let found: Value =
        serde_json::from_str(&Ran::from(there.output().unwrap()).ends_with(0).stdout).unwrap();
    assert_eq!(found["arms"], serde_json::json!(["./old", "./new"]));
    let ran = bench.stillwell(&["why", "--of", "faster", "r.swell"]).ends_with(2);
    assert!(ran.stderr.contains("nothing is faster there"), "{}", ran.stderr);
    let ran = bench.stillwell(&["why", "--of", "1", "r.swell"]).ends_with(2);
    assert!(ran.stderr.contains("--of") && ran.stderr.contains("2 (./new)"), "{}", ran.stderr);
}

#[test]
fn after_a_verdict_run_says_which_function_it_is() {
    let Some(bench) = builds(&[OLD, NEW]) else { return };
    let ran = bench.stillwell(&["run", "-r", "30", "--why=2s", "./old", "./new"]).ends_with(0);
    let (verdict, why) = ran.stdout.split_once("step (s.c:").unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(verdict.contains("slower") && why.contains("points more"), "{}", ran.stdout);
    let (of_run, of_why) =
        verdict.split_once("\nwhy: runs both again with samples, for 2.00 s\n").unwrap();
    assert!(of_run.contains("t0 × ratio") && of_why.starts_with("On average "), "{}", ran.stdout);
    // The verdict comes from the runs before the samples.
    let record = bench.stillwell(&["show", "--json"]).ends_with(0);
    assert!(record.stdout.contains("./new"), "{}", record.stdout);
    let ran = bench.stillwell(&["run", "-r", "10", "--why=2s", "./old", "./old"]).ends_with(0);
    assert!(ran.stdout.ends_with("so there is nothing to explain\n"), "{}", ran.stdout);
}

#[test]
fn a_benchmark_of_a_suite_is_chosen_by_its_name() {
    let Some(bench) = builds(&[OLD, NEW]) else { return };
    let suite = r#"
[[variant]]
name = "old"
[[variant]]
name = "new"
[[benchmark]]
name = "work"
command = "./{variant}"
[[benchmark]]
name = "nothing"
command = "true"
"#;
    bench.write("s.toml", suite);
    bench.stillwell(&["bench", "s.toml", "--runs", "10", "-o", "out"]).ends_with(0);
    let ran = bench.stillwell(&["why", "out"]).ends_with(2);
    assert!(ran.stderr.contains("--only: work, nothing"), "{}", ran.stderr);
    let ran = bench.stillwell(&["why", "out", "--only", "other"]).ends_with(2);
    assert!(ran.stderr.contains("has no benchmark \"other\""), "{}", ran.stderr);
    let found = json(&bench, &["out", "--only", "work", "-r", "30"]);
    assert_eq!(found["arms"], serde_json::json!(["old", "new"]));
    assert_eq!(names(&found, "functions")[0], "step");
}

#[test]
fn the_commit_that_a_search_found_is_measured_with_its_parent() {
    let Some(bench) = builds(&[OLD, NEW]) else { return };
    std::fs::create_dir(bench.path("search")).unwrap();
    bench.write(
        "search/bisect.json",
        r#"{"format":"stillwell-bisect","version":2,"request":{},"here":"/","seed":1,"lo":0,"hi":0,"commits":[]}"#,
    );
    bench.write("search/observations.jsonl", "");
    let ran = bench.stillwell(&["why", "search"]).ends_with(2);
    assert!(ran.stderr.contains("has found no commit yet"), "{}", ran.stderr);
    bench.stillwell(&["run", "-r", "10", "-o", "search/002.swell", "./old", "./new"]).ends_with(0);
    let confirm = |ratio: f64, is_different: bool, record: &str| {
        format!(
            r#"{{"observation":{{"what":"confirm","base":0,"head":1,"new":{{"ratio":{ratio},"lo":1,"hi":9,"alpha":0.01,"is_different":{is_different},"is_same":false}},"seconds":1}},"record":"{record}"}}"#
        ) + "\n"
    };
    let lines = [
        confirm(9.0, false, "000.swell"),
        confirm(1.1, true, "001.swell"),
        confirm(1.9, true, "002.swell"),
    ];
    bench.write("search/observations.jsonl", &lines.concat());
    let found = json(&bench, &["search", "-r", "30"]);
    assert_eq!(names(&found, "functions")[0], "step");
}

/// A CPython that can name its functions for profilers, if there is one.
fn python_with_names(bench: &Bench) -> Option<&'static str> {
    let has_names = |python: &&str| {
        let command = format!("{python} -c 'import sys; sys.activate_stack_trampoline(\"perf\")'");
        bench.stillwell(&["run", "-r", "2", "-o", &format!("{python}.swell"), &command]).code
            == Some(0)
    };
    ["python3", "python3.14", "python3.13", "python3.12"].into_iter().find(has_names)
}

#[test]
fn the_callers_of_deep_python_functions_are_found() {
    let bench = Bench::new();
    if !can_sample(&bench) {
        return;
    }
    let Some(python) = python_with_names(&bench) else {
        skipped("no Python that names its functions for profilers");
        return;
    };
    bench.write(
        "deep.py",
        "def leaf(n):\n    return sum(i * i for i in range(n))\n\
         def deep(k):\n    return next(map(deep, [k - 1])) if k else leaf(1000)\n\
         for i in range(100): deep(30)\n",
    );
    let command = format!("{python} -S deep.py");
    let found = json(&bench, &["-r", "20", &command]);
    assert_eq!(found["has_chains"], true);
    let callers = names(&found, "with_callees");
    assert!(callers.iter().any(|name| name.starts_with("py::deep")), "{callers:?}");
    // Who names a size gets it.
    let found = json(&bench, &["-r", "20", "--stack-kib", "8", &command]);
    assert_eq!(found["has_chains"], false);
}

#[test]
fn an_inlined_function_has_its_own_name_where_both_builds_tell() {
    let programs: [(&str, &[&str]); 3] = [
        ("lines", &["-g", "-DAGAIN=0", "-DSTEP=always_inline"]),
        ("none", &["-DAGAIN=0", "-DSTEP=always_inline"]),
        ("apart", &["-DAGAIN=0", "-DSTEP=noinline"]),
    ];
    let Some(bench) = builds(&programs) else { return };
    let found = json(&bench, &["-r", "20", "./lines"]);
    let first = &found["functions"][0];
    assert_eq!(first["name"], "step");
    assert!(first["line"].as_str().unwrap().starts_with("s.c:"), "{first}");
    let found = json(&bench, &["-r", "20", "./none"]);
    assert_eq!(found["functions"][0]["name"], "work");
    // One of the two does not tell: it is the caller's time in both, by a guess from the call chains.
    let found = json(&bench, &["-r", "30", "./lines", "./apart"]);
    assert!(names(&found, "functions").iter().all(|name| name != "work"), "{found}");
    let guess = &found["guesses"][0];
    assert_eq!((&guess["guess"], &guess["function"]), (&"part".into(), &"step".into()), "{found}");
}

#[test]
fn a_function_with_a_new_name_is_matched_and_the_guess_is_said() {
    let renamed: (&str, &[&str]) =
        ("renamed", &["-g", "-DAGAIN=0", "-DSTEP=noinline", "-DNAME=stride"]);
    let Some(bench) = builds(&[OLD, renamed]) else { return };
    let arguments = ["why", "-r", "30", "-o", "n.swell", "./old", "./renamed"];
    let text = bench.stillwell(&arguments).ends_with(0).stdout;
    let found = json(&bench, &["n.swell"]);
    for option in [["-n", "a"], ["--budget", "9s"], ["--rate", "500"]] {
        let ran = bench.stillwell(&[&["why"], &option[..], &["n.swell"]].concat()).ends_with(2);
        assert!(ran.stderr.contains("is shown again and not measured"), "{}", ran.stderr);
    }
    assert_eq!(found["guesses"][0]["old"], "step");
    assert_eq!(found["guesses"][0]["new"], "stride");
    assert!(text.contains("A guess: step and stride are one function"), "{text}");
}

#[test]
fn a_system_call_and_a_sleep_are_called_by_name() {
    let programs: [(&str, &[&str]); 2] = [
        ("before", &["-DAGAIN=0", "-DSTEP=noinline", "-DCALLS=1000", "-DSLEEP=3000"]),
        ("after", &["-DAGAIN=1", "-DSTEP=noinline", "-DCALLS=1000", "-DSLEEP=3000"]),
    ];
    let Some(bench) = builds(&programs) else { return };
    let found = json(&bench, &["-r", "60", "./before", "./after"]);
    if found["has_kernel"] != true {
        return skipped("the kernel may not be sampled");
    }
    let of = |list: &str, name: &str| {
        let list = found[list].as_array().unwrap().iter();
        let part = list.clone().find(|part| part["name"] == name);
        part.unwrap_or_else(|| panic!("no {name} in {found}"))["estimate_ns"].as_f64().unwrap()
    };
    let sleep = of("functions", "asleep in clock_nanosleep");
    assert!(sleep > 3e6, "{sleep}");
    assert!(of("with_callees", "system call read") > 0.0);
    // What has its own row is not in another one too.
    let sum = |list: &str| -> f64 {
        let parts = found[list].as_array().unwrap().iter();
        parts.map(|part| part["estimate_ns"].as_f64().unwrap()).sum()
    };
    let wall = found["wall"]["estimate_ns"].as_f64().unwrap();
    assert!((sum("functions") + sum("parts") - wall).abs() < 1.0);
}

/// A program that compiles a loop at run time and names it for profilers.
const COMPILER: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    unsigned char code[] = {0xb9, 0, 0, 0x80, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    char path[64];
    sprintf(path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %x loop of a compiler\n", (unsigned long)page, (int)sizeof code);
    fclose(map);
    FILE *log = fopen("maps", "a");
    fprintf(log, "%s\n", path);
    fclose(log);
    ((void (*)(void))page)();
    return 0;
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_compiled_at_run_time_has_its_name_and_leaves_no_file() {
    let bench = Bench::new();
    bench.write("c.c", COMPILER);
    let Ok(output) = bench.command("cc").args(["-O1", "-o", "c", "c.c"]).output() else {
        return skipped("there is no cc to compile with");
    };
    Ran::from(output).ends_with(0);
    if !can_sample(&bench) {
        return;
    }
    let found = json(&bench, &["-r", "20", "./c"]);
    assert_eq!(found["functions"][0]["name"], "loop of a compiler");
    let maps = bench.read("maps");
    assert!(maps.lines().count() >= 21);
    assert!(maps.lines().all(|path| !std::path::Path::new(path).exists()), "{maps}");
}

#[test]
fn a_benchmark_of_a_gate_does_the_same_iterations_in_both_builds() {
    let bench = Bench::new();
    if !can_sample(&bench) {
        return;
    }
    for (side, ns) in [("old", 1000), ("new", 1300)] {
        std::fs::create_dir(bench.path(side)).unwrap();
        bench.script(&format!("{side}/sums"), &google_benchmark(ns));
    }
    bench.stillwell(&["gate", "--old", "old", "--new", "new", "-o", "out.suite"]).ends_with(1);
    let found = json(&bench, &["out.suite", "--only", "BM_fib/8", "-r", "10"]);
    assert_eq!(found["arms"], serde_json::json!(["base", "head"]));
    let option = |side: &str| {
        let log = bench.read(&format!("{side}/log"));
        let words = log.lines().last().unwrap().split(' ').map(str::to_owned);
        words.into_iter().find(|word| word.starts_with("--benchmark_min_time=")).unwrap()
    };
    assert!(option("old").ends_with('x'), "{}", option("old"));
    assert_eq!(option("old"), option("new"));
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    #[test]
    fn a_statement_is_profiled_with_the_functions_of_python() {
        let bench = Bench::new();
        if !can_sample(&bench) {
            return;
        }
        // A module of the current directory is found, as in timeit.
        bench.write("mine.py", "total = sum\n");
        let statements = ["total(range(20000))", "--vs", "total(range(60000))"];
        let quick = ["-s", "from mine import total", "--runs", "10", "-o", "t.swell"];
        bench.stillwell(&[&["timeit"], &statements[..], &quick].concat()).ends_with(0);
        let found = json(&bench, &["t.swell", "-r", "10"]);
        assert_eq!(
            found["arms"],
            serde_json::json!(["total(range(20000))", "total(range(60000))"])
        );
        let ratio = |at: usize| found["cpu"]["means_ns"][at].as_f64().unwrap();
        // The start of the interpreter is in both.
        assert!(ratio(1) > 1.5 * ratio(0), "{found}");
    }
}
