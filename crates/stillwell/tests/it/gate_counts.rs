//! Gates that count instructions: with a valgrind that takes a program's word for its count, so that a count takes
//! milliseconds.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Ran, wait_until};
use crate::harnesses::libtest;

/// The answer where times cannot tell, and the iterations make no system calls.
const SAME_WORK: (&str, &str) = ("pass", "same_work");
const VALGRIND: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo valgrind-3.19.0
while [ "$1" != -- ]; do
    case $1 in
    --cachegrind-out-file=*) COUNT_FILE=${1#*=} ;;
    --log-file=*) log=${1#*=} ;;
    --trace-syscalls=yes) calls='SYSCALL[1,1](60) sys_exit_group( 0 )' ;;
    esac
    shift
done
shift
export COUNT_FILE="${COUNT_FILE%\%p}$$"
[ "$calls" ] && echo "$calls" > "${log%\%p}$$"
exec "$@"
"#;

/// A program of Google Benchmark whose times, except in `BM_slow`, vary by more than half from process to process.
const PROGRAM: &str = r#"#!/bin/sh
iterations=100 sum=1000 out= comma= i=0
for word; do
    case $word in
    --help) exec echo '[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>] [--benchmark_min_time=HELP' ;;
    --benchmark_list_tests*) exec printf '%s\n' NAMES ;;
    --benchmark_filter=*) filter=${word#*=} ;;
    --benchmark_min_time=*x) iterations=${word#*=} iterations=${iterations%x} ;;
    esac
done
# Most of its time is its own, not the kernel's.
while [ $i -lt 8000 ]; do i=$((i + 1)); done
for name in NAMES; do
    case $filter in *"$name"*) ;; *) continue ;; esac
    rounds=1000
    [ $name = BM_d ] && rounds=ROUNDS
    sum=$((sum + iterations * rounds))
    time=$((3000 + $$ * 40503 % 4096))
    [ $name = BM_slow ] && time=$((SLOW_NS + $$ % 8))
    out="$out$comma{\"name\": \"$name\", \"real_time\": $time, \"time_unit\": \"ns\"}"
    comma=', '
done
[ "$COUNT_FILE" ] && echo "summary: $sum" > "$COUNT_FILE"
echo "{\"benchmarks\": [$out]}"
"#;

/// Two builds with these benchmarks, of which `BM_d` takes so many rounds, and `BM_slow` takes longer in the new build. An
/// old version refuses a number of iterations.
fn builds(names: &str, rounds: [u32; 2], is_old: bool) -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tools")).unwrap();
    bench.script("tools/valgrind", VALGRIND);
    for (side, rounds) in ["old", "new"].into_iter().zip(rounds) {
        std::fs::create_dir(bench.path(side)).unwrap();
        let program = PROGRAM.replace("NAMES", names).replace("ROUNDS", &rounds.to_string());
        let help = if is_old { "<min_time>]" } else { "`<integer>x` OR `<float>s` ]" };
        let slow_ns = if side == "old" { "1000" } else { "1500" };
        let program = program.replace("HELP", help).replace("SLOW_NS", slow_ns);
        bench.script(&format!("{side}/sums"), &program);
    }
    bench
}

fn gate(bench: &Bench, options: &[&str]) -> Ran {
    Ran::from(gate_command(bench, options).output().unwrap())
}

fn gate_command(bench: &Bench, options: &[&str]) -> Command {
    let path = format!("{}:{}", bench.path("tools").display(), std::env::var("PATH").unwrap());
    let fixed =
        ["gate", "--old", "old", "--new", "new", "--select", "all", "--counter", "valgrind"];
    let files = ["--json", "g.json", "--markdown", "c.md", "--junit", "j.xml", "-o", "out.suite"];
    let mut command = bench.command(env!("CARGO_BIN_EXE_stillwell"));
    command.args(fixed).args(files).args(options).env("PATH", path);
    command
}

fn document(bench: &Bench) -> Value {
    serde_json::from_str(&bench.read("g.json")).unwrap()
}

/// One of six benchmarks does more work: sums of the others are the same.
#[test]
fn more_work_fails_a_gate_whose_times_cannot_tell() {
    let bench = builds("BM_loop BM_a BM_b BM_c BM_d BM_e", [1000, 1100], false);
    let ran = gate(&bench, &["--budget", "12s"]).ends_with(1);
    let said = ran.stdout.replace("\n      ", " ");
    let worst = "gate: fail: BM_d (the worst of 6 benchmarks): does 10.0 % more work";
    assert!(said.contains(worst), "{said}");
    let document = document(&bench);
    let rows = document["benchmarks"].as_array().unwrap();
    for row in rows {
        let (ratio, n) =
            (&row["instructions"]["ratio"]["ratio"], &row["instructions"]["n_together"]);
        let (answer, by) = (row["answer"].as_str().unwrap(), row["by"].as_str().unwrap());
        if row["name"] == "BM_d" {
            assert_eq!((answer, by, n), ("fail", "more_work", &1.into()));
            assert_eq!(ratio, 1.1, "the fixed part cancels");
        } else {
            assert_eq!((answer, by), SAME_WORK, "{row}");
            assert_eq!(ratio, 1.0);
            assert_eq!(row["instructions"]["system_share"], 0.0, "no system calls, no kernel");
        }
    }
    let n_together = rows.iter().filter_map(|it| it["instructions"]["n_together"].as_u64());
    assert!(n_together.filter(|n| *n > 1).count() >= 3, "{document}");
    let comment = bench.read("c.md");
    assert!(comment.contains("| instructions (valgrind) |"), "{comment}");
    assert!(comment.contains("| the same, as a sum of "), "{comment}");
    assert!(comment.contains("| +10.0 % in 3 counts | **does 10.0 % more work** |"), "{comment}");
    assert!(comment.contains("6 benchmarks: 1 with more work, 5 with the same work."), "{comment}");
    assert!(bench.read("j.xml").contains("<failure message=\"does 10.0 % more work"));
    let records = std::fs::read_dir(bench.path("out.suite/instructions")).unwrap().flatten();
    let mut paths = records.map(|it| it.path());
    let of_d = paths.find(|it| it.to_string_lossy().ends_with("-BM_d.swell")).unwrap();
    let record = std::fs::read_to_string(of_d).unwrap();
    let n_runs = record.lines().filter(|line| line.starts_with('[')).count();
    assert_eq!(n_runs, 6, "three counts of each build that agree are enough: {record}");
}

#[test]
fn the_same_work_passes_a_gate_whose_times_cannot_tell() {
    let bench = builds("BM_a BM_d", [1000, 1000], false);
    // Times of many runs can exclude a larger difference.
    let ran = gate(&bench, &["--budget", "8s", "--fail-on", "slower:0.001%"]);
    let answered = document(&bench);
    let rows = answered["benchmarks"].as_array().unwrap();
    for row in rows {
        assert_eq!(
            (row["answer"].as_str().unwrap(), row["by"].as_str().unwrap()),
            SAME_WORK,
            "{row}"
        );
        // One sum of both has answered, or on a busy machine, where that takes too long, one of each.
        let n_together = if bench.path("out.suite/instructions-2").exists() { 1 } else { 2 };
        assert_eq!(row["instructions"]["n_together"], n_together);
    }
    ran.ends_with(if rows.iter().all(|row| row["answer"] == "pass") { 0 } else { 3 });
    assert!(bench.path("out.suite/instructions-1").is_dir());
    assert!(bench.read("c.md").contains("the same work; "), "{}", bench.read("c.md"));
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    gate(&bench, &["--budget", "2s", "--instructions", "off"]).ends_with(3);
    assert_eq!(document(&bench)["counter"], Value::Null);
}

/// The limit of the time is none of the instructions.
#[test]
fn what_is_slower_with_the_same_instructions_says_so() {
    let bench = builds("BM_slow BM_a", [1000, 1000], false);
    gate(&bench, &["--budget", "8s", "--fail-on", "slower:1%,above:1s"]).ends_with(1);
    let rows = &document(&bench)["benchmarks"];
    let slow = &rows[0];
    assert_eq!((&slow["answer"], &slow["by"]), (&"fail".into(), &"time_at_the_same_work".into()));
    assert_eq!(rows[1]["instructions"]["n_together"], 1, "a sum leaves out what times decide");
    let slow_in = |text: &str| text.contains("| `BM_slow` |") && text.contains("| the same |");
    assert!(bench.read("c.md").lines().any(slow_in), "{}", bench.read("c.md"));
    let hint = "50 % slower with the same instructions: layout, caches or memory";
    assert!(bench.read("c.md").contains(hint), "{}", bench.read("c.md"));
}

#[test]
fn a_gate_that_is_interrupted_while_it_counts_tells_its_times() {
    let bench = builds("BM_a BM_b", [1000, 1000], false);
    let counts = bench.path("counts");
    let waits = format!(": > '{}'; exec sleep 600", counts.display());
    bench.script("tools/valgrind", &VALGRIND.replace("exec \"$@\"", &waits));
    let options = ["--budget", "8s", "--fail-on", "slower:0.001%", "--timeout", "10min"];
    let running = bench.spawn(gate_command(&bench, &options));
    wait_until("a count", || counts.exists());
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish().ends_with(130);
    assert!(!ran.stderr.contains("--resume"), "{ran:#?}");
    let document = document(&bench);
    assert_eq!(document["exit_code"], 130);
    assert!(bench.read("c.md").contains("No answer: the session was interrupted."));
    assert_eq!(document["uncounted"], serde_json::json!(["the counting was interrupted"]));
    // A busy machine may have too few pairs for a ratio.
    let measured = document["conclusion"]["measured"].as_array().unwrap();
    let names: Vec<&str> = measured.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["BM_a: base", "BM_a: head", "BM_b: base", "BM_b: head"], "{document}");
}

/// Google Benchmark before 1.8 refuses a number of iterations. The times keep their answer.
#[test]
fn a_program_that_cannot_be_counted_leaves_the_answer_to_its_times() {
    let bench = builds("BM_a", [1000, 1000], true);
    let ran = gate(&bench, &["--budget", "8s", "--fail-on", "slower:0.001%"]).ends_with(3);
    assert!(ran.stdout.contains("gate: not decided: BM_a"), "{ran:#?}");
    let why = document(&bench)["uncounted"].to_string();
    assert!(why.contains("no option for a number of iterations before version 1.8"), "{why}");
}

/// libtest has no fixed number of iterations, so no time is kept for counts.
#[test]
fn without_a_benchmark_that_can_be_counted_times_have_all_of_the_budget() {
    let bench = builds("BM_a", [1000, 1000], false);
    for (side, ns) in [("old", 500), ("new", 501)] {
        bench.script(&format!("{side}/sums"), &libtest(ns));
    }
    let said =
        gate(&bench, &["--budget", "2s", "--instructions", "on"]).stdout.replace("\n      ", " ");
    assert_eq!(said.matches("the benchmarks of libtest: ").count(), 1, "{said}");
    let suite: Value = serde_json::from_str(&bench.read("out.suite/suite.json")).unwrap();
    assert_eq!(suite["suite"]["budget_ns"], 2_000_000_000_u64);
}

/// Where nothing but instructions decides, sums answer too, and the budget holds for all of it.
#[test]
fn sums_answer_where_instructions_decide_alone() {
    let names = "BM_loop BM_a BM_b BM_c BM_d BM_e";
    let bench = builds(names, [1000, 1100], false);
    let decide = ["--decide-on", "instructions"];
    let ran = gate(&bench, &[&decide[..], &["--budget", "60s"]].concat()).ends_with(1);
    let said = ran.stdout.replace("\n      ", " ");
    let worst = "BM_d (the worst of 6 benchmarks): executes 10 % more instructions (valgrind), ratio 1.1 exactly in 3 counts";
    assert!(said.contains(worst), "{said}");
    assert!(said.starts_with("BM_d: head executes 10.0 % more instructions"), "{said}");
    let same = said.lines().find(|line| line.starts_with("the same instructions: ")).unwrap();
    assert_eq!(same.split(", ").count(), 5, "{said}");
    let document = document(&bench);
    let rows = document["benchmarks"].as_array().unwrap();
    let n_by = |by: &str| rows.iter().filter(|row| row["by"] == by).count();
    assert_eq!((n_by("same_work"), n_by("decide_on")), (5, 1), "{document}");
    assert_eq!(document["counter"], "valgrind");
    let comment = bench.read("c.md");
    assert!(
        comment.contains("by instructions (valgrind): 1 worse, 5 with the same work."),
        "{comment}"
    );
    assert!(comment.contains("instructions: the same, as a sum of "), "{comment}");
    // Each of the others has no record of its own.
    let records = std::fs::read_dir(bench.path("out.suite")).unwrap().flatten();
    let records = records.filter(|it| it.path().extension().is_some_and(|it| it == "swell"));
    assert_eq!(records.count(), 1);
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    // A limit of counts is on each benchmark.
    let limited = ["--fail-on", "slower:20%,above:2000"];
    gate(&bench, &[&decide[..], &limited].concat()).ends_with(0);
    assert!(!bench.read("c.md").contains("as a sum of"), "{}", bench.read("c.md"));
    std::fs::remove_dir_all(bench.path("out.suite")).unwrap();
    let nothing = ["--budget", "1s", "--report", "p.html"];
    gate(&bench, &[&decide[..], &nothing].concat()).ends_with(3).says(&["no page p.html"]);
    let comment = bench.read("c.md");
    assert!(comment.contains("Nothing was measured in the budget.\n"), "{comment}");
    assert!(comment.contains("Instructions not counted: BM\\_loop, "), "{comment}");
    assert!(!bench.path("out.suite").exists());
}

#[test]
fn a_count_that_fails_is_the_reason_where_nothing_is_counted() {
    let bench = builds("BM_a BM_b", [1000, 1000], false);
    bench.script("tools/valgrind", &VALGRIND.replace("exec \"$@\"", "exit 9"));
    gate(&bench, &["--decide-on", "instructions", "--budget", "20s"]).ends_with(2);
    let failing = document(&bench)["failing"].to_string();
    assert!(failing.contains("exited with 9"), "{failing}");
    assert!(!bench.read("c.md").contains("No answer"), "{}", bench.read("c.md"));
}

/// Without sums there is no count, so what cannot be counted fails before anything is measured.
#[test]
fn what_cannot_be_counted_fails_where_instructions_decide_alone() {
    let bench = builds("BM_a", [1000, 1000], true);
    gate(&bench, &["--decide-on", "instructions"]).ends_with(2);
    let failing = document(&bench)["failing"].to_string();
    assert!(
        failing.contains("sums: the benchmarks of Google Benchmark: it has no option"),
        "{failing}"
    );
    assert!(!bench.path("out.suite").exists());
}

/// No option changes the number of its iterations, so it would be missing in a sum that is the same.
#[test]
fn a_benchmark_that_fixes_its_iterations_is_in_no_sum() {
    let bench = builds("BM_a BM_b/iterations:7", [1000, 1000], false);
    let ran = gate(&bench, &["--decide-on", "instructions", "--budget", "20s"]).ends_with(2);
    assert!(ran.stdout.contains("the same instructions: BM_a\n"), "{ran:#?}");
    let failing = &document(&bench)["failing"];
    assert_eq!(failing[0], "BM_b/iterations:7: it fixes the number of its iterations");
}

/// A benchmark with a long setup takes many times as long as expected. The others are counted all the same.
#[test]
fn a_sum_that_takes_too_long_leaves_time_for_the_others() {
    let bench = builds("BM_a BM_d", [1000, 1100], false);
    let waits = "case $* in *'|'*) exec sleep 600 ;; esac\nexec \"$@\"";
    bench.script("tools/valgrind", &VALGRIND.replace("exec \"$@\"", waits));
    let ran = gate(&bench, &["--decide-on", "instructions", "--budget", "40s"]).ends_with(1);
    assert!(ran.stdout.contains("gate: fail: BM_d (the worst of 2 benchmarks)"), "{ran:#?}");
    assert!(ran.stdout.contains("the same instructions: BM_a"), "{ran:#?}");
}

/// A test program of Go with two sub-benchmarks. Its scheduler works by the time, and its collector too if it is on.
const GO_PROGRAM: &str = r#"#!/bin/sh
# test.benchtime
n=1 own=500 called=0 filter=.
for word; do
    case $word in
    --help) exec echo '-test.bench regexp -test.benchtime d -test.skip pattern' ;;
    -test.bench=*) filter=${word#*=} ;;
    -test.benchtime=*x) n=${word#*=} n=${n%x} ;;
    esac
done
for it in A/n=8 B/n=8 C; do
    case $it in C) pattern='^BenchmarkC$' ;; *) pattern="^Benchmark${it%%/*}\$/^n=8\$" ;; esac
    [ $it = B/n=8 ] && rounds=ROUNDS || rounds=100
    case "|$filter|" in *"|$pattern|"* | '|.|') ;; *) continue ;; esac
    own=$((own + n * rounds)) called=$((called + 20 * n))
    echo "Benchmark$it-2 $n 50 ns/op"
done
[ "$GOGC" = off ] || called=$((called + $$ % 4096 * 1000000))
[ -z "$COUNT_FILE" ] || cat > "$COUNT_FILE" <<END
fl=/src/b_test.go
fn=example.com/b.BenchmarkB
7 $own
fl=/usr/lib/go/src/runtime/malloc.go
fn=runtime.mallocgc
9 $called
fl=/usr/lib/go/src/runtime/proc.go
fn=runtime.schedule
5 $(($$ * 40503 % 65521 + 1))
summary: 9
END
"#;

#[test]
fn the_scheduler_of_go_is_not_counted() {
    let bench = builds("BM_a", [1000, 1000], false);
    let threads = "log=${log%\\%p}$$ calls=$(($$ % 64))\n\
                   while [ $calls -gt 0 ]; do\n\
                   echo 'SYSCALL[1,2](202) sys_futex ( 0x1 )' >> \"$log\"; calls=$((calls - 1))\n\
                   done\nexec \"$@\"";
    bench.script("tools/valgrind", &VALGRIND.replace("exec \"$@\"", threads));
    for (side, rounds) in [("old", "100"), ("new", "101")] {
        std::fs::remove_file(bench.path(side).join("sums")).unwrap();
        bench.script(&format!("{side}/b.test"), &GO_PROGRAM.replace("ROUNDS", rounds));
    }
    let decide = ["--decide-on", "instructions", "--budget", "60s", "--fail-on", "slower:0.5%"];
    gate(&bench, &decide).ends_with(1);
    let document = document(&bench);
    let row = |name: &str| {
        let rows = document["benchmarks"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let hit = row("BenchmarkB/n=8");
    assert_eq!((&hit["answer"], &hit["ratio"]["ratio"]), (&"fail".into(), &(121.0 / 120.0).into()));
    for name in ["BenchmarkA/n=8", "BenchmarkC"] {
        let row = row(name);
        assert_eq!((&row["answer"], &row["by"]), (&SAME_WORK.0.into(), &SAME_WORK.1.into()));
        let share = row["instructions"]["system_share"].as_f64().unwrap();
        assert!(share < 1e-3, "{row}");
    }
}
