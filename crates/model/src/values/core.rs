//! Decides from a probe whether a core is shared. `sys` makes the probes.

/// A factor between two measured ranges: on an idle core, four chains of additions take 1.00 to 1.03 times as long as
/// one; beside a busy hardware thread 1.2 to 1.8 times (AMD Zen 4, experiments/results/busy.md).
const SHARED_FACTOR: f64 = 1.1;

/// Whether the core's other hardware thread was busy during a probe of one chain of additions and one of four.
pub fn is_core_shared(one_chain_ns: u64, four_chains_ns: u64) -> bool {
    four_chains_ns as f64 > SHARED_FACTOR * one_chain_ns as f64
}
