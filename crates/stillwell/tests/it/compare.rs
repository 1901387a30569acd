//! `compare`, from a scripted session to its document.

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL};

/// 120 times of about 10 ms, multiplied by these factors in turn.
fn times(factors: &[f64], seed: u64) -> String {
    let mut state = seed;
    let mut noise = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    let of = |factor: &f64| format!("{:.6}ms", 10.0 * (1.0 + 0.01 * noise()) * factor);
    factors.iter().cycle().take(120).map(of).collect::<Vec<_>>().join(" ")
}

/// Plays a session of two programs. Returns the only comparison of its document.
fn compared(new: &[f64]) -> Value {
    let bench = Bench::new();
    bench.write("script", &format!("{}\n{}\n", times(&[1.0], 1), times(new, 2)));
    bench.run(&["--script", "script", "--seed", "5", "-r", "119", "./old", "./new"]).ends_with(0);
    let ran = bench.stillwell(&["compare", "r.swell", "--distributions", "--json"]).ends_with(0);
    let mut document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["pairs"].as_array().unwrap().len(), 1);
    document["pairs"][0].take()
}

/// Lower and upper ends of the nine bands.
fn bands(pair: &Value) -> Vec<(f64, f64)> {
    let deciles = pair["distributions"]["deciles"].as_array().unwrap();
    let end = |decile: &Value, name: &str| decile["band"][name].as_f64().unwrap();
    let bands: Vec<_> =
        deciles.iter().map(|decile| (end(decile, "lo"), end(decile, "hi"))).collect();
    assert_eq!(bands.len(), 9);
    bands
}

fn p_of_shape(pair: &Value, test: &str) -> f64 {
    pair["distributions"]["shape"][test]["p"].as_f64().unwrap()
}

#[test]
fn half_of_the_runs_slower_moves_the_upper_deciles() {
    let pair = compared(&[1.0, 1.1]);
    let bands = bands(&pair);
    assert!(bands[..3].iter().all(|&(lo, hi)| lo < 1.0 && 1.0 < hi), "{bands:?}");
    assert!(bands[6..].iter().all(|&(lo, hi)| 1.02 < lo && lo < 1.1 && 1.1 < hi), "{bands:?}");
    assert!(p_of_shape(&pair, "kolmogorov_smirnov") <= 0.001, "{bands:?}");
    assert!(p_of_shape(&pair, "anderson_darling") <= 0.001, "{bands:?}");
}

#[test]
fn the_same_program_differs_at_no_decile() {
    let pair = compared(&[1.0]);
    assert!(bands(&pair).iter().all(|&(lo, hi)| lo < 1.0 && 1.0 < hi), "{:?}", bands(&pair));
    assert!(p_of_shape(&pair, "kolmogorov_smirnov") > 0.01, "{:?}", bands(&pair));
}

#[test]
fn a_uniform_slowdown_moves_every_decile_and_not_the_shape() {
    let pair = compared(&[1.05]);
    assert_eq!(pair["judgement"]["verdict"], "slower");
    assert!(
        bands(&pair).iter().all(|&(lo, hi)| 1.0 < lo && lo < 1.05 && 1.05 < hi),
        "{:?}",
        bands(&pair)
    );
    assert!(p_of_shape(&pair, "kolmogorov_smirnov") > 0.01, "{:?}", bands(&pair));
    let difference = &pair["distributions"]["difference"]["kolmogorov_smirnov"];
    assert_eq!(difference["value"], 1.0);
    assert_eq!(difference["p"], 0.0005);
}

/// A comparison of separate sessions recommends --reference, so that option must work.
#[test]
fn a_baseline_is_the_reference() {
    let bench = Bench::new();
    bench.write("script", "1ms 2ms\n3ms 4ms\n");
    let arguments = ["--script", "script", "-r", "3", "--reference", "./old", "./new"];
    bench.run(&arguments).ends_with(0);
    let plan = &bench.record().header["plan"];
    assert_eq!((&plan["arms"][0]["command"], &plan["reference"]), (&"./old".into(), &0.into()));
    bench.stillwell(&["compare", "--fail-on", "slower", "r.swell"]).ends_with(3);
}

/// Labels are no commands, and may be alike.
#[test]
fn the_next_action_measures_the_commands_of_both_sessions() {
    let bench = Bench::new();
    for (file, command) in [("old.swell", "./old"), ("new.swell", "./new")] {
        bench.write("script", "1ms 2ms\n");
        let options = ["run", "--script", "script", "-r", "1", "-n", "prog", "-o", file, command];
        bench.stillwell(&options).ends_with(0);
    }
    let ran = bench.stillwell(&["compare", "old.swell", "new.swell", "--json"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = ["stillwell", "run", "--reference", "./old", "--", "./new"];
    assert_eq!(document["conclusion"]["next"]["command"], serde_json::json!(expected));
}

/// A gate without a comparison would always pass.
#[test]
fn one_command_is_nothing_to_compare() {
    let bench = Bench::new();
    bench.write("script", "1ms 2ms\n");
    bench.run(&["--script", "script", "-r", "3", "./only"]).ends_with(0);
    let ran = bench.stillwell(&["compare", "--fail-on", "slower", "r.swell"]).ends_with(2);
    ran.says(&["r.swell", "only one command"]);
}

/// The name of a variant does not depend on the other benchmarks of the file.
#[test]
fn a_part_of_a_suite_is_compared_with_all_of_it() {
    let bench = Bench::new();
    let benchmark = |name: &str| format!("[[benchmark]]\nname = \"{name}\"\ncommand = \"true\"\n");
    let variants =
        "[[variant]]\nname = \"old\"\n[[variant]]\nname = \"new\"\nenv = { X = \"1\" }\n";
    bench.write("s.toml", &[variants, &benchmark("a"), &benchmark("b")].concat());
    let measure = |words: &[&str]| {
        bench.stillwell(&[&["bench", "s.toml", "--runs", "2"], words].concat()).ends_with(0);
    };
    measure(&["-o", "whole"]);
    measure(&["--filter", "b", "-o", "part"]);
    let ran = bench.stillwell(&["compare", "whole", "part"]).ends_with(0);
    assert!(ran.stdout.contains("\nb (old)") && ran.stdout.contains("\nb (new)"), "{ran:#?}");
    assert!(ran.stdout.contains("only in 1: a (old), a (new)"), "{ran:#?}");
}

/// A command without a partner cannot be forgotten in silence.
#[test]
fn what_a_session_lacks_is_listed() {
    let bench = Bench::new();
    for (file, other) in [("old.swell", "gone"), ("new.swell", "fresh")] {
        let words = ["run", "-r", "3", "-o", file, "-n", "both", "-n", other, "true", "/bin/true"];
        bench.stillwell(&words).ends_with(0);
    }
    let compare = ["compare", "old.swell", "new.swell"];
    let text = bench.stillwell(&compare).ends_with(0).stdout;
    assert!(text.ends_with("\n\nnot in all sessions: fresh, gone\n"), "{text}");
    let ran = bench.stillwell(&[&compare[..], &["--json"]].concat()).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["not_in_all"], serde_json::json!(["fresh", "gone"]));
}

#[test]
fn by_is_obeyed_for_records_of_commands() {
    let bench = Bench::new();
    for name in ["old.swell", "new.swell"] {
        bench.stillwell(&["run", "-r", "3", "-o", name, "true"]).ends_with(0);
    }
    for statistic in ["mean", "median"] {
        let words = ["compare", "old.swell", "new.swell", "--by", statistic];
        let shown = bench.stillwell(&words).ends_with(0).stdout;
        assert!(shown.contains(&format!("ratios of {statistic}s, new ÷ reference")), "{shown}");
    }
}

/// The second copy of a command has the name of the first.
#[test]
fn the_counts_name_the_second_copy_of_the_reference() {
    let bench = Bench::new();
    bench.stillwell(&["run", "-r", "3", "--aa", "-o", "r.swell", "true"]).ends_with(0);
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    let counts: Vec<&str> = shown.lines().filter(|line| line.starts_with("counts of")).collect();
    let [first, second] = counts[..] else { panic!("{shown}") };
    assert!(first.ends_with(": true") && second.ends_with("true (again, for --aa)"), "{counts:?}");
}

#[test]
fn records_of_several_time_zones_are_in_the_order_of_time() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("state/stillwell")).unwrap();
    bench.run(&["-r", "3", "true"]).ends_with(0);
    let text = bench.read("r.swell");
    let (before, after) = text.split_once("\"created\":\"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    let [old, new] = ["state/stillwell/old.swell", "state/stillwell/new.swell"];
    for (path, created) in [(old, "2026-11-30T01:00:00+09:00"), (new, "2026-11-29T16:00:01+00:00")]
    {
        bench.write(path, &format!("{before}\"created\":\"{created}\"{after}"));
    }
    let mut list = bench.command(STILLWELL);
    let list = list.args(["show", "--list"]).env("TZ", "UTC").output().unwrap();
    let list = Ran::from(list).ends_with(0).stdout;
    assert_eq!(list.matches("2026-11-29 16:00  true").count(), 2, "{list}");
    assert!(list.find("new.swell") < list.find("old.swell"), "{list}");
    let is_later = |words: [&str; 3]| {
        let ran = bench.stillwell(&words).ends_with(0);
        ran.stdout.contains("an old session is later than the new one")
    };
    assert!(!is_later(["compare", old, new]) && is_later(["compare", new, old]));
}
