//! Probes of the core: of the CPU that workers share, between their slices; of the runs, at their starts.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use rustix::process::setpriority_process;

use crate::clock::monotonic_ns;
use host::sys::{self, CoreProbe};
use model::values::metric::Metric;

/// Shortest pause, as a multiple of the probe before it and all its waiting: probes take at most a tenth of a session.
/// On an idle CPU one takes some 30 µs, so each slice of a millisecond gets one.
const PAUSES: u64 = 10;

/// A thread on one CPU that probes it on request.
#[derive(Debug)]
pub struct CoreProber {
    requests: SyncSender<()>,
    answers: Receiver<CoreProbe>,
    next_ns: u64,
}

impl CoreProber {
    /// Starts the thread, with the workers' nice level if allowed. `None` if this kind of CPU cannot be probed, or no
    /// thread can be made or bound to it.
    pub fn start(cpu: usize, nice: Option<i32>) -> Option<Self> {
        sys::probe_core()?;
        let (requests, asked) = sync_channel(0);
        let (sender, answers) = sync_channel(0);
        let serve = move || {
            if sys::bind(None, &[cpu]).is_err() {
                return;
            }
            if let Some(nice) = nice {
                setpriority_process(None, nice).ok();
            }
            while asked.recv().is_ok() {
                let Some(probe) = sys::probe_core() else { return };
                if sender.send(probe).is_err() {
                    return;
                }
            }
        };
        Builder::new().name("core probe".into()).spawn(serve).ok()?;
        Some(Self { requests, answers, next_ns: 0 })
    }

    /// Probes the CPU; `None` if the last probe is too recent, or the thread has ended.
    pub fn probe(&mut self) -> Option<CoreProbe> {
        let start_ns = monotonic_ns();
        if start_ns < self.next_ns {
            return None;
        }
        self.requests.send(()).ok()?;
        let probe = self.answers.recv().ok()?;
        let end_ns = monotonic_ns();
        self.next_ns = end_ns + PAUSES * (end_ns - start_ns);
        Some(probe)
    }
}

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
    fn a_cpu_that_is_there_is_probed_and_then_not_for_a_while() {
        let cpu = sys::bound_cpus().unwrap()[0];
        let Some(mut prober) = CoreProber::start(cpu, None) else {
            assert!(sys::probe_core().is_none());
            return;
        };
        assert!(prober.probe().is_some_and(|probe| probe.one_chain_ns > 0));
        prober.next_ns = u64::MAX;
        assert_eq!(prober.probe(), None);
        let mut nowhere = CoreProber::start(1_000_000, None).unwrap();
        assert_eq!(nowhere.probe(), None);
    }

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
