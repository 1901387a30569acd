//! One measured run, and its line in a record.

use serde::de::{Deserializer as _, SeqAccess, Visitor};

use model::values::Compared;
use model::values::metric::{METRICS, Metric};
use model::words::json_error;

/// Measurements of one step. A value that the machine cannot measure is `None`, never zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Position of the step in the order of execution, from 0.
    pub step: u32,
    /// Index of the arm in the plan.
    pub arm: u32,
    /// Block, from 0; `None` for a warm-up run.
    pub block: Option<u32>,
    /// Start of this run's clock, in nanoseconds after the header's `clock_origin_ns`.
    pub started_ns: u64,
    /// The CPU at the start of the run.
    pub cpu: Option<u32>,
    /// Exit status (0 to 255), or minus the number of the signal that ended the run.
    pub exit: i32,
    /// Whether `--timeout` ended the run.
    pub timed_out: bool,
    /// Whether the run failed and ended its session, so its time does not count. Derived from the plan and the events, not
    /// stored.
    pub is_rejected: bool,
    /// The compared quantity, derived from the plan.
    pub compared: Compared,
    /// The compared value in the arm's base unit, if it is no integer metric: for example a time per loop in ns.
    pub value: Option<f64>,
    /// The metrics, indexed by [`Metric`].
    pub values: [Option<u64>; METRICS.len()],
}

impl Row {
    pub fn new(step: u32, arm: u32, block: Option<u32>, started_ns: u64) -> Self {
        Self {
            step,
            arm,
            block,
            started_ns,
            cpu: None,
            exit: 0,
            timed_out: false,
            is_rejected: false,
            compared: Compared::default(),
            value: None,
            values: [None; METRICS.len()],
        }
    }

    /// The compared value in its base unit.
    pub fn headline(&self) -> Option<f64> {
        self.compared.value(self.value, |metric| self.get(metric))
    }

    /// [`Rows::compares_other_values`](crate::Rows::compares_other_values) of this row.
    pub fn compares_other_value(&self) -> bool {
        self.compared.decide_on.map_or(self.value.is_some(), |it| it.clock().is_none())
    }

    /// The compared value as a cost: more is worse.
    pub fn cost(&self) -> Option<f64> {
        self.headline().map(|value| self.compared.better.turned(value))
    }

    pub fn get(&self, metric: Metric) -> Option<u64> {
        self.values[metric as usize]
    }

    pub fn set(&mut self, metric: Metric, value: Option<u64>) {
        self.values[metric as usize] = value;
    }

    /// How long the run kept the session busy, ns: its wall time, or the time under valgrind.
    pub fn span_ns(&self) -> Option<u64> {
        self.get(Metric::WallNs).or_else(|| self.get(Metric::CountingNs))
    }

    /// Computes the stall of a run from an earlier version, if the run never slept. Such a run had one task, so nothing
    /// ran while that task waited. The wait before the clock started is at most the launch time.
    pub fn know_stall(&mut self) {
        let is_known = self.get(Metric::StalledNs).is_some() || self.get(Metric::Loops).is_some();
        let never_slept = self.get(Metric::VoluntarySwitches).is_some_and(|n| n <= 1);
        if is_known || !never_slept {
            return;
        }
        let Some(waited_ns) = self.get(Metric::RunQueueWaitNs) else { return };
        let launch_ns = self.get(Metric::SpawnNs).unwrap_or(0);
        let preempted_ns = self.get(Metric::PreemptedNs).unwrap_or(0);
        let stalled_ns = waited_ns.saturating_sub(launch_ns).max(preempted_ns);
        let wall_ns = self.get(Metric::WallNs).unwrap_or(0);
        self.set(Metric::StalledNs, Some(stalled_ns.min(wall_ns)));
        self.set(Metric::UnclearNs, Some(0));
    }

    /// Whether the run's time counts: the run did not fail, and no timeout cut it short.
    pub fn is_time(&self) -> bool {
        !self.timed_out && !self.is_rejected
    }

    /// The exit status in a shell's terms: the status, or 128 + the number of the signal.
    pub fn shell_exit(&self) -> i32 {
        if self.exit < 0 { 128 - self.exit } else { self.exit }
    }
}

/// Columns of every row, before the metrics.
pub const FIXED_COLUMNS: [&str; 7] =
    ["step", "arm", "block", "started_ns", "cpu", "exit", "timed_out"];

const CELLS_MAX: usize = 64;

/// The columns of a record: the metric of each cell after the fixed ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    cells: Vec<CellKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Metric(Metric),
    /// The row's own value, which is not an integer.
    Value,
    Unknown,
}

const VALUE: &str = "value";

impl Layout {
    /// The layout that stores these metrics.
    pub fn new(metrics: &[Metric]) -> Self {
        Self { cells: metrics.iter().copied().map(CellKind::Metric).collect() }
    }

    /// The layout that also stores each row's own value.
    pub fn with_value(mut self) -> Self {
        self.cells.push(CellKind::Value);
        self
    }

    /// The layout behind a header's column names. Errors: the first column that is not at its fixed place in the
    /// format.
    pub fn from_names(names: &[String]) -> Result<Self, String> {
        for (index, fixed) in FIXED_COLUMNS.iter().enumerate() {
            let name = names.get(index).map_or("missing", String::as_str);
            if name != *fixed {
                return Err(format!("column {index} is {name}, not {fixed}"));
            }
        }
        if names.len() > CELLS_MAX {
            return Err(format!("{} columns; this version reads at most {CELLS_MAX}", names.len()));
        }
        let cell = |name: &String| match Metric::from_column(name) {
            Some(metric) => CellKind::Metric(metric),
            None if name == VALUE => CellKind::Value,
            None => CellKind::Unknown,
        };
        Ok(Self { cells: names[FIXED_COLUMNS.len()..].iter().map(cell).collect() })
    }

    pub fn names(&self) -> Vec<String> {
        let names = self.cells.iter().filter_map(|cell| match cell {
            CellKind::Metric(metric) => Some(metric.info().column),
            CellKind::Value => Some(VALUE),
            CellKind::Unknown => None,
        });
        FIXED_COLUMNS.into_iter().chain(names).map(String::from).collect()
    }

    /// Appends a row as one line.
    pub fn encode(&self, row: &Row, line: &mut Vec<u8>) {
        let mut cells = [CellNumber::Integer(None); CELLS_MAX];
        let fixed = [
            Some(i64::from(row.step)),
            Some(i64::from(row.arm)),
            row.block.map(i64::from),
            Some(row.started_ns.cast_signed()),
            row.cpu.map(i64::from),
            Some(i64::from(row.exit)),
            Some(i64::from(row.timed_out)),
        ];
        for (cell, value) in cells.iter_mut().zip(fixed) {
            *cell = CellNumber::Integer(value);
        }
        let n_cells = FIXED_COLUMNS.len() + self.cells.len();
        for (cell, kind) in cells[FIXED_COLUMNS.len()..].iter_mut().zip(&self.cells) {
            *cell = match kind {
                CellKind::Metric(metric) => {
                    CellNumber::Integer(row.get(*metric).map(u64::cast_signed))
                }
                CellKind::Value => CellNumber::Real(row.value),
                CellKind::Unknown => CellNumber::Integer(None),
            };
        }
        serde_json::to_writer(&mut *line, &cells[..n_cells])
            .expect("numbers and nulls always serialise into memory");
        line.push(b'\n');
    }

    /// Reads a row from its line. Errors: the line is wrong; the message names the column.
    pub fn decode(&self, line: &[u8]) -> Result<Row, String> {
        let mut json = serde_json::Deserializer::from_slice(line);
        let value_at = self.cells.iter().position(|cell| *cell == CellKind::Value);
        let cells = CellsVisitor { value_at: value_at.map(|at| at + FIXED_COLUMNS.len()) };
        let found = json.deserialize_seq(cells).map_err(|error| json_error(&error))?;
        let ParsedCells { cells, n_cells, value } = found;
        json.end().map_err(|error| json_error(&error))?;
        let n_columns = FIXED_COLUMNS.len() + self.cells.len();
        if n_cells != n_columns {
            return Err(format!("{n_cells} cells in a record of {n_columns} columns"));
        }
        let (step, arm) = (required(&cells, 0)?, required(&cells, 1)?);
        let mut row = Row::new(step, arm, optional(&cells, 2)?, required(&cells, 3)?);
        row.cpu = optional(&cells, 4)?;
        row.exit = required(&cells, 5)?;
        row.timed_out = cells[6] == Some(1);
        row.value = value;
        for (index, cell) in self.cells.iter().enumerate() {
            if let CellKind::Metric(metric) = cell {
                let cell = cells[FIXED_COLUMNS.len() + index];
                row.set(*metric, in_range(cell, metric.info().column)?);
            }
        }
        Ok(row)
    }
}

fn in_range<T: TryFrom<i64>>(cell: Option<i64>, column: &str) -> Result<Option<T>, String> {
    let refused = |value| format!("column {column}: {value} is out of range");
    cell.map(|value| T::try_from(value).map_err(|_| refused(value))).transpose()
}

fn optional<T: TryFrom<i64>>(cells: &[Option<i64>], index: usize) -> Result<Option<T>, String> {
    in_range(cells[index], FIXED_COLUMNS[index])
}

fn required<T: TryFrom<i64>>(cells: &[Option<i64>], index: usize) -> Result<T, String> {
    optional(cells, index)?.ok_or_else(|| format!("column {} is null", FIXED_COLUMNS[index]))
}

#[derive(Clone, Copy, serde::Serialize)]
#[serde(untagged)]
enum CellNumber {
    Integer(Option<i64>),
    Real(Option<f64>),
}

/// Reads a JSON array of integers and nulls, and one cell with any number. It does not allocate, because a record can
/// have millions of lines.
struct CellsVisitor {
    value_at: Option<usize>,
}

struct ParsedCells {
    cells: [Option<i64>; CELLS_MAX],
    n_cells: usize,
    value: Option<f64>,
}

impl<'de> Visitor<'de> for CellsVisitor {
    type Value = ParsedCells;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an array of integers and nulls")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut read = ParsedCells { cells: [None; CELLS_MAX], n_cells: 0, value: None };
        loop {
            if self.value_at == Some(read.n_cells) {
                let Some(value) = seq.next_element::<Option<f64>>()? else { return Ok(read) };
                read.value = value;
            } else {
                let Some(cell) = seq.next_element::<Option<i64>>()? else { return Ok(read) };
                if let Some(slot) = read.cells.get_mut(read.n_cells) {
                    *slot = cell;
                }
            }
            read.n_cells += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> Layout {
        Layout::new(&[Metric::WallNs, Metric::UserUs, Metric::Cycles])
    }

    #[track_caller]
    fn check_error(line: &str, expected: &str) {
        let error = layout().decode(line.as_bytes()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(step: u32, block: Option<u32>, exit in -64..256i32, timed_out: bool,
                                   wall in 0..i64::MAX as u64, cycles in proptest::option::of(0..i64::MAX as u64),
                                   value in proptest::option::of(1e-300..1e300)) {
            let layout = layout().with_value();
            let mut row = Row { cpu: Some(1), exit, timed_out, value, ..Row::new(step, 3, block, 17) };
            row.set(Metric::WallNs, Some(wall));
            row.set(Metric::Cycles, cycles);
            let mut line = Vec::new();
            layout.encode(&row, &mut line);
            prop_assert_eq!(layout.decode(&line).unwrap(), row);
            prop_assert_eq!(Layout::from_names(&layout.names()).unwrap(), layout);
        }
    }

    #[test]
    fn a_line_is_short_and_plain() {
        let mut row = Row { exit: -9, ..Row::new(2, 1, None, 5) };
        row.set(Metric::WallNs, Some(39_000));
        let mut line = Vec::new();
        layout().encode(&row, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "[2,1,null,5,null,-9,0,39000,null,null]\n");
    }

    #[test]
    fn a_bad_line_says_what_is_wrong() {
        check_error("[1,2]", "2 cells in a record of 10 columns");
        check_error("[null,1,null,5,null,0,0,1,1,1]", "column step is null");
        check_error("[-1,1,null,5,null,0,0,1,1,1]", "column step: -1 is out of range");
        check_error("[1,1,null,5,null,0,0,-1,1,1]", "column wall_ns: -1 is out of range");
        check_error("[1,1,null,5,null,0,0,1,1.5,1]", "1.5");
        check_error("[1,1,null,5", "EOF");
    }

    #[test]
    fn a_column_of_a_later_version_is_passed_over() {
        let mut names = layout().names();
        names.insert(7, "dwarf_tosses".into());
        let row = Layout::from_names(&names).unwrap().decode(b"[0,0,0,0,0,0,0,9,77,8,7]").unwrap();
        assert_eq!(row.get(Metric::WallNs), Some(77));
        assert!(Layout::from_names(&names[1..]).unwrap_err().contains("column 0 is arm, not step"));
    }
}
