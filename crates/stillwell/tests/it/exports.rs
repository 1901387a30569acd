//! Output for other programs: hyperfine's JSON, our JSON, the completions and the manual page.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bench::Bench;

/// Every key of a document with its types. A key is a path in which all elements of a list are `[]`.
fn keys(value: &Value, path: &str, found: &mut BTreeMap<String, Vec<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = found.entry(path.into()).or_default();
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| keys(inner, &format!("{path}.{key}"), found));
        }
        Value::Array(list) => {
            list.iter().for_each(|inner| keys(inner, &format!("{path}[]"), found))
        }
        _ => {}
    }
}

#[track_caller]
fn check_superset(export: &[&str], sample: &str) {
    let bench = Bench::new();
    // The sample was made with the same: a parameter, several commands, real runs.
    let scan =
        ["-L", "n", "1,2", "-r", "3", "-N", "-n", "list", "--style", "none", "sleep 0.00{n}"];
    bench.run(&[export, &["out.json"], &scan].concat()).ends_with(0);
    let ours: Value = serde_json::from_str(&bench.read("out.json")).unwrap();
    let sample: Value = serde_json::from_str(sample).unwrap();
    let (mut our_keys, mut sample_keys) = (BTreeMap::new(), BTreeMap::new());
    keys(&ours, "", &mut our_keys);
    keys(&sample, "", &mut sample_keys);
    assert!(sample_keys.len() > 10);
    for (key, kinds) in &sample_keys {
        let ours = our_keys.get(key).unwrap_or_else(|| panic!("{export:?}: {key} is missing"));
        for kind in kinds {
            assert!(ours.contains(kind), "{export:?}: {key} is {ours:?}, not {kind}");
        }
    }
    let again = [&["show", "r.swell"], export, &["again.json"]].concat();
    let shown = bench.stillwell(&again).ends_with(0);
    assert!(shown.stderr.is_empty());
    assert_eq!(bench.read("again.json"), bench.read("out.json"));
}

#[test]
fn hyperfine_schema_2() {
    check_superset(&["--export-json"], include_str!("../../../formats/samples/hyperfine_2.0.json"));
}

#[test]
fn hyperfine_schema_1() {
    check_superset(
        &["--export", "hyperfine-1"],
        include_str!("../../../formats/samples/hyperfine_1.20.json"),
    );
}

fn scripted() -> Bench {
    let bench = Bench::new();
    bench.write("script", "1ms 1.1ms 1.2ms\n2ms 2.1ms 2.2ms\n");
    let arguments = ["--script", "script", "-w", "0", "-r", "24", "--seed", "1", "--style", "none"];
    bench.run(&[arguments.as_slice(), &["./a", "./b"]].concat()).ends_with(0);
    bench
}

/// Another program reads standard output, so only the export may be there.
#[test]
fn an_export_to_standard_output_is_alone_there() {
    let bench = scripted();
    let exports: [&[&str]; 7] = [
        &["--export-json"],
        &["--export", "hyperfine-1"],
        &["--export-csv"],
        &["--export-markdown"],
        &["--export-asciidoc"],
        &["--export-orgmode"],
        &["--export", "times"],
    ];
    for export in exports {
        let show = |to: &[&str]| {
            bench.stillwell(&[&["show", "r.swell"], export, to].concat()).ends_with(0)
        };
        show(&["file", "--json"]);
        let shown = show(&["-"]);
        assert_eq!(shown.stdout, bench.read("file"), "{export:?}");
    }
}

#[test]
fn json_is_json() {
    let bench = scripted();
    let shown = bench.stillwell(&["show", "r.swell", "--json"]).ends_with(0);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["judgements"][0]["verdict"], "slower");
    assert_eq!(document["analysis"]["arms"].as_array().unwrap().len(), 2);

    let bench = Bench::new();
    let ran = bench.run(&["-w", "0", "-r", "3", "--json", "true"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["plan"]["arms"][0]["command"], "true");
    let failed = Bench::new().run(&["-w", "0", "-r", "3", "--json", "false"]).ends_with(2);
    serde_json::from_str::<Value>(&failed.stdout).unwrap();

    let bench = scripted();
    std::fs::copy(bench.path("r.swell"), bench.path("other.swell")).unwrap();
    let same = bench.stillwell(&["compare", "--json", "r.swell", "other.swell"]).ends_with(2);
    same.says(&["r.swell", "other.swell", "the same session"]);
    let other = bench.read("r.swell").replacen("\"clock_origin_ns\":0", "\"clock_origin_ns\":1", 1);
    bench.write("other.swell", &other);
    let ran = bench.stillwell(&["compare", "--json", "r.swell", "other.swell"]).ends_with(0);
    serde_json::from_str::<Value>(&ran.stdout).unwrap();
    let dumped = bench.stillwell(&["dump", "--format", "json", "r.swell"]).ends_with(0).stdout;
    let rows: Vec<Value> = dumped.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(rows.len(), 48);
}

#[test]
fn exports_may_go_to_a_device() {
    let bench = scripted();
    bench.stillwell(&["show", "r.swell", "--export-json", "/dev/null"]).ends_with(0);
    assert!(std::fs::metadata("/dev/null").is_ok_and(|meta| !meta.is_file()));
}

/// Stillwell refuses an impossible export before it spends an hour on the measurement.
#[test]
fn an_export_into_no_directory_is_refused_at_once() {
    let bench = Bench::new();
    let arguments = ["-r", "3", "--export-csv", "no/such/directory/a.csv", "touch ran"];
    let ran = bench.run(&arguments).ends_with(2);
    ran.says(&["--export-csv", "no/such/directory/a.csv", "there is no directory"]);
    let ran = bench.run(&["-r", "3", "--export", "csv", "", "touch ran"]).ends_with(2);
    ran.says(&["--export: the name of the file is empty"]);
    assert!(!bench.path("ran").exists(), "it was measured first");
}

#[test]
fn a_file_that_nothing_can_be_appended_to_is_refused_at_once() {
    let bench = Bench::new();
    bench.write("bad.json", "{}");
    let ran = bench.stillwell(&["timeit", "--append", "bad.json", "pass"]).ends_with(2);
    let why = "--append: name a new file, or one of pyperf's: bad.json: as pyperf: missing field";
    let ran = ran.says(&[why]);
    assert!(!ran.stderr.contains("the runs are in"), "it was measured first: {}", ran.stderr);
}

/// The measurement survives an export that fails later.
#[test]
fn a_bad_export_does_not_hide_the_result() {
    let bench = Bench::new();
    let arguments = ["-w", "0", "-r", "3", "--export-csv", "/proc/a.csv", "true"];
    let ran = bench.run(&arguments).ends_with(2).says(&["--export-csv", "/proc/a.csv"]);
    assert!(!ran.stderr.contains(".tmp"), "the name of our own file is no help: {}", ran.stderr);
    assert!(
        ran.stdout.contains("true takes ") && ran.stderr.contains("r.swell"),
        "hidden: {ran:?}"
    );
}

#[test]
fn a_bad_export_does_not_prevent_the_others() {
    let bench = Bench::new();
    let bad = ["--export-csv", "/dev/full", "--export-json", "/dev/full"];
    let good = ["--report", "r.html", "--export", "json", "r.json"];
    let ran = bench.run(&[&bad[..], &good, &["-w", "0", "-r", "3", "true"]].concat());
    let both = ["--export-csv /dev/full: cannot write", "--export-json /dev/full: cannot write"];
    ran.ends_with(2).says(&both);
    assert!(bench.path("r.html").exists() && bench.path("r.json").exists());
    let show = [&["show", "r.swell", "--json"][..], &bad].concat();
    let document: Value =
        serde_json::from_str(&bench.stillwell(&show).ends_with(2).stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(both.iter().all(|it| message.contains(it)), "{message}");
}

#[test]
fn results_are_shown_beside_a_bad_export() {
    let bench = scripted();
    let bad = ["--export-csv", "/dev/full"];
    let show = |words: &[&str]| {
        let ran = bench.stillwell(&[&["show", "r.swell"][..], &bad, words].concat()).ends_with(2);
        let last = "--export-csv /dev/full: cannot write: No space left on device\n";
        assert!(ran.stderr.ends_with(last), "{ran:#?}");
        ran.stdout
    };
    let text = show(&["--fail-on", "slower:1%"]);
    assert!(text.contains("slower than ./a") && text.ends_with("exit code 2\n"), "{text}");
    let document: Value = serde_json::from_str(&show(&["--json"])).unwrap();
    assert_eq!(document["judgements"][0]["verdict"], "slower");
    assert_eq!(document["error"]["exit_code"], 2, "{:#}", document["error"]);

    let words = ["-w", "0", "-r", "3", "--json", "true"];
    let ran = Bench::new().run(&[&bad[..], &words].concat()).ends_with(2);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["analysis"]["arms"].as_array().map(Vec::len), Some(1));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("--export-csv /dev/full: cannot write"), "{message}");

    let words = ["noise", "--for", "1ms", "--json", "--raw", "/dev/full"];
    let ran = bench.stillwell(&words).ends_with(2);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("--raw /dev/full: cannot write"), "{message}");
}

/// The long options in a help text.
fn long_options(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split([' ', ',', '=', '[']));
    words.filter(|word| word.starts_with("--")).map(String::from).collect()
}

const VERBS: [&str; 8] = ["run", "show", "stats", "hist", "dump", "compare", "man", "completions"];

#[test]
fn the_manual_page_has_every_option() {
    let bench = Bench::new();
    for verb in VERBS {
        let page = bench.stillwell(&["man", verb]).ends_with(0).stdout.replace("\\-", "-");
        assert!(page.contains(".TH") && !page.contains("--host-root"), "{page}");
        let help = bench.stillwell(&[verb, "--help"]).ends_with(0).stdout;
        let options = long_options(&help);
        assert!(options.len() > if verb == "run" { 40 } else { 0 }, "{verb}: {options:?}");
        for option in options {
            assert!(page.contains(&option), "{verb} {option} is not in the manual page");
        }
    }
    let page = bench.stillwell(&["man", "run"]).ends_with(0).stdout;
    assert!(!page.contains("\\-\\-script"), "a hidden option");
}

/// The help must show every default and unit (issue 2, item 7).
#[test]
fn the_help_of_every_valued_option_says_its_default() {
    let bench = Bench::new();
    let help = bench.stillwell(&["run", "--help"]).ends_with(0).stdout;
    let mut entries: Vec<String> = Vec::new();
    for line in help.lines() {
        if line.trim_start().starts_with('-') && line.contains('<') {
            entries.push(line.trim().into());
        } else if let Some(last) = entries.last_mut().filter(|_| line.starts_with("          ")) {
            *last += " ";
            *last += line.trim();
        }
    }
    // Options without a default, because their absence means that nothing is done.
    let optional = [
        "--parameter-scan",
        "--parameter-list",
        "--subtract",
        "--setup",
        "--prepare",
        "--conclude",
        "--cleanup",
        "--validate",
        "--env ",
        "--fail-on",
        "--export",
        "--tune",
    ];
    for entry in entries.iter().filter(|entry| !optional.iter().any(|o| entry.contains(o))) {
        assert!(entry.contains("[default:"), "{entry}");
    }
}

#[test]
fn completions_know_every_verb() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.stillwell(&["completions", shell]).ends_with(0).stdout;
        for word in VERBS.into_iter().chain(["export-json", "cold-cache"]) {
            assert!(script.contains(word), "{word} is not in the completions of {shell}");
        }
    }
    let syntax = bench.stillwell(&["completions", "bash"]).stdout;
    bench.write("completions.bash", &syntax);
    let checked = bench.command("bash").args(["-n", "completions.bash"]).output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => crate::bench::skipped("there is no bash to check its completions"),
    }
}

/// A mistake about an export is found before the first run, not after the last.
#[test]
fn an_export_that_cannot_be_written_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let (long, longer) = ("x".repeat(300), format!("{}x.csv", "d/".repeat(50_000)));
    std::os::unix::fs::symlink("loop", bench.path("loop")).unwrap();
    for target in [&*long, &longer, "loop/x", "nowhere/x", "r.swell/x"] {
        for option in ["--export-csv", "--report"] {
            bench.run(&["-w", "0", "-r", "1", option, target, "touch ran"]).ends_with(2);
            assert!(!bench.path("ran").exists(), "{option} {target}");
        }
    }
}

/// The kernel sends SIGXFSZ at the limit, which ends a program without a word.
#[test]
fn a_file_that_reaches_the_limit_of_file_sizes_is_an_error() {
    let bench = Bench::new();
    bench.run(&["-w", "0", "-r", "3", "true"]).ends_with(0);
    let before = bench.path(".").read_dir().unwrap().count();
    for words in [
        &["report", "r.swell", "-o", "x.html"][..],
        &["convert", "r.swell", "-o", "x.json"],
        &["campaign", "new", "c", "--", "true"],
    ] {
        let mut shell = bench.command("sh");
        shell.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", crate::bench::STILLWELL]).args(words);
        let ran = crate::bench::Ran::from(shell.output().unwrap());
        ran.ends_with(2).says(&["File too large"]);
    }
    // Nothing is left.
    assert_eq!(bench.path(".").read_dir().unwrap().count(), before);
}
