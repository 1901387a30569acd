//! `--budget` is kept, and told beforehand where it is too short; and the line of `--fail-on`.

use crate::bench::{Bench, Ran};

/// Plays two commands that take about a second and this multiple of it, with a warm-up.
fn play(bench: &Bench, ratio: f64, options: &[&str]) -> Ran {
    let mut stream = stats::Stream::new(7);
    let mut times = |ratio: f64| {
        let time = |_| format!("{:.6}s", ratio * (1.0 + 0.002 * stream.unit()));
        (0..97).map(time).collect::<Vec<_>>().join(" ")
    };
    bench.write("script", &[times(1.0), times(ratio)].join("\n"));
    let fixed = ["--script", "script", "--host-root", ".", "--seed", "7"];
    bench.run(&[fixed.as_slice(), options, &["./old", "./new"]].concat())
}

fn n_blocks(bench: &Bench) -> usize {
    bench.record().timed().count() / 2
}

/// Blocks of 2.1 s: the fifth does not fit into ten seconds, so it is not begun.
#[test]
fn a_block_that_does_not_fit_is_not_begun() {
    let blocks = |options: &[&str]| {
        let bench = Bench::new();
        let ran = play(&bench, 1.1, options).ends_with(0);
        (n_blocks(&bench), ran)
    };
    let (n, ran) = blocks(&[]);
    assert_eq!(n, 4, "{ran:?}");
    let said = "at this pace --budget 10s has room for some 4 of 10 blocks: too few for a verdict; --budget 24s";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stdout.contains("which is an estimate and no"), "{}", ran.stdout);
    let (n, ran) = blocks(&["--budget", "24s"]);
    assert!(n >= 10 && !ran.stderr.contains("has room"), "{n}: {ran:?}");
    assert_eq!(blocks(&["--runs", "30", "--budget", "10s"]).0, 4, "whichever comes first");
    assert_eq!(blocks(&["--runs", "3", "--budget", "10s"]).0, 3);
    assert_eq!(blocks(&["--min-runs", "9", "--budget", "10s"]).0, 9, "the user's own number");
    assert_eq!(blocks(&["--budget", "100ms"]).0, 1, "one is always measured");
    assert_eq!(blocks(&["--order", "sequential", "--budget", "10s"]).0, 4);
    let (n, ran) = blocks(&["-w", "0", "--budget", "10s"]);
    assert!(n == 4 && ran.stderr.contains("room for some 4"), "without a warm-up: {ran:?}");
}

/// Nine pairs can decide, although ten are planned.
#[test]
fn the_end_of_the_budget_can_have_a_verdict() {
    let bench = Bench::new();
    let ran = play(&bench, 1.1, &["--budget", "20s"]).ends_with(0);
    assert_eq!(n_blocks(&bench), 9);
    assert!(
        ran.stdout.contains("./new is ") && ran.stdout.contains("slower than ./old"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("no verdict"), "{}", ran.stderr);
}

/// A suite gives every benchmark its turn, and says what would be long enough.
#[test]
fn a_suite_with_a_short_budget_does_not_measure_the_fewest_blocks() {
    let bench = Bench::new();
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let benchmark = |name| format!("[[benchmark]]\nname = \"{name}\"\ncommand = \"sleep 0.05\"\n");
    let text = format!("{variants}{}{}", benchmark("one"), benchmark("two"));
    bench.write("suite.toml", &text);
    let ran = bench.stillwell(&["bench", "suite.toml", "--budget", "500ms", "-o", "out"]);
    let ran = ran.ends_with(0);
    assert!(
        ran.stderr.contains("has no room for the fewest blocks of 2 of 2 benchmarks"),
        "{ran:?}"
    );
    for name in ["one", "two"] {
        let shown = bench.stillwell(&["show", "--json", "out"]).ends_with(0).stdout;
        let found: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let arms = found["analysis"]["arms"].as_array().unwrap();
        let n_runs = arms.iter().map(|arm| arm["n_runs"].as_u64().unwrap());
        assert!(
            n_runs.clone().all(|n| (1..10).contains(&n)),
            "{name}: {:?}",
            n_runs.collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_last_line_is_the_answer_of_the_gate() {
    let gate = |ratio: f64, fail_on: &str, options: &[&str], code: i32| {
        let bench = Bench::new();
        let options = [&["--fail-on", fail_on, "--budget", "1h"], options].concat();
        let ran = play(&bench, ratio, &options).ends_with(code);
        let shown = bench.stillwell(&["show", "--fail-on", fail_on, "r.swell"]).ends_with(code);
        let last = |ran: &Ran| ran.stdout.lines().last().unwrap_or_default().to_owned();
        assert_eq!(last(&ran), last(&shown));
        last(&ran)
    };
    let line = gate(1.1, "slower:2%", &[], 1);
    assert!(line.starts_with("gate: fail: ./new against ./old takes 1.1"), "{line}");
    assert!(line.ends_with(" times as long at 99 %, all of it above 1.02, exit code 1"), "{line}");
    let line = gate(0.9, "slower:2%", &[], 0);
    assert!(line.starts_with("gate: pass: ./new against ./old takes 0.9"), "{line}");
    assert!(line.ends_with(", so it is faster, exit code 0"), "{line}");
    let line = gate(1.1, "slower:2%", &["-r", "5"], 3);
    let expected = "gate: not decided: ./new against ./old has no verdict: a verdict at 99 % needs 8 complete pairs of \
                    runs; there are 5, exit code 3";
    assert_eq!(line, expected);
}
