//! Standard streams of the runs.

use std::time::{Duration, Instant};

use crate::bench::{Bench, Ran, STILLWELL};

#[test]
fn input_is_read_anew_by_each_run() {
    let bench = Bench::new();
    bench.write("in.txt", "first\nsecond\n");
    let arguments = ["-w", "1", "-r", "2", "--input", "in.txt", "head -n 1 >> log"];
    bench.run(&arguments).ends_with(0);
    assert_eq!(bench.read("log"), "first\n".repeat(3));
}

#[test]
fn an_input_that_is_not_there_is_named() {
    let bench = Bench::new();
    let ran = bench.run(&["-r", "1", "--input", "no-such-input", "cat"]);
    ran.ends_with(2).says(&["no-such-input", "No such file", "--input"]);
}

/// Opening a fifo would wait for another process forever.
#[test]
fn a_fifo_is_refused() {
    let bench = Bench::new();
    assert!(
        std::process::Command::new("mkfifo").arg(bench.path("fifo")).status().unwrap().success()
    );
    bench.run(&["-r", "1", "--input", "fifo", "cat"]).ends_with(2).says(&["fifo", "FIFO"]);
    bench.run(&["-r", "1", "--output", "./fifo", "true"]).ends_with(2).says(&["./fifo", "FIFO"]);
}

#[test]
fn without_input_there_is_an_end_of_file() {
    let bench = Bench::new();
    bench.run(&["-w", "0", "-r", "1", "wc -c > size"]).ends_with(0);
    assert_eq!(bench.read("size").trim(), "0");
}

#[test]
fn output_goes_where_it_is_sent() {
    let bench = Bench::new();
    let commands = ["-N", "echo to-file", "echo to-pipe"];
    let arguments = ["-w", "0", "-r", "2", "--output", "./out.txt", "--output", "pipe"];
    let ran = bench.run(&[arguments.as_slice(), &["--style", "none"], &commands].concat());
    assert_eq!(ran.ends_with(0).stdout, "");
    assert_eq!(bench.read("out.txt"), "to-file\n");

    let bench = Bench::new();
    let loud = "echo to-terminal; echo complaint >&2";
    let arguments = ["-w", "0", "-r", "3", "--style", "none"];
    for inherit in [["--output", "inherit"].as_slice(), &["--show-output"]] {
        std::fs::remove_file(bench.path("r.swell")).ok();
        let ran = bench.run(&[&arguments, inherit, &[loud]].concat()).ends_with(0);
        assert_eq!(ran.stdout, "to-terminal\n".repeat(3));
        assert_eq!(ran.stderr, "complaint\n".repeat(3));
    }
}

/// A terminal takes 4 kB until somebody reads.
#[test]
fn a_terminal_has_its_size_and_is_read() {
    let bench = Bench::new();
    let size = "test -t 1 && stty size <&1 >> size && seq 100000";
    let closed = "exec >&-; sleep 0.01";
    let arguments = ["-w", "0", "-r", "2", "--output", "tty:100x30", "--output", "tty"];
    bench.run(&[arguments.as_slice(), &[size, closed]].concat()).ends_with(0);
    assert_eq!(bench.read("size"), "30 100\n30 100\n");
    let arms = &bench.record().header["plan"]["arms"];
    let terminal = serde_json::json!({"tty": {"columns": 80, "rows": 24}});
    assert_eq!(arms[1]["output"], terminal);
}

#[test]
fn runs_are_quiet_unless_they_fail() {
    let bench = Bench::new();
    let arguments = ["-w", "1", "-r", "3", "--style", "none", "echo out; echo err >&2"];
    let ran = bench.run(&arguments).ends_with(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

/// A process in the background keeps the run's output open. Stillwell must not wait for it.
#[test]
fn a_grandchild_that_holds_the_output_delays_nothing() {
    for output in ["null", "pipe", "tty", "./out"] {
        let bench = Bench::new();
        let start = Instant::now();
        let arguments = ["-w", "1", "-r", "2", "--output", output, "sleep 100 & echo x"];
        bench.run(&arguments).ends_with(0);
        assert!(start.elapsed() < Duration::from_secs(100), "--output {output} waited");
        for row in &bench.record().rows {
            assert!(row.get("wall_ns") < Some(50_000_000_000), "--output {output}: {row:?}");
        }
    }
}

/// The same with a process that never stops writing.
#[test]
fn a_grandchild_that_goes_on_writing_delays_nothing() {
    let bench = Bench::new();
    let running = bench.start(&["-w", "1", "-r", "2", "--output", "pipe", "yes & echo x"]);
    running.finish().ends_with(0);
    assert_eq!(bench.record().rows.iter().filter(|row| row.arm == 0).count(), 3);
}

/// A run that reads from a closed stream, and a front end without any open output.
#[test]
fn streams_may_be_closed() {
    for closing in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let bench = Bench::new();
        let script = format!("exec \"$@\" {closing}");
        let mut command = bench.command("sh");
        command.args(["-c", &script, "sh", STILLWELL, "run", "-o", "r.swell"]);
        command.args(["-w", "1", "-r", "3", "cat; echo x > written; ls /proc/self/fd > fds"]);
        Ran::from(command.output().unwrap()).ends_with(0);
        assert_eq!(bench.record().end(), Some("complete"), "{closing}");
        assert_eq!(bench.read("written"), "x\n", "{closing}");
    }
}

/// Peak memory of the whole program (front end, launcher, runs) in KiB, measured by another session.
fn peak_kib(arguments: &[&str]) -> i64 {
    let bench = Bench::new();
    let words = [&[STILLWELL, "run", "-o", "inner.swell", "-r", "1"], arguments].concat();
    bench.run(&["-N", "-w", "0", "-r", "1", &shell_words::join(words)]).ends_with(0);
    let peak_kib = bench.record().rows[0].get("maxrss_kib").unwrap();
    // The front end alone needs more than this.
    assert!(peak_kib > 2048, "{peak_kib} KiB");
    peak_kib
}

#[test]
fn gigabytes_of_output_stay_out_of_memory() {
    for arguments in [
        ["-w", "0", "--output", "null", "head -c 1G /dev/zero"].as_slice(),
        &["-w", "0", "--output", "pipe", "head -c 1G /dev/zero"],
        &["-w", "0", "head -c 200M /dev/zero >&2"],
        &["-w", "1", "head -c 200M /dev/zero >&2"],
    ] {
        let peak_kib = peak_kib(arguments);
        assert!(peak_kib < 64 << 10, "{arguments:?}: {peak_kib} KiB");
    }
}
