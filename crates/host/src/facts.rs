//! Facts that the reader of a result needs: the machine, its settings and its load at the start.

use model::prose::Prose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine and its state. An unknown fact is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facts {
    /// Host name.
    pub host: Option<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: Option<String>,
    /// Machine hardware name, as `uname -m`.
    pub architecture: String,
    /// Distribution, `PRETTY_NAME` of os-release.
    pub os: Option<String>,
    /// Model name. Several kinds of CPU are joined with ` + `.
    pub cpu_model: Option<String>,
    /// Online CPUs, as a list like `0-3,6`.
    pub cpus_online: Option<String>,
    /// CPUs that this process may use, as a list.
    pub cpus_allowed: Option<String>,
    /// Sockets, cores, threads, NUMA nodes.
    pub topology: Option<Topology>,
    /// cpufreq driver.
    pub scaling_driver: Option<String>,
    /// cpufreq governors in use, each once, in order of the CPUs.
    pub governors: Vec<String>,
    /// True if the CPU may run above its base frequency.
    pub turbo: Option<bool>,
    /// True if sibling threads are in use.
    pub smt: Option<bool>,
    /// `kernel.randomize_va_space`.
    pub aslr: Option<u8>,
    /// CPUs on which the scheduler places no tasks (isolcpus=), as a list. `None` when there are none.
    pub isolated_cpus: Option<String>,
    /// CPUs on which the kernel stops the tick while they run one task (nohz_full=), as a list.
    pub nohz_full_cpus: Option<String>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Threads that ran or were ready at the start, of all users.
    pub runnable_threads: Option<u32>,
    /// Time since the machine was booted, s.
    pub uptime_s: Option<f64>,
    /// Frequency of each online CPU at the start, MHz. Empty if the kernel does not tell.
    pub cpu_mhz: Vec<u32>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The cgroup of this process and its limits.
    pub cgroup: Option<Cgroup>,
    /// Kind of virtual machine. `None` on bare metal or without a sign of one.
    pub virtualisation: Option<String>,
    /// Kind of container.
    pub container: Option<String>,
    /// Memory, KiB.
    pub memory_kib: Option<u64>,
    /// Mode of transparent huge pages.
    pub transparent_hugepages: Option<String>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// User id of the user who measured.
    pub user_id: Option<u32>,
    /// Directory of the commands.
    pub directory: Option<String>,
    /// The git commit of that directory.
    pub git: Option<Git>,
}

/// The topology of the CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Physical packages.
    pub n_sockets: u32,
    /// Physical cores.
    pub n_cores: u32,
    /// Logical CPUs that are online.
    pub n_cpus: u32,
    /// NUMA nodes.
    pub n_nodes: u32,
}

/// The control group of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// 1 or 2.
    pub version: u8,
    /// Path below the mount point.
    pub path: String,
    /// The tightest CPU bandwidth limit of this group and its ancestors as `quota period`, in µs. `None` without a
    /// limit.
    pub cpu_max: Option<String>,
    /// The tightest memory limit of this group and its ancestors, in bytes. `None` without a limit.
    pub memory_max_bytes: Option<u64>,
}

/// A git work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Git {
    /// Commit id.
    pub revision: String,
    /// Commit time, seconds since 1970. `None` if git did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_s: Option<i64>,
}

/// A capability that this machine lacks. It is data, not an error: Stillwell shows it and saves it with the result.
/// The three parts are pieces of one sentence, "what: why; fix".
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
pub struct Gap {
    /// The missing capability.
    pub what: String,
    /// The reason.
    pub why: String,
    /// The remedy for the user.
    #[schemars(with = "String")]
    pub fix: Prose,
}
