//! The quantity that decides: a value that the program says, memory, a count. And programs that do not say theirs.

use serde_json::Value;

use crate::bench::{Bench, Ran, skipped};

/// Says a value that depends on its name, with a little noise.
const SERVER: &str = "#!/bin/sh
n=$(( $(cat count 2>/dev/null || echo 0) + 1 )); echo $n > count
noise=$(( (n * 7919) % 13 ))
echo \"warming up: 1 req/s\"
echo \"throughput: $(( $1 + noise )).5 req/s\"
echo \"{\\\"latency\\\": {\\\"p99\\\": $(( $1 + noise ))}}\" > result.json
";

const VALUE: [&str; 4] = ["--value", r"throughput: ([0-9.]+)", "--value-unit", "req/s"];

fn server() -> Bench {
    let bench = Bench::new();
    bench.script("server", SERVER);
    bench
}

fn run(bench: &Bench, options: &[&str]) -> Ran {
    bench.run(&[options, &["-w", "0", "-r", "30", "./server 1000", "./server 1200"]].concat())
}

#[test]
fn more_throughput_is_better_only_where_higher_is() {
    let higher = run(&server(), &[&VALUE[..], &["--value-better", "higher"]].concat()).ends_with(0);
    let sentence = higher.stdout.replace('\n', " ");
    assert!(
        sentence.contains("higher than ./server 1000") && sentence.contains("better"),
        "{sentence}"
    );
    assert!(higher.stdout.contains("req/s") && higher.stdout.contains("median"), "{higher:#?}");
    let lower = run(&server(), &VALUE);
    assert!(lower.stdout.replace('\n', " ").contains("which is worse"), "{lower:#?}");
    assert!(!lower.stdout.contains("slower") && !lower.stdout.contains("faster"), "{lower:#?}");
}

/// As with a verdict: a ratio above 1 is worse in documents, and the best stands first.
#[test]
fn without_a_verdict_the_direction_is_known_too() {
    let bench = server();
    let short = ["--value-better", "higher", "-w", "0", "-r", "3", "--json"];
    let options = [&VALUE[..], &short, &["./server 1000", "./server 1200"]].concat();
    let document: Value = serde_json::from_str(&bench.run(&options).ends_with(0).stdout).unwrap();
    let effect = &document["conclusion"]["effects"][0];
    assert!(effect["ratio"].as_f64().unwrap() < 1.0, "{effect:#}");
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout;
    let row = |name: &str| shown.find(&format!("\n{name}  ")).unwrap();
    assert!(row("./server 1200") < row("./server 1000"), "{shown}");
    assert!(shown.contains("about 1."), "{shown}");
}

#[test]
fn a_gate_knows_the_direction() {
    let gate = |better: &str| {
        // A gate passes when it knows the mean too: from 44 pairs on.
        let options = ["--value-better", better, "--fail-on", "slower:5%", "-w", "0", "-r", "48"];
        server().run(&[&VALUE[..], &options, &["./server 1000", "./server 1200"]].concat())
    };
    gate("higher").ends_with(0);
    let failed = gate("lower").ends_with(1);
    assert!(failed.stdout.contains("gate: fail"), "{failed:#?}");
}

#[test]
fn a_value_of_a_file_is_in_the_record_and_in_the_exports() {
    let bench = server();
    let options = ["--value-json", "/latency/p99", "--value-file", "result.json"];
    let json = ["--value-unit", "ms", "--json", "--export-csv", "t.csv"];
    let ran = run(&bench, &[&options[..], &json].concat()).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let median = &document["analysis"]["arms"][0]["wall"]["median"]["value"];
    let ns = median.as_f64().unwrap();
    assert!((1e9..1.013e9).contains(&ns), "1000 to 1012 ms, not {ns} ns");
    let metrics = document["analysis"]["arms"][0]["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    assert_eq!(named("value")["n"], 30);
    assert!(named("wall")["median"].as_f64().unwrap() < 1e9, "the wall time is kept too");
    let csv = bench.read("t.csv");
    assert!(csv.lines().next().unwrap().contains("value"), "{csv}");
    let record = bench.record();
    assert!(record.header["columns"].as_array().unwrap().contains(&"value".into()));
}

#[test]
fn a_run_that_does_not_say_its_value_is_a_failure() {
    let bench = Bench::new();
    // The file of an earlier run does not count.
    bench.script("once", "#!/bin/sh\n[ -e done ] || echo 5 > out; touch done; echo oops >&2\n");
    let options = ["--value", "[0-9]+", "--value-file", "out", "-w", "0", "-r", "3", "./once"];
    let ran =
        bench.run(&options).ends_with(2).says(&["did not say its value", "did not write out"]);
    assert!(ran.stdout.contains("FAILED: ./once did not say its value in its run 2"), "{ran:#?}");
    assert!(ran.stdout.contains("oops"), "{ran:#?}");
    assert_eq!(bench.record().end(), Some("failed"));
    let ignored = Bench::new();
    ignored.script("never", "#!/bin/sh\nexit 3\n");
    ignored
        .run(&["--value", "x", "-i", "-w", "0", "-r", "3", "./never"])
        .ends_with(2)
        .says(&["no run has said its value"]);
}

#[test]
fn memory_decides_in_words_of_memory() {
    let bench = Bench::new();
    let use_memory = "python3 -c \"x = bytearray(64 << 20)\"";
    let options = ["--decide-on", "maxrss", "-w", "0", "-r", "12", "python3 -c pass", use_memory];
    let ran = bench.run(&options).ends_with(0);
    assert!(ran.stdout.replace('\n', " ").contains("times as much memory as"), "{ran:#?}");
    assert!(ran.stdout.contains("worse") && ran.stdout.contains("MiB"), "{ran:#?}");
}

#[test]
fn a_time_can_decide_beside_a_value() {
    let options =
        ["--decide-on", "wall", "--value", "t", "-w", "0", "-r", "12", "echo t", "echo t"];
    let bench = Bench::new();
    bench.run(&options).ends_with(2).says(&["where a number is expected"]);
    let options =
        ["--decide-on", "wall", "--value", "1", "-w", "0", "-r", "12", "echo 1", "echo 1"];
    let ran = Bench::new().run(&options).ends_with(0);
    assert!(ran.stdout.contains("t0"), "{ran:#?}");
}

#[test]
fn a_report_of_several_quantities_has_the_words_of_each() {
    let bench = Bench::new();
    let suite = r#"
[[variant]]
name = "old"
env = { X = "107" }
[[variant]]
name = "new"
env = { X = "120" }
[[benchmark]]
name = "time"
command = "sh -c 'echo v $X'"
value = "v (.+)"
value_unit = "ms"
[[benchmark]]
name = "count"
command = "sh -c 'echo v $X'"
value = "v (.+)"
"#;
    bench.write("s.toml", suite);
    bench.stillwell(&["bench", "s.toml", "--runs", "12", "--report", "r.html"]).ends_with(0);
    let page = bench.read("r.html");
    let n_of = |word: &str| page.matches(&format!("\"word\":\"{word}\"")).count();
    assert_eq!(["SLOWER", "WORSE"].map(n_of), [1, 1], "{page}");
}

#[test]
fn a_suite_has_values_and_a_quantity_too() {
    let bench = server();
    let suite = r#"
[[variant]]
name = "old"
[[variant]]
name = "new"
[[benchmark]]
name = "serve"
command = "./server 1000"
value = "throughput: ([0-9.]+)"
value_better = "higher"
[[benchmark]]
name = "memory"
command = "true"
policy = { decide_on = "maxrss" }
"#;
    bench.write("s.toml", suite);
    let ran =
        bench.stillwell(&["bench", "s.toml", "--runs", "12", "-o", "out", "--json"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = document.to_string();
    assert!(text.contains("serve") && text.contains("memory"), "{text}");
    let shown = bench.stillwell(&["show", "out"]).ends_with(0).stdout;
    assert!(shown.contains("median or memory of old"), "{shown}");
    assert!(shown.contains("in 2 benchmarks by several quantities: "), "{shown}");
    assert!(!shown.contains("geometric mean"), "{shown}");
    let markdown = bench.stillwell(&["show", "out", "--export-markdown", "-"]).ends_with(0).stdout;
    let of_memory = markdown.lines().find(|line| line.contains("`memory: old`")).unwrap();
    assert!(of_memory.contains(" MiB |"), "{markdown}");
    let of = |file: &str, name: &str| {
        let stats = bench.stillwell(&["stats", file]).ends_with(0).stdout;
        let mut lines = stats.lines().skip_while(|line| *line != name && name != "alone");
        let line =
            lines.find(|line| ["median  ", "memory ["].iter().any(|it| line.starts_with(it)));
        line.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("out", "serve"), of("out/001-serve.swell", "alone"));
    assert_eq!(of("out", "memory"), of("out/002-memory.swell", "alone"));
    let stats = bench.stillwell(&["stats", "out"]).ends_with(0).stdout;
    assert!(stats.contains("median ratio") && !stats.contains("t0"), "{stats}");
    bench.write("t.toml", "[[benchmark]]\nname = \"x\"\nstatement = \"1\"\nvalue = \"1\"\n");
    bench.stillwell(&["bench", "t.toml"]).ends_with(2).says(&["value"]);
}

/// Each process holds its memory while the one that it started does.
#[test]
fn the_memory_of_all_processes_of_a_run_can_decide() {
    let bench = Bench::new();
    let code = "import subprocess, sys\nheld = b'x' * 20_000_000\nn = int(sys.argv[1])\nif n > 1:\n    \
                subprocess.run([sys.executable, __file__, str(n - 1)], check=True)\n";
    bench.write("nest.py", code);
    let commands = ["python3 nest.py 1", "python3 nest.py 3"];
    let ratio = |metric: &str| {
        let options =
            ["run", "--decide-on", metric, "-w", "1", "-r", "2", "--json", "-o", "r.swell"];
        let ran = bench.stillwell(&[&options[..], &commands].concat());
        std::fs::remove_file(bench.path("r.swell")).ok();
        if ran.code == Some(2) && metric == "tree-memory" {
            assert!(
                ran.stderr.contains("choose maxrss, the memory of the largest process"),
                "{ran:#?}"
            );
            return None;
        }
        let document: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
        let arms = document["analysis"]["arms"].as_array().unwrap();
        let median = |arm: usize| arms[arm]["wall"]["median"]["value"].as_f64().unwrap();
        Some(median(1) / median(0))
    };
    let largest = ratio("maxrss").unwrap();
    assert!((0.9..1.1).contains(&largest), "{largest}");
    match ratio("tree-memory") {
        Some(all) => assert!((2.2..3.8).contains(&all), "{all}"),
        None => skipped("no control group can be made that counts memory"),
    }
}

/// Whatever decides, all views and exports of a record have its values, and none has nanoseconds as bytes.
#[test]
fn exports_have_the_values_that_decide() {
    let bench = Bench::new();
    let options = ["--decide-on", "maxrss", "-w", "0", "-r", "3", "true", "sleep 0"];
    bench.run(&options).ends_with(0);
    let record = bench.record();
    let kib: Vec<i64> = record.timed().filter_map(|row| row.get("maxrss_kib")).collect();
    let [least, most] = [kib.iter().min(), kib.iter().max()].map(|kib| *kib.unwrap() as f64);
    let range = least * 1024.0..=most * 1024.0;
    let check = |value: &Value| {
        let bytes = value.as_f64().unwrap();
        assert!(range.contains(&bytes), "{bytes} is not in {range:?}");
    };
    let converted = |to: &str| {
        let ran = bench.stillwell(&["convert", "r.swell", "--to", to, "-o", to]).ends_with(0);
        assert!(ran.stderr.is_empty(), "{ran:#?}");
        bench.read(to)
    };
    let json = |to: &str| serde_json::from_str::<Value>(&converted(to)).unwrap();
    let bmf = json("bmf");
    check(&bmf["true"]["memory"]["value"]);
    let pyperf = json("pyperf");
    check(&pyperf["benchmarks"][0]["runs"][0]["values"][0]);
    let hyperfine = json("hyperfine");
    let t0 = &hyperfine["results"][0]["stillwell"]["t0"];
    check(&t0["value"]);
    assert_eq!(t0["unit"], "byte");
    let table = converted("csv");
    let cells = table.lines().nth(1).unwrap().split(',').collect::<Vec<_>>();
    check(&cells[4].parse::<f64>().unwrap().into());
    let dump = bench.stillwell(&["dump", "r.swell", "--format", "text"]).ends_with(0);
    assert!(dump.stdout.contains("MiB"), "{dump:#?}");
}

#[test]
fn without_a_t0_of_times_no_time_is_above_it() {
    let bench = Bench::new();
    bench.run(&["--decide-on", "faults", "-w", "0", "-r", "3", "true"]).ends_with(0);
    let said = ["r.swell: faults decides", "--decide-on clean"];
    bench.stillwell(&["noise", "r.swell"]).ends_with(2).says(&said);
    bench.stillwell(&["noise", "r.swell", "--json"]).ends_with(2);
}

#[test]
fn different_quantities_have_no_ratio() {
    let bench = Bench::new();
    let record = |decide_on: &str| {
        let file = format!("{decide_on}.swell");
        let options = ["run", "--decide-on", decide_on, "-w", "0", "-r", "3", "true", "-o", &file];
        bench.stillwell(&options).ends_with(0);
        file
    };
    let [wall, clean, cpu, memory] = ["wall", "clean", "cpu", "maxrss"].map(record);
    let compare = |old: &str, new: &str, more: &[&str]| {
        bench.stillwell(&[&["compare", old, new], more].concat())
    };
    for more in [&[][..], &["--table"], &["--json"]] {
        compare(&wall, &clean, more).ends_with(0);
        compare(&cpu, &wall, more)
            .ends_with(2)
            .says(&["true is not compared: CPU time decides in cpu.swell, and time in wall.swell"]);
        compare(&clean, &memory, more).ends_with(2).says(&["and maxrss in maxrss.swell"]);
    }
}

/// A format of times leaves out memory and says so, and no export calls it a time.
#[test]
fn exports_of_mixed_imports_keep_their_units() {
    let bench = Bench::new();
    let asv = r#"{"version":2,"result_columns":["result","params","samples"],
        "results":{"time_a":[[0.5],[],[[0.5,0.51]]],"peakmem_b":[[37072896],[],null]}}"#;
    bench.write("asv.json", asv);
    let export =
        |format: &str| bench.stillwell(&["show", "asv.json", "--export", format, "-"]).ends_with(0);
    let csv = export("csv").stdout;
    let of_memory = csv.lines().find(|line| line.starts_with("peakmem_b,")).unwrap();
    assert!(of_memory.starts_with("peakmem_b,,,,,,,") && of_memory.contains(",B,"), "{csv}");
    let markdown = export("markdown").stdout;
    assert!(markdown.contains("| `peakmem_b` | 35.36 MiB |"), "{markdown}");
    for format in ["times", "hyperfine-1"] {
        let ran = export(format).says(&["note: peakmem_b is left out", "its values are memory"]);
        assert!(ran.stdout.contains("time_a") && !ran.stdout.contains("peakmem_b"), "{ran:#?}");
    }
    bench.write("hyperfine.json", &export("hyperfine").stdout);
    let shown = bench.stillwell(&["show", "hyperfine.json"]).ends_with(0).stdout;
    assert!(shown.contains("35.36 MiB"), "{shown}");
}

/// Without its unit, what was higher would be worse.
#[test]
fn quantities_are_not_merged() {
    let bench = Bench::new();
    let record = |file: &str, options: &[&str]| {
        let value = ["run", "--value", "[0-9]+", "-w", "0", "-r", "3", "-o", file];
        bench.stillwell(&[&value[..], options, &["echo 5"]].concat()).ends_with(0);
    };
    record("count.swell", &[]);
    record("ms.swell", &["--value-unit", "ms"]);
    record("rate.swell", &["--value-unit", "ops/s", "--value-better", "higher"]);
    record("points.swell", &["--value-better", "higher"]);
    let merge = |other: &str| bench.stillwell(&["convert", "count.swell", other, "-o", "x.swell"]);
    merge("ms.swell").ends_with(2).says(&["in count and \"echo 5\" in ns"]);
    merge("rate.swell").ends_with(2).says(&["in ops/s"]);
    merge("points.swell")
        .ends_with(2)
        .says(&["points.swell: more of the value of echo 5 is better"]);
    let write = |file: &str, to: &str| {
        bench.stillwell(&["convert", file, "--to", to, "-o", &format!("{file}.{to}")]).ends_with(0)
    };
    write("rate.swell", "hyperfine");
    let shown = bench.stillwell(&["show", "rate.swell.hyperfine"]).ends_with(0).stdout;
    assert!(shown.contains("ops/s") && shown.contains("more is better"), "{shown}");
    // A unit that says the opposite of the user would turn the direction over.
    record("low.swell", &["--value-unit", "ops/s"]);
    write("low.swell", "hyperfine");
    let shown = bench.stillwell(&["show", "low.swell.hyperfine"]).ends_with(0).stdout;
    assert!(!shown.contains("ops/s") && !shown.contains("more is better"), "{shown}");
    for format in ["hyperfine", "bmf", "pyperf"] {
        write("points.swell", format).says(&["note: more of the value of echo 5 is better"]);
    }
}
