//! Instructions of a gate's benchmarks: which are counted, in which share of the budget, and with which result.

use anyhow::Result;

use crate::cmd::assessment::Assessment;
use crate::session::instruction_counters;
use analysis::verdict::GateAnswer;
use analysis::work::WorkCounted;
use analysis::{Evidence, RatioInterval};
use model::harness::{Harness, countable, needs_stepped_clock, no_valgrind, with_exact_iterations};
use model::spec::{GateCounting, GateVerb};
use model::values::metric::Metric;
use record::Record;
use record::plan::InstructionCounter;
use record::plan::programs::ProgramBenchmark;
use render::closing::uncounted_benchmarks;

use super::fail_on;
use super::pairs::Pair;
use super::suite::{SuiteRequest, measure};
use super::trees::Trees;

/// Share of the budget for times if instructions may be counted.
pub(super) const SHARE_OF_TIMES: f64 = 0.6;
/// Share of the error rate for times. Counts that need a test are so sharp that a small share suffices.
const ALPHA_OF_TIMES: f64 = 0.9;
/// Processes of a count: two in each of three blocks of both builds.
const PROCESSES: f64 = 12.0;
/// Valgrind's start, ns, and its time as a multiple of the program's own.
const START_NS: f64 = 0.3e9;
const SLOWER: f64 = 40.0;
/// Length of a process's iterations, ns: at least, if it is timed; on average, if it is counted.
const TIMED_NS: f64 = 12e6;
const COUNTED_NS: f64 = 4.5e6;
/// The directory for records of counts, in the directory of the gate's records.
const FOLDER: &str = "instructions";

/// A gate's division of time and error rate.
pub(super) struct Counting {
    pub counter: InstructionCounter,
    when: GateCounting,
}

/// What is left of the gate for counts.
pub(super) struct CountingLimits {
    pub left_ns: u64,
    /// The error rate of the gate, in percent.
    pub alpha_pct: f64,
    /// The slowdown that fails the gate.
    pub limit: f64,
}

/// The results of the counts.
#[derive(Default)]
pub(super) struct Work {
    pub counted: Vec<(String, WorkCounted)>,
    pub counter: Option<&'static str>,
    /// Benchmarks without a count, with the reason.
    pub uncounted: Vec<String>,
}

/// The part of the budget for times, ns.
pub(super) fn time_budget_ns(budget_ns: u64) -> u64 {
    (budget_ns as f64 * SHARE_OF_TIMES) as u64
}

impl Counting {
    /// `None` if nothing is counted. Errors: the user asks for counts, and nothing counts here.
    pub(super) fn of(verb: &GateVerb) -> Result<Option<Self>> {
        let when = verb.instructions.unwrap_or_default();
        let counts_slowdowns = fail_on(verb).slower_pct.is_some();
        if when == GateCounting::Off || verb.decide_on.is_some() || !counts_slowdowns {
            return Ok(None);
        }
        let counters = instruction_counters(verb.machine.rights.as_root);
        match counters.choose(verb.counter.unwrap_or_default()) {
            Ok(counter) => Ok(Some(Self { counter, when })),
            Err(_) if when == GateCounting::Auto && verb.counter.is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The error rate of the times, in percent.
    pub(super) fn alpha_of_times(alpha_pct: f64) -> f64 {
        alpha_pct * ALPHA_OF_TIMES
    }

    /// Counts the instructions of all benchmarks, or only of those with undecided times, in the rest of the budget.
    pub(super) fn count(
        &self,
        verb: &GateVerb,
        trees: &Trees,
        pairs: &[Pair],
        timed: &Assessment,
        limits: CountingLimits,
    ) -> Result<Work> {
        let CountingLimits { left_ns, alpha_pct, limit } = limits;
        let mut work = Work { counter: Some(self.counter.name()), ..Work::default() };
        let all = Timed::of(&timed.record, timed, limit);
        let wanted = all.into_iter().filter(|it| self.when == GateCounting::On || it.is_open);
        let wanted: Vec<Timed> = wanted.collect();
        let chosen = self.choose_pairs(pairs, &wanted, left_ns, &mut work.uncounted);
        if chosen.is_empty() {
            return Ok(work);
        }
        let directory = timed.record.path.join(FOLDER);
        let request = SuiteRequest {
            budget_ns: left_ns,
            alpha_pct: alpha_pct * (1.0 - ALPHA_OF_TIMES),
            directory: &directory,
            counter: Some(self.counter.choice()),
            are_named: pairs.len() > 1,
        };
        let (counted, _) = measure(verb, trees, &chosen, &request, &[])?;
        let Some(counted) = counted else {
            work.uncounted.push("no program could be executed by what counts".into());
            return Ok(work);
        };
        work.uncounted.extend(uncounted_benchmarks(&counted.record));
        work.counted = counted_work(&counted, &wanted);
        Ok(work)
    }

    /// Whether a benchmark of these can be counted. If none can, the times get all of the budget.
    pub(super) fn can_count(&self, pairs: &[Pair]) -> bool {
        let mut harnesses =
            pairs.iter().flat_map(|pair| &pair.common[0]).filter_map(|listed| listed.harness);
        harnesses.any(|harness| self.refusal(harness).is_none())
    }

    /// Why the benchmarks of a framework cannot be counted.
    fn refusal(&self, harness: Harness) -> Option<String> {
        let command = harness.command(&["program".into()], "benchmark", None);
        let is_by_pmu = self.counter == InstructionCounter::Pmu;
        let why = match with_exact_iterations(harness, &command, countable(harness, 1)) {
            Err(why) => Some(why),
            Ok(_) if !is_by_pmu => no_valgrind(harness).map(str::to_owned),
            Ok(_) => needs_stepped_clock(harness).then(|| "only valgrind can count them".into()),
        };
        why.map(|why| format!("the benchmarks of {}: {why}", harness.name()))
    }

    /// The pairs with the benchmarks that are counted. Benchmarks that do not fit the time, or whose framework has no
    /// fixed number of iterations, are named with the reason.
    fn choose_pairs(
        &self,
        pairs: &[Pair],
        wanted: &[Timed],
        left_ns: u64,
        uncounted: &mut Vec<String>,
    ) -> Vec<Pair> {
        let mut left_ns = left_ns as f64;
        let mut kept = vec![Vec::new(); pairs.len()];
        for timed in slowest_first(wanted) {
            let Some((at, listed, harness)) = listed(pairs, &timed.name) else { continue };
            let expected_ns = timed.expected_ns(countable(harness, 1));
            if let Some(why) = self.refusal(harness) {
                uncounted.push(why);
            } else if expected_ns > left_ns {
                let seconds = (expected_ns / 1e9).ceil();
                uncounted.push(format!("{}: counting needs some {seconds} s", timed.name));
            } else {
                left_ns -= expected_ns;
                kept[at].push((listed.name.clone(), timed.iteration_ns));
            }
        }
        // One reason may hold for all benchmarks of a framework.
        uncounted.dedup();
        let chosen = pairs.iter().zip(&kept).filter(|(_, kept)| !kept.is_empty());
        chosen.map(|(pair, kept)| pair.with(kept)).collect()
    }
}

/// The order of counts. There may be time for a few only, and what looks slowest is the likeliest to fail.
fn slowest_first(wanted: &[Timed]) -> Vec<&Timed> {
    let mut ordered: Vec<&Timed> = wanted.iter().collect();
    ordered.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    ordered
}

/// The benchmark of a gate's name, with the place of its pair.
fn listed<'a>(pairs: &'a [Pair], name: &str) -> Option<(usize, &'a ProgramBenchmark, Harness)> {
    pairs.iter().enumerate().find_map(|(at, pair)| {
        let inner = match pairs.len() {
            1 => name,
            _ => name.strip_prefix(&pair.name)?.strip_prefix('/')?,
        };
        let listed = pair.common[0].iter().find(|listed| listed.name == inner)?;
        Some((at, listed, listed.harness?))
    })
}

/// A benchmark's times, which determine how it is counted.
struct Timed {
    name: String,
    is_open: bool,
    /// Time of the new build ÷ time of the old one; 1 if it is not known.
    ratio: f64,
    /// Time of an iteration, ns.
    iteration_ns: Option<f64>,
    /// Time of a process, ns.
    process_ns: f64,
    system_share: f64,
}

impl Timed {
    fn of(record: &Record, timed: &Assessment, limit: f64) -> Vec<Self> {
        let pairs = timed.analysis.comparisons.iter().zip(&timed.judgements);
        let one = |(pair, judgement): (&analysis::Comparison, &analysis::verdict::Judgement)| {
            let arms = [pair.reference, pair.arm];
            let times = timed.analysis.arms[pair.reference].times.as_ref();
            let plan = &record.header.plan;
            Self {
                name: plan.arms[pair.arm].benchmark.clone().unwrap_or_default(),
                is_open: judgement.answer(limit) == GateAnswer::Undecided,
                ratio: judgement.interval.map_or(1.0, |interval| interval.ratio),
                iteration_ns: times.map(|times| times.median.value),
                process_ns: mean(record, Metric::WallNs, &arms).unwrap_or(0.0),
                system_share: arms
                    .map(|arm| system_share(record, arm))
                    .into_iter()
                    .fold(0.0, f64::max),
            }
        };
        pairs.map(one).collect()
    }

    /// Expected length of a benchmark's counts with at least `n` iterations, ns.
    fn expected_ns(&self, n: u64) -> f64 {
        // One of two processes has twice as many iterations.
        let iterations_ns = 1.5 * n as f64 * self.iteration_ns.unwrap_or(0.0);
        let program_ns = (self.process_ns - TIMED_NS).max(0.0);
        PROCESSES * (START_NS + SLOWER * (program_ns + iterations_ns.max(COUNTED_NS)))
    }
}

fn mean(record: &Record, metric: Metric, arms: &[usize]) -> Option<f64> {
    let rows = &record.rows;
    let of = (0..rows.len()).filter(|&at| arms.contains(&rows.arm(at)) && rows.is_measurement(at));
    let values: Vec<f64> = of.filter_map(|at| rows.get(at, metric)).map(|it| it as f64).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The share of system time in the CPU time of an arm's processes.
fn system_share(record: &Record, arm: usize) -> f64 {
    let us = |metric| mean(record, metric, &[arm]).unwrap_or(0.0);
    let (user_us, system_us) = (us(Metric::UserUs), us(Metric::SysUs));
    let all_us = user_us + system_us;
    if all_us > 0.0 { system_us / all_us } else { 0.0 }
}

/// The result of each benchmark's counts.
fn counted_work(counted: &Assessment, timed: &[Timed]) -> Vec<(String, WorkCounted)> {
    let plan = &counted.record.header.plan;
    let of = |comparison: &analysis::Comparison| {
        let name = plan.arms[comparison.arm].benchmark.clone()?;
        let system_share = timed.iter().find(|it| it.name == name)?.system_share;
        let Evidence::Paired(paired) = &comparison.evidence else { return None };
        let ratio: RatioInterval = paired.ratio;
        let is_known = ratio.lo > 0.0 && ratio.hi.is_finite();
        Some((name, WorkCounted { ratio, is_known, system_share }))
    };
    counted.analysis.comparisons.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_slowest_is_counted_first() {
        let timed = |(name, ratio): &(&str, f64)| Timed {
            name: (*name).into(),
            is_open: true,
            ratio: *ratio,
            iteration_ns: None,
            process_ns: 0.0,
            system_share: 0.0,
        };
        let wanted: Vec<Timed> = [("a", 0.99), ("b", 1.0), ("c", 1.1)].iter().map(timed).collect();
        let names: Vec<&str> = slowest_first(&wanted).iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["c", "b", "a"]);
    }
}
