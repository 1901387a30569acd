//! Places that lack what others have: a narrow terminal, no /proc, a directory that only root may enter.

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};
use crate::processes::Session;

/// Runs the program on a terminal of so many columns.
fn on_columns(bench: &Bench, columns: &str, arguments: &[&str]) -> Ran {
    let python =
        "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = bench.command("python3");
    let resize = "stty cols $0 && exec \"$@\"";
    command.args(["-c", python, "sh", "-c", resize, columns, STILLWELL]).args(arguments);
    Ran::from(command.env("TERM", "dumb").env("NO_COLOR", "1").output().unwrap())
}

/// Words with a letter: neither bars nor parts of a picture.
fn words(text: &str) -> Vec<String> {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
    words.map(String::from).collect()
}

#[test]
fn a_directory_that_cannot_be_made_or_used_is_named_with_its_remedy() {
    let bench = Bench::new();
    let mut command = bench.command(STILLWELL);
    command.args(["run", "--value", "score: ([0-9]+)", "-r", "1", "echo score: 5"]);
    let ran = Ran::from(command.env("TMPDIR", "/nonexistent").output().unwrap()).ends_with(2);
    ran.says(&["in /nonexistent; TMPDIR can name another directory: No such file"]);
    let mut command = bench.command(STILLWELL);
    command.args(["history", "add", "r.swell"]).env("XDG_STATE_HOME", "/dev/null/x");
    let ran = Ran::from(command.output().unwrap()).ends_with(2);
    ran.says(&["cannot make /dev/null/x/stillwell; XDG_STATE_HOME can name another directory"]);
}

#[test]
fn a_narrow_terminal_has_every_word() {
    let bench = Bench::new();
    bench.write("script", "1ms 1.1ms 1.2ms\n2ms 2.1ms 2.3ms\n3ms\n");
    let commands = ["./a -x", "./a --y", "./c"];
    let script = ["--script", "script", "-w", "0", "-r", "40", "--seed", "1"];
    bench.run(&[script.as_slice(), &commands].concat()).ends_with(0);
    for verb in
        [["show", "r.swell"], ["stats", "r.swell"], ["noise", "r.swell"], ["check", "r.swell"]]
    {
        let wide = bench.stillwell(&verb);
        for columns in ["20", "33", "1"] {
            let narrow = on_columns(&bench, columns, &verb);
            assert_eq!(narrow.code, wide.code, "{narrow:#?}");
            assert_eq!(words(&narrow.stdout), words(&wide.stdout), "{verb:?} in {columns} columns");
        }
    }
    let shown = on_columns(&bench, "30", &["noise", "r.swell"]).stdout;
    // Neither tables nor names are broken.
    let text = shown.lines().filter(|line| line.split_whitespace().count() > 4);
    let text: Vec<_> = text.filter(|line| !line.trim().contains("  ")).collect();
    assert!(text.len() > 3 && text.iter().all(|line| line.chars().count() <= 30), "{shown}");
}

/// Runs the program where /proc is an empty directory; `None` if that cannot be made here.
fn without_proc(bench: &Bench, arguments: &[&str]) -> Option<Ran> {
    without("/proc", bench, arguments)
}

fn without(directory: &str, bench: &Bench, arguments: &[&str]) -> Option<Ran> {
    // A wrong program may not change the machine either.
    let empty = "set -e; mount -t tmpfs none $0; mount -t tmpfs none /run; mount --bind /sys /sys; \
                 mount -o remount,bind,ro /sys; exec \"$@\"";
    let mut command = bench.command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", empty, directory, STILLWELL]);
    let is_made = is_root()
        && bench.command("unshare").args(["--mount", "true"]).status().is_ok_and(|it| it.success());
    if !is_made {
        skipped("needs root and mount namespaces, to hide a directory");
        return None;
    }
    Some(Ran::from(command.args(arguments).output().unwrap()))
}

#[test]
fn without_proc_what_is_left_behind_is_said_to_go_on() {
    let bench = Bench::new();
    let session = Session::new(&bench);
    let mark = session.environment();
    let run = ["run", "-o", "r.swell", "-w", "0", "-r", "1", "--env", &mark, "sleep 1000 & true"];
    let Some(ran) = without_proc(&bench, &run) else { return };
    ran.ends_with(0).says(&["goes on: without /proc, Stillwell can neither count nor end it"]);
}

#[test]
fn it_measures_without_proc() {
    let bench = Bench::new();
    let run = ["run", "-o", "r.swell", "-r", "5", "--metrics", "all", "true", "/bin/true"];
    let Some(ran) = without_proc(&bench, &run) else { return };
    ran.ends_with(0);
    assert!(bench.record().rows.len() >= 10);
    for verb in [["show", "r.swell"], ["stats", "r.swell"], ["noise", "r.swell"]] {
        without_proc(&bench, &verb).unwrap().ends_with(0);
    }
    let timeit = ["timeit", "--python", "python3", "-r", "2", "--values", "2", "pass"];
    without_proc(&bench, &timeit).unwrap().ends_with(0);
    without_proc(&bench, &["load", "1", "--", "true"]).unwrap().ends_with(0);
    let tuned = without_proc(&bench, &["system", "tune"]).unwrap().ends_with(2);
    let message =
        "stillwell: cannot change this machine without /proc; mount it: mount -t proc proc /proc\n";
    assert_eq!(tuned.stderr, message);
}

#[test]
fn without_dev_the_missing_file_is_named() {
    let bench = Bench::new();
    for words in [
        &["run", "-r", "3", "-o", "r.swell", "true"][..],
        &["run", "-r", "3", "-o", "r.swell", "--tune=ksm", "true"],
        &["timeit", "-o", "t.swell", "pass"],
    ] {
        let Some(ran) = without("/dev", &bench, words) else { return };
        let ran = ran.ends_with(2).says(&["/dev/null", "No such file or directory"]);
        assert!(!ran.stderr.contains("limits"), "{ran:#?}");
    }
}

/// The limit counts the stacks of the analysis's threads, which rayon makes after the runs.
#[test]
fn little_address_space_is_enough_for_one_thread() {
    const STEP_KIB: usize = 512;
    let bench = Bench::new();
    let limited = |kib: usize, words: &[&str]| {
        let mut command = bench.command("sh");
        command.args(["-c", "ulimit -v \"$0\"; exec \"$@\"", &kib.to_string(), STILLWELL]);
        Ran::from(command.args(words).output().unwrap())
    };
    let mut limits = (0..1 << 20).step_by(STEP_KIB);
    let least = limits.find(|&kib| limited(kib, &["--version"]).code == Some(0)).unwrap();
    let mut n_whole = 0;
    for kib in (0..24).map(|n| least + n * STEP_KIB) {
        std::fs::remove_file(bench.path("r.swell")).ok();
        let ran = limited(kib, &["run", "-r", "10", "-o", "r.swell", "true", "echo 1"]);
        assert!(!ran.stderr.contains("rayon"), "{kib} KiB: {ran:#?}");
        n_whole += usize::from(ran.code == Some(0));
    }
    assert!(n_whole > 12, "{n_whole}");
}

/// At each limit another file is the one too many.
#[test]
fn a_session_that_cannot_open_its_files_leaves_no_record_without_runs() {
    for limit in 10..24 {
        let bench = Bench::new();
        let mut command = bench.command("sh");
        command.args(["-c", "ulimit -n \"$0\"; exec \"$@\"", &limit.to_string(), STILLWELL]);
        command.args(["run", "-o", "r.swell", "-r", "2", "true"]);
        let ran = Ran::from(command.output().unwrap());
        if ran.code == Some(2) {
            assert!(!bench.path("r.swell").exists(), "{limit}: {ran:#?}");
            assert!(ran.stderr.contains("ulimit"), "{limit}: {ran:#?}");
        } else {
            ran.ends_with(0);
        }
    }
}
