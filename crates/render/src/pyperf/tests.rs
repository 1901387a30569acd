use formats::{FileFormat, ReadOptions, SourceFile};

use super::*;
use crate::{bmf, values};

const TIMEIT: &[u8] = include_bytes!("../../../formats/samples/results/pyperf_timeit.json");
const SUITE: &[u8] = include_bytes!("../../../formats/samples/results/pyperf_suite_ref.json");
const CHANGED: &[u8] = include_bytes!("../../../formats/samples/results/pyperf_suite_changed.json");
const PYPY: &[u8] = include_bytes!("../../../formats/samples/results/pyperf_pypy.json");
const NOISY: &[u8] =
    include_bytes!("../../../formats/samples/results/pyperf_noisy_aa_200procs.json");
const HYPERFINE: &[u8] = include_bytes!("../../../formats/samples/hyperfine_2.0.json");
const GO: &[u8] = include_bytes!("../../../formats/samples/results/go_bench.txt");
const JMH: &[u8] = include_bytes!("../../../formats/samples/results/jmh.json");
const CODSPEED: &[u8] =
    include_bytes!("../../../formats/samples/results/pytest_codspeed_walltime.json");

fn read(format: FileFormat, bytes: &[u8]) -> Results {
    format.read(&[SourceFile { path: "", bytes }], ReadOptions::default()).unwrap()
}

fn written(results: &Results) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, results).unwrap();
    out
}

/// Asserts equality except for a number's last bit: seconds and nanoseconds have different doubles.
fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => {
            let (one, two) = (one.as_f64().unwrap(), two.as_f64().unwrap());
            two == one || two == one.next_up() || two == one.next_down()
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(key, it)| two.get(key).is_some_and(|two| is_same(it, two)))
        }
        _ => one == two,
    }
}

#[test]
fn what_pyperf_wrote_comes_out_as_it_was() {
    for file in [TIMEIT, SUITE, CHANGED, PYPY, NOISY] {
        let results = read(FileFormat::Pyperf, file);
        let out = written(&results);
        let [before, after]: [Value; 2] =
            [file, &out].map(|it| serde_json::from_slice(it).unwrap());
        assert!(is_same(&before, &after), "{before}\n{after}");
        let again = read(FileFormat::Pyperf, &out);
        assert_eq!(again, results);
        assert_eq!(written(&again), out);
    }
}

#[test]
fn seconds_come_back() {
    for text in ["6.38e-6", "0.1", "3.3e-9", "1e-9", "0.000123", "12345.678", "7.3e-8"] {
        let value: f64 = text.parse().unwrap();
        assert_eq!(seconds(value * SECOND_NS), value, "{text}");
    }
    for ns in [1.0, 0.1 + 0.2, 1e18 + 256.0, 5e-324, 123.456_789_012_345_67] {
        let back = seconds(ns) * SECOND_NS;
        assert!((back - ns).abs() <= 2e-16 * ns || ns < 1e-290, "{ns} became {back}");
    }
}

#[test]
fn other_sources() {
    let out = written(&read(FileFormat::Hyperfine, HYPERFINE));
    let results = read(FileFormat::Pyperf, &out);
    assert_eq!((&*results.benchmarks[0].name, results.benchmarks[0].n_launches()), ("list", 5));
    assert_eq!(results.benchmarks[0].metadata["command"], "ls /usr".into());
    let results = read(FileFormat::Pyperf, &written(&read(FileFormat::Jmh, JMH)));
    let names: Vec<_> = results.benchmarks.iter().map(|it| &*it.name).collect();
    assert_eq!(names[0], "x.B.sum n=10 mode=avgt");
    assert_eq!(results.benchmarks[0].metadata["parameter_n"], "10".into());
    // The repetitions had different numbers of loops, but a pyperf run has only one.
    let results = read(FileFormat::Pyperf, &written(&read(FileFormat::Go, GO)));
    assert_eq!(results.benchmarks[0].launches().next().unwrap().info.loops, None);
}

#[test]
fn what_pyperf_cannot_say() {
    let error = |text: &str| {
        let results = read(FileFormat::Go, text.as_bytes());
        write(&mut Vec::new(), &results).unwrap_err().to_string()
    };
    assert!(error("BenchmarkA 1 5 MB/s\n").contains("pyperf has no unit \"MB/s\""));
    assert!(error("BenchmarkA 1 0 B/op\n").contains("run 1: pyperf's values are above 0"));
    let mut same = read(FileFormat::Go, b"BenchmarkA 1 5 ns/op\nBenchmarkB 1 5 ns/op\n");
    same.benchmarks[1].name = "BenchmarkA\n".into();
    let error = write(&mut Vec::new(), &same).unwrap_err().to_string();
    assert_eq!(error, "two benchmarks are called \"BenchmarkA\"");
    let summaries = read(FileFormat::Codspeed, CODSPEED);
    let error = write(&mut Vec::new(), &summaries).unwrap_err().to_string();
    assert!(error.contains("there is only a summary"), "{error}");
}

#[test]
fn metadata_by_its_rules() {
    let kept = |key: &str, value: MetaValue| clean(key, &value).map(|(_, value)| value);
    assert_eq!(kept("a", "two\nlines ".into()), Some("two lines".into()));
    assert_eq!(kept("a", " ".into()), None);
    assert_eq!(kept("a", MetaValue::Float(f64::NAN)), None);
    assert_eq!(kept("a", MetaValue::List(vec!["x".into(), "y".into()])), Some("x, y".into()));
    assert_eq!(kept("tags", MetaValue::List(vec!["all".into()])), None);
    assert_eq!(kept("tags", "x".into()), None);
    assert_eq!(kept("mem_max_rss", MetaValue::Float(1.5)), None);
    assert_eq!(kept("mem_max_rss", MetaValue::Int(0)), None);
    assert_eq!(kept("duration", "3".into()), None);
    assert_eq!(kept("name", "x".into()), None);
    assert_eq!(kept("calibrate_warmups", MetaValue::Int(0)), Some(0.into()));
}

#[test]
fn bencher() {
    let mut out = Vec::new();
    bmf::write(&mut out, &read(FileFormat::Codspeed, CODSPEED)).unwrap();
    let out: Value = serde_json::from_slice(&out).unwrap();
    let metric = &out["/home/user/project/test_c.py::test_x"]["latency"];
    assert_eq!(metric["value"], 1421.10162601626);
    assert_eq!(metric["lower_value"], 1086.1842818428183);
    assert_eq!(metric["upper_value"], 1539.1097560975609);
}

#[test]
fn comma_separated_values() {
    let mut out = Vec::new();
    let text = "BenchmarkA,b/n=1 10 2.5 ns/op\nBenchmarkA,b/n=1 20 3 ns/op\nBenchmarkC 1 7 x/op\n";
    values::write_csv(&mut out, &read(FileFormat::Go, text.as_bytes())).unwrap();
    let expected = "benchmark,launch,index,loops,value,unit\n\
        \"BenchmarkA,b/n=1\",1,1,10,2.5,ns\n\"BenchmarkA,b/n=1\",1,2,20,3,ns\nBenchmarkC,1,1,1,7,x/op\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn markdown_table() {
    let mut results = read(FileFormat::Pyperf, SUITE);
    results.benchmarks.truncate(2);
    results.benchmarks.extend(read(FileFormat::Codspeed, CODSPEED).benchmarks);
    let expected = "| Benchmark | Values | Median | Mean | Min | Max | Unit |\n\
        |:---|---:|---:|---:|---:|---:|:---|\n\
        | `list_mul` | 15 | 1.136 | 1.675 | 0.8648 | 3.924 | µs |\n\
        | `dict_get` | 15 | 13.66 | 15.21 | 13.08 | 20.83 | ns |\n\
        | `/home/user/project/test_c.py::test_x` | 99 | 1.421 | 1.339 | 0.9983 | 1.704 | µs |\n";
    assert_eq!(values::markdown(&results), expected);
}

#[test]
fn files_put_together_are_written_as_one() {
    let mut results = read(FileFormat::Pyperf, SUITE);
    formats::edit::add(&mut results, read(FileFormat::Pyperf, CHANGED)).unwrap();
    let again = read(FileFormat::Pyperf, &written(&results));
    let launches = |results: &Results| -> Vec<(String, usize)> {
        results.benchmarks.iter().map(|it| (it.name.clone(), it.n_launches())).collect()
    };
    assert_eq!(launches(&again), launches(&results));
    assert!(again.benchmarks.iter().all(|it| it.n_launches() > 3));
}
