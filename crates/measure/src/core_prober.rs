//! Probes the CPU of the workers between their slices. A worker is an interpreter or another program and cannot probe
//! its core, so a thread of this process does, on the same CPU. It sleeps while a slice is timed.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use rustix::process::setpriority_process;

use crate::clock::monotonic_ns;
use host::sys::{self, CoreProbe};

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
}
