//! Runs that fail: the message, the rows that are kept, and the rest of the session.

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL};

/// Succeeds until the fourth timed run.
const FAILS_LATE: &str =
    "test $STILLWELL_ITERATION != 3 || { for i in 1 2 3; do echo line $i >&2; done; exit 5; }";

/// What failed, where and why is in each message.
#[test]
fn errors_name_what_is_wrong() {
    let bench = Bench::new();
    bench.write("file", "");
    bench.stillwell(&["run", "-r", "2", "-w", "0", "-o", "r.swell", "true"]).ends_with(0);
    for (line, said) in [
        ("why none.swell", "there is no record none.swell; `stillwell show --list` lists"),
        ("race true /bin/true -o file", "file is no directory; the records of a race are in one"),
        ("noise --cpus 999", "--cpus: CPU 999 is not one of those that are present"),
        ("run --output /no/directory true", "cannot open /no/directory for the output"),
        ("timeit  ", "a statement is empty"),
    ] {
        let words: Vec<&str> = line.split(' ').filter(|word| *word != " ").collect();
        bench.stillwell(&words).ends_with(2).says(&[said]);
    }
    for line in
        ["dump r.swell", "show --json r.swell", "convert r.swell -o -", "stats --json r.swell"]
    {
        let mut command = bench.command(STILLWELL);
        command.args(line.split(' ')).stdout(std::fs::File::create("/dev/full").unwrap());
        let ran = Ran::from(command.output().unwrap()).ends_with(2);
        ran.says(&["cannot write to standard output: No space left on device"]);
    }
}

#[test]
fn a_failing_run_is_explained_and_the_earlier_rows_are_kept() {
    let bench = Bench::new();
    let ran = bench.run(&["-w", "1", "-r", "9", FAILS_LATE]).ends_with(2);
    ran.says(&["command 1", "exited with 5", "line 1", "line 2", "line 3", "r.swell", "-i"]);
    let record = bench.record();
    assert_eq!(record.end(), Some("failed"));
    let exits: Vec<_> = record.timed().filter(|row| row.arm == 0).map(|row| row.exit).collect();
    assert_eq!(exits, [0, 0, 0, 5]);
    let failure = record.events.iter().find(|event| event["event"] == "failure").unwrap();
    assert_eq!(failure["stderr"], "line 1\nline 2\nline 3\n");
    let failed = record.rows.iter().find(|row| row.exit == 5).unwrap();
    assert_eq!(failure["step"], failed.step);
}

#[test]
fn a_failure_in_the_warm_up_is_noticed_before_anything_is_timed() {
    let bench = Bench::new();
    bench.run(&["-w", "1", "-r", "5", "true", "exit 3"]).ends_with(2).says(&["exited with 3"]);
    assert_eq!(bench.record().timed().count(), 0);
}

#[test]
fn only_the_end_of_a_long_complaint_is_shown() {
    let bench = Bench::new();
    let ran = bench.run(&["-r", "1", "seq 100000 >&2; exit 1"]).ends_with(2).says(&["100000"]);
    assert!(!ran.stderr.contains("| 99000\n"), "{}", ran.stderr);
    assert!(ran.stderr.lines().count() < 20, "{}", ran.stderr);
}

/// Checks the exit code of a session and the exits in its rows.
#[track_caller]
fn check(options: &[&str], command: &str, code: i32, expected_exit: i64) {
    let bench = Bench::new();
    bench.run(&[&["-w", "0", "-r", "2"], options, &[command]].concat()).ends_with(code);
    let record = bench.record();
    let exits: Vec<_> = record.rows.iter().filter(|row| row.arm == 0).map(|row| row.exit).collect();
    let expected = vec![expected_exit; if code == 0 { 2 } else { 1 }];
    assert_eq!(exits, expected, "{options:?} {command:?}");
}

#[test]
fn failures_can_be_ignored_or_expected() {
    check(&[], "exit 3", 2, 3);
    check(&["-i"], "exit 3", 0, 3);
    check(&["-i=3"], "exit 3", 0, 3);
    check(&["-i=3,4"], "exit 0", 0, 0);
    check(&["-i=4"], "exit 3", 2, 3);
    check(&["--expect-exit", "3"], "exit 3", 0, 3);
    check(&["--expect-exit", "3"], "exit 0", 2, 0);
    check(&["--expect-exit", "0,3"], "exit 0", 0, 0);
}

#[test]
fn a_signal_is_a_failure_with_a_name() {
    check(&["-i"], "kill -USR1 $$", 0, -10);
    check(&["--expect-exit", "138"], "kill -USR1 $$", 0, -10);
    let bench = Bench::new();
    let ran = bench.run(&["-r", "1", "kill -SEGV $$"]).ends_with(2);
    ran.says(&["signal 11", "SIGSEGV"]);
}

#[test]
fn a_program_whose_interpreter_is_missing_or_that_is_not_in_path() {
    let bench = Bench::new();
    bench.script("script", "#!/no/such/interpreter -x\n");
    bench.script("crlf", "#!/bin/sh\r\ntrue\r\n");
    bench.script("here", "#!/bin/sh\ntrue\n");
    let elf = std::fs::read("/bin/true").unwrap();
    let place = elf.windows(5).position(|bytes| bytes == b"/lib6").unwrap();
    let loader = [&elf[..place], b"/liX6", &elf[place + 5..]].concat();
    std::fs::write(bench.path("elf.txt"), loader).unwrap();
    bench.install(&bench.path("elf.txt"), "elf");
    let check = |program: &str, message: &str| {
        let ran = bench.run(&["-N", "-r", "1", program]).ends_with(2);
        assert!(ran.stderr.contains(message) && !ran.stderr.contains("os error"), "{ran:#?}");
        assert_eq!(ran.stderr.trim_end().lines().count(), 1, "{ran:#?}");
    };
    check("./script", "its interpreter /no/such/interpreter does not exist");
    check("./crlf", "lines end with CRLF, so the kernel looks for \"/bin/sh\\r\"");
    check("./crlf", "sed -i 's/\\r$//' ./crlf");
    check("./elf", "its loader /liX64/");
    check("here", "no such program in PATH; it is in this directory: write ./here");
    check("./nowhere", "there is no such file");
}

#[test]
fn a_program_that_is_not_there() {
    let bench = Bench::new();
    bench
        .run(&["-N", "-r", "1", "stillwell-no-such-program"])
        .ends_with(2)
        .says(&["stillwell-no-such-program", "no such program in PATH"]);
}

#[test]
fn a_program_that_cannot_be_executed() {
    let bench = Bench::new();
    bench.write("data", "text\n");
    bench.run(&["-N", "-r", "1", "./data"]).ends_with(2).says(&["./data", "not executable"]);
    std::fs::remove_file(bench.path("r.swell")).ok();
    bench.run(&["-N", "-r", "1", "/tmp"]).ends_with(2).says(&["/tmp", "directory"]);
    std::fs::remove_file(bench.path("r.swell")).ok();
    bench.script("bare", "echo x > written\n");
    bench.run(&["-N", "-r", "1", "./bare"]).ends_with(2).says(&["./bare", "#!"]);
    std::fs::remove_file(bench.path("r.swell")).ok();
    bench.script("lost", "#!/no/such/interpreter\n");
    bench.run(&["-N", "-r", "1", "./lost"]).ends_with(2).says(&["./lost", "interpreter"]);
    std::fs::remove_file(bench.path("r.swell")).ok();
    // A shell executes the file, as it does at the prompt.
    bench.run(&["-S", "default", "-w", "0", "-r", "1", "./bare"]).ends_with(0);
    assert_eq!(bench.read("written"), "x\n");
}

#[test]
fn a_command_line_that_is_too_long() {
    let bench = Bench::new();
    // One argument may have 128 KiB (execve(2), MAX_ARG_STRLEN).
    bench.write("long", &"y".repeat(200_000));
    bench
        .run(&["-N", "-r", "1", "-L", "x", "@long", "true {x}"])
        .ends_with(2)
        .says(&["true", "too long", "shorten"]);
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let bench = Bench::new();
    bench.write("r.swell", "mine\n");
    let ran = bench.run(&["-r", "1", "true"]).ends_with(2).says(&["r.swell", "exists"]);
    assert_eq!(bench.read("r.swell"), "mine\n");
    assert!(!ran.stderr.contains("had finished"), "nothing was run: {}", ran.stderr);
}

#[test]
fn a_header_that_is_cut_off_is_called_so() {
    let bench = Bench::new();
    bench.run(&["-w", "0", "-r", "1", "true"]).ends_with(0);
    let header = bench.read("r.swell").lines().next().unwrap().to_owned();
    bench.write("torn.swell", &header[..header.len() / 2]);
    bench.stillwell(&["show", "torn.swell"]).ends_with(2).says(&["torn.swell", "cut off"]);
}

/// Plays these times of one command. Checks how many count, the smallest of them in ms, and how many failed.
#[track_caller]
fn check_times(options: &[&str], times: &str, code: i32, expected: (u64, Option<f64>, u64)) {
    let bench = Bench::new();
    bench.write("script", times);
    let arguments = [&["--script", "script", "-w", "0", "-r", "5", "--json"], options, &["x"]];
    let live = bench.run(&arguments.concat()).ends_with(code).stdout;
    let again = bench.stillwell(&["show", "r.swell", "--json"]).ends_with(0).stdout;
    for said in [live, again] {
        let said: Value = serde_json::from_str(&said).unwrap();
        let arm = &said["analysis"]["arms"][0];
        let min_ms = arm["wall"]["min"].as_f64().map(|ns| ns / 1e6);
        let found = (arm["n_runs"].as_u64().unwrap(), min_ms, arm["n_failed"].as_u64().unwrap());
        assert_eq!(found, expected, "{options:?} {times:?}: {arm:#}");
    }
}

/// The time of a failed run is no time of the program, neither on the screen nor in the file.
#[test]
fn a_run_that_failed_is_no_time() {
    check_times(&[], "10ms 11ms 12ms 1ms!5", 2, (3, Some(10.0), 1));
    check_times(&[], "1ms!5", 2, (0, None, 1));
    check_times(&["--expect-exit", "5"], "9ms!5 8ms!5 1ms", 2, (2, Some(8.0), 1));
    check_times(&["--expect-exit", "137"], "9ms!-9 8ms!-9 1ms!-6", 2, (2, Some(8.0), 1));
    check_times(&["-i"], "10ms 11ms 12ms 1ms!5", 0, (5, Some(1.0), 0));
    check_times(&["-i=5"], "10ms 11ms 12ms 1ms!5", 0, (5, Some(1.0), 0));
}

/// The row of a failed run stays in the record, but no list of times has it.
#[test]
fn a_run_that_failed_is_in_the_record_and_in_no_list_of_times() {
    let bench = Bench::new();
    bench.write("script", "10ms 11ms 12ms 7ms!5");
    let exports =
        ["--export-json", "h.json", "--export", "times", "times", "--export-csv", "c.csv"];
    let run = ["--script", "script", "-w", "0", "-r", "5"];
    let ran = bench.run(&[&run[..], &exports, &["x"]].concat()).ends_with(2);
    ran.says(&["exited with 5", "r.swell"]);
    assert_eq!(bench.record().rows.last().unwrap().exit, 5);
    assert_eq!(bench.stillwell(&["dump", "r.swell"]).ends_with(0).stdout.lines().count(), 5);
    let exported: Value = serde_json::from_str(&bench.read("h.json")).unwrap();
    let measurements = exported["results"][0]["measurements"].as_array().unwrap();
    assert!(measurements.len() == 3 && measurements[2]["exit_code"] == 0, "{exported:#}");
    assert_eq!(bench.read("times").lines().count(), 3);
    assert!(!bench.read("c.csv").contains("0.007"), "{}", bench.read("c.csv"));
    bench.stillwell(&["convert", "r.swell", "--to", "pyperf", "-o", "p.json"]).ends_with(0);
    let pyperf = bench.read("p.json");
    assert!(pyperf.contains("0.012") && !pyperf.contains("0.007"), "{pyperf}");
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    for part in
        ["1 of 4 runs of x failed and did not count", "FAILED: x exited with 5 in its run 4"]
    {
        assert!(shown.contains(part), "{shown}");
    }
    bench.stillwell(&["report", "r.swell", "-o", "page.html"]).ends_with(0);
    assert!(bench.read("page.html").contains("failed"));
}

/// No run is left, and no verb breaks.
#[test]
fn a_record_of_which_no_run_is_left_can_be_read_by_everything() {
    let bench = Bench::new();
    bench.write("script", "1ms!5\n2ms!6\n");
    let exports = ["--export-json", "h.json", "--seed", "1"];
    let run = ["--script", "script", "-w", "0", "-r", "5"];
    bench.run(&[&run[..], &exports, &["x", "y"]].concat()).ends_with(2).says(&["exited with"]);
    assert!(!bench.path("h.json").exists());
    bench.stillwell(&["show", "r.swell"]).ends_with(0);
    bench.stillwell(&["stats", "r.swell"]).ends_with(0);
    for verb in ["hist", "noise"] {
        bench.stillwell(&[verb, "r.swell"]).ends_with(2).says(&["r.swell has no finished run"]);
    }
    let verbs = ["check", "dump", "metadata", "slowest", "plot", "compare", "report -o page.html"];
    let formats =
        ["hyperfine", "pyperf", "csv", "json"].map(|to| format!("convert -o out.{to} --to {to}"));
    for words in verbs.into_iter().chain(formats.iter().map(String::as_str)) {
        let words: Vec<&str> = words.split(' ').chain(["r.swell"]).collect();
        let ran = bench.stillwell(&words);
        let is_fine = matches!(ran.code, Some(0..=3)) && !ran.stderr.contains("Usage");
        assert!(is_fine && !ran.stderr.contains("panicked"), "{words:?}: {ran:#?}");
    }
}
