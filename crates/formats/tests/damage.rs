//! Every reader against every kind of damage: nothing panics, and no benchmark is lost in silence.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;

use stillwell_formats::samples::{ALL, CRITERION};
use stillwell_formats::{BenchmarkValues, FileFormat, ReadOptions, Results, SourceFile};

/// Places in a file at which it is damaged.
const N_PLACES: usize = 30;

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

/// The benchmark that a note names.
fn benchmark_of(told: &str) -> &str {
    told.strip_prefix("a result of ").unwrap_or(told)
}

/// Benchmarks that were read, and those that were told instead.
fn n_accounted(results: &Results) -> usize {
    use FileFormat::{Asv, GnuTime, Go, GoogleBenchmark, PerfStat, Times};
    let names: HashSet<&str> = results.benchmarks.iter().map(|it| &*it.name).collect();
    if results.format == Some(Asv) {
        // One entry has a benchmark for each combination of parameters.
        let of_label = |label: &str| label.split(' ').next().unwrap_or_default().to_owned();
        let told = results.unread.iter().map(|it| of_label(benchmark_of(&it.name)));
        return names.iter().map(|name| of_label(name)).chain(told).collect::<HashSet<_>>().len();
    }
    // In these, a benchmark has several entries, of which one may be wrong.
    let is_pooled =
        matches!(results.format, Some(GnuTime | Go | GoogleBenchmark | PerfStat | Times));
    let is_other = |name: &str| !is_pooled || !names.contains(benchmark_of(name));
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
        let plain = read(format, &files, text.as_bytes()).unwrap();
        let n_benchmarks = n_accounted(&plain);
        // A number may be a part of a name, and then there is another benchmark.
        let is_new =
            |it: &&BenchmarkValues| plain.benchmarks.iter().all(|old| old.label() != it.label());
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
                        let n_new = results.benchmarks.iter().filter(is_new).count();
                        assert!(
                            (n_benchmarks..=n_benchmarks + n_new).contains(&n_found),
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

/// A file of each format in which each entry is a benchmark of its own: its start, an entry, and its end. `@` is the
/// entry's number. Entries of JSON are separated by commas.
const ENTRIES: [(FileFormat, &str, &str, &str); 24] = {
    use FileFormat as F;
    [
        (
            F::Pyperf,
            r#"{"version":"1.0","metadata":{"unit":"second"},"benchmarks":["#,
            r#"{"metadata":{"name":"b@"},"runs":[{"values":[0.5]}]}"#,
            "]}",
        ),
        (F::Hyperfine, r#"{"results":["#, r#"{"command":"c @","times":[1.5]}"#, "]}"),
        (
            F::HyperfineCsv,
            "command,mean,stddev,median,user,system,min,max\n",
            "c@,1,0.5,1,1,0,1,2\n",
            "",
        ),
        (
            F::GoogleBenchmark,
            r#"{"context":{},"benchmarks":["#,
            r#"{"name":"b@","iterations":1,"real_time":1,"time_unit":"ns"}"#,
            "]}",
        ),
        (F::Go, "", "BenchmarkA@-4 \t100\t1.5 ns/op\n", ""),
        (
            F::Jmh,
            "[",
            r#"{"jmhVersion":"1.37","benchmark":"b@","mode":"avgt","primaryMetric":{"score":1,"scoreUnit":"ns/op","rawData":[[1]]}}"#,
            "]",
        ),
        (
            F::Pytest,
            r#"{"machine_info":{},"commit_info":{},"benchmarks":["#,
            r#"{"name":"t@","fullname":"a.py::t@","stats":{"min":1,"max":1,"mean":1,"stddev":0,"median":1,"q1":1,"q3":1,"data":[1.5],"rounds":1,"iterations":1},"extra_info":{}}"#,
            r#"],"version":"4.0"}"#,
        ),
        (
            F::Asv,
            r#"{"version":2,"params":{},"result_columns":["result","params"],"results":{"#,
            r#""time_@":[[0.5],[]]"#,
            "}}",
        ),
        (
            F::Nanobench,
            r#"{"results":["#,
            r#"{"title":"t","name":"b@","unit":"op","batch":1,"median(elapsed)":0.5,"measurements":[{"iterations":1,"elapsed":0.5}]}"#,
            "]}",
        ),
        (
            F::BenchmarkTools,
            r#"[{"Julia":"1.11.2","BenchmarkTools":"1.8.0"},[["BenchmarkGroup",{"tags":[],"data":{"#,
            r#""b@":["TrialEstimate",{"time":5.0}]"#,
            "}}]]]",
        ),
        (
            F::Codspeed,
            r#"{"creator":{"name":"pytest-codspeed"},"instrument":{"type":"walltime"},"benchmarks":["#,
            r#"{"name":"t@","uri":"a.py::t@","stats":{"min_ns":1,"max_ns":2,"mean_ns":1.5,"stdev_ns":0.5,"q1_ns":1,"median_ns":1.5,"q3_ns":2,"rounds":9}}"#,
            "]}",
        ),
        (F::CargoBench, "", "test a@ ... bench: 5 ns/iter (+/- 1)\n", ""),
        (
            F::Catch2,
            r#"<Catch2TestRun name="k"><TestCase name="K">"#,
            r#"<BenchmarkResults name="b@" samples="9" iterations="1"><mean value="5" lowerBound="4" upperBound="6" ci="0.95"/></BenchmarkResults>"#,
            "</TestCase></Catch2TestRun>",
        ),
        (
            F::BenchmarkDotNet,
            r#"{"Title":"K","HostEnvironmentInfo":{"BenchmarkDotNetVersion":"0.13.12"},"Benchmarks":["#,
            r#"{"Namespace":"N","Type":"T","Method":"M@","Parameters":"","FullName":"N.T.M@","Statistics":{"OriginalValues":[5.0],"N":1}}"#,
            "]}",
        ),
        (F::Bmf, "{", r#""a@":{"latency":{"value":1}}"#, "}"),
        (
            F::Bencher,
            r#"{"uuid":"u","project":{"name":"k"},"results":[["#,
            r#"{"iteration":0,"benchmark":{"name":"b@"},"measures":[{"measure":{"name":"Latency","slug":"latency"},"metric":{"value":5}}]}"#,
            r#"]],"alerts":[]}"#,
        ),
        (
            F::GithubAction,
            r#"window.BENCHMARK_DATA = {"entries":{"R":[{"date":1,"tool":"cargo","benches":["#,
            r#"{"name":"b@","value":5,"unit":"ns/iter"}"#,
            "]}]}}",
        ),
        (F::PerfStat, "", "@,,event@,1,100.00,,\n", ""),
        (
            F::PerfStat,
            "",
            "{\"counter-value\":\"5.0\",\"unit\":\"\",\"event\":\"e@\",\"event-runtime\":1,\"pcnt-running\":100.0}\n",
            "",
        ),
        (
            F::GnuTime,
            "",
            "\tCommand being timed: \"c @\"\n\tUser time (seconds): 0.52\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.03\n\tExit status: 0\n",
            "",
        ),
        (
            F::Lnt,
            r#"{"__version__":[0,6,0],"tests":["#,
            r#"{"code":"PASS","name":"t@","metrics":{"exec_time":0.5}}"#,
            "]}",
        ),
        (
            F::Lnt,
            r#"{"format_version":"2","machine":{"name":"m"},"run":{},"tests":["#,
            r#"{"name":"t@","execution_time":0.5}"#,
            "]}",
        ),
        (F::Times, "", "0.5\tc@\n", ""),
        (
            F::BenchmarkDotNet,
            r#"{"Title":"K","HostEnvironmentInfo":{"BenchmarkDotNetVersion":"0.9.9.0"},"Benchmarks":["#,
            r#"{"ShortInfo":"T_M@","Type":"T","Method":"M@","Parameters":"","Statistics":{"N":1,"Min":5,"Mean":5,"Max":5}}"#,
            "]}",
        ),
    ]
};

/// A reader that compares each name with all others would take hours for the many.
#[test]
fn many_names_are_read() {
    many_names_are_read_in_linear_time(2_000);
}

mod long {
    #[test]
    fn many_names_are_read_in_linear_time() {
        super::many_names_are_read_in_linear_time(20_000);
    }
}

fn many_names_are_read_in_linear_time(n: usize) {
    for (format, head, entry, tail) in ENTRIES {
        let separator = if entry.ends_with('\n') || entry.starts_with('<') { "" } else { "," };
        let entries: Vec<String> = (0..n).map(|at| entry.replace('@', &at.to_string())).collect();
        let text = format!("{head}{}{tail}", entries.join(separator));
        let files = [SourceFile { path: "file", bytes: text.as_bytes() }];
        let results = format.read(&files, ReadOptions::default());
        let n_read = results.map(|it| it.benchmarks.len());
        assert_eq!(n_read.map_err(|it| format!("{it:#}")), Ok(n), "{}", format.name());
        // And one in which each entry has a mistake: names and lines of all are told.
        let text = text.replace(':', ": x");
        let files = [SourceFile { path: "file", bytes: text.as_bytes() }];
        drop(format.read(&files, ReadOptions::default()));
    }
}

/// Two entries of one name are one benchmark where runs are repeated so, and two where an entry is a command.
#[test]
fn a_name_that_comes_twice() {
    for (format, head, entry, tail) in ENTRIES {
        let separator = if entry.ends_with('\n') || entry.starts_with('<') { "" } else { "," };
        let entry = entry.replace('@', "0");
        let text = format!("{head}{entry}{separator}{entry}{tail}");
        let files = [SourceFile { path: "file", bytes: text.as_bytes() }];
        let Ok(results) = format.read(&files, ReadOptions::default()) else { continue };
        let n_values =
            |it: &BenchmarkValues| it.values.len().max(usize::from(it.summary.is_some()));
        let n_read: usize = results.benchmarks.iter().map(n_values).sum();
        let n_told = results.unread.len() + results.notes.len();
        assert!(n_read == 2 || n_told > 0, "{}: {results:?}", format.name());
    }
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
