//! A shield as the user requests it, as the journal records it, and as the machine reports it.

use serde::{Deserialize, Serialize};

use crate::shield::neighbours::Neighbour;
use crate::shield::tasks::Mask;

/// The mechanism that keeps other programs off the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShieldKind {
    /// A partition of version 2 control groups, directly below the root.
    Partition,
    /// A partition in the control group of a systemd service, which systemd delegates to Stillwell.
    DelegatedPartition,
    /// Sets of CPUs of version 1 control groups.
    Cpusets,
    /// The boot parameter `isolcpus=`.
    Boot,
    /// No shield: the commands are bound to the CPUs, but other programs may use them too.
    #[default]
    Affinity,
}

impl ShieldKind {
    /// The name to put after "the CPUs are kept free by".
    pub fn name(self) -> &'static str {
        match self {
            Self::Partition => "a cgroup v2 partition",
            Self::DelegatedPartition => "a cgroup v2 partition in a service of systemd's",
            Self::Cpusets => "cgroup v1 cpusets",
            Self::Boot => "isolcpus= at boot",
            Self::Affinity => "nothing",
        }
    }

    /// Whether other programs are kept off.
    pub fn is_shield(self) -> bool {
        self != Self::Affinity
    }
}

/// A shield as the user requests it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldRequest {
    /// The CPUs, whole cores if possible. `None` asks for the recommended ones.
    pub cpus: Option<Vec<usize>>,
    /// Whether the scheduler balances threads over the CPUs, for commands with several threads.
    #[serde(default)]
    pub balanced: bool,
    /// Pairs of CPUs that share a core although the machine does not say so.
    #[serde(default)]
    pub hidden_siblings: Vec<[usize; 2]>,
}

/// A shield as the journal records it before it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldPlan {
    pub how: ShieldKind,
    pub cpus: Vec<usize>,
    /// The CPUs that the commands run on.
    pub bound: Vec<usize>,
    /// Whether the scheduler balances threads over these CPUs.
    pub balanced: bool,
    /// Whether Stillwell switches the controller on for the shield, and must switch it off again.
    pub switched_on: bool,
    /// CPU masks that users gave to tasks, for kernels that forget such masks.
    pub masks: Vec<Mask>,
    /// The valid partitions of other programs, which must stay valid.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
    /// The knobs that were turned for the shield.
    pub knobs: Vec<String>,
}

/// The shield in force, as the machine reports it after it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    pub how: ShieldKind,
    /// The shielded CPUs, as a list.
    pub cpus: String,
    /// The shielded CPUs that the commands run on, as a list.
    pub bound: String,
    /// The kernel's name of the partition: `isolated` (no load balancing) or `root`.
    pub partition: Option<String>,
    /// The CPUs of everything else, as the kernel shows them.
    pub others: Option<String>,
    /// Tasks of other programs that may still run on the shielded CPUs.
    pub n_tasks_left: u32,
    /// Kernel threads that may still run there, although they could run elsewhere.
    pub n_kernel_threads_left: u32,
    /// Device interrupts that the kernel may still send there.
    pub n_irqs_left: u32,
    /// Parts of the request that failed, and why; whole sentences.
    pub notes: Vec<String>,
}

impl Isolation {
    /// No shield, with the reason.
    pub fn none(why: String) -> Self {
        Self {
            how: ShieldKind::Affinity,
            cpus: String::new(),
            bound: String::new(),
            partition: None,
            others: None,
            n_tasks_left: 0,
            n_kernel_threads_left: 0,
            n_irqs_left: 0,
            notes: vec![why],
        }
    }

    /// The CPUs that the commands run on.
    pub fn bound_cpus(&self) -> Vec<usize> {
        model::values::parse_cpu_list(&self.bound).unwrap_or_default()
    }

    pub fn shielded_cpus(&self) -> Vec<usize> {
        model::values::parse_cpu_list(&self.cpus).unwrap_or_default()
    }
}
