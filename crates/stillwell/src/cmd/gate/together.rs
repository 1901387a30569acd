//! Counts many benchmarks as one sum. If both builds execute the same number of instructions to the last, each of the
//! benchmarks does the same work, and one count has answered for all; otherwise the sum is split, until the benchmarks
//! that differ are alone. Changes that cancel each other exactly are not seen.

use anyhow::Result;

use super::counting::{Countable, CountingSessions};
use super::pairs::Pair;
use model::harness::command_of_all;
use record::plan::programs::ProgramBenchmark;

/// Processes of a sum: one with n iterations of each benchmark and one with twice as many, of both builds.
pub(super) const PROCESSES: f64 = 4.0;
/// Largest share of the time for all sums. The benchmarks that differ need the rest.
const SHARE: f64 = 0.7;
/// Largest share of the time for one sum.
const SHARE_OF_ONE: f64 = 0.35;

/// Processes of the search among so many benchmarks if one differs.
pub(super) fn n_processes(n_benchmarks: f64) -> f64 {
    PROCESSES * (1.0 + 2.0 * n_benchmarks.log2().ceil())
}

/// The benchmarks that do the same work, with those of the same sum. The first of `open` is the likeliest to differ.
pub(super) fn the_same<'a>(
    sessions: &mut CountingSessions<'_>,
    open: &[Countable<'a>],
) -> Result<Vec<Vec<Countable<'a>>>> {
    let all_ns = sessions.left_ns();
    let (least_left_ns, most_ns) = (all_ns * (1.0 - SHARE), all_ns * SHARE_OF_ONE);
    let mut search =
        Search { sessions, least_left_ns, most_ns, long: Vec::new(), same: Vec::new() };
    for pair in 0..search.sessions.pairs.len() {
        let of_pair: Vec<_> = open.iter().copied().filter(|it| it.pair == pair).collect();
        if search.pair(&of_pair).is_some() {
            search.split(&of_pair, false)?;
        }
    }
    for one in std::mem::take(&mut search.long) {
        search.most_ns = f64::INFINITY;
        search.split(&[one], false)?;
    }
    Ok(search.same)
}

struct Search<'s, 'p, 'a> {
    sessions: &'s mut CountingSessions<'p>,
    /// The search ends with so much time left.
    least_left_ns: f64,
    /// Longest time for one sum.
    most_ns: f64,
    /// Benchmarks that take too long for a sum with others.
    long: Vec<Countable<'a>>,
    same: Vec<Vec<Countable<'a>>>,
}

impl<'a> Search<'_, '_, 'a> {
    /// Looks for those that do the same work among benchmarks of one program, of which at least one is known to differ
    /// if `do_differ`. Returns whether all are the same.
    fn split(&mut self, benchmarks: &[Countable<'a>], do_differ: bool) -> Result<bool> {
        if !do_differ {
            let expected_ns = self.sessions.expected_ns(benchmarks, PROCESSES);
            if expected_ns > self.most_ns {
                return self.without_longest(benchmarks);
            }
            let Some(pair) = self.pair(benchmarks) else { return Ok(false) };
            let is_late = self.sessions.left_ns() - expected_ns < self.least_left_ns;
            if is_late || self.sessions.has_failed() {
                return Ok(false);
            }
            if self.sessions.is_same(pair, expected_ns)? {
                self.same.push(benchmarks.to_vec());
                return Ok(true);
            }
        }
        if benchmarks.len() > 1 {
            let (suspects, others) = benchmarks.split_at(benchmarks.len().div_ceil(3));
            let are_others_same = self.split(others, false)?;
            self.split(suspects, are_others_same)?;
        }
        Ok(false)
    }

    fn without_longest(&mut self, benchmarks: &[Countable<'a>]) -> Result<bool> {
        let ns = |it: &Countable<'_>| it.timed.iteration_ns.unwrap_or(0.0);
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
