//! Outliers of an arm, and their causes as recorded in their rows.

use schemars::JsonSchema;
use serde::Serialize;
use stats::SortedSample;

use crate::times::{cpu_ns, queued_ns};
use model::values::Clock;
use model::values::metric::Metric;
use record::Rows;

/// Tukey's far-out fence: this many interquartile ranges above the upper quartile.
const RANGES: f64 = 3.0;
const LISTED_MAX: usize = 5;
/// A lost time below this share of the excess is no cause.
const SHARE_MIN: f64 = 0.05;
/// A count is a cause above this quantile of the arm's runs: 11 switches explain little if 10 are usual.
const UNUSUAL: f64 = 0.9;

/// The outliers of an arm. Times are in ns, other values in their base unit; excesses over the arm's median.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outliers {
    /// Runs above this time are outliers, ns.
    pub fence_ns: f64,
    /// Number of outliers.
    pub n: usize,
    /// Sum over all outliers.
    pub total: ExcessTime,
    /// Outliers without a recorded cause.
    pub n_without_cause: usize,
    /// Outliers with the largest excess, the largest first.
    pub largest: Vec<Outlier>,
}

/// An outlier.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    /// Number of this run among the arm's measured runs, from 1.
    pub run: usize,
    /// Block.
    pub block: usize,
    /// Step of the run's row.
    pub step: u32,
    /// Time of the run, ns.
    pub wall_ns: f64,
    /// The excess and its parts.
    pub lost: ExcessTime,
    /// Recorded causes, the longest time first.
    pub causes: Vec<Cause>,
}

/// An excess and its parts, each above the arm's median run; `None` if it was not recorded, or is no part of the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ExcessTime {
    /// Time above the median.
    pub excess_ns: f64,
    /// Preempted. Unknown for clean times and CPU times, which leave it out.
    pub preempted_ns: Option<f64>,
    /// Run-queue delay without preemptions. Unknown for clean times and CPU times.
    pub queued_ns: Option<f64>,
    /// Additional CPU time of the run itself.
    pub cpu_ns: Option<f64>,
}

/// A cause of a longer run, as its row shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Another program took the CPU.
    Preempted { ns: f64 },
    /// The run waited for a CPU.
    Queued { ns: f64 },
    /// The run had another exit status.
    Exit { status: i32 },
    /// The count is unusual; `typical` is the median run's.
    Count { metric: CountName, n: u64, typical: f64 },
}

/// A count of a row that can be a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountName {
    MajorFaults,
    Migrations,
    InvoluntarySwitches,
    VoluntarySwitches,
}

const COUNTS: [(CountName, Metric); 4] = [
    (CountName::MajorFaults, Metric::MajorFaults),
    (CountName::Migrations, Metric::Migrations),
    (CountName::InvoluntarySwitches, Metric::InvoluntarySwitches),
    (CountName::VoluntarySwitches, Metric::VoluntarySwitches),
];

/// The outliers among the rows `indices` with the times `times`. Clean times and CPU times are without preemptions and
/// waits for a CPU, so these are no causes then. `clock` is `None` for values that are no times: no time is a part of
/// their excess. `None` with too few runs, or times of zero.
pub(super) fn find(
    rows: &Rows,
    indices: &[usize],
    times: &[f64],
    clock: Option<Clock>,
) -> Option<Outliers> {
    let sorted = SortedSample::new(&stats::logs(times).ok()?).ok()?;
    let upper = sorted.quantile(0.75);
    let fence = upper + RANGES * (upper - sorted.quantile(0.25));
    let found: Vec<usize> = (0..times.len()).filter(|&at| times[at].ln() > fence).collect();
    let mut outliers: Vec<Outlier> = Vec::new();
    if !found.is_empty() {
        let usual = TypicalRun::of(rows, indices, times, clock)?;
        outliers.extend(found.iter().map(|&at| usual.outlier(rows, indices[at], at, times[at])));
    }
    let lost = outliers.iter().map(|outlier| outlier.lost);
    let total = lost.reduce(ExcessTime::plus).unwrap_or_default();
    let n_without_cause = outliers.iter().filter(|outlier| outlier.causes.is_empty()).count();
    let n = outliers.len();
    outliers.sort_by(|a, b| b.lost.excess_ns.total_cmp(&a.lost.excess_ns));
    outliers.truncate(LISTED_MAX);
    Some(Outliers { fence_ns: fence.exp(), n, total, n_without_cause, largest: outliers })
}

impl ExcessTime {
    /// The sum of each part; if only one is known, that one.
    fn plus(self, other: Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(a + b.unwrap_or(0.0)));
        Self {
            excess_ns: self.excess_ns + other.excess_ns,
            preempted_ns: sum(self.preempted_ns, other.preempted_ns),
            queued_ns: sum(self.queued_ns, other.queued_ns),
            cpu_ns: sum(self.cpu_ns, other.cpu_ns),
        }
    }
}

/// The median run of an arm. Only values above it are causes.
struct TypicalRun {
    wall_ns: f64,
    /// Whether the times have preemptions and waits for a CPU in them.
    has_waits: bool,
    preempted_ns: Option<f64>,
    queued_ns: Option<f64>,
    cpu_ns: Option<f64>,
    /// Counts by [`COUNTS`].
    counts: [Option<SortedSample>; COUNTS.len()],
    /// Whether many runs fail: a failure is no cause then.
    fails: bool,
}

impl TypicalRun {
    fn of(rows: &Rows, indices: &[usize], times: &[f64], clock: Option<Clock>) -> Option<Self> {
        let has_waits = match clock {
            Some(Clock::Wall) => true,
            Some(Clock::Clean) => !rows.has(Metric::StalledNs),
            Some(Clock::Cpu) | None => false,
        };
        let sorted = |value: &dyn Fn(usize) -> Option<f64>| {
            let values: Vec<f64> = indices.iter().filter_map(|&index| value(index)).collect();
            SortedSample::new(&values).ok()
        };
        let median = |value: &dyn Fn(usize) -> Option<f64>| Some(sorted(value)?.median());
        let n_failed = indices.iter().filter(|&&index| rows.exit(index) != 0).count();
        Some(Self {
            wall_ns: stats::median(times).ok()?,
            has_waits,
            preempted_ns: has_waits.then(|| median(&|index| preempted_ns(rows, index))).flatten(),
            queued_ns: has_waits.then(|| median(&|index| queued_ns(rows, index))).flatten(),
            cpu_ns: clock.and_then(|_| median(&|index| cpu_ns(rows, index))),
            counts: COUNTS.map(|(_, metric)| {
                sorted(&|index| rows.get(index, metric).map(|count| count as f64))
            }),
            fails: n_failed as f64 > (1.0 - UNUSUAL) * indices.len() as f64,
        })
    }

    /// The run in row `index`, the `at`-th of the arm.
    fn outlier(&self, rows: &Rows, index: usize, at: usize, wall_ns: f64) -> Outlier {
        let beyond = |ns: Option<f64>, usual: Option<f64>| Some(ns? - usual?);
        let lost = ExcessTime {
            excess_ns: wall_ns - self.wall_ns,
            preempted_ns: beyond(preempted_ns(rows, index), self.preempted_ns),
            queued_ns: beyond(queued_ns(rows, index), self.queued_ns),
            cpu_ns: beyond(cpu_ns(rows, index), self.cpu_ns),
        };
        Outlier {
            run: at + 1,
            block: rows.block(index).unwrap_or(0),
            step: rows.step(index),
            wall_ns,
            causes: self.causes(rows, index, &lost),
            lost,
        }
    }

    fn causes(&self, rows: &Rows, index: usize, lost: &ExcessTime) -> Vec<Cause> {
        let matters = |ns: &f64| *ns > SHARE_MIN * lost.excess_ns;
        let mut causes = Vec::new();
        causes.extend(lost.preempted_ns.filter(matters).map(|ns| Cause::Preempted { ns }));
        causes.extend(lost.queued_ns.filter(matters).map(|ns| Cause::Queued { ns }));
        if lost.queued_ns > lost.preempted_ns {
            causes.reverse();
        }
        let status = rows.exit(index);
        causes.extend((status != 0 && !self.fails).then_some(Cause::Exit { status }));
        let counts = COUNTS.iter().zip(&self.counts).filter(|((count, _), _)| {
            // Preempted time is better evidence than the count of preemptions.
            let is_count = lost.preempted_ns.is_none() && self.has_waits;
            *count != CountName::InvoluntarySwitches || is_count
        });
        causes.extend(counts.filter_map(|(&(name, metric), usual)| {
            let (n, usual) = (rows.get(index, metric)?, usual.as_ref()?);
            let is_unusual = n as f64 > usual.quantile(UNUSUAL);
            is_unusual.then_some(Cause::Count { metric: name, n, typical: usual.median() })
        }));
        causes
    }
}

fn preempted_ns(rows: &Rows, index: usize) -> Option<f64> {
    rows.get(index, Metric::PreemptedNs).map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Row;
    use record::fixture::row;

    /// 40 runs of slightly more than 10 ms. `changed` changes the last one.
    fn arm(changed: impl Fn(&mut Row)) -> Outliers {
        let mut rows = Rows::default();
        for step in 0..40 {
            let mut row = row(step + 1, 0, Some(step), 10_000_000 + u64::from(step % 7) * 10_000);
            row.set(Metric::PreemptedNs, Some(100_000));
            row.set(Metric::SpawnNs, Some(50_000));
            row.set(Metric::RunQueueWaitNs, Some(150_000));
            row.set(Metric::VoluntarySwitches, Some(2 + u64::from(step % 4)));
            row.set(Metric::InvoluntarySwitches, Some(1));
            if step == 39 {
                row.set(Metric::WallNs, Some(20_030_000));
                changed(&mut row);
            }
            rows.push(&row);
        }
        found(&rows, Clock::Wall)
    }

    fn found(rows: &Rows, clock: Clock) -> Outliers {
        let indices: Vec<usize> = (0..rows.len()).collect();
        let times: Vec<f64> =
            indices.iter().map(|&at| rows.get(at, Metric::WallNs).unwrap() as f64).collect();
        find(rows, &indices, &times, Some(clock)).unwrap()
    }

    #[track_caller]
    fn check(changed: impl Fn(&mut Row), expected: &[Cause]) {
        let found = arm(changed);
        assert_eq!(found.n, 1);
        let outlier = &found.largest[0];
        assert_eq!((outlier.run, outlier.block, outlier.step), (40, 39, 40));
        assert_eq!((outlier.wall_ns, outlier.lost.excess_ns), (20.03e6, 10e6));
        assert_eq!(outlier.causes, expected);
        assert_eq!(found.n_without_cause, usize::from(expected.is_empty()));
        assert_eq!(found.total, outlier.lost);
    }

    #[test]
    fn lost_time_is_what_the_median_run_has_not() {
        check(|_| {}, &[]);
        let preempted = |ns: u64| move |row: &mut Row| row.set(Metric::PreemptedNs, Some(ns));
        check(preempted(9_100_000), &[Cause::Preempted { ns: 9e6 }]);
        // A part below 5 % of the excess is no cause.
        check(preempted(550_000), &[]);
        // A wait follows each preemption. Only the rest of the run-queue delay is queueing.
        check(|row| row.set(Metric::RunQueueWaitNs, Some(4_150_000)), &[Cause::Queued { ns: 4e6 }]);
        check(
            |row| {
                row.set(Metric::PreemptedNs, Some(2_100_000));
                row.set(Metric::RunQueueWaitNs, Some(8_150_000));
            },
            &[Cause::Queued { ns: 6e6 }, Cause::Preempted { ns: 2e6 }],
        );
    }

    #[test]
    fn clean_times_have_no_waits_to_explain_them() {
        let mut rows = Rows::default();
        for step in 0..40 {
            let is_last = step == 39;
            let wall_ns = 10_000_000 + u64::from(step % 7) * 10_000;
            let mut row =
                row(step + 1, 0, Some(step), wall_ns + if is_last { 10_000_000 } else { 0 });
            row.set(Metric::StalledNs, Some(0));
            row.set(Metric::PreemptedNs, Some(if is_last { 9_000_000 } else { 100_000 }));
            row.set(Metric::RunQueueWaitNs, Some(if is_last { 19_000_000 } else { 150_000 }));
            row.set(Metric::InvoluntarySwitches, Some(if is_last { 9 } else { 1 }));
            rows.push(&row);
        }
        let n_causes = |clock| found(&rows, clock).largest[0].causes.len();
        let n = [Clock::Wall, Clock::Clean, Clock::Cpu].map(n_causes);
        assert_eq!(n, [2, 0, 0]);
    }

    #[test]
    fn a_count_is_a_cause_if_it_is_unusual() {
        let switches = |n: u64| move |row: &mut Row| row.set(Metric::VoluntarySwitches, Some(n));
        check(switches(5), &[]);
        let metric = CountName::VoluntarySwitches;
        check(switches(30), &[Cause::Count { metric, n: 30, typical: 3.5 }]);
        // With a known preempted time, the count of preemptions is no cause.
        check(|row| row.set(Metric::InvoluntarySwitches, Some(9)), &[]);
        check(
            |row| {
                row.set(Metric::PreemptedNs, None);
                row.set(Metric::InvoluntarySwitches, Some(9));
            },
            &[Cause::Count { metric: CountName::InvoluntarySwitches, n: 9, typical: 1.0 }],
        );
    }

    #[test]
    fn failing_is_a_cause_where_it_is_an_exception() {
        check(|row| row.exit = 3, &[Cause::Exit { status: 3 }]);
        let mut rows = Rows::default();
        for step in 0..40 {
            let mut row = row(step + 1, 0, Some(step), if step == 39 { 9000 } else { 1000 });
            row.exit = i32::from(step > 34);
            rows.push(&row);
        }
        assert_eq!(found(&rows, Clock::Wall).largest[0].causes, []);
    }

    #[test]
    fn the_largest_are_listed_and_all_are_counted() {
        let mut rows = Rows::default();
        for step in 0..60_u32 {
            let wall_ns = if step < 53 { 1_000_000 } else { 2_000_000 + 1000 * u64::from(step) };
            rows.push(&row(step + 1, 0, Some(step), wall_ns));
        }
        let found = found(&rows, Clock::Wall);
        let runs: Vec<usize> = found.largest.iter().map(|outlier| outlier.run).collect();
        assert_eq!((found.n, runs), (7, vec![60, 59, 58, 57, 56]));
        assert_eq!(found.total.excess_ns, 7e6 + 7.0 * 56e3);
        assert_eq!((found.total.cpu_ns, found.total.preempted_ns), (Some(0.0), None));
    }

    #[test]
    fn equal_times_have_none() {
        let mut rows = Rows::default();
        (0..20).for_each(|step| rows.push(&row(step + 1, 0, Some(step), 5)));
        assert_eq!(found(&rows, Clock::Wall).n, 0);
    }
}
