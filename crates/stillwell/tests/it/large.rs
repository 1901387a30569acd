//! Many commands, many rows, and readers that close their pipe.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::bench::{Bench, Ran, STILLWELL};

#[test]
fn ten_thousand_commands() {
    let bench = Bench::new();
    let lines: String =
        (0..10_000).map(|arm| format!("{}us {}us\n", 100 + arm, 101 + arm)).collect();
    bench.write("script", &lines);
    let commands: Vec<String> = (0..10_000).map(|arm| format!("./c{arm}")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let fixed = ["--script", "script", "-w", "0", "-r", "2", "--seed", "1"];
    let ran = bench.run(&[fixed.as_slice(), &commands].concat()).ends_with(0);
    assert_eq!(bench.record().rows.len(), 20_000);
    assert!(ran.stdout.contains("./c0"), "{}", ran.stdout);
}

#[test]
fn ten_thousand_commands_from_a_scan() {
    let bench = Bench::new();
    // These are real processes, so one block and no warm-up.
    let scan = ["-P", "n", "1", "300", "-w", "0", "-r", "1", "--metrics", "wall", "-N", "true {n}"];
    bench.run(&scan).ends_with(0);
    let record = bench.record();
    let arms: std::collections::HashSet<_> = record.rows.iter().map(|row| row.arm).collect();
    assert_eq!((record.rows.len(), arms.len()), (300, 300));
}

/// Writes a record with this many rows.
fn long_record(n_runs: &str) -> Bench {
    let bench = Bench::new();
    bench.write("script", "1ms 1.1ms 1.2ms\n");
    let arguments = ["--script", "script", "-w", "0", "-r", n_runs, "--style", "none", "prog"];
    bench.run(&arguments).ends_with(0);
    bench
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let bench = long_record("20000");
    let verbs: [&[&str]; 5] = [
        &["dump", "r.swell"],
        &["dump", "--format", "json", "r.swell"],
        &["show", "r.swell", "--export-json", "-"],
        &["show", "r.swell", "--export", "hyperfine-1", "-"],
        &["man"],
    ];
    for verb in verbs {
        let mut command = bench.command(STILLWELL);
        command.args(verb).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{verb:?}");
        assert_eq!(output.status.code(), Some(0), "{verb:?}");
    }
}

/// The writing end of a pipe that nobody reads.
fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

/// The runs still judge, and an error is still said.
#[test]
fn a_reader_that_stops_changes_no_exit_code() {
    let bench = Bench::new();
    bench.write("script", "1ms 1.1ms 1.2ms\n2ms 2.1ms 2.2ms\n");
    let session = ["run", "--script", "script", "-w", "0", "-r", "3", "--seed", "1", "a", "b"];
    let gate = [&session[..], &["--fail-on", "slower"]].concat();
    let cases: [(&[&str], i32); 5] = [
        (&gate, 3),
        (&[&gate[..], &["--json"]].concat(), 3),
        (&["race", "--script", "script", "-o", "race", "--budget", "1ms", "a", "b"], 3),
        (&["run", "-w", "0", "-r", "2", "exit 3"], 2),
        (&["--help"], 0),
    ];
    for (words, code) in cases {
        let output = bench.command(STILLWELL).args(words).stdout(closed_pipe()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
        assert_eq!(stderr.contains("exited with"), code == 2, "{words:?}: {stderr}");
    }
}

/// Only the reader of standard output may stop: an export to another pipe is one that cannot be written.
#[test]
fn an_export_to_a_closed_pipe_is_an_error() {
    let bench = Bench::new();
    let words = ["-w", "0", "-r", "2", "true", "--export-csv", "/dev/stdin"];
    let output = bench.run_command(&words).stdin(closed_pipe()).output().unwrap();
    let ran = Ran::from(output).ends_with(2);
    ran.says(&["/dev/stdin: cannot write", "Broken pipe"]);
}

#[test]
fn standard_output_that_is_full_is_an_error() {
    let bench = long_record("2000");
    for verb in [["dump", "r.swell"], ["show", "r.swell"], ["stats", "r.swell"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bench.command(STILLWELL).args(verb).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {stderr}");
        assert!(stderr.contains("No space left"), "{verb:?}: {stderr}");
    }
}
