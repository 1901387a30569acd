//! Traces the CPUs of the loops. A loop's own context switches need no rights; all switches and interrupts of a CPU
//! need CAP_PERFMON.

use perf_event::{Builder, Counter, Sampler};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fields::{long, n_lost, word};
use crate::noise::points::Points;
use crate::noise::sampler::LoopThread;
use crate::noise::trace::{CpuEvent, CpuEventKind, Trace};
use crate::stalls::TaskEventKind;
use crate::switches::{self, RECORD_LOST, RECORD_SAMPLE, RECORD_SWITCH};
use host::{Gap, Host, sys, with_tracefs};
use model::words::reason;
use record::ledger::NoiseSource;

/// Buffers in bytes, the largest first: powers of two. Users may have 516 KiB for each CPU
/// (kernel.perf_event_mlock_kb).
const SWITCH_BYTES: [usize; 2] = [256 << 10, 64 << 10];
const POINT_BYTES: [usize; 2] = [4 << 20, 256 << 10];

#[derive(Default)]
pub struct Tracer {
    cpus: Vec<CpuBuffers>,
    points: Option<Points>,
}

struct CpuBuffers {
    cpu: usize,
    thread: i32,
    switches: Option<Sampler>,
    points: Option<Sampler>,
    /// More events, which write into the buffer of `points`.
    _others: Vec<Counter>,
    seen: CpuTraces,
}

#[derive(Clone, Debug, Default)]
pub struct CpuTraces {
    pub cpu: usize,
    /// Switches of the loop, by the scheduler's records.
    pub switches: Trace,
    /// All switches and interrupts, by tracepoints; `None` without tracepoints.
    pub points: Option<Trace>,
}

impl Tracer {
    /// Opens the events that the machine and the user's rights allow; each missing kind is a gap. `points`: whether to
    /// open tracepoints.
    pub fn open(threads: &[LoopThread], host: &Host, points: bool) -> (Self, Vec<Gap>) {
        let mut gaps = Vec::new();
        raise_limit_of_files();
        let known = points.then(|| find_points(host)).transpose();
        let known = known.map_err(|gap| gaps.push(gap)).ok().flatten();
        let mut tracer = Self { cpus: Vec::new(), points: known };
        for thread in threads {
            let switches = open_switches(thread.thread);
            let opened =
                tracer.points.as_ref().map(|points| open_points(thread.cpu, &points.ids()));
            let mut note = |what: &str, error: &std::io::Error| {
                if gaps.iter().all(|gap: &Gap| gap.what != what) {
                    gaps.push(refused(what, error));
                }
            };
            let switches = switches.map_err(|error| note(SWITCHES, &error)).ok();
            let opened =
                opened.and_then(|opened| opened.map_err(|error| note(POINTS, &error)).ok());
            let (ring, others) =
                opened.map_or((None, Vec::new()), |(ring, others)| (Some(ring), others));
            tracer.cpus.push(CpuBuffers {
                cpu: thread.cpu,
                thread: thread.thread,
                switches,
                seen: CpuTraces {
                    cpu: thread.cpu,
                    points: ring.is_some().then(Trace::default),
                    ..CpuTraces::default()
                },
                points: ring,
                _others: others,
            });
        }
        (tracer, gaps)
    }

    pub fn drain(&mut self) {
        for of_cpu in &mut self.cpus {
            of_cpu.drain_switches();
            if let (Some(ring), Some(points)) = (&mut of_cpu.points, &self.points) {
                let trace = of_cpu.seen.points.get_or_insert_default();
                let n_lost = drain_points(ring, |time_ns, raw| {
                    let kind = points.event_kind(raw, of_cpu.thread, trace);
                    trace.events.extend(kind.map(|kind| CpuEvent { time_ns, kind }));
                });
                trace.n_lost += n_lost;
            }
        }
    }

    pub fn finish(mut self) -> Vec<CpuTraces> {
        self.drain();
        let sorted = |of_cpu: CpuBuffers| {
            let mut seen = of_cpu.seen;
            seen.switches.events.sort_by_key(|event| event.time_ns);
            if let Some(points) = &mut seen.points {
                // The events of one buffer are in order of time, except NMIs.
                points.events.sort_by_key(|event| event.time_ns);
            }
            seen
        };
        self.cpus.into_iter().map(sorted).collect()
    }
}

/// The unknown without switch records, and without tracepoints.
const SWITCHES: &str = "when other programs ran";
const POINTS: &str = "who took the time";

fn refused(what: &str, error: &std::io::Error) -> Gap {
    let (why, fix) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) if what == POINTS => (
            "tracepoints of a whole CPU take more rights than this user has",
            "run it as root, or give the program CAP_PERFMON",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            "perf events are not allowed to this user (kernel.perf_event_paranoid, or a seccomp filter, as in containers)",
            "set kernel.perf_event_paranoid to 2 or lower, or run it as root",
        ),
        Some(libc::ENOSYS) => {
            ("the kernel was built without perf events", "use a kernel with CONFIG_PERF_EVENTS")
        }
        Some(libc::EMFILE) => (
            "each CPU takes some thirty open files, and there may not be as many",
            "raise ulimit -n, or name fewer CPUs",
        ),
        _ => ("perf_event_open failed", "see perf_event_open(2)"),
    };
    Gap { what: what.into(), why: format!("{why} ({})", reason(error)), fix: fix.into() }
}

/// Why there are no tracepoints.
pub(super) fn refused_points(error: &std::io::Error) -> Gap {
    refused(POINTS, error)
}

/// Each CPU takes some thirty open files.
pub(super) fn raise_limit_of_files() {
    let limit = getrlimit(Resource::Nofile);
    // If this fails, the old limit stays.
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).ok();
}

pub(super) fn find_points(host: &Host) -> Result<Points, Gap> {
    let (why, fix) = match with_tracefs(host, Points::read) {
        Ok(Some(points)) => return Ok(points),
        Ok(None) => (
            "the kernel has no tracepoints of the scheduler".into(),
            "use a kernel with CONFIG_FTRACE",
        ),
        Err(error) => (
            format!(
                "tracefs, which describes the tracepoints, cannot be read here ({})",
                reason(error)
            ),
            "run it as root, or have it mounted: mount -t tracefs tracefs /sys/kernel/tracing",
        ),
    };
    Err(Gap { what: POINTS.into(), why, fix: fix.into() })
}

/// Tries both buffer sizes; the kernel may refuse the larger one.
fn sampled(sizes: [usize; 2], builder: &Builder<'_>) -> std::io::Result<Sampler> {
    let try_size = |size: usize| builder.build()?.sampled(size);
    try_size(sizes[0]).or_else(|_| try_size(sizes[1]))
}

fn open_switches(thread: i32) -> std::io::Result<Sampler> {
    let mut builder = switches::switches();
    builder.observe_pid(thread).any_cpu().enabled(true);
    sampled(SWITCH_BYTES, &builder)
}

pub(super) fn open_points(cpu: usize, ids: &[u64]) -> std::io::Result<(Sampler, Vec<Counter>)> {
    let builder = |id: u64| {
        let mut builder = switches::tracepoint(id, cpu);
        builder.enabled(true);
        builder
    };
    let (first, rest) = ids.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let ring = sampled(POINT_BYTES, &builder(*first))?;
    let mut others = Vec::new();
    for id in rest {
        let counter = builder(*id).build()?;
        sys::share_perf_buffer(&counter, &ring)?;
        others.push(counter);
    }
    Ok((ring, others))
}

impl CpuBuffers {
    fn drain_switches(&mut self) {
        let Some(ring) = &mut self.switches else { return };
        let trace = &mut self.seen.switches;
        let others = trace.index_of(NoiseSource::Preempted);
        while let Some(record) = ring.next_record() {
            match record.ty() {
                RECORD_SWITCH => {
                    let found = switches::switch(self.cpu, record.misc(), &record.to_contiguous());
                    trace.events.extend(found.map(|switch| CpuEvent {
                        time_ns: switch.time_ns,
                        kind: CpuEventKind::Switch(
                            (switch.kind != TaskEventKind::In).then_some(others),
                        ),
                    }));
                }
                RECORD_LOST => trace.n_lost += n_lost(&record.to_contiguous()),
                _ => {}
            }
        }
    }
}

/// Passes on the time and the data of each event of [`open_points`]. Returns the number of lost ones.
pub(super) fn drain_points(ring: &mut Sampler, mut each: impl FnMut(u64, &[u8])) -> u64 {
    let mut n_all_lost = 0;
    while let Some(record) = ring.next_record() {
        let body = record.to_contiguous();
        match record.ty() {
            RECORD_SAMPLE => {
                if let Some((time_ns, raw)) = sample(&body) {
                    each(time_ns, raw);
                }
            }
            RECORD_LOST => n_all_lost += n_lost(&body),
            _ => {}
        }
    }
    n_all_lost
}

/// The body of a sample with TIME and RAW: time (u64), size (u32), that many bytes.
fn sample(body: &[u8]) -> Option<(u64, &[u8])> {
    let n_bytes = word(body, 8)? as usize;
    Some((long(body, 0)?, body.get(12..12 + n_bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_reason_and_a_remedy() {
        let check = |what: &str, error: i32, why: &str, fix: &str| {
            let gap = refused(what, &std::io::Error::from_raw_os_error(error));
            assert!(gap.why.contains(why) && gap.fix.to_string().contains(fix), "{gap:?}");
        };
        // A container's seccomp filter answers EPERM or ENOSYS, the kernel at perf_event_paranoid 3 and above EACCES.
        check(SWITCHES, libc::EPERM, "as in containers", "kernel.perf_event_paranoid to 2");
        check(SWITCHES, libc::EACCES, "kernel.perf_event_paranoid", "run it as root");
        check(POINTS, libc::EACCES, "more rights", "CAP_PERFMON");
        check(POINTS, libc::ENOSYS, "without perf events", "CONFIG_PERF_EVENTS");
        check(POINTS, libc::EMFILE, "open files", "ulimit -n");
        check(SWITCHES, libc::EINVAL, "Invalid argument", "perf_event_open(2)");
    }
}
