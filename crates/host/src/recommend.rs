//! Recommends CPUs for a benchmark.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cpu_table::{CpuClass, CpuRow};

/// Recommended cores on a machine without isolated CPUs: one for the benchmark, and one for a second thread.
const CORES_MAX: usize = 2;

/// The recommended CPUs and the reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recommendation {
    /// The CPUs, all threads of their cores. Empty without a recommendation.
    pub cpus: Vec<usize>,
    /// Number of cores.
    pub n_cores: usize,
    /// Their common properties, or the reasons for an empty list, as pieces of a sentence.
    pub why: Vec<String>,
}

/// Recommends CPUs by these rules:
/// - Whole cores, because the threads of a core share all its units.
/// - Never the core of CPU 0, the default place for work of the kernel and the firmware.
/// - One node and one kind, so times do not depend on the chosen CPU.
/// - Isolated cores first, then the fastest kind, then the highest numbers: interrupts gather at the low ones.
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
    // If possible, at least one core of each used kind and node stays free for everything else.
    let n_cores = if is_isolated { group.len() } else { CORES_MAX.min(group.len().div_ceil(2)) };
    let mut chosen: Vec<&Core> = group.clone();
    chosen.sort_by_key(|core| (std::cmp::Reverse(core.max_khz), std::cmp::Reverse(core.cpus[0])));
    chosen.truncate(n_cores);
    let mut cpus: Vec<usize> = chosen.iter().flat_map(|core| core.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    let why = why(&chosen, &cores, is_isolated);
    Recommendation { cpus, n_cores, why }
}

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
            // The initial mask of a process lacks the isolated CPUs, but it may request them.
            allowed: threads().all(|thread| thread.allowed || thread.isolated),
            has_cpu_0: row.siblings.contains(&0),
        });
    }
    cores
}

/// The cores of one node and one kind: the fastest kind, then the node with the most cores, then the last node, which
/// is less likely to have the disks.
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
    use crate::cpu_table::read_cpu_table;
    use crate::fixture::{expand, fixture};

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

    /// `pyperf` and others count up to the number of CPUs. They request CPU 1, which is off, and never CPU 6.
    #[test]
    fn smt_off_makes_sparse_numbers() {
        check("smt-off-sparse", &[4, 6], "whole cores, not CPU 0");
    }

    /// The cpuset of the container contains the cores of CPUs 2 and 3.
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
