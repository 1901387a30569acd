//! The rule for probes of a core, which `sys` makes.

/// On a core of their own, four chains of additions mostly take 1.00 to 1.03 times as long as one. They take 1.2 to 1.8 times
/// as long beside a busy hardware thread (AMD Zen 4, experiments/results/busy.md).
const SHARED_FACTOR: f64 = 1.1;

/// Whether the core's other hardware thread was busy during a probe. The times are those of one chain of additions and of four.
pub fn is_core_shared(one_chain_ns: u64, four_chains_ns: u64) -> bool {
    four_chains_ns as f64 > SHARED_FACTOR * one_chain_ns as f64
}
