//! The time of a program, or the difference of two, by function. The parts add up to the whole. docs/why.md explains
//! the test.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::Serialize;
use stats::max_t::{JointIntervals, PairedDifferences};

use crate::profile::columns::{ArmColumn, BlockRuns, TimeOf, estimates, sampled_ns};
use crate::profile::matching::{Guess, matched};
use crate::profile::saved::{FunctionOrigin, Profile, ProfiledRun};
use crate::profile::tallies::{N_LABELINGS, Tally, tallies};

/// Fewest blocks: with fewer, the smallest p-value is above the usual error rate of 1 %.
pub const BLOCKS_MIN: usize = 8;
/// Fewest blocks with samples and without, for an estimate of the cost.
const COST_BLOCKS_MIN: usize = 3;
/// Standard errors of a 99 % interval of the cost.
const COST_ERRORS: f64 = 2.576;

/// Where the time goes, or where the difference is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Breakdown {
    /// Names of the arms; the first is the reference.
    pub arms: Vec<String>,
    /// Error rate: the chance that any function is named falsely, or that any interval misses.
    pub alpha: f64,
    /// Blocks behind the numbers.
    pub n_blocks: usize,
    /// Whole blocks that were measured: with those that show what samples cost, counted events, or lost samples.
    pub n_measured_blocks: usize,
    /// Blocks that were left out because samples were lost.
    pub n_lost_blocks: usize,
    /// Mean CPU time between two samples, ns.
    pub period_ns: u64,
    /// Whether the kernel was sampled too.
    pub has_kernel: bool,
    /// Whether call chains are whole, so that times with callees are known.
    pub has_chains: bool,
    /// Number of functions with enough samples for the test.
    pub n_functions: usize,
    /// Wall time.
    pub wall: TimePart,
    /// Wall time without the part in which the runs were ready and other programs had the CPU. This is compared.
    /// Without evidence on that part it is the wall time.
    pub clean: TimePart,
    /// CPU time.
    pub cpu: TimePart,
    /// Functions, by their own time. With two arms those that differ, the largest difference first; with one all, the
    /// largest first.
    pub functions: Vec<FunctionPart>,
    /// Functions with what they call. With two arms, those that differ.
    pub with_callees: Vec<FunctionPart>,
    /// The other parts. With [`Breakdown::functions`] they add up to the wall time, without [`PartKind::Stalled`] to the
    /// clean time.
    pub parts: Vec<TimePart>,
    /// Time per run that would just be seen in one arm if the function takes hardly any in the other, ns.
    pub visible_ns: Option<f64>,
    /// CPU time with samples ÷ without, minus 1, and the half width of its 99 % interval.
    pub cost: Option<[f64; 2]>,
    /// Counts of a run.
    pub counts: Vec<CountPart>,
    /// Blocks in which all page faults and, where the kernel permits it, all system calls were counted with their functions.
    pub n_counted_blocks: usize,
    /// Whether system calls were counted.
    pub counts_system_calls: bool,
    /// Counts by function and in all. With two arms, those that differ.
    pub tallies: Vec<Tally>,
    /// Functions that are taken for one.
    pub guesses: Vec<Guess>,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The whole wall time.
    Wall,
    /// The wall time without the part that other programs took.
    Clean,
    /// The whole CPU time.
    Cpu,
    /// A function.
    Function,
    /// All functions that are not in the list.
    OtherFunctions,
    /// The kernel, without the functions in the list.
    OtherKernel,
    /// On the CPU, without a sample.
    NotSampled,
    /// Ready, while other programs had the CPU.
    Stalled,
    /// Asleep.
    Sleeping,
    /// Off the CPU, for whatever reason.
    OffCpu,
    /// Off the CPU, less the time in which several tasks ran at once.
    Overlap,
}

/// A part of the time of a run: means over the blocks, ns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimePart {
    /// The part.
    pub kind: PartKind,
    /// Mean of each arm.
    pub means_ns: Vec<f64>,
    /// Second arm minus first; with one arm, its time.
    pub estimate_ns: f64,
    /// Half of the width of the estimate's interval. All intervals hold together.
    pub half_width_ns: f64,
}

/// A function.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FunctionPart {
    /// Name of the function.
    pub name: String,
    /// File of the function.
    pub file: String,
    /// The kind of code.
    pub origin: FunctionOrigin,
    /// File and line with most samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Bytes of code in each arm, 0 if it was not seen; empty if nothing is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_bytes: Vec<u64>,
    /// The arm whose programs have no function of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_in: Option<usize>,
    /// p-value, adjusted for the number of functions; `None` with one arm.
    pub p: Option<f64>,
    /// Time in the function.
    #[serde(flatten)]
    pub time: TimePart,
}

/// A count per run, as the mean of each arm.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountPart {
    /// The count, as the record names it.
    pub name: &'static str,
    /// Mean of each arm.
    pub means: Vec<f64>,
    /// Whether the interval of second arm minus first excludes 0.
    pub is_different: bool,
}

impl TimePart {
    pub fn is_different(&self) -> bool {
        self.estimate_ns.abs() > self.half_width_ns
    }
}

/// Number of complete blocks with samples, and of those with lost samples.
pub fn n_sampled_blocks(profile: &Profile) -> (usize, usize) {
    let blocks = BlockRuns::of(profile);
    (blocks.n_blocks(), blocks.n_lost)
}

/// Breaks the time of a profile down. Errors: there are too few complete blocks.
pub fn breakdown(profile: &Profile) -> Result<Breakdown> {
    let matched = matched(profile);
    let (profile, guesses) = match &matched {
        Some((matched, guesses)) => (matched, guesses.clone()),
        None => (profile, Vec::new()),
    };
    let blocks = BlockRuns::of(profile);
    let n_blocks = blocks.n_blocks();
    ensure!(
        n_blocks >= BLOCKS_MIN,
        "{n_blocks} blocks with samples are too few; {BLOCKS_MIN} are needed. Give it more time"
    );
    let columns = blocks.functions();
    let is_pair = profile.arms.len() > 1;
    let mut all: Vec<Vec<f64>> = columns.iter().map(|(_, column)| estimates(column)).collect();
    let p = match is_pair && !all.is_empty() {
        true => PairedDifferences::new(all.clone())?.adjusted_p(N_LABELINGS, profile.seed),
        false => Vec::new(),
    };
    let is_named = |at: &usize| p.get(*at).is_none_or(|&p| p <= profile.alpha);
    let shown: Vec<usize> = (0..columns.len()).filter(is_named).collect();
    let own = |at: &usize| match columns[*at].0 {
        TimeOf::Own(function) | TimeOf::Wait(function) => Some(function),
        TimeOf::WithCallees(_) => None,
    };
    let named: HashSet<u32> = shown.iter().filter_map(own).collect();
    let parts = other_parts(&blocks, &named);
    let counts = counts(&blocks);
    all.extend(parts.iter().map(|(_, column)| estimates(column)));
    let intervals =
        PairedDifferences::new(all)?.intervals(profile.alpha, N_LABELINGS, profile.seed)?;
    let part = |at: usize, kind: PartKind, column: &ArmColumn| TimePart {
        kind,
        means_ns: column.iter().map(|values| mean(values)).collect(),
        estimate_ns: intervals.means[at],
        half_width_ns: intervals.half_widths[at],
    };
    let functions = shown.iter().map(|&at| {
        let (of, column) = &columns[at];
        (*of, p.get(at).copied(), part(at, PartKind::Function, column))
    });
    let [functions, with_callees] = listed(profile, functions);
    let parts = parts.iter().enumerate();
    let mut parts = parts.map(|(at, (kind, column))| part(columns.len() + at, *kind, column));
    let (Some(wall), Some(clean), Some(cpu)) = (parts.next(), parts.next(), parts.next()) else {
        unreachable!("these parts are always there")
    };
    Ok(Breakdown {
        arms: profile.arms.clone(),
        alpha: profile.alpha,
        n_blocks,
        n_measured_blocks: blocks.n_whole,
        n_lost_blocks: blocks.n_lost,
        period_ns: profile.period_ns,
        has_kernel: profile.has_kernel,
        has_chains: blocks.has_chains(),
        n_functions: columns.iter().filter(|it| matches!(it.0, TimeOf::Own(_))).count(),
        wall,
        clean,
        cpu,
        functions,
        with_callees,
        parts: parts.collect(),
        visible_ns: is_pair.then(|| visible_ns(&intervals, profile.period_ns, n_blocks)),
        cost: cost(&blocks),
        counts,
        n_counted_blocks: blocks.counted.len(),
        counts_system_calls: profile.counts_system_calls,
        tallies: tallies(&blocks, BLOCKS_MIN)?,
        guesses,
    })
}

/// The functions by themselves and with callees, the largest change first.
fn listed(
    profile: &Profile,
    functions: impl Iterator<Item = (TimeOf, Option<f64>, TimePart)>,
) -> [Vec<FunctionPart>; 2] {
    let mut lists = [Vec::new(), Vec::new()];
    for (of, p, time) in functions {
        let (list, number) = match of {
            TimeOf::Own(number) | TimeOf::Wait(number) => (0, number),
            TimeOf::WithCallees(number) => (1, number),
        };
        let about = &profile.functions[number as usize];
        lists[list].push(FunctionPart {
            name: about.name.clone(),
            file: about.file.clone(),
            origin: about.origin,
            line: about.line.clone(),
            code_bytes: about.code_bytes.clone(),
            missing_in: about.missing_in.map(|arm| arm as usize),
            p,
            time,
        });
    }
    for list in &mut lists {
        list.sort_by(|a, b| b.time.estimate_ns.abs().total_cmp(&a.time.estimate_ns.abs()));
    }
    lists
}

/// The parts of the wall time outside the listed functions: the whole, the CPU time, then the parts of the rest.
fn other_parts(blocks: &BlockRuns<'_>, named: &HashSet<u32>) -> Vec<(PartKind, ArmColumn)> {
    let wall = |run: &ProfiledRun| run.wall_ns as f64;
    let cpu = |run: &ProfiledRun| run.cpu_ns as f64;
    let stalled = |run: &ProfiledRun| run.stalled_ns.unwrap_or(0) as f64;
    let mut parts = vec![
        (PartKind::Wall, blocks.column(wall)),
        (PartKind::Clean, blocks.column(|run| wall(run) - stalled(run))),
        (PartKind::Cpu, blocks.column(cpu)),
        (PartKind::OtherFunctions, blocks.column(|run| blocks.rest(run, false, named))),
    ];
    if blocks.profile.has_kernel {
        let rest = blocks.column(|run| blocks.rest(run, true, named));
        parts.push((PartKind::OtherKernel, rest));
    }
    parts.push((PartKind::NotSampled, blocks.column(|run| cpu(run) - sampled_ns(run))));
    let mut runs = blocks.sampled.iter().flatten();
    // Several tasks at once use more CPU time than wall time.
    let is_known = runs.all(|run| run.stalled_ns.is_some());
    let is_parallel = mean(&blocks.column(cpu).concat()) > mean(&blocks.column(wall).concat());
    let waited = |run: &ProfiledRun| -> f64 {
        let waits = run.waits.iter().flatten().filter(|(reason, _)| named.contains(reason));
        waits.map(|(_, ns)| *ns as f64).sum()
    };
    let off = |run: &ProfiledRun| wall(run) - cpu(run) - stalled(run) - waited(run);
    let kind = match (is_parallel, is_known) {
        (true, _) => PartKind::Overlap,
        (false, true) => PartKind::Sleeping,
        (false, false) => PartKind::OffCpu,
    };
    parts.push((kind, blocks.column(off)));
    if is_known {
        parts.push((PartKind::Stalled, blocks.column(stalled)));
    }
    parts
}

/// The difference that is just beyond chance: a count of n samples has the standard deviation √n, so `n / sqrt(n)` is
/// the critical value.
fn visible_ns(intervals: &JointIntervals, period_ns: u64, n_blocks: usize) -> f64 {
    intervals.critical * intervals.critical * period_ns as f64 / n_blocks as f64
}

/// CPU time of blocks with samples ÷ without, minus 1, with the half width of its interval.
fn cost(blocks: &BlockRuns<'_>) -> Option<[f64; 2]> {
    let times = |blocks: &[Vec<&ProfiledRun>]| -> Vec<f64> {
        let sum = |runs: &Vec<&ProfiledRun>| runs.iter().map(|run| run.cpu_ns as f64).sum();
        blocks.iter().map(sum).collect()
    };
    let (with, without) = (times(&blocks.sampled), times(&blocks.unsampled));
    if with.len().min(without.len()) < COST_BLOCKS_MIN {
        return None;
    }
    let error = |times: &[f64]| {
        let sd = stats::sample_sd(times).ok()?;
        Some((sd / mean(times)).powi(2) / times.len() as f64)
    };
    let ratio = mean(&with) / mean(&without);
    let half_width = COST_ERRORS * ratio * (error(&with)? + error(&without)?).sqrt();
    ratio.is_finite().then_some([ratio - 1.0, half_width])
}

fn counts(blocks: &BlockRuns<'_>) -> Vec<CountPart> {
    let profile = blocks.profile;
    let count = |name, value: &dyn Fn(&ProfiledRun) -> f64| {
        let column = blocks.column(value);
        let is_different = column.len() > 1 && {
            let one = PairedDifferences::new(vec![estimates(&column)]);
            one.is_ok_and(|it| it.adjusted_p(N_LABELINGS, profile.seed)[0] <= profile.alpha)
        };
        CountPart { name, means: column.iter().map(|it| mean(it)).collect(), is_different }
    };
    let mut counts = vec![
        count("page faults", &|run| run.faults as f64),
        count("context switches", &|run| run.switches as f64),
    ];
    let mut of_processor = |name, value: fn(&ProfiledRun) -> Option<u64>| {
        if blocks.sampled.iter().flatten().all(|run| value(run).is_some()) {
            counts.push(count(name, &|run| value(run).unwrap_or(0) as f64));
        }
    };
    of_processor("instructions", |run| run.instructions);
    of_processor("branch misses", |run| run.branch_misses);
    of_processor("cache misses", |run| run.cache_misses);
    counts
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
#[cfg(test)]
mod tests;
