//! Finds the time that each run lost and the source of each loss, from a trace of several CPUs. Pure.
//!
//! A preempted thread of the run waits on its last CPU. Until it runs again, on any CPU, the program on that CPU is the
//! source of the loss. An interrupt while a thread of the run has the CPU is a loss too.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::noise::trace::{Segment, SourceIndex};
use record::ledger::{LedgerEntry, NoiseSource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEvent {
    /// Time, CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub cpu: usize,
    pub kind: RunEventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEventKind {
    Switch {
        from: u32,
        /// Whether the kernel preempted that thread.
        is_preempted: bool,
        to: u32,
        /// Name of that thread.
        to_source: SourceIndex,
    },
    Enter(SourceIndex),
    Exit(SourceIndex),
    Fork {
        parent: u32,
        child: u32,
    },
}

/// Finds the times in which descendants of `root` could not run. `events` are in order of time.
pub fn losses(events: &[RunEvent], root: u32) -> Vec<Segment> {
    let mut state = LossTracker::default();
    for event in events {
        state.pass(event.cpu, event.time_ns);
        state.apply(event, root);
    }
    state.segments.sort_by_key(|segment| segment.start_ns);
    state.segments
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunInterval {
    pub step: u32,
    /// Start, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// End, CLOCK_MONOTONIC.
    pub end_ns: u64,
}

/// Divides losses among the runs in which they fell, without runs that lost nothing. `losses` are ordered by start.
pub fn by_run(
    losses: &[Segment],
    runs: &[RunInterval],
    sources: &[NoiseSource],
) -> Vec<(u32, Vec<LedgerEntry>)> {
    let mut from = 0;
    let mut by_step = Vec::new();
    for run in runs {
        // Losses of several CPUs overlap, so a later one may end earlier; the loop below skips those.
        from += losses[from..].iter().take_while(|loss| loss.end_ns <= run.start_ns).count();
        let mut by_source: BTreeMap<SourceIndex, (u64, u64)> = BTreeMap::new();
        for loss in losses[from..].iter().take_while(|loss| loss.start_ns < run.end_ns) {
            let start_ns = loss.start_ns.max(run.start_ns);
            let ns = loss.end_ns.min(run.end_ns).saturating_sub(start_ns);
            if ns > 0 {
                let (sum_ns, n) = by_source.entry(loss.source).or_default();
                *sum_ns += ns;
                *n += u64::from(loss.is_new);
            }
        }
        let entries = by_source.into_iter().map(|(source, (ns, n))| LedgerEntry {
            n: Some(n),
            ..LedgerEntry::exact(sources[source as usize].clone(), ns.cast_signed())
        });
        let entries: Vec<LedgerEntry> = entries.collect();
        if !entries.is_empty() {
            by_step.push((run.step, entries));
        }
    }
    by_step
}

#[derive(Default)]
struct LossTracker {
    own: HashSet<u32>,
    /// Preempted threads of the run, and the CPUs on which they wait.
    waiting: HashMap<u32, usize>,
    cpus: HashMap<usize, CpuState>,
    segments: Vec<Segment>,
}

#[derive(Default)]
struct CpuState {
    thread: Option<u32>,
    source: SourceIndex,
    stack: Vec<SourceIndex>,
    since_ns: u64,
    is_new: bool,
}

impl LossTracker {
    /// Charges the time on a CPU until now to the thread or interrupt that had it, if the run lost that time.
    fn pass(&mut self, at: usize, now_ns: u64) {
        let cpu = self.cpus.entry(at).or_default();
        let is_own = cpu.thread.is_some_and(|thread| self.own.contains(&thread));
        let is_lost = is_own || self.waiting.values().any(|&waits_at| waits_at == at);
        let other = cpu.thread.filter(|_| !is_own).map(|_| cpu.source);
        let innermost = cpu.stack.last().copied().or(other);
        if let Some(source) = innermost.filter(|_| is_lost && now_ns > cpu.since_ns) {
            let is_new = std::mem::take(&mut cpu.is_new);
            let segment = Segment { start_ns: cpu.since_ns, end_ns: now_ns, source, is_new };
            self.segments.push(segment);
        }
        cpu.since_ns = now_ns.max(cpu.since_ns);
    }

    fn apply(&mut self, event: &RunEvent, root: u32) {
        match event.kind {
            RunEventKind::Fork { parent, child } => {
                if parent == root || self.own.contains(&parent) {
                    self.own.insert(child);
                }
            }
            RunEventKind::Enter(source) => {
                let cpu = self.cpus.entry(event.cpu).or_default();
                cpu.stack.push(source);
                cpu.is_new = true;
            }
            RunEventKind::Exit(source) => {
                let stack = &mut self.cpus.entry(event.cpu).or_default().stack;
                if let Some(at) = stack.iter().rposition(|&open| open == source) {
                    stack.truncate(at);
                }
            }
            RunEventKind::Switch { from, is_preempted, to, to_source } => {
                if is_preempted && self.own.contains(&from) {
                    self.waiting.insert(from, event.cpu);
                }
                // The thread continues on another CPU. Until now it waited for its last CPU.
                if let Some(waited_at) = self.waiting.get(&to).copied() {
                    self.pass(waited_at, event.time_ns);
                    self.waiting.remove(&to);
                }
                let cpu = self.cpus.entry(event.cpu).or_default();
                *cpu = CpuState {
                    thread: Some(to),
                    source: to_source,
                    stack: Vec::new(),
                    since_ns: event.time_ns,
                    is_new: true,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RunEventKind::{Enter, Exit, Fork};

    const LAUNCHER: u32 = 1;

    fn switch(from: u32, is_preempted: bool, to: u32) -> RunEventKind {
        RunEventKind::Switch { from, is_preempted, to, to_source: to + 100 }
    }

    /// Input: time, CPU and kind. Expected: start, end, source.
    #[track_caller]
    fn check(events: &[(u64, usize, RunEventKind)], expected: &[(u64, u64, u32)]) {
        let events: Vec<RunEvent> =
            events.iter().map(|&(time_ns, cpu, kind)| RunEvent { time_ns, cpu, kind }).collect();
        let found: Vec<_> = losses(&events, LAUNCHER)
            .iter()
            .map(|found| (found.start_ns, found.end_ns, found.source))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn who_runs_while_the_run_would() {
        check(
            &[
                (5, 0, Fork { parent: LAUNCHER, child: 7 }),
                (6, 0, switch(LAUNCHER, false, 7)),
                (10, 0, switch(7, true, 50)),
                (14, 0, Enter(3)),
                (15, 0, Exit(3)),
                (20, 0, switch(50, true, 51)),
                (30, 0, switch(51, false, 7)),
                (40, 0, Enter(3)),
                (42, 0, Exit(3)),
                // A sleeping thread loses no time.
                (50, 0, switch(7, false, 50)),
                (60, 0, Enter(3)),
                (61, 0, Exit(3)),
            ],
            &[(10, 14, 150), (14, 15, 3), (15, 20, 150), (20, 30, 151), (40, 42, 3)],
        );
    }

    #[test]
    fn a_thread_that_goes_on_elsewhere() {
        check(
            &[
                (5, 0, Fork { parent: LAUNCHER, child: 7 }),
                (5, 0, Fork { parent: 7, child: 8 }),
                (6, 0, switch(LAUNCHER, false, 8)),
                (10, 0, switch(8, true, 50)),
                (25, 1, switch(0, false, 8)),
                (40, 0, switch(50, false, 0)),
            ],
            &[(10, 25, 150)],
        );
    }

    /// Threads of the run take turns on one CPU; others do not count.
    #[test]
    fn the_run_takes_nothing_from_itself() {
        check(
            &[
                (5, 0, Fork { parent: LAUNCHER, child: 7 }),
                (5, 0, Fork { parent: 7, child: 8 }),
                (5, 0, Fork { parent: 90, child: 91 }),
                (6, 0, switch(LAUNCHER, false, 7)),
                (10, 0, switch(7, true, 8)),
                (20, 0, switch(8, false, 7)),
                (30, 1, switch(91, true, 50)),
                (40, 1, switch(50, true, 91)),
            ],
            &[],
        );
    }

    #[test]
    fn losses_belong_to_the_run_they_fell_in() {
        let loss = |start_ns, end_ns, source| Segment { start_ns, end_ns, source, is_new: true };
        let losses = [loss(0, 50, 0), loss(5, 8, 1), loss(12, 20, 1), loss(60, 70, 0)];
        let runs = [(3, 10, 30), (4, 45, 55), (5, 56, 58), (6, 59, 99)];
        let runs = runs.map(|(step, start_ns, end_ns)| RunInterval { step, start_ns, end_ns });
        let task = |name: &str| NoiseSource::Task { name: name.into() };
        let found = by_run(&losses, &runs, &[task("a"), task("b")]);
        let entry = |name, ns| LedgerEntry { n: Some(1), ..LedgerEntry::exact(task(name), ns) };
        let expected = [
            (3, vec![entry("a", 20), entry("b", 8)]),
            (4, vec![entry("a", 5)]),
            (6, vec![entry("a", 10)]),
        ];
        assert_eq!(found, expected);
    }
}
