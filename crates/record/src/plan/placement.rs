//! Threads and memory of the runs: variables for threading runtimes, and the memory nodes of the CPUs.

use anyhow::{Result, bail, ensure};

use crate::plan::{Arm, ProcessPlan};
use host::{Gap, MemoryNode};
use model::prose::prose;
use model::spec::groups::PlacementOptions;
use model::values::{MemoryMode, MemoryPolicy, Numa, Threads, read_cpu_list};

/// With one memory node, a memory policy has no effect.
pub const NODES: &str = "several memory nodes";

const OMP_THREADS: &str = "OMP_NUM_THREADS";
/// Variables with the number of threads: OpenMP (OpenMP 5.2, chapter 21), OpenBLAS, Intel MKL and BLIS (their manuals),
/// Go (package runtime) and Rayon (crate rayon). oneTBB has none and follows the affinity of the process. So does the
/// Java VM; its option variables make it print a line to standard error.
const COUNTS: [&str; 6] = [
    OMP_THREADS,
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "GOMAXPROCS",
    "RAYON_NUM_THREADS",
];
const PROC_BIND: &str = "OMP_PROC_BIND";
const PLACES: &str = "OMP_PLACES";
/// Variables that place OpenMP's threads. `KMP_AFFINITY` and `GOMP_CPU_AFFINITY` are never set: libgomp and LLVM's
/// runtime both know the standard's variable, and LLVM's warns on standard error if it finds two (openmp/runtime/src,
/// kmp_settings.cpp).
const PLACINGS: [&str; 4] = [PROC_BIND, PLACES, "GOMP_CPU_AFFINITY", "KMP_AFFINITY"];

impl ProcessPlan {
    /// The thread variables for an arm, which may have its own.
    pub fn thread_variables_of<'a>(
        &'a self,
        arm: &'a Arm,
    ) -> impl Iterator<Item = &'a (String, String)> {
        self.thread_variables.iter().filter(|(name, _)| !gives_way(name, |it| arm.sets(it)))
    }

    /// The thread variables and the arm's own, which override them.
    pub fn environment_of(&self, arm: &Arm) -> Vec<(String, String)> {
        self.thread_variables_of(arm).chain(&arm.environment).cloned().collect()
    }
}

/// Whether the user's variables already decide what ours would.
fn gives_way(ours: &str, is_set: impl Fn(&str) -> bool) -> bool {
    let others: &[&str] = match ours {
        PROC_BIND | PLACES => &PLACINGS,
        // These libraries use OpenMP's number if their own is not set.
        "OPENBLAS_NUM_THREADS" => &["OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", OMP_THREADS],
        "MKL_NUM_THREADS" => &["MKL_NUM_THREADS", OMP_THREADS],
        "BLIS_NUM_THREADS" => &["BLIS_NUM_THREADS", OMP_THREADS],
        _ => return is_set(ours),
    };
    others.iter().any(|name| is_set(name))
}

/// Chooses the thread variables: as many threads as CPUs, and a CPU for each. `is_set`: whether the user's environment
/// has a variable.
pub(super) fn place_threads(
    process: &mut ProcessPlan,
    options: &PlacementOptions,
    is_shielded: bool,
    is_set: impl Fn(&str) -> bool,
) {
    let Some(cpus) = process.affinity.as_ref().filter(|cpus| is_shielded || cpus.len() > 1) else {
        return;
    };
    if options.threads.unwrap_or_default() == Threads::Off {
        return;
    }
    let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    let counts = COUNTS.iter().map(|&name| (name, cpus.len().to_string()));
    let placings = [(PROC_BIND, "true".to_owned()), (PLACES, places.join(","))];
    let all = counts.chain(placings).filter(|(name, _)| !gives_way(name, &is_set));
    process.thread_variables = all.map(|(name, value)| (name.to_owned(), value)).collect();
}

/// Chooses the memory nodes. `cpus_allowed`: this process's CPUs, as a list. Errors: the user names a node without
/// memory, or all CPUs are on such nodes.
pub(super) fn place_memory(
    nodes: &[MemoryNode],
    process: &mut ProcessPlan,
    options: &PlacementOptions,
    is_shielded: bool,
    cpus_allowed: Option<&str>,
) -> Result<()> {
    let Some(numa) = options.numa.or(is_shielded.then_some(Numa::Bind)) else { return Ok(()) };
    if let Numa::Node(node) = numa {
        let names: Vec<String> = nodes.iter().map(|node| node.node.to_string()).collect();
        let names = names.join(", ");
        ensure!(
            nodes.iter().any(|it| it.node == node),
            prose![Numa " {node}: this machine has no memory node {node}; name one of {names}"]
        );
    }
    if nodes.len() < 2 {
        return Ok(());
    }
    let all = || nodes.iter().map(|node| node.node).collect();
    let (mode, nodes) = match numa {
        Numa::Node(node) => (MemoryMode::Bind, vec![node]),
        Numa::Interleave => (MemoryMode::Interleave, all()),
        Numa::Bind => {
            let allowed = || cpus_allowed.and_then(read_cpu_list).unwrap_or_default();
            let cpus = process.affinity.clone().unwrap_or_else(allowed);
            (MemoryMode::Bind, nodes_of_cpus(nodes, &cpus))
        }
    };
    if nodes.is_empty() {
        // The user did not ask for a policy.
        if options.numa.is_none() {
            return Ok(());
        }
        bail!(
            prose![Numa " bind: the CPUs of the commands are on nodes without memory; name a node"]
        );
    }
    process.memory = Some(MemoryPolicy { mode, nodes });
    Ok(())
}

/// The nodes of these CPUs that have memory.
fn nodes_of_cpus(nodes: &[MemoryNode], cpus: &[usize]) -> Vec<usize> {
    let has_one = |node: &&MemoryNode| node.cpus.iter().any(|cpu| cpus.contains(cpu));
    nodes.iter().filter(has_one).map(|node| node.node).collect()
}

/// The gap if the user asks for a memory policy on a machine with one node.
pub fn memory_gap(nodes: &[MemoryNode], options: &PlacementOptions) -> Option<Gap> {
    (options.numa.is_some() && nodes.len() < 2).then(|| Gap {
        what: NODES.into(),
        why: "this machine has one memory node, which is as near to every CPU; no memory policy is set".into(),
        fix: prose!["leave " Numa " out"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Role;
    use host::{expand, memory_nodes};

    const TWO_NODES: &str = "sys/devices/system/node/online = 0-2\n\
        sys/devices/system/node/has_memory = 0,2\n\
        sys/devices/system/node/node0/cpulist = 0-3\n\
        sys/devices/system/node/node1/cpulist = 4-5\n\
        sys/devices/system/node/node2/cpulist = 6-7\n";

    fn bound(cpus: &[usize]) -> ProcessPlan {
        ProcessPlan { affinity: Some(cpus.to_vec()), ..ProcessPlan::default() }
    }

    fn threads(
        cpus: &[usize],
        choice: Option<Threads>,
        is_shielded: bool,
        set: &[&str],
    ) -> Vec<String> {
        let mut process = bound(cpus);
        let options = PlacementOptions { threads: choice, numa: None };
        place_threads(&mut process, &options, is_shielded, |name| set.contains(&name));
        process.thread_variables.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn as_many_threads_as_cpus_and_a_place_for_each() {
        let found = threads(&[2, 5], None, false, &[]);
        let expected = [
            "OMP_NUM_THREADS=2",
            "OPENBLAS_NUM_THREADS=2",
            "MKL_NUM_THREADS=2",
            "BLIS_NUM_THREADS=2",
            "GOMAXPROCS=2",
            "RAYON_NUM_THREADS=2",
            "OMP_PROC_BIND=true",
            "OMP_PLACES={2},{5}",
        ];
        assert_eq!(found, expected);
        assert_eq!(threads(&[2], None, false, &[]), [""; 0]);
        assert_eq!(threads(&[2], None, true, &[])[0], "OMP_NUM_THREADS=1");
        assert_eq!(threads(&[2, 5], Some(Threads::Off), true, &[]), [""; 0]);
    }

    #[test]
    fn the_users_own_variables_go_first() {
        // OpenBLAS, MKL and BLIS use OpenMP's number. The places are still the CPUs'.
        let found = threads(&[2, 5], None, false, &["OMP_NUM_THREADS"]);
        let expected =
            ["GOMAXPROCS=2", "RAYON_NUM_THREADS=2", "OMP_PROC_BIND=true", "OMP_PLACES={2},{5}"];
        assert_eq!(found, expected);
        // A second variable about places would be a contradiction.
        for name in PLACINGS {
            let found = threads(&[2, 5], None, false, &[name]);
            assert_eq!(found.len(), COUNTS.len(), "{name}: {found:?}");
        }
        let mut process = bound(&[2, 5]);
        place_threads(&mut process, &PlacementOptions::default(), false, |_| false);
        let environment = vec![("KMP_AFFINITY".into(), "none".into())];
        let arm = Arm { environment, ..Arm::bare("a", Role::Candidate) };
        let found = process.environment_of(&arm);
        assert_eq!(found.len(), COUNTS.len() + 1);
        assert_eq!(found.last().map(|(name, _)| name.as_str()), Some("KMP_AFFINITY"));
    }

    #[track_caller]
    fn check(
        files: &str,
        cpus: &[usize],
        numa: Option<Numa>,
        is_shielded: bool,
        expected: Option<(MemoryMode, &[usize])>,
    ) {
        let (_directory, host) = expand(files);
        let mut process = bound(cpus);
        let options = PlacementOptions { threads: None, numa };
        let nodes = memory_nodes(&host);
        place_memory(&nodes, &mut process, &options, is_shielded, None).unwrap();
        let gap = memory_gap(&nodes, &options);
        let found = process.memory.as_ref().map(|it| (it.mode, it.nodes.as_slice()));
        assert_eq!(found, expected, "{cpus:?} {numa:?}");
        assert_eq!(gap.is_some(), numa.is_some() && expected.is_none(), "{cpus:?} {numa:?}");
    }

    #[test]
    fn the_memory_is_where_the_cpus_are() {
        fn bind(nodes: &[usize]) -> Option<(MemoryMode, &[usize])> {
            Some((MemoryMode::Bind, nodes))
        }
        check(TWO_NODES, &[1], None, false, None);
        check(TWO_NODES, &[1], None, true, bind(&[0]));
        check(TWO_NODES, &[6], Some(Numa::Bind), false, bind(&[2]));
        check(TWO_NODES, &[1, 5, 7], Some(Numa::Bind), false, bind(&[0, 2]));
        check(TWO_NODES, &[1], Some(Numa::Node(2)), true, bind(&[2]));
        let all = Some((MemoryMode::Interleave, &[0, 2][..]));
        check(TWO_NODES, &[1], Some(Numa::Interleave), false, all);
        // Node 1 has no memory: under a shield the kernel chooses.
        check(TWO_NODES, &[4], None, true, None);
    }

    #[test]
    fn one_node_is_said_only_if_the_user_asked() {
        for files in ["", "sys/devices/system/node/online = 0\n"] {
            check(files, &[1], None, true, None);
            check(files, &[1], Some(Numa::Bind), false, None);
            check(files, &[1], Some(Numa::Node(0)), false, None);
        }
    }

    #[test]
    fn nodes_that_have_no_memory_are_refused() {
        let (_directory, host) = expand(TWO_NODES);
        let refused = |cpus: &[usize], numa| {
            let options = PlacementOptions { threads: None, numa: Some(numa) };
            let nodes = memory_nodes(&host);
            place_memory(&nodes, &mut bound(cpus), &options, false, None).unwrap_err().to_string()
        };
        let found = refused(&[1], Numa::Node(1));
        assert_eq!(found, "--numa 1: this machine has no memory node 1; name one of 0, 2");
        assert!(refused(&[4], Numa::Bind).contains("nodes without memory"));
    }
}
