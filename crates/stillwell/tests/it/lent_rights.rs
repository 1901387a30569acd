//! Files under sudo: what a benchmark, a commit or a build puts in the place of a file of Stillwell's. Each attack aims at
//! a file that root alone may open.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::process::Signal;

use crate::bench::{Bench, Ran, Running, STILLWELL, is_root, skipped, wait_until};
use crate::suite_builds::commit;

const ANN: u32 = 54321;
const SECRET: &str = "of root alone";

/// A directory of ann with a file of root in `roots`; `None` where the test does not run as root.
fn bench() -> Option<Bench> {
    if !is_root() {
        skipped("needs root");
        return None;
    }
    let bench = Bench::new();
    chown(bench.path("."), Some(ANN), Some(ANN)).unwrap();
    std::fs::create_dir(bench.path("roots")).unwrap();
    std::fs::set_permissions(bench.path("roots"), PermissionsExt::from_mode(0o755)).unwrap();
    bench.write("roots/secret", SECRET);
    std::fs::set_permissions(bench.path("roots/secret"), PermissionsExt::from_mode(0o600)).unwrap();
    Some(bench)
}

/// Starts the program as sudo does for ann.
fn start(bench: &Bench, words: &[&str]) -> Running {
    let mut command = bench.command(STILLWELL);
    // Without an account, HOME stays as it is.
    command.args(words).env("SUDO_USER", "ann").env("HOME", bench.path("."));
    command.env("SUDO_UID", ANN.to_string()).env("SUDO_GID", ANN.to_string());
    bench.spawn(command)
}

fn under_sudo(bench: &Bench, words: &[&str]) -> Ran {
    start(bench, words).finish()
}

#[track_caller]
fn is_untouched(bench: &Bench, what: &str) {
    assert_eq!(bench.read("roots/secret"), SECRET, "{what}");
    let meta = bench.path("roots/secret").metadata().unwrap();
    assert_eq!((meta.uid(), meta.mode() & 0o7777), (0, 0o600), "{what}");
    let names: Vec<_> = bench.path("roots").read_dir().unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{what}: {names:?}");
}

/// What may stand in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    Link,
    Fifo,
    Device,
    Directory,
    HardLink,
    /// Another directory in the place of the file's, in which root alone may write.
    Parent,
}

const TRAPS: [Trap; 6] =
    [Trap::Link, Trap::Fifo, Trap::Device, Trap::Directory, Trap::HardLink, Trap::Parent];

impl Trap {
    /// Puts it in the place of `d/NAME`.
    fn set(self, bench: &Bench, name: &str) {
        let path = bench.path("d").join(name);
        let secret = bench.path("roots/secret");
        match self {
            Self::Link => symlink(secret, path).unwrap(),
            Self::Fifo => {
                mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
                chown(&path, Some(ANN), Some(ANN)).unwrap();
            }
            Self::Device => {
                // It is as /dev/zero, and everybody may open it.
                let zero = makedev(1, 5);
                mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), zero).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
            }
            Self::Directory => std::fs::create_dir(path).unwrap(),
            Self::HardLink => std::fs::hard_link(secret, path).unwrap(),
            Self::Parent => {
                std::fs::remove_dir_all(bench.path("d")).unwrap();
                symlink("roots", bench.path("d")).unwrap();
            }
        }
    }
}

/// Each kind of file that a verb opens for writing where the user says: what it is, its name in `d`, and the command line.
const PLACES: [(&str, &str, &[&str]); 10] = [
    ("an export", "x.csv", &["run", "-r2", "-o", "r.swell", "--export-csv", "d/x.csv", "true"]),
    ("a report", "x.html", &["run", "-r2", "-o", "r.swell", "--report", "d/x.html", "true"]),
    (
        "any export",
        "x.md",
        &["run", "-r2", "-o", "r.swell", "--export", "markdown", "d/x.md", "true"],
    ),
    ("a record", "r.swell", &["run", "-r2", "-o", "d/r.swell", "true"]),
    ("the output of a run", "out", &["run", "-r2", "-o", "r.swell", "--output", "d/out", "echo"]),
    ("a suite", "s", &["bench", "s.toml", "-r", "1", "-o", "d/s"]),
    ("raw data", "w.csv", &["noise", "--for", "1ms", "--raw", "d/w.csv"]),
    ("a campaign", "c", &["campaign", "new", "d/c", "--", "true"]),
    (
        "a record as another format",
        "p.json",
        &["convert", "in.swell", "--to", "pyperf", "-o", "d/p.json"],
    ),
    ("a history", "h.db", &["history", "add", "--revision", "a", "--db", "d/h.db", "in.swell"]),
];

#[test]
fn no_trap_in_the_place_of_a_file_leads_to_a_file_of_root() {
    for (place, name, words) in PLACES {
        let Some(bench) = bench() else { return };
        bench.write(
            "s.toml",
            "[[variant]]\nname = \"a\"\n[[benchmark]]\nname = \"b\"\ncommand = \"true\"\n",
        );
        under_sudo(&bench, &["run", "-r2", "-o", "in.swell", "true"]).ends_with(0);
        for trap in TRAPS {
            let what = format!("{place}: {trap:?}");
            std::fs::remove_file(bench.path("r.swell")).ok();
            let directory = bench.path("d");
            std::fs::remove_file(&directory).or_else(|_| std::fs::remove_dir_all(&directory)).ok();
            std::fs::create_dir(&directory).unwrap();
            chown(&directory, Some(ANN), Some(ANN)).unwrap();
            trap.set(&bench, name);
            // It ends, and a test that hangs fails.
            let ran = under_sudo(&bench, words);
            is_untouched(&bench, &what);
            let is_whole = ran.code == Some(0);
            // A directory of work, and the output of a run, may be there already; a hard link is replaced, not written.
            let may_succeed = trap == Trap::HardLink
                || (trap == Trap::Directory && name.len() == 1)
                || (place == "the output of a run" && trap == Trap::Device);
            assert!(!is_whole || may_succeed, "{what}: {ran:#?}");
            if !is_whole {
                assert_eq!(ran.code, Some(2), "{what}: {ran:#?}");
                assert!(
                    ran.stderr.contains(&format!("d/{name}"))
                        || trap == Trap::Parent
                        || ran.stderr.contains(name),
                    "{what}: {ran:#?}"
                );
            }
        }
    }
}

/// The traps that a benchmark sets while it runs.
#[test]
fn a_benchmark_does_not_redirect_what_is_written_afterwards() {
    for attack in [
        "ln -sf \"$PWD/roots/secret\" d/x.csv",
        "rm -f d/x.csv; mkfifo d/x.csv || true",
        "rm -rf d; ln -s roots d",
        "rm -f r.swell; ln -s roots/secret r.swell",
        "rm -rf state; ln -s roots state",
    ] {
        let Some(bench) = bench() else { return };
        std::fs::create_dir(bench.path("d")).unwrap();
        chown(bench.path("d"), Some(ANN), Some(ANN)).unwrap();
        let run = ["run", "-w0", "-r2", "-o", "r.swell", "--export-csv", "d/x.csv", attack];
        under_sudo(&bench, &run);
        is_untouched(&bench, attack);
        assert!(!bench.path("roots/x.csv").exists(), "{attack}");
    }
}

/// A commit or its build puts a trap in the place of the mark of a finished build.
#[test]
fn the_mark_of_a_build_is_no_way_out_of_the_checkout() {
    for (trap, build) in [
        ("a link of the commit", "true"),
        ("a link", "rm -f .stillwell-built; ln -s \"$ROOTS\"/secret .stillwell-built"),
        ("a FIFO", "rm -f .stillwell-built; mkfifo .stillwell-built"),
        ("a directory", "rm -f .stillwell-built; mkdir .stillwell-built"),
    ] {
        let Some(bench) = bench() else { return };
        if bench.command("git").arg("--version").output().is_err() {
            return skipped("there is no git");
        }
        bench.write(".gitignore", "roots\nstate\ncache\n*.swell\nstdout\nstderr\nscript.txt\n");
        if trap == "a link of the commit" {
            symlink(bench.path("roots/secret"), bench.path(".stillwell-built")).unwrap();
        }
        // git refuses a repository in a directory of another user.
        chown(bench.path("."), Some(0), Some(0)).unwrap();
        commit(&bench, "one");
        bench.write("file", "two");
        commit(&bench, "two");
        chown(bench.path("."), Some(ANN), Some(ANN)).unwrap();
        let chowned = std::process::Command::new("chown")
            .args(["-R", "--no-dereference", &format!("{ANN}:{ANN}"), ".git"])
            .current_dir(bench.path("."))
            .status();
        assert!(chowned.unwrap().success());
        let build = build.replace("$ROOTS", bench.path("roots").to_str().unwrap());
        let words = [
            "run",
            "--revisions",
            "HEAD~1,HEAD",
            "--build",
            &build,
            "-r1",
            "-o",
            "r.swell",
            "true",
        ];
        let ran = under_sudo(&bench, &words);
        is_untouched(&bench, trap);
        ran.ends_with(2).says(&[".stillwell-built", "only a regular file is possible here"]);
    }
}

/// Nobody is root because the caller is not known.
#[test]
fn a_caller_who_is_not_known_runs_nothing() {
    let Some(bench) = bench() else { return };
    let cases: [&[(&str, &str)]; 8] = [
        &[("DOAS_USER", "ghost")],
        &[("PKEXEC_UID", "54321")],
        &[("PKEXEC_UID", "4294967295")],
        &[("SUDO_UID", "54321")],
        &[("SUDO_UID", "4294967295"), ("SUDO_GID", "1")],
        &[("SUDO_UID", "1"), ("SUDO_GID", "4294967295")],
        &[("SUDO_UID", "-1"), ("SUDO_GID", "1")],
        &[("SUDO_UID", "x"), ("SUDO_GID", "x")],
    ];
    for variables in cases {
        let call = |words: &[&str]| {
            let mut command = bench.command(STILLWELL);
            command.args(words).envs(variables.iter().copied());
            bench.spawn(command).finish()
        };
        for words in [
            &["run", "-r1", "-o", "r.swell", "touch ran"][..],
            &["run", "-r1", "-o", "r.swell", "--", "touch ran --as-root"],
            &["timeit", "--debug-single-value", "-o", "r.swell", "open('ran', 'w')"],
            &["load", "1", "--", "touch", "ran"],
            &["show", "r.swell"],
            &["run", "--no-such-option"],
        ] {
            let ran = call(words).ends_with(2).says(&["cannot find out who called sudo"]);
            assert!(!bench.path("ran").exists(), "{variables:?} {words:?} {ran:#?}");
            assert!(!bench.path("r.swell").exists(), "{variables:?} {words:?}");
        }
        call(&["run", "-r1", "-o", "r.swell", "--as-root", "touch ran"]).ends_with(0);
        assert_eq!(bench.path("ran").metadata().unwrap().uid(), 0);
        std::fs::remove_file(bench.path("ran")).unwrap();
        std::fs::remove_file(bench.path("r.swell")).unwrap();
    }
}

/// Every file that is left in the caller's directories is the caller's.
#[test]
fn no_file_of_root_stays_in_a_directory_of_the_caller() {
    let Some(bench) = bench() else { return };
    bench.write(
        "s.toml",
        "[[variant]]\nname = \"a\"\n[[benchmark]]\nname = \"b\"\ncommand = \"true\"\n",
    );
    chown(bench.path("s.toml"), Some(ANN), Some(ANN)).unwrap();
    for words in [
        &["run", "-r2", "--export-csv", "x.csv", "--output", "./out", "echo"][..],
        &["run", "-r2", "--as-root", "-o", "root.swell", "--output", "./out-of-root", "echo"],
        &["bench", "s.toml", "-r", "1"],
        &["campaign", "new", "c", "--", "true"],
        &["history", "add", "--revision", "a", "root.swell"],
        &["system", "show"],
        &["noise", "--for", "1ms"],
    ] {
        let ran = under_sudo(&bench, words);
        assert!(ran.code.is_some_and(|code| code != 2), "{words:?}: {ran:#?}");
    }
    let mut of_root = Vec::new();
    let mut directories = vec![bench.path(".")];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap().flatten() {
            let meta = entry.path().symlink_metadata().unwrap();
            if meta.is_dir() && entry.file_name() != "roots" {
                directories.push(entry.path());
            }
            if meta.uid() != ANN {
                of_root.push(entry.file_name().into_string().unwrap());
            }
        }
    }
    // Those of this test.
    of_root.retain(|name| !["roots", "stdout", "stderr"].contains(&name.as_str()));
    assert_eq!(of_root, [""; 0]);
}

/// Our own streams and /dev/null are written to under sudo too.
#[test]
fn streams_are_no_files() {
    let Some(bench) = bench() else { return };
    let run = |target: &str| {
        std::fs::remove_file(bench.path("r.swell")).ok();
        under_sudo(&bench, &["run", "-r2", "-o", "r.swell", "--export-csv", target, "true"])
    };
    for target in ["-", "/dev/stdout", "/dev/fd/1"] {
        let ran = run(target).ends_with(0);
        assert!(ran.stdout.contains("command,time_wall_clock_unit"), "{target}: {ran:#?}");
    }
    let ran = run("/dev/stderr").ends_with(0);
    assert!(ran.stderr.contains("command,time_wall_clock_unit"), "{ran:#?}");
    run("/dev/null").ends_with(0);
    run("roots/x.csv").ends_with(2).says(&["roots/x.csv", "user 54321, who called sudo"]);
    assert!(!bench.path("roots/x.csv").exists());
}

/// The kernel lets a process with root as its effective user write to /proc/sys, as whomever it opens files.
#[test]
fn settings_of_the_kernel_are_no_files() {
    let Some(bench) = bench() else { return };
    let setting = "/proc/sys/kernel/core_pattern";
    let before = std::fs::read_to_string(setting).unwrap();
    symlink("/proc/sys/kernel", bench.path("d")).unwrap();
    symlink(setting, bench.path("link")).unwrap();
    for target in ["d/core_pattern", "link"] {
        for option in ["--export-csv", "--output", "--report"] {
            let run = ["run", "-r2", option, target, "echo"];
            under_sudo(&bench, &run).ends_with(2);
            assert_eq!(std::fs::read_to_string(setting).unwrap(), before, "{option} {target}");
        }
    }
}

/// A link to a file of root is no way to read it.
#[test]
fn what_the_caller_may_not_read_is_not_read() {
    let Some(bench) = bench() else { return };
    symlink(bench.path("roots/secret"), bench.path("link.swell")).unwrap();
    symlink(bench.path("roots/secret"), bench.path("link.toml")).unwrap();
    for words in [
        &["show", "link.swell"][..],
        &["show", "roots/secret"],
        &["convert", "link.swell", "-o", "x.json"],
        &["bench", "link.toml"],
        &["why", "link.swell"],
        &["run", "-r1", "-o", "r.swell", "--input", "roots/secret", "cat"],
        &["run", "-r1", "-o", "r.swell", "--value-file", "roots/secret", "true"],
    ] {
        let ran = under_sudo(&bench, words);
        assert!(ran.code.is_some_and(|code| code != 0), "{words:?}: {ran:#?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains(SECRET), "{words:?}: {ran:#?}");
    }
}

/// The journal has the values that root writes back.
#[test]
fn files_of_the_journal_are_for_their_owner_alone() {
    let bench = Bench::new();
    bench.make_host(&[
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("proc/sys/kernel/random/boot_id", "a"),
    ]);
    bench.stillwell(&["system", "tune", "--host-root", "host", "--only", "ksm"]).ends_with(0);
    let mode = |path: &std::path::Path| path.symlink_metadata().unwrap().mode() & 0o7777;
    assert_eq!(mode(&bench.path("host/run/stillwell")), 0o700);
    let files: Vec<_> = bench.path("host/run/stillwell").read_dir().unwrap().flatten().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    files.iter().for_each(|file| assert_eq!(mode(&file.path()), 0o600, "{file:?}"));
}

/// The kernel forgets the signal of the parent's death when a process changes as whom it opens files.
#[test]
fn a_killed_session_leaves_no_run() {
    for rights in [&[][..], &["--as-root"]] {
        let Some(bench) = bench() else { return };
        let run = ["run", "-w0", "-r1", "-o", "r.swell", "echo $$ > pid; exec sleep 1000"];
        let session = start(&bench, &[&run[..], rights].concat());
        wait_until("the run begins", || bench.read("pid").ends_with('\n'));
        let stat = format!("/proc/{}/stat", bench.read("pid").trim());
        session.signal(Signal::KILL);
        wait_until("the run ends", || {
            let stat = std::fs::read_to_string(&stat);
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
}
