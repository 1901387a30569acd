//! Instructions of a gate's benchmarks: which are counted, in which share of the budget, and with which result.

use std::path::Path;

use anyhow::Result;

use crate::cmd::assessment::Assessment;
use crate::session::instruction_counters;
use analysis::verdict::GateAnswer;
use analysis::work::WorkCounted;
use analysis::{Evidence, RatioInterval};
use measure::clock::monotonic_ns;
use model::harness::{Harness, countable, needs_stepped_clock, no_valgrind, with_exact_iterations};
use model::spec::{GateCounting, GateVerb};
use model::values::exit_code;
use model::values::metric::Metric;
use record::Record;
use record::plan::InstructionCounter;
use record::plan::programs::ProgramBenchmark;
use render::closing::uncounted_benchmarks;

use super::fail_on;
use super::pairs::Pair;
use super::suite::{SuiteRequest, measure};
use super::together;
use super::trees::Trees;

/// Other programs may take half of the time.
const MARGIN: f64 = 2.0;
/// Largest share of the budget that is kept for counts.
const SHARE: f64 = 0.4;
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
        let open = self.countable(pairs, &wanted, &mut work.uncounted);
        let mut sessions = CountingSessions {
            verb,
            trees,
            pairs,
            counter: &self.counter,
            directory: &timed.record.path,
            alpha_pct: alpha_pct * (1.0 - ALPHA_OF_TIMES),
            ends_ns: monotonic_ns() + left_ns,
            pace: 1.0,
            n_sums: 0,
            n_failed: 0,
            n_failed_max: open.len().min(2) as u32,
            was_interrupted: false,
        };
        // The processor's counts never repeat to the last instruction.
        let summed = if self.counter == InstructionCounter::Pmu { &[] } else { &*open };
        for same in together::the_same(&mut sessions, summed)? {
            work.counted.extend(same.iter().map(|it| it.the_same_work(same.len())));
        }
        if sessions.has_failed() {
            work.uncounted.push("no program could be executed by what counts".into());
            return Ok(work);
        }
        let is_left =
            |it: &&Countable<'_>| !work.counted.iter().any(|(name, _)| *name == it.timed.name);
        let left: Vec<Countable<'_>> = open.iter().copied().filter(|it| is_left(&it)).collect();
        let chosen = sessions.fitting(&left, &mut work.uncounted);
        if chosen.is_empty() {
            return Ok(work);
        }
        match sessions.measure(&chosen, FOLDER.into(), None)? {
            Some(counted) => {
                work.uncounted.extend(uncounted_benchmarks(&counted.record));
                work.counted.extend(counted_work(&counted, &wanted));
            }
            None => work.uncounted.push("no program could be executed by what counts".into()),
        }
        Ok(work)
    }

    /// The benchmarks that can be counted, and why others cannot. There may be time for a few only, and what looks
    /// slowest is the likeliest to fail, so it comes first.
    fn countable<'a>(
        &self,
        pairs: &'a [Pair],
        wanted: &'a [Timed],
        uncounted: &mut Vec<String>,
    ) -> Vec<Countable<'a>> {
        let mut ordered: Vec<&Timed> = wanted.iter().collect();
        ordered.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        let listed = ordered.into_iter().filter_map(|timed| Countable::of(pairs, timed));
        let (open, refused): (Vec<_>, Vec<_>) =
            listed.partition(|it| self.refusal(it.harness).is_none());
        uncounted.extend(refused.iter().filter_map(|it| self.refusal(it.harness)));
        // One reason may hold for all benchmarks of a framework.
        uncounted.dedup();
        open
    }

    /// The part of the budget that is kept for counts, ns: as much as they are expected to need if one benchmark of each
    /// program differs. It is zero if there is not even time for the first sum.
    pub(super) fn kept_ns(&self, pairs: &[Pair], budget_ns: u64) -> u64 {
        let most_ns = SHARE * budget_ns as f64;
        let (mut all_ns, mut has_time) = (0.0, false);
        for pair in pairs {
            let listed = &pair.common[0];
            let harness = listed.first().and_then(|it| it.harness);
            if harness.is_none_or(|harness| self.refusal(harness).is_some()) {
                continue;
            }
            let process_ns = process_ns(&self.counter, pair.listing_cpu_ns as f64, COUNTED_NS);
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
}

/// A benchmark that can be counted.
#[derive(Clone, Copy)]
pub(super) struct Countable<'a> {
    pub timed: &'a Timed,
    /// The index of its pair of programs.
    pub pair: usize,
    pub listed: &'a ProgramBenchmark,
    pub harness: Harness,
}

impl<'a> Countable<'a> {
    /// The benchmark of a gate's name.
    fn of(pairs: &'a [Pair], timed: &'a Timed) -> Option<Self> {
        pairs.iter().enumerate().find_map(|(at, pair)| {
            let inner = match pairs.len() {
                1 => &timed.name,
                _ => timed.name.strip_prefix(&pair.name)?.strip_prefix('/')?,
            };
            let listed = pair.common[0].iter().find(|listed| listed.name == inner)?;
            Some(Self { timed, pair: at, listed, harness: listed.harness? })
        })
    }

    /// The result of a sum of so many benchmarks that is the same to the instruction.
    fn the_same_work(&self, n_together: usize) -> (String, WorkCounted) {
        let ratio = RatioInterval { ratio: 1.0, lo: 1.0, hi: 1.0 };
        let (n_together, system_share) = (n_together as u32, self.timed.system_share);
        (self.timed.name.clone(), WorkCounted { ratio, is_known: true, n_together, system_share })
    }
}

/// Runs the sessions of counts, up to the end of the budget.
pub(super) struct CountingSessions<'a> {
    verb: &'a GateVerb,
    trees: &'a Trees,
    pub pairs: &'a [Pair],
    counter: &'a InstructionCounter,
    /// The gate's directory.
    directory: &'a Path,
    alpha_pct: f64,
    ends_ns: u64,
    /// Time of the last sum ÷ the expected time.
    pace: f64,
    n_sums: u32,
    n_failed: u32,
    /// After so many sums without a count, nothing else is counted: a single benchmark of several may fail.
    n_failed_max: u32,
    was_interrupted: bool,
}

impl CountingSessions<'_> {
    pub(super) fn has_failed(&self) -> bool {
        self.n_failed == self.n_sums && self.n_failed >= self.n_failed_max.max(1)
    }

    pub(super) fn left_ns(&self) -> f64 {
        let left_ns = self.ends_ns.saturating_sub(monotonic_ns());
        if self.was_interrupted { 0.0 } else { left_ns as f64 }
    }

    /// Counts these pairs. `None` without a single count.
    fn measure(
        &mut self,
        pairs: &[Pair],
        folder: String,
        n_blocks: Option<u32>,
    ) -> Result<Option<Assessment>> {
        let request = SuiteRequest {
            budget_ns: self.left_ns() as u64,
            alpha_pct: self.alpha_pct,
            directory: &self.directory.join(folder),
            counter: Some(self.counter.choice()),
            n_blocks,
            are_named: self.pairs.len() > 1,
        };
        let (counted, code) = measure(self.verb, self.trees, pairs, &request, &[])?;
        self.was_interrupted = code == exit_code::INTERRUPTED;
        Ok(counted)
    }

    /// Counts a pair with a single benchmark in a single block. Returns whether both builds execute the same number of
    /// instructions.
    pub(super) fn is_same(&mut self, pair: Pair, expected_ns: f64) -> Result<bool> {
        self.n_sums += 1;
        self.n_failed += 1;
        let folder = format!("{FOLDER}-{}", self.n_sums);
        let started_ns = monotonic_ns();
        let counted = self.measure(&[pair], folder, Some(1))?;
        self.pace *= (monotonic_ns() - started_ns) as f64 / expected_ns;
        let Some(counted) = counted else { return Ok(false) };
        let rows = &counted.record.rows;
        let of = |at: usize| rows.get(at, Metric::Instructions).filter(|_| rows.is_measurement(at));
        let counts: Vec<Option<u64>> = (0..rows.len()).map(of).collect();
        let [Some(old), Some(new)] = counts[..] else { return Ok(false) };
        self.n_failed -= 1;
        Ok(old == new)
    }

    /// Expected time for processes that execute all of these benchmarks, ns.
    pub(super) fn expected_ns(&self, benchmarks: &[Countable<'_>], n_processes: f64) -> f64 {
        let iterations_ns = |it: &Countable<'_>| {
            // One of two processes has twice as many iterations.
            1.5 * countable(it.harness, 1) as f64 * it.timed.iteration_ns.unwrap_or(0.0)
        };
        let iterations_ns: f64 = benchmarks.iter().map(iterations_ns).sum();
        // The program also makes its list, and its statistics of times are longer than those of counts.
        let own_ns = |it: &Countable<'_>| {
            let listing_ns = self.pairs[it.pair].listing_cpu_ns as f64;
            (it.timed.process_cpu_ns - TIMED_NS).clamp(0.0, listing_ns)
        };
        let programs_ns = benchmarks.iter().map(own_ns);
        let program_ns = programs_ns.fold(0.0, f64::max);
        let process_ns = process_ns(self.counter, program_ns, iterations_ns.max(COUNTED_NS));
        self.pace * n_processes * process_ns
    }

    /// The pairs with the benchmarks that fit the time, in this order. The others are named.
    fn fitting(&self, open: &[Countable<'_>], uncounted: &mut Vec<String>) -> Vec<Pair> {
        let mut left_ns = self.left_ns();
        let mut kept = vec![Vec::new(); self.pairs.len()];
        for one in open {
            let expected_ns = self.expected_ns(&[*one], PROCESSES);
            if expected_ns > left_ns {
                let seconds = (expected_ns / 1e9).ceil();
                uncounted.push(format!("{}: counting needs some {seconds} s", one.timed.name));
            } else {
                left_ns -= expected_ns;
                kept[one.pair].push((one.listed.name.clone(), one.timed.iteration_ns));
            }
        }
        let chosen = self.pairs.iter().zip(&kept).filter(|(_, kept)| !kept.is_empty());
        chosen.map(|(pair, kept)| pair.with(kept)).collect()
    }
}

/// A benchmark's times, which determine how it is counted.
pub(super) struct Timed {
    pub name: String,
    is_open: bool,
    /// Time of the new build ÷ time of the old one; 1 if it is not known.
    ratio: f64,
    /// Time of an iteration, ns.
    pub iteration_ns: Option<f64>,
    /// CPU time of a process, ns.
    process_cpu_ns: f64,
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
                process_cpu_ns: 1e3 * cpu_us(record, &arms).iter().sum::<f64>(),
                system_share: arms
                    .map(|arm| system_share(record, arm))
                    .into_iter()
                    .fold(0.0, f64::max),
            }
        };
        pairs.map(one).collect()
    }
}

/// Expected time of a process whose instructions are counted, ns.
fn process_ns(counter: &InstructionCounter, program_ns: f64, iterations_ns: f64) -> f64 {
    match counter {
        InstructionCounter::Pmu => program_ns + iterations_ns,
        InstructionCounter::Valgrind { .. } => {
            // Both processes of a count run at the same time.
            let at_once = std::thread::available_parallelism().map_or(1, |n| n.get().min(2));
            (START_NS + SLOWER * (program_ns + iterations_ns)) / at_once as f64
        }
    }
}

fn mean(record: &Record, metric: Metric, arms: &[usize]) -> Option<f64> {
    let rows = &record.rows;
    let of = (0..rows.len()).filter(|&at| arms.contains(&rows.arm(at)) && rows.is_measurement(at));
    let values: Vec<f64> = of.filter_map(|at| rows.get(at, metric)).map(|it| it as f64).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean user and system time of the processes of these arms, µs.
fn cpu_us(record: &Record, arms: &[usize]) -> [f64; 2] {
    [Metric::UserUs, Metric::SysUs].map(|metric| mean(record, metric, arms).unwrap_or(0.0))
}

/// The share of system time in the CPU time of an arm's processes.
fn system_share(record: &Record, arm: usize) -> f64 {
    let [user_us, system_us] = cpu_us(record, &[arm]);
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
        Some((name, WorkCounted { ratio, is_known, n_together: 1, system_share }))
    };
    counted.analysis.comparisons.iter().filter_map(of).collect()
}
