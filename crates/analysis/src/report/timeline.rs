//! The rows of a group over time: all of them, or exact slices and the extremes.

use serde::Serialize;
use stats::SortedSample;

use crate::launches::SliceRule;
use crate::times::{in_base_unit, queued_ns};
use model::values::Clock;
use model::values::metric::Metric;
use record::{Event, Record, Rows};

/// Number of time slices of all arms.
const SLICES: usize = 150;
/// Rows of each arm with the largest and the smallest values, shown beside the slices.
const LARGEST: usize = 60;
const SMALLEST: usize = 20;
/// Smallest lost share of a row that is marked.
const LOST_MIN: f64 = 0.01;

/// Smallest slowdown of a clock that is marked.
const SLOWER_MIN: f64 = 0.03;
/// Quantile of all clocks that stands for an undisturbed row.
const FULL_CLOCK: f64 = 0.9;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Timeline {
    /// Every row, warm-ups included.
    All { rows: RowTable },
    /// Slices of all rows, and the rows with extreme values.
    Sliced {
        /// Number of measured rows.
        n: usize,
        slices: Vec<TimeSlice>,
        /// The rows with extreme values.
        rows: RowTable,
    },
}

/// Rows by column. A column that no row has is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RowTable {
    /// Position in the order of execution.
    pub step: Vec<u32>,
    pub arm: Vec<usize>,
    /// Block; `None` for a warm-up.
    pub block: Vec<Option<usize>>,
    /// Start, ns after the start of the session's clock.
    pub started_ns: Vec<u64>,
    pub value: Vec<f64>,
    /// CPU at the start of the row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<Option<u32>>,
    /// CPU time, ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_ns: Vec<Option<f64>>,
    pub events: Vec<RowEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowEvent {
    pub row: usize,
    pub event: EventKind,
    /// Time in ns, count, share or exit status, depending on the kind.
    pub amount: f64,
}

/// A kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Another program took the CPU of the row, ns.
    Preempted,
    /// Run-queue delay, ns.
    Queued,
    /// Migrations to another CPU, count.
    Migrated,
    /// Page faults that read from a device, count.
    MajorFaults,
    /// How much slower the clock was than in the other rows, as a share.
    Throttled,
    /// The shield may have been lost before this row: other programs may have disturbed it.
    Unshielded,
    /// Exit status other than 0.
    Failed,
    /// The timeout ended the row.
    TimedOut,
}

/// The rows of an arm in a slice of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSlice {
    /// Index of the arm in the group.
    pub arm: usize,
    /// Start of the first and of the last row, ns.
    pub started_ns: [u64; 2],
    pub n: usize,
    /// Smallest, 25 %, median, 75 %, largest.
    pub quantiles: [f64; 5],
    /// Number of rows with a disturbance.
    pub n_with_events: usize,
}

/// The rows of these arms: slices of processes if there are any, otherwise runs.
pub fn timeline(record: &Record, arms: &[usize], n_max: usize) -> Timeline {
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    let lost = record.events.iter().find_map(|event| match event {
        Event::IsolationLost { first_step, .. } => Some(*first_step),
        _ => None,
    });
    let rule = SliceRule::of(&record.header.plan, None);
    let source = TimelineSource { rows, rule, record, arms, lost, full_clock: full_clock(rows) };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for index in 0..rows.len() {
        let place = arms.iter().position(|&arm| arm == rows.arm(index));
        found.extend(place.map(|place| (index, place)));
    }
    if found.len() <= n_max {
        return Timeline::All { rows: source.table(&found) };
    }
    found.retain(|&(index, _)| rows.is_measurement(index));
    let mut slices = Vec::new();
    let mut extremes = Vec::new();
    for place in 0..arms.len() {
        let of_arm: Vec<(usize, f64)> = found
            .iter()
            .filter(|found| found.1 == place)
            .filter_map(|&(index, _)| Some((index, source.value(index)?)))
            .collect();
        slices.extend(source.slices(place, &of_arm));
        let mut by_value = of_arm;
        by_value.sort_by(|a, b| a.1.total_cmp(&b.1));
        let smallest = by_value.iter().take(SMALLEST);
        let largest = by_value.iter().skip(SMALLEST).rev().take(LARGEST);
        extremes.extend(smallest.chain(largest).map(|&(index, _)| (index, place)));
    }
    extremes.sort_unstable();
    Timeline::Sliced { n: found.len(), slices, rows: source.table(&extremes) }
}

struct TimelineSource<'a> {
    rows: &'a Rows,
    rule: SliceRule,
    record: &'a Record,
    arms: &'a [usize],
    /// The first step that may have run without the shield.
    lost: Option<u32>,
    /// Cycles per ns of an undisturbed row, if the machine counts cycles.
    full_clock: Option<f64>,
}

fn full_clock(rows: &Rows) -> Option<f64> {
    let clocks: Vec<f64> = (0..rows.len()).filter_map(|index| clock(rows, index)).collect();
    Some(SortedSample::new(&clocks).ok()?.quantile(FULL_CLOCK))
}

/// Cycles per ns of CPU time.
fn clock(rows: &Rows, index: usize) -> Option<f64> {
    let ns = rows.get(index, Metric::TaskClockNs).filter(|ns| *ns > 0)?;
    Some(in_base_unit(rows, index, Metric::Cycles)? / ns as f64)
}

impl TimelineSource<'_> {
    fn value(&self, index: usize) -> Option<f64> {
        match &self.record.slices {
            Some(_) => Some(self.rule.slice(&self.rows.row(index))?.value),
            None => self.rows.headline(index),
        }
    }

    fn slices(&self, place: usize, rows: &[(usize, f64)]) -> Vec<TimeSlice> {
        let n_slices = (SLICES / self.arms.len().max(1)).max(SLICES / 5);
        let chunks = rows.chunks(rows.len().div_ceil(n_slices).max(1));
        let slice = |part: &[(usize, f64)]| {
            let values: Vec<f64> = part.iter().map(|row| row.1).collect();
            let sorted = SortedSample::new(&values).ok()?;
            let start = |at: usize| self.rows.started_ns(part[at].0);
            let has_event = |row: &&(usize, f64)| self.events(row.0).next().is_some();
            Some(TimeSlice {
                arm: place,
                started_ns: [start(0), start(part.len() - 1)],
                n: part.len(),
                quantiles: [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sorted.quantile(p)),
                n_with_events: part.iter().filter(has_event).count(),
            })
        };
        chunks.filter_map(slice).collect()
    }

    fn table(&self, chosen: &[(usize, usize)]) -> RowTable {
        let mut table = RowTable::default();
        for &(index, place) in chosen {
            let Some(value) = self.value(index) else { continue };
            let at = table.step.len();
            table.step.push(self.rows.step(index));
            table.arm.push(place);
            table.block.push(self.rows.block(index));
            table.started_ns.push(self.rows.started_ns(index));
            table.value.push(value);
            table.cpu.push(self.rows.row(index).cpu);
            table.cpu_ns.push(self.rows.time_ns(index, Clock::Cpu));
            let events = self.events(index);
            table.events.extend(events.map(|(event, amount)| RowEvent { row: at, event, amount }));
        }
        if table.cpu.iter().all(Option::is_none) {
            table.cpu.clear();
        }
        if table.cpu_ns.iter().all(Option::is_none) {
            table.cpu_ns.clear();
        }
        table
    }

    fn events(&self, index: usize) -> impl Iterator<Item = (EventKind, f64)> {
        let rows = self.rows;
        let get = |metric| rows.get(index, metric).map(|value| value as f64);
        let wall = get(Metric::WallNs).unwrap_or(0.0);
        let lost = |ns: Option<f64>| ns.filter(|ns| *ns > 0.0 && *ns >= LOST_MIN * wall);
        let counted = |n: Option<f64>| n.filter(|&n| n > 0.0);
        let status = f64::from(rows.exit(index));
        let has_failed = !rows.timed_out(index) && (status != 0.0 || rows.is_rejected(index));
        let slower = self.full_clock.zip(clock(rows, index)).map(|(full, clock)| clock / full);
        let is_unshielded = self.lost.is_some_and(|first| rows.step(index) >= first);
        [
            (EventKind::Preempted, lost(get(Metric::PreemptedNs))),
            (EventKind::Queued, lost(queued_ns(rows, index))),
            (EventKind::Migrated, counted(get(Metric::Migrations))),
            (EventKind::MajorFaults, counted(get(Metric::MajorFaults))),
            (EventKind::Throttled, slower.filter(|share| *share < 1.0 - SLOWER_MIN)),
            (EventKind::Unshielded, is_unshielded.then_some(1.0)),
            (EventKind::TimedOut, rows.timed_out(index).then_some(wall)),
            (EventKind::Failed, has_failed.then_some(status)),
        ]
        .into_iter()
        .filter_map(|(event, amount)| Some((event, amount?)))
    }
}
