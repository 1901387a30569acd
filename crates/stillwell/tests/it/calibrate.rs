//! The verb `calibrate`, on scripted times.

use crate::bench::Bench;

const FIXED: [&str; 10] = [
    "calibrate",
    "--script",
    "script",
    "--host-root",
    ".",
    "-o",
    "c.swell",
    "--seed",
    "1",
    "--replays=50",
];

#[test]
fn short_series_and_failures_are_refused() {
    let bench = Bench::new();
    bench.write("script", "1ms 2ms\n");
    let short = [FIXED.as_slice(), &["-r", "50", "./prog"]].concat();
    assert!(bench.stillwell(&short).ends_with(2).stderr.contains("120"));
    bench.run(&["--script", "script", "-w", "0", "-r", "40", "./prog"]).ends_with(0);
    let from = bench.stillwell(&["calibrate", "--from", "r.swell"]).ends_with(2);
    assert!(
        from.stderr.contains("has 40 runs of its first command; calibration needs 120"),
        "{}",
        from.stderr
    );
    bench.write("script", "1ms 1ms 1ms!3\n");
    let failing = bench.stillwell(&[FIXED.as_slice(), &["./prog"]].concat()).ends_with(2);
    assert!(failing.stderr.contains("exited with 3"), "{}", failing.stderr);
}

/// They take some ten seconds of a CPU and more.
mod long {
    use serde_json::Value;

    use super::*;
    use crate::bench::Ran;

    /// Times of a machine that changes its speed about every 40 runs.
    fn script(bench: &Bench) {
        let mut stream = stats::Stream::new(2);
        let mut is_slow = false;
        let factor = |_| {
            is_slow ^= stream.below(40) == 0;
            format!("{:.6}", 1.0 + 0.01 * stream.unit() + if is_slow { 0.05 } else { 0.0 })
        };
        let factors: Vec<String> = (0..700).map(factor).collect();
        bench.write("script", &format!("5ms\nat {}\n", factors.join(" ")));
    }

    /// A calibration with the fewest runs and replays that are allowed.
    fn calibrated(bench: &Bench) -> Ran {
        let words = [FIXED.as_slice(), &["-r", "120", "--alpha", "5", "--json", "./prog"]].concat();
        bench.stillwell(&words).ends_with(0)
    }

    #[test]
    fn it_measures_then_replays_and_can_replay_again() {
        let bench = Bench::new();
        script(&bench);
        let ran = calibrated(&bench);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&found["n_runs"], &found["n_replays"]), (&120.into(), &50.into()));
        let alike = &found["powers"][0];
        assert!(alike["stillwell"].as_f64().unwrap() <= 0.15, "{alike}");
        assert!(alike["welch"].as_f64().unwrap() >= 0.3, "{alike}");
        assert_eq!(found["powers"][6]["stillwell"], 1.0);
        let again = [
            "calibrate",
            "--from",
            "c.swell",
            "--seed",
            "1",
            "--replays=50",
            "--alpha",
            "5",
            "--json",
        ];
        assert_eq!(bench.stillwell(&again).ends_with(0).stdout, ran.stdout);
    }

    #[test]
    fn a_series_of_one_command_is_not_cut_short_by_its_precision() {
        let bench = Bench::new();
        bench.write("script", "5ms 5.001ms\n");
        let ran = bench.stillwell(&[FIXED.as_slice(), &["--budget", "4s", "./prog"]].concat());
        let text = ran.ends_with(0).stdout;
        // 800 runs would take 4.0004 s.
        assert!(text.contains("799 runs"), "{text}");
        assert!(text.contains("Mann-Whitney, A then B"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
