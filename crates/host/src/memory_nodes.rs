//! The memory nodes of the machine, from `/sys/devices/system/node`.

use crate::Host;
use model::values::{parse_cpu_list, read_cpu_list};

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
        let online = host.read("sys/devices/system/cpu/online");
        let cpus = online.as_deref().and_then(read_cpu_list).unwrap_or_default();
        return vec![MemoryNode { node: 0, cpus }];
    }
    let node = |node: usize| {
        let cpus = host.read(format!("{NODES}/node{node}/cpulist"));
        MemoryNode { node, cpus: cpus.as_deref().and_then(read_cpu_list).unwrap_or_default() }
    };
    numbers.into_iter().map(node).collect()
}
