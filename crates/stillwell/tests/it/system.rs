//! `system`: its output for every machine in crates/host/tests/hosts. Only one test reads the machine that runs the tests, and it says
//! so.

use std::path::{Path, PathBuf};

use crate::bench::{Bench, Ran, STILLWELL, skipped};

#[path = "../../../host/src/fixture_text.rs"]
mod fixture_text;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/hosts")
}

/// A machine in the directory of a test.
struct Host {
    bench: Bench,
}

impl Host {
    fn new(name: &str) -> Self {
        let text = std::fs::read_to_string(directory().join(format!("{name}.txt"))).unwrap();
        Self::of(&text)
    }

    fn of(text: &str) -> Self {
        let bench = Bench::new();
        fixture_text::unpack(text, &bench.path("machine"));
        Self { bench }
    }

    fn system(&self, args: &[&str]) -> Ran {
        let root = self.bench.path("machine");
        let root = root.to_str().unwrap();
        let mut all = vec!["system"];
        all.extend(args);
        all.extend(["--host-root", root]);
        self.bench.stillwell(&all)
    }

    /// The command line, output and exit code of an action.
    fn shown(&self, args: &[&str]) -> String {
        let ran = self.system(args);
        for line in ran.stdout.lines() {
            assert_eq!(line.trim_end(), line);
        }
        format!(
            "$ stillwell system {}\n{}{}exit code {}\n\n",
            args.join(" "),
            ran.stdout,
            ran.stderr,
            ran.code.unwrap()
        )
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned())).collect();
    names.sort();
    names
}

/// Machines with only the files of the facts, which lack most knobs. They have no page, but the other tests use them.
const FACTS_ONLY: [&str; 6] = [
    "aarch64-big-little",
    "acpi-cpufreq-numa",
    "amd-pstate-desktop",
    "docker-cpu-max",
    "intel-pstate-laptop",
    "qemu-one-cpu",
];

/// The pages in tests/hosts/shown. A developer reads each page that changes.
#[test]
fn every_machine_is_shown() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/shown"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    // One loop makes three checks, because unpacking a machine takes longest.
    for name in &names() {
        let host = Host::new(name);
        let show = host.shown(&["show", "--all"]);
        check_document(name, &host, &show);
        check_width(name, &host, &show);
        if !FACTS_ONLY.contains(&name.as_str()) {
            insta::assert_snapshot!(name.as_str(), show + &host.shown(&["boot"]));
        }
    }
}

/// Without --all, what asks for nothing is a line with numbers.
#[test]
fn only_all_shows_what_does_not_apply() {
    let host = Host::new("intel-hybrid");
    let (few, all) = (host.system(&["show"]).stdout, host.system(&["show", "--all"]).stdout);
    for group in ["fine", "good to know", "not on this machine"] {
        assert!(all.contains(&format!("\n{group}\n")), "{group}: {all}");
        assert!(!few.contains(&format!("\n{group}\n")), "{group}: {few}");
    }
    let last = few.lines().last().unwrap();
    let count = |text: &str| -> usize {
        let numbers = text.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
        numbers.sum()
    };
    assert!(last.starts_with("--all shows more: "), "{few}");
    let n_hidden = all.lines().filter(|line| line.starts_with("  ")).count()
        - few.lines().filter(|line| line.starts_with("  ")).count();
    // A knob may have several lines.
    assert!((10..=n_hidden).contains(&count(last)), "{last}: {n_hidden} lines");
    // The conclusion and the remedy are the first lines.
    assert!(few.contains("settings add noise and can be changed now.\nto change: sudo "), "{few}");
}

/// Names, contents and modification times of all files below a directory.
fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let modified = entry.metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            found.extend(tree(&path));
            found.push((path, Vec::new(), modified));
        } else {
            let content = std::fs::read(&path).unwrap();
            found.push((path, content, modified));
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_is_written() {
    let host = Host::new("intel-hwp-active");
    let before = tree(&host.bench.path("machine"));
    for args in
        [&["show", "-v"][..], &["show", "--cpus", "3,7"], &["boot", "--no-smt"], &["capture"]]
    {
        host.system(args);
    }
    assert_eq!(tree(&host.bench.path("machine")), before);
}

/// Asserts that the exit code and the document agree with the text.
#[track_caller]
fn check_document(name: &str, host: &Host, show: &str) {
    let ran = host.system(&["show", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let system = &document["system"];
    let knobs = system["knobs"].as_array().unwrap();
    assert!(knobs.len() >= 40, "{name}: {} knobs", knobs.len());
    let is_tuned = knobs.iter().all(|knob| knob["standing"] != "not_tuned");
    assert_eq!(system["is_tuned"], is_tuned, "{name}");
    assert_eq!(system["command"].is_null(), is_tuned, "{name}");
    assert_eq!(ran.code, Some(i32::from(!is_tuned)), "{name}");
    for knob in knobs {
        // A knob is open exactly if there is a setting to write.
        let writes = !knob["settings"].as_array().unwrap().is_empty();
        let is_open = ["not_tuned", "on_request"].contains(&knob["standing"].as_str().unwrap());
        assert_eq!(writes, is_open, "{name}: {knob}");
        let said = ["now", "why", "advice"].iter().any(|key| knob[key].is_string());
        assert!(said, "{name}: {knob}");
        // Knobs that cannot be set for the same reason share a line.
        let knob = knob["name"].as_str().unwrap();
        let starts = ["\n  ", " "]
            .map(|before| [" ", ",", ":"].map(|after| format!("{before}{knob}{after}")));
        let is_named = starts.iter().flatten().any(|text| show.contains(text));
        assert!(is_named, "{name}: no line for {knob:?}\n{show}");
    }
}

/// Lines end at 80 columns on every terminal. A line that the user may copy is never cut.
#[track_caller]
fn check_width(name: &str, host: &Host, show: &str) {
    for columns in ["40", "200"] {
        let mut command = host.bench.command(STILLWELL);
        let root = host.bench.path("machine");
        command.env("COLUMNS", columns).args(["system", "show", "--all", "--host-root"]).arg(root);
        let ran = Ran::from(command.output().unwrap());
        assert!(show.contains(&ran.stdout), "{name} at {columns} columns: {}", ran.stdout);
    }
    let long = show.lines().filter(|line| line.chars().count() > 80);
    let long: Vec<&str> =
        long.filter(|line| !line.starts_with("to change: ") && !line.contains(" -> ")).collect();
    assert!(long.is_empty(), "{name}: {long:#?}");
}

#[test]
fn bad_cpus_are_refused_in_a_sentence() {
    let host = Host::new("intel-passive");
    host.system(&["show", "--cpus", "9"])
        .ends_with(2)
        .says(&["CPU 9 is not online; the CPUs of this machine are 0-3"]);
    host.system(&["show", "--cpus", "0-3"])
        .ends_with(2)
        .says(&["--cpus 0-3 are all CPUs of this machine; leave at least one core"]);
    host.system(&["boot", "--cpus", "0-1"]).ends_with(2).says(&["contains CPU 0"]);
    host.system(&["show", "--cpus", "(null)"]).ends_with(2).says(&["is not a CPU number"]);
    host.system(&["show", "--cpus", "0-7:3/2"]).ends_with(2).says(&["is not USED/GROUP"]);
    host.system(&["sho"]).ends_with(2).says(&["show"]);
    // The CPU numbers have holes: CPU 3 exists and is offline.
    let sparse = Host::new("smt-off-sparse");
    sparse
        .system(&["show", "--cpus", "2-3"])
        .ends_with(2)
        .says(&["CPU 3 is not online; the CPUs of this machine are 0,2,4,6"]);
    // Other programs cannot read such a list, but Stillwell does.
    assert_eq!(sparse.system(&["show", "--cpus", "2-6:1/2"]).code, Some(1));
}

/// A file of a machine may be unreadable or have any content. The output is then still a sentence.
#[test]
fn strange_files_are_no_panic() {
    let text = std::fs::read_to_string(directory().join("intel-hwp-active.txt")).unwrap();
    let paths = || {
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" ="))
    };
    for content in [" !", " = -1", " = \\0\\xff\\xfe", " = 99999999999999999999", " = (null)", " ="]
    {
        let strange: String = paths().map(|(path, _)| format!("{path}{content}\n")).collect();
        let host = Host::of(&strange);
        for args in [&["show", "-v"][..], &["show", "--json"], &["boot"], &["capture"]] {
            let ran = host.system(args);
            assert!(matches!(ran.code, Some(0..=2)), "{content} {args:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{content}: {}", ran.stderr);
        }
    }
    let nothing = Host::of("proc/nothing =\n");
    let ran = nothing.system(&["show"]).ends_with(0);
    assert!(ran.stdout.contains("the kernel does not show its CPUs"), "{}", ran.stdout);
    nothing.system(&["boot"]).ends_with(2).says(&["name some with --cpus LIST"]);
    nothing.system(&["show", "--cpus", "1"]).ends_with(2).says(&["CPU 1 is not online"]);
}

/// The only test that reads the real machine, as the user who runs the tests.
#[test]
fn this_machine_can_be_looked_at() {
    let bench = Bench::new();
    let ran = bench.stillwell(&["system"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert!(ran.stdout.contains("\nCPUs\n"), "{}", ran.stdout);
    let counted = bench.stillwell(&["system", "show", "--count", "20ms", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&counted.stdout).unwrap();
    for row in document["system"]["table"].as_array().unwrap() {
        let rate = row["irqs_per_second"].as_f64();
        assert!(rate.is_none_or(|rate| (0.0..1e7).contains(&rate)), "{row}");
    }
}

/// The examples and the table of docs/machine.md equal the program's output. `make bless` writes them.
#[test]
fn the_documentation_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machine.md");
    let is = std::fs::read_to_string(&path).unwrap();
    let should = with_knobs(&with_examples(&is));
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(&path, should).unwrap();
        return;
    }
    assert_eq!(is, should, "docs/machine.md is out of date; run `make bless`");
}

/// Runs the command of each code block on the machine that the block names.
fn with_examples(page: &str) -> String {
    let mut parts = page.split("```console ");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (block, rest) = part.split_once("\n```\n").unwrap();
        let (name, block) = block.split_once('\n').unwrap();
        let command = block.lines().next().unwrap();
        let args = command.strip_prefix("$ stillwell system").unwrap().split_whitespace();
        let ran = Host::new(name).system(&args.collect::<Vec<_>>());
        let said = format!("{command}\n{}{}", ran.stdout, ran.stderr);
        out += &format!("```console {name}\n{}\n```\n{rest}", said.trim_end());
    }
    out
}

/// The knobs that `system tune` turns, those that it turns by name, and those that are only shown.
fn with_knobs(page: &str) -> String {
    let ran = Host::of("proc/nothing =\n").system(&["show", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let head = |what: &str| format!("| {what} | what makes noise |\n|---|---|\n");
    let mut tables = [head("turned by `tune`"), head("with `--only`"), head("shown only")];
    for knob in document["system"]["knobs"].as_array().unwrap() {
        let text = |key: &str| knob[key].as_str().unwrap().replace('|', "\\|");
        let is_shown_only = knob["files"].as_array().unwrap().is_empty();
        let table = if is_shown_only { 2 } else { usize::from(knob["by_default"] == false) };
        let star = if text("sure") == "tested" { " \\*" } else { "" };
        let needs = text("needs");
        let needs =
            needs.trim_start_matches("root").trim_start_matches(" and ").trim_start_matches(", ");
        let is_more = !is_shown_only && !needs.is_empty();
        let needs = if is_more { format!(" (needs {needs})") } else { String::new() };
        tables[table] += &format!("| `{}`{star} | {}{needs} |\n", text("name"), text("noise"));
    }
    let (before, rest) = page.split_once("<!-- knobs -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /knobs -->").unwrap();
    format!("{before}<!-- knobs -->\n{}<!-- /knobs -->{after}", tables.join("\n"))
}

/// Reads this machine. Which CPUs slow each other is measured once after a boot; what was kept is used again.
#[test]
fn the_cores_that_were_measured_are_kept() {
    let bench = Bench::new();
    let system = |arguments: &[&str]| {
        let mut command = bench.command(STILLWELL);
        command.arg("system").args(arguments).env("XDG_CACHE_HOME", bench.path("cache"));
        Ran::from(command.output().unwrap())
    };
    let report: serde_json::Value = serde_json::from_str(&system(&["--json"]).stdout).unwrap();
    let measured = &report["system"]["core_pairs"];
    if measured.is_null() {
        skipped("needs a virtual machine with two CPUs, and the probe of its architecture");
        return;
    }
    let mut kept = measured.clone();
    let (one, other) = (&kept["online"][0].clone(), &kept["online"][1].clone());
    kept["busy"] = serde_json::json!([]);
    kept["pairs"] =
        serde_json::json!([{"cpus": [one, other], "slowdown": 1.5, "interval": [1.4, 1.6]}]);
    bench.write("cache/stillwell/cores.json", &kept.to_string());
    let shown = system(&[]).stdout.replace("\n  ", " ");
    let expected = format!("measured: CPUs {one} and {other} share a core, though");
    assert!(shown.contains(&expected), "{shown}");
    kept["boot_id"] = "another boot".into();
    bench.write("cache/stillwell/cores.json", &kept.to_string());
    assert!(!system(&[]).stdout.contains("share a core"));
}
