//! The data of a flame graph: a profile as a tree of call chains, with the difference of each branch and its
//! significance.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::profile::columns::{BlockRuns, SAMPLES_MIN, estimates};
use crate::profile::matching::matched;
use crate::profile::saved::{FunctionOrigin, Profile};
use stats::max_t::PairedDifferences;

/// Re-labellings of the test, and signs of the intervals. Fewer than for functions: a tree has more branches.
const N_LABELINGS: usize = 1999;
/// Smallest share of all samples for a branch that can be drawn.
const SHARE_MIN: f64 = 0.0005;
/// Most branches; the largest ones stay.
const FRAMES_MAX: usize = 2000;

#[derive(Clone, Debug, Serialize)]
pub struct FlameGraph {
    /// Names of the arms; the first is the reference.
    pub arms: Vec<String>,
    /// Error rate of all branches together.
    pub alpha: f64,
    /// Whether call chains are whole. Without them, each function is a branch of its own.
    pub has_chains: bool,
    /// The branches, each after its parent. The first is the whole.
    pub frames: Vec<FlameFrame>,
}

/// A branch: a function called by its parent, with its callees.
#[derive(Clone, Debug, Serialize)]
pub struct FlameFrame {
    pub name: String,
    pub file: String,
    pub is_kernel: bool,
    /// The parent branch; `None` for the whole.
    pub parent: Option<usize>,
    /// CPU time per run of each arm, ns.
    pub means_ns: Vec<f64>,
    /// Second arm minus first, ns; with one arm, its time.
    pub estimate_ns: f64,
    /// Half of the interval's width. All intervals hold together.
    pub half_width_ns: f64,
    /// p-value, adjusted for the number of branches; `None` with one arm.
    pub p: Option<f64>,
}

type Place = (usize, u32);

/// All branches, before the thin ones are cut.
#[derive(Debug, Default)]
struct Tree {
    places: Vec<Option<Place>>,
    by_place: HashMap<Place, usize>,
    n_samples: Vec<u64>,
}

impl Tree {
    fn child(&mut self, parent: usize, function: u32) -> usize {
        let next = self.places.len();
        let at = *self.by_place.entry((parent, function)).or_insert(next);
        if at == next {
            self.places.push(Some((parent, function)));
            self.n_samples.push(0);
        }
        at
    }
}

/// The tree of a profile. Errors: the profile has no sampled blocks.
pub fn flame_graph(profile: &Profile) -> Result<FlameGraph> {
    let matched = matched(profile);
    let profile = matched.as_ref().map_or(profile, |(matched, _)| matched);
    let blocks = BlockRuns::of(profile);
    let has_chains = blocks.has_chains();
    let mut tree = Tree { places: vec![None], n_samples: vec![0], ..Tree::default() };
    let path = |stack: &Vec<u32>, tree: &mut Tree| {
        let chain = if has_chains { &stack[..] } else { &stack[stack.len() - 1..] };
        let mut path = vec![0];
        for &function in chain {
            path.push(tree.child(path[path.len() - 1], function));
        }
        path
    };
    let paths: Vec<Vec<usize>> = profile.stacks.iter().map(|it| path(it, &mut tree)).collect();
    for &(stack, n) in blocks.sampled.iter().flatten().flat_map(|run| &run.samples) {
        paths[stack as usize].iter().for_each(|&at| tree.n_samples[at] += u64::from(n));
    }
    let kept = kept(&tree.n_samples);
    let new_number: HashMap<usize, usize> =
        kept.iter().enumerate().map(|(new, &old)| (old, new)).collect();
    let on_path: Vec<Vec<usize>> = paths
        .iter()
        .map(|path| path.iter().filter_map(|at| new_number.get(at).copied()).collect())
        .collect();
    let columns = blocks.columns(kept.len(), |run, sums| {
        for &(stack, n) in &run.samples {
            for &at in &on_path[stack as usize] {
                sums[at] += f64::from(n) * run.period_ns as f64;
            }
        }
    });
    let found = PairedDifferences::new(columns.iter().map(estimates).collect())?;
    let intervals = found.intervals(profile.alpha, N_LABELINGS, profile.seed)?;
    let p = (profile.arms.len() > 1).then(|| found.adjusted_p(N_LABELINGS, profile.seed));
    let frame = |(at, &old): (usize, &usize)| {
        let place = tree.places[old];
        let function = place.map(|(_, function)| &profile.functions[function as usize]);
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        FlameFrame {
            name: function.map_or_else(|| "all".into(), |it| it.name.clone()),
            file: function.map_or_else(String::new, |it| it.file.clone()),
            is_kernel: function.is_some_and(|it| {
                matches!(it.origin, FunctionOrigin::Kernel | FunctionOrigin::Entry)
            }),
            parent: place.map(|(parent, _)| new_number[&parent]),
            means_ns: columns[at].iter().map(mean).collect(),
            estimate_ns: intervals.means[at],
            half_width_ns: intervals.half_widths[at],
            p: p.as_ref().map(|p| p[at]),
        }
    };
    Ok(FlameGraph {
        arms: profile.arms.clone(),
        alpha: profile.alpha,
        has_chains,
        frames: kept.iter().enumerate().map(frame).collect(),
    })
}

/// The branches that are large enough, parents first. A parent has at least as many samples as its child, so it is
/// never cut before the child.
fn kept(n_samples: &[u64]) -> Vec<usize> {
    let least = (n_samples[0] as f64 * SHARE_MIN).max(SAMPLES_MIN as f64);
    let is_large = |&at: &usize| at == 0 || n_samples[at] as f64 >= least;
    let mut large: Vec<usize> = (0..n_samples.len()).filter(is_large).collect();
    // A stable sort keeps parents, which have lower numbers, before children with equal samples.
    large.sort_by_key(|&at| std::cmp::Reverse(n_samples[at]));
    large.truncate(FRAMES_MAX);
    large.sort_unstable();
    large
}

/// Lines `main;work;deflate 1234 1300`: the chain, then its time per run in each arm, ns.
pub fn folded(profile: &Profile) -> String {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let n_runs: Vec<usize> = (0..profile.arms.len() as u32)
        .map(|arm| {
            profile.runs.iter().filter(|run| run.arm == arm && run.period_ns > 0).count().max(1)
        })
        .collect();
    for run in &profile.runs {
        for &(stack, n) in &run.samples {
            let names = profile.stacks[stack as usize].iter();
            // Semicolons and line ends would be read as the end of a name.
            let clean = |&it: &u32| profile.functions[it as usize].name.replace([';', '\n'], ":");
            let chain = names.map(clean).collect::<Vec<_>>().join(";");
            let of_arms = times.entry(chain).or_insert_with(|| vec![0.0; profile.arms.len()]);
            let arm = run.arm as usize;
            of_arms[arm] += f64::from(n) * run.period_ns as f64 / n_runs[arm] as f64;
        }
    }
    let mut out = String::new();
    for (chain, times) in times {
        let numbers: Vec<String> = times.iter().map(|ns| format!("{ns:.0}")).collect();
        writeln!(out, "{chain} {}", numbers.join(" ")).ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;

    #[test]
    fn branches_have_the_time_of_all_that_they_call() {
        let graph = flame_graph(&made_up(40, 0.0)).unwrap();
        let names: Vec<&str> = graph.frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(&names[..2], ["all", "main"]);
        let children =
            |parent: usize| graph.frames.iter().filter(move |frame| frame.parent == Some(parent));
        let of_children: f64 = children(1).map(|frame| frame.means_ns[0]).sum();
        assert!((of_children - graph.frames[1].means_ns[0]).abs() < 1e-6);
        assert_eq!(graph.frames[0].means_ns, graph.frames[1].means_ns);
        assert!(graph.frames.iter().all(|frame| frame.p.is_some_and(|p| p > 0.01)));
    }

    #[test]
    fn only_the_branch_that_changed_and_its_callers_differ() {
        let graph = flame_graph(&made_up(60, 8.0)).unwrap();
        let differs = |frame: &&FlameFrame| frame.p.is_some_and(|p| p <= 0.01);
        let named: Vec<&str> =
            graph.frames.iter().filter(differs).map(|frame| frame.name.as_str()).collect();
        assert!(named.contains(&"work") && !named.contains(&"rest"), "{named:?}");
    }

    #[test]
    fn a_branch_is_never_kept_without_its_parent() {
        let n: Vec<u64> = [5000].into_iter().chain((0..5000).map(|at| 20 + at % 3)).collect();
        let found = kept(&n);
        assert_eq!((found.len(), found[0]), (FRAMES_MAX, 0));
        assert_eq!(kept(&[1000, 5, 10]), [0, 2]);
    }

    #[test]
    fn each_chain_has_its_time_in_both_programs() {
        let mut profile = made_up(1, 0.0);
        profile.functions[1].name = "a;b".into();
        let text = folded(&profile);
        let chains: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(chains, ["main;a:b", "main;clear_page", "main;rest"]);
        let run = &profile.runs[1];
        assert!(text.lines().next().unwrap().ends_with(&format!(" {}", run.samples[0].1 * 100)));
    }
}
