//! What a benchmark can do to make a session wait for ever: FIFOs in the place of files, a stopped launcher, the terminal.

use std::process::Command;

use rustix::process::Signal;

use crate::bench::{Bench, Running, send, skipped, wait_until};
use crate::escapes::on_terminal;
use crate::processes::{Session, stat};
use crate::why::can_sample;

#[test]
fn a_fifo_in_the_place_of_a_value_is_an_error() {
    let bench = Bench::new();
    let value = ["--value", "(.+)", "--value-file", "v"];
    let running = bench.start(&[&value[..], &["-r", "3", "mkfifo v"]].concat());
    running.finish().ends_with(2).says(&["did not say its value", "it is a FIFO"]);
}

#[test]
fn a_fifo_in_the_place_of_the_record_is_an_error() {
    let bench = Bench::new();
    let running = bench.start(&["-w", "0", "-r", "3", "rm -f r.swell; mkfifo r.swell"]);
    running.finish().ends_with(2).says(&["r.swell", "it is a FIFO"]);
}

/// The path is checked before each batch. A run in the middle of one can change it for the next.
#[test]
fn a_fifo_in_the_place_of_an_output_is_an_error() {
    let bench = Bench::new();
    let command = "test $STILLWELL_ITERATION -lt 4 || { rm -f out; mkfifo out; }";
    let running = bench.start(&["-w", "0", "-r", "30", "--output", "./out", command]);
    running.finish().ends_with(2);
}

/// A session in a run that has stopped the launcher.
fn stopped(bench: &Bench, session: &mut Session) -> Running {
    bench.script("stop", "#!/bin/sh\necho run >> log; kill -STOP $PPID; exec sleep 1000\n");
    let environment = session.environment();
    let running = bench.start(&["-w", "0", "-r", "3", "--env", &environment, "-N", "./stop"]);
    session.find_launcher(running.pid());
    let launcher = session.launcher().pid;
    wait_until("the launcher is stopped", || stat(launcher, 3).as_deref() == Some("T"));
    running
}

#[test]
fn a_stopped_launcher_is_told_and_can_be_interrupted() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let running = stopped(&bench, &mut session);
    let said = format!("`kill -CONT {}`", session.launcher().pid);
    wait_until("it is told", || bench.read("stderr").contains(&said));
    running.signal(Signal::INT);
    running.finish().ends_with(130);
    session.is_gone();
}

#[test]
fn a_stopped_launcher_ends_with_its_front_end() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let running = stopped(&bench, &mut session);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    session.is_gone();
}

/// The run stops the launcher again and again, so it answers no request. The conclude hook has another launcher.
#[test]
fn the_second_interrupt_kills_a_launcher_that_does_not_answer() {
    let bench = Bench::new();
    let mut session = Session::new(&bench);
    let stop =
        "trap '' TERM; echo run $PPID >> log; while :; do kill -STOP $PPID; sleep 0.001; done";
    bench.script("stop", &format!("#!/bin/sh\n{stop}\n"));
    let environment = session.environment();
    let hooks = ["-C", "echo conclude $PPID >> log", "-c", "echo cleanup >> log"];
    let words = [&["-w", "0", "-r", "3", "--env", &environment], &hooks[..], &["-N", "./stop"]];
    let running = bench.start(&words.concat());
    session.find_launcher(running.pid());
    wait_until("the run is under way", || bench.read("log").contains("run"));
    let launcher = session.launcher().clone();
    wait_until("the launcher is killed", || {
        running.signal(Signal::INT);
        !launcher.is_alive()
    });
    running.finish().ends_with(130);
    session.is_gone();
    let log = bench.read("log");
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() == 3 && lines[1].starts_with("conclude") && lines[2] == "cleanup", "{log}");
    let of = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    assert_ne!(of(lines[0]), of(lines[1]), "the launcher was not killed");
}

#[test]
fn a_run_that_wants_the_terminal_is_ended_and_told() {
    let bench = Bench::new();
    for (command, what) in [
        ("read x < /dev/tty", "read from the terminal"),
        ("stty -echo < /dev/tty", "change the terminal"),
    ] {
        for length in [&["-w", "1"][..], &["-w", "0", "--output", "pipe"]] {
            std::fs::remove_file(bench.path("r.swell")).ok();
            let words = [&["run", "-o", "r.swell", "-r", "1"], length, &[command]].concat();
            let ran = on_terminal(&bench, &words).ends_with(2);
            assert!(ran.stdout.replace("\r\n", " ").contains(what), "{ran:#?}");
        }
    }
}

/// 4 KiB on disk, and much longer than the memory of this process.
#[test]
fn a_record_with_a_hole_is_an_error_at_its_line() {
    let bench = Bench::new();
    bench.run(&["-w", "0", "-r", "3", "true"]).ends_with(0);
    let file = std::fs::File::options().write(true).open(bench.path("r.swell")).unwrap();
    let n_lines = bench.read("r.swell").lines().count();
    file.set_len(3 << 30).unwrap();
    let limited = |arguments: &[&str]| {
        let mut command = bench.command("prlimit");
        command.args(["--as=700000000", crate::bench::STILLWELL]).args(arguments);
        crate::bench::Ran::from(command.output().unwrap())
    };
    let line = format!("r.swell, line {}: it is longer than 64 MiB", n_lines + 1);
    limited(&["show", "r.swell"]).ends_with(2).says(&[&line]);
    // Without a header it is no record, of whatever length.
    std::fs::File::create(bench.path("hole.swell")).unwrap().set_len(3 << 30).unwrap();
    limited(&["show", "hole.swell"]).ends_with(2).says(&["hole.swell", "not a Stillwell record"]);
    std::fs::File::create(bench.path("hole.json")).unwrap().set_len(3 << 30).unwrap();
    limited(&["show", "hole.json"]).ends_with(2).says(&["hole.json", "its format is not known"]);
    limited(&["show", "/dev/zero"]).ends_with(2).says(&["/dev/zero is a device"]);
}

#[test]
fn the_help_on_a_full_disk_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return skipped("there is no /dev/full");
    }
    let bench = Bench::new();
    for words in [&["--help"][..], &["--version"], &["help", "run"], &["run", "--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command: Command = bench.command(crate::bench::STILLWELL);
        let ran = crate::bench::Ran::from(command.args(words).stdout(full).output().unwrap());
        ran.ends_with(2).says(&["cannot write to standard output: No space left on device"]);
    }
}

/// Nine blocks, of which some have no samples by design, are too few. That is no error of whoever interrupts it.
#[test]
fn an_early_interrupt_of_why_is_an_interrupt() {
    let bench = Bench::new();
    if !can_sample(&bench) {
        return;
    }
    let command = "test $STILLWELL_ITERATION -lt 9 || { echo run >> log; exec sleep 1000; }";
    let mut why = bench.command(crate::bench::STILLWELL);
    why.args(["why", "-o", "w.swell", command, &format!("{command}; true")]);
    let running = bench.spawn(why);
    wait_until("the last run is under way", || bench.read("log").contains("run"));
    running.signal(Signal::INT);
    running.finish().ends_with(130).says(&["interrupted after"]);
}

/// What died and what to do, and nothing about JSON.
#[test]
fn a_dead_guardian_is_explained() {
    let bench = Bench::new();
    bench.make_host(&[
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("run/x", ""),
    ]);
    let command = "test -e go || { echo run >> log; while ! test -e go; do sleep 0.01; done; }";
    let tune = ["--host-root", "host", "--tune=ksm", "-w", "0", "-r", "1", command];
    let running = bench.start(&tune);
    wait_until("the run is under way", || bench.read("log").contains("run"));
    send(guardian_of(running.pid()), Signal::KILL);
    bench.write("go", "");
    let ran = running.finish();
    let ran = ran.says(&["the guardian ended unexpectedly (signal: 9 (SIGKILL)", "system reset"]);
    assert!(!ran.stderr.contains("EOF"), "{ran:#?}");
}

/// The guardian of a session: the child that leads a session of its own.
fn guardian_of(front_end: i32) -> i32 {
    let path = format!("/proc/{front_end}/task/{front_end}/children");
    let children = std::fs::read_to_string(path).unwrap();
    let mut pids = children.split_whitespace().map(|pid| pid.parse::<i32>().unwrap());
    let is_guardian = |pid: &i32| {
        let command_line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        command_line.contains("system\0guard")
    };
    pids.find(is_guardian).unwrap()
}
