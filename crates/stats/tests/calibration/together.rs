//! Calibration of joint decisions: families, suites, machines.

use rayon::prelude::*;
use stillwell_stats::Stream;
use stillwell_stats::multiplicity::holm;
use stillwell_stats::pooled::{Center, PooledTest, RandomEffects, centers, residuals};
use stillwell_stats::relabel::{Estimand, Pairs};
use stillwell_stats::sequential::{SequentialDesign, SequentialTest, holm_shares};
use stillwell_stats::spending::{InterimPoint, Spending, by_pairs, sizes};

use crate::nodes::pool_shapes;
use crate::noise::*;

/// One reference, four equal arms and one arm that is 5 % slower, on the noise of bursts.
#[test]
fn a_family_of_comparisons_errs_as_seldom_as_one() {
    let (mut stream, mut n_false, mut n_found) = (Stream::new(7), 0, 0);
    for _ in 0..20 {
        let arms: Vec<SequentialTest> = (0..5)
            .map(|arm| {
                let ratio = if arm == 0 { 1.05 } else { 1.0 };
                let pairs = experiment(&mut stream, bursts, 40, ratio);
                let spending = Spending { alpha: 0.05, family: 5, n_min: 0 };
                let (estimand, margin) = (Estimand::Adaptive, 0.01);
                let seed = stream.next_u64();
                let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
                let mut arm = SequentialTest::new(design);
                arm.take(&pairs, &by_pairs(40)).unwrap();
                arm
            })
            .collect();
        let family: Vec<&SequentialTest> = arms.iter().collect();
        let adjusted = holm(&arms.iter().map(SequentialTest::p).collect::<Vec<_>>()).unwrap();
        let different: Vec<bool> = arms
            .iter()
            .zip(holm_shares(&family, 0))
            .map(|(arm, share)| arm.is_different(share))
            .collect();
        assert_eq!(different, adjusted.iter().map(|p| *p <= 0.05).collect::<Vec<_>>());
        n_found += usize::from(different[0]);
        n_false += usize::from(different[1..].contains(&true));
    }
    at_most("any false", n_false, 20, 0.05);
    assert!(n_found >= 15, "{n_found} of 20");
}

/// A benchmark of a suite: all its pairs, its test, and the number of pairs so far.
struct Member {
    pairs: Pairs,
    test: SequentialTest,
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
        let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
        Self { pairs, test: SequentialTest::new(design), n_pairs: 0 }
    }

    /// Adds pairs up to `n_pairs`. With `is_last`, the last look follows.
    fn visit(&mut self, n_pairs: usize, is_last: bool) {
        let mut points = by_pairs(MEMBER_PAIRS);
        points.retain(|point| point.n_pairs < n_pairs + usize::from(!is_last));
        points.extend(is_last.then_some(InterimPoint { n_pairs, fraction: 1.0 }));
        self.test.take(&self.pairs.first(n_pairs).unwrap(), &points).unwrap();
        self.n_pairs = n_pairs;
    }
}

/// Indices of the members that are not settled, at the shares of alpha of the whole family.
fn open(members: &[Member]) -> Vec<usize> {
    let all: Vec<&SequentialTest> = members.iter().map(|member| &member.test).collect();
    let shares = holm_shares(&all, MEMBERS).into_iter().enumerate();
    shares.filter(|&(at, share)| !all[at].is_settled(share)).map(|(at, _)| at).collect()
}

/// Visits the open members in turns, each up to its next look, until their common time is used up.
/// Each member that is open then has one more look.
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
        // The visit that the end of the time cuts short has a few more pairs.
        let n_pairs = (members[at].n_pairs + left).min(MEMBER_PAIRS);
        members[at].visit(n_pairs, true);
    }
}

/// Six benchmarks on the noise of bursts; one is 5 % slower.
#[test]
fn a_suite_visited_in_turns_errs_as_seldom_as_one() {
    let (mut stream, mut n_false, mut n_found) = (Stream::new(21), 0, 0);
    let n = 12;
    for _ in 0..n {
        let mut members: Vec<Member> = (0..MEMBERS)
            .map(|at| Member::new(&mut stream, if at == 0 { 1.05 } else { 1.0 }))
            .collect();
        visit_in_turns(&mut members);
        let all: Vec<&SequentialTest> = members.iter().map(|member| &member.test).collect();
        let shares = holm_shares(&all, MEMBERS);
        let different: Vec<bool> =
            all.iter().zip(shares).map(|(it, share)| it.is_different(share)).collect();
        n_found += usize::from(different[0]);
        n_false += usize::from(different[1..].contains(&true));
    }
    at_most("any false", n_false, n, 0.05);
    assert!(n_found >= 8, "{n_found} of {n}");
}

/// Nodes that differ, with unequal noise and numbers of pairs. Rejecting a mean of 0 is rare, and
/// so is naming a node.
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
            let p = |of: Vec<stillwell_stats::two_sample::TTest>| {
                of.iter().map(|it| it.p).collect::<Vec<_>>()
            };
            let named = residuals(&nodes).map(p).and_then(|p| holm(&p)).unwrap_or_default();
            n_named += usize::from(named.iter().any(|p| *p <= 0.01));
        }
        at_most(&format!("{n_nodes} nodes, {between}"), n_false, n, 0.06);
        at_most(&format!("{n_nodes} nodes, {between}: named"), n_named, n, 0.03);
    }
}

/// The same program on every node. By the random-effects test alone, up to 2.2 % of the pools with
/// heavy tails and unequal nodes are called different at 1 % (docs/experiments.md).
#[test]
fn the_same_program_on_every_machine_is_seldom_called_different() {
    let (n, mut by_effects_max) = (4000, 0);
    for (cell, shape) in pool_shapes().into_iter().enumerate() {
        let is_false = |seed: u64| {
            let groups = shape.groups(&mut Stream::new(seed), 0.0, 0.0);
            let effects = RandomEffects::of(&centers(&groups, Center::Typical).unwrap()).unwrap();
            // Both tests have to reject, so most pools need no re-labelling.
            let by_effects = effects.test().unwrap().p <= 0.01;
            let test = || PooledTest::new(&groups, Center::Typical, 1999, seed).unwrap();
            (usize::from(by_effects && test().is_different(0.01)), usize::from(by_effects))
        };
        let seeds = (0..n).into_par_iter().map(|at| at + n * cell as u64);
        let (n_false, by_effects) =
            seeds.map(is_false).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        at_most(&format!("{shape:?}"), n_false, n as usize, 0.01);
        by_effects_max = by_effects_max.max(by_effects);
    }
    // The cells are worth testing only while one of both tests alone fails on some.
    assert!(by_effects_max > 60, "{by_effects_max}");
}
