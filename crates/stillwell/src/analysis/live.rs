//! What can be said while rows still come in, in memory that does not grow with them: the progress line, and the
//! precision of t0.

use stats::Measured;

use crate::metric::Metric;
use crate::record::Row;

/// Running state of a session.
#[derive(Debug)]
pub struct Live {
    arms: Vec<Series>,
    /// Means of the complete blocks, over all arms: the same whichever arm is which.
    blocks: Series,
    open_block: Option<OpenBlock>,
    last_spoiled_block: Option<u32>,
    n_spoiled_blocks: u32,
}

#[derive(Debug)]
struct OpenBlock {
    block: u32,
    n: usize,
    sum_ns: f64,
}

impl Live {
    /// Nothing measured yet.
    pub fn new(n_arms: usize) -> Self {
        Self {
            arms: (0..n_arms).map(|_| Series::default()).collect(),
            blocks: Series::default(),
            open_block: None,
            last_spoiled_block: None,
            n_spoiled_blocks: 0,
        }
    }

    /// Takes in a row; warm-ups and runs that timed out do not count.
    pub fn add(&mut self, row: &Row) {
        let (Some(block), Some(wall_ns)) = (row.block, row.get(Metric::WallNs)) else { return };
        if row.timed_out {
            self.n_spoiled_blocks += u32::from(self.last_spoiled_block != Some(block));
            self.last_spoiled_block = Some(block);
            return;
        }
        let wall_ns = wall_ns as f64;
        self.arms[row.arm as usize].add(wall_ns);
        let open = self.open_block.take().filter(|open| open.block == block);
        let open = open.unwrap_or(OpenBlock { block, n: 0, sum_ns: 0.0 });
        let open = OpenBlock { n: open.n + 1, sum_ns: open.sum_ns + wall_ns, ..open };
        if open.n == self.arms.len() {
            self.blocks.add(open.sum_ns / open.n as f64);
        } else {
            self.open_block = Some(open);
        }
    }

    /// Smallest time of an arm so far, ns.
    pub fn min_ns(&self, arm: usize) -> Option<f64> {
        self.arms[arm].smallest.first().copied()
    }

    /// Complete blocks so far.
    pub fn n_blocks(&self) -> usize {
        self.blocks.n
    }

    /// Blocks with a run that timed out: they do not count and are made up for.
    pub fn n_spoiled_blocks(&self) -> u32 {
        self.n_spoiled_blocks
    }

    /// t0 of an arm with its error, once there are enough runs.
    pub fn arm_t0(&self, arm: usize) -> Option<Measured> {
        self.arms[arm].t0()
    }

    /// t0 of the blocks' means with its error, once there are enough of them.
    pub fn block_t0(&self) -> Option<Measured> {
        self.blocks.t0()
    }
}

/// Smallest values that the endpoint with k = 3 needs, and a few more.
const SMALLEST_KEPT: usize = 8;
/// Buckets of consecutive runs; when there are twice as many, neighbours are merged.
const BUCKETS: usize = 48;

/// A series of which only the low end is kept: its smallest values, and the minimum of each of a few dozen stretches.
#[derive(Debug)]
struct Series {
    n: usize,
    smallest: Vec<f64>,
    /// Minima of consecutive runs, `per_bucket` each; the last may be of fewer.
    buckets: Vec<f64>,
    per_bucket: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self { n: 0, smallest: Vec::new(), buckets: Vec::new(), per_bucket: 1 }
    }
}

impl Series {
    fn add(&mut self, value: f64) {
        let at = self.smallest.partition_point(|&kept| kept <= value);
        if at < SMALLEST_KEPT {
            self.smallest.insert(at, value);
            self.smallest.truncate(SMALLEST_KEPT);
        }
        if self.n.is_multiple_of(self.per_bucket) {
            if self.buckets.len() == 2 * BUCKETS {
                self.buckets = self.buckets.chunks(2).map(|pair| pair[0].min(pair[1])).collect();
                self.per_bucket *= 2;
            }
            self.buckets.push(value);
        } else if let Some(last) = self.buckets.last_mut() {
            *last = last.min(value);
        }
        self.n += 1;
    }

    /// As `stats::endpoint::floor`, with windows that end at bucket boundaries.
    fn t0(&self) -> Option<Measured> {
        let k = if self.n < 60 { 2 } else { 3 };
        let smallest = stats::Sorted::new(&self.smallest).ok()?;
        let value = stats::endpoint::clamped(&smallest, k).ok()?;
        let err = stats::endpoint::window_err(&self.buckets, stats::Sorted::min).ok()?;
        Some(Measured { value, err })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_exact_estimate_while_buckets_are_single_runs() {
        let mut stream = stats::Stream::new(3);
        let xs: Vec<f64> = (0..90).map(|_| 1000.0 + 100.0 * stream.unit()).collect();
        let mut series = Series::default();
        xs.iter().for_each(|&x| series.add(x));
        let exact = stats::endpoint::floor(&xs).unwrap();
        let found = series.t0().unwrap();
        assert!((found.value - exact.value).abs() < 1e-9);
        assert!((found.err - exact.err.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn memory_does_not_grow_with_the_rows() {
        let mut series = Series::default();
        for n in 0..1_000_000 {
            series.add(f64::from(n % 997));
        }
        assert!(series.buckets.len() <= 2 * BUCKETS);
        assert_eq!(series.smallest, [0.0; SMALLEST_KEPT]);
        assert_eq!(series.buckets.iter().copied().fold(f64::MAX, f64::min), 0.0);
    }

    #[test]
    fn only_complete_blocks_count() {
        use crate::metric::METRICS;
        let row = |arm, block, wall| {
            let mut row = Row {
                step: 0,
                arm,
                block: Some(block),
                started_ns: 0,
                cpu: None,
                exit: 0,
                timed_out: false,
                values: [None; METRICS.len()],
            };
            row.set(Metric::WallNs, Some(wall));
            row
        };
        let mut live = Live::new(2);
        for row in [row(0, 0, 10), row(1, 0, 20), row(1, 1, 7)] {
            live.add(&row);
        }
        assert_eq!(live.n_blocks(), 1);
        assert_eq!(live.min_ns(1), Some(7.0));
        assert_eq!(live.blocks.smallest, [15.0]);
    }
}
