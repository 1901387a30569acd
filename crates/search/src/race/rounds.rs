//! The times of a finished round.

use analysis::may_have_steps;
use analysis::walls::Slots;
use model::values::metric::Metric;
use record::Record;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedRun {
    /// Place in the order of the runs.
    pub place: usize,
    pub cost: f64,
}

impl PlacedRun {
    /// The geometric mean of an arm's benchmarks in one block, at the place of the first. That one's coin stands for
    /// the block, as in a session of `compare` (`analysis::walls`).
    fn mean_of(runs: &[Self]) -> Self {
        if let [only] = runs {
            return *only;
        }
        let logs: f64 = runs.iter().map(|run| run.cost.ln()).sum();
        Self { cost: (logs / runs.len() as f64).exp(), ..runs[0] }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundTimes {
    pub arms: Vec<usize>,
    /// Block by block, the runs in the order of `arms`.
    pub blocks: Vec<Vec<PlacedRun>>,
    /// Mean wall time of a run of each arm, s.
    pub run_s: Vec<f64>,
    /// Time of the round, warm-ups and hooks included, s.
    pub seconds: f64,
    /// Number of runs, warm-ups included. On a suite, a run is one of each benchmark.
    pub n_runs: usize,
    /// Whether the costs are times that may have been read in steps.
    pub has_steps: bool,
}

impl RoundTimes {
    /// The blocks of a record of `arms` in which each kept one has a measurement. On a suite, the record has the arms once
    /// per benchmark, and an arm's cost is the geometric mean.
    pub fn of(
        record: &Record,
        arms: &[usize],
        is_kept: impl Fn(usize) -> bool,
        seconds: f64,
    ) -> Self {
        let rows = &record.rows;
        let kept: Vec<usize> = (0..arms.len()).filter(|&at| is_kept(arms[at])).collect();
        let n_benchmarks = (record.header.plan.arms.len() / arms.len()).max(1);
        let n_columns = kept.len() * n_benchmarks;
        let mut blocks: Vec<Vec<Option<PlacedRun>>> = Vec::new();
        let (mut wall_s, mut n_timed) = (vec![0.0; n_columns], vec![0_u32; n_columns]);
        for index in rows.measurements() {
            let (benchmark, arm) = (rows.arm(index) / arms.len(), rows.arm(index) % arms.len());
            let at = kept.iter().position(|&at| at == arm && benchmark < n_benchmarks);
            let (Some(at), Some(block), Some(cost)) = (at, rows.block(index), rows.cost(index))
            else {
                continue;
            };
            let column = at * n_benchmarks + benchmark;
            wall_s[column] += rows.get(index, Metric::WallNs).unwrap_or(0) as f64 / 1e9;
            n_timed[column] += 1;
            // A damaged record may skip blocks, but it has at most as many blocks as rows.
            if block < rows.len() && cost.is_finite() && cost > 0.0 {
                blocks.resize(blocks.len().max(block + 1), vec![None; n_columns]);
                blocks[block][column] = Some(PlacedRun { place: rows.step(index) as usize, cost });
            }
        }
        let means = wall_s.iter().zip(n_timed).map(|(sum, n)| sum / f64::from(n.max(1)));
        let means: Vec<f64> = means.collect();
        let whole = blocks.into_iter().filter_map(|runs| runs.into_iter().collect());
        let together =
            |runs: Vec<PlacedRun>| runs.chunks(n_benchmarks).map(PlacedRun::mean_of).collect();
        Self {
            arms: kept.iter().map(|&at| arms[at]).collect(),
            blocks: whole.map(together).collect(),
            run_s: means.chunks(n_benchmarks).map(|runs| runs.iter().sum()).collect(),
            seconds,
            n_runs: rows.len().div_ceil(n_benchmarks),
            has_steps: n_benchmarks == 1 && may_have_steps(record),
        }
    }

    /// The place of an arm among the round's.
    pub(super) fn column(&self, arm: usize) -> Option<usize> {
        self.arms.iter().position(|&other| other == arm)
    }

    pub(super) fn logs(&self, arm: usize) -> Option<Vec<f64>> {
        let column = self.column(arm)?;
        Some(self.blocks.iter().map(|runs| runs[column].cost.ln()).collect())
    }

    /// The logs of new ÷ old of two arms, block by block; empty if one is missing.
    pub(super) fn log_ratios(&self, old: usize, new: usize) -> Vec<f64> {
        match (self.logs(old), self.logs(new)) {
            (Some(old), Some(new)) => new.iter().zip(old).map(|(new, old)| new - old).collect(),
            _ => Vec::new(),
        }
    }

    /// The pairs of two arms, block by block; none if one is missing.
    pub(super) fn slots(&self, old: usize, new: usize) -> Slots {
        let mut slots = Slots::default();
        let (Some(old), Some(new)) = (self.column(old), self.column(new)) else { return slots };
        for runs in &self.blocks {
            let (old, new) = (runs[old], runs[new]);
            slots.push((old.place, old.cost), (new.place, new.cost));
        }
        slots
    }
}
