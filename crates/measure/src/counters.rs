//! Perf events around a run. The launcher opens them once, with `inherit` and `enable_on_exec`. Its own copies never
//! start; a child's copies start at its exec, and the kernel adds them up when the child ends. Opening events for every
//! child would cost 100 µs a run; inherited events and all other evidence together cost about 25 µs.

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter, ReadFormat};

use crate::child_run::ChildRun;
use crate::stalls::TaskTotals;
use crate::switches::SwitchLog;
use host::{Gap, WakeTracepoint};
use model::values::metric::{Metric, MetricSource};
use model::words::reason;
use record::Row;

/// The open events, with their counts before the run.
pub struct Counters {
    counters: Vec<OpenCounter>,
    switches: Option<SwitchLog>,
    /// Whether something has run since the counts were read.
    is_stale: bool,
    /// An event without `inherit`. If a task has only inherited events, the kernel considers the contexts of parent and
    /// child interchangeable and swaps them at a switch between the two (kernel/events/core.c, `context_equiv`). The
    /// child's exec would then start the launcher's own events for good.
    _anchor: Option<Counter>,
}

struct OpenCounter {
    metric: Metric,
    counter: Counter,
    before: CounterReading,
}

#[derive(Clone, Copy, Default)]
struct CounterReading {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

/// Whether the processor counts the instructions of this user's processes.
pub fn can_count_instructions() -> Result<(), String> {
    let opened = open(Metric::Instructions, Hardware::INSTRUCTIONS, false);
    opened.map(drop).map_err(|gap| gap.why)
}

impl Counters {
    pub fn none() -> Self {
        Self { counters: Vec::new(), switches: None, is_stale: true, _anchor: None }
    }

    /// Opens everything that this machine and this user's rights allow.
    pub fn open(cpus: &[usize], wake: Option<WakeTracepoint>) -> (Self, Vec<Gap>) {
        let mut gaps = Vec::new();
        let mut counters = Vec::new();
        let task_clock = open(Metric::TaskClockNs, Software::TASK_CLOCK, false);
        let hardware = [
            (Metric::Cycles, Hardware::CPU_CYCLES),
            (Metric::Instructions, Hardware::INSTRUCTIONS),
            (Metric::Branches, Hardware::BRANCH_INSTRUCTIONS),
            (Metric::BranchMisses, Hardware::BRANCH_MISSES),
            (Metric::CacheReferences, Hardware::CACHE_REFERENCES),
            (Metric::CacheMisses, Hardware::CACHE_MISSES),
        ];
        let hardware = hardware.map(|(metric, event)| open(metric, event, false));
        for opened in [task_clock].into_iter().chain(hardware) {
            counters.extend(opened.map_err(|gap| gaps.push(gap)).ok());
        }
        let switches = SwitchLog::open(cpus, wake)
            .map_err(|error| gaps.push(explain(Metric::PreemptedNs, &error)))
            .ok();
        // The switch records also show migrations, so they need no event, which would cost each run some microseconds.
        // Without switch records, counting migrations takes more rights than a user has: they happen in the kernel, so
        // an event that excludes the kernel counts none.
        if switches.is_none() {
            let opened = open(Metric::Migrations, Software::CPU_MIGRATIONS, true);
            counters.extend(opened.map_err(|gap| gaps.push(gap)).ok());
        }
        let anchor =
            Builder::new(Software::DUMMY).observe_self().any_cpu().enabled(false).build().ok();
        (Self { counters, switches, is_stale: true, _anchor: anchor }, gaps)
    }

    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics: Vec<_> = self.counters.iter().map(|open| open.metric).collect();
        if self.switches.is_some() {
            metrics.extend([Metric::PreemptedNs, Metric::Migrations]);
            metrics.extend([Metric::RunnableMax, Metric::CrowdedNs]);
        }
        if metrics.iter().any(|metric| metric.info().source == MetricSource::Hardware) {
            metrics.push(Metric::RunningPpm);
        }
        metrics
    }

    /// Reads the counts before a run, unless nothing has run since the last reading.
    pub fn before(&mut self) {
        if !self.is_stale {
            return;
        }
        for open in &mut self.counters {
            open.before = read(&mut open.counter).unwrap_or_default();
        }
        if let Some(switches) = &mut self.switches {
            switches.discard();
        }
    }

    /// Notes that a run or a hook was executed, so the counts have changed.
    pub fn something_ran(&mut self) {
        self.is_stale = true;
    }

    /// Removes the counts of a run.
    pub fn remove(&self, row: &mut Row) {
        let counted = self.counters.iter().map(|open| open.metric);
        counted.chain([Metric::RunningPpm]).for_each(|metric| row.set(metric, None));
    }

    /// Stores the counts of a run. Returns the sums over its tasks; `None` without a complete log.
    pub fn after(&mut self, row: &mut Row, run: &ChildRun) -> Option<TaskTotals> {
        self.is_stale = false;
        let mut least_running_ppm = 1_000_000;
        for open in &mut self.counters {
            let Some(after) = read(&mut open.counter) else { continue };
            let before = std::mem::replace(&mut open.before, after);
            let enabled_ns = after.enabled_ns - before.enabled_ns;
            let running_ns = after.running_ns - before.running_ns;
            // An event that was never scheduled has no count, not zero. The kernel's clock may stand still for a whole run
            // too: in a virtual machine whose clock is unstable and whose host is busy.
            if running_ns == 0 {
                continue;
            }
            row.set(open.metric, Some(after.count - before.count));
            if running_ns < enabled_ns {
                let ppm = u128::from(running_ns) * 1_000_000 / u128::from(enabled_ns);
                least_running_ppm = least_running_ppm.min(ppm as u64);
            }
        }
        if least_running_ppm < 1_000_000 {
            row.set(Metric::RunningPpm, Some(least_running_ppm));
        }
        let first = run.launched.pid.cast_unsigned();
        let switches = self.switches.as_mut()?;
        let totals = switches.add_up(first, run.launched.exec_ns, run.ended_ns);
        // Records that did not fit are still in the buffers.
        self.is_stale |= totals.is_none();
        row.set(Metric::PreemptedNs, totals.map(|totals| totals.preempted_ns));
        row.set(Metric::Migrations, totals.map(|totals| totals.migrations));
        row.set(Metric::RunnableMax, totals.map(|totals| totals.n_runnable_max));
        row.set(Metric::CrowdedNs, totals.map(|totals| totals.crowded_ns));
        totals
    }
}

fn open(metric: Metric, event: impl Event + Clone, needs_kernel: bool) -> Result<OpenCounter, Gap> {
    // Count the kernel too if the rights allow it, otherwise user time alone.
    let mut built = build(event.clone(), true);
    if built.is_err() && !needs_kernel {
        built = build(event, false);
    }
    let counter = built.map_err(|error| explain(metric, &error))?;
    Ok(OpenCounter { metric, counter, before: CounterReading::default() })
}

fn build(event: impl Event, with_kernel: bool) -> std::io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder
        .observe_self()
        .any_cpu()
        .inherit(true)
        .enabled(false)
        .enable_on_exec(true)
        .exclude_kernel(!with_kernel)
        .exclude_hv(true)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING);
    builder.build()
}

fn read(counter: &mut Counter) -> Option<CounterReading> {
    let data = counter.read_full().ok()?;
    let ns = |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_nanos() as u64);
    Some(CounterReading {
        count: data.count(),
        enabled_ns: ns(data.time_enabled()),
        running_ns: ns(data.time_running()),
    })
}

fn explain(metric: Metric, error: &std::io::Error) -> Gap {
    let (why, fix) = match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => (
            "this machine does not offer the event (a virtual machine without a performance monitoring unit?)",
            "measure on bare metal, or ask for the PMU to be passed to the guest",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            "the kernel does not allow it to this user (kernel.perf_event_paranoid, or a seccomp filter)",
            "set kernel.perf_event_paranoid to 1 or lower, or give CAP_PERFMON",
        ),
        Some(libc::ENOSYS) => {
            ("the kernel was built without perf events", "use a kernel with CONFIG_PERF_EVENTS")
        }
        Some(libc::EMFILE) => ("too many open files", "raise the limit of open files (ulimit -n)"),
        _ => ("perf_event_open failed", "see perf_event_open(2)"),
    };
    let (what, why) = (metric.info().name.to_owned(), format!("{why}: {}", reason(error)));
    Gap { what, why, fix: fix.into() }
}
