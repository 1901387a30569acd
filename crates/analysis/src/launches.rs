//! Merges slices into runs. The slices of a worker process share its memory layout and hash seed, so they are not
//! independent. The comparison uses one value per process (docs/methodology.md, "Slices").

use std::collections::HashMap;

use stats::SortedSample;

use crate::arm_values::by_arm;
use model::values::metric::Metric;
use model::values::{Estimand, Headline, ProcessValue, time_ns};
use record::plan::Plan;
use record::plan::workers::Workers;
use record::{Record, Row, Rows};

/// Share of a run's slices that make its value: the lowest ones.
const LOW: f64 = 0.2;

/// Counters and times that add up over the slices of a run.
const SUMS: [Metric; 8] = [
    Metric::WallNs,
    Metric::CpuNs,
    Metric::RunQueueWaitNs,
    Metric::VoluntarySwitches,
    Metric::InvoluntarySwitches,
    Metric::Loops,
    Metric::StalledNs,
    Metric::UnclearNs,
];

/// Probes of the core, of which a run has the mean: not all slices have one, so sums of two runs do not compare.
const MEANS: [Metric; 2] = [Metric::OneChainNs, Metric::FourChainsNs];

/// Merges slices into runs one by one.
#[derive(Debug)]
pub struct Launches {
    rule: SliceRule,
    block: Option<u32>,
    open: HashMap<u32, OpenLaunch>,
}

/// A slice of a run.
#[derive(Clone, Copy, Debug)]
pub struct LaunchSlice {
    pub loops: u64,
    /// Time or value per loop, in the base unit of the arm.
    pub value: f64,
}

#[derive(Clone, Debug)]
pub struct SliceRule {
    in_slices: bool,
    estimand: Estimand,
    process_value: ProcessValue,
    headline: Headline,
    delta: bool,
    subtract_empty_loop: bool,
    /// Inner loops of each arm.
    inner_loops: Vec<u64>,
}

#[derive(Debug)]
struct OpenLaunch {
    row: Row,
    ended_ns: u64,
    slices: Vec<LaunchSlice>,
    n_probed: u64,
}

impl SliceRule {
    /// The rule of a plan, optionally for another quantity.
    pub fn of(plan: &Plan, headline: Option<Headline>) -> Self {
        let workers = plan.workers.as_ref();
        let is = |what: fn(&Workers) -> bool| workers.is_some_and(what);
        Self {
            in_slices: plan.in_slices,
            estimand: plan.policy.estimand,
            process_value: plan.policy.process_value,
            headline: headline.or(workers.map(|workers| workers.headline)).unwrap_or_default(),
            delta: is(|workers| workers.delta),
            subtract_empty_loop: is(|workers| workers.subtract_empty_loop),
            inner_loops: plan.arms.iter().map(|arm| arm.inner_loops.max(1)).collect(),
        }
    }

    pub fn inner_loops(&self, arm: u32) -> u64 {
        self.inner_loops[arm as usize]
    }

    /// A slice, or a run of a record without slices, by the quantity that decides.
    pub fn slice(&self, row: &Row) -> Option<LaunchSlice> {
        let loops = row.get(Metric::Loops).unwrap_or(1).max(1);
        if !self.in_slices {
            return Some(LaunchSlice { loops, value: row.headline()? });
        }
        // An own value is a wall time or no time at all; the CPU time has a column beside it.
        if let Some(value) = row.value.filter(|_| self.headline != Headline::Cpu) {
            return Some(LaunchSlice { loops, value });
        }
        let Some(clock) = self.headline.clock() else {
            // Only the worker's own value has the memory that Python traces.
            let kib = row.get(Metric::MaxrssKib).filter(|_| self.headline == Headline::Memory)?;
            return Some(LaunchSlice { loops, value: kib as f64 * 1024.0 });
        };
        let total_ns = time_ns(clock, |metric| row.get(metric))?;
        let empty = row.get(Metric::EmptyLoopPs).filter(|_| self.subtract_empty_loop);
        let per_loop = total_ns / loops as f64 - empty.unwrap_or(0) as f64 / 1e3;
        let value = per_loop / self.inner_loops[row.arm as usize] as f64;
        Some(LaunchSlice { loops, value })
    }

    /// Whether the lowest slices make the value of a run.
    pub fn is_low(&self) -> bool {
        match self.estimand {
            Estimand::Mean => false,
            Estimand::Floor => true,
            Estimand::Adaptive | Estimand::Typical => self.process_value == ProcessValue::Low,
        }
    }

    /// The value of a run: the mean of its slices, or of the lowest fifth if the floor is compared. With `delta`, the
    /// slope between the two numbers of loops.
    fn value(&self, slices: &[LaunchSlice]) -> Option<f64> {
        let of = |values: &[f64]| match self.is_low() {
            false => stats::mean(values).ok(),
            true => SortedSample::new(values).ok().map(|sorted| sorted.low_mean(LOW)),
        };
        if !self.delta {
            return of(&slices.iter().map(|slice| slice.value).collect::<Vec<_>>());
        }
        let few = slices.iter().map(|slice| slice.loops).min()?;
        let many = slices.iter().map(|slice| slice.loops).max().filter(|&many| many > few)?;
        let total = |loops: u64| {
            let of_these = slices.iter().filter(|slice| slice.loops == loops);
            Some(of(&of_these.map(|slice| slice.value).collect::<Vec<_>>())? * loops as f64)
        };
        Some((total(many)? - total(few)?) / (many - few) as f64)
    }
}

impl Launches {
    pub fn new(plan: &Plan) -> Self {
        Self { rule: SliceRule::of(plan, None), block: None, open: HashMap::new() }
    }

    /// Adds a slice; warm-up slices do not count. The first slice of a block hands over the previous block's runs.
    pub fn add(&mut self, row: &Row, each: impl FnMut(Row)) {
        let Some(block) = row.block else { return };
        if self.block != Some(block) {
            self.flush(each);
            self.block = Some(block);
        }
        let launch = self.open.entry(row.arm).or_insert_with(|| OpenLaunch::of(row));
        launch.take(row, self.rule.slice(row));
    }

    /// Hands over the open runs, at the end of a block or of the record.
    pub fn flush(&mut self, mut each: impl FnMut(Row)) {
        let mut runs: Vec<OpenLaunch> = self.open.drain().map(|(_, launch)| launch).collect();
        runs.sort_by_key(|launch| launch.row.step);
        for run in runs {
            each(run.finish(&self.rule));
        }
    }
}

impl OpenLaunch {
    fn of(row: &Row) -> Self {
        let first = Row { cpu: row.cpu, ..Row::new(row.step, row.arm, row.block, row.started_ns) };
        Self { row: first, ended_ns: 0, slices: Vec::new(), n_probed: 0 }
    }

    fn take(&mut self, row: &Row, slice: Option<LaunchSlice>) {
        let total = &mut self.row;
        total.exit = if total.exit == 0 { row.exit } else { total.exit };
        total.timed_out |= row.timed_out;
        total.is_rejected |= row.is_rejected;
        self.n_probed += u64::from(MEANS.iter().all(|&metric| row.get(metric).is_some()));
        for metric in SUMS.into_iter().chain(MEANS) {
            let sum =
                total.get(metric).into_iter().chain(row.get(metric)).reduce(u64::saturating_add);
            total.set(metric, sum);
        }
        let peak = total.get(Metric::MaxrssKib).max(row.get(Metric::MaxrssKib));
        total.set(Metric::MaxrssKib, peak);
        let least = total.get(Metric::EmptyLoopPs).into_iter().chain(row.get(Metric::EmptyLoopPs));
        total.set(Metric::EmptyLoopPs, least.min());
        self.ended_ns = row.started_ns.saturating_add(row.get(Metric::WallNs).unwrap_or(0));
        self.slices.extend(slice);
    }

    /// The run as one row. Its wall time is the sum of the slices, and its start is the end minus this sum.
    fn finish(mut self, rule: &SliceRule) -> Row {
        let wall_ns = self.row.get(Metric::WallNs).unwrap_or(0);
        self.row.started_ns = self.ended_ns.saturating_sub(wall_ns);
        for metric in MEANS {
            let mean = self.row.get(metric).map(|sum| sum / self.n_probed.max(1));
            self.row.set(metric, mean);
        }
        self.row.value = rule.value(&self.slices);
        self.row
    }
}

/// Replaces slices by one row per run, and keeps the slices beside. Other records are unchanged.
pub fn gather(mut record: Record) -> Record {
    if record.header.plan.in_slices && record.slices.is_none() {
        let runs = gathered(&record.header.plan, &record.rows, None);
        record.slices = Some(std::mem::replace(&mut record.rows, runs));
    }
    record
}

/// The inverse of `gather`: the rows of the record are its slices again.
pub fn scattered(mut record: Record) -> Record {
    if let Some(slices) = record.slices.take() {
        record.rows = slices;
    }
    record
}

/// The runs with the value of another headline than the plan's.
pub fn gathered(plan: &Plan, slices: &Rows, headline: Option<Headline>) -> Rows {
    gathered_where(SliceRule::of(plan, headline), slices, |_| true)
}

/// The runs, from the slices whose index meets the condition.
pub(super) fn gathered_where(
    rule: SliceRule,
    slices: &Rows,
    is_kept: impl Fn(usize) -> bool,
) -> Rows {
    let mut launches = Launches { rule, block: None, open: HashMap::new() };
    let mut runs = Rows::default();
    for index in (0..slices.len()).filter(|&index| is_kept(index)) {
        launches.add(&slices.row(index), |run| runs.push(&run));
    }
    launches.flush(|run| runs.push(&run));
    runs
}

/// The value per loop of each slice, by arm, in session order.
pub fn values_by_arm(plan: &Plan, slices: &Rows, headline: Option<Headline>) -> Vec<Vec<f64>> {
    let rule = SliceRule::of(plan, headline);
    by_arm(slices, plan.arms.len(), |slices, index| Some(rule.slice(&slices.row(index))?.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;

    fn slice(step: u32, arm: u32, block: Option<u32>, loops: u64, wall_ns: u64) -> Row {
        let mut row = Row::new(step, arm, block, 1000 * u64::from(step));
        row.set(Metric::Loops, Some(loops));
        row.set(Metric::WallNs, Some(wall_ns));
        row.set(Metric::CpuNs, Some(wall_ns / 2));
        row.set(Metric::EmptyLoopPs, Some(500));
        row
    }

    fn sliced(rows: &[Row], change: impl FnOnce(&mut Plan)) -> Record {
        let mut record = record(&["a", "b"]);
        record.header.plan.in_slices = true;
        change(&mut record.header.plan);
        rows.iter().for_each(|row| record.rows.push(row));
        record
    }

    fn values(record: &Record) -> Vec<(usize, u32, Option<f64>)> {
        let rows = &record.rows;
        (0..rows.len()).map(|at| (rows.arm(at), rows.step(at), rows.headline(at))).collect()
    }

    #[test]
    fn a_run_has_the_mean_of_its_slices() {
        let rows = [
            slice(0, 0, None, 10, 9),
            slice(1, 1, Some(0), 10, 300),
            slice(2, 0, Some(0), 10, 100),
            slice(3, 0, Some(0), 10, 900),
            slice(4, 1, Some(0), 10, 200),
            slice(5, 0, Some(1), 10, 110),
        ];
        let low = gather(sliced(&rows, |plan| plan.policy.process_value = ProcessValue::Low));
        let floor = gather(sliced(&rows, |plan| plan.policy.estimand = Estimand::Floor));
        let record = gather(sliced(&rows, |_| ()));
        // Ordered by their first slices, as the processes started.
        let expected = [(1, 1, Some(25.0)), (0, 2, Some(50.0)), (0, 5, Some(11.0))];
        assert_eq!(values(&record), expected);
        let expected = [(1, 1, Some(20.0)), (0, 2, Some(10.0)), (0, 5, Some(11.0))];
        assert_eq!((values(&low), values(&floor)), (expected.to_vec(), expected.to_vec()));
        assert_eq!(record.rows.get(1, Metric::WallNs), Some(1000));
        assert_eq!(record.rows.get(1, Metric::Loops), Some(20));
        assert_eq!(record.slices.as_ref().unwrap().len(), 6);
        // The last slice ends at 3000 + 900. The start is earlier by the sum of the slices.
        assert_eq!(record.rows.started_ns(1), 2900);
    }

    #[test]
    fn the_mean_is_of_all_slices() {
        let rows = [slice(0, 0, Some(0), 1, 100), slice(1, 0, Some(0), 1, 900)];
        let record = gather(sliced(&rows, |plan| plan.policy.estimand = Estimand::Mean));
        assert_eq!(values(&record), [(0, 0, Some(500.0))]);
    }

    #[test]
    fn what_is_compared_can_be_changed() {
        let rows = [slice(0, 0, Some(0), 10, 100), slice(1, 0, Some(0), 20, 180)];
        let value = |change: fn(&mut Workers)| {
            let set = |plan: &mut Plan| {
                let mut workers = Workers::default();
                change(&mut workers);
                plan.arms[0].inner_loops = 2;
                plan.workers = Some(workers);
            };
            values(&gather(sliced(&rows, set)))[0].2.unwrap()
        };
        assert_eq!(value(|_| ()), 4.75);
        assert_eq!(value(|workers| workers.headline = Headline::Cpu), 2.375);
        assert_eq!(value(|workers| workers.subtract_empty_loop = true), 4.5);
        // 80 ns for ten more loops of two; the constant 20 ns cancel.
        assert_eq!(value(|workers| workers.delta = true), 4.0);
    }

    /// Google Benchmark's files have both times of a loop.
    #[test]
    fn an_own_time_is_no_cpu_time() {
        let rows = [Row { value: Some(10.5), ..slice(0, 0, Some(0), 100, 1050) }];
        let record = sliced(&rows, |plan| plan.workers = None);
        let of = |headline| gathered(&record.header.plan, &record.rows, headline).headline(0);
        assert_eq!((of(None), of(Some(Headline::Cpu))), (Some(10.5), Some(5.25)));
    }

    #[test]
    fn runs_that_come_in_are_those_of_the_record() {
        let rows: Vec<Row> = (0..40)
            .map(|step| slice(step, step % 2, Some(step / 8), 3, u64::from(100 + step * 7 % 11)))
            .collect();
        let record = sliced(&rows, |_| ());
        let mut launches = Launches::new(&record.header.plan);
        let mut runs = Vec::new();
        rows.iter().for_each(|row| launches.add(row, |run| runs.push(run)));
        launches.flush(|run| runs.push(run));
        assert_eq!(runs, gather(record).rows.iter().collect::<Vec<_>>());
    }
}
