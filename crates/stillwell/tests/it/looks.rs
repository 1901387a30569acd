//! Interim analyses: when a session ends, and that its record gives the same verdict after any kind of end.

use serde_json::Value;

use crate::bench::{Bench, Ran};

/// Times around 10 ms with a spread of some percent, never the same twice in a row.
fn noisy(ratio: f64, seed: u64) -> String {
    let mut stream = stats::Stream::new(seed);
    let time = |_| format!("{:.6}ms", 10.0 * ratio * (1.0 + 0.04 * stream.unit()));
    (0..997).map(time).collect::<Vec<_>>().join(" ")
}

/// Times around 10 ms, of which this share is 1.55 times as long.
fn two_speeds(share: f64, seed: u64) -> String {
    let mut stream = stats::Stream::new(seed);
    let time = |_| {
        let fast = 10.0 + 0.04 * stream.unit();
        let factor = if stream.unit() < share { 1.55 } else { 1.0 };
        format!("{:.6}ms", factor * fast)
    };
    (0..997).map(time).collect::<Vec<_>>().join(" ")
}

/// Plays commands that take these multiples of the first one's time.
fn play(bench: &Bench, ratios: &[f64], options: &[&str]) -> Ran {
    let lines: Vec<String> = (1..).zip(ratios).map(|(seed, ratio)| noisy(*ratio, seed)).collect();
    play_times(bench, &lines, options)
}

/// Plays commands with these times.
fn play_times(bench: &Bench, lines: &[String], options: &[&str]) -> Ran {
    bench.write("script", &lines.join("\n"));
    let names: Vec<String> = (1..=lines.len()).map(|arm| format!("./c{arm}")).collect();
    let commands: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixed = ["--script", "script", "--host-root", ".", "--seed", "7", "-w", "0", "--json"];
    bench.run(&[fixed.as_slice(), options, &commands].concat())
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

fn verdicts(document: &Value) -> Vec<&str> {
    let judgements = document["judgements"].as_array().unwrap();
    judgements.iter().map(|judgement| judgement["verdict"].as_str().unwrap()).collect()
}

fn paired(document: &Value) -> &Value {
    &document["analysis"]["comparisons"][0]["evidence"]
}

#[test]
fn a_clear_difference_ends_the_session() {
    let bench = Bench::new();
    let ran = play(&bench, &[1.0, 1.5], &["--max-runs", "200"]).ends_with(0);
    let found = document(&ran);
    assert_eq!(verdicts(&found), ["slower"]);
    assert_eq!(found["analysis"]["end"], "decided");
    // The look at 10 pairs decides, but its interval has no upper end. Half of it has to be at most half of the effect.
    assert_eq!(bench.record().rows.len(), 2 * 13);
    let ratio = &paired(&found)["ratio"];
    let log = |end: &str| ratio[end].as_f64().unwrap().ln();
    assert!((log("hi") - log("lo")) / 2.0 <= 0.5 * log("ratio"), "{ratio}");
    assert!(paired(&found)["p"].as_f64().unwrap() <= 0.01);
}

#[test]
fn equal_programs_end_it_too() {
    let bench = Bench::new();
    let found = document(&play(&bench, &[1.0, 1.0], &["--same", "3"]).ends_with(0));
    assert_eq!((verdicts(&found), &found["analysis"]["end"]), (vec!["same"], &"decided".into()));
    let ratio = &paired(&found)["ratio"];
    let (lo, hi) = (ratio["lo"].as_f64().unwrap(), ratio["hi"].as_f64().unwrap());
    assert!(1.0 / 1.03 < lo && hi < 1.03, "{ratio}");
    assert_eq!(bench.record().rows.len(), 2 * 109, "the first look from 90 blocks on");
}

#[test]
fn a_number_of_runs_is_kept_to() {
    let bench = Bench::new();
    let found = document(&play(&bench, &[1.0, 1.5], &["-r", "30"]).ends_with(0));
    assert_eq!(bench.record().rows.len(), 60);
    assert_eq!(
        (&found["analysis"]["end"], &paired(&found)["n_looks"]),
        (&"complete".into(), &1.into())
    );
}

#[test]
fn nothing_is_decided_before_the_fewest_blocks() {
    let bench = Bench::new();
    play(&bench, &[1.0, 1.5], &["--min-runs", "50"]).ends_with(0);
    assert_eq!(bench.record().rows.len(), 2 * 55, "the first look from 50 blocks on is at 55");
}

#[test]
fn the_budget_ends_what_is_not_decided() {
    let bench = Bench::new();
    // A block takes some 20 ms, so a second has 50 blocks.
    let ran = play(&bench, &[1.0, 1.002], &["--same", "0.1", "--budget", "1s"]);
    let found = document(&ran);
    assert_eq!(
        (verdicts(&found), &found["analysis"]["end"]),
        (vec!["undecided"], &"complete".into())
    );
    let n_blocks = bench.record().rows.len() / 2;
    assert!((40..60).contains(&n_blocks), "{n_blocks}");
    let to_decide = &paired(&found)["to_decide"];
    assert!(to_decide["n_pairs"].as_u64().unwrap() as usize > n_blocks, "{to_decide}");
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0);
    let words: Vec<&str> = shown.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("blocks would decide (--budget"), "{}", shown.stdout);
}

/// The interval ends just beyond 1, and stays there.
#[test]
fn two_ratios_forecast_nothing() {
    let bench = Bench::new();
    let lines = [(0.2, 7), (0.55, 8)].map(|(share, seed)| two_speeds(share, seed));
    let found = document(&play_times(&bench, &lines, &["--runs", "41"]));
    assert_eq!(verdicts(&found), ["undecided"]);
    let paired = paired(&found);
    assert!(paired["doubt"].is_null() && !paired["shape"].is_null(), "{paired}");
    assert!(paired["to_decide"].is_null(), "{paired}");
}

#[test]
fn a_limit_is_what_is_to_be_decided() {
    let limited = |ratio, code| {
        let bench = Bench::new();
        let options = ["--fail-on", "slower:4", "--max-runs", "400", "--budget", "1h"];
        let ran = play(&bench, &[1.0, ratio], &options).ends_with(code);
        let found = document(&ran);
        assert_eq!(
            (verdicts(&found), &found["analysis"]["end"]),
            (vec!["slower"], &"decided".into())
        );
        let shown = bench.stillwell(&["show", "--fail-on", "slower:4", "r.swell"]);
        shown.ends_with(code);
        bench.record().rows.len()
    };
    // The session finds "slower" long before it finds the side of 4 %.
    let n_runs = limited(1.05, 1);
    assert!(n_runs > 2 * 20, "{n_runs}");
    limited(1.03, 0);
    assert!(limited(1.5, 1) < 2 * 40);
}

#[test]
fn runs_that_time_out_use_up_the_budget() {
    let bench = Bench::new();
    let options = ["--timeout", "5ms", "-i", "--budget", "1s"];
    play(&bench, &[1.0, 1.5], &options).ends_with(124);
    let n_blocks = bench.record().rows.len() / 2;
    assert!((30..60).contains(&n_blocks), "{n_blocks} blocks of 25 ms in a second");
}

#[test]
fn all_commands_run_until_the_last_is_decided() {
    let bench = Bench::new();
    let found = document(&play(&bench, &[1.0, 1.5, 1.02], &["--max-runs", "400"]).ends_with(0));
    assert_eq!(verdicts(&found), ["slower", "slower"]);
    let n_runs: Vec<_> =
        [0, 1, 2].map(|arm| bench.record().rows.iter().filter(|row| row.arm == arm).count()).into();
    assert!(n_runs[0] > 14 && n_runs.iter().all(|n| *n == n_runs[0]), "{n_runs:?}");
    assert_eq!(paired(&found)["family"], 2);
}

#[test]
fn a_ratio_can_be_asked_for_to_some_precision() {
    let bench = Bench::new();
    let options = ["--same", "0.1", "--precision", "2"];
    let found = document(&play(&bench, &[1.0, 1.002], &options).ends_with(0));
    assert_eq!(found["analysis"]["end"], "precise");
    let ratio = &paired(&found)["ratio"];
    let width = ratio["hi"].as_f64().unwrap() / ratio["lo"].as_f64().unwrap();
    assert!(width.ln() / 2.0 <= 0.02_f64.ln_1p(), "{ratio}");
}

#[test]
fn the_record_gives_the_verdict_again() {
    for ratios in [[1.0, 1.5], [1.0, 1.0], [1.0, 1.01]] {
        let bench = Bench::new();
        let ran = play(&bench, &ratios, &["--max-runs", "120"]).ends_with(0);
        let shown = bench.stillwell(&["show", "--json", "r.swell"]).ends_with(0);
        assert_eq!(document(&ran), document(&shown));
    }
}

/// The record as after `kill -9`: some rows and no end.
#[test]
fn a_killed_session_has_the_verdict_of_its_last_look() {
    let bench = Bench::new();
    play(&bench, &[1.0, 1.5], &["--min-runs", "100"]).ends_with(0);
    let text = bench.read("r.swell");
    // The first interim analysis from 100 blocks on is at 109.
    for (n_rows, verdict) in [(2 * 108 + 1, "undecided"), (2 * 109, "slower")] {
        let kept: Vec<&str> = text.lines().take(1 + n_rows).collect();
        bench.write("killed.swell", &(kept.join("\n") + "\n"));
        let shown = document(&bench.stillwell(&["show", "--json", "killed.swell"]).ends_with(0));
        assert_eq!(verdicts(&shown), [verdict]);
        assert_eq!(shown["analysis"]["end"], Value::Null);
    }
}

#[test]
fn the_reference_can_be_its_own_control() {
    let bench = Bench::new();
    let ran = play_twin(&bench, &["./a", "./b"], &["1ms", "2ms", "1ms"]);
    let found = document(&ran);
    assert_eq!(found["analysis"]["comparisons"].as_array().unwrap().len(), 1);
    let twin = &found["analysis"]["self_check"];
    assert_eq!((&twin["arm"], &twin["reference"]), (&2.into(), &0.into()));
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout;
    assert!(
        shown.contains("self-check: the reference was not called different from itself"),
        "{shown}"
    );
    assert!(!shown.contains("3  ./a"), "the twin is no command of its own: {shown}");
    let exported = bench.stillwell(&["show", "r.swell", "--export-json", "-"]).ends_with(0);
    assert_eq!(document(&exported)["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_difference_between_twins_is_said() {
    let bench = Bench::new();
    play_twin(&bench, &["./a"], &["1ms", "1.3ms"]);
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout;
    assert!(shown.contains("CALLED DIFFERENT from itself"), "{shown}");
    assert!(shown.contains("1 % of sessions"), "{shown}");
}

/// `--aa` needs one line of times for each command and one for the twin.
fn play_twin(bench: &Bench, commands: &[&str], times: &[&str]) -> Ran {
    bench.write("script", &times.join("\n"));
    let fixed = ["--script", "script", "--host-root", ".", "-w", "0", "--json", "--aa"];
    bench.run(&[fixed.as_slice(), commands].concat()).ends_with(0)
}

/// Interim analyses come only at fixed numbers of pairs, because these share the error rate. So enough pairs for a verdict
/// are not enough.
#[test]
fn who_ends_before_the_first_look_is_told_so() {
    let bench = Bench::new();
    play(&bench, &[1.0, 1.5], &["--max-runs", "200"]).ends_with(0);
    let whole = bench.read("r.swell");
    let cut_after = |n_pairs: usize| {
        let lines: Vec<&str> = whole.lines().take(1 + 2 * n_pairs).collect();
        let end = r#"{"event":"end","reason":"interrupted"}"#;
        bench.write("cut.swell", &format!("{}\n{end}\n", lines.join("\n")));
        bench.stillwell(&["show", "cut.swell"]).ends_with(0).stdout
    };
    assert!(cut_after(4).contains("needs 8 complete pairs of runs; there are 4"));
    let ran = cut_after(9);
    assert!(ran.contains("before its first look; there are 9 complete"), "{ran}");
}
