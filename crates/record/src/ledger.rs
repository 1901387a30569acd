//! A ledger of lost time: each source of noise with its share, in integers that add up exactly to the total.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use host::started_by;

/// Lost time and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ledger {
    /// Total, ns. Below zero if the time was shorter than expected.
    pub total_ns: i64,
    /// Entries, the largest first, unexplained time last. Their times add up to `total_ns`.
    pub entries: Vec<LedgerEntry>,
}

/// A ledger for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTable {
    /// Entries above zero, the largest first, unexplained time last.
    pub entries: Vec<LedgerEntry>,
    /// Denominator of the shares: the total, or the sum of the sources if that is larger.
    pub whole_ns: i64,
    /// How much the sources exceed the total, ns.
    pub excess_ns: i64,
}

/// A part of the lost time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    /// The source of the loss.
    #[serde(flatten)]
    pub source: NoiseSource,
    /// Time, ns. Below zero if the source took less than usual.
    pub ns: i64,
    /// Number of events, if they were counted.
    pub n: Option<u64>,
    /// Whether the time is an estimate from counts.
    pub is_estimate: bool,
}

/// A source of lost time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum NoiseSource {
    /// Another program ran on the CPU.
    Task {
        /// Name of the program, as `ps -o comm` shows it.
        name: String,
    },
    /// Other programs ran on the CPU; their names are not recorded.
    Preempted,
    /// Run-queue delay after a sleep or after the creation of the process.
    Queued,
    /// Run-queue delay; the record does not tell preemption from queueing.
    Waited,
    /// A CPU quota of the control group was used up.
    Quota,
    /// A hardware interrupt.
    Interrupt {
        /// Name in `/proc/interrupts`, or name of the vector.
        line: String,
    },
    /// A softirq: deferred work of an interrupt.
    Softirq {
        /// Name in `/proc/softirqs`.
        vector: String,
    },
    /// Entry into the kernel and return, around the recorded events.
    Crossing,
    /// The hypervisor ran another guest and reports it as steal time.
    Steal,
    /// Page faults.
    Faults,
    /// Cold caches and predictors after other programs ran on the CPU.
    AfterInterruptions,
    /// The other hardware thread of the core was busy, and took some of its units: another program, or in a virtual
    /// machine another guest of the host.
    Neighbours,
    /// Migrations to another CPU, and the cold caches after them.
    Migrations,
    /// Traffic of other programs between the last-level cache and memory: only earlier versions report it.
    MemoryTraffic,
    /// The clock of the CPU was slower than in the fastest runs.
    Frequency,
    /// The benchmark itself took more CPU time, for a cause that was not measured: a slower CPU, or more work.
    MoreCpuTime,
    /// The benchmark waited for a device, another process or a timer. This includes run-queue delay that the kernel
    /// does not count: a child process's, and Stillwell's own before it sees the end of the run.
    Asleep,
    /// The benchmark ended without a wait, and Stillwell waited for a CPU before it saw the end.
    SeenLate,
    /// The CPU stood still without an event in the kernel: the hypervisor or the firmware had it.
    Host,
    /// The recorded data do not explain it.
    Unexplained,
}

/// The remedy for a source of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "remedy", content = "knob", rename_all = "snake_case")]
pub enum Remedy {
    /// A CPU for the benchmark alone, or a scheduling policy above the other programs'.
    OwnCpu,
    /// One fixed CPU for the benchmark.
    Affinity,
    /// The name of a knob of `--tune`.
    Tune(&'static str),
    /// A kernel without a tick on the benchmark's CPUs: `stillwell system boot`.
    Boot,
    /// Another machine, or no other load on this host.
    OtherMachine,
}

impl NoiseSource {
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Task { name } if started_by(name).is_some() => Some(Remedy::Tune("services")),
            Self::Task { .. }
            | Self::Preempted
            | Self::Queued
            | Self::Waited
            | Self::AfterInterruptions => Some(Remedy::OwnCpu),
            Self::Interrupt { line } if is_tick(line) => Some(Remedy::Boot),
            Self::Interrupt { .. } => Some(Remedy::Tune("irqs")),
            Self::Softirq { vector }
                if matches!(vector.as_str(), "NET_RX" | "NET_TX" | "BLOCK") =>
            {
                Some(Remedy::Tune("irqs"))
            }
            Self::Softirq { .. } => Some(Remedy::Boot),
            Self::Steal | Self::Host => Some(Remedy::OtherMachine),
            Self::Migrations => Some(Remedy::Affinity),
            Self::Frequency => Some(Remedy::Tune("turbo,governor")),
            Self::Neighbours
            | Self::MemoryTraffic
            | Self::Quota
            | Self::Crossing
            | Self::Faults
            | Self::MoreCpuTime
            | Self::Asleep
            | Self::SeenLate
            | Self::Unexplained => None,
        }
    }

    /// Whether the cause of this time is not known.
    pub fn is_unexplained(&self) -> bool {
        matches!(self, Self::MoreCpuTime | Self::Host | Self::Unexplained)
    }
}

/// Whether this is the local timer, by name in `/proc/interrupts` or vector.
pub fn is_tick(line: &str) -> bool {
    matches!(line, "LOC" | "local_timer")
}

impl Ledger {
    /// Sorts the entries, and adds up entries of the same source. `rest` gets the remainder of the total. Entries of 0 ns are
    /// left out.
    pub fn new(
        total_ns: i64,
        parts: impl IntoIterator<Item = LedgerEntry>,
        rest: NoiseSource,
    ) -> Self {
        let mut parts: Vec<LedgerEntry> = parts.into_iter().collect();
        let known_ns: i64 = parts.iter().map(|part| part.ns).sum();
        parts.push(LedgerEntry::exact(rest, total_ns - known_ns));
        let mut by_source: BTreeMap<NoiseSource, LedgerEntry> = BTreeMap::new();
        for part in parts {
            let entry = by_source.entry(part.source.clone());
            entry.and_modify(|entry| entry.add(&part)).or_insert(part);
        }
        let mut entries: Vec<LedgerEntry> =
            by_source.into_values().filter(|entry| entry.ns != 0).collect();
        entries.sort_by_key(|entry| (entry.source.is_unexplained(), -entry.ns));
        Self { total_ns, entries }
    }

    pub fn plus(&self, other: &Self) -> Self {
        let parts = self.entries.iter().chain(&other.entries).cloned();
        Self::new(self.total_ns + other.total_ns, parts, NoiseSource::Unexplained)
    }

    /// The largest part with a cause, if it is a loss.
    pub fn largest(&self) -> Option<&LedgerEntry> {
        self.known().find(|entry| entry.ns > 0)
    }

    /// The ledger for a table, without entries below zero. A source below zero is an error of an estimate and goes into
    /// the unexplained rest. There is no rest if the sources exceed the total.
    pub fn for_table(&self) -> LedgerTable {
        let is_loss = |entry: &&LedgerEntry| entry.ns > 0;
        let mut entries: Vec<LedgerEntry> = self.known().filter(is_loss).cloned().collect();
        let known_ns: i64 = entries.iter().map(|entry| entry.ns).sum();
        let rest_ns = self.total_ns - known_ns;
        let mut left_ns = rest_ns.max(0);
        // The host was measured, so it comes before the remainder.
        let mut rest: Vec<&LedgerEntry> =
            self.entries.iter().filter(|entry| entry.source.is_unexplained()).collect();
        rest.sort_by_key(|entry| entry.source == NoiseSource::Unexplained);
        let last = rest.pop().cloned();
        for entry in rest {
            let ns = entry.ns.clamp(0, left_ns);
            left_ns -= ns;
            entries.push(LedgerEntry { ns, ..entry.clone() });
        }
        let last = last.unwrap_or(LedgerEntry::exact(NoiseSource::Unexplained, 0));
        entries.push(LedgerEntry { ns: left_ns, ..last });
        entries.retain(|entry| entry.ns > 0);
        LedgerTable { whole_ns: self.total_ns.max(known_ns), excess_ns: (-rest_ns).max(0), entries }
    }

    /// The entries with a cause, the largest first.
    fn known(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().filter(|entry| !entry.source.is_unexplained())
    }

    pub fn unexplained_ns(&self) -> i64 {
        let unexplained = self.entries.iter().filter(|entry| entry.source.is_unexplained());
        unexplained.map(|entry| entry.ns).sum()
    }
}

impl LedgerEntry {
    pub fn exact(source: NoiseSource, ns: i64) -> Self {
        Self { source, ns, n: None, is_estimate: false }
    }

    pub fn estimate(source: NoiseSource, ns: i64, n: u64) -> Self {
        Self { source, ns, n: Some(n), is_estimate: true }
    }

    /// The entry times `part` ÷ `whole`, including its count.
    pub fn scaled(self, part: i64, whole: i64) -> Self {
        let ns = scaled(self.ns, part, whole);
        let n = |n: u64| {
            let n = scaled(n.cast_signed(), part, whole).cast_unsigned();
            n.max(u64::from(ns > 0))
        };
        Self { ns, n: self.n.map(n), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.n = self.n.into_iter().chain(other.n).reduce(u64::saturating_add);
        self.is_estimate |= other.is_estimate;
    }
}

/// `ns · part / whole` without overflow.
pub fn scaled(ns: i64, part: i64, whole: i64) -> i64 {
    let scaled = i128::from(ns) * i128::from(part) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(name: &str, ns: i64) -> LedgerEntry {
        LedgerEntry {
            n: Some(1),
            ..LedgerEntry::exact(NoiseSource::Task { name: name.into() }, ns)
        }
    }

    #[test]
    fn parts_are_added_up_and_the_rest_is_last() {
        let parts = [
            task("cc1", 20),
            task("sh", 30),
            task("cc1", 15),
            LedgerEntry::exact(NoiseSource::Steal, 0),
        ];
        let found = Ledger::new(100, parts, NoiseSource::Unexplained);
        let expected = [
            LedgerEntry { n: Some(2), ..task("cc1", 35) },
            task("sh", 30),
            LedgerEntry::exact(NoiseSource::Unexplained, 35),
        ];
        assert_eq!(found.entries, expected);
        assert_eq!(found.largest().unwrap().ns, 35);
        assert_eq!((found.unexplained_ns(), found.plus(&found).total_ns), (35, 200));
    }

    #[test]
    fn nothing_is_clamped() {
        let found = Ledger::new(10, [task("a", 30)], NoiseSource::Host);
        assert_eq!(found.unexplained_ns(), -20);
        assert_eq!(Ledger::new(-5, [], NoiseSource::Unexplained).largest(), None);
    }

    #[test]
    fn remedies_are_knobs() {
        let line = |line: &str| NoiseSource::Interrupt { line: line.into() };
        let vector = NoiseSource::Softirq { vector: "NET_RX".into() };
        let updater = NoiseSource::Task { name: "apt-get".into() };
        for source in [line("24"), vector, NoiseSource::Frequency, updater] {
            let Some(Remedy::Tune(names)) = source.remedy() else { panic!("{source:?}") };
            assert!(names.split(',').all(|name| host::knobs::knob(name).is_some()), "{names}");
        }
        assert_eq!(line("LOC").remedy(), Some(Remedy::Boot));
        assert_eq!(NoiseSource::Unexplained.remedy(), None);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(total in -1_000_000_i64..1_000_000, parts in proptest::collection::vec((0..4, -999..999_i64), 0..20)) {
            let parts = parts.into_iter().map(|(name, ns): (i32, i64)| task(&name.to_string(), ns));
            let found = Ledger::new(total, parts, NoiseSource::Host);
            prop_assert_eq!(found.entries.iter().map(|entry| entry.ns).sum::<i64>(), total);
            let twice = found.plus(&found);
            prop_assert_eq!(twice.entries.iter().map(|entry| entry.ns).sum::<i64>(), 2 * total);
        }
    }

    #[test]
    fn a_table_has_no_negative_part_and_no_share_above_the_whole() {
        let exact = |source, ns| LedgerEntry::exact(source, ns);
        let names = |table: &LedgerTable| {
            table.entries.iter().map(|it| (it.source.clone(), it.ns)).collect::<Vec<_>>()
        };
        // A source below zero goes into the rest, so the parts still add up to the total.
        let parts = [exact(NoiseSource::Queued, 70), exact(NoiseSource::Asleep, -20)];
        let table = Ledger::new(100, parts, NoiseSource::Unexplained).for_table();
        assert_eq!(names(&table), [(NoiseSource::Queued, 70), (NoiseSource::Unexplained, 30)]);
        assert_eq!((table.whole_ns, table.excess_ns), (100, 0));
        // Sources above the total: no rest, and shares of their sum.
        let parts = [exact(NoiseSource::SeenLate, 120), exact(NoiseSource::Queued, 40)];
        let table = Ledger::new(100, parts, NoiseSource::Unexplained).for_table();
        assert_eq!(names(&table), [(NoiseSource::SeenLate, 120), (NoiseSource::Queued, 40)]);
        assert_eq!((table.whole_ns, table.excess_ns), (160, 60));
        // Faster than t0: nothing was lost.
        let table = Ledger::new(-5, [], NoiseSource::Unexplained).for_table();
        assert_eq!((names(&table), table.whole_ns), (vec![], 0));
        // The host keeps what it took.
        let host = Ledger::new(100, [exact(NoiseSource::Queued, 10)], NoiseSource::Host);
        let table = host.for_table();
        assert_eq!(names(&table), [(NoiseSource::Queued, 10), (NoiseSource::Host, 90)]);
    }
}
