//! The statistics of a paired comparison, evaluated for every re-labelling.
//!
//! Each statistic sorts once and then walks the order for each re-labelling, so a walk is O(n).
//! Labels are packed bits: bit `j` set means that slot 1 of pair `j` ran the new arm.

use std::ops::Range;

use super::Orbit;
use super::linear::LabelledSum;
use super::pairs::bit;
use crate::parallel;
use crate::sorted::low_count;

/// An estimate of the log ratio new / reference from labelled pairs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Statistic {
    /// 25 % trimmed mean of the pairs' differences: the typical time.
    Typical,
    /// 25 % trimmed mean over blocks of 4 consecutive pairs of the difference of the smallest
    /// times. The last block takes the remainder. It is the floor where the floor drifts.
    LocalFloor,
    /// Difference of the means of the lowest `ceil(n / 5)` times: the floor.
    Floor,
    /// Mean of the pairs' differences: the ratio of the geometric means. It is the typical time
    /// where no run is far out.
    GeometricMean,
    /// Log ratio of the mean times: the total cost.
    Mean,
}

impl Statistic {
    /// The value for each re-labelling of `orbit`, the observed labelling first.
    ///
    /// `slots` has the log times of slot 1 and slot 2, `labels` the observed labels.
    pub(super) fn values(self, slots: &[[f64; 2]], labels: &[u64], orbit: &Orbit) -> Vec<f64> {
        each(labels, orbit, &self.walk(slots))
    }

    /// The statistic of these times, with its times sorted once.
    pub(super) fn walk(self, slots: &[[f64; 2]]) -> Walk {
        match self {
            Self::Typical => Walk::TrimmedMean(TrimmedMean::new(slots)),
            Self::LocalFloor => Walk::LocalFloor(LocalFloor::new(slots)),
            Self::Floor => Walk::GlobalFloor(GlobalFloor::new(slots)),
            Self::GeometricMean => Walk::GeometricMean(GeometricMean::new(slots)),
            Self::Mean => Walk::MeanRatio(MeanRatio::new(slots)),
        }
    }
}

/// One statistic of fixed times, for any labels.
#[derive(Clone)]
pub(super) enum Walk {
    TrimmedMean(TrimmedMean),
    LocalFloor(LocalFloor),
    GlobalFloor(GlobalFloor),
    GeometricMean(GeometricMean),
    MeanRatio(MeanRatio),
}

impl Walk {
    pub(super) fn value(&mut self, labels: &[u64]) -> f64 {
        match self {
            Self::TrimmedMean(walk) => walk.value(labels),
            Self::LocalFloor(walk) => walk.value(labels),
            Self::GlobalFloor(walk) => walk.value(labels),
            Self::GeometricMean(walk) => walk.value(labels),
            Self::MeanRatio(walk) => walk.value(labels),
        }
    }
}

/// Number of rows in one task of a thread.
const ROWS_AT_ONCE: usize = 256;

fn each(observed: &[u64], orbit: &Orbit, walk: &Walk) -> Vec<f64> {
    let part = |rows: Range<usize>| {
        let (mut walk, mut labels) = (walk.clone(), observed.to_vec());
        let value = |row| {
            orbit.labels(row, observed, &mut labels);
            walk.value(&labels)
        };
        rows.map(value).collect::<Vec<f64>>()
    };
    let n_parts = orbit.len().div_ceil(ROWS_AT_ONCE);
    let range = |at: usize| at * ROWS_AT_ONCE..((at + 1) * ROWS_AT_ONCE).min(orbit.len());
    parallel::map(n_parts, |at| part(range(at))).concat()
}

/// Trimmed mean of the differences, with `cut` of them cut at each end.
#[derive(Clone)]
pub(super) struct TrimmedMean {
    cut: usize,
    /// Pair, and its slot 1 minus slot 2, by descending size of the difference.
    steps: Vec<(usize, f64)>,
}

impl TrimmedMean {
    fn new(slots: &[[f64; 2]]) -> Self {
        let cut = slots.len() / 4;
        let mut steps: Vec<_> = slots.iter().map(|x| x[0] - x[1]).enumerate().collect();
        steps.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        Self { cut, steps }
    }

    fn value(&mut self, labels: &[u64]) -> f64 {
        // The walk meets both ends of the sorted differences in descending size. The first `cut` of
        // each sign are cut.
        let (mut sum, mut met) = (0.0, [0; 2]);
        for &(pair, w) in &self.steps {
            let d = signed(w, bit(labels, pair));
            let is_negative = usize::from(d.is_sign_negative());
            met[is_negative] += 1;
            sum += if met[is_negative] > self.cut { d } else { 0.0 };
        }
        // If one sign has fewer than `cut`, the cut goes on among the smallest of the other sign.
        for (sign, met) in met.into_iter().enumerate() {
            let mut missing = self.cut.saturating_sub(met);
            for &(pair, w) in self.steps.iter().rev() {
                if missing == 0 {
                    break;
                }
                let d = signed(w, bit(labels, pair));
                if usize::from(d.is_sign_negative()) != sign {
                    sum -= d;
                    missing -= 1;
                }
            }
        }
        sum / (self.steps.len() - 2 * self.cut) as f64
    }
}

/// The difference new - reference: `w` if slot 1 ran the new arm, else `-w`.
fn signed(w: f64, label: usize) -> f64 {
    f64::from_bits(w.to_bits() ^ ((label as u64 ^ 1) << 63))
}

/// Mean of the differences.
#[derive(Clone)]
pub(super) struct GeometricMean {
    n_pairs: f64,
    sum: LabelledSum,
}

impl GeometricMean {
    fn new(slots: &[[f64; 2]]) -> Self {
        let weights: Vec<f64> = slots.iter().map(|x| x[0] - x[1]).collect();
        Self { n_pairs: slots.len() as f64, sum: LabelledSum::signed(&weights) }
    }

    fn value(&self, labels: &[u64]) -> f64 {
        self.sum.value(labels) / self.n_pairs
    }
}

/// Log ratio of the sums of the times.
#[derive(Clone)]
pub(super) struct MeanRatio {
    /// The sum of the times of the new arm.
    sum: LabelledSum,
}

impl MeanRatio {
    fn new(slots: &[[f64; 2]]) -> Self {
        // Times in units of the largest: the exponential cannot overflow. A time that is nothing
        // beside the largest still has a logarithm.
        let largest = slots.iter().flatten().fold(f64::NEG_INFINITY, |max, &x| max.max(x));
        let time = |x: f64| (x - largest).exp().max(f64::MIN_POSITIVE);
        let times = |x: &[f64; 2]| [time(x[1]), time(x[0])];
        Self { sum: LabelledSum::new(&slots.iter().map(times).collect::<Vec<_>>()) }
    }

    /// Each arm is a sum of its own. A difference of sums would lose a small arm beside a large one.
    fn value(&self, labels: &[u64]) -> f64 {
        (self.sum.value(labels) / self.sum.exchanged(labels)).ln()
    }
}

/// Difference of the means of the `count` lowest times of each arm.
#[derive(Clone)]
pub(super) struct GlobalFloor {
    count: usize,
    /// Pair, slot (0 or 1) and time above the smallest of all, ascending.
    steps: Vec<(usize, usize, f64)>,
}

impl GlobalFloor {
    fn new(slots: &[[f64; 2]]) -> Self {
        let mut steps: Vec<_> = slots
            .iter()
            .enumerate()
            .flat_map(|(pair, x)| [(pair, 0, x[0]), (pair, 1, x[1])])
            .collect();
        steps.sort_by(|a, b| a.2.total_cmp(&b.2));
        // Sums of small numbers lose fewer digits than sums of logarithms near 14.
        let smallest = steps[0].2;
        for step in &mut steps {
            step.2 -= smallest;
        }
        Self { count: low_count(slots.len(), 0.2), steps }
    }

    fn value(&mut self, labels: &[u64]) -> f64 {
        let (mut taken, mut sum) = ([0; 2], [0.0; 2]);
        let mut left = 2 * self.count;
        for &(pair, slot, x) in &self.steps {
            let new = bit(labels, pair) ^ slot;
            if taken[new] < self.count {
                taken[new] += 1;
                sum[new] += x;
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        (sum[1] - sum[0]) / self.count as f64
    }
}

/// Trimmed mean over blocks of the difference of minima.
#[derive(Clone)]
pub(super) struct LocalFloor {
    /// First pair and number of pairs of each block.
    blocks: Vec<(usize, usize)>,
    /// For each block, where its ranks start in `ranks`.
    starts: Vec<usize>,
    /// Rank of the value of a block under each of its labellings, among all such values.
    ranks: Vec<usize>,
    /// All such values, ascending.
    values: Vec<f64>,
    /// Bit set of the ranks that occur. It sorts a few numbers out of a fixed set.
    present: Vec<u64>,
}

impl LocalFloor {
    fn new(slots: &[[f64; 2]]) -> Self {
        let n_blocks = (slots.len() / 4).max(1);
        let (mut blocks, mut starts, mut by_label) = (Vec::new(), Vec::new(), Vec::new());
        for block in 0..n_blocks {
            let first = 4 * block;
            let size = if block + 1 == n_blocks { slots.len() - first } else { 4 };
            blocks.push((first, size));
            starts.push(by_label.len());
            let pairs = &slots[first..first + size];
            by_label.extend((0..1 << size).map(|label| difference_of_minima(pairs, label)));
        }
        let mut order: Vec<usize> = (0..by_label.len()).collect();
        order.sort_by(|&i, &j| by_label[i].total_cmp(&by_label[j]));
        let mut ranks = vec![0; order.len()];
        for (rank, &at) in order.iter().enumerate() {
            ranks[at] = rank;
        }
        let values: Vec<f64> = order.iter().map(|&at| by_label[at]).collect();
        let present = vec![0; values.len().div_ceil(64)];
        Self { blocks, starts, ranks, values, present }
    }

    fn value(&mut self, labels: &[u64]) -> f64 {
        for (&(first, size), start) in self.blocks.iter().zip(&self.starts) {
            let low = labels[first / 64] >> (first % 64);
            // A last block of 5 to 7 pairs can reach into the next word.
            let high = match labels.get(first / 64 + 1) {
                Some(next) if first % 64 + size > 64 => next << (64 - first % 64),
                _ => 0,
            };
            let rank = self.ranks[start + ((low | high) as usize & ((1 << size) - 1))];
            self.present[rank / 64] |= 1 << (rank % 64);
        }
        let (cut, mut seen, mut sum) = (self.blocks.len() / 4, 0, 0.0);
        for (i, word) in self.present.iter_mut().enumerate() {
            while *word != 0 {
                if seen >= cut && seen < self.blocks.len() - cut {
                    sum += self.values[64 * i + word.trailing_zeros() as usize];
                }
                *word &= *word - 1;
                seen += 1;
            }
        }
        sum / (self.blocks.len() - 2 * cut) as f64
    }
}

fn difference_of_minima(pairs: &[[f64; 2]], label: usize) -> f64 {
    let mut least = [f64::INFINITY; 2];
    for (j, x) in pairs.iter().enumerate() {
        let new = label >> j & 1;
        least[new] = least[new].min(x[0]);
        least[1 - new] = least[1 - new].min(x[1]);
    }
    least[1] - least[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted::SortedSample;
    use crate::{Stream, mean};

    /// The definitions, without any sorting beforehand.
    fn plain(statistic: Statistic, slots: &[[f64; 2]], new_first: &[bool]) -> f64 {
        let arm = |new: bool, range: Range<usize>| -> Vec<f64> {
            range.map(|j| slots[j][usize::from(new_first[j] != new)]).collect()
        };
        let n = slots.len();
        let (old, new) = (arm(false, 0..n), arm(true, 0..n));
        let d: Vec<f64> = new.iter().zip(&old).map(|(b, a)| b - a).collect();
        match statistic {
            Statistic::Typical => SortedSample::new(&d).unwrap().trimmed_mean(),
            Statistic::GeometricMean => mean(&d).unwrap(),
            Statistic::Mean => {
                let total = |xs: &[f64]| xs.iter().map(|x| x.exp()).sum::<f64>();
                (total(&new) / total(&old)).ln()
            }
            Statistic::Floor => {
                let low = |xs: &[f64]| SortedSample::new(xs).unwrap().low_mean(0.2);
                low(&new) - low(&old)
            }
            Statistic::LocalFloor => {
                let n_blocks = (n / 4).max(1);
                let block = |i: usize| {
                    let range = 4 * i..if i + 1 == n_blocks { n } else { 4 * i + 4 };
                    let least = |new| SortedSample::new(&arm(new, range.clone())).unwrap().min();
                    least(true) - least(false)
                };
                let blocks: Vec<f64> = (0..n_blocks).map(block).collect();
                SortedSample::new(&blocks).unwrap().trimmed_mean()
            }
        }
    }

    #[test]
    fn walks_agree_with_the_definitions() {
        let mut stream = Stream::new(1);
        for n in (1..=70).chain([127, 128, 131, 200]) {
            // A coarse grid, so that there are ties.
            let slots: Vec<[f64; 2]> =
                (0..n).map(|_| [stream.below(30) as f64, stream.below(30) as f64]).collect();
            let coins = stream.bits(n);
            let mut labels = vec![0u64; n.div_ceil(64)];
            for (j, _) in coins.iter().enumerate().filter(|(_, coin)| **coin) {
                labels[j / 64] |= 1 << (j % 64);
            }
            let orbit = Orbit::new(n, 30, 5).unwrap();
            for statistic in [
                Statistic::Typical,
                Statistic::LocalFloor,
                Statistic::Floor,
                Statistic::GeometricMean,
                Statistic::Mean,
            ] {
                let values = statistic.values(&slots, &labels, &orbit);
                let mut row_labels = labels.clone();
                for (row, value) in values.into_iter().enumerate() {
                    orbit.labels(row, &labels, &mut row_labels);
                    let new_first: Vec<bool> =
                        (0..n).map(|j| row_labels[j / 64] >> (j % 64) & 1 == 1).collect();
                    let expect = plain(statistic, &slots, &new_first);
                    assert!((value - expect).abs() < 1e-9, "{statistic:?}, {n} pairs");
                }
            }
        }
    }
}
