//! Compressed files that become large.

use std::io::Write as _;
use std::process::Stdio;

use crate::bench::{Bench, Ran, STILLWELL};

/// A compressed record is read as a stream: its text needs no memory, so the limit alone decides.
#[test]
fn a_compressed_record_is_read_line_by_line() {
    let bench = Bench::new();
    bench.write("script", "1ms 1.1ms 1.2ms\n");
    let fixed = ["--script", "script", "-w", "0", "-r", "3000", "--style", "none"];
    bench.run(&[fixed.as_slice(), &["prog"]].concat()).ends_with(0);
    let plain = bench.stillwell(&["stats", "r.swell"]).ends_with(0);
    // A torn last line is dropped, as in a plain record.
    bench.write("torn.swell", &(bench.read("r.swell") + "[1,2"));
    for name in ["r.swell", "torn.swell"] {
        assert!(bench.command("gzip").args(["--keep", name]).status().unwrap().success());
        let packed = bench.stillwell(&["stats", &format!("{name}.gz")]);
        if name == "r.swell" {
            assert_eq!(packed.ends_with(0).stdout, plain.stdout);
        }
    }
    // Its name and its encoding do not matter.
    std::fs::copy(bench.path("r.swell.gz"), bench.path("packed.swell")).unwrap();
    let marked = format!("\u{feff}{}", bench.read("r.swell"));
    bench.write("marked.swell", &marked);
    let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(bench.path("wide.txt"), wide).unwrap();
    for name in ["packed.swell", "marked.swell", "wide.txt"] {
        assert_eq!(bench.stillwell(&["stats", name]).ends_with(0).stdout, plain.stdout, "{name}");
    }
    let limited = bench.stillwell(&["stats", "--max-unpacked", "50K", "r.swell.gz"]).ends_with(2);
    limited.says(&["r.swell.gz", "it unpacks to more than 51200 bytes", "--max-unpacked"]);
    let damaged = std::fs::read(bench.path("r.swell.gz")).unwrap();
    std::fs::write(bench.path("cut.gz"), &damaged[..damaged.len() / 2]).unwrap();
    bench.stillwell(&["stats", "cut.gz"]).ends_with(2).says(&["cut.gz", "cannot unpack gzip"]);
}

#[test]
fn a_converted_record_is_compressed_by_its_name() {
    let bench = Bench::new();
    let file = format!("{}/../formats/samples/results/jmh.json", env!("CARGO_MANIFEST_DIR"));
    let [plain, packed] = ["a.swell", "a.swell.gz"].map(|name| {
        bench.stillwell(&["convert", &file, "-o", name]).ends_with(0);
        bench.stillwell(&["stats", name]).ends_with(0).stdout
    });
    assert_eq!(plain, packed);
    assert!(std::fs::read(bench.path("a.swell.gz")).unwrap().starts_with(&[0x1f, 0x8b]));
}

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
