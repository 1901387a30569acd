//! Estimates of single arms during a session, in constant memory: for the progress line and the precision of t0.

use stats::PointEstimate;

use crate::clocks::compares_times;
use crate::low_runs::{LowRuns, RunMark, share_fastest_core};
use record::Row;
use record::plan::Plan;

#[derive(Debug)]
pub struct LiveTimes {
    arms: Vec<LowRuns>,
    /// Whether the compared values are times. A busy core lengthens times only.
    are_times: bool,
    n_blocks: usize,
    /// The current block and its number of runs.
    open_block: Option<(u32, usize)>,
    last_spoiled_block: Option<u32>,
    n_spoiled_blocks: u32,
    /// Start of the first timed run and end of the last, ns.
    span_ns: Option<(u64, u64)>,
}

impl LiveTimes {
    pub fn new(plan: &Plan) -> Self {
        Self {
            arms: vec![LowRuns::default(); plan.arms.len()],
            are_times: compares_times(plan),
            n_blocks: 0,
            open_block: None,
            last_spoiled_block: None,
            n_spoiled_blocks: 0,
            span_ns: None,
        }
    }

    /// Adds a row. Warm-ups, timed-out and failed runs do not count, nor do runs without a value to compare.
    pub fn add(&mut self, row: &Row) {
        let (Some(block), Some(wall_ns)) = (row.block, row.span_ns()) else { return };
        // Timed-out runs use up the budget too.
        let started_ns = self.span_ns.map_or(row.started_ns, |(started_ns, _)| started_ns);
        self.span_ns = Some((started_ns, row.started_ns + wall_ns));
        let Some(value) = row.headline().filter(|_| row.is_time()) else {
            self.n_spoiled_blocks += u32::from(self.last_spoiled_block != Some(block));
            self.last_spoiled_block = Some(block);
            return;
        };
        let mark = if self.are_times { RunMark::of(row) } else { RunMark::default() };
        self.arms[row.arm as usize].add(value, mark);
        share_fastest_core(&mut self.arms);
        let open = self.open_block.filter(|open| open.0 == block);
        let n_runs = open.map_or(0, |open| open.1) + 1;
        self.open_block = Some((block, n_runs));
        self.n_blocks += usize::from(n_runs == self.arms.len());
    }

    pub fn min_ns(&self, arm: usize) -> Option<f64> {
        self.arms[arm].min()
    }

    /// From the start of the first timed run to the end of the last, ns.
    pub fn span_ns(&self) -> u64 {
        self.span_ns.map_or(0, |(started_ns, ended_ns)| ended_ns.saturating_sub(started_ns))
    }

    pub fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// Blocks with a run that does not count. The session repeats them.
    pub fn n_spoiled_blocks(&self) -> u32 {
        self.n_spoiled_blocks
    }

    /// t0 of an arm with its error, once there are enough runs. `None` while it is only an upper limit.
    pub fn arm_t0(&self, arm: usize) -> Option<PointEstimate> {
        let found = self.arms[arm].t0().filter(|found| found.met_quiet != Some(false))?;
        Some(PointEstimate { value: found.floor.value, err: found.floor.err? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise;
    use model::values::DecideOn;
    use model::values::metric::Metric;
    use record::fixture::record;

    /// The live t0 that ends a session is the t0 in the record.
    #[test]
    fn a_live_t0_is_that_of_the_record() {
        let mut record = record(&["a"]);
        let mut stream = stats::Stream::new(3);
        for step in 0..700 {
            let mut row = Row::new(step, 0, Some(step), u64::from(step));
            let is_shared = step < 300;
            let shared_ns = if is_shared { 200_000 } else { 0 };
            row.set(Metric::WallNs, Some(1_000_000 + shared_ns + (1e5 * stream.unit()) as u64));
            row.set(Metric::OneChainNs, Some(4000));
            row.set(Metric::FourChainsNs, Some(if is_shared { 6000 } else { 4080 }));
            record.rows.push(&row);
        }
        let mut live = LiveTimes::new(&record.header.plan);
        let mut t0s = Vec::new();
        for row in record.rows.iter() {
            live.add(&row);
            t0s.push(live.arm_t0(0));
        }
        // No run began on a quiet core yet, so no precision can be reached.
        assert_eq!(t0s[299], None);
        let shown = summarise(&record)[0].times.clone().unwrap();
        assert_eq!(t0s[699], shown.t0.measured());
        assert!(!shown.is_upper_limit && t0s[699].is_some());
    }

    /// The second arm met only slow cores.
    #[test]
    fn the_fastest_core_is_of_the_session() {
        let mut record = record(&["a", "b"]);
        let mut live = LiveTimes::new(&record.header.plan);
        for step in 0..40 {
            let mut row = Row::new(step, step % 2, Some(step / 2), u64::from(step));
            let chain_ns = if row.arm == 0 { 4000 } else { 6000 };
            row.set(Metric::WallNs, Some(1_000_000 + u64::from(step)));
            row.set(Metric::OneChainNs, Some(chain_ns));
            row.set(Metric::FourChainsNs, Some(chain_ns));
            live.add(&row);
            record.rows.push(&row);
        }
        let of_record = |arm: usize| summarise(&record)[arm].times.as_ref()?.t0.err;
        for (arm, expected_ns) in [(0, 0.0), (1, 500_000.0)] {
            let err_ns = live.arm_t0(arm).unwrap().err;
            assert!((err_ns - expected_ns).abs() < 100.0, "{arm}: {err_ns}");
            assert_eq!(of_record(arm), Some(err_ns));
        }
    }

    #[test]
    fn a_block_with_a_run_without_a_value_is_repeated() {
        let mut live = LiveTimes::new(&record(&["a", "b"]).header.plan);
        for (arm, value) in [(0, Some(5.0)), (1, None)] {
            let mut row = Row::new(0, arm, Some(0), 0);
            row.set(Metric::WallNs, Some(10));
            row.compared.decide_on = Some(DecideOn::Value);
            row.value = value;
            live.add(&row);
        }
        assert_eq!((live.n_blocks(), live.n_spoiled_blocks()), (0, 1));
    }

    #[test]
    fn only_complete_blocks_count() {
        let row = |arm, block, wall| {
            let mut row = Row::new(0, arm, Some(block), 0);
            row.set(Metric::WallNs, Some(wall));
            row
        };
        let mut live = LiveTimes::new(&record(&["a", "b"]).header.plan);
        for row in [row(0, 0, 10), row(1, 0, 20), row(1, 1, 7)] {
            live.add(&row);
        }
        assert_eq!(live.n_blocks(), 1);
        assert_eq!(live.min_ns(1), Some(7.0));
    }
}
