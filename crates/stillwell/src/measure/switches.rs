//! Measures how long the kernel kept a run off the CPU against its will. A dummy perf event with `context_switch`
//! writes a record at every switch of every thread of the run. The record says whether the thread was preempted or
//! went to sleep. Needs no privileges (perf_event_open(2), PERF_RECORD_SWITCH, Linux 4.3).

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

/// Ring buffer of each CPU, in bytes, a power of two. It has room for about 1 300 times off the CPU and on again.
const RING_BYTES: usize = 64 << 10;
/// The most CPUs. More would cost more memory and time per run than the launcher may take.
const CPUS_MAX: usize = 64;

/// `PERF_RECORD_LOST`.
pub const RECORD_LOST: u32 = 2;
/// `PERF_RECORD_SWITCH`.
pub const RECORD_SWITCH: u32 = 14;
/// `PERF_RECORD_MISC_SWITCH_OUT` and `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT` of the record header.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// One ring buffer a CPU: an event that is inherited by children may only be mapped if it is bound to a CPU.
pub struct SwitchLog {
    rings: Vec<Sampler>,
    events: Vec<Switch>,
}

/// One context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Switch {
    /// Time of the switch, CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The thread.
    pub thread: u32,
    /// The direction: onto the CPU or off it.
    pub kind: SwitchKind,
    /// Index of the ring buffer, and so of the CPU.
    cpu: usize,
}

/// Sums over the switches of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchTotals {
    /// Time between being preempted and running again, over all threads.
    pub preempted_ns: u64,
    /// Times a thread continued on another CPU than it had stopped on.
    pub migrations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchKind {
    /// The thread continues.
    In,
    /// The thread waits for an event.
    Out,
    /// The thread could continue, but the kernel runs another one.
    Preempted,
}

impl SwitchLog {
    /// Opens one event for each CPU that a run may use.
    pub fn open(cpus: &[usize]) -> io::Result<Self> {
        if cpus.len() > CPUS_MAX {
            return Err(io::Error::other(format!(
                "{} CPUs need as many ring buffers; at most {CPUS_MAX} are opened (use ⟦affinity⟧)",
                cpus.len()
            )));
        }
        let rings = cpus.iter().map(|&cpu| open_ring(cpu)).collect::<io::Result<_>>()?;
        Ok(Self { rings, events: Vec::new() })
    }

    /// Discards the log so far.
    pub fn discard(&mut self) {
        for ring in &mut self.rings {
            while ring.next_record().is_some() {}
        }
    }

    /// Adds up the run; `None` when the ring buffer was too small for all its switches.
    pub fn add_up(&mut self) -> Option<SwitchTotals> {
        self.events.clear();
        for (cpu, ring) in self.rings.iter_mut().enumerate() {
            while let Some(record) = ring.next_record() {
                match record.ty() {
                    RECORD_SWITCH => {
                        self.events.push(switch(cpu, record.misc(), &record.to_contiguous())?);
                    }
                    RECORD_LOST => return None,
                    _ => {}
                }
            }
        }
        self.events.sort_unstable();
        Some(add_up(&self.events))
    }
}

fn open_ring(cpu: usize) -> io::Result<Sampler> {
    let mut builder = switches();
    builder.observe_self().one_cpu(cpu).inherit(true).enabled(false).enable_on_exec(true);
    builder.build()?.sampled(RING_BYTES)
}

/// Builds an event that counts nothing and writes a record at every switch; [`switch`] reads them. Every user may
/// open it, since it excludes the kernel.
pub fn switches() -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .exclude_kernel(true)
        .exclude_hv(true)
        .context_switch(true)
        .sample_id_all(true)
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .clockid(Clock::MONOTONIC);
    builder
}

/// Parses a switch record. Its body holds only the fields that `sample_id_all` adds for TID and TIME: process (u32),
/// thread (u32), time (u64). perf-event-data does not parse it.
pub fn switch(cpu: usize, misc: u16, body: &[u8]) -> Option<Switch> {
    let thread = u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?);
    let time_ns = u64::from_ne_bytes(body.get(8..16)?.try_into().ok()?);
    Some(Switch { time_ns, thread, kind: kind(misc), cpu })
}

fn kind(misc: u16) -> SwitchKind {
    if misc & SWITCH_OUT == 0 {
        SwitchKind::In
    } else if misc & SWITCH_OUT_PREEMPT != 0 {
        SwitchKind::Preempted
    } else {
        SwitchKind::Out
    }
}

/// Switches in order of time → their sums.
fn add_up(switches: &[Switch]) -> SwitchTotals {
    let mut stopped: Vec<Switch> = Vec::new();
    let mut sums = SwitchTotals::default();
    for switch in switches {
        if switch.kind != SwitchKind::In {
            stopped.push(*switch);
        } else if let Some(index) = stopped.iter().position(|out| out.thread == switch.thread) {
            let out = stopped.swap_remove(index);
            sums.migrations += u64::from(out.cpu != switch.cpu);
            if out.kind == SwitchKind::Preempted {
                sums.preempted_ns += switch.time_ns - out.time_ns;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time, thread, kind and CPU of each switch.
    #[track_caller]
    fn check(switches: &[(u64, u32, SwitchKind, usize)], preempted_ns: u64, migrations: u64) {
        let mut switches: Vec<Switch> = switches
            .iter()
            .map(|&(time_ns, thread, kind, cpu)| Switch { time_ns, thread, kind, cpu })
            .collect();
        switches.sort_unstable();
        assert_eq!(add_up(&switches), SwitchTotals { preempted_ns, migrations });
    }

    #[test]
    fn only_time_after_a_preemption_counts() {
        use SwitchKind::{In, Out, Preempted};
        check(&[], 0, 0);
        check(&[(10, 1, Preempted, 0), (25, 1, In, 0)], 15, 0);
        check(&[(10, 1, Out, 0), (25, 1, In, 0)], 0, 0);
        // Two threads, one preempted inside the other's sleep, which ends on another CPU.
        check(&[(10, 1, Out, 0), (11, 2, Preempted, 0), (14, 2, In, 0), (30, 1, In, 1)], 3, 1);
        // Preempted and never back: the run was over. In without out: it had just been made.
        check(&[(5, 2, In, 0), (10, 1, Preempted, 0)], 0, 0);
    }

    #[test]
    fn the_header_says_what_kind_of_switch_it_was() {
        assert_eq!(kind(0), SwitchKind::In);
        assert_eq!(kind(SWITCH_OUT), SwitchKind::Out);
        assert_eq!(kind(SWITCH_OUT | SWITCH_OUT_PREEMPT), SwitchKind::Preempted);
    }
}
