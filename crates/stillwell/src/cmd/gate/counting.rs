//! Instructions of a gate's benchmarks: which are counted, in which share of the budget, and with which result.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Result;

use crate::cmd::assessment::Assessment;
use crate::session::instruction_counters;
use analysis::verdict::GateAnswer;
use analysis::work::WorkCounted;
use analysis::{Evidence, RatioInterval};
use measure::clock::monotonic_ns;
use measure::harnesses::CpuTime;
use model::harness::{Harness, chooses_by_clock, fixes_iterations, with_exact_iterations};
use model::spec::{GateCounting, GateVerb};
use model::values::{DecideOn, exit_code};
use record::plan::InstructionCounter;
use record::plan::programs::ProgramBenchmark;
use render::closing::{failing_prefix, uncounted_benchmarks};
use stats::verdict::minimum_pairs;

use super::countable::{Countable, Timed};
use super::counting_sessions::{
    CountingSessions, PACE_MAX, PROCESSES, TIMED_NS, mean_counted_ns, not_counted, process_ns,
};
use super::fail_on;
use super::pairs::{Changes, Pair};
use super::together;
use super::trees::Trees;
use super::workers::NOT_COUNTED;

/// Other programs may take two thirds of the time.
const MARGIN: f64 = PACE_MAX;
/// Largest share of the budget that is kept for counts, where times could decide too.
const SHARE: f64 = 0.6;
/// Share of the error rate for times. Counts that need a test are so sharp that a small share suffices.
pub(super) const ALPHA_OF_TIMES: f64 = 0.9;

/// A gate's division of time and error rate.
pub(super) struct Counting {
    pub counter: InstructionCounter,
    when: GateCounting,
}

/// The limits within which a gate counts instructions.
pub(super) struct CountingLimits<'a> {
    pub left_ns: u64,
    /// The error rate of counts, in percent.
    pub alpha_pct: f64,
    /// The directory of the gate.
    pub directory: &'a Path,
}

/// The results of the counts.
#[derive(Default)]
pub(super) struct Work {
    pub counted: Vec<(String, WorkCounted)>,
    pub counter: Option<&'static str>,
    /// Benchmarks without a count, with the reason.
    pub uncounted: Vec<String>,
    /// The benchmarks that were counted alone, where nothing but counts decides; with the exit code of their session.
    pub alone: Option<Assessment>,
    pub code: u8,
    /// What has failed, if nothing was counted alone where nothing but counts decides.
    pub failed: Vec<String>,
    pub was_interrupted: bool,
}

impl Work {
    fn has(&self, benchmark: &Countable<'_>) -> bool {
        self.counted.iter().any(|(name, _)| *name == benchmark.timed.name)
    }
}

impl Counting {
    /// `None` if nothing is counted, or if the processor's counts decide: their session is like a session of times. Errors:
    /// the user asks for counts, and nothing counts here.
    pub(super) fn of(verb: &GateVerb) -> Result<Option<Self>> {
        let when = match verb.decide_on {
            Some(DecideOn::Instructions) => GateCounting::On,
            Some(_) => GateCounting::Off,
            None if fail_on(verb).slower_pct.is_none() => GateCounting::Off,
            None => verb.instructions.unwrap_or_default(),
        };
        if when == GateCounting::Off {
            return Ok(None);
        }
        let counters = instruction_counters(verb.machine.rights.as_root);
        match counters.choose(verb.counter.unwrap_or_default()) {
            Ok(InstructionCounter::Pmu) if verb.decide_on.is_some() => Ok(None),
            Ok(counter) => Ok(Some(Self { counter, when })),
            Err(_) if when == GateCounting::Auto && verb.counter.is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes what cannot be counted from what is to be measured, as failing.
    pub(super) fn refuse(&self, changes: &mut Changes) {
        let Changes { pairs, failing, .. } = changes;
        let why = |pair: &Pair| self.refusal(pair, pair.common[0].first()?.harness?);
        let refused = pairs.iter().filter_map(|pair| Some((&pair.name, why(pair)?)));
        failing.extend(refused.map(|(name, why)| format!("{name}: {why}")));
        pairs.retain(|pair| why(pair).is_none());
        for pair in pairs.iter_mut() {
            failing.extend(pair.common[0].iter().filter_map(fixed_iterations));
            for listed in &mut pair.common {
                listed.retain(|it| fixed_iterations(it).is_none());
            }
        }
        pairs.retain(|pair| !pair.common[0].is_empty());
    }

    /// Counts the instructions of all benchmarks, or only of those with undecided times, in the rest of the budget. What is
    /// left of it tells whether the slower ones do the same work.
    pub(super) fn count(
        &self,
        verb: &GateVerb,
        trees: &Trees,
        changes: &Changes,
        all: Vec<Timed>,
        limits: CountingLimits<'_>,
    ) -> Result<Work> {
        let CountingLimits { left_ns, alpha_pct, directory } = limits;
        let (pairs, decides) = (&changes.pairs, verb.decide_on.is_some());
        let mut work = Work { counter: Some(self.counter.name()), ..Work::default() };
        let is_wanted =
            |it: &Timed| self.when == GateCounting::On || it.answer == GateAnswer::Undecided;
        let (wanted, mut failing): (Vec<Timed>, Vec<Timed>) = all.into_iter().partition(is_wanted);
        failing.retain(|it| it.answer == GateAnswer::Fail);
        let start = |pair: &Pair| if decides { None } else { pair.start(verb, trees) };
        let starts: Vec<_> = pairs.iter().map(start).collect();
        let failing = self.countable(pairs, &starts, &failing, &mut Vec::new());
        let open = self.countable(pairs, &starts, &wanted, &mut work.uncounted);
        let mut sessions = CountingSessions {
            verb,
            trees,
            pairs,
            counter: &self.counter,
            directory,
            alpha_pct,
            failing: &changes.failing,
            ends_ns: monotonic_ns() + left_ns,
            pace: 1.0,
            n_sums: 0,
            n_failed: 0,
            n_failed_max: open.len().min(4) as u32,
            code: exit_code::SUCCESS,
            failed: Vec::new(),
            refused: BTreeMap::new(),
            ratios: HashMap::new(),
            different: Vec::new(),
        };
        // The processor's counts never repeat to the last instruction.
        let repeats = self.counter != InstructionCounter::Pmu;
        // A limit of counts needs the count of each benchmark.
        let is_limited = decides && fail_on(verb).above.is_some();
        let summed = if repeats && !is_limited { &*open } else { &[] };
        work.counted.extend(together::the_same(&mut sessions, summed)?);
        if sessions.code == exit_code::INTERRUPTED {
            work.uncounted.push("the counting was interrupted".into());
        } else if (sessions.has_failed() && !decides)
            || !count_alone(&mut sessions, &open, &mut work)?
        {
            if !decides && sessions.refused.is_empty() {
                work.uncounted.push(sessions.why_nothing());
            }
        } else if repeats {
            work.counted.extend(together::the_same_alone(&mut sessions, &failing)?);
        }
        work.was_interrupted = sessions.code == exit_code::INTERRUPTED;
        if decides {
            (work.code, work.failed) = (sessions.code, sessions.failed);
        } else {
            work.uncounted.extend(sessions.refused.values().cloned());
        }
        let all = open.iter().chain(&failing).filter(|it| !work.has(it));
        let once = all.filter_map(|it| {
            let name = it.timed.name.clone();
            Some((name, it.counted_once(*sessions.ratios.get(&it.timed.name)?)))
        });
        work.counted.extend(once.collect::<Vec<_>>());
        Ok(work)
    }

    /// The benchmarks that can be counted, and why others cannot. There may be time for a few only, and what looks
    /// slowest is the likeliest to fail, so it comes first.
    fn countable<'a>(
        &self,
        pairs: &'a [Pair],
        starts: &[Option<CpuTime>],
        wanted: &'a [Timed],
        uncounted: &mut Vec<String>,
    ) -> Vec<Countable<'a>> {
        let mut ordered: Vec<&Timed> = wanted.iter().collect();
        ordered.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        let listed = ordered.into_iter().filter_map(|timed| Countable::of(pairs, starts, timed));
        let refusal = |it: &Countable<'_>| {
            self.refusal(&pairs[it.pair], it.harness).or_else(|| fixed_iterations(it.listed))
        };
        let (open, refused): (Vec<_>, Vec<_>) = listed.partition(|it| refusal(it).is_none());
        uncounted.extend(refused.iter().filter_map(refusal));
        let of_workers =
            pairs.iter().filter(|it| it.common[0].iter().all(|it| it.harness.is_none()));
        let of_workers = of_workers.filter(|_| !wanted.is_empty());
        uncounted.extend(of_workers.map(|pair| format!("{}: {NOT_COUNTED}", pair.name)));
        // One reason may hold for all benchmarks of a framework.
        uncounted.dedup();
        open
    }

    /// The part of the budget that is kept for counts, ns: as much as they are expected to need if one benchmark of each
    /// program differs. It is zero if there is not even time for the first sum.
    pub(super) fn kept_ns(&self, pairs: &[Pair], budget_ns: u64, alpha_pct: f64) -> u64 {
        let n_benchmarks = Pair::all_named(pairs).count();
        let most_ns = most_ns(round_ns(pairs), n_benchmarks, budget_ns as f64, alpha_pct);
        let (mut all_ns, mut has_time) = (0.0, false);
        for pair in pairs {
            let listed = &pair.common[0];
            let harness = listed.first().and_then(|it| it.harness);
            let Some(harness) = harness.filter(|it| self.refusal(pair, *it).is_none()) else {
                continue;
            };
            let program_ns = pair.process_ns();
            let process_ns = process_ns(&self.counter, program_ns, mean_counted_ns(harness, false));
            let n_listed = listed.len() as f64;
            let [first, all] = match self.counter {
                InstructionCounter::Pmu => [PROCESSES, n_listed * PROCESSES],
                InstructionCounter::Valgrind { .. } => {
                    [together::PROCESSES, together::n_processes(n_listed) + PROCESSES]
                }
            };
            all_ns += process_ns * all;
            has_time |= process_ns * first < most_ns;
        }
        if has_time { (all_ns * MARGIN).min(most_ns) as u64 } else { 0 }
    }

    /// Why the benchmarks of a framework cannot be counted.
    fn refusal(&self, pair: &Pair, harness: Harness) -> Option<String> {
        let command = harness.command(&["program".into()], "benchmark", None);
        let is_by_pmu = self.counter == InstructionCounter::Pmu;
        let why = match with_exact_iterations(harness, &command, 1) {
            Err(why) => Some(why),
            Ok(_) if pair.no_counts.is_some() => pair.no_counts.map(str::to_owned),
            Ok(_) => (is_by_pmu && chooses_by_clock(harness))
                .then(|| "only valgrind can count them".into()),
        };
        why.map(|why| format!("the benchmarks of {}: {why}", harness.name()))
    }
}

/// Why a benchmark cannot be counted whose framework can.
fn fixed_iterations(it: &ProgramBenchmark) -> Option<String> {
    let is_fixed = it.harness.is_some_and(|harness| fixes_iterations(harness, &it.name));
    is_fixed.then(|| format!("{}: it fixes the number of its iterations", it.name))
}

/// CPU time of one process of each benchmark and build, ns, at least.
fn round_ns(pairs: &[Pair]) -> f64 {
    let process_ns = |pair: &Pair| pair.process_ns() + TIMED_NS;
    pairs.iter().map(|pair| 2.0 * pair.common[0].len() as f64 * process_ns(pair)).sum()
}

/// Most of the budget that is kept for counts, ns. Where the times cannot decide, they get two processes of each benchmark and
/// build: what counts are expected to take follows from them.
fn most_ns(round_ns: f64, n_benchmarks: usize, budget_ns: f64, alpha_pct: f64) -> f64 {
    let n_pairs = minimum_pairs(alpha_pct / 100.0 / n_benchmarks.max(1) as f64).unwrap_or(0);
    let do_times_decide = n_pairs as f64 * round_ns <= (1.0 - SHARE) * budget_ns;
    let others_ns = if do_times_decide { 0.0 } else { budget_ns - 2.0 * round_ns };
    others_ns.max(SHARE * budget_ns)
}

/// Counts each benchmark that no sum has answered for. Returns whether all could be counted.
fn count_alone(
    sessions: &mut CountingSessions<'_>,
    open: &[Countable<'_>],
    work: &mut Work,
) -> Result<bool> {
    let decides = sessions.verb.decide_on.is_some();
    // Where nothing else decides, what cannot be counted fails.
    let is_refused = |it: &Countable<'_>| !decides && sessions.refused.contains_key(&it.timed.name);
    let left = open.iter().copied().filter(|it| !work.has(it) && !is_refused(it));
    let mut left: Vec<_> = left.collect();
    // What is known to do more work fails the gate, if the time lasts.
    let ratio = |it: &Countable<'_>| sessions.ratios.get(&it.timed.name).map_or(1.0, |it| *it);
    left.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    left.sort_by_key(|it| !sessions.different.contains(&it.timed.name));
    let chosen = sessions.fitting(&left, &mut work.uncounted);
    if chosen.is_empty() {
        return Ok(true);
    }
    let Some(counted) = sessions.count_alone(&chosen)? else {
        return Ok(false);
    };
    if decides {
        work.alone = Some(counted);
        return Ok(true);
    }
    work.uncounted.extend(uncounted_benchmarks(&counted.record));
    work.counted.extend(counted_work(&counted, &left));
    let named: Vec<&str> =
        chosen.iter().flat_map(|it| it.common[0].iter().map(|it| &*it.name)).collect();
    let has_ended = |it: &&Countable<'_>| {
        let name = &it.timed.name;
        !work.has(it)
            && named.contains(&&*it.listed.name)
            && !work.uncounted.iter().any(|why| why.starts_with(&failing_prefix(name)))
    };
    let ended: Vec<String> = left
        .iter()
        .filter(has_ended)
        .map(|it| format!("{}: the time was over before the third count", it.timed.name))
        .collect();
    work.uncounted.extend(ended);
    Ok(true)
}

fn counted_work(counted: &Assessment, open: &[Countable<'_>]) -> Vec<(String, WorkCounted)> {
    let plan = &counted.record.header.plan;
    let of = |comparison: &analysis::Comparison| {
        let name = plan.arms[comparison.arm].benchmark.clone()?;
        let one = open.iter().find(|it| it.timed.name == name)?;
        let not_counted = not_counted(&counted.record, [comparison.reference, comparison.arm]);
        let system_share = one.with(not_counted).system_share;
        let Evidence::Paired(paired) = &comparison.evidence else { return None };
        let ratio: RatioInterval = paired.ratio;
        let is_known = ratio.lo > 0.0 && ratio.hi.is_finite();
        let n_counts = paired.n_pairs;
        Some((name, WorkCounted { ratio, is_known, n_counts, n_together: 1, system_share }))
    };
    counted.analysis.comparisons.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_cannot_decide_leave_their_time_to_counts() {
        let most_s = |round_s: f64, n, budget_s: f64| {
            (1e-9 * most_ns(1e9 * round_s, n, 1e9 * budget_s, 1.0)).round()
        };
        // Eleven pairs of eight benchmarks of pytest, and of as many short ones.
        assert_eq!(most_s(7.0, 8, 60.0), 46.0);
        assert_eq!(most_s(7.0, 8, 300.0), 180.0);
        assert_eq!(most_s(0.1, 8, 60.0), 36.0);
        // The fewest pairs fit the budget, but not beside the counts.
        assert_eq!(most_s(3.0, 131, 60.0), 54.0);
        assert_eq!(most_s(50.0, 8, 60.0), 36.0);
    }
}
