//! The promises of docs/compatibility.md: records of earlier programs, and the messages about records of later ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Bench;

/// One record for each set of header fields and columns that any program has written. The name begins with the date.
fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/records");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 14, "{paths:?}");
    paths
}

/// Number of runs of each arm, counted in the file: blocks of slices, or rows.
fn counted(text: &str) -> BTreeMap<u64, usize> {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let names: Vec<_> = header["columns"].as_array().unwrap().iter().collect();
    let at = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let is_in_slices = header["plan"]["in_slices"] == true;
    let mut runs = BTreeMap::<u64, Vec<u64>>::new();
    for row in lines.filter(Value::is_array) {
        let Some(block) = row[at("block")].as_u64() else { continue };
        let blocks = runs.entry(row[at("arm")].as_u64().unwrap()).or_default();
        if !is_in_slices || !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    runs.into_iter().map(|(arm, blocks)| (arm, blocks.len())).collect()
}

#[test]
fn every_record_of_an_earlier_program_opens_in_every_verb() {
    let bench = Bench::new();
    for path in records() {
        let text = std::fs::read_to_string(&path).unwrap();
        bench.write("old.swell", &text);
        // Two files of one session are not compared.
        let (before, after) = text.split_once("\"created\":\"2").unwrap();
        bench.write("other.swell", &format!("{before}\"created\":\"1{after}"));
        let shown = bench.stillwell(&["show", "--json", "old.swell"]).ends_with(0);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let arms = shown["analysis"]["arms"].as_array().unwrap().iter();
        let n_runs = arms
            .map(|arm| (arm["arm"].as_u64().unwrap(), arm["n_runs"].as_u64().unwrap() as usize));
        assert_eq!(n_runs.collect::<BTreeMap<_, _>>(), counted(&text), "{}", path.display());
        let is_value =
            |arm: &Value| arm["wall"]["mean"]["value"].as_f64().is_some_and(|mean| mean > 0.0);
        assert!(
            shown["analysis"]["arms"].as_array().unwrap().iter().all(is_value),
            "{}",
            path.display()
        );
        for verb in [
            &["show", "-v", "old.swell"][..],
            &["show", "--metadata", "old.swell"],
            &["stats", "old.swell"],
            &["hist", "old.swell"],
            &["dump", "old.swell"],
            &["compare", "old.swell", "other.swell"],
            &["report", "old.swell", "-o", "old.html"],
            &["convert", "old.swell", "-o", "old.json"],
        ] {
            bench.stillwell(verb).ends_with(0);
        }
        // 1 and 3 are answers too: not stable, and too few runs to tell.
        assert_ne!(bench.stillwell(&["check", "old.swell"]).code, Some(2), "{}", path.display());
        std::fs::remove_file(bench.path("old.html")).unwrap();
        std::fs::remove_file(bench.path("old.json")).unwrap();
    }
}

#[test]
fn a_folder_of_an_earlier_suite_opens_and_a_later_one_is_refused() {
    let bench = Bench::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/suites/2026-11-24-14");
    std::fs::create_dir(bench.path("old")).unwrap();
    for entry in old.read_dir().unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, bench.path("old").join(path.file_name().unwrap())).unwrap();
    }
    let shown = bench.stillwell(&["show", "old"]).ends_with(0);
    let lists = |name: &str| shown.stdout.lines().any(|line| line.starts_with(name));
    assert!(lists("list ") && lists("nothing "), "{}", shown.stdout);
    for verb in [&["show", "-v", "old"][..], &["report", "old", "-o", "old.html"]] {
        bench.stillwell(verb).ends_with(0);
    }
    let head = bench.read("old/suite.json");
    let later = head.replacen("\"version\":1", "\"version\":2", 1);
    assert_ne!(later, head);
    bench.write("old/suite.json", &later);
    let refused = bench.stillwell(&["show", "old"]).ends_with(2);
    refused
        .says(&["suite.json", "written by a later Stillwell (format 2; this one reads up to 1)"]);
    // What a later format means by its fields is not known, so their shape is not looked at before its version.
    bench.write("old/suite.json", &later.replacen("\"suite\":", "\"suites\":", 1));
    bench.stillwell(&["show", "old"]).ends_with(2).says(&["written by a later Stillwell"]);
    let unknown = head.replacen("stillwell 0.1.0", "stillwell 9.8.7", 1);
    bench.write("old/suite.json", &unknown.replacen("\"suite\":", "\"suites\":", 1));
    let refused = bench.stillwell(&["show", "old"]).ends_with(2);
    refused.says(&["written by stillwell 9.8.7, and this is stillwell 0.1.0"]);
}

/// A later program may write what this one does not know. Either it says so by the version of the format, or the error has
/// the program that wrote it.
#[test]
fn a_record_of_a_later_program_is_refused_in_a_clear_sentence() {
    let bench = Bench::new();
    let statement = records().into_iter().rfind(|path| path.to_string_lossy().contains("timeit"));
    let text = std::fs::read_to_string(statement.unwrap()).unwrap();
    bench.write("later.swell", &text.replacen("\"version\":1", "\"version\":2", 1));
    let refused = bench.stillwell(&["show", "later.swell"]).ends_with(2);
    refused
        .says(&["later.swell", "written by a later Stillwell (format 2; this one reads up to 1)"]);
    let unknown = text.replacen("\"clock\":\"", "\"clock\":\"later-", 1);
    assert_ne!(unknown, text);
    bench.write("later.swell", &unknown.replacen("stillwell 0.1.0", "stillwell 9.8.7", 1));
    let refused = bench.stillwell(&["show", "later.swell"]).ends_with(2);
    refused.says(&[
        "later.swell",
        "written by stillwell 9.8.7, and this is stillwell 0.1.0",
        "line 1",
    ]);
    // What an unknown column or event says is passed over.
    let more = text.replacen("\"in_slices\"", "\"later_field\":[1],\"in_slices\"", 1);
    assert_ne!(more, text);
    let end = "{\"event\":\"end\"";
    let event = "{\"event\":\"of_a_later_program\",\"what\":[1]}\n";
    bench.write("later.swell", &more.replacen(end, &format!("{event}{end}"), 1));
    assert!(bench.read("later.swell").contains(event));
    bench.stillwell(&["show", "later.swell"]).ends_with(0);
}
