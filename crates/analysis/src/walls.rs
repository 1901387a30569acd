//! Values of a session by arm and block, and pairs of two arms.

use stats::Invalid;
use stats::relabel::Pairs;

use record::plan::Plan;
use record::{Record, Row};

#[derive(Clone, Copy, Debug)]
struct MeasuredRun {
    step: u32,
    /// The compared cost: a value, or its inverse if higher is better.
    value: f64,
    wall_ns: u64,
}

type BlockRun = Option<MeasuredRun>;

/// Wall times by arm, then by block.
#[derive(Debug)]
pub struct Walls {
    arms: Vec<Vec<BlockRun>>,
    /// Programs that are compared by all their benchmarks together.
    programs: Option<Programs>,
    started_ns: Option<u64>,
    /// End of the last run of each block, ns.
    ended_ns: Vec<u64>,
}

impl Walls {
    pub fn new(plan: &Plan) -> Self {
        Self {
            arms: vec![Vec::new(); plan.arms.len()],
            programs: plan.by_geometric_mean.then(|| Programs::of(plan)),
            started_ns: None,
            ended_ns: Vec::new(),
        }
    }

    pub fn of(record: &Record) -> Self {
        let mut walls = Self::new(&record.header.plan);
        let rows = &record.rows;
        for index in rows.measurements() {
            let (Some(block), Some(value)) = (rows.block(index), rows.cost(index)) else {
                continue;
            };
            // Blocks come in order. A damaged record may skip some, but not more than it has rows.
            if block < rows.len() {
                let wall_ns = rows.span_ns(index).unwrap_or(0);
                let run = MeasuredRun { step: rows.step(index), value, wall_ns };
                walls.put(rows.arm(index), block, run, rows.started_ns(index));
            }
        }
        walls
    }

    /// Adds a row. Warm-ups, timed-out and failed runs do not count.
    pub fn add(&mut self, row: &Row) {
        let block = row.block.filter(|_| row.is_time());
        if let (Some(block), Some(value)) = (block, row.cost()) {
            let wall_ns = row.span_ns().unwrap_or(0);
            let run = MeasuredRun { step: row.step, value, wall_ns };
            self.put(row.arm as usize, block as usize, run, row.started_ns);
        }
    }

    fn put(&mut self, arm: usize, block: usize, run: MeasuredRun, started_ns: u64) {
        let wall_ns = run.wall_ns;
        set(&mut self.arms[arm], block, run);
        if let Some(programs) = &mut self.programs {
            programs.take(&self.arms, arm, block);
        }
        self.started_ns.get_or_insert(started_ns);
        let n_blocks = self.ended_ns.len().max(block + 1);
        self.ended_ns.resize(n_blocks, 0);
        self.ended_ns[block] = self.ended_ns[block].max(started_ns.saturating_add(wall_ns));
    }

    /// The runs of an arm by block. For an arm that stands for a program: all its benchmarks together.
    fn runs(&self, arm: usize) -> &[BlockRun] {
        let together = self.programs.as_ref().and_then(|programs| programs.runs.get(arm));
        together.unwrap_or(&self.arms[arm])
    }

    /// Time from the start of the first timed run to the end of the n-th pair's block, ns, with both times of a pair
    /// replaced by their geometric mean: a + b − 2 √(a b) = (√a − √b)².
    ///
    /// The sum of a pair's times depends on which arm ran at a slow moment; the geometric mean does not, whatever the
    /// arms' ratio. So no decision by this time depends on the coins.
    pub fn label_blind_ns(&self, old: usize, new: usize, n_pairs: usize) -> Option<u64> {
        let (mut last, mut excess_ns) = (None, 0.0);
        for (block, [old, new]) in self.complete(old, new).take(n_pairs) {
            last = Some(block);
            excess_ns += ((old.wall_ns as f64).sqrt() - (new.wall_ns as f64).sqrt()).powi(2);
        }
        let elapsed_ns = self.ended_ns[last?].saturating_sub(self.started_ns?);
        Some(elapsed_ns.saturating_sub(excess_ns as u64))
    }

    /// The blocks with a run of both, in order.
    fn complete(&self, old: usize, new: usize) -> impl Iterator<Item = (usize, [MeasuredRun; 2])> {
        let blocks = self.runs(old).iter().zip(self.runs(new)).enumerate();
        blocks.filter_map(|(block, (old, new))| Some((block, [(*old)?, (*new)?])))
    }

    /// New ÷ old in each block with both, in block order, without ratios that are not finite.
    pub fn ratios(&self, old: usize, new: usize) -> Vec<(usize, f64)> {
        let all = self.complete(old, new).map(|(block, [old, new])| (block, new.value / old.value));
        all.filter(|(_, ratio)| ratio.is_finite()).collect()
    }

    pub fn n_pairs(&self, old: usize, new: usize) -> usize {
        self.complete(old, new).count()
    }

    /// Whether an arm has at least `n_min` values, all equal within a share.
    pub fn is_constant(&self, arm: usize, n_min: usize, within: f64) -> bool {
        let values: Vec<f64> = self.runs(arm).iter().flatten().map(|run| run.value).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        values.len() >= n_min && least > 0.0 && most / least - 1.0 <= within
    }

    /// Whether an arm, or a benchmark of the program that it stands for, has a value up to a limit.
    pub fn has_up_to(&self, arm: usize, most: f64) -> bool {
        let of_program = self.programs.as_ref().and_then(|programs| programs.arms.get(arm));
        let mut arms = of_program.map_or(std::slice::from_ref(&arm), Vec::as_slice).iter();
        arms.any(|&arm| self.arms[arm].iter().flatten().any(|run| run.value <= most))
    }

    /// The pairs of two arms, in block order.
    pub fn slots(&self, old: usize, new: usize) -> Slots {
        let mut slots = Slots::default();
        for (_, [old, new]) in self.complete(old, new) {
            slots.push((old.step as usize, old.value), (new.step as usize, new.value));
        }
        slots
    }
}

fn set(runs: &mut Vec<BlockRun>, block: usize, run: MeasuredRun) {
    runs.resize(runs.len().max(block + 1), None);
    runs[block] = Some(run);
}

/// Programs with several benchmarks. The value of a block is the geometric mean of the program's benchmarks.
///
/// If both programs are the same, their order is a fair coin in each benchmark. Swapping both programs in all
/// benchmarks of a block turns all of its coins, and keeps which runs came together with the first run of the first
/// benchmark. So the two means of a block are a pair like any other, in the order of that benchmark.
#[derive(Debug)]
struct Programs {
    arms: Vec<Vec<usize>>,
    /// The geometric means of each program, by block.
    runs: Vec<Vec<BlockRun>>,
}

impl Programs {
    fn of(plan: &Plan) -> Self {
        let mut arms: Vec<Vec<usize>> = Vec::new();
        for arm in 0..plan.arms.len() {
            let program = plan.leader(arm);
            arms.resize(arms.len().max(program + 1), Vec::new());
            arms[program].push(arm);
        }
        Self { runs: vec![Vec::new(); arms.len()], arms }
    }

    /// Adds the run of an arm. A block counts once all benchmarks of the program have a run.
    fn take(&mut self, all: &[Vec<BlockRun>], arm: usize, block: usize) {
        let found = self.arms.iter().position(|arms| arms.contains(&arm));
        let Some(program) = found else { return };
        let run = |arm: &usize| all[*arm].get(block).copied().flatten();
        let runs: Option<Vec<MeasuredRun>> = self.arms[program].iter().map(run).collect();
        if let Some(runs) = runs {
            let logs = runs.iter().map(|run| run.value.ln()).sum::<f64>();
            let value = (logs / runs.len() as f64).exp();
            let wall_ns = runs.iter().map(|run| run.wall_ns).sum();
            set(&mut self.runs[program], block, MeasuredRun { value, wall_ns, ..runs[0] });
        }
    }
}

/// Both runs of each complete pair, in the order in which they ran.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub(super) slot1: Vec<f64>,
    pub(super) slot2: Vec<f64>,
    pub(super) slot1_is_new: Vec<bool>,
}

impl Slots {
    pub fn len(&self) -> usize {
        self.slot1.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slot1.is_empty()
    }

    /// Adds both runs of a pair, each with its place in the order of the runs.
    pub fn push(&mut self, old: (usize, f64), new: (usize, f64)) {
        let is_new_first = new.0 < old.0;
        let (first, second) = if is_new_first { (new, old) } else { (old, new) };
        self.slot1.push(first.1);
        self.slot2.push(second.1);
        self.slot1_is_new.push(is_new_first);
    }

    /// Appends the pairs of another session.
    pub fn append(&mut self, other: &Self) {
        self.slot1.extend(&other.slot1);
        self.slot2.extend(&other.slot2);
        self.slot1_is_new.extend(&other.slot1_is_new);
    }

    /// The runs of the old and of the new arm.
    pub fn by_arm(&self) -> [Vec<f64>; 2] {
        let slots = self.slot1.iter().zip(&self.slot2).zip(&self.slot1_is_new);
        let arms = slots.map(
            |((&first, &second), &is_new_first)| {
                if is_new_first { (second, first) } else { (first, second) }
            },
        );
        let (old, new) = arms.unzip();
        [old, new]
    }

    /// Logarithm of new ÷ old for each pair.
    pub fn log_ratios(&self) -> Vec<f64> {
        let [old, new] = self.by_arm();
        new.iter().zip(old).map(|(new, old)| (new / old).ln()).collect()
    }

    pub fn skip(&self, n: usize) -> Self {
        self.pick((n..self.len()).collect())
    }

    pub fn pick(&self, indices: Vec<usize>) -> Self {
        Self {
            slot1: indices.iter().map(|&pair| self.slot1[pair]).collect(),
            slot2: indices.iter().map(|&pair| self.slot2[pair]).collect(),
            slot1_is_new: indices.iter().map(|&pair| self.slot1_is_new[pair]).collect(),
        }
    }

    /// The pairs as a test needs them. Errors: there is no pair, or a time is zero.
    pub fn pairs(&self) -> Result<Pairs, Invalid> {
        Pairs::new(&self.slot1, &self.slot2, &self.slot1_is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::metric::Metric;
    use record::fixture::record;
    use record::plan::{Arm, Role};

    #[test]
    fn a_program_has_the_geometric_mean_of_its_benchmarks() {
        let mut plan = record(&["a", "b"]).header.plan;
        let arm = |benchmark: &str| Arm {
            benchmark: Some(benchmark.into()),
            ..Arm::bare("p", Role::Candidate)
        };
        plan.arms = vec![arm("a"), arm("a"), arm("b"), arm("b")];
        plan.by_geometric_mean = true;
        assert_eq!(plan.compared(), [1]);
        let mut walls = Walls::new(&plan);
        let mut add = |step: u32, arm: u32, block: u32, wall_ns: u64| {
            let mut row = Row::new(step, arm, Some(block), u64::from(step) * 1000);
            row.set(Metric::WallNs, Some(wall_ns));
            walls.add(&row);
        };
        // The new program first in both benchmarks of the first block, and in one of the second.
        for (step, arm, wall_ns) in [(0, 1, 200), (1, 0, 100), (2, 3, 800), (3, 2, 100)] {
            add(step, arm, 0, wall_ns);
        }
        for (step, arm, wall_ns) in [(4, 0, 100), (5, 3, 900), (6, 1, 100)] {
            add(step, arm, 1, wall_ns);
        }
        // The second block lacks a run.
        assert_eq!(walls.n_pairs(0, 1), 1);
        let slots = walls.slots(0, 1);
        assert_eq!(slots.slot1_is_new, [true]);
        assert!((slots.slot1[0] - 400.0).abs() < 1e-9, "{slots:?}");
        assert!((slots.slot2[0] - 100.0).abs() < 1e-9, "{slots:?}");
        // From 0 to 3.1 us; (sqrt(1000) - sqrt(200))^2 is 305.57.
        assert_eq!(walls.label_blind_ns(0, 1, 1), Some(3100 - 305));
        assert!((walls.ratios(0, 1)[0].1 - 4.0).abs() < 1e-9);
    }
}
