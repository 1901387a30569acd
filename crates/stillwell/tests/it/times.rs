//! Lines `TIME<TAB>COMMAND`, as Stillwell and the program tim write them.

use serde_json::Value;

use crate::bench::{Bench, Ran};

fn stats(bench: &Bench, record: &str) -> Value {
    let ran = bench.stillwell(&["stats", "--json", record]).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn what_is_exported_is_the_same_when_it_comes_back() {
    let bench = Bench::new();
    bench.write(
        "script",
        "5ms 5.1ms 5.002001ms 5.7ms 5.3ms\n7ms 7.2ms 7.100001ms\n1.1ms 1.500001ms 1.25ms 1.75ms\n",
    );
    let run =
        ["--script", "script", "-w", "2", "-r", "25", "--seed", "3", "--style", "none", "-S", "sh"];
    bench
        .run(&[run.as_slice(), &["--export", "times", "times.tsv", "./a", "./b | c"]].concat())
        .ends_with(0);
    let convert = ["convert", "times.tsv", "-w", "2", "--reference", "./a", "-o", "back.swell"];
    let converted = bench.stillwell(&convert).ends_with(0);
    assert!(converted.stdout.contains("commands: 2, runs: 75, warm-up runs: 6"), "{converted:#?}");
    let (ours, back) = (stats(&bench, "r.swell"), stats(&bench, "back.swell"));
    let reference = |document: &Value| document["reference"].as_u64().unwrap() as usize;
    assert_eq!(back["arms"][reference(&back)]["label"], "./a");
    for arm in ours["arms"].as_array().unwrap() {
        let same = back["arms"].as_array().unwrap().iter().find(|it| it["label"] == arm["label"]);
        let same = same.unwrap_or_else(|| panic!("{arm} is missing"));
        for numbers in ["wall", "net", "estimators", "is_hidden", "n_runs"] {
            assert_eq!(same[numbers], arm[numbers], "{}: {numbers}", arm["label"]);
        }
    }
    let again = bench.stillwell(&["show", "back.swell", "--export", "times", "-"]).ends_with(0);
    assert_eq!(again.stdout, bench.read("times.tsv"));
}

/// A record of times has no facts about any machine, also not about this one.
#[test]
fn where_the_times_are_from() {
    let bench = Bench::new();
    bench.write("times.txt", "# a comment\n0.5\n\n0.25\n");
    bench.stillwell(&["convert", "times.txt", "-o", "r.swell", "--unit", "ms"]).ends_with(0);
    let record = bench.record();
    let imported = &record.header["imported"];
    assert_eq!((&imported["file"], &imported["from"]), (&"times.txt".into(), &"times".into()));
    assert_eq!(record.header["plan"]["arms"][0]["command"], "times.txt");
    for (fact, value) in record.header["facts"].as_object().unwrap() {
        let is_unknown = value.is_null() || value == "" || *value == serde_json::json!([]);
        assert!(is_unknown, "{fact}: {value}");
    }
    let walls: Vec<_> = record.timed().map(|row| row.get("wall_ns").unwrap()).collect();
    assert_eq!(walls, [500_000, 250_000]);
    assert_eq!(record.end(), Some("complete"));
    for verb in ["show", "stats", "hist", "dump"] {
        bench.stillwell(&[verb, "r.swell"]).ends_with(0);
    }
}

#[test]
fn bins_of_equal_ratio_leave_out_what_has_no_logarithm() {
    let bench = Bench::new();
    bench.write("times.txt", "0\n5\n6\n");
    let hist = ["hist", "--log", "--bins", "2", "--unit", "ms", "times.txt"];
    let ran = bench.stillwell(&hist).ends_with(0).says(&["are left out: 1 of 3"]);
    assert_eq!(ran.stdout.matches('│').count(), 2, "{ran:#?}");
    bench.write("times.txt", "0\n0\n");
    bench.stillwell(&hist).ends_with(2).says(&["no value is above 0"]);
}

#[test]
fn two_imports_are_compared_as_two_sessions() {
    let bench = Bench::new();
    for (name, times) in
        [("a.txt", "5\n5.1\n5.2\n5\n5.1\n5.2\n"), ("b.txt", "6\n6.1\n6.2\n6\n6.1\n6.2\n")]
    {
        bench.write(name, times);
        bench
            .stillwell(&["convert", name, "--unit", "ms", "-o", &format!("{name}.swell")])
            .ends_with(0);
    }
    let ran = bench.stillwell(&["compare", "a.txt.swell", "b.txt.swell"]).ends_with(0);
    assert!(
        ran.stdout.contains("NO VERDICT") && ran.stdout.contains("separate sessions"),
        "{ran:#?}"
    );
}

/// The names in the directory, except those that the test made.
fn left(bench: &Bench, made: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path("")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| !made.contains(&name.as_str())).collect()
}

#[test]
fn a_whole_record_or_none() {
    let bench = Bench::new();
    bench.write("bad.tsv", &format!("{}fast\ta\n", "1\ta\n".repeat(10_000)));
    bench.write("good.tsv", "1\ta\n");
    bench.write("mine.swell", "mine");
    let made = ["bad.tsv", "good.tsv", "mine.swell", "odd.swell"];
    let odd = bench.stillwell(&["convert", "bad.tsv", "-o", "odd.swell"]).ends_with(0);
    assert!(
        odd.stderr.contains("bad.tsv: a run (line 10001) is left out: \"fast\" is not"),
        "{odd:#?}"
    );
    let taken = bench.stillwell(&["convert", "good.tsv", "-o", "mine.swell"]).ends_with(2);
    taken.says(&["the record mine.swell exists already"]);
    assert_eq!(bench.read("mine.swell"), "mine");
    let nowhere = bench.stillwell(&["convert", "good.tsv", "-o", "no/r.swell"]).ends_with(2);
    nowhere.says(&["cannot write the record no/r.swell"]);
    // A limit of the file size acts like a disk that fills up in the middle.
    let full = bench.command("sh");
    let mut full = full;
    full.args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\"", crate::bench::STILLWELL]);
    bench.write("long.tsv", &"1\ta\n".repeat(100_000));
    full.args(["convert", "long.tsv", "-o", "r.swell"]);
    Ran::from(full.output().unwrap()).ends_with(2).says(&["cannot write the record r.swell"]);
    assert_eq!(left(&bench, &[made.as_slice(), &["long.tsv"]].concat()), Vec::<String>::new());
}
