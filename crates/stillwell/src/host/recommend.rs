//! Which CPUs a benchmark should have.

use serde::Serialize;

use crate::host::cpu_table::{CpuClass, CpuRow};

/// Cores that are recommended where the machine was not booted to isolate some: one for the benchmark, and one for a
/// second thread.
const CORES_MAX: usize = 2;

/// CPUs that a benchmark should have, and why these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The CPUs, all threads of their cores; empty when none can be recommended.
    pub cpus: Vec<usize>,
    /// How many cores these are.
    pub n_cores: usize,
    /// What they have in common, or why there are none; pieces of a sentence.
    pub why: Vec<String>,
}

/// Whole cores, because a thread of the same core shares all its units; never the core of CPU 0, where the kernel and
/// the firmware put what has no other place; of one node and one kind, so that the times do not depend on which of them
/// was used. Isolated cores first, then the fastest kind, then the highest numbers: interrupts gather at the low ones.
pub fn recommend(table: &[CpuRow]) -> Recommendation {
    let none = |why: String| Recommendation { cpus: Vec::new(), n_cores: 0, why: vec![why] };
    let n_online = table.iter().filter(|row| row.online).count();
    let cores = cores(table);
    match (n_online, cores.len()) {
        (0, _) => return none("the kernel does not show its CPUs".into()),
        (1, _) => return none("there is one CPU, and everything else needs it too".into()),
        (_, 1) => {
            return none(
                "all CPUs are threads of one core, and everything else needs it too".into(),
            );
        }
        _ => {}
    }
    let free: Vec<&Core> = cores.iter().filter(|core| !core.has_cpu_0 && core.allowed).collect();
    if free.is_empty() {
        return none("this process may use no whole core besides that of CPU 0".into());
    }
    let is_isolated = free.iter().any(|core| core.isolated);
    let wanted: Vec<&Core> =
        free.iter().copied().filter(|core| core.isolated == is_isolated).collect();
    let group = best_group(&wanted);
    // At least one core of each kind and node that is used stays for everything else, where that is possible.
    let n_cores = match is_isolated {
        true => group.len(),
        false => CORES_MAX.min(group.len().div_ceil(2)),
    };
    let mut chosen: Vec<&Core> = group.clone();
    chosen.sort_by_key(|core| (std::cmp::Reverse(core.max_khz), std::cmp::Reverse(core.cpus[0])));
    chosen.truncate(n_cores);
    let mut cpus: Vec<usize> = chosen.iter().flat_map(|core| core.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    let why = why(&chosen, &cores, is_isolated);
    Recommendation { cpus, n_cores, why }
}

/// The threads of one core that are online.
#[derive(Debug)]
struct Core {
    cpus: Vec<usize>,
    node: usize,
    class: Option<CpuClass>,
    max_khz: u64,
    isolated: bool,
    allowed: bool,
    has_cpu_0: bool,
}

fn cores(table: &[CpuRow]) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    for row in table.iter().filter(|row| row.online && row.siblings.first() == Some(&row.cpu)) {
        let threads = || table.iter().filter(|thread| row.siblings.contains(&thread.cpu));
        cores.push(Core {
            cpus: row.siblings.clone(),
            node: row.node,
            class: row.class,
            max_khz: row.max_khz.unwrap_or(0),
            isolated: threads().all(|thread| thread.isolated),
            // Isolated CPUs are not in the mask that processes start with, but may be asked for.
            allowed: threads().all(|thread| thread.allowed || thread.isolated),
            has_cpu_0: row.siblings.contains(&0),
        });
    }
    cores
}

/// The cores of one node and one kind: the fastest kind, then the node with most of them, then the last node, which is
/// less likely to be that of the disks.
fn best_group<'a>(cores: &[&'a Core]) -> Vec<&'a Core> {
    let same = |a: &Core, b: &Core| a.node == b.node && a.class == b.class;
    let group =
        |of: &Core| cores.iter().copied().filter(|core| same(core, of)).collect::<Vec<&Core>>();
    let best = cores.iter().max_by_key(|core| (core.class, group(core).len(), core.node));
    best.map(|best| group(best)).unwrap_or_default()
}

fn why(chosen: &[&Core], all: &[Core], is_isolated: bool) -> Vec<String> {
    let mut why = Vec::new();
    if is_isolated {
        why.push("isolated at boot".to_owned());
    }
    why.push(if chosen.len() == 1 { "one whole core" } else { "whole cores" }.to_owned());
    if let Some(class) = chosen.first().and_then(|core| core.class) {
        why.push(format!("all {}", class.name()));
    }
    if all.iter().any(|core| core.node != all[0].node)
        && let Some(core) = chosen.first()
    {
        why.push(format!("node {}", core.node));
    }
    why.push("not CPU 0".to_owned());
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cpu_table::read_cpu_table;
    use crate::host::fixture::{expand, fixture};

    #[track_caller]
    fn check(name: &str, cpus: &[usize], why: &str) {
        let (_directory, host) = fixture(name);
        let found = recommend(&read_cpu_table(&host, None));
        assert_eq!((found.cpus.as_slice(), found.why.join(", ").as_str()), (cpus, why), "{name}");
    }

    #[test]
    fn whole_cores_and_never_cpu_0() {
        check("intel-hwp-active", &[2, 3, 6, 7], "whole cores, not CPU 0");
        check("intel-passive", &[2, 3], "whole cores, not CPU 0");
        check("wsl2", &[2, 3], "one whole core, not CPU 0");
    }

    #[test]
    fn isolated_cores_first_and_all_of_them() {
        let why = "isolated at boot, whole cores, not CPU 0";
        check("intel-acpi-msr", &[6, 7, 14, 15], why);
    }

    #[test]
    fn one_kind_of_core() {
        check("intel-hybrid", &[12, 13, 14, 15], "whole cores, all P-cores, not CPU 0");
        check("arm-big-little", &[6, 7], "whole cores, all big cores, not CPU 0");
    }

    #[test]
    fn one_node() {
        check("numa-128", &[62, 63, 126, 127], "whole cores, node 1, not CPU 0");
    }

    /// `pyperf` and others count to the number of CPUs and so ask for CPU 1, which is off, and never for CPU 6.
    #[test]
    fn smt_off_makes_sparse_numbers() {
        check("smt-off-sparse", &[4, 6], "whole cores, not CPU 0");
    }

    /// The cpuset of the container has the cores of CPUs 2 and 3.
    #[test]
    fn only_cpus_that_may_be_used() {
        check("container-ro", &[3, 11], "one whole core, not CPU 0");
    }

    #[test]
    fn nothing_to_recommend() {
        check("qemu-one-cpu", &[], "there is one CPU, and everything else needs it too");
        let check = |files: &str, why: &str| {
            let (_directory, host) = expand(files);
            let found = recommend(&read_cpu_table(&host, None));
            assert_eq!((found.cpus.len(), found.why.join(", ").as_str()), (0, why), "{files}");
        };
        check("", "the kernel does not show its CPUs");
        let core = "sys/devices/system/cpu/online = 0-1\n\
                    sys/devices/system/cpu/cpu{0-1}/topology/core_cpus_list = 0-1\n";
        check(core, "all CPUs are threads of one core, and everything else needs it too");
        let two =
            "sys/devices/system/cpu/online = 0-1\nproc/self/status = Cpus_allowed_list:\\t0\n";
        check(two, "this process may use no whole core besides that of CPU 0");
    }
}
