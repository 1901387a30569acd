//! Files of other programs, in every verb that reads files.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped};

/// All samples with values.
const SAMPLES: [&str; 14] = [
    "pyperf_timeit.json",
    "pyperf_suite_ref.json",
    "pyperf_suite_ref.json.gz",
    "pyperf_suite_changed.json",
    "pyperf_pypy.json",
    "pyperf_noisy_aa_200procs.json",
    "hyperfine_1.15.json",
    "google_benchmark.json",
    "criterion",
    "go_bench.txt",
    "jmh.json",
    "pytest_benchmark.json",
    "asv",
    "nanobench.json",
];
/// All samples with summaries only.
const SUMMARIES: [&str; 2] = ["hyperfine_2.0.csv", "pytest_codspeed_walltime.json"];

fn sample(name: &str) -> String {
    format!("{}/../formats/samples/results/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// `metadata` and `slowest` are parts of `show`; the old verbs say the same.
#[test]
fn the_hidden_verbs_are_parts_of_others() {
    let bench = Bench::new();
    let file = sample("pyperf_suite_ref.json");
    for (old, new) in [
        (&["metadata"][..], &["show", "--metadata"][..]),
        (&["metadata", "--json"], &["show", "--metadata", "--json"]),
        (&["slowest", "--first", "3"], &["show", "--slowest=3"]),
        (&["slowest"], &["show", "--slowest"]),
    ] {
        let run = |words: &[&str]| {
            let ran = bench.stillwell(&[words, &[file.as_str()]].concat());
            assert_eq!(ran.code, Some(0), "{words:?}: {ran:#?}");
            ran.stdout
        };
        let (of_old, of_new) = (run(old), run(new));
        assert!(of_old == of_new && !of_old.is_empty(), "{old:?}: {of_old}\n{new:?}: {of_new}");
    }
}

#[test]
fn every_verb_reads_every_sample() {
    let bench = Bench::new();
    for name in SAMPLES {
        let file = sample(name);
        for verb in [
            &["show"][..],
            &["stats"],
            &["hist"],
            &["metadata"],
            &["slowest"],
            &["dump"],
            &["dump", "--format", "text"],
            &["dump", "--format", "json"],
            &["stats", "--json"],
            &["show", "--json"],
            &["metadata", "--json"],
        ] {
            let ran = bench.stillwell(&[verb, &[&file]].concat()).ends_with(0);
            assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{verb:?} {name}: {ran:#?}");
        }
        let check = bench.stillwell(&["check", &file]);
        assert!(matches!(check.code, Some(0 | 1 | 3)) && check.stderr.is_empty(), "{check:#?}");
    }
}

/// A file with summaries shows these, and no statistic of values.
#[test]
fn summaries_are_shown_and_nothing_is_made_of_them() {
    let bench = Bench::new();
    for name in SUMMARIES {
        let file = sample(name);
        for verb in ["show", "stats"] {
            let ran = bench.stillwell(&[verb, &file]).ends_with(0);
            assert!(ran.stdout.contains("mean "), "{ran:#?}");
            assert!(ran.stdout.contains("summaries, not values"), "{ran:#?}");
        }
        for verb in ["hist", "check", "dump"] {
            let ran = bench.stillwell(&[verb, &file]).ends_with(2);
            ran.says(&[name, "only summaries"]);
        }
    }
}

/// A record keeps all content of the file, so every verb prints the same of both.
#[test]
fn a_record_of_a_file_is_as_good_as_the_file() {
    let bench = Bench::new();
    for name in SAMPLES {
        let file = sample(name);
        let record = format!("{name}.swell");
        bench.stillwell(&["convert", &file, "-o", &record]).ends_with(0);
        for verb in [&["metadata"][..], &["dump", "--format", "text"], &["slowest"]] {
            let of = |path: &str| bench.stillwell(&[verb, &[path]].concat()).ends_with(0).stdout;
            assert_eq!(of(&file), of(&record), "{verb:?} {name}");
        }
        let arms = |path: &str| json(&bench.stillwell(&["stats", "--json", path]))["arms"].clone();
        assert_eq!(arms(&file), arms(&record), "{name}");
    }
}

#[test]
fn pyperf_files_go_through_a_record_unchanged() {
    let bench = Bench::new();
    for name in SAMPLES.iter().filter(|name| name.starts_with("pyperf")) {
        let (file, record) = (sample(name), format!("{name}.swell"));
        bench.stillwell(&["convert", &file, "-o", &record]).ends_with(0);
        let of = |path: &str| {
            let ran = bench.stillwell(&["convert", path, "--stdout", "--to", "pyperf"]);
            json(&ran.ends_with(0))
        };
        assert_eq!(of(&file), of(&record), "{name}");
    }
}

#[test]
fn standard_input_and_a_forced_format() {
    let bench = Bench::new();
    let mut command = bench.command(STILLWELL);
    command.args(["show", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let bytes = std::fs::read(sample("pyperf_suite_ref.json.gz")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("dict_get"), "{ran:#?}");
    let file = sample("pyperf_suite_ref.json");
    let wrong = bench.stillwell(&["show", "--format", "hyperfine", &file]).ends_with(2);
    wrong.says(&["pyperf_suite_ref.json: as hyperfine JSON", "results"]);
    let twice = bench.stillwell(&["show", "-", "-"]).ends_with(2);
    twice.says(&["standard input (-) can be read only once"]);
}

#[test]
fn wrong_files_are_named_with_what_is_wrong() {
    let bench = Bench::new();
    let gz = std::fs::read(sample("pyperf_suite_ref.json.gz")).unwrap();
    std::fs::write(bench.path("cut.json.gz"), &gz[..gz.len() / 2]).unwrap();
    bench.write("empty.json", "");
    bench.write("other.txt", "hello\n");
    std::fs::create_dir(bench.path("nothing")).unwrap();
    bench.write("none.json", r#"{"benchmarks":[],"version":"1.0"}"#);
    let run = r#"{"metadata":{"name":"a"},"runs":[{"values":[1.0]}]}"#;
    bench.write("twice.json", &format!(r#"{{"benchmarks":[{run},{run}],"version":"1.0"}}"#));
    bench.write("warm.json", r#"{"benchmarks":[{"metadata":{"name":"a"},"runs":[{"warmups":[[1,1.0]]}]}],"version":"1.0"}"#);
    for (file, said) in [
        ("cut.json.gz", "cannot unpack gzip"),
        ("empty.json", "the file is empty"),
        ("other.txt", "its format is not known"),
        ("none.json", "its format is not known"),
        ("warm.json", "there are no values"),
        ("no-such.json", "cannot read no-such.json"),
        ("nothing", "is a directory"),
    ] {
        bench.stillwell(&["hist", file]).ends_with(2).says(&[file, said]);
    }
    let twice = bench.stillwell(&["show", "twice.json"]).ends_with(0);
    assert!(twice.stdout.contains("its results are numbered"), "{twice:#?}");
    let file = sample("pyperf_suite_ref.json");
    let unknown = bench.stillwell(&["stats", "-b", "nothing", &file]).ends_with(2);
    unknown.says(&["there is no benchmark \"nothing\"; there are: dict_get, list_mul"]);
}

#[test]
fn several_files_are_on_one_scale() {
    let bench = Bench::new();
    let (one, other) = (sample("pyperf_suite_ref.json"), sample("pyperf_suite_changed.json"));
    // The second file lacks some benchmarks of the first.
    let ran = bench.stillwell(&["hist", "--bins", "5", &one, &other]).ends_with(0);
    let edges = |text: &str| -> Vec<String> {
        let of_row = |line: &str| Some(line.split_once('│')?.0.trim().to_owned());
        text.lines().filter_map(of_row).filter(|edge| !edge.starts_with('>')).collect()
    };
    let ran = bench
        .stillwell(&["hist", "--bins", "5", "-b", "split", &one, &other])
        .ends_with(ran.code.unwrap());
    let edges = edges(&ran.stdout);
    assert_eq!(edges.len(), 10, "{ran:#?}");
    assert_eq!(edges[..5], edges[5..]);
    for verb in ["show", "stats", "metadata"] {
        let ran = bench.stillwell(&[verb, &one, &other]).ends_with(0);
        assert_eq!(ran.stdout.matches("== ").count(), 2, "{ran:#?}");
    }
}

#[test]
fn a_file_against_itself_is_never_different() {
    let bench = Bench::new();
    // Unequal numbers of values, single values, values without a spread.
    bench.write(
        "odd.json",
        r#"{"benchmarks":[{"metadata":{"name":"unequal"},"runs":[{"values":[1.0]},{"values":[1.1,1.2]}]},
            {"metadata":{"name":"single"},"runs":[{"values":[1.0]}]},
            {"metadata":{"name":"still"},"runs":[{"values":[2.0,2.0]},{"values":[2.0,2.0]}]}],"version":"1.0"}"#,
    );
    for options in [&[][..], &["-G"], &["--table-format", "rst"], &["--by", "median"]] {
        let ran =
            bench.stillwell(&[&["compare", "odd.json", "odd.json"], options].concat()).ends_with(0);
        assert!(
            ran.stdout.contains("no verdict") && !ran.stdout.contains("significant"),
            "{ran:#?}"
        );
        assert!(
            !ran.stdout.contains("slower, by") && !ran.stdout.contains("faster, by"),
            "{ran:#?}"
        );
    }
    bench.stillwell(&["compare", "--fail-on", "slower", "odd.json", "odd.json"]).ends_with(3);
    let check = bench.stillwell(&["check", "odd.json"]).ends_with(3);
    assert!(check.stdout.contains("too few runs"), "{check:#?}");
}

#[test]
fn other_machines_are_said() {
    let bench = Bench::new();
    let (one, other) = (sample("pyperf_timeit.json"), sample("pyperf_pypy.json"));
    let ran = bench.stillwell(&["compare", &one, &other]).ends_with(0);
    assert!(ran.stdout.contains("python_implementation differs: cpython; pypy in 2"), "{ran:#?}");
}

/// Even if the new session takes twice as long, separate sessions have no verdict.
#[test]
fn the_last_of_six_files_has_a_place_among_the_others() {
    let bench = Bench::new();
    let names: Vec<String> = (0..6).map(|session| format!("{session}.json")).collect();
    for (session, name) in names.iter().enumerate() {
        let base = if session == 5 { 2.0 } else { 1.0 + session as f64 / 1000.0 };
        let runs: Vec<String> = (0..20)
            .map(|run| format!(r#"{{"values":[{}]}}"#, base + f64::from(run) / 1e4))
            .collect();
        bench.write(
            name,
            &format!(
                r#"{{"benchmarks":[{{"metadata":{{"name":"a"}},"runs":[{}]}}],"version":"1.0"}}"#,
                runs.join(",")
            ),
        );
    }
    let mut words = vec!["compare", "--fail-on", "slower"];
    words.extend(names.iter().map(String::as_str));
    let ran = bench.stillwell(&words).ends_with(3);
    assert!(
        ran.stdout.contains("NO VERDICT") && ran.stdout.contains("slower than all 5 past sessions"),
        "{ran:#?}"
    );
    words[1..3].copy_from_slice(&["--json", "--distributions"]);
    let found = &json(&bench.stillwell(&words).ends_with(0))["pairs"][0];
    let past = &found["comparison"]["evidence"]["past"];
    assert_eq!((&past["n_sessions"], &past["n_faster"]), (&5.into(), &5.into()), "{found}");
    assert_eq!(found["judgement"]["verdict"], "undecided");
}

#[test]
fn files_are_changed_on_the_way() {
    let bench = Bench::new();
    let file = sample("pyperf_suite_ref.json");
    let edited = [
        "convert",
        &file,
        "-o",
        "out.json.gz",
        "--include-benchmark",
        "dict_get",
        "--exclude-runs",
        "1,2",
        "--remove-warmups",
        "--update-metadata",
        "name=get,branch=new",
    ];
    bench.stillwell(&edited).ends_with(0);
    let bytes = std::fs::read(bench.path("out.json.gz")).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    let text = bench.stillwell(&["dump", "--format", "text", "out.json.gz"]).ends_with(0).stdout;
    assert_eq!(text.matches("launch ").count(), 4, "{text}");
    assert!(!text.contains("warm-up 1") && !text.contains("calibration"), "{text}");
    let metadata = bench.stillwell(&["metadata", "out.json.gz"]).ends_with(0).stdout;
    assert!(metadata.contains("branch: new"), "{metadata}");
    let taken = bench.stillwell(&["convert", &file, "-o", "out.json.gz"]).ends_with(2);
    taken.says(&["out.json.gz exists already"]);
    let both = bench.stillwell(&["convert", &file, &file, "--stdout"]).ends_with(0);
    assert_eq!(json(&both)["benchmarks"][0]["runs"].as_array().unwrap().len(), 12);
    let extracted =
        bench.stillwell(&["convert", &file, "--stdout", "--extract-metadata", "mem_max_rss"]);
    assert_eq!(json(&extracted.ends_with(0))["metadata"]["unit"], "byte");
}

/// A session of `run`, with its names and all its runs.
#[test]
fn what_we_measured_for_others() {
    let bench = Bench::new();
    bench.write("script", "5ms 5.1ms 5.2ms\n7ms 7.1ms 7.2ms\n");
    let exports = [
        "--export", "pyperf", "out.json", "--export", "bmf", "bmf.json", "--export", "csv",
        "out.csv",
    ];
    let run = ["--script", "script", "-w", "1", "-r", "3", "--style", "none", "./a", "./b"];
    bench.run(&[exports.as_slice(), &run].concat()).ends_with(0);
    let suite: Value = serde_json::from_str(&bench.read("out.json")).unwrap();
    let runs = suite["benchmarks"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["values"].is_array()).count(), 3, "{suite}");
    assert_eq!(suite["benchmarks"][1]["metadata"]["name"], "./b");
    let bmf: Value = serde_json::from_str(&bench.read("bmf.json")).unwrap();
    assert!(bmf["./a"]["latency"]["value"].as_f64().unwrap() > 4e6, "{bmf}");
    let wrong = bench.stillwell(&["show", "r.swell", "--export", "xml", "x"]).ends_with(2);
    wrong.says(&["--export xml", "the formats are json"]);
}

/// `--append` puts the processes of both sessions into one benchmark. Real pyperf, if installed, reads the same.
#[test]
fn pyperf_reads_what_timeit_appends() {
    let bench = Bench::new();
    let timeit = |more: &[&str]| {
        let words = [
            "timeit", "-q", "-r", "2", "--values", "3", "--name", "add", "--append", "all.json",
            "1+1",
        ];
        bench.stillwell(&[words.as_slice(), more].concat())
    };
    let first = timeit(&["-o", "one.swell"]);
    if first.code != Some(0) && first.stderr.contains("python3") {
        skipped(&format!("there is no python3: {}", first.stderr));
        return;
    }
    first.ends_with(0);
    timeit(&["-o", "two.swell"]).ends_with(0);
    let suite: Value = serde_json::from_str(&bench.read("all.json")).unwrap();
    let runs = suite["benchmarks"][0]["runs"].as_array().unwrap();
    let n_values = |run: &Value| run["values"].as_array().map_or(0, Vec::len);
    assert_eq!(runs.iter().map(n_values).collect::<Vec<_>>().iter().sum::<usize>(), 12, "{suite}");
    let Some(python) = python_with_pyperf(&bench) else { return };
    let script = "import pyperf, sys\n\
                  for b in pyperf.BenchmarkSuite.load(sys.argv[1]): print(repr(b.mean()), repr(b.median()))";
    let said = bench.command(&python).args(["-c", script, "all.json"]).output().unwrap();
    let said = Ran::from(said).ends_with(0);
    let theirs: Vec<f64> =
        said.stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let ours = json(&bench.stillwell(&["stats", "--json", "all.json"]).ends_with(0));
    let wall = &ours["arms"][0]["wall"];
    for (name, theirs) in ["mean", "median"].iter().zip(theirs) {
        let ours = wall[name]["value"].as_f64().unwrap() / 1e9;
        assert!((ours / theirs - 1.0).abs() < 1e-12, "{name}: {ours} and {theirs}");
    }
    for verb in ["show", "stats", "check", "metadata", "hist", "dump"] {
        let ran = Ran::from(
            bench.command(&python).args(["-m", "pyperf", verb, "all.json"]).output().unwrap(),
        );
        assert!(!ran.ends_with(0).stdout.is_empty());
    }
}

/// A Python with pyperf: the default one, or the one that $PYPERF names. Prints why there is none.
fn python_with_pyperf(bench: &Bench) -> Option<String> {
    let named = std::env::var("PYPERF").ok();
    let pythons = named.into_iter().chain(["python3".into()]);
    let has_pyperf = |python: &String| {
        let run = bench.command(python).args(["-c", "import pyperf"]).output();
        run.is_ok_and(|output| output.status.success())
    };
    let found = pythons.into_iter().find(has_pyperf);
    if found.is_none() {
        skipped(
            "no Python has pyperf: python3 -m pip install pyperf, or set PYPERF to one that has it",
        );
    }
    found
}

#[test]
fn the_samples_are_there() {
    for name in SAMPLES.iter().chain(&SUMMARIES) {
        assert!(Path::new(&sample(name)).exists(), "{name}");
    }
}
