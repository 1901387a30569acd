//! Counts many benchmarks as one sum. If both builds execute the same number of instructions, each of the benchmarks does
//! the same work, and one count has answered for all; otherwise the sum is divided, until the benchmarks that differ are
//! alone. A benchmark for which all of the difference would be too little does the same work too. Changes that cancel each
//! other are not seen.

use anyhow::Result;

use analysis::exact::{AGREE_WITHIN, SAME_WORK};
use analysis::work::WorkCounted;

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
/// The instructions in a nanosecond differ so much between benchmarks.
const UNCLEAR: f64 = 4.0;

/// Processes of the search among so many benchmarks if one differs: all of them, and in the worst case two thirds again and
/// again, then the others.
pub(super) fn n_processes(n_benchmarks: f64) -> f64 {
    PROCESSES * (2.0 + n_benchmarks.log(1.5).ceil())
}

/// The benchmarks that do the same work, as sums tell. The first of `open` is the likeliest to differ.
pub(super) fn the_same<'a>(
    sessions: &mut CountingSessions<'_>,
    open: &[Countable<'a>],
) -> Result<Vec<(String, WorkCounted)>> {
    let share_ns = sessions.left_ns() * SHARE_OF_ONE;
    let mut search = Search::new(sessions);
    let mut differing = Vec::new();
    for pair in 0..search.sessions.pairs.len() {
        let of_pair: Vec<_> = open.iter().copied().filter(|it| it.pair == pair).collect();
        if search.pair(&of_pair).is_none() {
            continue;
        }
        // One count may answer for all of a group, so each is counted before the first is divided.
        for alike in alike(&of_pair) {
            let mut group = search.without_long(alike, share_ns);
            let sum = search.count(&mut group)?;
            differing.push((group, sum));
        }
    }
    for (group, sum) in differing {
        search.divide(group, sum)?;
    }
    for one in std::mem::take(&mut search.long) {
        search.count(&mut vec![one])?;
    }
    Ok(search.same)
}

/// The benchmarks that do the same work, each counted apart while there is time.
pub(super) fn the_same_alone<'a>(
    sessions: &mut CountingSessions<'_>,
    benchmarks: &[Countable<'a>],
) -> Result<Vec<(String, WorkCounted)>> {
    let mut search = Search::new(sessions);
    for one in benchmarks {
        search.count(&mut vec![*one])?;
        search.sessions.different.clear();
    }
    Ok(search.same)
}

/// What a sum tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    Same,
    /// At least one of its benchmarks differs.
    Differs,
    Failed,
    /// There is no time for it.
    NotCounted,
}

struct Search<'s, 'p, 'a> {
    sessions: &'s mut CountingSessions<'p>,
    /// Benchmarks that take too long for a sum with others.
    long: Vec<Countable<'a>>,
    same: Vec<(String, WorkCounted)>,
}

impl<'s, 'p, 'a> Search<'s, 'p, 'a> {
    fn new(sessions: &'s mut CountingSessions<'p>) -> Self {
        Self { sessions, long: Vec::new(), same: Vec::new() }
    }

    /// Counts benchmarks as a sum. Those that do the same work leave the list, and a single one that differs is noted.
    fn count(&mut self, benchmarks: &mut Vec<Countable<'a>>) -> Result<Sum> {
        while let Some(pair) = self.pair(benchmarks) {
            let expected_ns = self.sessions.expected_ns(benchmarks, PROCESSES);
            // What is known to differ has to be counted alone.
            let alone_ns = self.sessions.different.len() as f64
                * self.sessions.expected_ns(&benchmarks[..1], counting_sessions::PROCESSES);
            let is_late = self.sessions.left_ns() - expected_ns < alone_ns;
            if is_late || self.sessions.has_failed() {
                return Ok(Sum::NotCounted);
            }
            let counted = self.sessions.count_once(pair, benchmarks, expected_ns)?;
            let Some((ratio, not_counted)) = counted else { return Ok(Sum::Failed) };
            let (n_together, is_same) = (benchmarks.len(), same_work(&lengths(benchmarks), ratio));
            for (one, is_same) in std::mem::take(benchmarks).into_iter().zip(is_same) {
                match is_same {
                    true => self.same.push(one.with(not_counted).the_same_work(n_together)),
                    false => benchmarks.push(one),
                }
            }
            if benchmarks.is_empty() {
                return Ok(Sum::Same);
            }
            if let ([one], 1) = (&benchmarks[..], n_together) {
                self.sessions.ratios.insert(one.timed.name.clone(), ratio);
                let does_differ = (ratio - 1.0).abs() > SAME_WORK;
                self.sessions.different.extend(does_differ.then(|| one.timed.name.clone()));
            }
            if benchmarks.len() == n_together {
                return Ok(Sum::Differs);
            }
        }
        Ok(Sum::NotCounted)
    }

    /// Looks for those that differ among benchmarks with this sum.
    fn divide(&mut self, mut open: Vec<Countable<'a>>, mut sum: Sum) -> Result<()> {
        while matches!(sum, Sum::Differs | Sum::Failed) {
            let (mut suspects, mut is_counted) = (open, true);
            open = Vec::new();
            while suspects.len() > 1 {
                let mut others = suspects.split_off(suspects.len().div_ceil(3));
                let of_others = self.count(&mut others)?;
                match of_others {
                    Sum::Same => is_counted = false,
                    Sum::NotCounted => return Ok(()),
                    Sum::Differs | Sum::Failed => {
                        open.append(&mut suspects);
                        (suspects, sum, is_counted) = (others, of_others, true);
                    }
                }
            }
            let is_known = sum == Sum::Differs && !is_counted;
            let known = suspects.iter().filter(|_| is_known).map(|it| it.timed.name.clone());
            self.sessions.different.extend(known);
            sum = self.count(&mut open)?;
        }
        Ok(())
    }

    /// Benchmarks whose sum takes this time at most, or not much more than the shortest of them alone: fewer do not make a sum
    /// much shorter than that.
    fn without_long(
        &mut self,
        mut benchmarks: Vec<Countable<'a>>,
        most_ns: f64,
    ) -> Vec<Countable<'a>> {
        let alone_ns = benchmarks.iter().map(|it| self.sessions.expected_ns(&[*it], PROCESSES));
        let most_ns = most_ns.max(STARTS * alone_ns.fold(f64::INFINITY, f64::min));
        while self.sessions.expected_ns(&benchmarks, PROCESSES) > most_ns {
            let longest = (0..benchmarks.len())
                .max_by(|&a, &b| ns(&benchmarks[a]).total_cmp(&ns(&benchmarks[b])));
            self.long.extend(longest.map(|at| benchmarks.remove(at)));
        }
        benchmarks
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

fn lengths(benchmarks: &[Countable<'_>]) -> Vec<f64> {
    benchmarks.iter().map(ns).collect()
}

/// The benchmarks of a program in groups of similar length, each in the given order.
fn alike<'a>(benchmarks: &[Countable<'a>]) -> Vec<Vec<Countable<'a>>> {
    let ns = lengths(benchmarks);
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

/// Which benchmarks of these lengths do the same work, given new ÷ old of their sum. If one of them alone made all of the
/// difference, it would be [`SAME_WORK`] of it. Times tell their shares of the sum: if some stay in doubt, a share has to be
/// [`UNCLEAR`] times as large. Threads of a framework wait for each other, so that even the same program may execute some
/// instructions more. Counts that vary hardly ever agree within [`AGREE_WITHIN`] by chance.
fn same_work(ns: &[f64], ratio: f64) -> Vec<bool> {
    let difference = (ratio - 1.0).abs();
    let sum_ns: f64 = ns.iter().sum();
    let is_same = |ns: f64, factor: f64| {
        let most = if ns > 0.0 { SAME_WORK * ns / sum_ns } else { 0.0 };
        factor * difference <= most.min(AGREE_WITHIN)
    };
    match ns.iter().all(|&ns| is_same(ns, 1.0)) {
        true => vec![true; ns.len()],
        false => ns.iter().map(|&ns| is_same(ns, UNCLEAR)).collect(),
    }
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

    #[test]
    fn a_long_benchmark_does_the_same_work_if_a_short_one_may_differ() {
        let ns = [0.5, 1.5, 998.0];
        // The shortest has a 2000th of the sum, and a thousandth of that is 5e-7.
        assert_eq!(same_work(&ns, 1.0 + 4e-7), [true; 3]);
        assert_eq!(same_work(&ns, 1.0 + 6e-7), [false, false, true]);
        assert_eq!(same_work(&ns, 1.0 - 3e-7 * UNCLEAR), [false, false, true]);
        assert_eq!(same_work(&ns, 1.0 + 5e-5), [false; 3]);
        assert_eq!(same_work(&[0.0, 1.0], 1.0), [true; 2]);
        assert_eq!(same_work(&[0.0, 1.0], 1.0 - 1e-9), [false, true]);
    }
}
