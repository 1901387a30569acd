//! Numbers at the edges: all finite input gives numbers or an error, and every function ends.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use stillwell_stats::pooled::{Center, RandomEffects, centers};
use stillwell_stats::relabel::{Estimand, Orbit, Pairs};
use stillwell_stats::{
    Interval, IntervalVerdict, Invalid, PointEstimate, SortedSample, across_sessions, changepoint,
    cv, endpoint, interruptions, level_shift, low_end, mean, ratio, sample_sd, series, shift,
    spending, suspects, two_level, two_sample, verdict, warmup,
};

/// Times of all sizes: the smallest and the largest number, and what overflows when it is squared.
fn extreme() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(5e-324),
        Just(1e-310),
        (1.0..2.0f64).prop_map(|x| x * 1e-200),
        (1.0..2.0f64).prop_map(|x| x * 1e-160),
        Just(1.0),
        (1.0..2.0f64),
        (1.0..2.0f64).prop_map(|x| x * 1e160),
        (1.0..2.0f64).prop_map(|x| x * 1e300),
    ]
}

/// Samples of one size, or of all sizes.
fn sample() -> impl Strategy<Value = Vec<f64>> {
    let sizes = prop_oneof![Just(1e-320), Just(1e-200), Just(1.0), Just(1e160), Just(1e300)];
    prop_oneof![
        vec(extreme(), 1..40),
        (sizes, vec(1.0..2.0f64, 1..40))
            .prop_map(|(size, xs)| xs.into_iter().map(|x| x * size).collect()),
    ]
}

/// No answer contains a NaN. An error is an answer.
fn is_number(what: &str, found: impl Debug) {
    let text = format!("{found:?}");
    assert!(!text.contains("NaN"), "{what}: {text}");
}

fn one_sample(xs: &[f64]) -> Result<(), Invalid> {
    let sorted = SortedSample::new(xs)?;
    is_number("median", sorted.median());
    is_number("quantile", [0.0, 0.3, 0.99].map(|p| sorted.quantile(p)));
    is_number("low_mean", sorted.low_mean(0.2));
    is_number("trimmed_mean", (sorted.trimmed_mean(), sorted.trimmed_mean_se()));
    is_number("harrell_davis", sorted.harrell_davis(0.3));
    is_number("moments", (mean(xs), sample_sd(xs), cv(xs)));
    is_number("floor", low_end::floor(xs));
    is_number("tim", endpoint::tim_emin(xs, 4, 1));
    is_number("window_err", endpoint::window_err(xs, SortedSample::median));
    is_number("dip", series::dip(&sorted));
    is_number("ranks", (series::von_neumann(xs), series::rank_scan(xs)));
    is_number("trend", (series::mann_kendall(xs), series::theil_sen(xs)));
    is_number("floor_shift", series::floor_shift(xs, 19, 1));
    is_number("stability", series::stability(xs, 1));
    is_number("pelt", changepoint::pelt(xs, 9.0));
    is_number("warm-up", (warmup::prefix(xs), warmup::steady_from(xs)));
    is_number("rank_among", across_sessions::rank_among(xs, xs[0]));
    let counts: Vec<u64> = (0..xs.len() as u64).map(|i| i % 3).collect();
    is_number("interruptions", interruptions::uninterrupted(xs, &counts));
    let options = level_shift::ShiftOptions { alpha: 0.05, level_min: 4, n_orders: 19, seed: 1 };
    is_number("level_shift", level_shift::find(xs, options));
    is_number("suspects", suspects::evidence(&[xs.to_vec()], 0.01));
    Ok(())
}

fn two_samples(xs: &[f64], ys: &[f64], coins: &[bool]) -> Result<(), Invalid> {
    is_number("welch", two_sample::welch(xs, ys));
    is_number("mann_whitney", two_sample::mann_whitney(xs, ys));
    let (x, y) = (SortedSample::new(xs)?, SortedSample::new(ys)?);
    is_number(
        "ks, ad",
        (two_sample::kolmogorov_smirnov(&x, &y), two_sample::anderson_darling(&x, &y)),
    );
    is_number("shift_function", shift::shift_function(&x, &y));
    is_number("two_level", two_level::two_level(&[xs.to_vec(), ys.to_vec()]));
    let groups = [xs.to_vec(), ys.to_vec()];
    for center in [Center::Typical, Center::Mean] {
        is_number("centers", centers(&groups, center));
    }
    let estimates: Vec<PointEstimate> =
        xs.iter().zip(ys).map(|(&value, &err)| PointEstimate { value, err }).collect();
    let effects = RandomEffects::of(&estimates);
    is_number("effects", effects);
    if let Ok(effects) = effects {
        is_number("effects", (effects.test(), effects.interval(0.01)));
    }
    let n = xs.len().min(ys.len());
    is_number("ratio", ratio::sum_ratio(&xs[..n], &ys[..n]));
    let pairs = Pairs::new(&xs[..n], &ys[..n], &coins[..n])?;
    let orbit = Orbit::new(n, 39, 1)?;
    for estimand in [Estimand::Adaptive, Estimand::Mean] {
        is_number("compare", pairs.compare(&orbit, estimand.statistics(), 0.1, 1e-4));
    }
    is_number("shape", (pairs.shape(&orbit), pairs.mean_ratio()));
    is_number("tail", (pairs.tail(0.0), pairs.slow_runs()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn finite_times_give_numbers(xs in sample(), ys in sample(), coins in vec(any::<bool>(), 40)) {
        one_sample(&xs).unwrap();
        two_samples(&xs, &ys, &coins).unwrap();
    }

    #[test]
    fn moments_have_no_size(xs in vec(1.0..2.0f64, 2..40), exponent in -1000i32..1000) {
        let size = 2f64.powi(exponent);
        let scaled: Vec<f64> = xs.iter().map(|x| x * size).collect();
        prop_assert_eq!(sample_sd(&scaled).unwrap(), size * sample_sd(&xs).unwrap());
        prop_assert_eq!(cv(&scaled), cv(&xs));
        let err = |xs: &[f64]| endpoint::window_err(xs, SortedSample::min).ok();
        prop_assert_eq!(err(&scaled), err(&xs).map(|err| size * err));
        let t = |xs: &[f64]| two_sample::welch(&xs[..xs.len() / 2], &xs[xs.len() / 2..]);
        prop_assert_eq!(t(&scaled), t(&xs));
    }

    #[test]
    fn parameters_give_numbers_or_errors(a in any::<f64>(), b in any::<f64>(), n in any::<usize>()) {
        is_number("z", verdict::z(a).ok());
        is_number("mde80", verdict::mde80(1.0, a).ok());
        prop_assert!(verdict::minimum_pairs(a).is_ok_and(|n| n <= 1076) || !(a > 0.0 && a < 1.0));
        prop_assert!(spending::sizes(n).len() <= 190);
        let interval = Interval { lo: a, hi: b };
        let of = IntervalVerdict::of(interval, 0.01);
        prop_assert!(of == IntervalVerdict::Undecided || !(a.is_nan() || b.is_nan()));
        verdict::pairs_to_decide(n, interval, a, 0.01);
    }
}

#[test]
fn an_end_that_is_no_number_decides_nothing() {
    for (lo, hi) in [(f64::NAN, 0.001), (0.001, f64::NAN), (f64::NAN, f64::NAN)] {
        let found = IntervalVerdict::of(Interval { lo, hi }, 0.01);
        assert_eq!(found, IntervalVerdict::Undecided, "{lo} {hi}");
    }
}
