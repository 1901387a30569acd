//! Facts about the machine that several knobs need.

use crate::files::Unread;
use crate::mounts::{self, Mount};
use crate::{Host, cpu, virtualisation};
use model::prose::{Prose, prose};
use model::values::format_cpu_list;

const CPU: &str = "sys/devices/system/cpu";

/// A machine, and the CPUs for its benchmarks.
#[derive(Debug)]
pub struct Machine<'a> {
    pub host: &'a Host,
    pub online: Vec<usize>,
    /// The benchmark's CPUs. Empty if the user named none and none is isolated.
    pub bench: Vec<usize>,
    /// CPUs for everything else, without the benchmark's CPUs and, if other CPUs are left, their siblings.
    pub others: Vec<usize>,
    pub policies: Vec<String>,
    pub driver: Option<String>,
    pub virtualisation: Option<String>,
    mounts: Vec<Mount>,
    /// A file with such a fact that exists but could not be read.
    pub(crate) unread: Option<Unread>,
}

impl<'a> Machine<'a> {
    /// Reads the facts about a machine. `bench` comes from [`bench_cpus`].
    pub fn new(host: &'a Host, bench: Vec<usize>) -> Self {
        let (mut machine, unread) = host.watched(|| Self::read(host, bench));
        machine.unread = unread;
        machine
    }

    fn read(host: &'a Host, bench: Vec<usize>) -> Self {
        let online = host.online_cpus();
        let siblings = bench.iter().filter_map(|cpu| {
            host.read_cpus(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"))
        });
        let siblings: Vec<usize> = siblings.flatten().collect();
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
            unread: None,
        }
    }

    /// Directories `cpuN` of the online CPUs.
    pub(super) fn cpu_directories(&self) -> impl Iterator<Item = String> {
        self.online.iter().map(|cpu| format!("{CPU}/cpu{cpu}"))
    }

    /// CPUs for the benchmark alone: its own and, if other CPUs are left, their siblings.
    pub(super) fn spared(&self) -> Vec<usize> {
        self.online.iter().copied().filter(|cpu| !self.others.contains(cpu)).collect()
    }

    /// The mount point of the path's file system, if it is read-only.
    pub(super) fn sealed_by(&self, path: &str) -> Option<&str> {
        let holds = |mount: &&Mount| {
            let point = mount.relative_point();
            let rest = path.strip_prefix(point);
            rest.is_some_and(|rest| point.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        // If several file systems are mounted at one point, the last one is on top.
        let mounts = self.mounts.iter().filter(holds);
        let mount = mounts.max_by_key(|mount| mount.relative_point().len())?;
        mount.read_only.then_some(mount.point.as_str())
    }
}

/// The benchmark's CPUs: those that the user `asked` for, or else those that the kernel was booted to leave alone, or
/// else none. Errors: a CPU is offline, or no CPU is left for everything else.
pub fn bench_cpus(host: &Host, asked: Option<&[usize]>) -> Result<Vec<usize>, Prose> {
    let online = host.online_cpus();
    let Some(asked) = asked else {
        let mut isolated = host.read_cpus(format!("{CPU}/isolated")).unwrap_or_default();
        isolated.retain(|cpu| online.contains(cpu));
        return Ok(if isolated.len() < online.len() { isolated } else { Vec::new() });
    };
    if let Some(cpu) = asked.iter().find(|cpu| !online.contains(cpu)) {
        let online = format_cpu_list(&online);
        return Err(prose!["CPU {cpu} is not online; the CPUs of this machine are {online}"]);
    }
    if online.iter().all(|cpu| asked.contains(cpu)) {
        let (all, first) = (format_cpu_list(asked), online.first().unwrap_or(&0));
        return Err(prose![
            Affinity " {all} are all CPUs of this machine; leave at least one core to everything else, for example CPU {first}"
        ]);
    }
    Ok(asked.to_vec())
}
