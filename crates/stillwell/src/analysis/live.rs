//! Estimates of single arms during a session, in constant memory: for the progress line, and for the precision of t0.

use stats::PointEstimate;

use crate::record::Row;
use crate::values::metric::Metric;

/// Running state of a session.
#[derive(Debug)]
pub struct LiveTimes {
    arms: Vec<LiveSeries>,
    n_blocks: usize,
    /// The current block and the number of its runs so far.
    open_block: Option<(u32, usize)>,
    last_spoiled_block: Option<u32>,
    n_spoiled_blocks: u32,
    /// Start of the first timed run and end of the last, ns.
    span_ns: Option<(u64, u64)>,
}

impl LiveTimes {
    /// Starts without rows.
    pub fn new(n_arms: usize) -> Self {
        Self {
            arms: (0..n_arms).map(|_| LiveSeries::default()).collect(),
            n_blocks: 0,
            open_block: None,
            last_spoiled_block: None,
            n_spoiled_blocks: 0,
            span_ns: None,
        }
    }

    /// Takes in a row; warm-ups, and runs that timed out or failed, do not count.
    pub fn add(&mut self, row: &Row) {
        let (Some(block), Some(wall_ns)) = (row.block, row.get(Metric::WallNs)) else { return };
        let Some(value) = row.headline() else { return };
        // Runs that time out use up the budget like any other.
        let started_ns = self.span_ns.map_or(row.started_ns, |(started_ns, _)| started_ns);
        self.span_ns = Some((started_ns, row.started_ns + wall_ns));
        if !row.is_time() {
            self.n_spoiled_blocks += u32::from(self.last_spoiled_block != Some(block));
            self.last_spoiled_block = Some(block);
            return;
        }
        self.arms[row.arm as usize].add(value);
        let open = self.open_block.filter(|open| open.0 == block);
        let n_runs = open.map_or(0, |open| open.1) + 1;
        self.open_block = Some((block, n_runs));
        self.n_blocks += usize::from(n_runs == self.arms.len());
    }

    /// Smallest time of an arm so far, ns.
    pub fn min_ns(&self, arm: usize) -> Option<f64> {
        self.arms[arm].smallest.first().copied()
    }

    /// From the start of the first timed run to the end of the last, ns.
    pub fn span_ns(&self) -> u64 {
        self.span_ns.map_or(0, |(started_ns, ended_ns)| ended_ns.saturating_sub(started_ns))
    }

    /// Complete blocks so far.
    pub fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// Blocks with a run that timed out. They do not count, and the session repeats them.
    pub fn n_spoiled_blocks(&self) -> u32 {
        self.n_spoiled_blocks
    }

    /// t0 of an arm with its error, once there are enough runs.
    pub fn arm_t0(&self, arm: usize) -> Option<PointEstimate> {
        self.arms[arm].t0()
    }
}

/// Smallest values that the endpoint with k = 3 needs, and a few more.
const SMALLEST_KEPT: usize = 8;
/// Buckets of consecutive runs. At twice this number neighbours are merged, so the number of windows has a limit.
const BUCKETS: usize = 120;

/// The low end of a series: its smallest values, and the minimum of each of a few dozen stretches.
#[derive(Debug)]
struct LiveSeries {
    n: usize,
    smallest: Vec<f64>,
    /// Minima of `per_bucket` consecutive runs each; the last bucket may have fewer.
    buckets: Vec<f64>,
    per_bucket: usize,
}

impl Default for LiveSeries {
    fn default() -> Self {
        Self { n: 0, smallest: Vec::new(), buckets: Vec::new(), per_bucket: 1 }
    }
}

impl LiveSeries {
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

    /// `stats::endpoint::floor` with windows that end at bucket boundaries.
    fn t0(&self) -> Option<PointEstimate> {
        let k = if self.n < 60 { 2 } else { 3 };
        let smallest = stats::SortedSample::new(&self.smallest).ok()?;
        let value = stats::endpoint::tested(&smallest, k);
        let err = stats::endpoint::window_err(&self.buckets, stats::SortedSample::min).ok()?;
        Some(PointEstimate { value, err })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_exact_estimate_while_buckets_are_single_runs() {
        let mut stream = stats::Stream::new(3);
        let xs: Vec<f64> = (0..150).map(|_| 1000.0 + 100.0 * stream.unit()).collect();
        let mut series = LiveSeries::default();
        xs.iter().for_each(|&x| series.add(x));
        let exact = stats::endpoint::floor(&xs).unwrap();
        let found = series.t0().unwrap();
        assert!((found.value - exact.value).abs() < 1e-9);
        assert!((found.err - exact.err.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn memory_does_not_grow_with_the_rows() {
        let mut series = LiveSeries::default();
        for n in 0..1_000_000 {
            series.add(f64::from(n % 997));
        }
        assert!(series.buckets.len() <= 2 * BUCKETS);
        assert_eq!(series.smallest, [0.0; SMALLEST_KEPT]);
        assert_eq!(series.buckets.iter().copied().fold(f64::MAX, f64::min), 0.0);
    }

    #[test]
    fn only_complete_blocks_count() {
        let row = |arm, block, wall| {
            let mut row = Row::new(0, arm, Some(block), 0);
            row.set(Metric::WallNs, Some(wall));
            row
        };
        let mut live = LiveTimes::new(2);
        for row in [row(0, 0, 10), row(1, 0, 20), row(1, 1, 7)] {
            live.add(&row);
        }
        assert_eq!(live.n_blocks(), 1);
        assert_eq!(live.min_ns(1), Some(7.0));
    }
}
