//! Values of a session by arm and block, and the pairs of two arms.

use stats::Invalid;
use stats::relabel::Pairs;

use crate::record::{Record, Row};
use crate::values::metric::Metric;

/// The measured run of an arm in one block.
#[derive(Clone, Copy, Debug)]
struct MeasuredRun {
    step: u32,
    /// The cost that is compared: a value, or the inverse of one that is better if higher.
    value: f64,
    wall_ns: u64,
}

type BlockRun = Option<MeasuredRun>;

/// Wall times by arm, then by block.
#[derive(Debug)]
pub struct Walls {
    arms: Vec<Vec<BlockRun>>,
    /// Start of the first timed run, ns.
    started_ns: Option<u64>,
    /// End of the last run of each block, ns.
    ended_ns: Vec<u64>,
}

impl Walls {
    /// Starts without rows.
    pub fn new(n_arms: usize) -> Self {
        Self { arms: vec![Vec::new(); n_arms], started_ns: None, ended_ns: Vec::new() }
    }

    /// The values of a record.
    pub fn of(record: &Record) -> Self {
        let mut walls = Self::new(record.header.plan.arms.len());
        let rows = &record.rows;
        for index in (0..rows.len()).filter(|&index| rows.is_measurement(index)) {
            let (Some(block), Some(value)) = (rows.block(index), rows.cost(index)) else {
                continue;
            };
            // Blocks come in order. A damaged record may skip some, but not more than it has rows.
            if block < rows.len() {
                let wall_ns = rows.get(index, Metric::WallNs).unwrap_or(0);
                let run = MeasuredRun { step: rows.step(index), value, wall_ns };
                walls.put(rows.arm(index), block, run, rows.started_ns(index));
            }
        }
        walls
    }

    /// Takes in a row; warm-ups, and runs that timed out or failed, do not count.
    pub fn add(&mut self, row: &Row) {
        let block = row.block.filter(|_| row.is_time());
        if let (Some(block), Some(value)) = (block, row.cost()) {
            let wall_ns = row.get(Metric::WallNs).unwrap_or(0);
            let run = MeasuredRun { step: row.step, value, wall_ns };
            self.put(row.arm as usize, block as usize, run, row.started_ns);
        }
    }

    fn put(&mut self, arm: usize, block: usize, run: MeasuredRun, started_ns: u64) {
        let wall_ns = run.wall_ns;
        let runs = &mut self.arms[arm];
        runs.resize(runs.len().max(block + 1), None);
        runs[block] = Some(run);
        self.started_ns.get_or_insert(started_ns);
        let n_blocks = self.ended_ns.len().max(block + 1);
        self.ended_ns.resize(n_blocks, 0);
        self.ended_ns[block] = self.ended_ns[block].max(started_ns.saturating_add(wall_ns));
    }

    /// Time from the start of the first timed run to the end of the n-th pair's block, ns, with the geometric mean of
    /// a pair's two times in place of each.
    ///
    /// The sum of the times of a pair depends on which arm ran first if one of them is slower at that moment; the
    /// geometric mean does not, whatever the ratio of the arms is. So nothing that this time decides depends on the
    /// coins. a + b − 2 √(a b) = (√a − √b)².
    pub fn label_blind_ns(&self, old: usize, new: usize, n_pairs: usize) -> Option<u64> {
        let in_pairs = self.arms[old].iter().zip(&self.arms[new]).enumerate();
        let blocks = in_pairs.filter_map(|(block, (old, new))| Some((block, (*old)?, (*new)?)));
        let (mut last, mut excess_ns) = (None, 0.0);
        for (block, old, new) in blocks.take(n_pairs) {
            last = Some(block);
            excess_ns += ((old.wall_ns as f64).sqrt() - (new.wall_ns as f64).sqrt()).powi(2);
        }
        let elapsed_ns = self.ended_ns[last?].saturating_sub(self.started_ns?);
        Some(elapsed_ns.saturating_sub(excess_ns as u64))
    }

    fn complete(&self, old: usize, new: usize) -> impl Iterator<Item = (MeasuredRun, MeasuredRun)> {
        self.arms[old].iter().zip(&self.arms[new]).filter_map(|(old, new)| old.zip(*new))
    }

    /// New ÷ old in each block with both, in the order of the blocks; ratios that are not finite are left out.
    pub fn ratios(&self, old: usize, new: usize) -> Vec<(usize, f64)> {
        let blocks = self.arms[old].iter().zip(&self.arms[new]).enumerate();
        let ratio = |(block, (old, new)): (usize, (&BlockRun, &BlockRun))| {
            let ratio = new.as_ref()?.value / old.as_ref()?.value;
            ratio.is_finite().then_some((block, ratio))
        };
        blocks.filter_map(ratio).collect()
    }

    /// Blocks in which both arms have a run.
    pub fn n_pairs(&self, old: usize, new: usize) -> usize {
        self.complete(old, new).count()
    }

    /// The runs of these two arms in pairs, in the order of the blocks.
    pub fn slots(&self, old: usize, new: usize) -> Slots {
        let mut slots = Slots { slot1: Vec::new(), slot2: Vec::new(), slot1_is_new: Vec::new() };
        for (old, new) in self.complete(old, new) {
            let is_new_first = new.step < old.step;
            let (first, second) = if is_new_first { (new, old) } else { (old, new) };
            slots.slot1.push(first.value);
            slots.slot2.push(second.value);
            slots.slot1_is_new.push(is_new_first);
        }
        slots
    }
}

/// Both runs of each complete pair, by the order in which they ran.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub(super) slot1: Vec<f64>,
    pub(super) slot2: Vec<f64>,
    pub(super) slot1_is_new: Vec<bool>,
}

impl Slots {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.slot1.len()
    }

    /// Appends the pairs of another session.
    pub fn append(&mut self, other: &Self) {
        self.slot1.extend(&other.slot1);
        self.slot2.extend(&other.slot2);
        self.slot1_is_new.extend(&other.slot1_is_new);
    }

    /// Logarithm of new ÷ old of each pair.
    pub fn log_ratios(&self) -> Vec<f64> {
        let slots = self.slot1.iter().zip(&self.slot2).zip(&self.slot1_is_new);
        let log_ratio = |((first, second), is_new_first): ((&f64, &f64), &bool)| {
            let (new, old) = if *is_new_first { (first, second) } else { (second, first) };
            (new / old).ln()
        };
        slots.map(log_ratio).collect()
    }

    /// The pairs without the first `n`.
    pub fn skip(&self, n: usize) -> Self {
        self.pick((n..self.len()).collect())
    }

    /// The pairs with these indices.
    pub fn pick(&self, indices: Vec<usize>) -> Self {
        Self {
            slot1: indices.iter().map(|&pair| self.slot1[pair]).collect(),
            slot2: indices.iter().map(|&pair| self.slot2[pair]).collect(),
            slot1_is_new: indices.iter().map(|&pair| self.slot1_is_new[pair]).collect(),
        }
    }

    /// The pairs in the form that a test needs.
    ///
    /// # Errors
    /// There is no pair, or a time is zero.
    pub fn pairs(&self) -> Result<Pairs, Invalid> {
        Pairs::new(&self.slot1, &self.slot2, &self.slot1_is_new)
    }
}
