//! What a terminal of 80 columns shows: no prose is wider, and what is to be copied is whole.

use model::wrapping::width;

use crate::bench::{Bench, Ran, STILLWELL};

/// A record of each kind, by its beginning in `samples/records`.
const RECORDS: [&str; 6] = [
    "2026-11-21-run",
    "2026-11-22-imported",
    "2026-11-23-09-run",
    "2026-11-24-14-revisions",
    "2026-11-24-14-timeit",
    "2026-11-24-14-value",
];

/// Runs the program on a terminal of 80 columns; its standard output has both streams.
fn on_80_columns(bench: &Bench, arguments: &[&str]) -> Ran {
    let python = "import os, pty, sys\n\
                  shell = ['sh', '-c', 'stty cols 80 rows 40; exec \"$@\"', 'sh']\n\
                  sys.exit(os.waitstatus_to_exitcode(pty.spawn(shell + sys.argv[1:])))";
    let mut command = bench.command("python3");
    command.args(["-c", python, STILLWELL]).args(arguments).env("TERM", "xterm");
    let mut ran = Ran::from(command.output().unwrap());
    ran.stdout = anstream::adapter::strip_str(&ran.stdout).to_string().replace("\r\n", "\n");
    ran
}

/// The lines that are too wide: those with something to copy, a path or a command, are not counted.
fn too_wide(ran: &Ran) -> Vec<&str> {
    // A progress bar goes back to the start of its line.
    let lines = ran.stdout.lines().map(|line| line.rsplit('\r').next().unwrap_or(line));
    let is_copied = |line: &str| {
        let mut words = line.split_whitespace();
        words.next_back().is_some_and(|last| last.contains('/') && words.count() < 2)
    };
    lines.filter(|line| width(line) > 80 && !is_copied(line) && !line.starts_with("  ")).collect()
}

#[test]
fn no_prose_is_wider_than_a_terminal() {
    let bench = Bench::new();
    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/records");
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut add = |line: &str| words.push(line.split(' ').map(String::from).collect());
    for name in RECORDS {
        std::fs::copy(records.join(format!("{name}.swell")), bench.path(&format!("{name}.swell")))
            .unwrap();
        for verb in [
            "show",
            "show -v",
            "show --fail-on slower:1%",
            "show --metadata",
            "stats",
            "check --all",
            "compare",
            "noise",
            "hist",
        ] {
            add(&format!("{verb} {name}.swell"));
        }
    }
    add("compare 2026-11-24-14-timeit.swell 2026-11-23-09-run.swell");
    for verb in [
        "run",
        "timeit",
        "bench",
        "gate",
        "race",
        "bisect",
        "why",
        "campaign new",
        "show",
        "history changes",
    ] {
        add(&format!("{verb} -h"));
        add(&format!("{verb} --help"));
    }
    // Errors.
    add("show a-file-that-is-not-there-and-has-a-name-that-leaves-no-room-for-the-reason.swell");
    add("run --decide-on nothing-that-there-is true");
    add("run --metrics nothing-that-there-is true");
    add("run --fail-on slower:nothing true true");
    add("run -r 2 -w 0 --budget 1s false");
    add("run -r 2 -w 0 --fail-on slower:2% --same 1 -o r.swell true /bin/true");
    add("bisect HEAD~2 HEAD -- true");
    add("gate --old . --new .");
    add("history changes --db none");
    add("show --list");
    let mut wide = Vec::new();
    for words in words {
        let ran = on_80_columns(&bench, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!ran.stdout.is_empty(), "{words:?}");
        wide.extend(too_wide(&ran).into_iter().map(|line| format!("{}: {line}", words.join(" "))));
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

/// A file or a pipe gets each message as one line, for grep.
#[test]
fn elsewhere_a_message_is_one_line() {
    let bench = Bench::new();
    let ran = bench.stillwell(&["run", "--decide-on", "nothing", "true"]).ends_with(2);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
    let gate =
        bench.stillwell(&["run", "-r", "2", "-w", "0", "--fail-on", "slower", "true", "/bin/true"]);
    assert!(
        gate.stdout.lines().any(|line| line.starts_with("gate: ") && line.contains("exit code 3")),
        "{gate:#?}"
    );
}

#[test]
fn a_list_of_records_fits_and_its_paths_are_whole() {
    let bench = Bench::new();
    let none = on_80_columns(&bench, &["show", "--list"]).ends_with(0);
    assert!(none.stdout.contains("`stillwell run COMMAND` makes one"), "{none:#?}");
    for n in 0..23 {
        let long = format!("echo {} {n}", "word ".repeat(20));
        bench.stillwell(&["run", "-r", "1", "-w", "0", &long]).ends_with(0);
    }
    let state = bench.path("state/stillwell");
    std::fs::write(state.join("broken.swell"), "").unwrap();
    let ran = on_80_columns(&bench, &["show", "--list"]).ends_with(0);
    let paths = ran.stdout.lines().filter(|line| line.trim().starts_with(state.to_str().unwrap()));
    assert_eq!(paths.filter(|line| !line.contains('…')).count(), 21, "{ran:#?}");
    assert!(
        ran.stdout.contains("3 older ones;") && ran.stdout.contains("1 record cannot be read:"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("broken.swell: the file is empty"), "{ran:#?}");
    assert!(too_wide(&ran).is_empty(), "{ran:#?}");
    let some = on_80_columns(&bench, &["show", "--list", "nothing of the kind"]).ends_with(0);
    assert!(some.stdout.contains("is of such a command"), "{some:#?}");
    // In a pipe each record is a line.
    let piped = bench.stillwell(&["show", "--list"]).ends_with(0).stdout;
    assert_eq!(
        piped.lines().filter(|line| line.contains("echo word") && line.ends_with(".swell")).count(),
        20
    );
}
