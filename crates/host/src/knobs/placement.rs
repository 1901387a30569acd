//! Other work on the benchmark's CPUs.

use crate::knobs::{Confidence, File, Format, Group, Knob, Machine, Reading, State, Undo};
use crate::processes::movable_kernel_threads;
use crate::value_format::{format_cpu_mask, parse_cpu_mask};
use model::prose::{Prose, prose};
use model::values::{format_cpu_list, name_cpus, parse_cpu_list, read_cpu_list};

const IRQ: File =
    File { path: "proc/irq/#/smp_affinity_list", format: Format::CpuList, undo: Undo::Irqs };
/// Stands for the CPU mask of a kernel thread.
const KERNEL_THREAD: File =
    File { path: "proc/#/status", format: Format::Affinity, undo: Undo::Settings };
const DEFAULT_IRQ: &str = "proc/irq/default_smp_affinity";
const WORKQUEUES: &str = "sys/devices/virtual/workqueue/cpumask";
const WATCHDOG: &str = "proc/sys/kernel/watchdog_cpumask";
/// Advice of a knob that needs to know the benchmark's CPUs.
fn choose() -> Prose {
    prose!["say which CPUs benchmarks are to have, with " Affinity " LIST"]
}

/// Daemons that rewrite our knobs stop first, because they would correct each of our writes.
pub(super) const FIRST: &[Knob] = &[
    Knob {
        name: "power-daemons",
        group: Group::Frequency,
        noise: "daemons change governor, preference and limits while a benchmark runs",
        files: &[
            unit("sys/fs/cgroup/system.slice/power-profiles-daemon.service"),
            unit("sys/fs/cgroup/system.slice/tlp.service"),
            unit("sys/fs/cgroup/system.slice/auto-cpufreq.service"),
            unit("sys/fs/cgroup/system.slice/tuned.service"),
        ],
        needs: "root and systemd",
        sure: Confidence::Documented,
        by_default: true,
        look: daemons,
    },
    Knob {
        name: "irqbalance",
        group: Group::Topology,
        noise: "irqbalance moves interrupts to other CPUs every ten seconds",
        files: &[unit("sys/fs/cgroup/system.slice/irqbalance.service")],
        needs: "root and systemd",
        sure: Confidence::Documented,
        by_default: true,
        look: daemons,
    },
];

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "irqs",
        group: Group::Topology,
        noise: "interrupts of devices stop the benchmark for microseconds",
        files: &[File { path: DEFAULT_IRQ, format: Format::CpuMask, undo: Undo::Irqs }, IRQ],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: irqs,
    },
    Knob {
        name: "workqueues",
        group: Group::Topology,
        noise: "kernel threads for deferred work run on any CPU",
        files: &[File { path: WORKQUEUES, format: Format::RequestedMask, undo: Undo::Workqueues }],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: workqueues,
    },
    Knob {
        name: "kthreads",
        group: Group::Topology,
        noise: "other threads of the kernel (memory, RCU, file systems) run on any CPU",
        files: &[KERNEL_THREAD],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: kernel_threads,
    },
    Knob {
        name: "watchdog-cpus",
        group: Group::Topology,
        noise: "the watchdog's timer wakes each CPU every few seconds",
        files: &[File { path: WATCHDOG, format: Format::CpuList, undo: Undo::Settings }],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: watchdog_cpus,
    },
];

/// A service of systemd.
pub(super) const fn unit(path: &'static str) -> File {
    File { path, format: Format::Unit, undo: Undo::Daemons }
}

fn daemons(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let wanted = knob.files.iter().map(|file| (file.path.to_owned(), "inactive".to_owned()));
    knob.compare(machine.host, wanted, "there is no such service of systemd")
}

/// Moves only interrupts that may go to a benchmark CPU. The administrator's choices for the others stay.
fn irqs(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    if !host.exists(DEFAULT_IRQ) {
        return Reading::absent("the kernel shows no interrupts");
    }
    let default = host.read(DEFAULT_IRQ).and_then(|mask| parse_cpu_mask(&mask).ok());
    if machine.bench.is_empty() {
        let Some(cpus) = default else {
            return Reading::cannot(format!("/{DEFAULT_IRQ} is there and cannot be read"));
        };
        let now = format!("new ones go to {}", name_cpus(&cpus));
        return Reading::advised(now, choose());
    }
    let spared = machine.spared();
    let reaches_bench = |cpus: &[usize]| spared.iter().any(|cpu| cpus.contains(cpu));
    let mut wanted = Vec::new();
    if default.is_some_and(|cpus| reaches_bench(&cpus)) {
        wanted.push((DEFAULT_IRQ.to_owned(), format_cpu_mask(&machine.others)));
    }
    let mut irqs: Vec<u32> =
        host.list("proc/irq").iter().filter_map(|name| name.parse().ok()).collect();
    irqs.sort_unstable();
    for irq in irqs {
        let path = format!("proc/irq/{irq}/smp_affinity_list");
        if host.read_cpus(&path).is_some_and(|cpus| reaches_bench(&cpus)) {
            wanted.push((path, format_cpu_list(&machine.others)));
        }
    }
    moved(knob, machine, wanted, "may go to")
}

/// Removes the benchmark's CPUs from the mask, which must not become empty.
fn workqueues(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let parse = |mask: &str| parse_cpu_mask(mask).ok();
    let in_force = machine.host.read(WORKQUEUES);
    let spared = machine.spared();
    if let Some(now) = in_force.clone()
        && !spared.is_empty()
        && parse(&now).is_some_and(|cpus| !cpus.iter().any(|cpu| spared.contains(cpu)))
    {
        return Reading::only(State::Fine { now });
    }
    let now = machine.host.read_knob(Format::RequestedMask, WORKQUEUES);
    let cpus = now.as_deref().and_then(parse);
    // A write also sets the mask in force (`workqueue_set_unbound_cpumask()` in kernel/workqueue.c), so it would give a
    // partition's CPUs back to the work queues.
    if !spared.is_empty() && in_force.as_deref().and_then(parse) != cpus {
        return Reading::cannot(
            "a partition keeps CPUs from the work queues, and a write would give them back",
        );
    }
    without_bench(knob, machine, WORKQUEUES, now, cpus, format_cpu_mask)
}

/// Keeps the administrator's CPU masks, except for the benchmark's CPUs and their siblings.
fn kernel_threads(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let Some(threads) = movable_kernel_threads(host) else {
        return Reading::absent("the threads of the kernel cannot be seen here");
    };
    if machine.bench.is_empty() {
        return Reading::advised(format!("{} can be moved", threads.len()), choose());
    }
    let spared = machine.spared();
    let wanted = threads.into_iter().filter_map(|path| {
        let mut cpus = read_cpu_list(&host.read_knob(Format::Affinity, &path)?)?;
        spared.iter().find(|cpu| cpus.contains(cpu))?;
        cpus.retain(|cpu| machine.others.contains(cpu));
        let cpus = if cpus.is_empty() { &machine.others } else { &cpus };
        Some((path, format_cpu_list(cpus)))
    });
    moved(knob, machine, wanted, "may run on")
}

/// Moves everything that may use the benchmark's CPUs.
fn moved(
    knob: &Knob,
    machine: &Machine<'_>,
    wanted: impl IntoIterator<Item = (String, String)>,
    may: &str,
) -> Reading {
    let mut reading = knob.compare(machine.host, wanted, "");
    reading.state = match reading.settings.len() {
        0 => State::Fine { now: "none on the CPUs of the benchmark".into() },
        n => State::NotTuned {
            now: format!("{n} {may} {}", name_cpus(&machine.spared())),
            wanted: name_cpus(&machine.others),
        },
    };
    reading
}

fn watchdog_cpus(knob: &Knob, machine: &Machine<'_>) -> Reading {
    if machine.host.read("proc/sys/kernel/watchdog").as_deref() == Some("0") {
        return Reading::only(State::Fine { now: "the watchdog is off".into() });
    }
    let now = machine.host.read(WATCHDOG);
    let cpus = now.as_deref().and_then(|list| parse_cpu_list(list).ok());
    without_bench(knob, machine, WATCHDOG, now, cpus, format_cpu_list)
}

fn without_bench(
    knob: &Knob,
    machine: &Machine<'_>,
    path: &str,
    now: Option<String>,
    cpus: Option<Vec<usize>>,
    format: fn(&[usize]) -> String,
) -> Reading {
    let (Some(now), Some(mut cpus)) = (now, cpus) else {
        return Reading::absent("this kernel has no such mask");
    };
    if machine.bench.is_empty() {
        return Reading::advised(now, choose());
    }
    let (n_before, spared) = (cpus.len(), machine.spared());
    cpus.retain(|cpu| !spared.contains(cpu));
    let wanted = match cpus.len() {
        n if n == n_before => now,
        0 => format(&machine.others),
        _ => format(&cpus),
    };
    knob.compare(machine.host, [(path.to_owned(), wanted)], "")
}
