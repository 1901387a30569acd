//! The topology of the CPUs, from `/sys/devices/system/{cpu,node}`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Host, Topology};
use model::values::parse_cpu_list;

/// Number of sockets, cores, CPUs and nodes. `None` if the kernel does not show them.
pub(super) fn read(host: &Host) -> Option<Topology> {
    let online = host.read_cpus("sys/devices/system/cpu/online")?;
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    for cpu in &online {
        let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        sockets.insert(host.read(format!("{directory}/physical_package_id"))?);
        cores.insert(core(host, &directory)?);
    }
    // A kernel without NUMA lacks this directory; then all memory is one node.
    let nodes = host.read_cpus("sys/devices/system/node/online").map_or(1, |nodes| nodes.len());
    Some(Topology {
        n_sockets: count(sockets.len()),
        n_cores: count(cores.len()),
        n_cpus: count(online.len()),
        n_nodes: count(nodes.max(1)),
    })
}

/// A key that only the threads of one core share: the list of its threads. `core_id` alone repeats in every package
/// and, on some machines, in every die (Documentation/ABI/stable/sysfs-devices-system-cpu).
fn core(host: &Host, directory: &str) -> Option<String> {
    let read = |file: &str| host.read(format!("{directory}/{file}"));
    // Before Linux 5.3 the name is `thread_siblings_list`.
    if let Some(threads) = read("core_cpus_list").or_else(|| read("thread_siblings_list")) {
        return Some(threads);
    }
    let die = read("die_id").unwrap_or_default();
    Some(format!("{}/{die}/{}", read("physical_package_id")?, read("core_id")?))
}

/// The cores of the CPUs that are online, by a key that only the threads of a core share.
pub fn cores(host: &Host) -> BTreeMap<usize, String> {
    let core = |cpu| Some((cpu, core(host, &format!("sys/devices/system/cpu/cpu{cpu}/topology"))?));
    host.online_cpus().into_iter().filter_map(core).collect()
}

/// These CPUs, one thread of each core before the second one of any. `cores`: see [`cores`].
pub fn cores_first(cores: &BTreeMap<usize, String>, cpus: Vec<usize>) -> Vec<usize> {
    let mut n_threads: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_core = |cpu: &usize| {
        let core = cores.get(cpu).cloned();
        let thread = n_threads.entry(core.unwrap_or_else(|| cpu.to_string())).or_default();
        *thread += 1;
        *thread
    };
    let mut placed: Vec<(usize, usize)> = cpus.iter().map(|cpu| (of_core(cpu), *cpu)).collect();
    placed.sort_unstable();
    placed.into_iter().map(|(_, cpu)| cpu).collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("a list of CPUs is capped")
}

/// The memory nodes of the machine, from `/sys/devices/system/node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNode {
    pub node: usize,
    /// CPUs of the node; none if it has only memory.
    pub cpus: Vec<usize>,
}

/// The nodes with memory, by number. A kernel without NUMA has one, with all CPUs.
pub fn memory_nodes(host: &Host) -> Vec<MemoryNode> {
    const NODES: &str = "sys/devices/system/node";
    // Linux 2.6.24 and later.
    let with_memory = host.read(format!("{NODES}/has_memory"));
    let with_memory = with_memory.or_else(|| host.read(format!("{NODES}/online")));
    let numbers = with_memory.and_then(|list| parse_cpu_list(&list).ok()).unwrap_or_default();
    if numbers.is_empty() {
        return vec![MemoryNode { node: 0, cpus: host.online_cpus() }];
    }
    let node = |node: usize| {
        let cpus = host.read_cpus(format!("{NODES}/node{node}/cpulist"));
        MemoryNode { node, cpus: cpus.unwrap_or_default() }
    };
    numbers.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    #[track_caller]
    fn check(files: &str, expect: Option<[u32; 4]>) {
        let (_directory, host) = expand(files);
        let found = read(&host).map(|t| [t.n_sockets, t.n_cores, t.n_cpus, t.n_nodes]);
        assert_eq!(found, expect, "{files}");
    }

    #[test]
    fn core_ids_repeat_in_each_package() {
        let mut files = String::from("sys/devices/system/cpu/online = 0-3\n");
        for (cpu, package, core) in [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)] {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            files += &format!("{directory}/physical_package_id = {package}\n");
            files += &format!("{directory}/core_id = {core}\n");
        }
        check(&files, Some([2, 4, 4, 1]));
    }

    /// With sibling threads switched off, the numbers have holes.
    #[test]
    fn offline_cpus_are_not_counted() {
        let mut files = String::from("sys/devices/system/cpu/online = 0,2\n");
        for cpu in [0, 2] {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            files += &format!("{directory}/physical_package_id = 0\n");
            files += &format!("{directory}/core_cpus_list = {cpu}\n");
        }
        files += "sys/devices/system/node/online = 0-1\n";
        check(&files, Some([1, 2, 2, 2]));
    }

    #[test]
    fn nothing_shown() {
        check("", None);
        check("sys/devices/system/cpu/online = 0-1\n", None);
    }

    #[test]
    fn each_core_comes_once_before_its_second_thread() {
        let mut files = String::from("sys/devices/system/cpu/online = 0-3\n");
        for (cpu, threads) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            files += &format!("{directory}/core_cpus_list = {threads}\n");
        }
        let (_directory, host) = expand(&files);
        let cores = cores(&host);
        assert_eq!(cores_first(&cores, vec![0, 1, 2, 3]), [0, 2, 1, 3]);
        assert_eq!(cores_first(&cores, vec![1, 2, 3]), [1, 2, 3]);
        assert_eq!(cores_first(&cores, vec![7, 9]), [7, 9]);
    }
}
