//! What the knobs have to know of the machine besides their own files.

use crate::host::mounts::{self, Mount};
use crate::host::{Host, cpu, virtualisation};
use crate::values::{format_cpu_list, parse_cpu_list};

const CPU: &str = "sys/devices/system/cpu";

/// A machine, and the CPUs that benchmarks are to have.
#[derive(Debug)]
pub struct Machine<'a> {
    /// Its files.
    pub host: &'a Host,
    /// CPUs that are online.
    pub online: Vec<usize>,
    /// CPUs of the benchmark; empty when nobody has said and none is isolated.
    pub bench: Vec<usize>,
    /// CPUs for everything else: neither those of the benchmark nor, where there are others, their siblings.
    pub others: Vec<usize>,
    /// Directories of cpufreq.
    pub policies: Vec<String>,
    /// The cpufreq driver.
    pub driver: Option<String>,
    /// What kind of virtual machine this is.
    pub virtualisation: Option<String>,
    mounts: Vec<Mount>,
}

impl<'a> Machine<'a> {
    /// Looks at a machine; `bench` comes from [`bench_cpus`].
    pub fn new(host: &'a Host, bench: Vec<usize>) -> Self {
        let online = online(host);
        let siblings: Vec<usize> = bench.iter().flat_map(|cpu| siblings(host, *cpu)).collect();
        let without_bench: Vec<usize> =
            online.iter().copied().filter(|cpu| !bench.contains(cpu)).collect();
        let free: Vec<usize> =
            without_bench.iter().copied().filter(|cpu| !siblings.contains(cpu)).collect();
        Self {
            host,
            others: if free.is_empty() { without_bench } else { free },
            online,
            bench,
            policies: cpu::policies(host),
            driver: cpu::scaling_driver(host),
            virtualisation: virtualisation::machine(host),
            mounts: mounts::read(host),
        }
    }

    /// Directories `cpuN` of the CPUs that are online.
    pub(super) fn cpu_directories(&self) -> impl Iterator<Item = String> {
        self.online.iter().map(|cpu| format!("{CPU}/cpu{cpu}"))
    }

    /// Threads of the cores of the benchmark that are online and not the benchmark's.
    pub(super) fn idle_siblings(&self) -> Vec<usize> {
        let all = self.bench.iter().flat_map(|cpu| siblings(self.host, *cpu));
        let mut idle: Vec<usize> =
            all.filter(|cpu| !self.bench.contains(cpu) && self.online.contains(cpu)).collect();
        idle.sort_unstable();
        idle.dedup();
        idle
    }

    /// Whether a CPU goes when sibling threads are switched off.
    pub(in crate::host) fn is_second_thread(&self, cpu: usize) -> bool {
        siblings(self.host, cpu).first().is_some_and(|first| *first != cpu)
    }

    /// Where the file system of a path is mounted, if it refuses to be written.
    pub(super) fn sealed_by(&self, path: &str) -> Option<&str> {
        let holds = |mount: &&Mount| {
            let point = mount.relative_point();
            let rest = path.strip_prefix(point);
            rest.is_some_and(|rest| point.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        // Of several mounts at one point the last one is on top.
        let mounts = self.mounts.iter().filter(holds);
        let mount = mounts.max_by_key(|mount| mount.relative_point().len())?;
        mount.read_only.then_some(mount.point.as_str())
    }
}

fn online(host: &Host) -> Vec<usize> {
    let online = host.read(format!("{CPU}/online"));
    online.and_then(|list| parse_cpu_list(&list).ok()).unwrap_or_default()
}

fn siblings(host: &Host, cpu: usize) -> Vec<usize> {
    let list = host.read(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
    list.and_then(|list| parse_cpu_list(&list).ok()).unwrap_or_default()
}

/// The CPUs of the benchmark: those that were asked for, or else those that the kernel was booted to leave alone, or
/// else none.
///
/// # Errors
/// A CPU that is not online, or none left for everything else.
pub fn bench_cpus(host: &Host, asked: Option<&[usize]>) -> Result<Vec<usize>, String> {
    let online = online(host);
    let Some(asked) = asked else {
        let isolated = host.read(format!("{CPU}/isolated")).unwrap_or_default();
        let mut isolated = parse_cpu_list(&isolated).unwrap_or_default();
        isolated.retain(|cpu| online.contains(cpu));
        return Ok(if isolated.len() < online.len() { isolated } else { Vec::new() });
    };
    if let Some(cpu) = asked.iter().find(|cpu| !online.contains(cpu)) {
        return Err(format!(
            "CPU {cpu} is not online; the CPUs of this machine are {}",
            format_cpu_list(&online)
        ));
    }
    if online.iter().all(|cpu| asked.contains(cpu)) {
        return Err(format!(
            "⟦affinity⟧ {} are all CPUs of this machine; leave at least one core to everything else, for example CPU {}",
            format_cpu_list(asked),
            online.first().unwrap_or(&0)
        ));
    }
    Ok(asked.to_vec())
}
