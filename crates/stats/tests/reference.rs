//! The crate against values of independent programs, with one check per file of vectors.

mod common;

use common::{agree, bools, close, number, numbers, parse, whole, without};
use serde_json::{Value, json};
use stillwell_stats::max_t::PairedDifferences;
use stillwell_stats::relabel::{Orbit, Pairs, RatioTest, Statistic};
use stillwell_stats::{Interval, IntervalVerdict, SortedSample, Stream, logs};
use stillwell_stats::{changepoint, endpoint, multiplicity, series, shift};
use stillwell_stats::{two_level, two_sample};

/// The cases of a vector file. Another number of cases means that the file has changed.
fn cases(text: &str, n: usize) -> Vec<Value> {
    let cases = parse(text)["cases"].as_array().expect("a list of cases").clone();
    assert_eq!(cases.len(), n);
    cases
}

fn sorted(value: &Value) -> SortedSample {
    SortedSample::new(&numbers(value)).unwrap()
}

#[test]
fn prng() {
    for case in cases(include_str!("vectors/prng.json"), 4) {
        let seed: u64 = case["seed"].as_str().unwrap().parse().unwrap();
        let mut words = Stream::new(seed);
        for word in case["u64"].as_array().unwrap() {
            assert_eq!(format!("{:016x}", words.next_u64()), word.as_str().unwrap());
        }
        assert_eq!(Stream::new(seed).bits(10), bools(&case["bits10"]));
        assert_eq!(Stream::new(seed).bits(70), bools(&case["bits70"]));
    }
}

/// All sign patterns are enumerated, so the p-values are the same to the last bit but for rounding.
#[test]
fn max_t() {
    for case in cases(include_str!("vectors/max-t.json"), 3) {
        let columns = case["columns"].as_array().unwrap().iter().map(numbers).collect();
        let differences = PairedDifferences::new(columns).unwrap();
        let intervals = differences.intervals(number(&case["alpha"]), 5000, 1).unwrap();
        let found = json!({
            "p": differences.adjusted_p(5000, 1),
            "critical": intervals.critical,
            "half_widths": intervals.half_widths,
        });
        agree("max_t", &found, &case["expect"], close);
    }
}

#[test]
fn location() {
    for case in cases(include_str!("vectors/location.json"), 4) {
        let xs = sorted(&case["x"]);
        let found = json!({
            "mean": stillwell_stats::mean(xs.as_slice()).unwrap(),
            "median": xs.median(),
            "trimmed25": xs.trimmed_mean(),
            "trim_se": xs.trimmed_mean_se().unwrap(),
            "low20": xs.low_mean(0.2),
            "low25": xs.low_mean(0.25),
            "q25": xs.quantile(0.25),
            "q75": xs.quantile(0.75),
            "hd10": xs.harrell_davis(0.1).unwrap(),
            "hd50": xs.harrell_davis(0.5).unwrap(),
            "hd90": xs.harrell_davis(0.9).unwrap(),
        });
        agree("location", &found, &case["expect"], close);
    }
}

#[test]
fn endpoint() {
    for case in cases(include_str!("vectors/endpoint.json"), 16) {
        let xs = sorted(&case["x"]);
        let found = if case["k"].is_u64() {
            let k = whole(&case["k"]);
            let mut found = json!({
                "fan_paper": endpoint::paper(&xs, k).unwrap(),
                "fan_tim": endpoint::tim(&xs, k).unwrap(),
            });
            if let Ok(g_star) = endpoint::g_star(&xs, k) {
                found["gstar"] = json!(g_star);
            }
            found
        } else {
            let (n, k) = (whole(&case["tim_n"]), whole(&case["tim_k"]));
            let floor = endpoint::tim_emin(&numbers(&case["x"]), n, k).unwrap();
            json!({"est": floor.value, "err": floor.err})
        };
        agree("endpoint", &found, &case["expect"], close);
    }
}

/// The statistics from which the reference program selects.
const THREE: [Statistic; 3] = [Statistic::Typical, Statistic::LocalFloor, Statistic::Floor];

fn scores(
    test: &RatioTest,
    of: impl Fn(&stillwell_stats::relabel::ObservedStatistic) -> f64,
) -> Vec<f64> {
    test.scores.iter().map(of).collect()
}

#[test]
fn compare() {
    for (i, case) in cases(include_str!("vectors/compare.json"), 9).iter().enumerate() {
        let coins = bools(&case["coin_slot1_is_B"]);
        let pairs = Pairs::new(&numbers(&case["slot1"]), &numbers(&case["slot2"]), &coins).unwrap();
        let seed = case["seed"].as_u64().unwrap();
        let orbit = Orbit::new(coins.len(), whole(&case["B"]), seed).unwrap();
        let test = pairs.test(&orbit, &THREE, 0.0).unwrap();
        let order = THREE;
        let mut found = json!({
            "p": test.p,
            "selected": order.iter().position(|s| *s == test.selected.statistic),
            "p_each": scores(&test, |s| s.p),
            "T": scores(&test, |s| s.t),
            "q90": scores(&test, |s| s.q90),
            "pos": test.position,
            "orbit": test.n_labellings,
        });
        let mut expect = case["expect"].clone();
        if let Some(alpha) = case["expect"]["alpha"].as_f64() {
            let made = pairs.compare(&orbit, &THREE, alpha, 1e-7).unwrap();
            let ratio = made.interval.exp();
            found["alpha"] = json!(made.alpha);
            found["theta"] = json!(made.theta);
            found["ratio"] = json!(made.theta.exp());
            found["ci_lo"] = json!(made.interval.lo);
            found["ci_hi"] = json!(made.interval.hi);
            found["ratio_lo"] = json!(ratio.lo);
            found["ratio_hi"] = json!(ratio.hi);
            if i == 2 {
                // From 0.10057 on, the two floors tie in q90 up to rounding. The rule takes the
                // first; the reference program took the second, with half the p-value.
                assert!((made.interval.hi - 0.1026765736).abs() < 1e-6);
                found = without(&found, &["ci_hi", "ratio_hi"]);
                expect = without(&expect, &["ci_hi", "ratio_hi"]);
            }
        }
        agree(&format!("compare[{i}]"), &found, &expect, |path, expect| {
            let is_end = ["_lo", "_hi"].iter().any(|end| path.ends_with(end));
            if is_end { 1e-6 } else { close(path, expect) }
        });
    }
}

#[test]
fn two_sample() {
    for case in cases(include_str!("vectors/two_sample.json"), 3) {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let welch = two_sample::welch(&x, &y).unwrap();
        let mann_whitney = two_sample::mann_whitney(&x, &y).unwrap();
        let (x, y) = (sorted(&case["x"]), sorted(&case["y"]));
        let found = json!({
            "welch_t": welch.t,
            "welch_df": welch.df,
            "welch_p": welch.p,
            "mwu_U_y": mann_whitney.u,
            "mwu_p_asymptotic": mann_whitney.p_asymptotic,
            "ks_D": two_sample::kolmogorov_smirnov(&x, &y),
            "ad_ksamp_norm": two_sample::anderson_darling(&x, &y).unwrap(),
        });
        agree("two_sample", &found, &case["expect"], |path, expect| {
            // The normal tail of statrs has ten correct digits.
            if path.ends_with("asymptotic") { 1e-9 * expect } else { close(path, expect) }
        });
    }
}

#[test]
fn series() {
    for case in cases(include_str!("vectors/series.json"), 6) {
        let times = numbers(&case["x"]);
        let xs = logs(&times).unwrap();
        let independence = series::von_neumann(&times).unwrap();
        let trend = series::mann_kendall(&times).unwrap();
        let floors = series::floor_windows(&xs).unwrap();
        let ln_n = (xs.len() as f64).ln();
        let found = json!({
            "rvn": independence.ratio,
            "rvn_z": independence.z,
            "rho1": independence.rho,
            "n_eff": independence.n_eff,
            "mk_S": trend.s,
            "mk_tau": trend.tau,
            "mk_z": trend.z,
            "theil_sen_log_slope": series::theil_sen(&xs).unwrap(),
            "floor_spread_log": series::floor_shift(&xs, 1, 1).unwrap().spread,
            "floor_windows_log": floors,
            "pelt_log_15lnn": changepoint::pelt(&xs, 15.0 * ln_n).unwrap(),
            "pelt_log_3lnn": changepoint::pelt(&xs, 3.0 * ln_n).unwrap(),
            "dip_log": series::dip(&SortedSample::new(&xs).unwrap()),
        });
        let name = case["name"].as_str().unwrap();
        agree(name, &found, &case["expect"], close);
    }
}

#[test]
fn shift_function() {
    for case in cases(include_str!("vectors/shift_function.json"), 2) {
        let found = json!({
            "deciles": shift::DECILES,
            "shift": shift::shift_function(&sorted(&case["x"]), &sorted(&case["y"])),
        });
        // The value is a difference of two numbers near 1.5e6.
        agree("shift", &found, &case["expect"], |_, _| 1e-6);
    }
}

#[test]
fn two_level() {
    for case in cases(include_str!("vectors/two_level.json"), 2) {
        let launches: Vec<Vec<f64>> =
            case["launches"].as_array().unwrap().iter().map(numbers).collect();
        let made = two_level::two_level(&launches).unwrap();
        let loops = made.optimal_loops(number(&case["cost_ratio_launch_over_loop"])).unwrap();
        let found = json!({
            "T1sq": made.within,
            "S2sq": made.of_means,
            "T2sq": made.between,
            "optimal_loops": loops,
        });
        let mut expect = case["expect"].clone();
        if expect["optimal_loops"].is_null() {
            // This crate returns the cap where the reference has no optimum.
            expect["optimal_loops"] = json!(50);
        }
        agree("two_level", &found, &expect, close);
    }
}

#[test]
fn multiplicity() {
    for case in cases(include_str!("vectors/multiplicity.json"), 1) {
        let p = numbers(&case["p"]);
        let found = json!({
            "holm": multiplicity::holm(&p).unwrap(),
            "bh": multiplicity::benjamini_hochberg(&p).unwrap(),
        });
        agree("multiplicity", &found, &case["expect"], close);
    }
}

#[test]
fn verdict() {
    for case in cases(include_str!("vectors/verdict.json"), 7) {
        let interval = Interval { lo: number(&case["lo"]), hi: number(&case["hi"]) };
        let verdict = IntervalVerdict::of(interval, number(&case["rope"]));
        assert_eq!(name(verdict), case["expect"].as_str().unwrap());
    }
}

fn name(verdict: IntervalVerdict) -> &'static str {
    match verdict {
        IntervalVerdict::Different => "different",
        IntervalVerdict::DifferentWithinMargin => "different (within margin)",
        IntervalVerdict::Same => "same",
        IntervalVerdict::Undecided => "undecided",
    }
}
