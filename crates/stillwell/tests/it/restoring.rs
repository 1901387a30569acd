//! What puts a machine back when something fails: a journal that cannot be written or is empty, a file that cannot be
//! read, signals and limits. `host/tests/faults` makes every single call fail.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use rustix::process::Signal;

use crate::bench::{Bench, Ran, STILLWELL, wait_until};

const INTERVAL: &str = "host/proc/sys/vm/stat_interval";
const JOURNAL: &str = "host/run/stillwell/journal";
/// Enough interrupts for a journal of several kilobytes.
const N_IRQS: usize = 100;

fn irq(number: usize) -> String {
    format!("host/proc/irq/{number}/smp_affinity_list")
}

/// A machine with four CPUs, a knob, and interrupts on CPU 1.
fn machine() -> Bench {
    let bench = Bench::new();
    bench.make_host(&[
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/cpu/isolated", ""),
        ("proc/sys/kernel/random/boot_id", "5a1c"),
        ("proc/sys/vm/stat_interval", "1"),
        ("proc/irq/default_smp_affinity", "f"),
    ]);
    for number in 0..N_IRQS {
        std::fs::create_dir_all(bench.path(&irq(number)).parent().unwrap()).unwrap();
        bench.write(&irq(number), "1\n");
    }
    bench
}

fn system(bench: &Bench, arguments: &[&str]) -> Ran {
    bench.stillwell(&[&["system"], arguments, &["--host-root", "host"]].concat())
}

/// Runs it with a limit of a few kilobytes for each file, hard and soft.
fn with_small_files(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut shell = bench.command("sh");
    shell.args(["-c", "ulimit -f 4; exec \"$@\"", "sh", STILLWELL]).args(arguments);
    Ran::from(shell.output().unwrap())
}

fn check_put_back(bench: &Bench) {
    assert_eq!(bench.read(INTERVAL), "1\n");
    let left: Vec<usize> = (0..N_IRQS).filter(|it| bench.read(&irq(*it)) != "1\n").collect();
    assert_eq!(left, [0; 0]);
    assert!(!bench.path(JOURNAL).exists());
}

#[test]
fn tuning_that_reaches_the_limit_of_file_sizes_is_put_back() {
    let bench = machine();
    let ran = with_small_files(&bench, &["system", "tune", "--cpus", "1", "--host-root", "host"]);
    ran.ends_with(2).says(&[
        "cannot write the journal",
        "File too large",
        "what was changed is put back",
    ]);
    check_put_back(&bench);
}

/// Whether this process may raise hard limits: root may, but not in every container (capabilities(7), CAP_SYS_RESOURCE).
fn may_raise_limits() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap();
    u64::from_str_radix(line, 16).unwrap() >> 24 & 1 == 1
}

#[test]
fn a_guardian_with_a_limit_of_file_sizes_leaves_nothing() {
    let bench = machine();
    let arguments = ["run", "--host-root", "host", "--tune", "--affinity", "1", "-r", "2", "true"];
    let ran = with_small_files(&bench, &arguments);
    if may_raise_limits() {
        assert!(!ran.stderr.contains("cannot tune"), "{ran:?}");
    } else {
        ran.ends_with(2).says(&["cannot tune: cannot write the journal", "is put back"]);
    }
    check_put_back(&bench);
}

const REQUEST: &str =
    r#"{"cpus":[1],"knobs":["stat-interval"],"tunes":true,"isolate":null,"time_s":0}"#;

/// All signals, real-time ones included, but those that nobody can block.
#[test]
fn no_signal_that_can_be_blocked_ends_a_guardian() {
    let bench = machine();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut guard = bench.command("sh");
    let limited = "ulimit -S -f 0; ulimit -S -n 20; ulimit -S -t 100; exec \"$@\"";
    guard.args(["-c", limited, "sh", STILLWELL]);
    guard.args(["system", "guard", "--host-root", "host"]);
    guard.stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    let mut child = guard.spawn().unwrap();
    drop(guard);
    writeln!(&ours, "{REQUEST}").unwrap();
    let mut lines = BufReader::new(ours.try_clone().unwrap()).lines();
    let said = lines.next().unwrap().unwrap();
    assert!(said.contains("Turned") && bench.read(INTERVAL) == "120", "{said}");
    let proc =
        |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", child.id())).unwrap();
    // Signals 9 and 19 cannot be blocked.
    assert!(proc("status").contains("SigBlk:\tfffffffffffbfeff"), "{}", proc("status"));
    let limits = proc("limits");
    for limit in ["Max file size", "Max open files", "Max cpu time"] {
        let line = limits.lines().find(|line| line.starts_with(limit)).unwrap();
        let words: Vec<&str> = line[limit.len()..].split_whitespace().collect();
        assert_eq!(words[0], words[1], "{line}");
    }
    let session = proc("stat").rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().to_owned();
    assert_eq!(session, child.id().to_string());
    if may_raise_limits() {
        assert_eq!(proc("oom_score_adj"), "-1000\n");
    }
    let all = "for signal in $(seq 64); do
        case $signal in 9|19) ;; *) kill -$signal $1 || exit 1 ;; esac
    done";
    let mut send = bench.command("sh");
    send.args(["-c", all, "sh", &child.id().to_string()]);
    assert!(send.status().unwrap().success());
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let said = lines.next().unwrap().unwrap();
    assert!(said.contains("Restored"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    check_put_back(&bench);
}

/// Makes a file unreadable for root too, and returns what makes it readable again.
fn hide(bench: &Bench, path: &str) -> impl FnOnce() + use<> {
    let (path, aside) = (bench.path(path), bench.path("aside"));
    std::fs::rename(&path, &aside).unwrap();
    std::fs::create_dir(&path).unwrap();
    move || {
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_read_for_a_moment_stays_in_the_journal() {
    let bench = machine();
    system(&bench, &["tune", "--cpus", "1"]).ends_with(0);
    let show = hide(&bench, &irq(7));
    let reset = system(&bench, &["reset"]).ends_with(1);
    assert!(reset.stdout.contains("cannot put back /proc/irq/7/smp_affinity_list"), "{reset:?}");
    assert!(!reset.stdout.contains("gone"), "{reset:?}");
    let status = system(&bench, &["status"]).ends_with(0).stdout;
    assert!(status.contains("smp_affinity_list: it cannot be read"), "{status}");
    show();
    system(&bench, &["reset"]).ends_with(0);
    check_put_back(&bench);
}

#[test]
fn a_session_names_what_its_guardian_has_left() {
    let bench = machine();
    let arguments = ["--host-root", "host", "--tune", "--affinity", "1", "-r", "100000"];
    let running = bench.start(&[&arguments[..], &["sleep 0.01"]].concat());
    wait_until("it is tuned and runs", || bench.read(INTERVAL) == "120" && bench.n_rows() > 1);
    let show = hide(&bench, &irq(7));
    running.signal(Signal::INT);
    running.finish();
    let said = bench.read("stderr");
    for part in ["cannot put back /proc/irq/7/smp_affinity_list", "`stillwell system reset`"] {
        assert!(said.contains(part), "{said}");
    }
    show();
    system(&bench, &["reset"]).ends_with(0);
    check_put_back(&bench);
}

/// Its writer was killed before the first line, or `/run` was full.
#[test]
fn an_empty_journal_means_that_nothing_is_changed() {
    for content in ["", "{\"begin\":{\"vers"] {
        let bench = machine();
        let directory = bench.path("host/run/stillwell");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
        bench.write(JOURNAL, content);
        std::fs::set_permissions(bench.path(JOURNAL), PermissionsExt::from_mode(0o600)).unwrap();
        for action in ["status", "reset"] {
            let ran = system(&bench, &[action]).ends_with(0);
            assert_eq!(ran.stdout, "nothing is changed\n", "{action}");
        }
        check_put_back(&bench);
    }
}

/// Another call of `reset` would find the same, so it is not proposed.
#[test]
fn a_journal_of_somebody_else_is_told_with_a_remedy() {
    type Trap = fn(&std::path::Path);
    let traps: [(&str, Trap); 5] = [
        ("it is a link", |path| std::os::unix::fs::symlink("../../link", path).unwrap()),
        ("it is no regular file", |path| {
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, 0o600.into(), 0).unwrap();
        }),
        ("it is no regular file", |path| std::fs::create_dir(path).unwrap()),
        ("line 1", |path| std::fs::write(path, "junk\n").unwrap()),
        ("its mode is 644, not 600", |path| std::fs::write(path, "").unwrap()),
    ];
    for (index, (reason, set)) in traps.into_iter().enumerate() {
        let bench = machine();
        let directory = bench.path("host/run/stillwell");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
        set(&bench.path(JOURNAL));
        if index != 4 && bench.path(JOURNAL).is_file() {
            std::fs::set_permissions(bench.path(JOURNAL), PermissionsExt::from_mode(0o600))
                .unwrap();
        }
        for action in [&["reset"][..], &["status"], &["tune", "--cpus", "1"]] {
            let ran = system(&bench, action).ends_with(2);
            let remedy = "run/stillwell/journal is not to be trusted";
            let ran = ran.says(&[remedy, "remove it or reboot", reason]);
            assert!(!ran.stderr.contains("reset` again"), "{ran:#?}");
        }
        assert_eq!(bench.read(INTERVAL), "1\n");
    }
}

#[test]
fn a_link_in_the_place_of_the_journals_directory_is_told() {
    let bench = machine();
    std::fs::create_dir_all(bench.path("host/run")).unwrap();
    std::os::unix::fs::symlink("../..", bench.path("host/run/stillwell")).unwrap();
    for action in [&["reset"][..], &["status"], &["tune", "--cpus", "1"]] {
        let remedy = "run/stillwell is not to be trusted";
        system(&bench, action).ends_with(2).says(&[remedy, "remove it or reboot"]);
    }
}
