//! A ledger of lost time: how much went to what, in integers that add up to the total exactly.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Lost time and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ledger {
    /// All of it, ns. Below zero when there was less than expected.
    pub total_ns: i64,
    /// Its parts, the largest first and what is not explained last; their times add up to `total_ns`.
    pub entries: Vec<LedgerEntry>,
}

/// A part of the lost time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// What took it.
    #[serde(flatten)]
    pub source: NoiseSource,
    /// How long in all, ns. Below zero when it took less than it usually does.
    pub ns: i64,
    /// How often, where it was counted.
    pub n: Option<u64>,
    /// Whether the time was not measured but follows from counts.
    pub is_estimate: bool,
}

/// What takes time from a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum NoiseSource {
    /// Another program ran instead of it.
    Task {
        /// Its name, as `ps -o comm` shows it.
        name: String,
    },
    /// Other programs ran instead of it; which ones is not known.
    Preempted,
    /// It was ready, and waited for a CPU after it had slept or been made.
    Queued,
    /// It was ready without a CPU; whether it had been running before is not known.
    Waited,
    /// A hardware interrupt.
    Interrupt {
        /// Its name in `/proc/interrupts`, or that of its vector.
        line: String,
    },
    /// Work that an interrupt has left for later.
    Softirq {
        /// Its name in `/proc/softirqs`.
        vector: String,
    },
    /// Going into the kernel and back around what was seen there.
    Crossing,
    /// The hypervisor ran something else, and says so.
    Steal,
    /// Page faults.
    Faults,
    /// Moves to another CPU, and cold caches after them.
    Migrations,
    /// The clock of the CPU was slower than in the fastest runs.
    Frequency,
    /// It waited for something else than a CPU: a device, another process, a timer; or for a CPU where nobody counts that: in
    /// a process that it made, or in ours, which sees its end.
    Asleep,
    /// It had ended without ever having waited, and our own process waited for a CPU to see that.
    SeenLate,
    /// The CPU stood still for the kernel that was watched: the hypervisor, or the firmware.
    Host,
    /// Nothing that was recorded tells.
    Unexplained,
}

/// What removes a source of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "remedy", content = "knob", rename_all = "snake_case")]
pub enum Remedy {
    /// A CPU of its own, or a scheduling policy that the others have not.
    OwnCpu,
    /// One CPU to stay on.
    Affinity,
    /// A knob of `--tune`, by its name.
    Tune(&'static str),
    /// A kernel without a tick on the CPUs of the benchmark: `stillwell system boot`.
    Boot,
    /// Another machine, or nobody else on this one.
    OtherMachine,
}

impl NoiseSource {
    /// What would remove it, if anything would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Task { .. } | Self::Preempted | Self::Queued | Self::Waited => {
                Some(Remedy::OwnCpu)
            }
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
            Self::Crossing | Self::Faults | Self::Asleep | Self::SeenLate | Self::Unexplained => {
                None
            }
        }
    }

    /// Whether it is not a cause but the lack of one.
    pub fn is_unexplained(&self) -> bool {
        matches!(self, Self::Host | Self::Unexplained)
    }
}

/// The local timer, by its name in `/proc/interrupts` or its vector's.
pub fn is_tick(line: &str) -> bool {
    matches!(line, "LOC" | "local_timer")
}

impl Ledger {
    /// Puts parts in order; what they leave of the total is `rest`.
    ///
    /// Parts of one source are added up, and those of nothing at all are left out.
    pub fn new(
        total_ns: i64,
        parts: impl IntoIterator<Item = LedgerEntry>,
        rest: NoiseSource,
    ) -> Self {
        let mut by_source: BTreeMap<NoiseSource, LedgerEntry> = BTreeMap::new();
        let mut rest_ns = total_ns;
        for part in parts {
            rest_ns -= part.ns;
            let entry = by_source.entry(part.source.clone());
            entry.and_modify(|entry| entry.add(&part)).or_insert(part);
        }
        let left = LedgerEntry { source: rest, ns: rest_ns, n: None, is_estimate: false };
        let entry = by_source.entry(left.source.clone());
        entry.and_modify(|entry| entry.add(&left)).or_insert(left);
        let mut entries: Vec<LedgerEntry> =
            by_source.into_values().filter(|entry| entry.ns != 0).collect();
        entries.sort_by_key(|entry| (entry.source.is_unexplained(), -entry.ns));
        Self { total_ns, entries }
    }

    /// Two ledgers as one.
    pub fn plus(&self, other: &Self) -> Self {
        let parts = self.entries.iter().chain(&other.entries).cloned();
        Self::new(self.total_ns + other.total_ns, parts, NoiseSource::Unexplained)
    }

    /// The largest part that has a cause, if it is a loss.
    pub fn largest(&self) -> Option<&LedgerEntry> {
        self.entries.iter().find(|entry| !entry.source.is_unexplained() && entry.ns > 0)
    }

    /// What nothing explains, ns.
    pub fn unexplained_ns(&self) -> i64 {
        self.entries
            .iter()
            .filter(|entry| entry.source.is_unexplained())
            .map(|entry| entry.ns)
            .sum()
    }
}

impl LedgerEntry {
    /// A measured time.
    pub fn exact(source: NoiseSource, ns: i64) -> Self {
        Self { source, ns, n: None, is_estimate: false }
    }

    /// A time that follows from counts.
    pub fn estimate(source: NoiseSource, ns: i64, n: u64) -> Self {
        Self { source, ns, n: Some(n), is_estimate: true }
    }

    /// Its share of a time that is `part` where all that were seen took `whole`; also of how often it was.
    pub(super) fn scaled(self, part: i64, whole: i64) -> Self {
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
pub(super) fn scaled(ns: i64, part: i64, whole: i64) -> i64 {
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

    /// Somebody who follows the advice must find the knob.
    #[test]
    fn remedies_are_knobs() {
        let line = |line: &str| NoiseSource::Interrupt { line: line.into() };
        let vector = NoiseSource::Softirq { vector: "NET_RX".into() };
        for source in [line("24"), vector, NoiseSource::Frequency] {
            let Some(Remedy::Tune(names)) = source.remedy() else { panic!("{source:?}") };
            assert!(
                names.split(',').all(|name| crate::host::knobs::knob(name).is_some()),
                "{names}"
            );
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
}
