//! Compressed files that become large.

use std::io::Write as _;
use std::process::Stdio;

use crate::bench::{Bench, Ran, STILLWELL};

/// 20 kB of gzip become 20 MB of numbers, and those many times as much while they are read.
#[test]
fn a_small_file_that_becomes_large_is_refused_before_it_fills_the_memory() {
    let bench = Bench::new();
    let start = r#"{"version":"1.0","metadata":{"name":"a","unit":"second"},"benchmarks":[{"runs":[{"values":["#;
    let text = format!("{start}1.0{}]}}]}}]}}", ",1.0".repeat(5_000_000));
    let mut gzip = bench.command("gzip");
    gzip.stdin(Stdio::piped()).stdout(std::fs::File::create(bench.path("bomb.gz")).unwrap());
    let mut gzip = gzip.spawn().unwrap();
    gzip.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(gzip.wait().unwrap().success());
    let limited = |memory: &str, options: &[&str]| {
        let mut command = bench.command("prlimit");
        command.args([memory, STILLWELL, "slowest", "bomb.gz"]).args(options);
        Ran::from(command.output().unwrap())
    };
    let ran = limited("--as=640000000", &[]).ends_with(2);
    ran.says(&["bomb.gz: it unpacks to more than 9 MiB", "--max-unpacked 4G allows 4 GiB"]);
    limited("--as=640000000", &["--max-unpacked", "1M"]).ends_with(2).says(&["more than 1 MiB"]);
    limited("--as=640000000", &["--max-unpacked", "100M"]).ends_with(0);
}
