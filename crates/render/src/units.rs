//! Units of the output. A table has one unit, so that its numbers can be compared at a glance.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::columns::one_line;
use crate::uncertain;
use analysis::convert::of_record::{deciding_value, imported};
use analysis::suite::plan_of_arm;
use analysis::{ArmSummary, UncertainValue};
use model::values::metric::{Metric, Quantity};
use model::values::{MetricChoice, VALUE, ValueUnit};
use record::Record;
use record::plan::{Arm, Plan};

/// A unit of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DisplayUnit {
    /// The symbol; empty for counts.
    pub name: &'static str,
    /// The size in base units.
    pub size: f64,
}

const fn unit(name: &'static str, size: f64) -> DisplayUnit {
    DisplayUnit { name, size }
}

const TIMES: [DisplayUnit; 6] = [
    unit("ns", 1.0),
    unit("µs", 1e3),
    unit("ms", 1e6),
    unit("s", 1e9),
    unit("min", 60e9),
    unit("h", 3600e9),
];
const BINARY_MEMORY: [DisplayUnit; 5] = [
    unit("B", 1.0),
    unit("KiB", 1024.0),
    unit("MiB", 1_048_576.0),
    unit("GiB", 1_073_741_824.0),
    unit("TiB", 1_099_511_627_776.0),
];
const DECIMAL_MEMORY: [DisplayUnit; 4] =
    [unit("kB", 1e3), unit("MB", 1e6), unit("GB", 1e9), unit("TB", 1e12)];
const COUNTS: [DisplayUnit; 4] = [unit("", 1.0), unit("k", 1e3), unit("M", 1e6), unit("G", 1e9)];
/// Counts below this have no prefix.
const PLAIN_COUNT_MAX: f64 = 1e5;

impl DisplayUnit {
    /// No unit.
    pub const ONE: Self = unit("", 1.0);

    /// The unit in which the largest value of a table has one to three digits before the point.
    pub fn for_largest(kind: ValueUnit, largest: f64) -> Self {
        let units = units(kind);
        if kind == ValueUnit::Count && largest.abs() < PLAIN_COUNT_MAX {
            return COUNTS[0];
        }
        let fits = |unit: &&DisplayUnit| largest.abs() < 1000.0 * unit.size;
        *units.iter().find(fits).unwrap_or(&units[units.len() - 1])
    }

    /// The unit with the symbol that `--metrics` accepts.
    pub fn named(kind: ValueUnit, name: &str) -> Option<Self> {
        let name = if name == "us" { "µs" } else { name };
        let more: &[Self] = if kind == ValueUnit::Bytes { &DECIMAL_MEMORY } else { &[] };
        units(kind).iter().chain(more).find(|unit| unit.name == name).copied()
    }

    /// The requested unit, else the one that fits the largest of these values.
    pub fn choose(
        kind: ValueUnit,
        requested: Option<&str>,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let requested = requested.and_then(|name| Self::named(kind, name));
        requested
            .unwrap_or_else(|| Self::for_largest(kind, values.map(f64::abs).fold(0.0, f64::max)))
    }

    /// A value and its error without the unit.
    pub fn uncertain(self, value: f64, err: Option<f64>) -> String {
        match err {
            Some(err) => uncertain::format(value / self.size, Some(err / self.size)),
            None => self.number(value, None),
        }
    }

    /// A value without error and unit, with this many decimals, else four significant digits.
    pub fn number(self, value: f64, decimals: Option<usize>) -> String {
        match decimals {
            Some(decimals) => uncertain::fixed(value / self.size, decimals),
            None if self.size == 1.0 && value.fract() == 0.0 => uncertain::fixed(value, 0),
            None => uncertain::significant(value / self.size, 4),
        }
    }

    /// Decimals of a value with this error.
    pub fn decimals(self, value: f64, err: Option<f64>) -> Option<usize> {
        uncertain::decimals(value / self.size, err.map(|err| err / self.size))
    }

    /// A number with the unit behind it.
    pub fn label(self, number: &str) -> String {
        if self.name.is_empty() { number.into() } else { format!("{number} {}", self.name) }
    }

    /// A heading with the unit in brackets.
    pub fn heading(self, text: &str) -> String {
        if self.name.is_empty() { text.into() } else { format!("{text} [{}]", self.name) }
    }
}

fn units(kind: ValueUnit) -> &'static [DisplayUnit] {
    match kind {
        ValueUnit::Time => &TIMES,
        ValueUnit::Bytes => &BINARY_MEMORY,
        ValueUnit::Count => &COUNTS,
    }
}

/// The base unit of the metric with this name. `cpu` is a time without its own column.
pub fn kind_of(name: &str) -> ValueUnit {
    match Metric::from_name(name).map(|metric| metric.info().quantity) {
        Some(Quantity::Time { .. } | Quantity::Picoseconds) | None => ValueUnit::Time,
        Some(Quantity::Memory { .. }) => ValueUnit::Bytes,
        Some(Quantity::Count) => ValueUnit::Count,
    }
}

/// The user's own unit for an arm's value, if the value decides and the unit is not one of time or memory.
fn own_unit(record: &Record, arm: usize) -> Option<DisplayUnit> {
    let name = deciding_value(record, arm)?.own_unit()?;
    (record.header.plan.arms[arm].unit == ValueUnit::Count).then(|| unit(kept(name), 1.0))
}

/// The other program's name of the unit of an import.
pub(super) fn imported_unit(record: &Record, arm: usize) -> Option<&str> {
    imported(record, arm)?.unit_name.as_deref()
}

/// The unit of an arm's compared values, in an import by the other program's name.
pub fn unit_in_record(record: &Record, arm: usize, largest: f64) -> DisplayUnit {
    if let Some(name) = imported_unit(record, arm) {
        return unit_of_name(name, largest);
    }
    let kind = record.header.plan.arms[arm].unit;
    own_unit(record, arm).unwrap_or_else(|| DisplayUnit::for_largest(kind, largest))
}

/// The unit of a metric's column for these arms: the requested one, else by the largest mean.
pub fn unit_of_metric(plan: &Plan, name: &str, arms: &[&ArmSummary]) -> DisplayUnit {
    let means = arms.iter().filter_map(|arm| Some(arm.metric(name)?.mean));
    let mut said = arms.iter().filter_map(|arm| plan.arms.get(arm.arm)).filter(|_| name == VALUE);
    match said.find(|arm| arm.value.is_some()) {
        Some(arm) => unit_of_value(arm, means),
        None => DisplayUnit::choose(kind_of(name), requested_unit(&plan.metrics, name), means),
    }
}

/// Whether the values that the programs of a suite say have several units.
pub fn has_several_value_units(plan: &Plan) -> bool {
    let rules = plan.arms.iter().filter_map(|arm| arm.value.as_ref());
    let mut units = rules.map(|rule| (rule.kind(), rule.own_unit()));
    let first = units.next();
    units.any(|unit| Some(unit) != first)
}

/// The unit of the value that an arm prints, even if another quantity decides.
fn unit_of_value(arm: &Arm, values: impl Iterator<Item = f64>) -> DisplayUnit {
    let Some(rule) = &arm.value else { return DisplayUnit::ONE };
    let own = rule.own_unit().map(|name| unit(kept(name), 1.0));
    own.unwrap_or_else(|| DisplayUnit::choose(rule.kind(), None, values))
}

/// The unit of values by another program's name, with the prefix that fits the largest.
pub fn unit_of_name(name: &str, largest: f64) -> DisplayUnit {
    let prefix = DisplayUnit::for_largest(ValueUnit::Count, largest);
    let name = one_line(name);
    let name = if prefix.name.is_empty() { name } else { format!("{} {name}", prefix.name) };
    unit(kept(&name), prefix.size)
}

/// A copy of a name that lives as long as the program.
pub(super) fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

/// The unit of a table of values of arms like this one: another program's own, else the user's, else by the largest
/// value after rounding.
pub fn unit_of_arms(
    record: &Record,
    arm: usize,
    values: impl Iterator<Item = UncertainValue>,
) -> DisplayUnit {
    if let Some(name) = imported_unit(record, arm) {
        return unit_of_name(name, values.map(|it| it.value.abs()).fold(0.0, f64::max));
    }
    let (plan, planned) = (plan_of_arm(record, arm), record.header.plan.arms.get(arm));
    if let Some(own) = own_unit(record, arm) {
        return own;
    }
    let kind = planned.map_or(ValueUnit::Time, |arm| arm.unit);
    let shown = values.map(|value| uncertain::as_shown(value.value, value.err));
    DisplayUnit::choose(kind, requested_unit(&plan.metrics, "wall"), shown)
}

/// The unit that the user requested for a metric.
pub fn requested_unit<'a>(shown: &'a [MetricChoice], name: &str) -> Option<&'a str> {
    shown.iter().find(|shown| shown.name == name)?.unit.as_deref()
}

/// A time with three digits in the unit that fits it.
pub fn short_time(time_ns: f64) -> String {
    let unit = DisplayUnit::for_largest(ValueUnit::Time, time_ns);
    unit.label(&uncertain::significant(time_ns / unit.size, 3))
}

/// A number with its noun: `1 file`, `2 files`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The numbers above 0 with their words: `2 slower, 1 faster`.
pub fn counts_in_words(counts: &[(usize, &str)]) -> String {
    let shown = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
    shown.collect::<Vec<_>>().join(", ")
}

pub fn processes(n: u32) -> String {
    if n == 1 { "1 process".into() } else { format!("{n} processes") }
}

/// A fraction as a percentage with two digits: `0.65 %`.
pub fn percent(fraction: f64) -> String {
    format!("{} %", uncertain::significant(fraction * 100.0, 2))
}

/// The difference of a ratio from 1: `+3.1 %`.
pub fn signed_percent(ratio: f64) -> String {
    let sign = if ratio < 1.0 { "-" } else { "+" };
    format!("{sign}{}", percent((ratio - 1.0).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::spec::RunSpec;
    use model::values::DecideOn;

    #[track_caller]
    fn check(kind: ValueUnit, largest: f64, expected: &str) {
        let unit = DisplayUnit::for_largest(kind, largest);
        assert_eq!(unit.label(&unit.number(largest, None)), expected);
    }

    #[test]
    fn the_largest_value_chooses() {
        check(ValueUnit::Time, 0.0, "0 ns");
        check(ValueUnit::Time, 999.0, "999 ns");
        check(ValueUnit::Time, 1000.0, "1.000 µs");
        check(ValueUnit::Time, 12_345_678.0, "12.35 ms");
        check(ValueUnit::Time, 999e9, "999.0 s");
        check(ValueUnit::Time, 1200e9, "20.00 min");
        check(ValueUnit::Time, 1e15, "277.8 h");
        check(ValueUnit::Time, -5e6, "-5.000 ms");
        check(ValueUnit::Bytes, 3_411_968.0, "3.254 MiB");
        check(ValueUnit::Count, 99_999.0, "99999");
        check(ValueUnit::Count, 1_234_567.0, "1.235 M");
        check(ValueUnit::Count, 1e13, "10000 G");
    }

    #[test]
    fn a_unit_can_be_asked_for() {
        assert_eq!(DisplayUnit::named(ValueUnit::Time, "us").unwrap().size, 1e3);
        assert_eq!(DisplayUnit::named(ValueUnit::Bytes, "MB").unwrap().size, 1e6);
        assert_eq!(DisplayUnit::named(ValueUnit::Count, "G").unwrap().size, 1e9);
        assert_eq!(DisplayUnit::named(ValueUnit::Time, "MB"), None);
        assert_eq!(DisplayUnit::choose(ValueUnit::Time, Some("s"), [5.0].into_iter()).name, "s");
        assert_eq!(DisplayUnit::choose(ValueUnit::Time, None, [5.0, -7e3].into_iter()).name, "µs");
    }

    #[test]
    fn what_is_shown_chooses() {
        let record = record::fixture::record(&["a"]);
        let check = |value: f64, err: f64, expected: &str| {
            let shown = [UncertainValue { value, err: Some(err) }];
            let unit = unit_of_arms(&record, 0, shown.into_iter());
            assert_eq!(unit.label(&unit.uncertain(value, Some(err))), expected);
        };
        check(999_960.0, 950.0, "999.96 +- 0.95 µs");
        check(999_960.0, 1200.0, "1.0000 +- 0.0012 ms");
        check(999_960.0, 0.0, "999.96 +- 0 µs");
    }

    /// Throughput has no prefix of times.
    #[test]
    fn a_value_has_the_unit_of_its_rule() {
        let unit = |name: Option<&str>| {
            let mut spec = RunSpec { commands: vec!["a".into()], ..RunSpec::default() };
            let value = &mut spec.process.execution.value;
            (value.value, value.value_unit) = (Some("x".into()), name.map(String::from));
            let plan = record::fixture::from_spec(spec).header.plan;
            let metrics = vec![crate::fixture::metric(VALUE, 1, 1003.0)];
            unit_of_metric(&plan, VALUE, &[&ArmSummary { metrics, ..ArmSummary::default() }])
        };
        assert_eq!((unit(None), unit(Some("ns")).name), (DisplayUnit::ONE, "µs"));
        assert_eq!(unit(Some("req/s")).name, "req/s");
    }

    /// Page faults beside a value do not have its unit.
    #[test]
    fn a_unit_is_that_of_what_decides() {
        let unit = |decide_on: Option<DecideOn>| {
            let mut spec = RunSpec { commands: vec!["a".into()], ..RunSpec::default() };
            spec.judgement.decide_on = decide_on;
            let value = &mut spec.process.execution.value;
            (value.value, value.value_unit) = (Some("x".into()), Some("req/s".into()));
            let record = record::fixture::from_spec(spec);
            let of_arms = unit_of_arms(&record, 0, std::iter::empty());
            [unit_in_record(&record, 0, 5.0).name, of_arms.name]
        };
        assert_eq!(unit(None), ["req/s"; 2]);
        assert_eq!(unit(Some(DecideOn::Faults)), [""; 2]);
    }

    #[test]
    fn names_tell_the_kind() {
        assert_eq!(kind_of("cpu"), ValueUnit::Time);
        assert_eq!(kind_of("maxrss"), ValueUnit::Bytes);
        assert_eq!(kind_of("cycles"), ValueUnit::Count);
    }
}
