//! The rule for probes of a core, which `sys` makes.

/// On a core of their own, four chains of additions take 1.00 to 1.02 times as long as one; beside another guest of the
/// host 1.2 to 1.9 times (AMD Zen 4, docs/experiments.md).
const SHARED_FACTOR: f64 = 1.1;

/// Whether another guest used the core during a probe. The times are those of one chain of additions and of four.
pub fn is_core_shared(one_chain_ns: u64, four_chains_ns: u64) -> bool {
    four_chains_ns as f64 > SHARED_FACTOR * one_chain_ns as f64
}
