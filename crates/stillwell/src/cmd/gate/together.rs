//! Counts many benchmarks as one sum. If both builds execute the same number of instructions, each of the benchmarks does
//! the same work, and one count has answered for all; otherwise the sum is split, until the benchmarks that differ are
//! alone. Changes that cancel each other are not seen.

use anyhow::Result;

use analysis::exact::{AGREE_WITHIN, SAME_WORK};

use super::countable::Countable;
use super::counting_sessions::{self, CountingSessions};
use super::pairs::Pair;
use model::harness::{command_of_all, repeats_within};
use record::plan::programs::ProgramBenchmark;

/// Processes of a sum: one with n iterations of each benchmark and one with twice as many, of both builds.
pub(super) const PROCESSES: f64 = 4.0;
/// Largest share of the time for one sum.
const SHARE_OF_ONE: f64 = 0.45;
/// A sum may take so many times as long as the shortest of its benchmarks alone.
const STARTS: f64 = 1.5;

/// Processes of the search among so many benchmarks if one differs.
pub(super) fn n_processes(n_benchmarks: f64) -> f64 {
    PROCESSES * (1.0 + 2.0 * n_benchmarks.log2().ceil())
}

/// The benchmarks that do the same work, in groups that were counted as one sum. The first of `open` is the likeliest to
/// differ.
pub(super) fn the_same<'a>(
    sessions: &mut CountingSessions<'_>,
    open: &[Countable<'a>],
) -> Result<Vec<Vec<Countable<'a>>>> {
    let share_ns = sessions.left_ns() * SHARE_OF_ONE;
    let mut search = Search::new(sessions);
    for pair in 0..search.sessions.pairs.len() {
        let of_pair: Vec<_> = open.iter().copied().filter(|it| it.pair == pair).collect();
        if search.pair(&of_pair).is_some() {
            for alike in alike(&of_pair) {
                // Fewer benchmarks do not make a sum much shorter than the processes of a single one.
                let least_ns =
                    alike.iter().map(|it| search.sessions.expected_ns(&[*it], PROCESSES));
                search.most_ns = share_ns.max(STARTS * least_ns.fold(f64::INFINITY, f64::min));
                search.split(&alike, false)?;
            }
        }
    }
    search.most_ns = f64::INFINITY;
    for one in std::mem::take(&mut search.long) {
        search.split(&[one], false)?;
    }
    Ok(search.same)
}

/// The benchmarks that do the same work, each counted apart while there is time.
pub(super) fn the_same_alone<'a>(
    sessions: &mut CountingSessions<'_>,
    benchmarks: &[Countable<'a>],
) -> Result<Vec<Vec<Countable<'a>>>> {
    let mut search = Search::new(sessions);
    for one in benchmarks {
        search.split(&[*one], false)?;
        search.sessions.different.clear();
    }
    Ok(search.same)
}

struct Search<'s, 'p, 'a> {
    sessions: &'s mut CountingSessions<'p>,
    /// Longest time for one sum.
    most_ns: f64,
    /// Benchmarks that take too long for a sum with others.
    long: Vec<Countable<'a>>,
    same: Vec<Vec<Countable<'a>>>,
}

impl<'s, 'p, 'a> Search<'s, 'p, 'a> {
    /// A search that may take all the time that is left.
    fn new(sessions: &'s mut CountingSessions<'p>) -> Self {
        Self { sessions, most_ns: f64::INFINITY, long: Vec::new(), same: Vec::new() }
    }

    /// Looks for those that do the same work among benchmarks of one program, of which at least one is known to differ
    /// if `do_differ`. Returns whether all are the same.
    fn split(&mut self, benchmarks: &[Countable<'a>], do_differ: bool) -> Result<bool> {
        if !do_differ {
            let expected_ns = self.sessions.expected_ns(benchmarks, PROCESSES);
            if expected_ns > self.most_ns {
                return self.without_longest(benchmarks);
            }
            let Some(pair) = self.pair(benchmarks) else { return Ok(false) };
            // What is known to differ has to be counted alone.
            let alone_ns = self.sessions.different.len() as f64
                * self.sessions.expected_ns(&benchmarks[..1], counting_sessions::PROCESSES);
            let is_late = self.sessions.left_ns() - expected_ns < alone_ns;
            if is_late || self.sessions.has_failed() {
                return Ok(false);
            }
            let ratio = self.sessions.ratio_of(pair, benchmarks, expected_ns)?;
            if ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= tolerance(benchmarks)) {
                self.same.push(benchmarks.to_vec());
                return Ok(true);
            }
            if let ([one], Some(ratio)) = (benchmarks, ratio) {
                self.sessions.ratios.insert(one.timed.name.clone(), ratio);
            }
        }
        if let [one] = benchmarks {
            let name = &one.timed.name;
            let is_known = do_differ || self.sessions.ratios.contains_key(name);
            self.sessions.different.extend(is_known.then(|| name.clone()));
        } else {
            let (suspects, others) = benchmarks.split_at(benchmarks.len().div_ceil(3));
            let are_others_same = self.split(others, false)?;
            self.split(suspects, are_others_same)?;
        }
        Ok(false)
    }

    fn without_longest(&mut self, benchmarks: &[Countable<'a>]) -> Result<bool> {
        let mut shorter = benchmarks.to_vec();
        let longest =
            (0..shorter.len()).max_by(|&a, &b| ns(&shorter[a]).total_cmp(&ns(&shorter[b])));
        self.long.extend(longest.map(|at| shorter.remove(at)));
        if !shorter.is_empty() {
            self.split(&shorter, false)?;
        }
        Ok(false)
    }

    /// The pair of programs with a single benchmark: all of these. `None` if the framework cannot execute them in one
    /// process.
    fn pair(&self, benchmarks: &[Countable<'a>]) -> Option<Pair> {
        let first = benchmarks.first()?;
        let together: Vec<String> = benchmarks.iter().map(|it| it.listed.name.clone()).collect();
        command_of_all(first.harness, &["program".into()], &together)?;
        let ns = benchmarks.iter().map(|it| it.timed.iteration_ns).sum::<Option<f64>>();
        let name = match together.len() {
            1 => first.listed.name.clone(),
            n => format!("{} and {} others", first.listed.name, n - 1),
        };
        let sum = ProgramBenchmark { name, iteration_ns: ns, together, ..first.listed.clone() };
        let pair = &self.sessions.pairs[first.pair];
        let common = [vec![sum.clone()], vec![sum]];
        Some(Pair { common, ..pair.clone() })
    }
}

/// Time of an iteration, ns; zero if it is not known.
fn ns(benchmark: &Countable<'_>) -> f64 {
    benchmark.timed.iteration_ns.filter(|ns| ns.is_finite()).unwrap_or(0.0)
}

/// The benchmarks of a program in groups of similar length, each in the given order.
fn alike<'a>(benchmarks: &[Countable<'a>]) -> Vec<Vec<Countable<'a>>> {
    let ns: Vec<f64> = benchmarks.iter().map(ns).collect();
    let within = benchmarks.first().map_or(0.0, |it| repeats_within(it.harness));
    let groups = groups(&ns, within).into_iter();
    groups.map(|group| group.into_iter().map(|at| benchmarks[at]).collect()).collect()
}

/// Divides benchmarks of these lengths so that [`SAME_WORK`] of the shortest of a group is more than the share within which
/// counts of the group repeat.
fn groups(ns: &[f64], repeats_within: f64) -> Vec<Vec<usize>> {
    let mut ordered: Vec<usize> = (0..ns.len()).collect();
    ordered.sort_by(|&one, &other| ns[one].total_cmp(&ns[other]));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let (mut shortest_ns, mut sum_ns) = (0.0, 0.0);
    for at in ordered {
        sum_ns += ns[at];
        match groups.last_mut() {
            Some(group) if SAME_WORK * shortest_ns >= repeats_within * sum_ns => group.push(at),
            _ => {
                (shortest_ns, sum_ns) = (ns[at], ns[at]);
                groups.push(vec![at]);
            }
        }
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups
}

/// The share of a sum that may differ: so small that the smallest benchmark cannot differ by more than [`SAME_WORK`].
/// Threads of a framework wait for each other, so that even the same program may execute some instructions more. Counts that
/// vary hardly ever agree within [`AGREE_WITHIN`] by chance.
fn tolerance(benchmarks: &[Countable<'_>]) -> f64 {
    let share = benchmarks.iter().map(ns).fold(f64::INFINITY, f64::min)
        / benchmarks.iter().map(ns).sum::<f64>();
    if share > 0.0 { (SAME_WORK * share).min(AGREE_WITHIN) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousandth_of_each_benchmark_is_visible_in_its_sum() {
        let ns = [90.0, 1.0, 2.0, 60.0];
        assert_eq!(groups(&ns, 2e-7), [vec![0, 1, 2, 3]]);
        assert_eq!(groups(&ns, 1e-4), [vec![1, 2], vec![0, 3]]);
        assert_eq!(groups(&[1.0, 5000.0], 2e-7), [vec![0], vec![1]]);
        // Lengths that are not known.
        assert_eq!(groups(&[0.0, 0.0, 3.0], 2e-7), [vec![0, 1], vec![2]]);
    }
}
