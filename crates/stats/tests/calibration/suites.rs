//! Calibration of suites: the visits to their benchmarks, and their common budget.

use rayon::prelude::*;
use stillwell_stats::Stream;
use stillwell_stats::relabel::{Estimand, Pairs};
use stillwell_stats::sequential::{SequentialDesign, SequentialTest, holm_shares};
use stillwell_stats::spending::{InterimPoint, Spending, by_pairs, sizes};
use stillwell_stats::suspects::{evidence, share_of_looks, suspect};

use crate::noise::*;

/// Pairs of each member in the first pass of a gate.
const SCREENING: usize = 5;

/// A suite of equal benchmarks. Their pairs cost the same.
#[derive(Clone, Copy)]
struct SuiteShape {
    n_members: usize,
    /// Most pairs of a member.
    n_pairs_max: usize,
    /// Pairs of all members together.
    budget: usize,
    /// Whether suspects get as much time as the passes, as in a gate.
    is_steered: bool,
}

/// A benchmark of a suite: all its pairs, its test, and the number of pairs so far.
struct Member {
    pairs: Pairs,
    /// Its log ratios, new to old.
    logs: Vec<f64>,
    test: SequentialTest,
    n_pairs: usize,
    was_suspect: bool,
}

/// A suite during its session.
struct Session {
    shape: SuiteShape,
    members: Vec<Member>,
    left: usize,
}

impl Session {
    fn new(shape: SuiteShape, stream: &mut Stream, noise: Noise, ratio: f64) -> Self {
        let member = |at: usize| {
            let ratio = if at == 0 { ratio } else { 1.0 };
            let (pairs, logs) = experiment_with_logs(stream, noise, shape.n_pairs_max, ratio);
            let spending = Spending { alpha: 0.05, family: shape.n_members, n_min: 0 };
            let (estimand, margin) = (Estimand::Adaptive, 0.01);
            let seed = stream.next_u64();
            let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
            Member {
                pairs,
                logs,
                test: SequentialTest::new(design),
                n_pairs: 0,
                was_suspect: false,
            }
        };
        let members = (0..shape.n_members).map(member).collect();
        Self { shape, members, left: shape.budget }
    }

    /// Whether each member is different, at its share of the error rate.
    fn is_different(&self) -> Vec<bool> {
        let all: Vec<&SequentialTest> = self.members.iter().map(|member| &member.test).collect();
        let shares = holm_shares(&all, self.shape.n_members);
        all.iter().zip(shares).map(|(test, share)| test.is_different(share)).collect()
    }

    /// Indices of the members that are not settled and can grow.
    fn open(&self) -> Vec<usize> {
        let all: Vec<&SequentialTest> = self.members.iter().map(|member| &member.test).collect();
        let shares = holm_shares(&all, self.shape.n_members).into_iter().enumerate();
        let is_open = |&(at, share): &(usize, f64)| {
            !all[at].is_settled(share) && self.members[at].n_pairs < self.shape.n_pairs_max
        };
        shares.filter(is_open).map(|(at, _)| at).collect()
    }

    /// The open member that can be called slower soonest; `None` if only one is open.
    fn suspect(&self) -> Option<usize> {
        let mut logs = vec![Vec::new(); self.members.len()];
        for at in self.open() {
            let Member { logs: all, n_pairs, .. } = &self.members[at];
            logs[at] = all[..*n_pairs].to_vec();
        }
        let spent: Vec<f64> = self.members.iter().map(|member| member.n_pairs as f64).collect();
        suspect(&evidence(&logs, 0.0), &spent).filter(|_| self.open().len() > 1)
    }

    /// Visits a member up to its next look, or for so many pairs. Returns its pairs; `None` if the time is used up.
    fn visit(&mut self, at: usize, n_max: usize) -> Option<usize> {
        let (shape, before) = (self.shape, self.members[at].n_pairs);
        let next = sizes(shape.n_pairs_max).into_iter().find(|&size| size > before)?;
        let next = next.min(before.saturating_add(n_max));
        self.left = self.left.checked_sub(next - before)?;
        self.look(at, next, false);
        Some(next - before)
    }

    /// Makes the looks up to `n_pairs`. With `is_last`, the last one may spend all that is left.
    fn look(&mut self, at: usize, n_pairs: usize, is_last: bool) {
        let mut points = by_pairs(self.shape.n_pairs_max);
        points.retain(|point| point.n_pairs < n_pairs + usize::from(!is_last));
        let mut last = 1.0;
        if self.shape.is_steered {
            let of = |n_pairs| n_pairs as f64 / self.shape.n_pairs_max as f64;
            points.iter_mut().for_each(|it| it.fraction = share_of_looks(it.fraction, false));
            last = share_of_looks(of(n_pairs), true);
        }
        points.extend(is_last.then_some(InterimPoint { n_pairs, fraction: last }));
        let member = &mut self.members[at];
        member.test.take(&member.pairs.first(n_pairs).unwrap(), &points).unwrap();
        member.n_pairs = n_pairs;
    }

    /// Measures until the time is used up or all is decided.
    fn measure(&mut self) {
        let (mut of_passes, mut of_suspects) = (0, 0);
        let mut n_max = if self.shape.is_steered { SCREENING } else { usize::MAX };
        while self.pass(n_max, &mut of_passes, &mut of_suspects).is_some_and(|n_pairs| n_pairs > 0)
        {
            n_max = usize::MAX;
        }
        for at in self.open() {
            // The visit that the end of the time cuts short has a few more pairs.
            let n_pairs = (self.members[at].n_pairs + self.left).min(self.shape.n_pairs_max);
            if !self.members[at].was_suspect {
                self.look(at, n_pairs, true);
            }
        }
    }

    /// Visits each open member. Returns their pairs; `None` if the time is used up.
    fn pass(
        &mut self,
        n_max: usize,
        of_passes: &mut usize,
        of_suspects: &mut usize,
    ) -> Option<usize> {
        let before = *of_passes;
        for at in self.open() {
            *of_passes += self.visit(at, n_max)?;
            while self.shape.is_steered && n_max != SCREENING && of_suspects < of_passes {
                let Some(suspect) = self.suspect() else { break };
                self.members[suspect].was_suspect = true;
                let n_half = (self.members[suspect].n_pairs / 2).max(2);
                *of_suspects += self.visit(suspect, n_half)?;
            }
        }
        Some(*of_passes - before)
    }
}

/// Sessions in which any equal member is called different, and those that find the first one, of `n`.
fn counts(shape: SuiteShape, noise: Noise, ratio: f64, n: usize) -> (usize, usize) {
    let one = |seed: usize| {
        let mut session = Session::new(shape, &mut Stream::new(seed as u64), noise, ratio);
        session.measure();
        let different = session.is_different();
        let any_false = different.iter().skip(usize::from(ratio != 1.0)).any(|it| *it);
        (usize::from(any_false), usize::from(different[0]))
    };
    (0..n).into_par_iter().map(one).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

in_two_sizes!(a_suite_visited_in_turns_errs_as_seldom_as_one: 4, 12);

/// Six benchmarks on the noise of bursts; one is 5 % slower.
fn a_suite_visited_in_turns_errs_as_seldom_as_one(n: usize) {
    let shape = SuiteShape { n_members: 6, n_pairs_max: 60, budget: 240, is_steered: false };
    let (n_false, n_found) = counts(shape, bursts, 1.05, n);
    at_most("any false", n_false, n, 0.05);
    assert!(n_found >= 2 * n / 3, "{n_found} of {n}");
}

in_two_sizes!(a_gate_finds_more_with_suspects_first: 8, 16);

/// Ten benchmarks of a gate, with time for 15 blocks each; one is 2 % slower. The sessions have the same runs.
fn a_gate_finds_more_with_suspects_first(n: usize) {
    let shape = |is_steered| SuiteShape { n_members: 10, n_pairs_max: 60, budget: 150, is_steered };
    let (n_false, n_found) = counts(shape(true), autocorrelated, 1.02, n);
    at_most("any false", n_false, n, 0.05);
    let (_, n_in_turns) = counts(shape(false), autocorrelated, 1.02, n);
    assert!(n_found > n_in_turns, "{n_found} and {n_in_turns} of {n}");
}

mod long {
    #[test]
    fn the_gates_of_the_experiments() {
        super::the_gates_of_the_experiments();
    }
}

/// Gates with and without suspects. `STILLWELL_GATES` of each are enough for experiments/results/gates.md; without it there are two.
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "also an experiment")]
fn the_gates_of_the_experiments() {
    let n = std::env::var("STILLWELL_GATES").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let noises: [(&str, Noise); 2] = [("autocorrelated", autocorrelated), ("bursts", bursts)];
    let mut n_false_of_all = 0;
    for (name, noise) in noises {
        for ratio in [1.0, 1.01, 1.02] {
            for is_steered in [false, true] {
                let shape = SuiteShape { n_members: 15, n_pairs_max: 80, budget: 300, is_steered };
                let (n_false, n_found) = counts(shape, noise, ratio, n);
                n_false_of_all += n_false;
                println!(
                    "{name}, {ratio}, suspects first {is_steered}: {n_false} false, {n_found} found of {n}"
                );
            }
        }
    }
    at_most("any false", n_false_of_all, 12 * n, 0.05);
}
