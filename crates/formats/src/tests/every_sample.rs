//! Reads every file of a real tool, and compares the values with the tool's own.

use serde_json::Value;

use crate::FileFormat;
use crate::criterion::is_directory as is_criterion;
use crate::samples::*;
use crate::statistics::summary;
use crate::{
    BenchmarkValues, CPU, Detail, EXIT_CODE, PEAK_MEMORY, ReadOptions, ResultUnit, Results,
    SourceFile, detect, unpacked,
};

#[track_caller]
fn read(files: &[SourceFile<'_>]) -> Results {
    let bytes = unpacked(files[0].bytes).unwrap();
    let format = detect(&bytes).unwrap_or_else(|error| panic!("{}: {error}", files[0].path));
    let results = format.read(files, ReadOptions::default());
    results.unwrap_or_else(|error| panic!("{}: {error:#}", files[0].path))
}

#[track_caller]
fn check(what: &str, ours: Option<f64>, theirs: f64) {
    let ours = ours.unwrap_or_else(|| panic!("{what} is not there"));
    assert!((ours - theirs).abs() <= 1e-12 * theirs.abs(), "{what}: {ours} is not {theirs}");
}

#[track_caller]
fn json(file: SourceFile<'_>) -> Value {
    serde_json::from_slice(file.bytes).unwrap()
}

fn named<'a>(results: &'a Results, name: &str) -> &'a BenchmarkValues {
    results.benchmarks.iter().find(|it| it.name == name).unwrap()
}

#[test]
fn every_format_is_recognised() {
    for (format, files) in ALL {
        assert_eq!(detect(files[0].bytes).unwrap(), format, "{}", files[0].path);
    }
    for file in PYPERF {
        assert_eq!(
            detect(&unpacked(file.bytes).unwrap()).unwrap(),
            FileFormat::Pyperf,
            "{}",
            file.path
        );
    }
    // The beginning of the file is enough if it contains the key.
    assert_eq!(detect(&PYPERF[4].bytes[..300]).unwrap(), FileFormat::Pyperf);
    assert_eq!(detect(&HYPERFINE[0].bytes[..100]).unwrap(), FileFormat::Hyperfine);
    assert!(is_criterion(CRITERION.iter().map(|file| file.path), "new"));
    assert!(!is_criterion(["src/main.rs", "new/other.json", "benchmark.json"], "new"));
}

/// `python3 -m pyperf` 2.10.0: get_nrun(), get_nvalue(), mean(), median(), stdev(), min and max of get_values().
type PyperfFigures = (usize, &'static str, usize, usize, [f64; 5]);

#[rustfmt::skip]
const OF_PYPERF: [PyperfFigures; 11] = [
    (0, "timeit", 21, 60, [5.933684441121525e-06, 5.667418334964758e-06, 7.756993031779166e-07, 5.025701782228331e-06, 7.897026794434492e-06]),
    (1, "list_mul", 6, 15, [1.6748086832679236e-06, 1.135742675781315e-06, 1.124998298947309e-06, 8.647508544928906e-07, 3.923991333008164e-06]),
    (1, "dict_get", 6, 15, [1.5206995086670718e-08, 1.3661649322493224e-08, 2.7962789792067526e-09, 1.308150405889344e-08, 2.083418350218996e-08]),
    (5, "split", 6, 15, [1.024787720997593e-07, 1.0195265769943548e-07, 1.3075831998972185e-08, 7.107937049859701e-08, 1.341395988465298e-07]),
    (5, "only_ref", 6, 15, [7.925697072346955e-09, 7.846863746665059e-09, 1.7099196493638796e-09, 5.083383083340134e-09, 1.1623945951475456e-08]),
    (2, "list_mul", 6, 15, [1.8410991088864867e-06, 1.8383406982444561e-06, 4.79810570719085e-07, 1.1678112792970485e-06, 2.691469543451841e-06]),
    (2, "dict_get", 6, 15, [2.007083546957019e-08, 2.038931808468272e-08, 2.4904303112798395e-09, 1.4883036041253572e-08, 2.4149379730230987e-08]),
    (2, "split", 6, 15, [9.730855585740027e-08, 9.527687072760291e-08, 1.721989148552602e-08, 7.519407653824861e-08, 1.4894649124144732e-07]),
    (3, "timeit", 7, 60, [3.6828064610799673e-06, 3.4417704009997996e-06, 5.435329536093098e-07, 3.1342026367217612e-06, 5.357984161374896e-06]),
    (4, "timeit", 201, 600, [2.6074391126632383e-08, 1.91825960874618e-08, 1.7944942576784145e-08, 1.7139268398269755e-08, 3.099476327896077e-07]),
    (6, "benchmark", 1, 11, [3.729896092760289e-08, 2.23636396526773e-08, 5.0293776046541954e-08, 2.12296315077755e-08, 1.88934799734638e-07]),
];

#[test]
fn pyperf_says_the_same() {
    for (file, name, n_runs, n_values, [mean, median, stddev, min, max]) in OF_PYPERF {
        let results = read(&[PYPERF[file]]);
        let benchmark = named(&results, name);
        assert_eq!((benchmark.n_launches(), benchmark.values.len()), (n_runs, n_values), "{name}");
        let ours = summary(benchmark);
        check("mean", ours.mean, mean * 1e9);
        check("median", ours.median, median * 1e9);
        check("stddev", ours.stddev, stddev * 1e9);
        check("min", ours.min, min * 1e9);
        check("max", ours.max, max * 1e9);
    }
}

#[test]
fn without_the_metadata_of_runs_the_values_are_the_same() {
    for file in PYPERF {
        let options = ReadOptions { detail: Detail::Values, ..ReadOptions::default() };
        let fewer = FileFormat::Pyperf.read(&[file], options).unwrap();
        let mut all = read(&[file]);
        all.benchmarks
            .iter_mut()
            .flat_map(BenchmarkValues::infos_mut)
            .for_each(|info| info.metadata = None);
        assert_eq!(fewer, all, "{}", file.path);
    }
}

#[test]
fn hyperfine_says_the_same() {
    for file in HYPERFINE {
        let (results, document) = (read(&[file]), json(file));
        for (ours, theirs) in results.benchmarks.iter().zip(document["results"].as_array().unwrap())
        {
            let stated = if theirs["mean"].is_f64() {
                theirs
            } else {
                &theirs["summary"]["time_wall_clock"]
            };
            let summary = summary(ours);
            for (key, value) in [
                ("mean", summary.mean),
                ("median", summary.median),
                ("min", summary.min),
                ("max", summary.max),
            ] {
                check(key, value, stated[key].as_f64().unwrap() * 1e9);
            }
            check("stddev", summary.stddev, stated["stddev"].as_f64().unwrap() * 1e9);
            assert_eq!((ours.n_launches(), ours.values.len()), (5, 5));
            assert_eq!(ours.extra(EXIT_CODE).unwrap(), [Some(0.0); 5]);
        }
    }
    let results = read(&[HYPERFINE[0]]);
    assert_eq!(results.benchmarks[1].parameters, [("n".to_owned(), "2".to_owned())]);
    let results = read(&[HYPERFINE[2]]);
    assert_eq!((&*results.benchmarks[0].name, &*results.tool), ("list", "hyperfine 2.0.0"));
    check("cpu", results.benchmarks[0].extra(CPU).unwrap()[0], 763_600.0);
    assert_eq!(results.benchmarks[0].extra(PEAK_MEMORY).unwrap()[0], Some(3_411_968.0));
    let csv = read(&[CSV]);
    check("mean", summary(&csv.benchmarks[0]).mean, 419_653.32);
    check("max", summary(&csv.benchmarks[1]).max, 10_746_818.52);
    assert_eq!(csv.benchmarks[0].n_launches(), 0);
    let old = SourceFile {
        path: "",
        bytes:
            b"command,mean,stddev,median,user,system,min,max,parameter_n\na,1,,2,3,4,0.5,2.5,7\n",
    };
    let old = read(&[old]);
    assert_eq!(
        (summary(&old.benchmarks[0]).mean, summary(&old.benchmarks[0]).stddev),
        (Some(1e9), None)
    );
    assert_eq!(old.benchmarks[0].parameters, [("n".to_owned(), "7".to_owned())]);
}

#[test]
fn google_benchmark_says_the_same() {
    let (results, document) = (read(&[GOOGLE]), json(GOOGLE));
    assert_eq!(results.benchmarks.len(), 2);
    assert!(results.notes.iter().any(|note| note.contains("BM_Err")), "{:?}", results.notes);
    assert!(results.notes.iter().any(|note| note.contains("debugging")));
    for aggregate in document["benchmarks"].as_array().unwrap() {
        let ours = named_or_none(&results, aggregate["run_name"].as_str().unwrap());
        let (Some(ours), Some(kind)) = (ours, aggregate["aggregate_name"].as_str()) else {
            continue;
        };
        let cpu: Vec<f64> = ours.extra(CPU).unwrap().iter().map(|value| value.unwrap()).collect();
        let mut of_cpu = BenchmarkValues::new("cpu", ResultUnit::Time);
        of_cpu.values = cpu;
        for (series, key) in [(ours, "real_time"), (&of_cpu, "cpu_time")] {
            let summary = summary(series);
            let value = match kind {
                "mean" => summary.mean,
                "median" => summary.median,
                "stddev" => summary.stddev,
                _ => summary.stddev.map(|sd| sd / summary.mean.unwrap()),
            };
            let theirs = aggregate[key].as_f64().unwrap();
            if matches!(kind, "mean" | "median") {
                check(kind, value, theirs);
            } else {
                // Google Benchmark takes the square root of a difference of squares, which loses four digits.
                assert!(
                    (value.unwrap() - theirs).abs() < 1e-8 * theirs,
                    "{kind}: {value:?} is not {theirs}"
                );
            }
        }
    }
    assert_eq!(results.benchmarks[0].loops, [3_294_732; 3]);
    assert_eq!(results.benchmarks[1].extra("len").unwrap(), [Some(4096.0); 3]);
}

fn named_or_none<'a>(results: &'a Results, name: &str) -> Option<&'a BenchmarkValues> {
    results.benchmarks.iter().find(|it| it.name == name)
}

#[test]
fn criterion_says_the_same() {
    for side in ["new", "base"] {
        let options = ReadOptions { side, ..ReadOptions::default() };
        let results = FileFormat::Criterion.read(&CRITERION, options).unwrap();
        assert_eq!(results.benchmarks.len(), if side == "new" { 2 } else { 1 });
        for ours in &results.benchmarks {
            let parameter = ours.name.rsplit('/').next().unwrap();
            let path = format!("/{parameter}/{side}/estimates.json");
            let estimates =
                json(*CRITERION.iter().find(|file| file.path.ends_with(&path)).unwrap());
            let summary = summary(ours);
            check("mean", summary.mean, estimates["mean"]["point_estimate"].as_f64().unwrap());
            check(
                "median",
                summary.median,
                estimates["median"]["point_estimate"].as_f64().unwrap(),
            );
            check(
                "stddev",
                summary.stddev,
                estimates["std_dev"]["point_estimate"].as_f64().unwrap(),
            );
            assert_eq!((ours.n_launches(), ours.values.len()), (1, 10));
        }
    }
    let one = [
        SourceFile { path: "benchmark.json", ..CRITERION[0] },
        SourceFile { path: "sample.json", ..CRITERION[2] },
    ];
    assert_eq!(
        FileFormat::Criterion.read(&one, ReadOptions::default()).unwrap().benchmarks[0].name,
        "grp/sum/64"
    );
}

#[test]
fn go_by_hand() {
    let results = read(&[GO]);
    let ours = named(&results, "BenchmarkJoin/n=2-2");
    // (50.07 + 113.6 + 85.32 + 163.1 + 119.8 + 93.95) / 6, and (93.95 + 113.6) / 2.
    check("mean", summary(ours).mean, 104.306_666_666_666_67);
    check("median", summary(ours).median, 103.775);
    assert_eq!(
        ours.parameters,
        [("n".into(), "2".into()), ("gomaxprocs".to_owned(), "2".to_owned())]
    );
    assert_eq!(ours.extra("B/op").unwrap(), [Some(8.0); 6]);
    assert_eq!(ours.extra("parts/op").unwrap(), [Some(2.0); 6]);
    assert_eq!(ours.loops[0], 447_976);
    assert_eq!(ours.metadata["goos"], "linux".into());
}

#[test]
fn jmh_says_the_same() {
    let (results, document) = (read(&[JMH]), json(JMH));
    assert_eq!(results.benchmarks.len(), 4);
    for (ours, theirs) in results.benchmarks.iter().zip(document.as_array().unwrap()) {
        // The histograms in the file were cut to six entries each, so their scores cover more times than are left.
        if theirs["mode"] == "avgt" {
            check("score", summary(ours).mean, theirs["primaryMetric"]["score"].as_f64().unwrap());
            assert_eq!((ours.n_launches(), ours.values.len()), (2, 4));
        }
    }
    assert!(
        !results.notes.iter().any(|note| note.contains("secondary")),
        "percentiles are of the same values"
    );
    let histogram = &results.benchmarks[2];
    assert_eq!((histogram.n_launches(), histogram.values.len()), (2, 192));
    check("mean", summary(histogram).mean, 46.619_791_666_666_664);
}

#[test]
fn pytest_says_the_same() {
    let (results, document) = (read(&[PYTEST]), json(PYTEST));
    for (ours, theirs) in results.benchmarks.iter().zip(document["benchmarks"].as_array().unwrap())
    {
        let (summary, stats) = (summary(ours), &theirs["stats"]);
        for (key, value) in [
            ("mean", summary.mean),
            ("stddev", summary.stddev),
            ("median", summary.median),
            ("min", summary.min),
            ("max", summary.max),
        ] {
            check(key, value, stats[key].as_f64().unwrap() * 1e9);
        }
        assert_eq!(ours.launches().next().unwrap().loops(), 50);
    }
    // Without data, the reader keeps the statistics of pytest-benchmark, with their quartiles.
    let mut short = document.clone();
    for benchmark in short["benchmarks"].as_array_mut().unwrap() {
        benchmark["stats"].as_object_mut().unwrap().remove("data");
    }
    let bytes = serde_json::to_vec(&short).unwrap();
    let results = read(&[SourceFile { path: "", bytes: &bytes }]);
    let q3 = document["benchmarks"][0]["stats"]["q3"].as_f64().unwrap();
    check("q3", summary(&results.benchmarks[0]).q3, q3 * 1e9);
    assert!(results.notes.iter().any(|note| note.contains("summaries")));
}

#[test]
fn asv_says_the_same() {
    let (with, alone) = (read(&ASV), read(&ASV[..1]));
    assert!(FileFormat::Asv.wants_beside().contains(&"../benchmarks.json"));
    let time = &with.benchmarks[1];
    check("median", summary(time).median, 1.471_500_354_455_201_9e-6 * 1e9);
    assert_eq!(time.parameters, [("n".to_owned(), "100".to_owned())]);
    assert_eq!(alone.benchmarks[1].parameters, [("param1".to_owned(), "100".to_owned())]);
    check("raw", summary(named(&with, "b.timeraw_import")).median, 0.010_903_281_999_844_694 * 1e9);
    for results in [&with, &alone] {
        assert_eq!(results.benchmarks.len(), 7);
        let memory = named(results, "b.peakmem_list");
        assert_eq!((&memory.unit, &memory.values[..]), (&ResultUnit::Bytes, &[37_072_896.0][..]));
        assert_eq!(named(results, "b.TimeSuite.track_len").unit, ResultUnit::Count);
    }
}

#[test]
fn the_others_say_the_same() {
    let (results, document) = (read(&[NANOBENCH]), json(NANOBENCH));
    let median = document["results"][0]["median(elapsed)"].as_f64().unwrap();
    check("median", summary(&results.benchmarks[0]).median, median * 1e9);
    assert_eq!(results.benchmarks[0].loops[..2], [35_229, 45_215]);
    let codspeed = summary(&read(&[CODSPEED]).benchmarks[0]);
    check("mean", codspeed.mean, 1_339.473_967_315_430_6);
    check("q1", codspeed.q1, 1_086.184_281_842_818_3);
    assert_eq!(codspeed.count, Some(99));
    let julia = read(&[BENCHMARK_TOOLS]);
    assert_eq!((&*julia.benchmarks[0].name, julia.benchmarks.len()), ("utf8/join", 2));
    check("median", summary(&julia.benchmarks[0]).median, 22.0);
    assert_eq!(julia.benchmarks[0].extra("gc").unwrap()[1], Some(1.5));
    assert_eq!(julia.benchmarks[1].summary.unwrap().estimate, Some(5.0));
    let times = read(&[TIMES]);
    assert!(times.benchmarks.len() > 1 && times.benchmarks[0].n_launches() > 1);
}
