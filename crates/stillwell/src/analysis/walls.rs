//! The wall times of a session by arm and block, and two arms of it in pairs.

use stats::Invalid;
use stats::relabel::Pairs;

use crate::metric::Metric;
use crate::record::{Record, Row};

/// The measured run of an arm in one block: its step and wall time, ns.
type Run = Option<(u32, f64)>;

/// Wall times by arm, then by block.
#[derive(Debug)]
pub struct Walls(Vec<Vec<Run>>);

impl Walls {
    /// Nothing measured yet.
    pub fn new(n_arms: usize) -> Self {
        Self(vec![Vec::new(); n_arms])
    }

    /// Those of a record.
    pub fn of(record: &Record) -> Self {
        let mut walls = Self::new(record.header.plan.arms.len());
        let rows = &record.rows;
        for index in (0..rows.len()).filter(|&index| rows.is_measurement(index)) {
            let (Some(block), Some(wall_ns)) = (rows.block(index), rows.get(index, Metric::WallNs))
            else {
                continue;
            };
            // Blocks come in order; a damaged record may skip some, but not by more than it has rows.
            if block < rows.len() {
                walls.put(rows.arm(index), block, rows.step(index), wall_ns);
            }
        }
        walls
    }

    /// Takes in a row; warm-ups and runs that timed out do not count.
    pub fn add(&mut self, row: &Row) {
        let block = row.block.filter(|_| !row.timed_out);
        if let (Some(block), Some(wall_ns)) = (block, row.get(Metric::WallNs)) {
            self.put(row.arm as usize, block as usize, row.step, wall_ns);
        }
    }

    fn put(&mut self, arm: usize, block: usize, step: u32, wall_ns: u64) {
        let runs = &mut self.0[arm];
        runs.resize(runs.len().max(block + 1), None);
        runs[block] = Some((step, wall_ns as f64));
    }

    fn complete(&self, old: usize, new: usize) -> impl Iterator<Item = ((u32, f64), (u32, f64))> {
        self.0[old].iter().zip(&self.0[new]).filter_map(|(old, new)| old.zip(*new))
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
#[derive(Debug)]
pub struct Slots {
    pub(super) slot1: Vec<f64>,
    pub(super) slot2: Vec<f64>,
    pub(super) slot1_is_new: Vec<bool>,
}

impl Slots {
    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.slot1.len()
    }

    /// Without the first ones.
    pub fn skip(&self, n: usize) -> Self {
        self.pick((n..self.len()).collect())
    }

    /// These ones only.
    pub fn pick(&self, indices: Vec<usize>) -> Self {
        Self {
            slot1: indices.iter().map(|&pair| self.slot1[pair]).collect(),
            slot2: indices.iter().map(|&pair| self.slot2[pair]).collect(),
            slot1_is_new: indices.iter().map(|&pair| self.slot1_is_new[pair]).collect(),
        }
    }

    /// For a test.
    ///
    /// # Errors
    /// There is no pair, or a time is zero.
    pub fn pairs(&self) -> Result<Pairs, Invalid> {
        Pairs::new(&self.slot1, &self.slot2, &self.slot1_is_new)
    }
}
