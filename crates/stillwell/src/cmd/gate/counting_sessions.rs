//! The sessions that count a gate's instructions, and the time that they are expected to need.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Result;

use crate::cmd::assessment::Assessment;
use measure::clock::monotonic_ns;
use model::harness::{Harness, counted_ns, length_factor, mean_share};
use model::spec::GateVerb;
use model::values::exit_code;
use model::values::metric::Metric;
use record::Record;
use record::plan::{CountedIterations, InstructionCounter};
use render::closing::uncounted_benchmarks;

use super::countable::{Countable, NotCounted};
use super::pairs::Pair;
use super::suite::{SuiteRequest, measure};
use super::trees::Trees;

/// Processes of a count: two in each of three blocks of both builds.
pub(super) const PROCESSES: f64 = 12.0;
/// Valgrind's start, ns, and its time as a multiple of the program's own.
const START_NS: f64 = 0.3e9;
const SLOWER: f64 = 40.0;
/// Least length of the iterations of a timed process, ns.
pub(super) const TIMED_NS: f64 = 12e6;
/// System calls in iterations of 3 ms that tell nothing. A larger heap, with the faults of its pages, takes 16 µs.
const CALLS_MAX: f64 = 2.0;
/// A busy machine makes everything so many times slower at most.
pub(super) const PACE_MAX: f64 = 3.0;
/// The directory for records of counts, in the directory of the gate's records.
pub(super) const FOLDER: &str = "instructions";

/// Runs the sessions of counts, up to the end of the budget.
pub(super) struct CountingSessions<'a> {
    pub verb: &'a GateVerb,
    pub trees: &'a Trees,
    pub pairs: &'a [Pair],
    pub counter: &'a InstructionCounter,
    /// The gate's directory.
    pub directory: &'a Path,
    pub alpha_pct: f64,
    /// The programs that did not list their benchmarks.
    pub failing: &'a [String],
    pub ends_ns: u64,
    /// Time of the last sum ÷ the expected time.
    pub pace: f64,
    pub n_sums: u32,
    pub n_failed: u32,
    /// After so many sums without a count, nothing else is counted: a single benchmark of several may fail.
    pub n_failed_max: u32,
    /// The exit code of the last session.
    pub code: u8,
    /// What failed in it, if it counted nothing.
    pub failed: Vec<String>,
    /// The benchmarks that cannot be counted, with the reason.
    pub refused: BTreeMap<String, String>,
    /// The benchmarks that were counted alone once, with new ÷ old.
    pub ratios: HashMap<String, f64>,
    /// The benchmarks that are known to differ.
    pub different: Vec<String>,
}

impl CountingSessions<'_> {
    pub(super) fn has_failed(&self) -> bool {
        self.n_failed == self.n_sums && self.n_failed >= self.n_failed_max.max(1)
    }

    pub(super) fn left_ns(&self) -> f64 {
        let left_ns = self.ends_ns.saturating_sub(monotonic_ns());
        if self.code == exit_code::INTERRUPTED { 0.0 } else { left_ns as f64 }
    }

    /// Counts these pairs, each benchmark alone. Where nothing but counts decides, they are the records of the gate.
    pub(super) fn count_alone(&mut self, pairs: &[Pair]) -> Result<Option<Assessment>> {
        let folder = self.verb.decide_on.is_none().then(|| FOLDER.to_owned());
        self.measure(pairs, folder, None)
    }

    /// Counts these pairs; once, if a time is expected. `None` without a single count.
    fn measure(
        &mut self,
        pairs: &[Pair],
        folder: Option<String>,
        once_ns: Option<f64>,
    ) -> Result<Option<Assessment>> {
        // A setup may take many times as long as the iterations tell. It must not take all of the time.
        let most_ns = once_ns.map_or(f64::INFINITY, |expected_ns| PACE_MAX * expected_ns);
        let own = folder.as_ref().map(|folder| self.directory.join(folder));
        let request = SuiteRequest {
            budget_ns: self.left_ns().min(most_ns) as u64,
            alpha_pct: self.alpha_pct,
            directory: own.as_deref().unwrap_or(self.directory),
            has_directory: own.is_none(),
            counter: own.as_ref().map(|_| self.counter.choice()),
            n_blocks: once_ns.map(|_| 1),
            are_named: self.pairs.len() > 1,
        };
        let (counted, code, failed) =
            measure(self.verb, self.trees, pairs, &request, self.failing)?;
        (self.code, self.failed) = (code, failed);
        Ok(counted)
    }

    /// Why the last session counted nothing.
    pub(super) fn why_nothing(&self) -> String {
        match self.failed.is_empty() {
            true => "no program could be executed by what counts".into(),
            false => self.failed.join("; "),
        }
    }

    /// Counts the sum of these once in each build. Returns new ÷ old, and what is not in it; `None` without both.
    pub(super) fn count_once(
        &mut self,
        pair: Pair,
        benchmarks: &[Countable<'_>],
        expected_ns: f64,
    ) -> Result<Option<(f64, NotCounted)>> {
        self.n_sums += 1;
        self.n_failed += 1;
        let folder = format!("{FOLDER}-{}", self.n_sums);
        let started_ns = monotonic_ns();
        let counted = self.measure(&[pair], Some(folder), Some(expected_ns))?;
        let pace = self.pace * (monotonic_ns() - started_ns) as f64 / expected_ns;
        // A benchmark with a long setup tells nothing about the others.
        self.pace = pace.clamp(1.0 / PACE_MAX, PACE_MAX);
        let Some(counted) = counted else { return Ok(None) };
        let rows = &counted.record.rows;
        let count = |arm: usize| {
            let at = rows.measurements_of(&[arm]).next()?;
            rows.get(at, Metric::Instructions).filter(|count| *count > 0)
        };
        let (Some(old), Some(new)) = (count(0), count(1)) else {
            self.failed = uncounted_benchmarks(&counted.record);
            if let ([one], Some(why)) = (benchmarks, self.failed.last()) {
                self.refused.insert(one.timed.name.clone(), why.clone());
            }
            return Ok(None);
        };
        self.n_failed -= 1;
        let not_counted = not_counted(&counted.record, [0, 1]);
        Ok(Some((new as f64 / old as f64, not_counted)))
    }

    /// Expected time for processes that execute all of these benchmarks, ns.
    pub(super) fn expected_ns(&self, benchmarks: &[Countable<'_>], n_processes: f64) -> f64 {
        let iterations_ns = |it: &Countable<'_>| {
            // Two processes have one and two iterations at least.
            1.5 * it.timed.iteration_ns.unwrap_or(0.0)
        };
        let iterations_ns: f64 = benchmarks.iter().map(iterations_ns).sum();
        // One alone takes less. Three counts of it must not end too early.
        let least_ns = benchmarks.first().map_or(0.0, |it| mean_counted_ns(it.harness, true));
        // A counted process computes no more than a timed one.
        let own_ns = |it: &Countable<'_>| {
            (it.timed.process_cpu_ns - TIMED_NS).clamp(0.0, self.pairs[it.pair].process_ns())
        };
        let programs_ns = benchmarks.iter().map(own_ns);
        let program_ns = programs_ns.fold(0.0, f64::max);
        let process_ns = process_ns(self.counter, program_ns, iterations_ns.max(least_ns));
        self.pace * n_processes * process_ns
    }

    /// The pairs with the benchmarks that fit the time, in this order. The others are named.
    pub(super) fn fitting(&self, open: &[Countable<'_>], uncounted: &mut Vec<String>) -> Vec<Pair> {
        let mut left_ns = self.left_ns();
        let mut kept = vec![Vec::new(); self.pairs.len()];
        let mut too_long: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for one in open {
            let expected_ns = self.expected_ns(&[*one], PROCESSES);
            if expected_ns > left_ns {
                let seconds = (expected_ns / 1e9).ceil() as u64;
                too_long.entry(seconds).or_default().push(&one.timed.name);
            } else {
                left_ns -= expected_ns;
                kept[one.pair].push((one.listed.name.clone(), one.timed.iteration_ns));
            }
        }
        let said = |(seconds, names): (&u64, &Vec<&str>)| {
            format!("{}: counting needs some {seconds} s", names.join(", "))
        };
        uncounted.extend(too_long.iter().map(said));
        let chosen = self.pairs.iter().zip(&kept).filter(|(_, kept)| !kept.is_empty());
        chosen.map(|(pair, kept)| pair.with(kept)).collect()
    }
}

/// What the counts of these arms do not contain. More than [`CALLS_MAX`] system calls are some, and so is one for each iteration.
pub(super) fn not_counted(record: &Record, arms: [usize; 2]) -> NotCounted {
    let rows = &record.rows;
    let counted = arms.iter().filter_map(|arm| record.header.plan.arms[*arm].counted.as_ref());
    let most = |it: &CountedIterations| {
        (CALLS_MAX * it.harness.map_or(1.0, length_factor)).min(it.n as f64 - 1.0)
    };
    let most = counted.map(most).fold(f64::INFINITY, f64::min);
    let n_calls = |at| rows.get(at, Metric::SystemCalls).map(|n| n as f64);
    let makes_calls = rows.measurements_of(&arms).any(|at| n_calls(at).is_none_or(|n| n > most));
    let sum =
        |metric| -> u64 { rows.measurements_of(&arms).filter_map(|at| rows.get(at, metric)).sum() };
    let (counted, left_out) = (sum(Metric::Instructions) as f64, sum(Metric::LeftOut) as f64);
    NotCounted { makes_calls, left_out_share: left_out / (counted + left_out).max(1.0) }
}

/// Length of the iterations of a counted process, ns, on average.
pub(super) fn mean_counted_ns(harness: Harness, is_sum: bool) -> f64 {
    counted_ns(harness, is_sum) * mean_share(harness)
}

/// Expected time of a process whose instructions are counted, ns.
pub(super) fn process_ns(counter: &InstructionCounter, program_ns: f64, iterations_ns: f64) -> f64 {
    match counter {
        InstructionCounter::Pmu => program_ns + iterations_ns,
        InstructionCounter::Valgrind { .. } => {
            // Both processes of a count run at the same time.
            let at_once = std::thread::available_parallelism().map_or(1, |n| n.get().min(2));
            (START_NS + SLOWER * (program_ns + iterations_ns)) / at_once as f64
        }
    }
}
