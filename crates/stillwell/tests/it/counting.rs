//! Instructions that valgrind counts: with the real valgrind.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Ran, skipped};

/// A bench with C, if this machine has valgrind and a compiler.
fn bench() -> Option<Bench> {
    let bench = Bench::new();
    for tool in ["valgrind", "cc"] {
        if bench.command(tool).arg("--version").output().is_err() {
            skipped(&format!("there is no {tool}"));
            return None;
        }
    }
    Some(bench)
}

fn compile(bench: &Bench, program: &str, options: &[&str]) {
    let built = |more: &[&str]| {
        let words = ["-O1", "-o", program, "p.c"];
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(words).args(options).args(more).current_dir(bench.path("."));
        compiler.output().unwrap()
    };
    // Without the libraries of the machine valgrind starts in a third of the time. Not every machine has them for this.
    if !built(&["-static", "-s"]).status.success() {
        let built = built(&[]);
        assert!(built.status.success(), "{built:?}");
    }
}

/// Programs `old` and `new` that do so many rounds of a loop.
fn loops(rounds: [u32; 2]) -> Option<Bench> {
    let bench = bench()?;
    bench.write(
        "p.c",
        "int main(void) { volatile unsigned x = 1;\n\
         for (int i = 0; i < ROUNDS * 1000; i++) x = x * 1664525 + 1013904223;\n\
         return 0; }\n",
    );
    for (program, rounds) in ["old", "new"].into_iter().zip(rounds) {
        compile(&bench, program, &[&format!("-DROUNDS={rounds}")]);
    }
    Some(bench)
}

const COUNTED: [&str; 4] = ["--decide-on", "instructions", "--counter", "valgrind"];

fn run(bench: &Bench, options: &[&str]) -> Ran {
    bench.run(&[&COUNTED[..], options].concat())
}

#[test]
fn counts_that_repeat_exactly_need_no_test() {
    let Some(bench) = loops([600, 606]) else { return };
    let ran = run(&bench, &["--fail-on", "slower:0.5%", "./old", "./new"]).ends_with(1);
    let said = ran.stdout.replace('\n', " ");
    assert!(said.contains("./new executes 0.9") && said.contains("repeats exactly"), "{said}");
    assert!(said.contains("more instructions (valgrind) than ./old"), "{said}");
    let record = bench.record();
    let plan = &record.header["plan"];
    assert_eq!(plan["counter"]["by"], "valgrind");
    assert_eq!(
        (&plan["process"]["no_aslr"], &plan["process"]["env_padding"]),
        (&true.into(), &"off".into())
    );
    let counted: Vec<_> = record.timed().collect();
    // Three of each agree, and there is no more to learn.
    assert_eq!(counted.len(), 6);
    for row in counted {
        let times = ["wall_ns", "user_us", "sys_us", "maxrss_kib"].map(|column| row.get(column));
        assert_eq!(times, [None; 4], "valgrind's times are none of the program");
        assert!(row.get("counting_ns").is_some_and(|ns| ns > 0));
        assert!(row.get("instructions").is_some_and(|n| n > 600_000));
    }
    let again = bench.stillwell(&["show", "r.swell", "--json"]).ends_with(0);
    let shown: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(shown["conclusion"]["effects"][0]["verdict"], "slower");
}

#[test]
fn the_same_program_executes_the_same_number() {
    let Some(bench) = loops([300, 300]) else { return };
    let ran = run(&bench, &["--fail-on", "slower", "./old", "./new"]).ends_with(0);
    assert!(ran.stdout.contains("execute the same number of instructions (valgrind)"), "{ran:#?}");
}

#[test]
fn all_processes_of_a_run_are_counted() {
    let Some(bench) = loops([300, 600]) else { return };
    bench.script("both", "#!/bin/sh\n./old\n./new\n");
    run(&bench, &["--runs", "1", "./old", "./both"]).ends_with(0);
    let record = bench.record();
    let counts: Vec<i64> = record.timed().map(|row| row.get("instructions").unwrap()).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    // 300 000 rounds alone, and with 600 000 more.
    assert!((2.5..4.0).contains(&(*most as f64 / *least as f64)), "{counts:?}");
}

#[test]
fn what_valgrind_cannot_run_says_so() {
    let Some(bench) = bench() else { return };
    // valgrind loads a library of its own into each program.
    let refuses =
        "#!/bin/sh\ncase \"$LD_PRELOAD\" in *vgpreload*) echo 'not like this' >&2; exit 9;; esac\n";
    bench.script("refuses", refuses);
    let ran = run(&bench, &["./refuses"]).ends_with(2);
    let parts =
        ["under valgrind it exited with 9, which it does not without valgrind", "not like this"];
    ran.says(&parts);
    let counted = bench.record();
    assert!(counted.timed().all(|row| row.get("instructions").is_none()), "never a zero");
}

#[test]
fn a_run_that_takes_too_long_is_one_without_valgrind_too() {
    let Some(bench) = bench() else { return };
    bench.script("waits", "#!/bin/sh\nexec sleep 1000\n");
    let ran = run(&bench, &["--timeout", "3s", "--warmup", "0", "./waits"]).ends_with(124);
    ran.says(&["took longer than --timeout"]);
}

#[test]
fn standard_input_and_exits_are_those_of_the_program() {
    let Some(bench) = bench() else { return };
    bench.write("in", "a line\n");
    bench.script("reads", "#!/bin/sh\nread line; echo \"$line\" >> seen; exit 4\n");
    let ran = run(&bench, &["--runs", "2", "--input", "in", "--expect-exit", "4", "./reads"]);
    ran.ends_with(0);
    assert_eq!(bench.read("seen").lines().filter(|line| *line == "a line").count(), 2);
}

/// Both programs of a pair have the same variables of the same length, and each pair other hashes.
#[test]
fn the_surroundings_of_a_pair_are_the_same() {
    let Some(bench) = bench() else { return };
    let script =
        "#!/bin/sh\necho \"$PYTHONHASHSEED $STILLWELL_ITERATION$STILLWELL_PADDING\" >> seen\n";
    bench.script("a", script);
    bench.script("b", script);
    run(&bench, &["--runs", "3", "--warmup", "0", "./a", "./b"]).ends_with(0);
    let seen = bench.read("seen");
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.len(), 6, "{seen}");
    for pair in lines.chunks(2) {
        assert_eq!(pair[0], pair[1]);
        assert!(pair[0].len() == 11 && pair[0].ends_with(' '), "{seen}");
    }
    assert!(lines[0] != lines[2] && lines[2] != lines[4], "{seen}");
}

/// A program that computes its iterations from the time of the first one, as criterion does.
const BY_THE_CLOCK: &str = r#"#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void work(double iterations) {
    volatile unsigned x = 1;
    for (long i = 0; i < iterations * ROUNDS; i++) x = x * 1664525 + 1013904223;
}
int main(int argc, char **words) {
    double profile_s = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(words[i], "--help")) return puts("Criterion.rs benchmark --measurement-time") < 0;
        if (!strcmp(words[i], "--list")) return puts("loop: benchmark") < 0;
        if (strstr(words[i], "profile-time=")) profile_s = atof(strchr(words[i], '=') + 1);
    }
    double once_s = 0, warm_up_s = profile_s ? 1 : 0.003;
    long n = 0;
    for (long more = 1; once_s * n <= warm_up_s; more *= 2) {
        double start = now();
        now();
        work(more);
        now();
        once_s = (once_s * n + now() - start) / (n + more);
        n += more;
    }
    if (profile_s) return work(floor((profile_s - once_s * n) / once_s)), 0;
    unsigned noise = getpid() * 2654435761u >> 20;
    printf("loop  time:   [%u ns %u ns %u ns]\n", noise, 3000 + noise, 9000 + noise);
}
"#;

#[test]
fn a_framework_that_reads_the_clock_does_the_same_work_in_each_run() {
    let Some(bench) = bench() else { return };
    bench.write("p.c", BY_THE_CLOCK);
    for (side, rounds) in [("old", 1000), ("new", 1100)] {
        std::fs::create_dir(bench.path(side)).unwrap();
        compile(&bench, &format!("{side}/sums"), &[&format!("-DROUNDS={rounds}"), "-lm"]);
    }
    let programs = ["bench", "old/sums", "new/sums", "--decide-on", "instructions", "--counter"];
    let options = ["valgrind", "--budget", "5min", "--json"];
    let ran = bench.stillwell(&[&programs[..], &options].concat()).ends_with(0);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let ratio = said["conclusion"]["effects"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.1).abs() < 0.001, "each process has the same iterations: {ratio}");
    let reason = "a framework that chooses its iterations by the clock is counted by valgrind";
    bench.stillwell(&[&programs[..], &["pmu"]].concat()).ends_with(2).says(&[reason]);
}

/// The command of the process between Stillwell and valgrind, without these two.
#[test]
fn each_reading_of_the_clock_is_a_step_later() {
    let Some(bench) = bench() else { return };
    let code = r#"#include <stdio.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(int n, char **words) {
    struct timespec a, b;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &a);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &b);
    unsigned long random = 0;
    long n_bytes = syscall(SYS_getrandom, &random, sizeof random, 0);
    printf("%ld %ld %ld %lx", a.tv_sec % 86400, (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec, n_bytes, random);
    fflush(stdout);
    if (n > 1) raise(SIGKILL);
    return 7;
}
"#;
    bench.write("p.c", code);
    compile(&bench, "p", &[]);
    let stepped = |words: &[&str]| {
        let mut command = bench.command(env!("CARGO_BIN_EXE_stillwell"));
        let command = command.arg0("stillwell-stepped-clock").args(["needed", "readings"]);
        command.args(words).output().unwrap()
    };
    let ran = stepped(&["./p"]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    // Second of the day, step, bytes of a random number.
    assert!(said.starts_with("0 375000000 8 "), "{ran:?}");
    assert_eq!(ran.status.code(), Some(7));
    assert_eq!(bench.read("readings"), "2");
    assert!(!said.ends_with(" 0"), "it has a number: {said}");
    assert_eq!(stepped(&["./p"]).stdout, ran.stdout, "each run has the same random numbers");
    assert_eq!(stepped(&["./p", "killed"]).status.code(), Some(128 + 9));
    // The kernel gives a process one listener. A command that does not need the clock has the outer one.
    let within = |needed: &str| {
        let shell = r#"exec -a stillwell-stepped-clock "$0" "$1" others ./p"#;
        stepped(&["bash", "-c", shell, env!("CARGO_BIN_EXE_stillwell"), needed])
    };
    assert_eq!(within("").status.code(), Some(7));
    assert!(!bench.path("others").exists(), "it read the machine's clock");
    assert_eq!(within("needed").status.code(), Some(2));
    let missing = stepped(&["./nothing"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(2) && said.contains("No such file"), "{said}");
}
