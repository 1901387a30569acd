//! Values of a session by arm and block, and the pairs of two arms.

use stats::Invalid;
use stats::relabel::Pairs;

use crate::record::{Record, Row};
use crate::values::metric::Metric;

/// The measured run of an arm in one block: its step, and its value (for a command the wall time, ns).
type BlockRun = Option<(u32, f64)>;

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
            let (Some(block), Some(value)) = (rows.block(index), rows.headline(index)) else {
                continue;
            };
            // Blocks come in order. A damaged record may skip some, but not more than it has rows.
            if block < rows.len() {
                let wall_ns = rows.get(index, Metric::WallNs).unwrap_or(0);
                let times_ns = (rows.started_ns(index), wall_ns);
                walls.put(rows.arm(index), block, (rows.step(index), value), times_ns);
            }
        }
        walls
    }

    /// Takes in a row; warm-ups, and runs that timed out or failed, do not count.
    pub fn add(&mut self, row: &Row) {
        let block = row.block.filter(|_| row.is_time());
        if let (Some(block), Some(value)) = (block, row.headline()) {
            let times_ns = (row.started_ns, row.get(Metric::WallNs).unwrap_or(0));
            self.put(row.arm as usize, block as usize, (row.step, value), times_ns);
        }
    }

    /// `times_ns`: start and length of the run.
    fn put(&mut self, arm: usize, block: usize, run: (u32, f64), times_ns: (u64, u64)) {
        let (started_ns, wall_ns) = times_ns;
        let runs = &mut self.arms[arm];
        runs.resize(runs.len().max(block + 1), None);
        runs[block] = Some(run);
        self.started_ns.get_or_insert(started_ns);
        let n_blocks = self.ended_ns.len().max(block + 1);
        self.ended_ns.resize(n_blocks, 0);
        self.ended_ns[block] = self.ended_ns[block].max(started_ns.saturating_add(wall_ns));
    }

    /// Time from the start of the first timed run to the end of the n-th pair's block, ns.
    pub fn elapsed_ns(&self, old: usize, new: usize, n_pairs: usize) -> Option<u64> {
        let in_pairs = self.arms[old].iter().zip(&self.arms[new]).enumerate();
        let mut blocks = in_pairs.filter(|(_, (old, new))| old.is_some() && new.is_some());
        let (block, _) = blocks.nth(n_pairs.checked_sub(1)?)?;
        Some(self.ended_ns[block].saturating_sub(self.started_ns?))
    }

    fn complete(&self, old: usize, new: usize) -> impl Iterator<Item = ((u32, f64), (u32, f64))> {
        self.arms[old].iter().zip(&self.arms[new]).filter_map(|(old, new)| old.zip(*new))
    }

    /// New ÷ old in each block with both, in the order of the blocks; ratios that are not finite are left out.
    pub fn ratios(&self, old: usize, new: usize) -> Vec<(usize, f64)> {
        let blocks = self.arms[old].iter().zip(&self.arms[new]).enumerate();
        let ratio = |(block, (old, new)): (usize, (&BlockRun, &BlockRun))| {
            let ratio = new.as_ref()?.1 / old.as_ref()?.1;
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
            let is_new_first = new.0 < old.0;
            let (first, second) = if is_new_first { (new, old) } else { (old, new) };
            slots.slot1.push(first.1);
            slots.slot2.push(second.1);
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
