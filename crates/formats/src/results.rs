//! Results of any benchmark program: the content of one file. Readers make them, edits change them, and the writers in
//! `render` start from them.
//!
//! The values of a benchmark are in one vector, because a file may have 200 000 launches of five values.

pub mod statistics;

pub use statistics::{NOTE_ONE_PROCESS, NOTE_ORDER, NOTE_SUMMARIES, SummaryStatistics};

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::units::unit_ns;

/// Facts beside the values, by key.
pub type Metadata = BTreeMap<String, MetaValue>;

/// One value of metadata.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MetaValue {
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<String>),
}

impl fmt::Display for MetaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}

impl From<&str> for MetaValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// Unit of the values of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResultUnit {
    /// Nanoseconds per loop.
    #[default]
    Time,
    Bytes,
    /// Pieces.
    Count,
    /// The text of the source, for example `ops/s`.
    Other(String),
}

impl ResultUnit {
    /// Text of the unit beside a value.
    pub fn name(&self) -> &str {
        match self {
            Self::Time => "ns",
            Self::Bytes => "byte",
            Self::Count => "count",
            Self::Other(name) => name,
        }
    }

    /// Whether more is better: a throughput, for example `ops/s`, `MB/s`, `iter/sec` or JMH's `ops/ns`.
    pub fn more_is_better(&self) -> bool {
        let Self::Other(name) = self else { return false };
        name.rsplit_once('/').is_some_and(|(_, per)| unit_ns(per).is_some())
    }
}

/// Content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Format and version, for example `pyperf 1.0`.
    pub tool: String,
    /// Metadata of all benchmarks. The same key of a benchmark or launch overrides it.
    pub metadata: Metadata,
    /// In the order of the file.
    pub benchmarks: Vec<BenchmarkValues>,
    /// Format of the file; `None` for another origin.
    pub format: Option<crate::FileFormat>,
    /// Limits of this source, with the reason.
    pub notes: Vec<String>,
    /// Benchmarks of the file that could not be read.
    pub unread: Vec<UnreadBenchmark>,
    /// Whether these are commands, measured for a comparison with one another.
    pub are_commands: bool,
    /// Benchmark index of each launch in the order of measurement; empty if the source lacks the order.
    pub order: Vec<u32>,
}

impl Results {
    /// Whether the commands are compared with one another. Only times are, because the words for a ratio are about times.
    pub fn compares_commands(&self) -> bool {
        self.are_commands && self.benchmarks.iter().all(|it| it.unit == ResultUnit::Time)
    }
}

/// A benchmark that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnreadBenchmark {
    /// Name in the source, or place.
    pub name: String,
    /// First line, from 1; `None` for the only benchmark of a file.
    pub line: Option<usize>,
    /// The first mistake.
    pub why: String,
}

impl fmt::Display for UnreadBenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        write!(f, " is left out: {}", self.why)
    }
}

/// A series of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchmarkValues {
    /// Package, class or group, if the source has one beside the name.
    pub group: Option<String>,
    /// Name in the source. Group, name, parameters and unit together are unique in a file.
    pub name: String,
    pub unit: ResultUnit,
    /// In the order of the source.
    pub parameters: Vec<(String, String)>,
    /// Metadata of all launches of this benchmark.
    pub metadata: Metadata,
    /// Values of all launches one after another, per loop, in the base unit of `unit`.
    pub values: Vec<f64>,
    /// Warm-ups of all launches one after another: outer loops, and the value per loop.
    pub warmups: Vec<(u64, f64)>,
    /// Outer loops of each value, if they differ within a launch; otherwise empty.
    pub loops: Vec<u64>,
    /// Quantities that were measured with each value.
    pub extras: Vec<Extra>,
    /// Summary of a source without values.
    pub summary: Option<SummaryStatistics>,
    /// Whether this is the empty command, which is subtracted from the others.
    pub is_control: bool,
    launches: Vec<Launch>,
}

/// A quantity that was measured together with the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// Name in the source; CPU time is always [`CPU`].
    pub name: String,
    pub unit: ResultUnit,
    /// One for each value of the benchmark.
    pub values: Vec<Option<f64>>,
}

/// Name of the extra that is CPU time per loop.
pub const CPU: &str = "cpu";
/// Name of the extra that is the exit code of a process.
pub const EXIT_CODE: &str = "exit_code";
/// Name of the extra that is the peak of the resident memory.
pub const PEAK_MEMORY: &str = "peak_memory";

/// Purpose of a launch without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    Loops(NonZeroU64),
    LoopsAgain(NonZeroU64),
    Warmups(u64),
    WarmupsAgain(u64),
}

/// Facts about a launch beside its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchInfo {
    /// Outer loops of each value, if the source has them.
    pub loops: Option<NonZeroU64>,
    /// Inner loops in each outer one, if the source has them.
    pub inner_loops: Option<NonZeroU64>,
    pub calibration: Option<Calibration>,
    /// `None` if the source has none, or the reader left them out.
    pub metadata: Option<Box<Metadata>>,
}

/// A process, or the closest equivalent in the source.
#[derive(Clone, Debug, PartialEq)]
struct Launch {
    info: LaunchInfo,
    /// End of the launch in the values of the benchmark.
    values_end: usize,
    /// End of the launch in the warm-ups of the benchmark.
    warmups_end: usize,
}

/// A launch with its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchView<'a> {
    pub info: &'a LaunchInfo,
    pub values: &'a [f64],
    pub warmups: &'a [(u64, f64)],
    /// Index of the first value in the benchmark's values.
    pub first_value: usize,
}

impl LaunchView<'_> {
    /// Outer loops of each value; 1 if the source does not have them.
    pub fn loops(&self) -> u64 {
        self.info.loops.map_or(1, NonZeroU64::get)
    }

    /// Inner loops; 1 if the source does not have them.
    pub fn inner_loops(&self) -> u64 {
        self.info.inner_loops.map_or(1, NonZeroU64::get)
    }
}

impl BenchmarkValues {
    /// A benchmark without values.
    pub fn new(name: &str, unit: ResultUnit) -> Self {
        Self { name: name.into(), unit, ..Self::default() }
    }

    /// Ends a launch: it gets the values and warm-ups that were pushed since the last call.
    pub fn end_launch(&mut self, info: LaunchInfo) {
        let (values_end, warmups_end) = (self.values.len(), self.warmups.len());
        self.launches.push(Launch { info, values_end, warmups_end });
    }

    /// Number of launches, with calibrations.
    pub fn n_launches(&self) -> usize {
        self.launches.len()
    }

    /// Number of values and warm-ups in launches that have ended.
    pub fn n_ended(&self) -> (usize, usize) {
        self.launches.last().map_or((0, 0), |last| (last.values_end, last.warmups_end))
    }

    /// Drops the loops of each value if the launches say the same.
    pub fn simplify_loops(&mut self) {
        let is_same = |launch: LaunchView<'_>| {
            let range = launch.first_value..launch.first_value + launch.values.len();
            let loops = self.loops.get(range).unwrap_or_default();
            loops.iter().all(|&loops| loops == launch.loops())
        };
        if self.launches().all(is_same) {
            self.loops = Vec::new();
        }
    }

    /// The launches in the order of the source.
    pub fn launches(&self) -> impl Iterator<Item = LaunchView<'_>> {
        self.launches.iter().enumerate().map(|(index, launch)| {
            let (values, warmups) = self.ranges(index);
            LaunchView {
                info: &launch.info,
                first_value: values.start,
                values: &self.values[values],
                warmups: &self.warmups[warmups],
            }
        })
    }

    /// Facts about the launches beside their values.
    pub fn infos_mut(&mut self) -> impl Iterator<Item = &mut LaunchInfo> {
        self.launches.iter_mut().map(|launch| &mut launch.info)
    }

    fn ranges(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let before = index.checked_sub(1).map(|before| &self.launches[before]);
        let (values, warmups) = before.map_or((0, 0), |it| (it.values_end, it.warmups_end));
        let launch = &self.launches[index];
        (values..launch.values_end, warmups..launch.warmups_end)
    }

    /// Puts a value of an extra beside the value that was pushed last.
    pub fn push_extra(&mut self, name: &str, unit: &ResultUnit, value: f64) {
        let n_before = self.values.len().saturating_sub(1);
        let found = self.extras.iter().position(|extra| extra.name == name);
        let index = found.unwrap_or_else(|| {
            self.extras.push(Extra { name: name.into(), unit: unit.clone(), values: Vec::new() });
            self.extras.len() - 1
        });
        let extra = &mut self.extras[index];
        extra.values.resize(n_before, None);
        extra.values.push(Some(value));
    }

    /// The values of an extra, if there are any.
    pub fn extra(&self, name: &str) -> Option<&[Option<f64>]> {
        self.extras.iter().find(|extra| extra.name == name).map(|extra| &extra.values[..])
    }

    /// Pads every extra to as many values as the benchmark has.
    pub fn fill_extras(&mut self) {
        for extra in &mut self.extras {
            extra.values.resize(self.values.len(), None);
        }
    }

    /// Keeps the launches for which `is_kept` returns true, given their index.
    pub fn retain_launches(&mut self, is_kept: impl Fn(usize, &LaunchView<'_>) -> bool) {
        let mut kept = Self::new(&self.name, self.unit.clone());
        kept.extras =
            self.extras.iter().map(|extra| Extra { values: Vec::new(), ..extra.clone() }).collect();
        for (index, launch) in self.launches().enumerate() {
            if is_kept(index, &launch) {
                kept.take_launch(self, &launch);
            }
        }
        (self.values, self.warmups, self.loops) = (kept.values, kept.warmups, kept.loops);
        (self.extras, self.launches) = (kept.extras, kept.launches);
    }

    /// Appends all launches of another benchmark.
    pub fn append(&mut self, other: &Self) {
        for extra in &other.extras {
            if self.extra(&extra.name).is_none() {
                self.extras.push(Extra { values: Vec::new(), ..extra.clone() });
            }
        }
        if self.loops.is_empty() && !other.loops.is_empty() {
            let loops_of = |launch: LaunchView<'_>| vec![launch.loops(); launch.values.len()];
            self.loops = self.launches().flat_map(loops_of).collect();
        }
        other.launches().for_each(|launch| self.take_launch(other, &launch));
        self.fill_extras();
    }

    fn take_launch(&mut self, other: &Self, launch: &LaunchView<'_>) {
        let range = launch.first_value..launch.first_value + launch.values.len();
        for extra in &mut self.extras {
            let values = other.extra(&extra.name).and_then(|values| values.get(range.clone()));
            extra.values.resize(self.values.len(), None);
            extra.values.extend(values.unwrap_or_default());
        }
        if !other.loops.is_empty() {
            self.loops.extend(&other.loops[range]);
        } else if !self.loops.is_empty() {
            self.loops.extend(vec![launch.loops(); launch.values.len()]);
        }
        self.values.extend(launch.values);
        self.warmups.extend(launch.warmups);
        self.end_launch(launch.info.clone());
    }

    /// Drops all warm-ups, and the launches that have only warm-ups.
    pub fn remove_warmups(&mut self) {
        self.retain_launches(|_, launch| !launch.values.is_empty());
        self.warmups = Vec::new();
        self.launches.iter_mut().for_each(|launch| launch.warmups_end = 0);
    }

    /// Whether all numbers are finite: the scale of a unit can overflow.
    pub(crate) fn is_finite(&self) -> bool {
        let summary = self.summary.unwrap_or_default();
        let SummaryStatistics { count: _, mean, stddev, min, q1, median, q3, max, estimate } =
            summary;
        let of_summary = [mean, stddev, min, q1, median, q3, max, estimate];
        let of_extras = self.extras.iter().flat_map(|extra| &extra.values);
        let optional = of_summary.iter().chain(of_extras).flatten();
        let warmups = self.warmups.iter().map(|(_, value)| value);
        self.values.iter().chain(warmups).chain(optional).all(|value| value.is_finite())
    }

    /// Group, name and parameters.
    pub fn label(&self) -> String {
        let mut label = match &self.group {
            Some(group) => format!("{group}.{}", self.name),
            None => self.name.clone(),
        };
        for (name, value) in &self.parameters {
            label.push_str(&format!(" {name}={value}"));
        }
        label
    }
}
