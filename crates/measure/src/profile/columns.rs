//! The time of each function and each other part in every block, as columns of numbers.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::profile::saved::{FunctionOrigin, Profile, ProfiledRun};

/// Most rows of the test. With more blocks, consecutive ones are merged under one label, so the test stays exact.
const ROWS_MAX: usize = 150;
/// Fewest samples of a function that can be told from noise.
pub const SAMPLES_MIN: u64 = 10;
/// A function with this share of all samples, callees included, is the whole program.
const WHOLE_SHARE: f64 = 0.95;
/// Call chains are used if at least this share is whole.
const WHOLE_CHAINS_MIN: f64 = 0.9;

/// Complete blocks: the run of each arm.
pub struct BlockRuns<'a> {
    pub profile: &'a Profile,
    /// Sampled blocks, in order.
    pub sampled: Vec<Vec<&'a ProfiledRun>>,
    pub unsampled: Vec<Vec<&'a ProfiledRun>>,
    /// Blocks whose events were all counted.
    pub counted: Vec<Vec<&'a ProfiledRun>>,
    /// Number of blocks in which samples were lost.
    pub n_lost: usize,
    pub n_whole: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeOf {
    Own(u32),
    /// Time in the function and its callees.
    WithCallees(u32),
    Wait(u32),
}

/// Values by arm and row.
pub type ArmColumn = Vec<Vec<f64>>;

impl<'a> BlockRuns<'a> {
    pub fn of(profile: &'a Profile) -> Self {
        let mut blocks: BTreeMap<u32, Vec<Option<&ProfiledRun>>> = BTreeMap::new();
        for run in &profile.runs {
            let runs = blocks.entry(run.block).or_insert_with(|| vec![None; profile.arms.len()]);
            runs[run.arm as usize] = Some(run);
        }
        let (sampled, unsampled, counted) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Self { profile, sampled, unsampled, counted, n_lost: 0, n_whole: 0 };
        for runs in blocks.into_values() {
            let Some(runs) = runs.into_iter().collect::<Option<Vec<&ProfiledRun>>>() else {
                continue;
            };
            found.n_whole += 1;
            if runs.iter().any(|run| run.events.is_some()) {
                let is_whole = |run: &&ProfiledRun| {
                    run.n_lost == 0 && run.events.as_ref().is_some_and(|it| it.n_lost == 0)
                };
                found.counted.extend(runs.iter().all(is_whole).then_some(runs));
            } else if runs.iter().all(|run| run.period_ns == 0) {
                found.unsampled.push(runs);
            } else if runs.iter().any(|run| run.n_lost > 0 || run.period_ns == 0) {
                found.n_lost += 1;
            } else {
                found.sampled.push(runs);
            }
        }
        found
    }

    /// Number of blocks in a row, and number of rows.
    fn shape(&self) -> (usize, usize) {
        let n_together = self.sampled.len().div_ceil(ROWS_MAX).max(1);
        (n_together, self.sampled.len() / n_together)
    }

    pub fn n_blocks(&self) -> usize {
        let (n_together, n_rows) = self.shape();
        n_together * n_rows
    }

    /// A column of `value` per run, as means over the blocks of each row.
    pub fn column(&self, value: impl Fn(&ProfiledRun) -> f64) -> ArmColumn {
        self.columns(1, |run, sums| sums[0] += value(run)).remove(0)
    }

    /// `n` columns, to which `add` adds a run's values, as means over the blocks of each row.
    pub fn columns(&self, n: usize, add: impl Fn(&ProfiledRun, &mut [f64])) -> Vec<ArmColumn> {
        let (n_together, n_rows) = self.shape();
        let mut columns = vec![vec![Vec::with_capacity(n_rows); self.profile.arms.len()]; n];
        for blocks in self.sampled.chunks_exact(n_together) {
            for arm in 0..self.profile.arms.len() {
                let mut sums = vec![0.0; n];
                blocks.iter().for_each(|runs| add(runs[arm], &mut sums));
                for (column, sum) in columns.iter_mut().zip(&sums) {
                    column[arm].push(sum / n_together as f64);
                }
            }
        }
        columns
    }

    /// Whether call chains reach the start of the program, as they do with frame pointers.
    pub fn has_chains(&self) -> bool {
        let profile = self.profile;
        profile.n_samples > 0
            && profile.n_whole_chains as f64 >= WHOLE_CHAINS_MIN * profile.n_samples as f64
    }

    /// The columns of all functions with enough samples. The sum over both arms counts, so the choice does not depend
    /// on their labels.
    pub fn functions(&self) -> Vec<(TimeOf, ArmColumn)> {
        let n_blocks = self.n_blocks();
        let used = || self.sampled[..n_blocks].iter().flatten();
        let (mut own, mut with_callees, mut n_all) = (BTreeMap::new(), BTreeMap::new(), 0);
        for &(stack, n) in used().flat_map(|run| &run.samples) {
            n_all += u64::from(n);
            *own.entry(self.leaf(stack)).or_insert(0) += u64::from(n);
            for function in self.all_of(stack) {
                *with_callees.entry(function).or_insert(0) += u64::from(n);
            }
        }
        let has_enough = |n: &u64| *n >= SAMPLES_MIN;
        let mut quantities: Vec<TimeOf> =
            own.iter().filter(|(_, n)| has_enough(n)).map(|(&it, _)| TimeOf::Own(it)).collect();
        let has_chains = self.has_chains();
        // A function that calls nothing has one column.
        let calls = |(function, n): &(&u32, &u64)| own.get(*function) != Some(n);
        let is_part = |(_, n): &(&u32, &u64)| (**n as f64) < WHOLE_SHARE * n_all as f64;
        // The kernel's chains are always whole.
        let origin = |function: u32| self.profile.functions[function as usize].origin;
        let is_known = |function: u32| has_chains || origin(function) == FunctionOrigin::Entry;
        let functions = with_callees
            .iter()
            .filter(|it| has_enough(it.1) && is_known(*it.0) && calls(it) && is_part(it));
        quantities.extend(functions.map(|(&it, _)| TimeOf::WithCallees(it)));
        quantities.extend(self.waits());
        let columns = self.columns(quantities.len(), self.times_of(&quantities));
        quantities.into_iter().zip(columns).collect()
    }

    /// The reasons of the runs' waits, if all were watched and the reason occurred in enough runs.
    fn waits(&self) -> Vec<TimeOf> {
        let used = || self.sampled[..self.n_blocks()].iter().flatten();
        if used().any(|run| run.waits.is_none()) {
            return Vec::new();
        }
        let mut n_runs: BTreeMap<u32, u64> = BTreeMap::new();
        for &(reason, _) in used().flat_map(|run| run.waits.iter().flatten()) {
            *n_runs.entry(reason).or_default() += 1;
        }
        let reasons = n_runs.into_iter().filter(|(_, n)| *n >= SAMPLES_MIN);
        reasons.map(|(reason, _)| TimeOf::Wait(reason)).collect()
    }

    /// Adds the time of each quantity in a run, ns.
    fn times_of(&self, quantities: &[TimeOf]) -> impl Fn(&ProfiledRun, &mut [f64]) {
        let place: HashMap<TimeOf, usize> =
            quantities.iter().enumerate().map(|(at, &it)| (it, at)).collect();
        // Looks up each chain once, not once a run.
        let of_stack: Vec<Vec<usize>> = (0..self.profile.stacks.len() as u32)
            .map(|stack| {
                let with_callees = self.all_of(stack).into_iter().map(TimeOf::WithCallees);
                let all = with_callees.chain([TimeOf::Own(self.leaf(stack))]);
                all.filter_map(|it| place.get(&it).copied()).collect()
            })
            .collect();
        move |run, sums| {
            for &(stack, n) in &run.samples {
                for &at in &of_stack[stack as usize] {
                    sums[at] += f64::from(n) * run.period_ns as f64;
                }
            }
            for &(reason, ns) in run.waits.iter().flatten() {
                if let Some(&at) = place.get(&TimeOf::Wait(reason)) {
                    sums[at] += ns as f64;
                }
            }
        }
    }

    /// Time of all functions of this origin that are not named, ns.
    pub fn rest(&self, run: &ProfiledRun, is_kernel: bool, named: &HashSet<u32>) -> f64 {
        let is_in = |stack: u32| {
            let leaf = self.leaf(stack);
            let origin = self.profile.functions[leaf as usize].origin;
            (origin == FunctionOrigin::Kernel) == is_kernel && !named.contains(&leaf)
        };
        let n = run.samples.iter().filter(|(stack, _)| is_in(*stack)).map(|(_, n)| u64::from(*n));
        n.sum::<u64>() as f64 * run.period_ns as f64
    }

    /// The innermost function of a chain. A profile has no empty chain.
    pub fn leaf(&self, stack: u32) -> u32 {
        self.profile.stacks[stack as usize].last().copied().unwrap_or_default()
    }

    fn all_of(&self, stack: u32) -> HashSet<u32> {
        self.profile.stacks[stack as usize].iter().copied().collect()
    }
}

/// The difference in each block; with one program, its value.
pub fn estimates(column: &ArmColumn) -> Vec<f64> {
    match &column[..] {
        [before, after, ..] => after.iter().zip(before).map(|(b, a)| b - a).collect(),
        [only] => only.clone(),
        [] => Vec::new(),
    }
}

/// All samples of a run as CPU time, ns.
pub fn sampled_ns(run: &ProfiledRun) -> f64 {
    let n: u64 = run.samples.iter().map(|(_, n)| u64::from(*n)).sum();
    n as f64 * run.period_ns as f64
}
