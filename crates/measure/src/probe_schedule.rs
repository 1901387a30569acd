//! Which runs probe their core.

use crate::clock::monotonic_ns;
use host::sys;
use model::values::metric::Metric;

/// Shortest time between two probes. A probe takes some 12 µs, so all together take less than 1 % of the time.
const PAUSE_NS: u64 = 1_500_000;

#[derive(Debug)]
pub struct ProbeSchedule {
    /// `None`: never.
    next_ns: Option<u64>,
}

impl ProbeSchedule {
    /// Probes if wanted, and if this kind of CPU can be probed.
    pub fn new(is_wanted: bool) -> Self {
        Self { next_ns: (is_wanted && sys::probe_core().is_some()).then_some(0) }
    }

    /// The columns of the probes.
    pub fn metrics(&self) -> &'static [Metric] {
        if self.next_ns.is_some() { &[Metric::OneChainNs, Metric::FourChainsNs] } else { &[] }
    }

    /// Whether a run that starts now probes its core.
    pub fn is_due(&mut self) -> bool {
        let Some(next_ns) = &mut self.next_ns else { return false };
        let now_ns = monotonic_ns();
        let is_due = now_ns >= *next_ns;
        if is_due {
            *next_ns = now_ns + PAUSE_NS;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_due_once_and_then_not_for_a_while() {
        let mut schedule = ProbeSchedule { next_ns: Some(0) };
        assert!(schedule.is_due());
        schedule.next_ns = Some(u64::MAX);
        assert!(!schedule.is_due());
        let mut none = ProbeSchedule::new(false);
        assert!(!none.is_due() && none.metrics().is_empty());
    }
}
