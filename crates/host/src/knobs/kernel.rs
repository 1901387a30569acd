//! Periodic work of the kernel (Documentation/admin-guide/sysctl/{kernel,vm}.rst), its background work on memory, and the
//! address space layout of processes.

use crate::knobs::{Confidence, File, Format, Group, Knob, Machine, Reading, Undo};

const PERF_PERCENT: &str = "proc/sys/kernel/perf_cpu_time_max_percent";
/// Seconds between two updates of the per-CPU memory statistics.
const STAT_INTERVAL_S: u64 = 120;
/// Samples a second. This is still enough for `perf record` at a low rate.
const SAMPLES_PER_S: u64 = 1000;

pub(super) const fn number(path: &'static str) -> File {
    File { path, format: Format::Number, undo: Undo::Settings }
}

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "nmi-watchdog",
        group: Group::Kernel,
        noise: "a non-maskable interrupt every few seconds, which also takes one performance counter",
        files: &[number("proc/sys/kernel/nmi_watchdog")],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: |knob, machine| switch(knob, machine, "0", "this kernel has no NMI watchdog"),
    },
    Knob {
        name: "stat-interval",
        group: Group::Kernel,
        noise: "a kernel thread folds memory statistics on each CPU every second",
        files: &[number("proc/sys/vm/stat_interval")],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: stat_interval,
    },
    Knob {
        name: "numa-balancing",
        group: Group::Kernel,
        noise: "the kernel unmaps pages to see who uses them, and moves them",
        files: &[number("proc/sys/kernel/numa_balancing")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| {
            switch(knob, machine, "0", "there is one NUMA node, or the kernel does not balance")
        },
    },
    Knob {
        name: "timer-migration",
        group: Group::Kernel,
        noise: "timers stay on a CPU that is busy with the benchmark instead of moving to another one",
        files: &[number("proc/sys/kernel/timer_migration")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| switch(knob, machine, "1", "this kernel does not migrate timers"),
    },
    Knob {
        name: "perf-rate",
        group: Group::Kernel,
        noise: "somebody else's sampling profiler interrupts each CPU thousands of times a second",
        files: &[File {
            path: "proc/sys/kernel/perf_event_max_sample_rate",
            format: Format::Lowered,
            undo: Undo::Settings,
        }],
        needs: "root",
        sure: Confidence::Tested,
        by_default: false,
        look: perf_rate,
    },
    Knob {
        name: "rt-throttling",
        group: Group::Kernel,
        noise: "a real-time task is stopped for 50 ms of every second; without that it can stop the machine",
        files: &[number("proc/sys/kernel/sched_rt_runtime_us")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: false,
        look: |knob, machine| {
            switch(knob, machine, "-1", "this kernel does not throttle real-time tasks")
        },
    },
    Knob {
        name: "autogroup",
        group: Group::Kernel,
        noise: "with autogroups a nice level counts only among the commands of one terminal",
        files: &[number("proc/sys/kernel/sched_autogroup_enabled")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: false,
        look: |knob, machine| switch(knob, machine, "0", "this kernel has no autogroups"),
    },
    Knob {
        name: "ksm",
        group: Group::Memory,
        noise: "a kernel thread merges equal pages, and writing to them faults",
        files: &[number("sys/kernel/mm/ksm/run")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: ksm,
    },
    Knob {
        name: "khugepaged",
        group: Group::Memory,
        noise: "khugepaged compacts memory to make huge pages",
        files: &[number("sys/kernel/mm/transparent_hugepage/khugepaged/defrag")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| {
            switch(knob, machine, "0", "this kernel has no transparent huge pages")
        },
    },
    Knob {
        name: "aslr",
        group: Group::Memory,
        noise: "each process has another layout; better per process (run --no-aslr), or many runs with it on",
        files: &[number("proc/sys/kernel/randomize_va_space")],
        needs: "root",
        sure: Confidence::Tested,
        by_default: false,
        look: |knob, machine| switch(knob, machine, "0", "this kernel cannot randomise layouts"),
    },
];

/// Reads a knob with one file that should hold this value.
pub(super) fn switch(knob: &Knob, machine: &Machine<'_>, wanted: &str, absent: &str) -> Reading {
    let path = knob.files[0].path.to_owned();
    knob.compare(machine.host, [(path, wanted.to_owned())], absent)
}

/// Accepts a longer interval than ours too.
fn stat_interval(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let now = machine.host.read_value::<u64>(knob.files[0].path).unwrap_or(0);
    let wanted = now.max(STAT_INTERVAL_S).to_string();
    switch(knob, machine, &wanted, "this kernel has no memory statistics")
}

/// The kernel refuses the rate (EINVAL) while the percentage disables its own limit.
fn perf_rate(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let percent = machine.host.read(PERF_PERCENT);
    if let Some(percent @ ("0" | "100")) = percent.as_deref() {
        return Reading::cannot(format!(
            "kernel.perf_cpu_time_max_percent is {percent}, and then the kernel refuses a rate"
        ));
    }
    let now = machine.host.read_value::<u64>(knob.files[0].path).unwrap_or(u64::MAX);
    let wanted = now.min(SAMPLES_PER_S).to_string();
    switch(knob, machine, &wanted, "this kernel has no perf events")
}

/// `0` keeps merged pages, and `2` would split them. Neither causes noise.
fn ksm(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let is_off = machine.host.read(knob.files[0].path).as_deref() == Some("2");
    switch(knob, machine, if is_off { "2" } else { "0" }, "this kernel does not merge pages")
}
