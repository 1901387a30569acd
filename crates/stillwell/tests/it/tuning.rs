//! Tuning a machine in a directory: the output of `system tune`, and the restoration after a kill.

use std::process::Command;

use rustix::process::Signal;

use crate::bench::{Bench, Ran, STILLWELL, send, wait_until};

const INTERVAL: &str = "host/proc/sys/vm/stat_interval";
const JOURNAL: &str = "host/run/stillwell/journal";

/// A machine with four CPUs, one of them for the benchmark, and two knobs.
fn machine() -> Bench {
    let bench = Bench::new();
    bench.make_host(&[
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/cpu/isolated", ""),
        ("proc/sys/kernel/random/boot_id", "5a1c"),
        ("proc/sys/vm/stat_interval", "1"),
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/devices/virtual/workqueue/cpumask", "f"),
    ]);
    bench
}

fn system(bench: &Bench, arguments: &[&str]) -> Ran {
    let action = [&["system"], arguments, &["--host-root", "host"]].concat();
    bench.stillwell(&action)
}

#[test]
fn what_is_tuned_is_shown_and_put_back() {
    let bench = machine();
    let ran = system(&bench, &["tune", "--cpus", "3", "--dry-run"]).ends_with(0);
    assert_eq!(
        ran.stdout,
        "echo 7 > /sys/devices/virtual/workqueue/cpumask  # workqueues, was f\n\
         echo 120 > /proc/sys/vm/stat_interval  # stat-interval, was 1\n\
         echo 0 > /sys/kernel/mm/ksm/run  # ksm, was 1\n"
    );
    assert_eq!(bench.read(INTERVAL), "1\n");
    system(&bench, &["tune", "--cpus", "3", "--skip", "ksm"]).ends_with(0);
    assert_eq!(
        (bench.read(INTERVAL), bench.read("host/sys/kernel/mm/ksm/run")),
        ("120".into(), "1\n".into())
    );
    let status = system(&bench, &["status"]).ends_with(0).stdout;
    assert!(status.contains("stat-interval   /proc/sys/vm/stat_interval: 120, was 1"), "{status}");
    let reset = system(&bench, &["reset"]).ends_with(0).stdout;
    assert_eq!((reset.as_str(), bench.read(INTERVAL)), ("2 files put back\n", "1\n".into()));
    assert_eq!(system(&bench, &["reset"]).ends_with(0).stdout, "nothing is changed\n");
}

#[test]
fn mistakes_are_explained() {
    let bench = machine();
    for (arguments, expected) in [
        (
            &["tune", "--cpus", "9"] as &[&str],
            "CPU 9 is not online; the CPUs of this machine are 0-3",
        ),
        (&["tune", "--cpus", "0-3"], "leave at least one core to everything else"),
        (&["tune", "--only", "swapp"], "there is no knob \"swapp\""),
        (&["tune", "--only", "stat-intervall"], "did you mean \"stat-interval\"?"),
        (&["tune", "--only", "nohz-full"], "nohz-full can only be shown"),
    ] {
        system(&bench, arguments).ends_with(2).says(&[expected]);
    }
    assert!(!bench.path("host/run").exists());
}

fn run_tuned(bench: &Bench) -> crate::bench::Running {
    let running =
        bench.start(&["--host-root", "host", "--tune=stat-interval", "-r", "100000", "sleep 0.01"]);
    wait_until("it is tuned and runs", || bench.read(INTERVAL) == "120" && bench.n_rows() > 1);
    running
}

/// The guardian of a front end.
fn guardian(front_end: i32) -> i32 {
    let children =
        Command::new("pgrep").args(["-P", &front_end.to_string(), "-f", "system guard"]).output();
    String::from_utf8(children.unwrap().stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn it_is_tuned_only_while_it_runs() {
    let bench = machine();
    let ran = bench.run(&[
        "--host-root",
        "host",
        "--tune",
        "-r",
        "2",
        "cat host/proc/sys/vm/stat_interval >> seen",
    ]);
    ran.ends_with(0);
    assert!(bench.read("seen").starts_with("120"));
    assert_eq!(bench.read(INTERVAL), "1\n");
}

/// The statement and the program see a tuned machine. Afterwards it is restored.
#[test]
fn it_is_tuned_only_while_workers_run() {
    let bench = machine();
    let statement = format!("open('seen', 'a').write(open('{INTERVAL}').read())");
    let options = ["--host-root", "host", "--tune=stat-interval", "--debug-single-value"];
    bench.stillwell(&[&["timeit"], &options[..], &[&statement]].concat()).ends_with(0);
    assert!(bench.read("seen").starts_with("120"), "{}", bench.read("seen"));
    assert_eq!(bench.read(INTERVAL), "1\n");
    bench.script("program", PROGRAM);
    bench.stillwell(&[&["bench"], &options[..], &["./program"]].concat()).ends_with(0);
    // The machine is also tuned when the program lists its benchmarks.
    let seen = bench.read("seen-by-program");
    assert!(
        seen.split_whitespace().count() > 1 && seen.split_whitespace().all(|s| s == "120"),
        "{seen}"
    );
    assert_eq!(bench.read(INTERVAL), "1\n");
    assert!(!bench.path("host/run/stillwell/journal").exists());
    // With `--list` Stillwell tunes nothing.
    bench.stillwell(&[&["bench", "--list"], &options[..3], &["./program"]].concat()).ends_with(0);
    assert_eq!(bench.read("seen-by-program"), format!("{seen}1 "));
}

/// A program that writes the knob's value at its start.
const PROGRAM: &str = "#!/usr/bin/env python3
import os, sys
r, w = map(int, sys.argv[-1].split('=')[1].split(','))
def say(line): os.write(w, line.encode() + b'\\n')
with open('seen-by-program', 'a') as seen:
    print(open('host/proc/sys/vm/stat_interval').read().strip(), end=' ', file=seen)
say('stillwell 1 language=none')
for line in os.fdopen(r):
    word = line.split()[0]
    if word == 'list': say('benchmark one'); say('end')
    elif word == 'metadata': say('end')
    elif word == 'run': say('time 1000 1000')
    elif word == 'quit': say('bye'); break
    else: say('ok')
";

#[test]
fn what_cannot_be_kept_free_or_tuned_ends_a_session_of_workers_before_it_begins() {
    let bench = machine();
    let options = ["timeit", "--host-root", "host", "-o", "r.swell"];
    for (arguments, expected) in [
        (&["--tune", "--affinity", "9"] as &[&str], "CPU 9 is not online"),
        (&["--tune", "--affinity", "0-3"], "leave at least one core"),
        (&["--tune=stat-intervall"], "did you mean \"stat-interval\"?"),
    ] {
        let arguments = [&options[..], arguments, &["pass"]].concat();
        bench.stillwell(&arguments).ends_with(2).says(&[expected]);
        assert!(!bench.path("r.swell").exists());
    }
}

#[test]
fn an_interrupt_and_kill_9_of_the_front_end_put_it_back() {
    for signal in [Signal::INT, Signal::HUP, Signal::KILL] {
        let bench = machine();
        let running = run_tuned(&bench);
        running.signal(signal);
        running.finish();
        wait_until("it is put back", || bench.read(INTERVAL) == "1\n");
        wait_until("the journal is gone", || !bench.path("host/run/stillwell/journal").exists());
    }
}

#[test]
fn the_guardian_survives_what_ends_a_session() {
    let bench = machine();
    let running = run_tuned(&bench);
    for signal in [Signal::INT, Signal::HUP, Signal::TERM] {
        send(guardian(running.pid()), signal);
    }
    system(&bench, &["tune", "--only", "ksm"]).ends_with(2).says(&["another stillwell is tuning"]);
    running.signal(Signal::KILL);
    running.finish();
    wait_until("it is put back", || bench.read(INTERVAL) == "1\n");
}

/// A stopped guardian neither restores nor ends. Whoever waits for it is told its number.
#[test]
fn a_stopped_guardian_is_named() {
    let bench = machine();
    let running = run_tuned(&bench);
    let pid = guardian(running.pid());
    send(pid, Signal::STOP);
    let text = format!("kill -CONT {pid}");
    wait_until("it is stopped", || system(&bench, &["status"]).stdout.contains(&text));
    system(&bench, &["tune", "--only", "ksm"]).ends_with(2).says(&["another stillwell", &text]);
    running.signal(Signal::INT);
    wait_until("the front end says so", || bench.read("stderr").contains(&text));
    send(pid, Signal::CONT);
    running.finish();
    wait_until("it is put back", || bench.read(INTERVAL) == "1\n");
}

/// A boot undoes what a journal lists.
#[test]
fn the_journal_of_an_earlier_boot_is_set_aside() {
    let bench = machine();
    system(&bench, &["tune", "--only", "ksm"]).ends_with(0);
    bench.write("host/proc/sys/kernel/random/boot_id", "77aa\n");
    let status = system(&bench, &["status"]).ends_with(0).stdout;
    assert!(status.starts_with("nothing is changed; the journal of an earlier boot"), "{status}");
    let reset = system(&bench, &["reset"]).ends_with(0).stdout;
    assert!(reset.contains("is set aside as journal.of-another-boot"), "{reset}");
    assert_eq!(bench.read("host/sys/kernel/mm/ksm/run"), "0");
    assert!(bench.path("host/run/stillwell/journal.of-another-boot").exists());
    assert_eq!(system(&bench, &["status"]).stdout, "nothing is changed\n");
}

#[test]
fn what_both_have_left_the_next_start_puts_back() {
    let bench = machine();
    let running = run_tuned(&bench);
    send(guardian(running.pid()), Signal::KILL);
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(bench.read(INTERVAL), "120");
    // The killed guardian ends when it gets a CPU.
    wait_until("both have ended", || {
        let status = system(&bench, &["status"]).ends_with(0).stdout;
        status.contains("ended before everything was put back")
    });
    let ran = system(&bench, &["tune", "--only", "ksm"]).ends_with(0);
    assert!(ran.stdout.contains("1 file put back"), "{ran:?}");
    assert_eq!(
        (bench.read(INTERVAL), bench.read("host/sys/kernel/mm/ksm/run")),
        ("1\n".into(), "0".into())
    );
}

/// The helper may have more rights than its caller, so it accepts only names.
#[test]
fn the_helper_takes_no_path_and_no_other_root() {
    use std::io::Write as _;
    let bench = machine();
    for request in [
        "{\"cpus\":null,\"knobs\":[\"../etc\"],\"time_s\":0}",
        "garbage",
        "{\"path\":\"/etc/passwd\"}",
    ] {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut child = bench
            .command(STILLWELL)
            .args(["system", "guard", "--host-root", "host"])
            .stdin(std::os::fd::OwnedFd::from(theirs))
            .spawn()
            .unwrap();
        writeln!(&ours, "{request}").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2), "{request}");
    }
    assert_eq!(bench.read(INTERVAL), "1\n");
}

/// Whenever it comes: while the guardian tunes, while the session opens, while it measures.
#[test]
fn a_signal_ends_a_session_after_the_machine_is_put_back() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let bench = machine();
        let arguments = ["--host-root", "host", "--tune", "--affinity", "3", "-r", "100000"];
        let running = bench.start(&[&arguments[..], &["sleep 0.01"]].concat());
        wait_until("it tunes", || bench.path(JOURNAL).exists());
        running.signal(signal);
        let ran = running.finish().ends_with(130);
        assert!(!bench.path(JOURNAL).exists(), "{ran:#?}");
        assert_eq!(bench.read(INTERVAL), "1\n");
    }
}

#[test]
fn a_signal_while_the_machine_is_tuned_for_good_leaves_it_as_it_was() {
    let bench = machine();
    let mut tune = bench.command(STILLWELL);
    tune.args(["system", "tune", "--cpus", "3", "--host-root", "host"]);
    let running = bench.spawn(tune);
    wait_until("it tunes", || bench.path(JOURNAL).exists());
    running.signal(Signal::INT);
    let ran = running.finish();
    // The verb may have ended before the signal came.
    let value = if ran.code == Some(0) { "120" } else { "1\n" };
    assert!([Some(0), Some(130)].contains(&ran.code), "{ran:#?}");
    assert_eq!(bench.read(INTERVAL), value, "{ran:#?}");
}

/// Killed before the journal had its last line, as a `shield on` before it had a shield.
#[test]
fn shield_off_puts_back_what_a_killed_one_has_changed() {
    let bench = machine();
    system(&bench, &["tune", "--cpus", "3"]).ends_with(0);
    let journal = bench.read(JOURNAL);
    let (begun, last) = journal.trim_end().rsplit_once('\n').unwrap();
    assert!(last.contains("done"), "{journal}");
    std::fs::write(bench.path(JOURNAL), format!("{begun}\n")).unwrap();
    let ran = bench.stillwell(&["shield", "off", "--host-root", "host"]).ends_with(0);
    assert!(ran.stdout.contains("files put back"), "{ran:#?}");
    assert_eq!(bench.read(INTERVAL), "1\n");
}
