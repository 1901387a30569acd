//! Counts page faults and, with the kernel's permission, system calls, each with its call chain. Every single event is
//! recorded, so the times of such a run are not used. The events are open in these runs only, because the kernel's
//! tracepoint of system calls slows every process of the machine.

#![expect(clippy::disallowed_methods, reason = "reads the kernel's count of huge pages")]

use std::io;

use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use crate::switches::{RECORD_LOST, RECORD_SAMPLE};

/// Added to the record kind of a page fault, and of a system call.
pub const OF_FAULTS: u32 = 0x3_0000;
pub const OF_CALLS: u32 = 0x4_0000;
/// Flag of a run whose system calls are counted too.
pub const COUNTS_CALLS: u32 = 4;
/// One block in so many is counted, up to a limit: a program repeats itself, so few blocks suffice.
const COUNTED_EVERY: u32 = 8;
const COUNTED_MAX: u32 = 24;
/// Which of these blocks is counted.
const COUNTED_AT: u32 = 3;
/// Ring buffer of each CPU in bytes, the largest first. Users may have 516 KiB for each CPU
/// (kernel.perf_event_mlock_kb).
const RING_BYTES: [usize; 3] = [1 << 20, 256 << 10, 64 << 10];
pub const DEPTH_MAX: u16 = 64;
/// Most bytes of a run's records. Whatever exceeds this counts as lost.
const BYTES_MAX: u64 = 4 << 20;
/// After a run with lost records, only one event in this many times as many is recorded.
const LONGER: u64 = 16;
const PERIOD_MAX: u64 = 1 << 16;

pub fn is_counted(block: u32) -> bool {
    block % COUNTED_EVERY == COUNTED_AT && block < COUNTED_EVERY * COUNTED_MAX
}

/// The events of the current run.
#[derive(Default)]
pub struct CountingLog {
    cpus: Vec<usize>,
    with_kernel: bool,
    /// Number of the system call tracepoint.
    tracepoint: Option<u64>,
    rings: Vec<(u32, Sampler)>,
    /// Huge pages of the machine before the run.
    n_huge_pages: Option<u64>,
    is_refused: bool,
    /// One event in so many is recorded.
    period: u64,
    n_bytes: u64,
    n_lost: u64,
}

pub struct CountsEnd {
    /// Lost records, or gaps with lost records.
    pub n_lost: u64,
    /// Huge pages that the kernel gave to any program during the run; `None` if the run is not counted or the kernel
    /// does not say.
    pub n_huge_pages: Option<u64>,
}

impl CountingLog {
    pub fn new(cpus: &[usize], with_kernel: bool, tracepoint: Option<u64>) -> Self {
        Self {
            cpus: cpus.to_vec(),
            with_kernel,
            tracepoint: tracepoint.filter(|_| with_kernel),
            period: 1,
            ..Self::default()
        }
    }

    /// Opens the events for a run. Returns the flag, and that one in how many events is counted; `None` if the kernel
    /// refuses.
    pub fn before(&mut self) -> Option<(u32, u64)> {
        (self.n_bytes, self.n_lost) = (0, 0);
        if self.is_refused {
            return None;
        }
        let Ok(faults) = self.open(|| Builder::new(Software::PAGE_FAULTS)) else {
            self.is_refused = true;
            return None;
        };
        let calls = self.tracepoint.and_then(|id| {
            let event = || {
                let mut builder = Builder::new(Tracepoint::with_id(id));
                builder.sample(SampleFlag::RAW);
                builder
            };
            self.open(event).ok()
        });
        if calls.is_none() {
            self.tracepoint = None;
        }
        let flags = if calls.is_some() { COUNTS_CALLS } else { 0 };
        self.rings = faults.into_iter().map(|ring| (OF_FAULTS, ring)).collect();
        self.rings.extend(calls.into_iter().flatten().map(|ring| (OF_CALLS, ring)));
        self.n_huge_pages = huge_pages();
        Some((flags, self.period))
    }

    pub fn is_on(&self) -> bool {
        !self.rings.is_empty()
    }

    /// Passes on the kernel's samples.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u16, &[u8])) {
        for (of, ring) in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let body = record.to_contiguous();
                self.n_bytes += body.len() as u64;
                match record.ty() {
                    RECORD_SAMPLE if self.n_bytes <= BYTES_MAX => {
                        each(*of + RECORD_SAMPLE, record.misc(), &body);
                    }
                    RECORD_SAMPLE | RECORD_LOST => self.n_lost += 1,
                    _ => {}
                }
            }
        }
    }

    /// Ends the run.
    pub fn after(&mut self) -> CountsEnd {
        let before = self.n_huge_pages.take();
        let n_huge_pages = before.and_then(|before| huge_pages()?.checked_sub(before));
        self.rings.clear();
        if self.n_lost > 0 {
            self.period = (self.period * LONGER).min(PERIOD_MAX);
        }
        CountsEnd { n_lost: self.n_lost, n_huge_pages }
    }

    fn open(&self, event: impl Fn() -> Builder<'static>) -> io::Result<Vec<Sampler>> {
        self.cpus.iter().map(|&cpu| self.open_ring(cpu, event())).collect()
    }

    /// Leaves out the kernel's part of a chain, whose reason is known.
    fn open_ring(&self, cpu: usize, mut builder: Builder<'static>) -> io::Result<Sampler> {
        sample_chains(&mut builder, cpu, DEPTH_MAX);
        builder
            .enabled(true)
            .exclude_kernel(!self.with_kernel)
            .sample_period(self.period)
            .exclude_callchain_kernel(true);
        with_largest_ring(&mut builder)
    }
}

/// Huge pages given to page faults since boot (`thp_fault_alloc`, admin-guide/mm/transhuge.rst).
fn huge_pages() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("thp_fault_alloc "))?.parse().ok()
}

/// Lets an event watch the tasks of a run on a CPU, with the call chain of each sample.
pub fn sample_chains(builder: &mut Builder<'_>, cpu: usize, depth_max: u16) {
    builder
        .observe_self()
        .one_cpu(cpu)
        .inherit(true)
        .exclude_hv(true)
        .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME | SampleFlag::CALLCHAIN)
        .sample_max_stack(depth_max)
        .clockid(Clock::MONOTONIC);
}

/// Opens a sampling event with the largest buffer that the kernel gives. It becomes readable when half full.
pub fn with_largest_ring(builder: &mut Builder<'_>) -> io::Result<Sampler> {
    let mut open = |bytes: usize| builder.wakeup_watermark(bytes / 2).build()?.sampled(bytes);
    open(RING_BYTES[0]).or_else(|_| open(RING_BYTES[1])).or_else(|_| open(RING_BYTES[2]))
}
