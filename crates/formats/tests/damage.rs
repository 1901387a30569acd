//! Every reader against every kind of damage: nothing panics, and no benchmark is lost in silence.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;

use stillwell_formats::samples::{ALL, CRITERION};
use stillwell_formats::{FileFormat, ReadOptions, Results, SourceFile};

/// Places in a file at which it is damaged.
const N_PLACES: usize = 60;

fn formats() -> impl Iterator<Item = (FileFormat, Vec<SourceFile<'static>>)> {
    let criterion = [(FileFormat::Criterion, CRITERION.to_vec())];
    ALL.iter().map(|(format, files)| (*format, files.to_vec())).chain(criterion)
}

/// Reads the files with another content of the first.
fn read(
    format: FileFormat,
    files: &[SourceFile<'_>],
    bytes: &[u8],
) -> Result<Results, anyhow::Error> {
    let mut files = files.to_vec();
    let path = files[0].path;
    files[0] = SourceFile { path, bytes };
    format.read(&files, ReadOptions::default())
}

fn text(files: &[SourceFile<'static>]) -> &'static str {
    str::from_utf8(files[0].bytes).unwrap()
}

/// Benchmarks that were read, and those that were told instead.
fn n_accounted(results: &Results) -> usize {
    use FileFormat::{Asv, GnuTime, Go, GoogleBenchmark, PerfStat, Times};
    let names: HashSet<&str> = results.benchmarks.iter().map(|it| &*it.name).collect();
    if results.format == Some(Asv) {
        // One entry has a benchmark for each combination of parameters.
        let of_label = |label: &str| label.split(' ').next().unwrap_or_default().to_owned();
        let told = results.unread.iter().map(|it| of_label(&it.name));
        return names.iter().map(|name| of_label(name)).chain(told).collect::<HashSet<_>>().len();
    }
    // In these, a benchmark has several entries, of which one may be wrong.
    let is_pooled =
        matches!(results.format, Some(GnuTime | Go | GoogleBenchmark | PerfStat | Times));
    let is_other = |name: &str| !is_pooled || !names.contains(name);
    let told: HashSet<_> = results.unread.iter().filter(|it| is_other(&it.name)).collect();
    results.benchmarks.len() + told.len()
}

/// The places of the first characters of numbers outside of strings.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    let (mut found, mut at, mut is_in_text) = (Vec::new(), 0, false);
    while at < bytes.len() {
        is_in_text ^= bytes[at] == b'"';
        let is_start = bytes[at].is_ascii_digit() && at > 0 && b" \t:[,".contains(&bytes[at - 1]);
        if is_start && !is_in_text {
            let end = (at..bytes.len()).find(|&end| !is_part(bytes[end])).unwrap_or(bytes.len());
            found.push((at, end));
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

#[test]
fn encodings_change_nothing() {
    for (format, files) in formats() {
        let text = text(&files);
        let plain = read(format, &files, text.as_bytes()).unwrap();
        let utf16 = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(of).collect()
        };
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&utf16(u16::to_le_bytes)).unwrap();
        for (name, bytes) in [
            ("mark", format!("\u{feff}{text}").into_bytes()),
            ("CRLF", text.replace('\n', "\r\n").into_bytes()),
            ("UTF-16", utf16(u16::to_le_bytes)),
            ("UTF-16 BE", utf16(u16::to_be_bytes)),
            ("packed UTF-16", packer.finish().unwrap()),
        ] {
            let again = read(format, &files, &bytes).unwrap();
            assert!(again == plain, "{}: {name}", format.name());
        }
    }
}

#[test]
fn a_cut_file_says_so() {
    for (format, files) in formats() {
        let text = text(&files);
        let plain = read(format, &files, text.as_bytes()).unwrap();
        for step in 1..N_PLACES {
            let mut end = text.len() * step / N_PLACES;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let cut = &text[..end];
            let Ok(results) = read(format, &files, cut.as_bytes()) else { continue };
            // A log that ends with a line is whole, as far as anyone can tell. So is a JSON document without its last
            // line ends.
            let is_whole = cut.ends_with('\n') || text[end..].trim().is_empty();
            let is_same = results.benchmarks == plain.benchmarks;
            let is_new = |note: &String| !plain.notes.contains(note);
            let is_told = results.notes.iter().any(is_new) || !results.unread.is_empty();
            assert!(is_same || is_whole || is_told, "{}: {end} of {}", format.name(), text.len());
        }
    }
}

#[test]
fn an_odd_number_costs_at_most_its_benchmark() {
    for (format, files) in formats() {
        let text = text(&files);
        let n_benchmarks = n_accounted(&read(format, &files, text.as_bytes()).unwrap());
        let numbers = numbers(text);
        for step in 0..N_PLACES.min(numbers.len()) {
            let (start, end) = numbers[step * numbers.len() / N_PLACES.min(numbers.len())];
            for odd in ["NaN", "-Infinity", "0", "-1", "null", "1e999", "x"] {
                let changed = format!("{}{odd}{}", &text[..start], &text[end..]);
                match read(format, &files, changed.as_bytes()) {
                    Ok(results) => {
                        let n_found = n_accounted(&results);
                        let place = &changed.as_bytes()[start.saturating_sub(40)..];
                        let place = String::from_utf8_lossy(&place[..place.len().min(60)]);
                        assert!(
                            n_found >= n_benchmarks,
                            "{}: {n_found} of {n_benchmarks}: …{place}",
                            format.name()
                        );
                        assert!(
                            results
                                .benchmarks
                                .iter()
                                .all(|it| it.values.iter().all(|value| value.is_finite()))
                        );
                    }
                    // The only benchmark, or the version of the format.
                    Err(error) => assert!(!format!("{error:#}").is_empty()),
                }
            }
        }
    }
}

#[test]
fn empty_files_are_errors() {
    for (format, files) in formats().filter(|it| it.0 != FileFormat::Criterion) {
        for bytes in [&b""[..], b" \n", b"{}", b"[]", b"null", &[0; 100]] {
            assert!(read(format, &files, bytes).is_err(), "{}: {bytes:?}", format.name());
        }
    }
}

#[test]
fn a_hundred_thousand_names_are_read_in_linear_time() {
    const N: usize = 100_000;
    let mut go = String::new();
    let mut google = String::from(r#"{"context":{},"benchmarks":["#);
    for index in 0..N {
        writeln!(go, "BenchmarkA{index}-4 \t100\t{}.5 ns/op", index + 1).unwrap();
        let comma = if index == 0 { "" } else { "," };
        let name = format!("b{}", index / 2);
        write!(
            google,
            r#"{comma}{{"name":"{name}","iterations":1,"real_time":1,"time_unit":"ns"}}"#
        )
        .unwrap();
    }
    google.push_str("]}");
    let count = |format: FileFormat, text: &str| {
        let files = [SourceFile { path: "file", bytes: text.as_bytes() }];
        format.read(&files, ReadOptions::default()).unwrap().benchmarks.len()
    };
    assert_eq!(count(FileFormat::Go, &go), N);
    assert_eq!(count(FileFormat::GoogleBenchmark, &google), N / 2);
    let of_each = |each: fn(usize) -> String| (0..N).map(each).collect::<String>();
    let libtest = of_each(|at| format!("test a{at} ... bench: {} ns/iter (+/- 1)\n", at + 1));
    assert_eq!(count(FileFormat::CargoBench, &libtest), N);
    let perf = of_each(|at| format!("{at},,event{at},1,100.00,,\n"));
    assert_eq!(count(FileFormat::PerfStat, &perf), N);
    let bmf = of_each(|at| format!(r#""a{at}":{{"latency":{{"value":1}}}},"#));
    assert_eq!(count(FileFormat::Bmf, &format!("{{{bmf}\"b\":{{\"x\":{{\"value\":1}}}}}}")), N + 1);
    // All of one name, in a format in which a name is one benchmark.
    let twice =
        format!(r#"{{"results":[{}]}}"#, vec![r#"{"command":"a","times":[1]}"#; 1000].join(","));
    assert_eq!(count(FileFormat::Hyperfine, &twice), 1000);
}

/// Of a benchmark with many values, evenly spread ones are kept; one with few keeps all.
#[test]
fn the_number_of_values_can_be_bounded() {
    let mut go = String::from("BenchmarkFew-4 1 5 ns/op\n");
    let mut times = String::new();
    for index in 1..=100_000 {
        writeln!(go, "BenchmarkMany-4 {index} {index} ns/op {index} B/op").unwrap();
        writeln!(times, "{index}\ta").unwrap();
    }
    let read = |format: FileFormat, text: &str| {
        let files = [SourceFile { path: "file", bytes: text.as_bytes() }];
        let options = ReadOptions { values_max: Some(10_000), ..ReadOptions::default() };
        format.read(&files, options).unwrap()
    };
    let results = read(FileFormat::Go, &go);
    let [few, many] = &results.benchmarks[..] else { panic!("{results:?}") };
    assert_eq!(few.values, [5.0]);
    let every = (many.values[1] - many.values[0]) as usize;
    let expected: Vec<f64> = (1..=100_000).step_by(every).map(f64::from).collect();
    assert!(every > 1 && many.values.len() <= 10_000);
    assert_eq!(many.values, expected);
    assert_eq!(many.loops.len(), expected.len());
    assert_eq!(many.extras[0].values.last().copied().flatten(), expected.last().copied());
    assert!(
        results.notes.iter().any(|note| note.starts_with("the file has 100001 values: one in 16"))
    );
    let results = read(FileFormat::Times, &times);
    let only = &results.benchmarks[0];
    assert_eq!((only.n_launches(), only.values.len()), (expected.len(), expected.len()));
    assert_eq!(only.values[1] - only.values[0], every as f64 * 1e9);
}
