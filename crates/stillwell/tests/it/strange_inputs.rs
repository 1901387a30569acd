//! What is no file in the place of one that a verb reads, or is far too long: each ends with a sentence, and nothing waits.

use std::fs::File;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::bench::{Bench, Ran, STILLWELL, wait_until};

fn fifo(bench: &Bench, name: &str) {
    mknodat(CWD, bench.path(name), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// What may be in the place of a file.
type Make = fn(&Bench, &str);
const KINDS: [(&str, Make); 4] = [
    ("a FIFO", fifo),
    ("a device", |bench, name| symlink("/dev/zero", bench.path(name)).unwrap()),
    ("a directory", |bench, name| std::fs::create_dir(bench.path(name)).unwrap()),
    ("longer than 64 MiB", |bench, name| {
        File::create(bench.path(name)).unwrap().set_len(1 << 40).unwrap();
    }),
];

/// Files that a verb reads, and its command line.
const FILES: [(&str, &[&str]); 10] = [
    ("s.toml", &["bench", "s.toml"]),
    ("d/suite.json", &["bench", "--resume", "d"]),
    ("d/bisect.json", &["bisect", "--resume", "d"]),
    ("d/race.json", &["race", "--resume", "d"]),
    ("d/campaign.json", &["campaign", "status", "d"]),
    ("d/campaign.json", &["campaign", "try", "d", "x", "--", "true"]),
    ("d/pool.json", &["pool", "status", "d"]),
    ("arms", &["race", "--arms-from", "arms", "true"]),
    ("s.toml", &["race", "--suite", "s.toml", "true", "{arm}"]),
    ("s.toml", &["campaign", "new", "c", "--suite", "s.toml", "--", "true"]),
];

/// Runs it with little memory. A test that waits too long fails.
fn limited(bench: &Bench, words: &[&str]) -> Ran {
    let mut command = bench.command("prlimit");
    command.args(["--as=700000000", STILLWELL]).args(words);
    bench.spawn(command).finish()
}

#[test]
fn an_empty_name_is_seen_in_the_message() {
    let ran = Bench::new().run(&["-r", "1", "--input", "", "true"]).ends_with(2);
    ran.says(&["cannot open '' as standard input"]);
}

#[test]
fn an_empty_manifest_leaves_the_records_beside_it() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("d")).unwrap();
    bench.write("d/suite.json", "");
    let ran = bench.stillwell(&["show", "d"]).ends_with(2);
    ran.says(&["d/suite.json: not the results of a suite; the records beside it can still be"]);
}

#[test]
fn a_time_zone_without_end_is_no_time_zone() {
    let bench = Bench::new();
    let file = format!("{}/../formats/samples/results/jmh.json", env!("CARGO_MANIFEST_DIR"));
    let mut command = bench.command("prlimit");
    command.args(["--as=700000000", STILLWELL, "show", &file]).env("TZ", "/dev/zero");
    bench.spawn(command).finish().ends_with(0);
}

/// The advice is about what is there: nobody is to remove /dev/null, or a directory.
#[test]
fn what_is_in_the_way_of_a_record_is_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("d.swell")).unwrap();
    let fifo = bench.path("fifo.swell");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    symlink("nowhere", bench.path("link.swell")).unwrap();
    bench.write("file.swell", "x");
    for (path, what) in [
        ("/dev/null", "is a device, not a new file; choose another name"),
        (".", "is a directory, not a new file"),
        ("d.swell", "is a directory, not a new file"),
        ("fifo.swell", "is a FIFO, not a new file"),
        ("link.swell", "is a link, not a new file"),
        ("file.swell", "exists already; choose another name or remove it"),
    ] {
        let said = format!("{path} {what}");
        let ran =
            bench.stillwell(&["run", "-r", "1", "-o", path, "true"]).ends_with(2).says(&[&said]);
        assert_eq!(ran.stderr.contains("remove"), path == "file.swell", "{ran:#?}");
    }
}

#[test]
fn only_a_file_of_a_usual_length_is_read() {
    for (name, words) in FILES {
        for (kind, put) in KINDS {
            let bench = Bench::new();
            std::fs::create_dir(bench.path("d")).unwrap();
            put(&bench, name);
            let ran = limited(&bench, words).ends_with(2);
            let said = [name, kind];
            assert!(said.iter().all(|it| ran.stderr.contains(it)), "{words:?} {said:?} {ran:#?}");
        }
    }
}

/// Histories, and results for them.
#[test]
fn what_is_no_file_is_told_by_every_reader() {
    for (name, words) in [
        ("h.db", &["history", "show", "--db", "h.db"][..]),
        ("h.db", &["history", "add", "--db", "h.db", "--revision", "a", "r.swell"]),
        ("in.json", &["history", "add", "--db", "h.db", "--revision", "a", "in.json"]),
    ] {
        // A directory of results is read.
        for (kind, put) in &KINDS[..2] {
            let bench = Bench::new();
            bench.run(&["-w", "0", "-r", "2", "true"]).ends_with(0);
            put(&bench, name);
            limited(&bench, words).ends_with(2).says(&[name, kind]);
        }
    }
}

/// A pipe that a shell made for this process is read: `--arms-from <(…)`.
#[test]
fn a_pipe_that_is_named_on_purpose_is_read() {
    let bench = Bench::new();
    let mut shell: Command = bench.command("sh");
    let script = "printf 'true\\n\\ttrue\\n' | \"$0\" race --arms-from /dev/stdin";
    shell.args(["-c", script, STILLWELL]);
    bench.spawn(shell).finish().ends_with(2).says(&["/dev/stdin:2: a line is COMMAND"]);
}

/// `show <(zcat r.swell.gz)` reads a pipe, so it waits for the writer. ^C ends it at once.
#[test]
fn an_interrupt_ends_a_verb_that_waits_for_a_pipe() {
    let bench = Bench::new();
    fifo(&bench, "pipe");
    let mut show = bench.command(STILLWELL);
    show.args(["show", "pipe"]);
    let running = bench.spawn(show);
    let mut writer = None;
    wait_until("it waits for the pipe", || {
        // Without a reader the kernel refuses it.
        let mut options = File::options();
        options.write(true).custom_flags(libc::O_NONBLOCK);
        writer = options.open(bench.path("pipe")).ok();
        writer.is_some()
    });
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, None, "the signal ends it: {ran:#?}");
}
