//! What a result has to be read with: the machine, its settings and its load at the start.

use serde::{Deserialize, Serialize};

/// The machine and its state. A fact that cannot be found out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Model name; when there are several kinds of CPU, all of them joined with ` + `.
    pub cpu_model: Option<String>,
    /// CPUs that are online, as a list like `0-3,6`.
    pub cpus_online: Option<String>,
    /// CPUs that this process may use, as a list.
    pub cpus_allowed: Option<String>,
    /// Sockets, cores, threads, NUMA nodes.
    pub topology: Option<Topology>,
    /// cpufreq driver.
    pub scaling_driver: Option<String>,
    /// cpufreq governors in use, each once, in order of the CPUs.
    pub governors: Vec<String>,
    /// Whether the CPU may run above its base frequency.
    pub turbo: Option<bool>,
    /// Whether sibling threads are in use.
    pub smt: Option<bool>,
    /// `kernel.randomize_va_space`.
    pub aslr: Option<u8>,
    /// CPUs that the scheduler leaves alone (isolcpus=), as a list; empty when there are none.
    pub isolated_cpus: Option<String>,
    /// CPUs without a scheduling tick while they run one task (nohz_full=), as a list.
    pub nohz_full_cpus: Option<String>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The cgroup of this process and its limits.
    pub cgroup: Option<Cgroup>,
    /// What kind of virtual machine this is; `None` on bare metal or when there is no sign of one.
    pub virtualisation: Option<String>,
    /// What kind of container this is.
    pub container: Option<String>,
    /// Memory, KiB.
    pub memory_kib: Option<u64>,
    /// Mode of transparent huge pages.
    pub transparent_hugepages: Option<String>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// User id of the person who measured.
    pub user_id: Option<u32>,
    /// Directory in which the commands ran.
    pub directory: Option<String>,
    /// The git commit of that directory.
    pub git: Option<Git>,
}

/// How the CPUs hang together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The control group this process is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// 1 or 2.
    pub version: u8,
    /// Path below the mount point.
    pub path: String,
    /// The tightest CPU bandwidth limit of this group and its ancestors as `quota period`, in µs; `None` when there is
    /// none.
    pub cpu_max: Option<String>,
    /// The tightest memory limit of this group and its ancestors, bytes; `None` when there is none.
    pub memory_max_bytes: Option<u64>,
}

/// A git work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    /// Commit id.
    pub revision: String,
    /// When it was committed, seconds since 1970; `None` where git was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_s: Option<i64>,
}
