//! `why`: real programs, of which one has a slower function.

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped, wait_until};

/// A program with three functions; `work` takes so many loops. Its functions have frame pointers.
const SOURCE: &str = "
#include <stdint.h>
volatile uint64_t sink;
#define FUNCTION(name, n) __attribute__((noinline)) void name(uint64_t x) { \\
    for (uint64_t i = 0; i < (n); i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } sink = x; }
FUNCTION(prepare, 1000000)
FUNCTION(work, WORK)
FUNCTION(finish, 1000000)
int main(void) { prepare(1); work(2); finish(3); return 0; }
";

/// Two builds; `None` without a compiler or where the kernel permits no samples.
fn builds() -> Option<Bench> {
    let bench = Bench::new();
    bench.write("two.c", SOURCE);
    for (name, work) in [("old", 1_000_000), ("new", 2_000_000)] {
        let mut compile = bench.command("cc");
        compile.args(["-O1", "-o", name, &format!("-DWORK={work}"), "two.c"]);
        let Ok(output) = compile.output() else {
            skipped("there is no cc to compile with");
            return None;
        };
        Ran::from(output).ends_with(0);
    }
    can_sample(&bench).then_some(bench)
}

/// A program that gives its pages back and takes them again, and asks twice as often, if `AGAIN` is 1.
const COUNTED: &str = "
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SIZE (4 << 20)
__attribute__((noinline)) void touch(char *pages) {
    for (int turn = 0; turn <= AGAIN; turn++) {
        for (int at = 0; at < SIZE; at += 4096) ((volatile char *)pages)[at] = 1;
        madvise(pages, SIZE, MADV_DONTNEED);
    }
}
__attribute__((noinline)) void ask(void) {
    for (int i = 0; i < 200 * (1 + AGAIN); i++) syscall(SYS_getppid);
}
int main(void) {
    char *pages = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, SIZE, MADV_NOHUGEPAGE);
    touch(pages); ask(); return 0;
}
";

/// Whether the kernel permits samples; if not, the test is skipped.
pub fn can_sample(bench: &Bench) -> bool {
    let ran = bench.stillwell(&["why", "-r", "10", "-o", "probe.swell", "--style=none", "true"]);
    let is_refused = ran.stderr.contains("the runs cannot be sampled");
    if is_refused {
        skipped(&format!("no samples of programs: {}", ran.stderr.trim()));
    }
    !is_refused
}

pub fn names(found: &Value, list: &str) -> Vec<String> {
    let list = found[list].as_array().unwrap().iter();
    list.map(|part| part["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_slower_function_is_named_and_can_be_shown_again() {
    let Some(bench) = builds() else { return };
    let arguments = ["why", "-r", "40", "-o", "a.swell", "--json", "./old", "./new"];
    let ran = bench.stillwell(&arguments).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(names(&found, "functions")[0], "work");
    let work = &found["functions"][0];
    assert!(work["estimate_ns"].as_f64().unwrap() > 0.0 && work["p"].as_f64().unwrap() <= 0.01);
    // The parts add up to the difference of the wall times.
    let sum = |list: &str| -> f64 {
        let parts = found[list].as_array().unwrap().iter();
        parts.map(|part| part["estimate_ns"].as_f64().unwrap()).sum()
    };
    let wall = found["wall"]["estimate_ns"].as_f64().unwrap();
    assert!((sum("functions") + sum("parts") - wall).abs() < 1.0);
    // Both are the same again, from the profile next to the record.
    for file in ["a.swell", "a.swell.profile"] {
        let again = bench.stillwell(&["why", "--json", file]).ends_with(0);
        assert_eq!(again.stdout, ran.stdout);
    }
    let text = bench.stillwell(&["why", "a.swell"]).ends_with(0).stdout;
    assert!(
        text.contains("work takes ") && text.contains("= time without other programs"),
        "{text}"
    );
}

#[test]
fn a_program_without_symbols_is_named_with_the_remedy() {
    let Some(bench) = builds() else { return };
    for name in ["old", "new"] {
        Ran::from(bench.command("strip").arg(name).output().unwrap()).ends_with(0);
    }
    let text = bench.stillwell(&["why", "-r", "40", "./old", "./new"]).ends_with(0).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no symbols for some functions: build with -g"), "{text}");
    assert!(words.contains("A point is one per cent of the time of ./old"), "{text}");
}

/// Two callers of one function, without frame pointers.
const CALLERS: &str = "
#include <stdint.h>
volatile uint64_t sink;
__attribute__((noinline)) uint64_t inner(uint64_t n) {
    uint64_t x = 1; for (uint64_t i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
__attribute__((noinline)) uint64_t middle(uint64_t n) { return inner(n) * 3 + 1; }
__attribute__((noinline)) void same(void) { sink = middle(1000000) + 5; }
__attribute__((noinline)) void longer(void) { sink = middle(WORK) + 7; }
int main(void) { same(); longer(); sink = 1; return 0; }
";

/// All time is in `inner`; the call chains tell for whom.
#[test]
fn the_caller_of_the_slower_function_is_named_without_frame_pointers() {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return skipped("call chains need frame pointers on this machine");
    }
    let Some(bench) = builds() else { return };
    bench.write("callers.c", CALLERS);
    for (name, work) in [("short", 1_000_000), ("long", 2_000_000)] {
        let mut compile = bench.command("cc");
        let define = format!("-DWORK={work}");
        compile.args(["-O2", "-fomit-frame-pointer", "-s", "-o", name, &define, "callers.c"]);
        let symbols = compile.args(["-rdynamic"]);
        Ran::from(symbols.output().unwrap()).ends_with(0);
    }
    let arguments =
        ["why", "-r", "40", "--folded=out.folded", "-o", "a.swell", "--json", "./short", "./long"];
    let found: Value =
        serde_json::from_str(&bench.stillwell(&arguments).ends_with(0).stdout).unwrap();
    let callers = names(&found, "with_callees");
    assert!(callers.contains(&"longer".to_owned()), "{callers:?}");
    assert!(!callers.contains(&"same".to_owned()), "{callers:?}");
    let folded = bench.read("out.folded");
    assert!(folded.contains(";main;longer;middle;inner "), "{folded}");
    let text = bench.stillwell(&["why", "a.swell"]).ends_with(0).stdout;
    assert!(!text.contains("Call chains are cut"), "{text}");
    let alone = bench.stillwell(&["why", "-r", "20", "./long"]).ends_with(0).stdout;
    let (_, callers) = alone.split_once("with what they call:").unwrap();
    assert!(callers.contains("\nlonger ") && callers.contains("\nsame "), "{alone}");
}

/// Two builds of [`COUNTED`]: 1024 page faults and 200 system calls, and twice as many.
#[test]
fn the_function_with_more_page_faults_is_named_and_system_calls_are_counted() {
    let Some(bench) = builds() else { return };
    bench.write("counted.c", COUNTED);
    for (name, again) in [("once", 0), ("twice", 1)] {
        let mut compile = bench.command("cc");
        let define = format!("-DAGAIN={again}");
        compile.args(["-O1", "-fno-omit-frame-pointer", "-o", name, &define, "counted.c"]);
        Ran::from(compile.output().unwrap()).ends_with(0);
    }
    let arguments = ["why", "-r", "80", "-o", "a.swell", "--json", "./once", "./twice"];
    let found: Value =
        serde_json::from_str(&bench.stillwell(&arguments).ends_with(0).stdout).unwrap();
    assert_eq!(found["n_counted_blocks"], 10);
    let tallies = found["tallies"].as_array().unwrap();
    let change = |what: &str, function: Option<&str>| {
        let is_it = |it: &&Value| it["what"] == what && it["function"].as_str() == function;
        tallies.iter().find(is_it).map(|it| it["estimate"].as_f64().unwrap())
    };
    let faults = change("page faults", Some("touch")).unwrap();
    assert!((1020.0..=1028.0).contains(&faults), "{tallies:?}");
    let text = bench.stillwell(&["why", "a.swell"]).ends_with(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("touch takes 2.0 times as many page faults"), "{text}");
    if !found["counts_system_calls"].as_bool().unwrap() {
        skipped("the kernel permits no tracepoint of system calls");
        return;
    }
    assert_eq!(change("getppid system calls", None), Some(200.0), "{tallies:?}");
    assert_eq!(change("mmap system calls", None), None, "{tallies:?}");
}

/// A program of 10 MiB in pages of 4 KiB, or in huge ones if `LARGE` is 1.
const HUGE_PAGES: &str = "
#include <sys/mman.h>
int main(void) {
    char *pages = mmap(0, 10 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 10 << 20, LARGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (int at = 0; at < 10 << 20; at += 4096) ((volatile char *)pages)[at] = 1;
    return 0;
}
";

#[test]
fn huge_pages_are_counted() {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if !setting.is_ok_and(|it| !it.contains("[never]")) {
        return skipped("the kernel gives no huge pages");
    }
    let Some(bench) = builds() else { return };
    bench.write("huge.c", HUGE_PAGES);
    for (name, define) in [("small", "-DLARGE=0"), ("large", "-DLARGE=1")] {
        let mut compile = bench.command("cc");
        Ran::from(compile.args(["-O1", "-o", name, define, "huge.c"]).output().unwrap())
            .ends_with(0);
    }
    let ran = bench.stillwell(&["why", "-r", "80", "--json", "./small", "./large"]);
    let found: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
    let tallies = found["tallies"].as_array().unwrap();
    let huge = tallies.iter().find(|it| it["what"] == "huge pages (machine)").unwrap();
    // Four or five are aligned in 10 MiB; the kernel may lack some.
    assert!((1.0..=5.5).contains(&huge["estimate"].as_f64().unwrap()), "{huge}");
}

#[test]
fn folded_stacks_have_the_time_of_both_programs() {
    let Some(bench) = builds() else { return };
    let arguments = ["why", "-r", "20", "--folded=out.folded", "--style=none", "./old", "./new"];
    bench.stillwell(&arguments).ends_with(0);
    let mut of_leaf: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for line in bench.read("out.folded").lines() {
        let words: Vec<&str> = line.rsplitn(3, ' ').collect();
        let leaf = words[2].rsplit(';').next().unwrap().to_owned();
        let sums = of_leaf.entry(leaf).or_default();
        sums[0] += words[1].parse::<f64>().unwrap();
        sums[1] += words[0].parse::<f64>().unwrap();
    }
    let work = of_leaf["work"];
    assert!(work[1] > work[0], "{work:?}");
}

#[test]
fn pages_and_profiles_of_other_tools_are_written() {
    let Some(bench) = builds() else { return };
    let arguments =
        ["why", "-r", "20", "--report=a.html", "--folded=a.txt", "--style=none", "./old", "./new"];
    bench.stillwell(&arguments).ends_with(0);
    let page = bench.read("a.html");
    assert!(page.contains("\"name\":\"work\"") && page.contains("id=\"flame\""));
    // A call chain, and a time for each command.
    let stacks = bench.read("a.txt");
    assert!(stacks.lines().all(|line| line.split(' ').count() >= 3), "{stacks}");
    assert!(stacks.contains("work"), "{stacks}");
    // A place where nothing can be written is refused before anything is measured.
    let ran =
        bench.stillwell(&["why", "--report=no/a.html", "-o", "b.swell", "./old"]).ends_with(2);
    assert!(ran.stderr.contains("--report no/a.html: there is no directory no"), "{}", ran.stderr);
    assert!(!bench.path("b.swell").exists());
}

#[test]
fn one_program_gets_a_profile() {
    let Some(bench) = builds() else { return };
    let words = ["why", "-r", "20", "--json", "--report=one.html", "./new"];
    let ran = bench.stillwell(&words).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(names(&found, "functions")[0], "work");
    assert!(found["functions"][0]["p"].is_null());
    assert!(bench.read("one.html").contains("\"name\":\"work\""));
}

#[test]
fn a_command_that_fails_ends_it_as_in_run() {
    let Some(bench) = builds() else { return };
    let ran = bench.stillwell(&["why", "-r", "10", "./old", "false"]).ends_with(2);
    assert!(ran.stderr.contains("`false`") || ran.stderr.contains("false"), "{}", ran.stderr);
}

#[test]
fn what_is_no_result_is_refused_with_its_reason() {
    let bench = Bench::new();
    bench.write("a.swell", "");
    std::fs::create_dir_all(bench.path("a/folder")).unwrap();
    let says = |arguments: &[&str], text: &str| {
        let ran = bench.stillwell(arguments).ends_with(2);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    says(&["why", "a.swell"], "a.swell");
    says(&["why", "a/folder"], "a/folder has no results");
    says(&["why", "--of", "2", "true", "false"], "--only and --of are for the result");
    bench.write("b.swell.profile", "no profile");
    says(&["why", "b.swell.profile"], "b.swell.profile is no profile of `stillwell why`");
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    /// The timer runs from the clone on, with a random part of the period before the exec.
    #[test]
    fn a_program_shorter_than_the_time_between_two_samples_is_sampled() {
        let Some(bench) = builds() else { return };
        let ran = bench.stillwell(&["why", "-r", "150", "--rate", "20", "--json", "./old"]);
        let found: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
        let cpu_ns = found["cpu"]["means_ns"][0].as_f64().unwrap();
        assert!(
            cpu_ns < 0.5 * found["period_ns"].as_f64().unwrap(),
            "the program is too slow here"
        );
        let parts =
            found["functions"].as_array().unwrap().iter().chain(found["parts"].as_array().unwrap());
        let sampled = parts.filter(|part| {
            ["function", "other_functions"].contains(&part["kind"].as_str().unwrap())
        });
        assert!(
            sampled.map(|part| part["estimate_ns"].as_f64().unwrap()).sum::<f64>() > 0.0,
            "{found}"
        );
    }
}

/// Samples may take a gigabyte, and nobody would remove them.
#[test]
fn a_killed_session_leaves_no_file_of_samples() {
    let bench = Bench::new();
    if !can_sample(&bench) {
        return;
    }
    std::fs::create_dir(bench.path("temporary")).unwrap();
    let mut why = bench.command(STILLWELL);
    why.args(["why", "--budget", "60s", "-o", "r.swell", "sleep 0.01", "sleep 0.011"]);
    why.env("TMPDIR", bench.path("temporary"));
    let running = bench.spawn(why);
    wait_until("a run", || bench.path("r.swell").exists() && bench.n_rows() > 0);
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(std::fs::read_dir(bench.path("temporary")).unwrap().count(), 0);
}
