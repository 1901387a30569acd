//! Which source had a CPU at each time, from a trace. Pure.
//!
//! Interrupts nest in programs and in each other. Each nanosecond belongs to the innermost one, so a program's time
//! excludes its interrupts.

use record::ledger::NoiseSource;

pub type SourceIndex = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuEvent {
    /// Time, CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub kind: CpuEventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuEventKind {
    /// A context switch to the watched program (`None`) or to another.
    Switch(Option<SourceIndex>),
    Enter(SourceIndex),
    Exit(SourceIndex),
}

/// A time in which one source had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub start_ns: u64,
    pub end_ns: u64,
    pub source: SourceIndex,
    /// Whether the source begins here, and does not just continue after an interruption.
    pub is_new: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In order of time.
    pub events: Vec<CpuEvent>,
    pub sources: Vec<NoiseSource>,
    /// Events that the kernel dropped because its buffer was full.
    pub n_lost: u64,
}

impl Trace {
    pub fn index_of(&mut self, source: NoiseSource) -> SourceIndex {
        let known = self.sources.iter().position(|known| *known == source);
        let index = known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        SourceIndex::try_from(index).expect("fewer than four thousand million programs")
    }

    /// The stretches of time of each source but the watched program. `end_ns`: end of the trace.
    pub fn segments(&self, end_ns: u64) -> Vec<Segment> {
        let mut state = Occupancy { task: None, stack: Vec::new(), since_ns: 0, is_new: false };
        let mut segments = Vec::new();
        for event in &self.events {
            state.pass(event.time_ns, &mut segments);
            state.apply(event.kind);
        }
        state.pass(end_ns, &mut segments);
        segments
    }
}

/// The program and the interrupts that have the CPU.
struct Occupancy {
    task: Option<SourceIndex>,
    stack: Vec<SourceIndex>,
    since_ns: u64,
    is_new: bool,
}

impl Occupancy {
    /// Gives the time until now to the innermost source.
    fn pass(&mut self, now_ns: u64, segments: &mut Vec<Segment>) {
        let innermost = self.stack.last().copied().or(self.task);
        if let Some(source) = innermost.filter(|_| now_ns > self.since_ns) {
            let is_new = std::mem::take(&mut self.is_new);
            segments.push(Segment { start_ns: self.since_ns, end_ns: now_ns, source, is_new });
        }
        self.since_ns = now_ns.max(self.since_ns);
    }

    fn apply(&mut self, kind: CpuEventKind) {
        match kind {
            CpuEventKind::Switch(to) => {
                // The scheduler never runs inside an interrupt, so the ends of any open interrupts were lost.
                self.stack.clear();
                self.is_new = self.task != to;
                self.task = to;
            }
            CpuEventKind::Enter(source) => {
                self.stack.push(source);
                self.is_new = true;
            }
            CpuEventKind::Exit(source) => {
                // An interrupt that began before the trace has no beginning in it.
                if let Some(at) = self.stack.iter().rposition(|&open| open == source) {
                    self.stack.truncate(at);
                    self.is_new = false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CpuEventKind::{Enter, Exit, Switch};

    /// Input: time and kind. Expected: start, end, source, whether it is new.
    #[track_caller]
    fn check(events: &[(u64, CpuEventKind)], expected: &[(u64, u64, u32, bool)]) {
        let events = events.iter().map(|&(time_ns, kind)| CpuEvent { time_ns, kind }).collect();
        let trace = Trace { events, ..Trace::default() };
        let found: Vec<_> = trace
            .segments(100)
            .iter()
            .map(|found| (found.start_ns, found.end_ns, found.source, found.is_new))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_nanosecond_belongs_to_the_innermost() {
        check(&[], &[]);
        check(&[(10, Enter(1)), (14, Exit(1))], &[(10, 14, 1, true)]);
        // A softirq at the end of an interrupt, itself interrupted.
        check(
            &[
                (10, Enter(1)),
                (12, Enter(2)),
                (15, Enter(1)),
                (16, Exit(1)),
                (20, Exit(2)),
                (21, Exit(1)),
            ],
            &[
                (10, 12, 1, true),
                (12, 15, 2, true),
                (15, 16, 1, true),
                (16, 20, 2, false),
                (20, 21, 1, false),
            ],
        );
        // An interrupted program, then another one.
        check(
            &[
                (10, Switch(Some(7))),
                (13, Enter(1)),
                (14, Exit(1)),
                (20, Switch(Some(8))),
                (30, Switch(None)),
                (90, Switch(Some(8))),
            ],
            &[
                (10, 13, 7, true),
                (13, 14, 1, true),
                (14, 20, 7, false),
                (20, 30, 8, true),
                (90, 100, 8, true),
            ],
        );
    }

    #[test]
    fn lost_events_do_no_harm_for_long() {
        // The trace began inside an interrupt; the end of another was lost.
        check(
            &[(10, Exit(1)), (20, Enter(2)), (30, Switch(Some(7))), (40, Switch(None))],
            &[(20, 30, 2, true), (30, 40, 7, true)],
        );
        check(
            &[(10, Enter(1)), (12, Enter(2)), (20, Exit(1))],
            &[(10, 12, 1, true), (12, 20, 2, true)],
        );
    }

    #[test]
    fn a_source_has_one_index() {
        let mut trace = Trace::default();
        let sh = || NoiseSource::Task { name: "sh".into() };
        assert_eq!(
            [trace.index_of(sh()), trace.index_of(NoiseSource::Steal), trace.index_of(sh())],
            [0, 1, 0]
        );
    }
}
