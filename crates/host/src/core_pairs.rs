//! CPUs that slow each other although the machine calls them separate cores: a virtual machine need not say which of
//! its CPUs are hardware threads of one core. `noise::core_pairs` measures this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuRow, Host, recommend};
use model::values::CPUS_MAX;

/// Two hardware threads of one core slow each other by 1.2 to 1.8 (experiments/results/busy.md, "Neighbours"). CPUs
/// that certainly slow each other less do not share a core.
const SIBLINGS_FACTOR: f64 = 1.1;
/// Up to this number of CPUs every pair is measured, in some 120 ms each.
const ALL_PAIRS_MAX: usize = 8;

/// How much two CPUs slow each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorePair {
    /// The two CPUs, ascending.
    pub cpus: [usize; 2],
    /// Time of the same work on the first CPU, the second CPU busy ÷ idle: the median.
    pub slowdown: f64,
    /// Interval of the median at 99 %.
    pub interval: [f64; 2],
}

impl CorePair {
    /// Whether the two share a core most of the time.
    pub fn are_siblings(&self) -> bool {
        self.interval[0] > SIBLINGS_FACTOR
    }
}

/// All pairs that were measured since the machine was booted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorePairs {
    /// The boot of the measurement: the host may place the CPUs elsewhere when the machine starts again.
    pub boot_id: String,
    /// The CPUs that were online.
    pub online: Vec<usize>,
    /// The pairs, ascending.
    pub pairs: Vec<CorePair>,
    /// Pairs without a result, because other programs kept the second CPU busy.
    pub busy: Vec<[usize; 2]>,
}

impl CorePairs {
    /// No pairs, for this boot and these CPUs.
    pub fn empty(host: &Host) -> Self {
        let (boot_id, online) = (host.boot_id(), host.online_cpus());
        Self { boot_id, online, ..Self::default() }
    }

    /// Whether the pairs belong to this boot and the present online CPUs.
    pub fn hold_for(&self, host: &Host) -> bool {
        !self.boot_id.is_empty()
            && self.boot_id == host.boot_id()
            && self.online == host.online_cpus()
    }

    pub fn siblings(&self) -> Vec<[usize; 2]> {
        self.pairs.iter().filter(|pair| pair.are_siblings()).map(|pair| pair.cpus).collect()
    }
}

/// The pairs to measure: usable CPUs that the table puts on different cores. With more than `ALL_PAIRS_MAX` CPUs,
/// only the pairs that hypervisors use for the threads of a core: neighbours, and the first half with the second.
pub fn pairs_to_measure(table: &[CpuRow]) -> Vec<[usize; 2]> {
    let usable: Vec<&CpuRow> = table.iter().filter(|row| row.online && row.allowed).collect();
    let n = usable.len();
    let is_usual = |i: usize, j: usize| (i.is_multiple_of(2) && j == i + 1) || j == i + n / 2;
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    pairs
        .filter(|&(i, j)| n <= ALL_PAIRS_MAX || is_usual(i, j))
        .map(|(i, j)| (usable[i], usable[j]))
        .filter(|(one, other)| !one.siblings.contains(&other.cpu))
        .map(|(one, other)| [one.cpu, other.cpu])
        .collect()
}

/// The table with hidden siblings as siblings. It stays unchanged if nothing could be recommended any more: a core that
/// others use at times is better than none.
pub fn with_hidden_siblings(table: Vec<CpuRow>, hidden: &[[usize; 2]]) -> Vec<CpuRow> {
    let hidden: Vec<_> =
        hidden.iter().filter(|pair| pair.iter().all(|&it| it < CPUS_MAX)).collect();
    if hidden.is_empty() {
        return table;
    }
    let mut joined = table.clone();
    // A core may have more than two threads, so both whole cores are joined.
    for [one, other] in hidden {
        let mut core: Vec<usize> = joined
            .iter()
            .filter(|row| {
                row.online && (row.siblings.contains(one) || row.siblings.contains(other))
            })
            .map(|row| row.cpu)
            .collect();
        core.sort_unstable();
        for row in joined.iter_mut().filter(|row| core.contains(&row.cpu)) {
            row.siblings.clone_from(&core);
        }
    }
    if recommend(&joined).cpus.is_empty() { table } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture};
    use crate::read_cpu_table;

    fn table(name: &str) -> Vec<CpuRow> {
        let (_directory, host) = fixture(name);
        read_cpu_table(&host, None)
    }

    fn rows_of(cpus: &str) -> Vec<CpuRow> {
        let (_directory, host) = expand(&format!("sys/devices/system/cpu/online = {cpus}\n"));
        read_cpu_table(&host, None)
    }

    #[test]
    fn every_pair_of_few_cpus_and_the_usual_ones_of_many() {
        assert_eq!(pairs_to_measure(&rows_of("0-2")), [[0, 1], [0, 2], [1, 2]]);
        let many = pairs_to_measure(&rows_of("0-15"));
        assert_eq!(many.len(), 16);
        assert!(many.contains(&[6, 7]) && many.contains(&[3, 11]) && !many.contains(&[1, 2]));
        // Known siblings need no measurement: CPUs 0 and 4 to 3 and 7 share cores.
        let known = pairs_to_measure(&table("intel-hwp-active"));
        assert!(known.contains(&[0, 1]) && !known.contains(&[0, 4]));
        assert!(pairs_to_measure(&rows_of("0")).is_empty());
    }

    #[test]
    fn hidden_siblings_are_one_core_for_the_recommendation() {
        let table = rows_of("0-3");
        assert_eq!(recommend(&table).cpus, [2, 3]);
        let joined = with_hidden_siblings(table.clone(), &[[0, 3], [1, 2]]);
        assert_eq!(recommend(&joined).cpus, [1, 2]);
        assert_eq!(recommend(&joined).n_cores, 1);
        // Chains join: 0, 1 and 2 are one core.
        let chained = with_hidden_siblings(table, &[[0, 1], [1, 2]]);
        assert_eq!(recommend(&chained).cpus, [3]);
    }

    #[test]
    fn the_only_other_cpu_is_recommended_all_the_same() {
        let joined = with_hidden_siblings(rows_of("0-1"), &[[0, 1]]);
        assert_eq!(recommend(&joined).cpus, [1]);
    }

    #[test]
    fn certainly_slower_and_by_more_than_a_shared_clock() {
        let pair = |slowdown, low, high| CorePair { cpus: [0, 1], slowdown, interval: [low, high] };
        assert!(pair(1.6, 1.5, 1.7).are_siblings());
        assert!(!pair(1.02, 1.01, 1.03).are_siblings());
        assert!(!pair(1.3, 1.0, 1.7).are_siblings(), "at times only");
    }
}
