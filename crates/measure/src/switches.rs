//! The scheduler's records of a run, from one dummy perf event on each CPU that the run's tasks inherit. A record at
//! every switch says whether the task was preempted or went to sleep; others say when a task is made and ends
//! (perf_event_open(2), PERF_RECORD_SWITCH, Linux 4.3). This needs no rights. If the kernel permits tracepoints of
//! whole CPUs, one more event on each says when a sleeping task is woken. An event of the tasks alone would not do:
//! Linux 6.18 writes no sample for a task that sleeps.

use std::io;

use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use crate::fields::{long, word};
use crate::stalls::{TaskEvent, TaskEventKind, TaskTotals, TracedRun, add_up};
use host::{WakeTracepoint, sys};

/// Ring buffer of each CPU, in bytes, a power of two. It has room for about 1 300 pairs of switches.
const RING_BYTES: usize = 64 << 10;
/// A record's header (perf_event_open(2), `struct perf_event_header`), and the longest record: one about a fork.
const RECORD_HEADER_BYTES: usize = 8;
const RECORD_BYTES_MAX: usize = 64;
/// Most CPUs. More would cost more memory and time per run than the launcher may take.
const CPUS_MAX: usize = 64;

/// `PERF_RECORD_LOST`.
pub const RECORD_LOST: u32 = 2;
/// `PERF_RECORD_COMM`.
pub const RECORD_COMM: u32 = 3;
/// `PERF_RECORD_MISC_COMM_EXEC` of the record header.
pub const COMM_EXEC: u16 = 1 << 13;
/// `PERF_RECORD_EXIT`.
pub const RECORD_EXIT: u32 = 4;
/// `PERF_RECORD_FORK`.
pub const RECORD_FORK: u32 = 7;
/// `PERF_RECORD_SAMPLE`.
pub const RECORD_SAMPLE: u32 = 9;
/// `PERF_RECORD_SWITCH`.
pub const RECORD_SWITCH: u32 = 14;
/// `PERF_RECORD_MISC_SWITCH_OUT` and `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT` of the record header.
pub const SWITCH_OUT: u16 = 1 << 13;
pub const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// One ring buffer a CPU: an inherited event can only be mapped if it is bound to a CPU.
pub struct SwitchLog {
    rings: Vec<Sampler>,
    /// Wakes of all tasks made after the launcher. Lost records only leave the waits after a sleep unknown.
    wakes: Vec<Sampler>,
    wake: Option<WakeTracepoint>,
    events: Vec<TaskEvent>,
}

impl SwitchLog {
    /// Opens one event for each CPU that a run may use. Without the right to tracepoints, nothing says when a task is
    /// woken.
    pub fn open(cpus: &[usize], wake: Option<WakeTracepoint>) -> io::Result<Self> {
        if cpus.len() > CPUS_MAX {
            return Err(io::Error::other(format!(
                "{} CPUs need as many ring buffers; at most {CPUS_MAX} are opened (give fewer to the runs)",
                cpus.len()
            )));
        }
        let rings: Vec<Sampler> =
            cpus.iter().map(|&cpu| open_ring(cpu)).collect::<io::Result<_>>()?;
        let open = |wake: WakeTracepoint| {
            cpus.iter().map(|&cpu| open_wakes(cpu, wake)).collect::<io::Result<Vec<Sampler>>>()
        };
        let wakes = wake.and_then(|wake| open(wake).ok()).unwrap_or_default();
        Ok(Self { rings, wakes, wake, events: Vec::new() })
    }

    pub fn discard(&mut self) {
        for ring in self.rings.iter_mut().chain(&mut self.wakes) {
            while ring.next_record().is_some() {}
        }
    }

    /// Adds up a run; `None` if the ring buffer was too small for its records.
    pub fn add_up(&mut self, first: u32, started_ns: u64, ended_ns: u64) -> Option<TaskTotals> {
        self.events.clear();
        for (cpu, ring) in self.rings.iter_mut().enumerate() {
            let mut n_bytes = 0;
            while let Some(record) = ring.next_record() {
                let body = record.to_contiguous();
                n_bytes += RECORD_HEADER_BYTES + body.len();
                let event = match record.ty() {
                    RECORD_SWITCH => Some(switch(cpu, record.misc(), &body)?),
                    RECORD_FORK => Some(made(cpu, &body)?),
                    RECORD_EXIT => Some(ended(cpu, &body)?),
                    RECORD_COMM if record.misc() & COMM_EXEC != 0 => Some(executes(cpu, &body)?),
                    RECORD_LOST => return None,
                    _ => None,
                };
                self.events.extend(event);
            }
            // The kernel reports lost records in the next one that fits, which may not have come.
            if n_bytes + RECORD_BYTES_MAX > RING_BYTES {
                return None;
            }
        }
        for ring in &mut self.wakes {
            while let Some(record) = ring.next_record() {
                let sample = Some(record.to_contiguous()).filter(|_| record.ty() == RECORD_SAMPLE);
                self.events.extend(sample.and_then(|body| woken(self.wake?, &body)));
            }
        }
        self.events.sort_unstable();
        let n_cpus = self.rings.len();
        Some(add_up(&self.events, TracedRun { first, started_ns, ended_ns, n_cpus }))
    }
}

fn open_ring(cpu: usize) -> io::Result<Sampler> {
    let mut builder = switches();
    builder
        .task(true)
        .comm(true)
        .comm_exec(true)
        .observe_self()
        .one_cpu(cpu)
        .inherit(true)
        .enabled(false)
        .enable_on_exec(true);
    builder.build()?.sampled(RING_BYTES)
}

/// Wakes of the tasks that are younger than this process. Once the numbers of tasks wrap around, the runs' wakes are
/// missing.
fn open_wakes(cpu: usize, wake: WakeTracepoint) -> io::Result<Sampler> {
    let mut builder = tracepoint(wake.id, cpu);
    builder.enabled(false).sample(SampleFlag::TID);
    let mut counter = builder.build()?;
    sys::filter_tracepoint(&counter, &format!("pid > {}", std::process::id()))?;
    counter.enable()?;
    counter.sampled(RING_BYTES)
}

/// A tracepoint of a whole CPU, with the time and the data of each event.
pub fn tracepoint(id: u64, cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .sample_period(1)
        .sample(SampleFlag::TIME | SampleFlag::RAW)
        .clockid(Clock::MONOTONIC);
    builder
}

/// An event that counts nothing and writes a record at every switch, for [`switch`] to read. It excludes the kernel, so
/// every user may open it.
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

/// Parses a switch record, which perf-event-data does not. Its body has only the fields that `sample_id_all` adds for
/// TID and TIME: process (u32), thread (u32), time (u64).
pub fn switch(cpu: usize, misc: u16, body: &[u8]) -> Option<TaskEvent> {
    let (thread, time_ns) = (word(body, 4)?, long(body, 8)?);
    Some(TaskEvent { time_ns, thread, kind: kind(misc), cpu })
}

/// Parses a fork record: process, its parent, thread, its parent (u32 each), time (u64).
fn made(cpu: usize, body: &[u8]) -> Option<TaskEvent> {
    let kind = TaskEventKind::Made { maker: word(body, 12)?, process: word(body, 0)? };
    Some(TaskEvent { time_ns: long(body, 16)?, thread: word(body, 8)?, kind, cpu })
}

/// Parses an exit record, which has the same fields.
fn ended(cpu: usize, body: &[u8]) -> Option<TaskEvent> {
    Some(TaskEvent { kind: TaskEventKind::Ended, ..made(cpu, body)? })
}

/// Parses a comm record: process, thread (u32 each), name, and from `sample_id_all`: process, thread (u32 each), time
/// (u64).
fn executes(cpu: usize, body: &[u8]) -> Option<TaskEvent> {
    let time_ns = long(body, body.len().checked_sub(8)?)?;
    Some(TaskEvent { time_ns, thread: word(body, 4)?, kind: TaskEventKind::Executes, cpu })
}

/// Parses a sample: process and thread of what ran there (u32 each), time (u64), size (u32) and that many bytes, with
/// the number of the woken task.
fn woken(wake: WakeTracepoint, body: &[u8]) -> Option<TaskEvent> {
    /// `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ` of a record's common_flags.
    const IN_INTERRUPT: u8 = 0x18;
    const RAW: usize = 20;
    let thread = word(body, RAW + wake.thread_at)?;
    let kind = match body.get(RAW + 2)? & IN_INTERRUPT {
        0 => TaskEventKind::WokenBy(word(body, 4)?),
        _ => TaskEventKind::WokenByInterrupt,
    };
    Some(TaskEvent { time_ns: long(body, 8)?, thread, kind, cpu: usize::MAX })
}

fn kind(misc: u16) -> TaskEventKind {
    if misc & SWITCH_OUT == 0 {
        TaskEventKind::In
    } else if misc & SWITCH_OUT_PREEMPT != 0 {
        TaskEventKind::Preempted
    } else {
        TaskEventKind::Out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::words;

    #[test]
    fn the_header_says_what_kind_of_switch_it_was() {
        assert_eq!(kind(0), TaskEventKind::In);
        assert_eq!(kind(SWITCH_OUT), TaskEventKind::Out);
        assert_eq!(kind(SWITCH_OUT | SWITCH_OUT_PREEMPT), TaskEventKind::Preempted);
    }

    #[test]
    fn records_have_their_fields_at_their_places() {
        let event = |thread, kind| Some(TaskEvent { time_ns: 9, thread, kind, cpu: 3 });
        let low = u32::from(cfg!(target_endian = "little")) * 9;
        let (time_a, time_b) = (low, 9 - low);
        assert_eq!(switch(3, 0, &words(&[7, 8, time_a, time_b])), event(8, TaskEventKind::In));
        let life = words(&[7, 6, 8, 6, time_a, time_b]);
        assert_eq!(made(3, &life), event(8, TaskEventKind::Made { maker: 6, process: 7 }));
        assert_eq!(ended(3, &life), event(8, TaskEventKind::Ended));
        let name = words(&[7, 8, u32::from_ne_bytes(*b"name"), 0, 7, 8, time_a, time_b]);
        assert_eq!(executes(3, &name), event(8, TaskEventKind::Executes));
        assert_eq!(executes(3, &name[..4]), None);
        let wake = WakeTracepoint { id: 1, thread_at: 4 };
        let sample = |flags: u8| {
            let raw = u32::from_ne_bytes([0, 0, flags, 0]);
            words(&[7, 8, time_a, time_b, 8, raw, 5])
        };
        let of = |kind| Some(TaskEvent { time_ns: 9, thread: 5, kind, cpu: usize::MAX });
        assert_eq!(woken(wake, &sample(1)), of(TaskEventKind::WokenBy(8)));
        assert_eq!(woken(wake, &sample(0x11)), of(TaskEventKind::WokenByInterrupt));
        assert_eq!(woken(wake, &sample(0)[..20]), None);
    }
}
