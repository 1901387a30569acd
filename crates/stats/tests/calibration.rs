//! The promises on noise that no textbook test survives: seeded, so the outcome is fixed.
//!
//! Rates must lie within two standard deviations of a binomial count on the bad side.

use stats::multiplicity::holm;
use stats::pooled::{Center, RandomEffects, centers, residuals};
use stats::relabel::{Estimand, Orbit, Pairs};
use stats::sequential::{Question, Sequential, holm_shares};
use stats::spending::{Reached, Spending, by_pairs, sizes};
use stats::{Sorted, Stream, series, shift, warmup};

type Noise = fn(&mut Stream, usize) -> Vec<f64>;

fn normal(stream: &mut Stream) -> f64 {
    // Box and Muller (1958).
    (-2.0 * (1.0 - stream.unit()).ln()).sqrt() * (std::f64::consts::TAU * stream.unit()).cos()
}

fn iid(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|_| 0.02 * normal(stream).exp()).collect()
}

fn spikes(stream: &mut Stream, n: usize) -> Vec<f64> {
    let spike = |stream: &mut Stream| if stream.below(10) == 0 { stream.unit() } else { 0.0 };
    (0..n).map(|_| 0.005 * normal(stream).abs() + spike(stream)).collect()
}

/// Two speeds, each kept for 20 runs in the mean.
fn regimes(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut slow = false;
    let step = |_| {
        slow ^= stream.below(20) == 0;
        f64::from(u8::from(slow)) * 0.1 + 0.01 * normal(stream).abs()
    };
    (0..n).map(step).collect()
}

fn drift(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.2 * i as f64 / n as f64 + 0.01 * normal(stream).abs()).collect()
}

fn random_walk(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut level = 0.0;
    let step = |_| {
        level += 0.01 * normal(stream);
        level + 0.005 * normal(stream)
    };
    (0..n).map(step).collect()
}

/// Bursts of other work, slowing all runs meanwhile by a new amount each.
fn bursts(stream: &mut Stream, n: usize) -> Vec<f64> {
    let mut load = 0.0;
    let step = |_| {
        load = match stream.below(12) {
            0 => 0.5 * stream.unit(),
            1..4 => 0.0,
            _ => load,
        };
        load + 0.01 * normal(stream).abs()
    };
    (0..n).map(step).collect()
}

/// The second run of each pair is slower.
fn position(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.02 * (i % 2) as f64 + 0.01 * normal(stream).abs()).collect()
}

/// A coarse clock: most times are equal.
fn ties(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|_| 0.01 * stream.below(4) as f64).collect()
}

const GENERATORS: [(&str, Noise); 8] = [
    ("iid", iid),
    ("spikes", spikes),
    ("regimes", regimes),
    ("drift", drift),
    ("random walk", random_walk),
    ("bursts", bursts),
    ("position", position),
    ("ties", ties),
];

/// `n` pairs whose new arm takes `ratio` times as long.
fn experiment(stream: &mut Stream, noise: Noise, n: usize, ratio: f64) -> Pairs {
    let coins = stream.bits(n);
    let logs = noise(stream, 2 * n);
    let slot = |second: usize| -> Vec<f64> {
        let new = |j: usize| coins[j] == (second == 0);
        let time = |j: usize| 1e6 * logs[2 * j + second].exp() * if new(j) { ratio } else { 1.0 };
        (0..n).map(time).collect()
    };
    Pairs::new(&slot(0), &slot(1), &coins).unwrap()
}

/// Fails if `hits` of `n` is more than two standard deviations above `rate`.
fn at_most(what: &str, hits: usize, n: usize, rate: f64) {
    let limit = n as f64 * rate + 2.0 * (n as f64 * rate * (1.0 - rate)).sqrt();
    assert!(hits as f64 <= limit, "{what}: {hits} of {n}, at most {limit:.1} for {rate}");
}

#[test]
fn the_same_program_is_rarely_different() {
    for (seed, (name, noise)) in GENERATORS.into_iter().enumerate() {
        for n_pairs in [10, 30] {
            let mut stream = Stream::new(seed as u64);
            let rejected = |_: &usize| {
                let pairs = experiment(&mut stream, noise, n_pairs, 1.0);
                let orbit = Orbit::new(n_pairs, 199, stream.next_u64()).unwrap();
                pairs.test(&orbit, Estimand::Adaptive, 0.0).unwrap().p <= 0.05
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
            pairs.test(&orbit, estimand, 0.0).unwrap().p <= 0.05
        };
        let hits = (0..5000).filter(rejected).count();
        at_most(&format!("{estimand:?}"), hits, 5000, 0.05);
    }
}

#[test]
fn intervals_cover_the_true_ratio() {
    for (seed, (name, noise)) in GENERATORS.into_iter().enumerate() {
        let mut stream = Stream::new(100 + seed as u64);
        let missed = |_: &usize| {
            let pairs = experiment(&mut stream, noise, 30, 1.02);
            let orbit = Orbit::new(30, 199, stream.next_u64()).unwrap();
            let found = pairs.compare(&orbit, Estimand::Adaptive, 0.05).unwrap();
            // With ties the interval can be a point, and a point is found up to rounding.
            let (truth, rounding) = (1.02_f64.ln(), 1e-7);
            truth < found.interval.lo - rounding || truth > found.interval.hi + rounding
        };
        let hits = (0..1000).filter(missed).count();
        at_most(&format!("{name}, missed"), hits, 1000, 0.05);
    }
}

/// A comparison of at most `n_max` pairs, looked at as it goes until it is decided; and its pairs.
fn stopped(stream: &mut Stream, noise: Noise, n_max: usize, ratio: f64) -> (Sequential, Pairs) {
    let all = experiment(stream, noise, n_max, ratio);
    let spending = Spending { alpha: 0.05, family: 1, n_min: 0 };
    let (estimand, margin) = (Estimand::Adaptive, 0.01_f64.ln_1p());
    let question = Question { spending, estimand, margin, limit: 0.0, seed: stream.next_u64() };
    let mut comparison = Sequential::new(question);
    let points = by_pairs(n_max);
    for n_points in 1..=points.len() {
        let so_far = all.first(points[n_points - 1].n_pairs).unwrap();
        comparison.take(&so_far, &points[..n_points]).unwrap();
        if comparison.is_different(1.0) || comparison.is_same(1.0) {
            break;
        }
    }
    (comparison, all)
}

#[test]
fn looking_often_does_not_cost_calibration() {
    for (noise, seed) in [(iid as Noise, 1), (regimes, 2), (bursts, 3), (position, 4), (ties, 5)] {
        let mut stream = Stream::new(seed);
        let wrong = |_: &usize| stopped(&mut stream, noise, 40, 1.0).0.is_different(1.0);
        let hits = (0..300).filter(wrong).count();
        at_most("different, same program", hits, 300, 0.05);
        let same = |_: &usize| stopped(&mut stream, noise, 40, 1.02).0.is_same(1.0);
        let hits = (0..200).filter(same).count();
        at_most("same, 2 % slower", hits, 200, 0.05);
    }
}

#[test]
fn the_interval_after_stopping_covers_the_true_ratio_and_agrees_with_the_verdict() {
    let (truth, rounding) = (1.02_f64.ln(), 1e-6);
    for (noise, seed) in [(iid as Noise, 1), (regimes, 2), (bursts, 3), (position, 4)] {
        let mut stream = Stream::new(40 + seed);
        let mut missed = 0;
        for _ in 0..150 {
            let (comparison, pairs) = stopped(&mut stream, noise, 40, 1.02);
            let found = comparison.conclude(&pairs, 1.0).unwrap().unwrap();
            let margin = 0.01_f64.ln_1p();
            let is_inside = -margin < found.interval.lo && found.interval.hi < margin;
            assert!(is_inside || !comparison.is_same(1.0), "{found:?}");
            assert_eq!(comparison.is_different(1.0), !found.interval.contains(0.0));
            assert_eq!(comparison.is_different(1.0), comparison.p() <= 0.05);
            missed += usize::from(
                truth < found.interval.lo - rounding || truth > found.interval.hi + rounding,
            );
        }
        at_most("missed", missed, 150, 0.05);
    }
}

#[test]
fn a_clear_difference_is_found_early() {
    let mut stream = Stream::new(5);
    for _ in 0..20 {
        let (comparison, _) = stopped(&mut stream, spikes, 40, 1.1);
        assert!(comparison.is_different(1.0) && comparison.n_pairs_seen() < 40);
    }
}

#[test]
fn equal_programs_are_called_the_same_early() {
    let mut stream = Stream::new(6);
    let quiet = |stream: &mut Stream, n: usize| -> Vec<f64> {
        (0..n).map(|_| 0.002 * normal(stream)).collect()
    };
    let early = |_: &usize| {
        let (comparison, pairs) = stopped(&mut stream, quiet, 100, 1.0);
        let found = comparison.conclude(&pairs, 1.0).unwrap().unwrap();
        let is_inside = found.interval.lo.abs().max(found.interval.hi.abs()) < 0.01_f64.ln_1p();
        assert_eq!(is_inside, comparison.is_same(1.0), "{found:?}");
        comparison.is_same(1.0) && comparison.n_pairs_seen() < 40
    };
    assert!((0..40).filter(early).count() >= 38);
}

/// One reference, four equal arms and one that is 5 % slower, on the noise of bursts.
#[test]
fn a_family_of_comparisons_errs_as_seldom_as_one() {
    let (mut stream, mut n_false, mut n_found) = (Stream::new(7), 0, 0);
    for _ in 0..200 {
        let arms: Vec<Sequential> = (0..5)
            .map(|arm| {
                let ratio = if arm == 0 { 1.05 } else { 1.0 };
                let pairs = experiment(&mut stream, bursts, 40, ratio);
                let spending = Spending { alpha: 0.05, family: 5, n_min: 0 };
                let (estimand, margin) = (Estimand::Adaptive, 0.01);
                let seed = stream.next_u64();
                let question = Question { spending, estimand, margin, limit: 0.0, seed };
                let mut arm = Sequential::new(question);
                arm.take(&pairs, &by_pairs(40)).unwrap();
                arm
            })
            .collect();
        let family: Vec<&Sequential> = arms.iter().collect();
        let adjusted = holm(&arms.iter().map(Sequential::p).collect::<Vec<_>>()).unwrap();
        let different: Vec<bool> = arms
            .iter()
            .zip(holm_shares(&family, 0))
            .map(|(arm, share)| arm.is_different(share))
            .collect();
        assert_eq!(different, adjusted.iter().map(|p| *p <= 0.05).collect::<Vec<_>>());
        n_found += usize::from(different[0]);
        n_false += usize::from(different[1..].contains(&true));
    }
    at_most("any false", n_false, 200, 0.05);
    assert!(n_found >= 150, "{n_found} of 200");
}

/// A benchmark of a suite: what would be measured, what has been seen, and how many pairs that is.
struct Member {
    pairs: Pairs,
    seen: Sequential,
    n_pairs: usize,
}

const MEMBERS: usize = 6;
const MEMBER_PAIRS: usize = 60;

impl Member {
    fn new(stream: &mut Stream, ratio: f64) -> Self {
        let pairs = experiment(stream, bursts, MEMBER_PAIRS, ratio);
        let spending = Spending { alpha: 0.05, family: MEMBERS, n_min: 0 };
        let (estimand, margin) = (Estimand::Adaptive, 0.01);
        let seed = stream.next_u64();
        let question = Question { spending, estimand, margin, limit: 0.0, seed };
        Self { pairs, seen: Sequential::new(question), n_pairs: 0 }
    }

    /// Measures up to so many pairs; the last look of all if there will be no more.
    fn visit(&mut self, n_pairs: usize, is_last: bool) {
        let mut points = by_pairs(MEMBER_PAIRS);
        points.retain(|point| point.n_pairs < n_pairs + usize::from(!is_last));
        points.extend(is_last.then_some(Reached { n_pairs, fraction: 1.0 }));
        self.seen.take(&self.pairs.first(n_pairs).unwrap(), &points).unwrap();
        self.n_pairs = n_pairs;
    }
}

/// Those that are not settled, at the shares of alpha that all together have.
fn open(members: &[Member]) -> Vec<usize> {
    let all: Vec<&Sequential> = members.iter().map(|member| &member.seen).collect();
    let shares = holm_shares(&all, MEMBERS).into_iter().enumerate();
    shares.filter(|&(at, share)| !all[at].is_settled(share)).map(|(at, _)| at).collect()
}

/// Those that are not decided are visited in turns, each up to its next look, until their common time is used up; what is
/// open then is looked at once more.
fn visit_in_turns(members: &mut [Member]) {
    let mut left = 4 * MEMBER_PAIRS;
    let mut is_over = false;
    while !is_over {
        let visited = open(members).into_iter().filter(|&at| members[at].n_pairs < MEMBER_PAIRS);
        let visited: Vec<usize> = visited.collect();
        is_over = visited.is_empty();
        for at in visited {
            let member = &mut members[at];
            let mut sizes = sizes(MEMBER_PAIRS).into_iter();
            let next = sizes.find(|&size| size > member.n_pairs).unwrap();
            is_over |= next - member.n_pairs > left;
            if !is_over {
                left -= next - member.n_pairs;
                member.visit(next, false);
            }
        }
    }
    for at in open(members) {
        // The visit that the end of the time cut short has some pairs more.
        let n_pairs = (members[at].n_pairs + left).min(MEMBER_PAIRS);
        members[at].visit(n_pairs, true);
    }
}

/// Six benchmarks on the noise of bursts, one of which is 5 % slower.
#[test]
fn a_suite_visited_in_turns_errs_as_seldom_as_one() {
    let (mut stream, mut n_false, mut n_found) = (Stream::new(21), 0, 0);
    let n = 100;
    for _ in 0..n {
        let mut members: Vec<Member> = (0..MEMBERS)
            .map(|at| Member::new(&mut stream, if at == 0 { 1.05 } else { 1.0 }))
            .collect();
        visit_in_turns(&mut members);
        let all: Vec<&Sequential> = members.iter().map(|member| &member.seen).collect();
        let shares = holm_shares(&all, MEMBERS);
        let different: Vec<bool> =
            all.iter().zip(shares).map(|(it, share)| it.is_different(share)).collect();
        n_found += usize::from(different[0]);
        n_false += usize::from(different[1..].contains(&true));
    }
    at_most("any false", n_false, n, 0.05);
    assert!(n_found >= 70, "{n_found} of {n}");
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

/// With few pairs the estimated ratio, at which the arms look most alike, is far from the true one.
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

#[test]
fn a_decaying_start_is_cut_and_a_steady_one_is_not() {
    let mut stream = Stream::new(9);
    let (mut steady, mut caught) = (0, 0);
    for _ in 0..1000 {
        let quiet: Vec<f64> = iid(&mut stream, 60);
        steady += usize::from(warmup::prefix(&quiet).unwrap() >= 2);
        let decay = |(i, x): (usize, &f64)| x + 0.3 * (-(i as f64) / 2.0).exp();
        let warming: Vec<f64> = quiet.iter().enumerate().map(decay).collect();
        caught += usize::from(warmup::prefix(&warming).unwrap() >= 2);
    }
    at_most("steady", steady, 1000, 0.03);
    assert!(caught >= 990, "30 % decaying over two runs: {caught} of 1000");
}

#[test]
fn steady_series_are_called_stable() {
    for n_runs in [20, 60, 150] {
        let mut stream = Stream::new(n_runs as u64);
        let mut flagged = std::collections::HashMap::new();
        for _ in 0..1000 {
            let times: Vec<f64> = iid(&mut stream, n_runs).iter().map(|x| x.exp()).collect();
            for flag in series::stability(&times, stream.next_u64()).unwrap().flags() {
                *flagged.entry(flag).or_insert(0) += 1;
            }
        }
        for (flag, hits) in flagged {
            at_most(&format!("{flag:?}, {n_runs} runs"), hits, 1000, 0.01);
        }
    }
}

#[test]
fn tabulated_limits_are_exceeded_once_in_a_hundred() {
    for n_runs in [20, 45, 120] {
        let mut stream = Stream::new(n_runs as u64);
        let (mut scans, mut dips) = (0, 0);
        for _ in 0..2000 {
            let times: Vec<f64> = (0..n_runs).map(|_| 1.0 + stream.unit()).collect();
            let scan = series::rank_scan(&times).unwrap();
            let limits = series::limits(n_runs);
            scans += usize::from(scan.z > limits.scan);
            dips += usize::from(series::dip(&Sorted::new(&times).unwrap()) > limits.dip);
        }
        at_most("scan", scans, 2000, 0.01);
        at_most("dip", dips, 2000, 0.01);
    }
}

/// Nodes that differ, with unequal noise and numbers of pairs: a mean of 0 is seldom rejected, and seldom is one named.
#[test]
fn many_machines_err_as_seldom_as_one() {
    let (mut stream, n) = (Stream::new(13), 2000);
    for (n_nodes, between) in [(2, 0.01), (3, 0.0), (3, 0.01), (5, 0.01), (10, 0.03)] {
        let (mut n_false, mut n_named) = (0, 0);
        for _ in 0..n {
            let node = |at: usize| -> Vec<f64> {
                let (level, noise) = (between * normal(&mut stream), 0.02 * (1 + at % 3) as f64);
                (0..4 + 6 * at).map(|_| level + noise * normal(&mut stream)).collect()
            };
            let nodes: Vec<Vec<f64>> = (0..n_nodes).map(node).collect();
            let nodes = centers(&nodes, Center::Typical).unwrap();
            let found = RandomEffects::of(&nodes).unwrap();
            let is_false = !found.interval(0.05).unwrap().contains(0.0);
            assert_eq!(is_false, found.test().unwrap().p < 0.05);
            n_false += usize::from(is_false);
            let p =
                |of: Vec<stats::two_sample::TTest>| of.iter().map(|it| it.p).collect::<Vec<_>>();
            let named = residuals(&nodes).map(p).and_then(|p| holm(&p)).unwrap_or_default();
            n_named += usize::from(named.iter().any(|p| *p <= 0.01));
        }
        at_most(&format!("{n_nodes} nodes, {between}"), n_false, n, 0.06);
        at_most(&format!("{n_nodes} nodes, {between}: named"), n_named, n, 0.03);
    }
}
