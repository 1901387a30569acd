//! Whole searches through the decision code, on simulated times: the same tests and looks as in a session.
//! `experiments/bisect` runs thousands. Variables: `STILLWELL_SEARCHES` (number), `STILLWELL_SEARCH_CASE` (a name of
//! [`CASES`]).
#![expect(clippy::disallowed_methods, reason = "the experiment says how many searches it wants")]
#![expect(clippy::print_stdout, reason = "the experiment reads the counts")]

use std::collections::BTreeSet;

use rayon::prelude::*;
use stats::relabel::Estimand;
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{Spending, by_pairs};
use stats::{Interval, Stream};

use crate::bisection::{BisectSearch, CommitGraph, Observation, Relation, SearchRules};
use analysis::walls::Slots;
use analysis::weather::{Weather, normal};

const BLOCKS_MAX: usize = 400;
const MARGIN: f64 = 0.003;
const RUN_S: f64 = 0.05;

struct Case {
    name: &'static str,
    n_commits: usize,
    /// The log ratio of each planted change.
    sizes: &'static [f64],
    /// Share of commits that cannot be built.
    unbuildable: f64,
    /// Share of commits that only move code, and the standard deviation of the effect.
    layout: (f64, f64),
    /// Share of commits that are merges of a side branch.
    merges: f64,
    bursts: f64,
}

const PLAIN: Case = Case {
    name: "3 %, quiet",
    n_commits: 1024,
    sizes: &[0.03],
    unbuildable: 0.05,
    layout: (0.0, 0.0),
    merges: 0.0,
    bursts: 0.02,
};

const CASES: [Case; 7] = [
    PLAIN,
    Case { name: "3 %, bursts", bursts: 0.3, ..PLAIN },
    Case { name: "1 %, quiet", sizes: &[0.01], ..PLAIN },
    Case { name: "1 %, bursts", sizes: &[0.01], bursts: 0.3, ..PLAIN },
    Case { name: "3 %, merges", merges: 0.2, ..PLAIN },
    Case { name: "3 % and -1.5 %", sizes: &[0.03, -0.015], ..PLAIN },
    Case { name: "no change", sizes: &[], ..PLAIN },
];

/// A repository with its truth.
struct Repository {
    graph: CommitGraph,
    /// The log ratio of each commit to the oldest one.
    levels: Vec<f64>,
    changed: BTreeSet<usize>,
    failing: BTreeSet<usize>,
}

impl Repository {
    fn new(case: &Case, stream: &mut Stream) -> Self {
        let last = case.n_commits;
        let mut parents: Vec<Vec<usize>> = vec![Vec::new(), vec![0]];
        for commit in 2..=last {
            let mut own = vec![commit - 1];
            // A side branch of one commit, and the merge after it.
            if stream.unit() < case.merges && parents[commit - 1].len() == 1 && commit > 3 {
                let fork = parents[commit - 1][0];
                parents[commit - 1] = vec![fork.saturating_sub(1)];
                own = vec![fork, commit - 1];
            }
            parents.push(own);
        }
        let mut changed = BTreeSet::new();
        let mut steps = vec![0.0; last + 1];
        for &size in case.sizes {
            let mut at = 1 + stream.below(last as u64 - 1) as usize;
            // A merge has no change of its own.
            while parents[at].len() > 1 || !changed.insert(at) {
                at = 1 + stream.below(last as u64 - 1) as usize;
            }
            steps[at] = size;
        }
        let mut failing = BTreeSet::new();
        for (commit, step) in steps.iter_mut().enumerate().take(last).skip(1) {
            if stream.unit() < case.unbuildable {
                failing.insert(commit);
            }
            if stream.unit() < case.layout.0 {
                *step += case.layout.1 * normal(stream);
            }
        }
        let graph = CommitGraph::of_parents(parents);
        let inside =
            |of: usize| (0..=of).filter(|&it| graph.is_in(it, of)).map(|it| steps[it]).sum();
        let levels = (0..=last).map(inside).collect();
        Self { levels, changed, failing, graph }
    }
}

/// One comparison of a simulated session, with its pairs.
struct Compared {
    test: SequentialTest,
    slots: Slots,
}

impl Compared {
    fn new(alpha: f64, family: usize, seed: u64) -> Self {
        let spending = Spending { alpha, family, n_min: 0 };
        let estimand = Estimand::Adaptive;
        let test = SequentialTest::new(SequentialDesign {
            spending,
            estimand,
            margin: MARGIN,
            limit: 0.0,
            seed,
        });
        Self { test, slots: Slots::default() }
    }

    fn relation(&self, share: f64) -> Relation {
        let found = self.test.conclude(&self.slots.pairs().unwrap(), share).unwrap();
        let (interval, theta) =
            found.map_or((Interval::ALL, 0.0), |found| (found.interval, found.last.theta));
        let end = |log: f64| Some(log.exp()).filter(|end| end.is_finite() && *end > 0.0);
        Relation {
            ratio: theta.exp(),
            lo: end(interval.lo),
            hi: end(interval.hi),
            alpha: self.test.spending().alpha * share,
            is_different: self.test.is_different(share),
            is_same: self.test.is_same(share),
        }
    }
}

/// A session of two or three arms: the first against each other one.
fn session(levels: &[f64], alpha: f64, weather: &mut Weather<'_>) -> (Vec<Relation>, f64) {
    let n_compared = levels.len() - 1;
    let alpha = if n_compared > 1 { 2.0 * alpha } else { alpha };
    let mut compared: Vec<Compared> = (0..n_compared)
        .map(|_| Compared::new(alpha, n_compared, weather.stream.next_u64()))
        .collect();
    let share = 1.0 / n_compared as f64;
    let points = by_pairs(BLOCKS_MAX);
    let mut n_blocks = 0;
    for (index, point) in points.iter().enumerate() {
        while n_blocks < point.n_pairs {
            n_blocks += 1;
            let order = weather.stream.permutation(levels.len());
            let mut runs = vec![(0, 0.0); levels.len()];
            for (slot, &arm) in order.iter().enumerate() {
                runs[arm] = (slot, weather.time(levels[arm]));
            }
            for (one, run) in compared.iter_mut().zip(&runs[1..]) {
                one.slots.push(runs[0], *run);
            }
        }
        for one in &mut compared {
            one.test.take(&one.slots.pairs().unwrap(), &points[..=index]).unwrap();
        }
        let is_over = if n_compared > 1 {
            compared.iter().any(|one| one.test.is_different(share))
        } else {
            compared[0].test.is_settled(1.0) && is_sized(&compared[0], n_blocks)
        };
        if is_over {
            break;
        }
    }
    let relations = compared.iter().map(|one| one.relation(share)).collect();
    (relations, (n_blocks * levels.len()) as f64 * RUN_S)
}

/// A session's rule for the size of a difference.
fn is_sized(compared: &Compared, n_blocks: usize) -> bool {
    let found = compared.relation(1.0);
    let half_width = match (found.lo, found.hi) {
        (Some(lo), Some(hi)) => (hi.ln() - lo.ln()) / 2.0,
        _ => return false,
    };
    n_blocks * 5 > BLOCKS_MAX || found.is_same || half_width <= 0.5 * found.theta().abs()
}

/// Searches a repository to the end.
fn searched(repository: &Repository, case: &Case, stream: &mut Stream) -> BisectSearch {
    let rules = SearchRules { alpha: 0.01, margin: MARGIN, asks_layouts: false };
    let last = repository.levels.len() - 1;
    let mut search = BisectSearch::new(repository.graph.clone(), 0, last, rules);
    let mut built = BTreeSet::new();
    let mut weather = Weather::new(stream, case.bursts);
    loop {
        let step = search.next_step();
        let Some((compared, alpha)) = step.compared() else { return search };
        let failing = compared.iter().find(|commit| repository.failing.contains(commit));
        if let Some(&commit) = failing {
            let why = "it does not build".into();
            search.take(&Observation::Failed { commit, why, seconds: 0.0 });
            continue;
        }
        for &commit in &compared {
            if built.insert(commit) {
                search.take(&Observation::Built { commit, seconds: 1.0 });
            }
        }
        let levels: Vec<f64> = compared.iter().map(|&it| repository.levels[it]).collect();
        let (found, seconds) = session(&levels, alpha, &mut weather);
        search.take(&step.observed(&found, seconds));
    }
}

/// Numbers of searches by their end, and the medians of their costs.
#[derive(Debug, Default)]
struct Tally {
    n: usize,
    /// All planted changes were named, and nothing else.
    right: usize,
    /// An honest set holds what was not named, and nothing wrong was named.
    set: usize,
    /// A commit was named that has no change.
    wrong: usize,
    /// The ends were not found to differ.
    no_difference: usize,
    builds: usize,
    measure_s: usize,
}

fn tally(case: &Case, n: usize, seed: u64) -> Tally {
    let results: Vec<(Repository, BisectSearch)> = (0..n as u64)
        .into_par_iter()
        .map(|index| {
            let mut stream = Stream::new(seed.wrapping_add(index.wrapping_mul(0x9e37_79b9)));
            let repository = Repository::new(case, &mut stream);
            let search = searched(&repository, case, &mut stream);
            (repository, search)
        })
        .collect();
    let mut tally = Tally { n, ..Tally::default() };
    let (mut builds, mut seconds) = (Vec::new(), Vec::new());
    for (repository, search) in &results {
        let found = search.outcome();
        builds.push(found.n_builds as usize);
        seconds.push(found.measure_s as usize);
        let named: Vec<&Vec<usize>> = found.culprits.iter().map(|it| &it.commits).collect();
        let is_true = |commits: &[usize]| commits.iter().any(|it| repository.changed.contains(it));
        let sets: BTreeSet<usize> =
            found.unresolved.iter().flat_map(|it| it.commits.iter().copied()).collect();
        let is_named = |commit: &usize| named.iter().any(|commits| commits.contains(commit));
        if named.iter().any(|commits| !is_true(commits)) {
            tally.wrong += 1;
        } else if found.ends.is_some_and(|ends| !ends.is_different) {
            tally.no_difference += 1;
        } else if repository.changed.iter().all(is_named) {
            tally.right += 1;
        } else if repository.changed.iter().all(|it| is_named(it) || sets.contains(it)) {
            tally.set += 1;
        }
    }
    builds.sort_unstable();
    seconds.sort_unstable();
    (tally.builds, tally.measure_s) = (builds[n / 2], seconds[n / 2]);
    tally
}

/// Cases of the everyday test, which makes one search of each.
const EVERYDAY: [&str; 2] = ["3 %, merges", "no change"];

#[test]
fn searches_name_the_right_commit() {
    let n = std::env::var("STILLWELL_SEARCHES").ok().map(|n| n.parse::<usize>().unwrap());
    let wanted = std::env::var("STILLWELL_SEARCH_CASE").ok();
    let is_wanted = |case: &&Case| match &wanted {
        Some(name) => name == case.name,
        None => n.is_some() || EVERYDAY.contains(&case.name),
    };
    for case in CASES.iter().filter(is_wanted) {
        let found = tally(case, n.unwrap_or(1), 7);
        println!("{}: {found:?}", case.name);
        let allowed = found.n / 50;
        assert!(found.wrong <= allowed, "{}: {found:?}", case.name);
        let expected = if case.sizes.is_empty() { found.no_difference } else { found.right };
        assert!(expected + found.n / 10 >= found.n, "{}: {found:?}", case.name);
    }
}
