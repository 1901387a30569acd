//! Rows by column, so millions of them fit. A column takes 4 bytes a row until a value needs 8; an unused metric takes
//! none.

use crate::row::Row;
use model::values::metric::{METRICS, Metric};
use model::values::{Clock, Compared, time_ns};

/// Values of one column. Internally, the largest integer of the width stands for "absent".
#[derive(Debug, Default)]
enum PackedColumn {
    #[default]
    Absent,
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl PackedColumn {
    /// Appends to a column of `len` values.
    fn push(&mut self, len: usize, value: Option<u64>) {
        match (&mut *self, value) {
            (Self::Absent, None) => {}
            (Self::Absent, Some(_)) => {
                *self = Self::Narrow(vec![u32::MAX; len]);
                self.push(len, value);
            }
            (Self::Narrow(narrow), None) => narrow.push(u32::MAX),
            (Self::Narrow(narrow), Some(value)) => match u32::try_from(value) {
                Ok(small) if small < u32::MAX => narrow.push(small),
                _ => {
                    let widen = |&v: &u32| if v == u32::MAX { u64::MAX } else { u64::from(v) };
                    let mut wide: Vec<u64> = narrow.iter().map(widen).collect();
                    wide.push(value);
                    *self = Self::Wide(wide);
                }
            },
            (Self::Wide(wide), value) => wide.push(value.unwrap_or(u64::MAX)),
        }
    }

    fn get(&self, index: usize) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Narrow(narrow) => Some(narrow[index]).filter(|&v| v < u32::MAX).map(u64::from),
            Self::Wide(wide) => Some(wide[index]).filter(|&v| v < u64::MAX),
        }
    }
}

#[derive(Debug)]
struct MetricColumns([PackedColumn; METRICS.len()]);

impl Default for MetricColumns {
    fn default() -> Self {
        Self(std::array::from_fn(|_| PackedColumn::default()))
    }
}

#[derive(Debug, Default)]
pub struct Rows {
    step: Vec<u32>,
    arm: Vec<u32>,
    block: PackedColumn,
    started_ns: PackedColumn,
    cpu: PackedColumn,
    exit: Vec<i16>,
    timed_out: Vec<bool>,
    /// Indices of failed rows, in order; mostly empty.
    rejected: Vec<usize>,
    /// The rows' own values, NaN for a row without one; empty if no row has one.
    own: Vec<f64>,
    compared: Compared,
    values: MetricColumns,
}

impl Rows {
    /// No rows, for a session that compares this quantity.
    pub fn of(compared: Compared) -> Self {
        Self { compared, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.step.len()
    }

    pub fn push(&mut self, row: &Row) {
        let len = self.len();
        self.step.push(row.step);
        self.arm.push(row.arm);
        self.block.push(len, row.block.map(u64::from));
        self.started_ns.push(len, Some(row.started_ns));
        self.cpu.push(len, row.cpu.map(u64::from));
        self.exit.push(i16::try_from(row.exit).unwrap_or(i16::MAX));
        self.timed_out.push(row.timed_out);
        self.rejected.extend(row.is_rejected.then_some(len));
        if row.value.is_some() || !self.own.is_empty() {
            self.own.resize(len, f64::NAN);
            self.own.push(row.value.unwrap_or(f64::NAN));
        }
        for (column, value) in self.values.0.iter_mut().zip(row.values) {
            column.push(len, value);
        }
    }

    pub fn row(&self, index: usize) -> Row {
        let narrow = |value: u64| u32::try_from(value).expect("came from a u32");
        Row {
            step: self.step[index],
            arm: self.arm[index],
            block: self.block.get(index).map(narrow),
            started_ns: self.started_ns(index),
            cpu: self.cpu.get(index).map(narrow),
            exit: i32::from(self.exit[index]),
            timed_out: self.timed_out[index],
            is_rejected: self.is_rejected(index),
            compared: self.compared,
            value: self.own(index),
            values: std::array::from_fn(|metric| self.values.0[metric].get(index)),
        }
    }

    pub fn own(&self, index: usize) -> Option<f64> {
        self.own.get(index).copied().filter(|value| !value.is_nan())
    }

    pub fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    pub fn headline(&self, index: usize) -> Option<f64> {
        self.compared.value(self.own(index), |metric| self.get(index, metric))
    }

    /// The compared value as a cost: more is worse.
    pub fn cost(&self, index: usize) -> Option<f64> {
        self.headline(index).map(|value| self.compared.better.turned(value))
    }

    pub fn compared(&self) -> Compared {
        self.compared
    }

    /// Whether the compared quantity is no time that Stillwell's clocks read.
    pub fn compares_other_values(&self) -> bool {
        self.compared.decide_on.map_or_else(|| self.has_own(), |it| it.clock().is_none())
    }

    pub fn time_ns(&self, index: usize, clock: Clock) -> Option<f64> {
        time_ns(clock, |metric| self.get(index, metric))
    }

    pub fn get(&self, index: usize, metric: Metric) -> Option<u64> {
        self.values.0[metric as usize].get(index)
    }

    /// How long the row's run kept the session busy, ns: its wall time, or the time under valgrind.
    pub fn span_ns(&self, index: usize) -> Option<u64> {
        self.get(index, Metric::WallNs).or_else(|| self.get(index, Metric::CountingNs))
    }

    pub fn step(&self, index: usize) -> u32 {
        self.step[index]
    }

    pub fn arm(&self, index: usize) -> usize {
        self.arm[index] as usize
    }

    /// The block of a row; `None` for a warm-up run.
    pub fn block(&self, index: usize) -> Option<usize> {
        self.block.get(index).map(|block| usize::try_from(block).expect("came from a u32"))
    }

    /// Start of the row's run, ns after the origin of the record's clock.
    pub fn started_ns(&self, index: usize) -> u64 {
        self.started_ns.get(index).expect("every row has a start")
    }

    /// Whether the timeout ended the row's run.
    pub fn timed_out(&self, index: usize) -> bool {
        self.timed_out[index]
    }

    pub fn exit(&self, index: usize) -> i32 {
        self.exit[index].into()
    }

    /// Notes that the run of a step failed. Its plan may not tell, as when `--validate` refuses the output.
    pub(crate) fn reject(&mut self, step: u32) {
        if let Ok(index) = self.step.binary_search(&step)
            && let Err(place) = self.rejected.binary_search(&index)
        {
            self.rejected.insert(place, index);
        }
    }

    /// Whether the row's run failed and so ended its session.
    pub fn is_rejected(&self, index: usize) -> bool {
        self.rejected.binary_search(&index).is_ok()
    }

    /// Whether the run's time counts: the run did not fail, and no timeout cut it short.
    pub fn is_time(&self, index: usize) -> bool {
        !self.timed_out[index] && !self.is_rejected(index)
    }

    /// Whether the row is a measurement: a time that counts, not of a warm-up.
    pub fn is_measurement(&self, index: usize) -> bool {
        self.block.get(index).is_some() && self.is_time(index)
    }

    /// The indices of the measurements.
    pub fn measurements(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&at| self.is_measurement(at))
    }

    /// The indices of these arms' measurements.
    pub fn measurements_of<'a>(&'a self, arms: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        self.measurements().filter(|&at| arms.contains(&self.arm(at)))
    }

    pub fn has(&self, metric: Metric) -> bool {
        !matches!(self.values.0[metric as usize], PackedColumn::Absent)
    }

    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.len()).map(|index| self.row(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = Option<u64>> {
        let edge = u64::from(u32::MAX);
        prop_oneof![Just(None), (edge - 2..=edge + 2).prop_map(Some), (0..9u64).prop_map(Some)]
    }

    proptest! {
        #[test]
        fn rows_come_back_as_they_went_in(walls in proptest::collection::vec((any_value(), any_value()), 0..40)) {
            let mut rows = Rows::default();
            let mut expected = Vec::new();
            for (step, (wall, cycles)) in (0u32..).zip(walls) {
                let value = wall.filter(|wall| wall % 2 == 0).map(|wall| wall as f64 / 3.0);
                let mut row = Row { exit: -9, timed_out: true, value, ..Row::new(step, 1, Some(2), 3) };
                row.set(Metric::WallNs, wall);
                row.set(Metric::Cycles, cycles);
                rows.push(&row);
                expected.push(row);
            }
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), expected);
        }
    }
}
