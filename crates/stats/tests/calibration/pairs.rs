//! Calibration of one comparison: test, interval, looks and shape.

use stillwell_stats::relabel::{Estimand, Orbit, Pairs};
use stillwell_stats::sequential::{
    Conclusion, SAME_TAIL, SequentialDesign, SequentialTest, clustering, hidden_tail_pairs,
};
use stillwell_stats::spending::{Spending, by_pairs};
use stillwell_stats::{IntervalVerdict, Stream, shift};

use crate::noise::*;

#[test]
fn the_same_program_is_rarely_different() {
    for (seed, (name, noise)) in GENERATORS.into_iter().enumerate() {
        for n_pairs in [10, 30] {
            let mut stream = Stream::new(seed as u64);
            let rejected = |_: &usize| {
                let pairs = experiment(&mut stream, noise, n_pairs, 1.0);
                let orbit = Orbit::new(n_pairs, 199, stream.next_u64()).unwrap();
                pairs.test(&orbit, Estimand::Adaptive.statistics(), 0.0).unwrap().p <= 0.05
            };
            let hits = (0..1500).filter(rejected).count();
            at_most(&format!("{name}, {n_pairs} pairs"), hits, 1500, 0.05);
        }
    }
}

#[test]
fn every_estimand_is_calibrated() {
    for estimand in [Estimand::Typical, Estimand::Floor, Estimand::Mean] {
        let mut stream = Stream::new(11);
        let rejected = |_: &usize| {
            let pairs = experiment(&mut stream, bursts, 20, 1.0);
            let orbit = Orbit::new(20, 199, stream.next_u64()).unwrap();
            pairs.test(&orbit, estimand.statistics(), 0.0).unwrap().p <= 0.05
        };
        let hits = (0..5000).filter(rejected).count();
        at_most(&format!("{estimand:?}"), hits, 5000, 0.05);
    }
}

#[test]
fn intervals_cover_the_true_ratio() {
    let n = 300;
    for (seed, (name, noise)) in GENERATORS.into_iter().enumerate() {
        let mut stream = Stream::new(100 + seed as u64);
        let missed = |_: &usize| {
            let pairs = experiment(&mut stream, noise, 30, 1.02);
            let orbit = Orbit::new(30, 199, stream.next_u64()).unwrap();
            let found = pairs.compare(&orbit, Estimand::Adaptive.statistics(), 0.05, 1e-7).unwrap();
            // With ties the interval can be a point, which is found up to rounding.
            let (truth, rounding) = (1.02_f64.ln(), 1e-7);
            truth < found.interval.lo - rounding || truth > found.interval.hi + rounding
        };
        let hits = (0..n).filter(missed).count();
        at_most(&format!("{name}, missed"), hits, n, 0.05);
    }
}

/// A comparison of at most `n_max` pairs that looks until it is decided, and its pairs.
fn stopped(all: Pairs, n_max: usize, alpha: f64, seed: u64) -> (SequentialTest, Pairs) {
    let spending = Spending { alpha, family: 1, n_min: 0 };
    let (estimand, margin) = (Estimand::Adaptive, 0.01_f64.ln_1p());
    let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
    let mut comparison = SequentialTest::new(design);
    let points = by_pairs(n_max);
    for n_points in 1..=points.len() {
        let so_far = all.first(points[n_points - 1].n_pairs).unwrap();
        comparison.take(&so_far, &points[..n_points]).unwrap();
        if comparison.is_settled(1.0) {
            break;
        }
    }
    (comparison, all)
}

fn session(stream: &mut Stream, noise: Noise, n_max: usize, ratio: f64) -> (SequentialTest, Pairs) {
    let all = experiment(stream, noise, n_max, ratio);
    stopped(all, n_max, 0.05, stream.next_u64())
}

/// The printed verdict, which has to agree with the test and with the interval.
fn verdict(comparison: &SequentialTest, pairs: &Pairs, alpha: f64) -> Conclusion {
    let found = comparison.conclude(pairs, 1.0).unwrap().unwrap();
    let is_different = matches!(
        found.verdict,
        IntervalVerdict::Different | IntervalVerdict::DifferentWithinMargin
    );
    assert_eq!(is_different, comparison.is_different(1.0), "{found:?}");
    assert_eq!(is_different, !found.interval.contains(0.0), "{found:?}");
    assert_eq!(is_different, comparison.p() <= alpha, "{found:?}");
    assert_eq!(found.verdict == IntervalVerdict::Same, comparison.is_same(1.0), "{found:?}");
    let is_inside = !is_different && found.interval.is_within(0.01_f64.ln_1p());
    let is_same = found.verdict == IntervalVerdict::Same || found.doubt.is_some();
    assert_eq!(is_inside, is_same, "{found:?}");
    found
}

in_two_sizes!(looking_often_does_not_cost_calibration: 5, 40);

fn looking_often_does_not_cost_calibration(n: usize) {
    let (mut wrong, mut same) = (0, 0);
    for (noise, seed) in [(iid as Noise, 1), (regimes, 2), (bursts, 3), (position, 4), (ties, 5)] {
        let mut stream = Stream::new(seed);
        let is_wrong = |_: &usize| session(&mut stream, noise, 40, 1.0).0.is_different(1.0);
        wrong += (0..n).filter(is_wrong).count();
        let is_same = |_: &usize| session(&mut stream, noise, 120, 1.02).0.is_same(1.0);
        same += (0..n / 5).filter(is_same).count();
    }
    at_most("different, same program", wrong, 5 * n, 0.05);
    at_most("same, 2 % slower", same, n, 0.05);
}

in_two_sizes!(printed_verdicts_on_tied_times_are_calibrated: 14, 60);

/// Rounded times of the same program: ticks of a CPU clock, pages of memory, a coarse clock, and
/// files of two digits. Printed verdicts are counted, not p-values.
fn printed_verdicts_on_tied_times_are_calibrated(n: usize) {
    let mut hits = 0;
    for (grid, slot_effect, seed) in
        [(0.01, 0.0, 1), (1.0 / 30.0, 0.02, 2), (0.1, 0.0, 3), (0.3, 0.1, 4)]
    {
        let mut stream = Stream::new(seed);
        let wrong = |_: &usize| {
            let coins = stream.bits(40);
            let mut slot = |effect: f64| -> Vec<f64> {
                let time = |_| 1.0 + effect + 0.05 * normal(&mut stream).abs();
                (0..40).map(time).map(|time: f64| (time / grid).round() * grid).collect()
            };
            let all = Pairs::new(&slot(0.0), &slot(slot_effect), &coins).unwrap();
            let (comparison, pairs) = stopped(all, 40, 0.01, seed);
            let found = verdict(&comparison, &pairs, 0.01);
            found.verdict != IntervalVerdict::Undecided && found.verdict != IntervalVerdict::Same
        };
        hits += (0..n).filter(wrong).count();
    }
    at_most("all grids", hits, 4 * n, 0.01);
}

in_two_sizes!(the_interval_after_stopping_covers_the_true_ratio_and_agrees_with_the_verdict: 8, 20);

fn the_interval_after_stopping_covers_the_true_ratio_and_agrees_with_the_verdict(n: usize) {
    let (truth, rounding) = (1.02_f64.ln(), 1e-6);
    for (noise, seed) in [(iid as Noise, 1), (regimes, 2), (bursts, 3), (position, 4)] {
        let mut stream = Stream::new(40 + seed);
        let mut missed = 0;
        for _ in 0..n {
            let (comparison, pairs) = session(&mut stream, noise, 40, 1.02);
            let found = verdict(&comparison, &pairs, 0.05);
            missed += usize::from(
                truth < found.interval.lo - rounding || truth > found.interval.hi + rounding,
            );
        }
        at_most("missed", missed, n, 0.05);
    }
}

#[test]
fn a_clear_difference_is_found_early() {
    let mut stream = Stream::new(5);
    for _ in 0..20 {
        let (comparison, _) = session(&mut stream, spikes, 40, 1.1);
        assert!(comparison.is_different(1.0) && comparison.n_pairs_seen() < 40);
    }
}

#[test]
fn equal_programs_are_the_same_as_soon_as_no_tail_can_hide() {
    let mut stream = Stream::new(6);
    let quiet = |stream: &mut Stream, n: usize| -> Vec<f64> {
        (0..n).map(|_| 0.002 * normal(stream)).collect()
    };
    let early = |_: &usize| {
        let (comparison, pairs) = session(&mut stream, quiet, 100, 1.0);
        let found = verdict(&comparison, &pairs, 0.05);
        assert!(found.mean.1.contains(found.mean.0));
        comparison.is_same(1.0) && comparison.n_pairs_seen() == 69
    };
    // 0.95^58 is 5 %, so no earlier look can say it.
    assert_eq!(hidden_tail_pairs(0.05, SAME_TAIL), 59);
    assert!((0..10).filter(early).count() >= 9);
}

/// Four slow runs, two of each arm, show a tail that both arms may have. If they come in a row, so
/// may the slow runs that the session has not seen.
#[test]
fn slow_runs_in_a_row_ask_for_more_pairs_than_scattered_ones() {
    let pairs_for_same = |slow: [usize; 4]| {
        let mut stream = Stream::new(9);
        let coins = stream.bits(500);
        let mut slot = |second: usize| -> Vec<f64> {
            let time = |pair: usize| {
                let is_new = coins[pair] == (second == 0);
                let at = slow.iter().position(|&it| it == pair);
                let is_slow = at.is_some_and(|at| is_new == (at % 2 == 0));
                (0.001 * normal(&mut stream)).exp() * if is_slow { 1.25 } else { 1.0 }
            };
            (0..500).map(time).collect()
        };
        let all = Pairs::new(&slot(0), &slot(1), &coins).unwrap();
        let (comparison, _) = stopped(all, 500, 0.01, 3);
        assert!(comparison.is_same(1.0), "{slow:?}");
        comparison.n_pairs_seen()
    };
    let in_a_row = pairs_for_same([40, 41, 42, 43]);
    let scattered = pairs_for_same([20, 43, 66, 89]);
    // 90 pairs are needed, and nearly four times as many with bursts of four.
    assert!(scattered < 300 && in_a_row >= 340, "{scattered}, {in_a_row}");
}

/// Independent slow blocks rarely ask for more pairs; those in bursts mostly do.
#[test]
fn clustering_is_what_chance_does_not_explain() {
    let mut stream = Stream::new(10);
    for share in [0.03, 0.1, 0.4] {
        let is_more = |_: &usize| {
            let blocks: Vec<bool> = (0..110).map(|_| stream.unit() < share).collect();
            clustering(&blocks) > 1.0
        };
        let hits = (0..2000).filter(is_more).count();
        at_most(&format!("independent, {share}"), hits, 2000, 0.01);
    }
    let bursts = |stream: &mut Stream| -> Vec<bool> {
        let mut is_slow = false;
        let step = |_| {
            is_slow ^= stream.unit() < if is_slow { 0.2 } else { 0.02 };
            is_slow
        };
        (0..300).map(step).collect()
    };
    let found: Vec<f64> = (0..500).map(|_| clustering(&bursts(&mut stream))).collect();
    let mean = stillwell_stats::mean(&found).unwrap();
    assert!((4.0..6.0).contains(&mean), "bursts of five: {mean}");
}

in_two_sizes!(a_slow_tail_is_never_the_same: 2, 8);

/// New arms whose typical time hardly differs, but whose mean does.
fn a_slow_tail_is_never_the_same(n: usize) {
    // Share of slow runs, and how many times as long they take.
    for (share, factor, seed) in [(0.1, 3.0, 1), (0.05, 10.0, 2), (0.3, 1.05, 3)] {
        for (noise, spread) in [(iid as Noise, 0.1), (iid, 1.0), (bursts, 0.2)] {
            let mut stream = Stream::new(seed);
            let same = |_: &usize| {
                let logs = noise(&mut stream, 400);
                let coins = stream.bits(200);
                let mut slot = |second: usize| -> Vec<f64> {
                    let time = |pair: usize| {
                        let is_new = coins[pair] == (second == 0);
                        let is_slow = is_new && stream.unit() < share;
                        (spread * logs[2 * pair + second]).exp()
                            * if is_slow { factor } else { 1.0 }
                    };
                    (0..200).map(time).collect()
                };
                let all = Pairs::new(&slot(0), &slot(1), &coins).unwrap();
                let (comparison, pairs) = stopped(all, 200, 0.01, seed);
                assert_eq!(pairs.len(), 200);
                comparison.is_same(1.0)
            };
            let hits = (0..n).filter(same).count();
            at_most(&format!("{share} x {factor}, {spread}"), hits, n, 0.01);
        }
    }
}

#[test]
fn a_partial_slowdown_is_uneven_and_a_uniform_one_is_not() {
    let mut stream = Stream::new(6);
    let orbit = Orbit::new(60, 499, 1).unwrap();
    let uneven = |pairs: Pairs| pairs.shape(&orbit).unwrap().is_uneven();
    let n = 300;
    let uniform = (0..n).filter(|_| uneven(experiment(&mut stream, iid, 60, 1.05))).count();
    at_most("uniform", uniform, n, 0.01);
    let partial = |stream: &mut Stream| {
        let coins = stream.bits(60);
        let time = |stream: &mut Stream, new: bool| {
            let slow_path = new && stream.below(2) == 0;
            (0.01 * normal(stream).abs() + if slow_path { 0.1 } else { 0.0 }).exp()
        };
        let slot1: Vec<f64> = coins.iter().map(|&new| time(stream, new)).collect();
        let slot2: Vec<f64> = coins.iter().map(|&new| time(stream, !new)).collect();
        Pairs::new(&slot1, &slot2, &coins).unwrap()
    };
    let found = (0..50).filter(|_| uneven(partial(&mut stream))).count();
    assert!(found >= 45, "half of the runs 10 % slower: {found} of 50");
}

#[test]
fn the_band_of_the_shift_function_covers_all_deciles() {
    let mut stream = Stream::new(8);
    let (n, mut missed, mut unequal) = (300, 0, [0, 0]);
    for _ in 0..n {
        let pairs = experiment(&mut stream, regimes, 40, 1.05);
        let orbit = Orbit::new(40, 199, stream.next_u64()).unwrap();
        let theta = 1.05_f64.ln();
        let found = shift::shift(&pairs, &orbit, 0.1).unwrap();
        missed += usize::from(!found.band.iter().all(|interval| interval.contains(theta)));
        let ks = shift::kolmogorov_smirnov(&pairs, &orbit, theta).unwrap();
        let ad = shift::anderson_darling(&pairs, &orbit, theta).unwrap();
        unequal[0] += usize::from(ks.p <= 0.1);
        unequal[1] += usize::from(ad.p <= 0.1);
    }
    at_most("band", missed, n, 0.1);
    at_most("Kolmogorov-Smirnov", unequal[0], n, 0.1);
    at_most("Anderson-Darling", unequal[1], n, 0.1);
}

/// With few pairs, the estimated ratio is far from the true one, and the arms look most alike at
/// the estimate.
#[test]
fn the_band_covers_the_same_program_with_a_dozen_pairs() {
    let mut stream = Stream::new(12);
    let n = 300;
    let missed = (0..n).filter(|_| {
        let pairs = experiment(&mut stream, iid, 12, 1.0);
        let orbit = Orbit::new(12, 199, stream.next_u64()).unwrap();
        let found = shift::shift(&pairs, &orbit, 0.05).unwrap();
        !found.band.iter().all(|interval| interval.contains(0.0))
    });
    at_most("band", missed.count(), n, 0.05);
}
