use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::fixture::{analysis, compare, of_times, paired, single};
use analysis::Evidence;
use model::values::ValueUnit;
use record::fixture::{record, row, run};

/// Two arms with two runs each after a warm-up run, and a run that timed out; in a shell of 0.5 ms.
fn session(in_shell: bool) -> (Record, Analysis) {
    let commands: &[&str] = if in_shell { &["a | b", "c"] } else { &["a", "c"] };
    let mut record = record(commands);
    let arm = &mut record.header.plan.arms[1];
    arm.name = Some("see".into());
    arm.parameters = vec![("n".into(), "1".into())];
    arm.environment = vec![("X".into(), "y z".into())];
    run(&mut record, 0, None, 99);
    for (block, wall_ns) in [(0, 1_000_001), (1, 400_000)] {
        run(&mut record, 0, Some(block), wall_ns);
        run(&mut record, 1, Some(block), 2 * wall_ns);
        if in_shell {
            run(&mut record, 2, Some(block), 500_000);
        }
    }
    let mut timed_out = record.rows.row(1);
    timed_out.timed_out = true;
    record.rows.push(&timed_out);
    let t0s: &[f64] = if in_shell { &[0.4e6, 0.8e6, 0.5e6] } else { &[0.4e6, 0.8e6] };
    let mut analysis = analysis(&record, t0s);
    compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, f64::INFINITY)));
    (record, analysis)
}

fn v2(record: &Record, analysis: &Analysis) -> Value {
    let mut out = Vec::new();
    write_v2(&mut out, record, analysis).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn v1(record: &Record, analysis: &Analysis) -> Value {
    let mut out = Vec::new();
    write_v1(&mut out, record, analysis).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Every key path with its value's type. All elements of an array share one path.
fn shape(value: &Value, path: &str, into: &mut BTreeSet<(String, &'static str)>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(items) => {
            items.iter().for_each(|item| shape(item, &format!("{path}[]"), into));
            "array"
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| shape(field, &format!("{path}.{name}"), into));
            "object"
        }
    };
    into.insert((path.into(), kind));
}

#[track_caller]
fn check_superset(ours: &Value, sample: &str) {
    let (mut have, mut need) = (BTreeSet::new(), BTreeSet::new());
    shape(ours, "", &mut have);
    shape(&serde_json::from_str(sample).unwrap(), "", &mut need);
    let missing: Vec<_> = need.difference(&have).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Output of hyperfine 2.0.0, shortened to one measurement.
const SAMPLE_V2: &str = r#"{"schema_version": 2, "metadata": {"hyperfine_version": "2.0.0",
"start_time": "2026-11-21T19:50:06Z", "platform": {"os": "Linux", "architecture": "x86_64"}},
"primary_metric": "time_wall_clock", "results": [{"command": "ls /usr", "name": "list", "measurements": [{
"time_wall_clock": {"value": 0.00047, "unit": "second"}, "time_cpu": {"value": 0.00076, "unit": "second"},
"time_user": {"value": 0.00076, "unit": "second"}, "time_system": {"value": 0.0, "unit": "second"},
"memory_peak_resident": {"value": 3411968.0, "unit": "byte"}, "exit_code": 0}], "summary": {
"memory_peak_resident": {"unit": "byte", "count": 5, "mean": 3411968.0, "stddev": 0.0, "median": 3411968.0,
"min": 3411968.0, "max": 3411968.0}, "time_cpu": {"unit": "second", "count": 5, "mean": 0.0007, "stddev": 0.00006,
"median": 0.0006, "min": 0.0006, "max": 0.0007}, "time_wall_clock": {"unit": "second", "count": 5, "mean": 0.00041,
"stddev": 0.00007, "median": 0.00039, "min": 0.00035, "max": 0.00051}}, "parameters": {"n": {"value": "1"}}}]}"#;

/// Output of hyperfine 1.20, shortened to one run, with the parameters of 1.15.
const SAMPLE_V1: &str = r#"{"results": [{"command": "ls /usr", "mean": 0.00071, "stddev": 0.00005, "median": 0.00067,
"user": 0.00058, "system": 0.000137, "min": 0.00067, "max": 0.00079, "times": [0.00075],
"memory_usage_byte": [2981888], "exit_codes": [0], "parameters": {"n": "1"}}]}"#;

#[test]
fn every_key_of_hyperfine_is_there_with_its_type() {
    let (record, analysis) = session(false);
    check_superset(&v2(&record, &analysis), SAMPLE_V2);
    check_superset(&v1(&record, &analysis), SAMPLE_V1);
}

#[test]
fn only_measured_runs_count_in_seconds_and_bytes() {
    let (record, analysis) = session(false);
    let document = v2(&record, &analysis);
    let first = &document["results"][0];
    assert_eq!(first["measurements"].as_array().unwrap().len(), 2);
    assert_eq!(first["measurements"][0]["time_wall_clock"]["value"], 0.001_000_001);
    assert_eq!(first["measurements"][0]["time_cpu"]["value"], 0.0007);
    assert_eq!(first["measurements"][0]["memory_peak_resident"]["value"], 3_411_968.0);
    assert_eq!(first["measurements"][0].get("cpu_cycles"), None);
    assert_eq!(first["stillwell"]["blocks"], serde_json::json!([0, 1]));
    assert_eq!(first["stillwell"]["steps"], serde_json::json!([1, 3]));
    assert_eq!(first.get("name"), None);
    let second = &document["results"][1];
    assert_eq!((&second["command"], &second["name"]), (&"c".into(), &"see".into()));
    assert_eq!(second["parameters"]["n"]["value"], "1");
    assert_eq!(second["environment"]["X"], "y z");
    assert_eq!(document["metadata"]["start_time"], "2026-11-21T19:50:06Z");
    assert_eq!(document["metadata"]["hyperfine_version"], "2.0.0+stillwell.0.1.0");
    assert_eq!(document["stillwell"]["comparisons"][0]["evidence"]["ratio"]["hi"], Value::Null);
    let document = v1(&record, &analysis);
    assert_eq!(document["results"][0]["times"], serde_json::json!([0.001_000_001, 0.0004]));
    assert_eq!(document["results"][0]["user"], 0.000_612);
    assert_eq!(document["results"][1]["command"], "see");
    assert_eq!(document["results"][1]["stillwell"]["command"], "c");
    assert_eq!(document["results"][0].get("parameters"), None);
}

#[test]
fn the_shell_is_subtracted_and_nothing_is_clamped() {
    let (record, analysis) = session(true);
    let document = v2(&record, &analysis);
    assert_eq!(document["results"].as_array().unwrap().len(), 2, "the control is no result");
    let times = &document["results"][0]["measurements"];
    assert_eq!(times[0]["time_wall_clock"]["value"], 0.000_500_001);
    assert_eq!(times[1]["time_wall_clock"]["value"], -0.0001);
    assert_eq!(times[1]["time_user"]["value"], -0.000_012);
    let wall = &document["results"][0]["summary"]["time_wall_clock"];
    assert_eq!(wall["min"], (0.4e6 * 1.01 * 0.98 - 0.5e6) / 1e9);
    assert_eq!(wall["stddev"], 0.4e6 * 1.01 * 0.1 / 1e9);
    let subtracted = &document["stillwell"]["subtracted"];
    assert_eq!((&subtracted["value"], &subtracted["err"]), (&0.0005.into(), &0.000_001.into()));
    assert_eq!(subtracted["command"], "empty shell");
    assert_eq!(v1(&record, &analysis)["results"][0]["times"][1], -0.0001);
}

#[test]
fn one_run_has_no_deviation_and_an_arm_without_runs_is_left_out() {
    let mut record = record(&["a", "b"]);
    run(&mut record, 1, Some(0), 5);
    let analysis = of_times(&record, vec![None, Some(single(5.0))], 1);
    let (v2, v1) = (v2(&record, &analysis), v1(&record, &analysis));
    for document in [&v2, &v1] {
        assert_eq!(document["results"].as_array().unwrap().len(), 1);
        assert_eq!(document["results"][0]["command"], "b");
        assert_eq!(document["results"][0]["stillwell"]["arm"], 1);
    }
    assert_eq!(v2["results"][0]["summary"]["time_wall_clock"]["stddev"], Value::Null);
    assert_eq!(v1["results"][0]["stddev"], Value::Null);
    // Signal 9 ended the first run of the fixture.
    assert_eq!(v1["results"][0]["exit_codes"], serde_json::json!([137]));
    assert_eq!(v2["results"][0]["measurements"][0]["exit_code"], 137);
}

/// A run of this arm with its own value, in place of a wall time.
fn own(record: &mut Record, arm: u32, value: f64) {
    let step = u32::try_from(record.rows.len()).unwrap();
    record.rows.push(&Row { value: Some(value), ..row(step, arm, Some(step), 94_601_103) });
}

/// The arm's own summary is about slices. The file lists processes.
#[test]
fn the_summary_is_of_the_listed_values() {
    let mut record = record(&["a"]);
    [900.0, 1100.0, 1300.0].into_iter().for_each(|ns| own(&mut record, 0, ns));
    let analysis = analysis(&record, &[500.0]);
    let v2 = v2(&record, &analysis);
    let wall = &v2["results"][0]["summary"]["time_wall_clock"];
    assert_eq!((&wall["count"], &wall["median"]), (&3.into(), &1.1e-6.into()));
    let v1 = v1(&record, &analysis);
    let first = &v1["results"][0];
    assert_eq!((&first["min"], &first["max"]), (&first["times"][0], &first["times"][2]));
}

#[test]
fn memory_is_no_time() {
    let mut record = record(&["a", "b"]);
    record.header.plan.arms[1].unit = ValueUnit::Bytes;
    own(&mut record, 0, 900.0);
    own(&mut record, 1, 64.0);
    let analysis = analysis(&record, &[900.0, 64.0]);
    let both = v2(&record, &analysis);
    assert_eq!(both["primary_metric"], "time_wall_clock");
    let memory = &both["results"][1]["measurements"][0];
    assert_eq!(memory.get("time_wall_clock"), None);
    assert_eq!(memory["value"], serde_json::json!({"value": 64.0, "unit": "byte"}));
    assert_eq!(both["results"][0]["measurements"][0].get("value"), None);
    assert_eq!(v1(&record, &analysis)["results"].as_array().unwrap().len(), 1);
    record.header.plan.arms[0].unit = ValueUnit::Count;
    assert_eq!(v2(&record, &analysis)["primary_metric"], "value");
}

/// Of a suite, the variants of a statement have one command too.
#[test]
fn benchmarks_of_one_program_keep_their_names() {
    let (mut record, analysis) = session(false);
    for (arm, benchmark) in record.header.plan.arms.iter_mut().zip(["ns", "us"]) {
        arm.benchmark = Some(benchmark.into());
        arm.command = "./g".into();
        arm.name = None;
    }
    let names = |document: &Value, key: &str| {
        [0, 1].map(|at: usize| document["results"][at][key].as_str().unwrap().to_owned())
    };
    assert_eq!(names(&v2(&record, &analysis), "name"), ["ns", "us"]);
    assert_eq!(names(&v2(&record, &analysis), "command"), ["./g", "./g"]);
    assert_eq!(names(&v1(&record, &analysis), "command"), ["ns", "us"]);
}
