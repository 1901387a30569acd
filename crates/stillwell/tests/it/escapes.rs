//! Text of files and other programs on a terminal: it must not obey anything in it.

use crate::bench::{Bench, Ran, STILLWELL};

/// Clears the screen, sets the title, turns red, goes back to the start of the line, reverses the text.
const EVIL: &str = "a\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}[31m\r\u{9b}2J\u{202e}b";
/// The same in JSON.
const EVIL_JSON: &str = "a\\u001b[2J\\u001b]0;t\\u0007\\u001b[31m\\r\\u009b2J\\u202eb";
/// How [`EVIL`] is shown.
const SHOWN: &str = "a\\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}[31m\\r\\u{9b}2J\\u{202e}b";

/// Runs the program on a terminal; its standard output has both streams.
pub fn on_terminal(bench: &Bench, arguments: &[&str]) -> Ran {
    let python =
        "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = bench.command("python3");
    command.args(["-c", python, STILLWELL]).args(arguments).env("TERM", "xterm");
    Ran::from(command.output().unwrap())
}

/// Asserts that a terminal obeys nothing in a text but our own colours.
#[track_caller]
fn is_harmless(ran: &Ran) {
    let text = ran.stdout.replace("\r\n", "\n");
    let ours = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m"];
    let plain = ours.iter().fold(text, |text, it| text.replace(it, ""));
    let obeyed = |it: char| (it.is_control() && it != '\n') || it == '\u{202e}';
    assert!(!plain.contains(obeyed), "{plain:?}");
}

/// A file of pyperf with such texts in its name, its metadata and its dates.
fn pyperf() -> String {
    let metadata = format!(
        r#"{{"name": "{EVIL_JSON}", "unit": "second", "date": "{EVIL_JSON}", "note": "{EVIL_JSON}"}}"#
    );
    let run = format!(r#"{{"values": [1.0, 1.1], "metadata": {metadata}}}"#);
    format!(
        r#"{{"version": "1.0", "metadata": {metadata}, "benchmarks": [{{"metadata": {metadata}, "runs": [{run}, {run}]}}]}}"#
    )
}

#[test]
fn files_reach_the_terminal_as_text() {
    let bench = Bench::new();
    bench.write("e.json", &pyperf());
    let name = format!("{EVIL}.json");
    bench.write(&name, &pyperf());
    let verbs: [&[&str]; 7] = [
        &["metadata", "e.json"],
        &["stats", "e.json"],
        &["show", "e.json"],
        &["dump", "--format", "text", "e.json"],
        &["dump", "e.json"],
        &["dump", "--format", "text", "e.json", &name],
        &["convert", "e.json", "--to", "csv", "-o", "-"],
    ];
    for arguments in verbs {
        let ran = on_terminal(&bench, arguments).ends_with(0);
        is_harmless(&ran);
        assert!(ran.stdout.len() > 10, "{arguments:?}");
    }
    let shown = on_terminal(&bench, &["metadata", "e.json"]).stdout;
    assert!(shown.contains(SHOWN), "{shown:?}");
    // A file or a pipe gets the bytes, but not a spreadsheet.
    let to = |format| bench.stillwell(&["convert", "e.json", "--to", format, "-o", "-"]);
    let csv = to("csv").ends_with(0).stdout;
    assert!(csv.contains(&format!("'{SHOWN}").replace("\\r", "\\u{d}")), "{csv:?}");
}

/// A terminal that an option names by its path is one too.
#[test]
fn exports_reach_a_terminal_as_text() {
    let bench = Bench::new();
    bench.run(&["-r", "2", "-n", EVIL, "true"]).ends_with(0);
    for format in ["csv", "markdown", "json", "hyperfine"] {
        for terminal in ["/dev/stdout", "/dev/stderr", "/dev/tty"] {
            let show = ["show", "r.swell", "--export", format, terminal];
            let ran = on_terminal(&bench, &show).ends_with(0);
            is_harmless(&ran);
            assert!(ran.stdout.contains("2J"), "{show:?}: {ran:#?}");
        }
    }
}

/// Our own CSV gives back the names of the commands.
#[test]
fn a_cell_of_csv_is_no_formula() {
    let bench = Bench::new();
    let names = ["=cmd|' /C calc'!A0", "-x", "'quoted", EVIL];
    let named = names.map(|name| format!("-n={name}"));
    let mut words = vec!["-r", "2", "--export-csv", "x.csv"];
    words.extend(named.iter().map(String::as_str));
    bench.run(&[&words[..], &["true"; 4]].concat()).ends_with(0);
    let csv = bench.read("x.csv");
    for line in csv.lines().skip(1) {
        let cell = line.trim_start_matches('"');
        assert!(cell.starts_with('\''), "{csv}");
    }
    assert!(!csv.contains(|it: char| it.is_control() && it != '\n'), "{csv:?}");
    let shown = bench.stillwell(&["show", "x.csv"]).ends_with(0).stdout;
    for name in [names[0], names[1], names[2], SHOWN] {
        assert!(shown.lines().any(|line| line == name), "{name:?}: {shown}");
    }
}

#[test]
fn errors_reach_the_terminal_as_text() {
    let bench = Bench::new();
    for arguments in [["show", EVIL], ["show", "--no\u{1b}[2Jsuch"], ["\u{1b}]0;t\u{7}", EVIL]] {
        is_harmless(&on_terminal(&bench, &arguments).ends_with(2));
    }
    let command = "printf 'a\\033[2J\\033]0;t\\007\\033[31mb\\n' >&2; exit 1";
    let failed = on_terminal(&bench, &["run", "-r", "1", "-o", "r.swell", command]).ends_with(2);
    let said = failed.stdout.split("  | ").nth(1).unwrap();
    assert!(said.starts_with("a\\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}[31mb"), "{failed:#?}");
    bench.script("worker", "#!/bin/sh\nprintf 'no\\033[2J\\033]0;t\\007\\n' >&2; exit 3\n");
    let failed = on_terminal(&bench, &["bench", "./worker"]).ends_with(2);
    assert!(failed.stdout.contains("no\\u{1b}[2J\\u{1b}]0;t\\u{7}"), "{failed:#?}");
}

#[test]
fn the_progress_is_one_line_on_a_narrow_terminal() {
    let bench = Bench::new();
    let python = "import pty, sys; pty.spawn(sys.argv[1:])";
    let mut command = bench.command("python3");
    command.args(["-c", python, "sh", "-c", "stty cols 20; exec \"$@\"", "sh", STILLWELL, "run"]);
    command.args(["-o", "r.swell", "-r", "20", "true", "sleep 0.02"]).env("TERM", "xterm");
    let shown = Ran::from(command.output().unwrap()).ends_with(0).stdout;
    let progress = shown.split("command  ").next().unwrap();
    assert!(progress.contains("block ") && progress.contains("\u{1b}[2K"), "{progress:?}");
    // Going up means that the line before did not fit.
    let goes_up = progress
        .split("\u{1b}[")
        .any(|part| part.trim_start_matches(|it: char| it.is_ascii_digit()).starts_with('A'));
    assert!(!goes_up, "{progress:?}");
}
