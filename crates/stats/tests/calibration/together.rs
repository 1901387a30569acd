//! Calibration of joint decisions: families, machines.

use rayon::prelude::*;
use stillwell_stats::Stream;
use stillwell_stats::multiplicity::holm;
use stillwell_stats::pooled::{Center, PooledTest, RandomEffects, centers, residuals};
use stillwell_stats::relabel::Estimand;
use stillwell_stats::sequential::{SequentialDesign, SequentialTest, holm_shares};
use stillwell_stats::spending::{Spending, by_pairs};

use crate::nodes::pool_shapes;
use crate::noise::*;

in_two_sizes!(a_family_of_comparisons_errs_as_seldom_as_one: 6, 20);

/// One reference, four equal arms and one arm that is 5 % slower, on the noise of bursts.
fn a_family_of_comparisons_errs_as_seldom_as_one(n: usize) {
    let (mut stream, mut n_false, mut n_found) = (Stream::new(7), 0, 0);
    for _ in 0..n {
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
    at_most("any false", n_false, n, 0.05);
    assert!(4 * n_found >= 3 * n, "{n_found} of {n}");
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
/// heavy tails and unequal nodes are called different at 1 % (experiments/results/pool.md).
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
