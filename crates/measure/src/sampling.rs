//! Samples where each task of a run is, at regular intervals of CPU time, by one perf event on each CPU that the run's
//! tasks inherit. The launcher copies the kernel's records unread to a file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use perf_event::events::Software;
use perf_event::{Builder, Sampler};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use stats::Stream;

use crate::child_run::{has_ended_or_stopped, pidfd};
use crate::clock::monotonic_ns;
use crate::counting::{
    CountingLog, CountsEnd, DEPTH_MAX, is_counted, sample_chains, with_largest_ring,
};
use crate::fields::{long, longs, n_lost, word, words};
use crate::jit::JitFiles;
use crate::stack_copies::{CHAIN_AT, StackRoom, ask_for_stacks, chain_end, cut_unused, stack_copy};
use crate::switches::{RECORD_FORK, RECORD_LOST, RECORD_SAMPLE};
use crate::value::as_user;
use crate::waiting::WaitingLog;
use crate::wire::{RowId, SamplingSettings};
use host::sys::{self, User};
use model::words::reason;

/// Kind of the entry that begins a run; no kernel record has it. Body: step, arm and block (u32 each), flags: 1 if the
/// kernel is sampled, 2 if waits are, 4 if system calls are counted (u32), the period in ns (u64; 0 for a run without
/// samples), and one in how many events is counted (u64; 0 for a run without counts).
pub const RUN_BEGINS: u32 = 0x1_0000;
/// Kind of the entry that ends a run. Body: number of lost records, whether all waits were seen, number of lost counted
/// events, and number of huge pages (u64 each; `u64::MAX` if they are not counted).
pub const RUN_ENDS: u32 = 0x1_0001;
/// Kind of the entry for a function compiled at run time. Body: process (u32), start, size (u64 each), name.
pub const RUN_COMPILED: u32 = 0x1_0002;
/// Bytes of an entry before its body: kind, the header's misc, the length of the body (u32 each).
pub const ENTRY_HEAD_BYTES: usize = 12;
/// One block in so many is not sampled, to show the cost of sampling.
const UNSAMPLED_EVERY: u32 = 8;

/// `PERF_RECORD_MMAP2`, and where its path begins.
pub const RECORD_MMAP2: u32 = 10;
pub const MMAP2_PATH: usize = 64;
/// Longest time between two readings of the buffers during a run.
const DRAIN_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Longest time for a run whose events are counted: each page fault has a record.
const DRAIN_COUNTS_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// A period that no run reaches: 13 days of CPU time.
const NEVER_NS: u64 = 1 << 50;
/// Most bytes of the file. Later samples count as lost.
const FILE_BYTES_MAX: u64 = 2 << 30;
/// Beyond this, samples have no copy of the stack. The front end empties the file between runs.
const STACKS_BYTES_MAX: u64 = 1 << 30;

/// The shortest period, relative to the mean. The periods of runs are drawn evenly around the mean: if the kernel moves
/// the child to another CPU at its exec, the timer restarts there and the phase of the run is no longer random. A
/// different period moves the samples all the same.
const PERIOD_MIN: f64 = 0.5;

pub struct Sampling {
    rings: Vec<Sampler>,
    cpus: Vec<usize>,
    room: StackRoom,
    file: BufWriter<File>,
    n_bytes: u64,
    has_kernel: bool,
    period_ns: u64,
    stream: Stream,
    /// Whether the current run has an entry in the file.
    is_kept: bool,
    /// Files and addresses of code that the run may compile; `None` for hooks.
    jit: Option<JitFiles>,
    waiting: WaitingLog,
    counting: CountingLog,
    began_ns: u64,
    n_lost: u64,
}

impl Sampling {
    /// Opens an event on each CPU that a run may use, and the file, which may be opened as another user. Errors: the
    /// kernel permits no samples, or the file cannot be opened.
    pub fn open(
        settings: &SamplingSettings,
        files_of: Option<&User>,
        cpus: &[usize],
    ) -> Result<Self> {
        let room = StackRoom::of(settings);
        let open = |with_kernel: bool, with_stacks: bool| {
            let stack_bytes = if with_stacks { settings.stack_bytes } else { 0 };
            let rings = open_rings(cpus, settings.period_ns, with_kernel, stack_bytes)?;
            Ok((rings, with_kernel))
        };
        let ways = [(true, true), (false, true), (true, false)];
        let opened = ways
            .into_iter()
            .find_map(|(with_kernel, with_stacks)| open(with_kernel, with_stacks).ok())
            .map_or_else(|| open(false, false), Ok);
        let (rings, has_kernel) =
            opened.map_err(|error: io::Error| anyhow!("{}", refused(&error)))?;
        let waiting = WaitingLog::open(if has_kernel { cpus } else { &[] });
        let counting = CountingLog::new(cpus, has_kernel, settings.system_calls);
        let path = Path::new(OsStr::from_bytes(&settings.file));
        let flags = OFlags::APPEND | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = as_user(files_of, || rustix::fs::open(path, flags, Mode::empty()));
        let file =
            file.with_context(|| format!("cannot open the file for samples {}", path.display()))?;
        Ok(Self {
            rings,
            cpus: cpus.to_vec(),
            room,
            file: BufWriter::with_capacity(1 << 16, file.into()),
            n_bytes: 0,
            has_kernel,
            period_ns: settings.period_ns,
            stream: Stream::new(settings.seed),
            is_kept: false,
            jit: None,
            waiting,
            counting,
            began_ns: 0,
            n_lost: 0,
        })
    }

    /// Begins a run (or a hook or a warm-up, of which nothing is kept). Returns the CPU time that the child must use up
    /// before its exec, ns. The timer runs from the clone on. A random part of the period before the exec makes each
    /// moment of the run equally likely to be sampled; otherwise the first period never would be, and a function that
    /// only moved in time would seem to have changed.
    pub fn before(&mut self, row: Option<RowId>) -> u64 {
        for ring in &mut self.rings {
            while ring.next_record().is_some() {}
        }
        let timed = row.and_then(|row| Some((row, row.block?)));
        self.is_kept = timed.is_some();
        self.jit = row.map(|_| JitFiles::from_now_on());
        self.n_lost = 0;
        self.n_bytes = self.file.get_ref().metadata().map_or(self.n_bytes, |it| it.len());
        let is_in = |of: fn(u32) -> bool| timed.is_some_and(|(_, block)| of(block));
        let counts = if is_in(is_counted) { self.counting.before() } else { None };
        let is_sampled = counts.is_none() && is_in(|block| !is_unsampled(block));
        let drawn = PERIOD_MIN + 2.0 * (1.0 - PERIOD_MIN) * self.stream.unit();
        let drawn_ns = self.period_ns as f64 * drawn;
        // The samples of a warm-up are not kept, but they tell how large the copies of stacks have to be.
        let is_trial = row.is_some() && timed.is_none() && self.room.can_grow;
        let period_ns = if is_sampled || is_trial { drawn_ns as u64 } else { NEVER_NS };
        let is_watched = self.waiting.before(is_sampled || (row.is_some() && timed.is_none()));
        self.began_ns = monotonic_ns();
        let is_set = self.rings.iter().all(|ring| sys::set_sample_period(ring, period_ns).is_ok());
        if let Some((row, block)) = timed {
            let kept_ns = if is_sampled && is_set { period_ns } else { 0 };
            let (counted, counted_every) = counts.unwrap_or_default();
            let flags = u32::from(self.has_kernel) + 2 * u32::from(is_watched) + counted;
            let mut body = words(&[row.step, row.arm, block, flags]);
            body.extend(longs(&[kept_ns, counted_every]));
            self.write(RUN_BEGINS, 0, &body);
        }
        // Runs without samples too: the comparison shows the cost.
        let phase_ns = (drawn_ns * self.stream.unit()) as u64;
        if timed.is_some() { phase_ns } else { 0 }
    }

    /// Copies the records to the file until the child has ended. Calls `before_wait` before each wait.
    pub fn drain_until_exit(&mut self, pid: i32, mut before_wait: impl FnMut()) {
        if let Some(jit) = &mut self.jit {
            jit.add_process(pid.cast_unsigned());
        }
        // Without a pidfd the caller waits, and whatever does not fit into the buffers is lost.
        let Some(pidfd) = pidfd(pid) else { return };
        let every = if self.counting.is_on() { &DRAIN_COUNTS_EVERY } else { &DRAIN_EVERY };
        let mut can_wait_for_rings = true;
        while !has_ended_or_stopped(pid) {
            // A buffer is ready when it is half full.
            let rings = self.rings.iter().filter(|_| can_wait_for_rings);
            let borrowed = rings.map(sys::descriptor_of);
            let polled = std::iter::once(pidfd.as_fd()).chain(borrowed);
            let mut fds: Vec<PollFd<'_>> =
                polled.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            before_wait();
            let ready = poll(&mut fds, Some(every));
            if ready.is_err() || !fds[0].revents().is_empty() {
                // The child has ended, or a signal came, which the caller checks.
                return;
            }
            // The buffer of a CPU that was switched off would be ready for ever.
            let gone = PollFlags::HUP | PollFlags::ERR;
            can_wait_for_rings &= !fds[1..].iter().any(|fd| fd.revents().intersects(gone));
            drop(fds);
            self.drain();
        }
    }

    pub fn after(&mut self) {
        self.drain();
        let took_ns = monotonic_ns().saturating_sub(self.began_ns);
        let sees_waits = self.waiting.after(took_ns, self.is_kept);
        let CountsEnd { n_lost: n_uncounted, n_huge_pages } = self.counting.after();
        let mut has_compiled = false;
        if let Some(mut jit) = self.jit.take() {
            jit.take(|process, function| {
                has_compiled = true;
                let mut body = words(&[process]);
                body.extend(longs(&[function.start, function.size]));
                body.extend(function.name.as_bytes());
                if self.is_kept {
                    self.write(RUN_COMPILED, 0, &body);
                }
            });
        }
        if self.is_kept {
            let n_huge_pages = n_huge_pages.unwrap_or(u64::MAX);
            let numbers = [self.n_lost, u64::from(sees_waits), n_uncounted, n_huge_pages];
            self.write(RUN_ENDS, 0, &longs(&numbers));
            // The front end reads the file after the session; a full disk loses samples, not runs.
            self.n_lost += u64::from(self.file.flush().is_err());
        }
        if let Some(stack_bytes) = self.room.end_run(has_compiled)
            && let Ok(rings) = open_rings(&self.cpus, self.period_ns, self.has_kernel, stack_bytes)
        {
            (self.rings, self.room.bytes) = (rings, stack_bytes);
        }
    }

    fn drain(&mut self) {
        let mut rings = std::mem::take(&mut self.rings);
        for ring in &mut rings {
            while let Some(record) = ring.next_record() {
                let mut body = record.to_contiguous();
                if record.ty() == RECORD_SAMPLE {
                    self.shorten(body.to_mut());
                }
                if record.ty() == RECORD_LOST {
                    self.n_lost += n_lost(&body);
                } else if let Some(jit) = &mut self.jit {
                    note(jit, record.ty(), &body);
                    if self.is_kept {
                        self.write(record.ty(), record.misc(), &body);
                    }
                }
            }
        }
        self.rings = rings;
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.drain(|kind, misc, body| {
            if self.is_kept {
                self.write(kind, misc, body);
            }
        });
        self.waiting = waiting;
        let mut counting = std::mem::take(&mut self.counting);
        counting.drain(|kind, misc, body| {
            self.jit.iter_mut().for_each(|jit| note(jit, RECORD_SAMPLE, body));
            self.write(kind, misc, body);
        });
        self.counting = counting;
    }

    /// Keeps the used part of a sample's copy of the stack.
    fn shorten(&mut self, body: &mut Vec<u8>) {
        cut_unused(body);
        self.room.count(body);
        if self.n_bytes > STACKS_BYTES_MAX {
            body.truncate(chain_end(body).unwrap_or(body.len()));
        }
    }

    fn write(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let n_bytes = (ENTRY_HEAD_BYTES + body.len()) as u64;
        if self.n_bytes + n_bytes > FILE_BYTES_MAX && !(RUN_BEGINS..=RUN_COMPILED).contains(&kind) {
            self.n_lost += 1;
            return;
        }
        let head = words(&[kind, u32::from(misc), body.len() as u32]);
        let written = self.file.write_all(&head).and_then(|()| self.file.write_all(body));
        self.n_bytes += n_bytes;
        self.n_lost += u64::from(written.is_err());
    }
}

/// Whether a block shows the cost of samples.
fn is_unsampled(block: u32) -> bool {
    block % UNSAMPLED_EVERY == UNSAMPLED_EVERY - 1
}

/// Notes processes, files and addresses that may have compiled code (perf_event_open(2), "MMAP layout").
fn note(jit: &mut JitFiles, kind: u32, body: &[u8]) {
    let process = word(body, 0).unwrap_or(0);
    match kind {
        RECORD_FORK => jit.add_process(process),
        RECORD_MMAP2 => {
            let path = body.get(MMAP2_PATH..).unwrap_or_default().split(|&byte| byte == 0).next();
            let [start, len] = [8, 16].map(|at| long(body, at).unwrap_or_default());
            jit.add_mapping(process, path.unwrap_or_default(), start..start.saturating_add(len));
        }
        RECORD_SAMPLE => {
            let chain = chain_end(body).and_then(|end| body.get(CHAIN_AT..end));
            let chain = chain.unwrap_or_default().chunks_exact(8);
            let addresses = chain.filter_map(|it| it.try_into().ok()).map(u64::from_ne_bytes);
            addresses.for_each(|it| jit.add_address(it));
            stack_copy(body).into_iter().for_each(|copy| jit.add_stack(copy.stack));
        }
        _ => {}
    }
}

/// An event on each of the CPUs.
fn open_rings(
    cpus: &[usize],
    period_ns: u64,
    with_kernel: bool,
    stack_bytes: u32,
) -> io::Result<Vec<Sampler>> {
    cpus.iter().map(|&cpu| open_ring(cpu, period_ns, with_kernel, stack_bytes)).collect()
}

/// `cpu-clock`, which needs no performance monitoring unit: a kernel timer that runs while a task runs. So a sample is
/// a time, at any frequency of the processor.
fn open_ring(
    cpu: usize,
    period_ns: u64,
    with_kernel: bool,
    stack_bytes: u32,
) -> io::Result<Sampler> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    sample_chains(&mut builder, cpu, DEPTH_MAX);
    builder
        .enabled(true)
        .exclude_kernel(!with_kernel)
        .sample_period(period_ns)
        .exclude_callchain_kernel(!with_kernel)
        .sample_id_all(true)
        .mmap(true)
        .mmap2(true)
        .comm(true)
        .comm_exec(true)
        .task(true);
    if stack_bytes > 0 {
        ask_for_stacks(&mut builder, stack_bytes);
    }
    with_largest_ring(&mut builder)
}

/// Why there are no samples, and the remedy.
fn refused(error: &io::Error) -> String {
    let (why, fix) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => (
            "the kernel does not permit perf events to this user (kernel.perf_event_paranoid above 2, or a container's \
             seccomp filter)",
            "set kernel.perf_event_paranoid to 2 or lower, give a container CAP_PERFMON, or run it as root; \
             `stillwell run` compares the times without it",
        ),
        Some(libc::ENOSYS) => (
            "the kernel was built without perf events, or a container's filter hides them",
            "use a kernel with CONFIG_PERF_EVENTS, or give the container CAP_PERFMON; `stillwell run` compares \
             the times without it",
        ),
        Some(libc::EMFILE) => {
            ("each CPU takes an open file", "raise ulimit -n, or name fewer CPUs")
        }
        _ => ("perf_event_open failed", "see perf_event_open(2)"),
    };
    format!("the runs cannot be sampled: {why} ({}); {fix}", reason(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_the_setting_and_what_still_works() {
        let text = |error: i32| refused(&io::Error::from_raw_os_error(error));
        assert!(text(libc::EACCES).contains("kernel.perf_event_paranoid to 2"));
        assert!(text(libc::EPERM).contains("`stillwell run` compares the times"));
        assert!(text(libc::ENOSYS).contains("CONFIG_PERF_EVENTS"));
        assert!(text(libc::EMFILE).contains("ulimit -n"));
        assert!(text(libc::EINVAL).contains("perf_event_open(2)"));
    }

    #[test]
    fn few_blocks_are_counted_and_none_that_shows_the_cost_of_samples() {
        let counted: Vec<u32> = (0..10_000).filter(|&block| is_counted(block)).collect();
        assert_eq!((counted.len(), counted[0], counted[7]), (24, 3, 59));
        assert!(!counted.iter().any(|&block| is_unsampled(block)));
    }
}
