//! A shield as it is asked for, as the journal has it, and as the machine has it.

use serde::{Deserialize, Serialize};

use crate::host::shield::tasks::Masks;

/// What keeps others off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShieldKind {
    /// A partition of version 2 control groups, directly below the root.
    Partition,
    /// The same in a service of systemd's that is delegated to us.
    DelegatedPartition,
    /// Sets of CPUs, version 1.
    Cpusets,
    /// `isolcpus=`.
    Boot,
    /// Nothing: the commands are bound to the CPUs, and others may use them too.
    Affinity,
}

impl ShieldKind {
    /// In a sentence: the CPUs are kept free by …
    pub fn name(self) -> &'static str {
        match self {
            Self::Partition => "a cgroup v2 partition",
            Self::DelegatedPartition => "a cgroup v2 partition in a service of systemd's",
            Self::Cpusets => "cgroup v1 cpusets",
            Self::Boot => "isolcpus= at boot",
            Self::Affinity => "nothing",
        }
    }

    /// Whether anything keeps others off.
    pub fn is_shield(self) -> bool {
        self != Self::Affinity
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldRequest {
    /// The CPUs, whole cores if possible; `None`: the recommended ones.
    pub cpus: Option<Vec<usize>>,
    /// Whether kernel threads that can be moved are moved with version 1. A partition moves them by itself.
    #[serde(default)]
    pub kernel_threads: bool,
    /// Whether the scheduler is to spread threads over the CPUs, for commands with several.
    #[serde(default)]
    pub balanced: bool,
}

/// A shield as the journal has it: what was about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldPlan {
    /// Of what.
    pub how: ShieldKind,
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// The CPUs that commands are to have.
    pub bound: Vec<usize>,
    /// Whether the scheduler spreads threads over them.
    pub balanced: bool,
    /// Whether the controller was switched on for it, which has to be undone.
    pub switched_on: bool,
    /// Tasks that somebody had bound to CPUs, where the kernel forgets that.
    pub masks: Masks,
    /// The knobs that were turned for it.
    pub knobs: Vec<String>,
}

/// What is in force, as the machine says after it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// What keeps others off.
    pub how: ShieldKind,
    /// CPUs that are kept free, as a list.
    pub cpus: String,
    /// CPUs of these that the commands have.
    pub bound: String,
    /// What the kernel calls the partition: `isolated` (no load balancing) or `root`.
    pub partition: Option<String>,
    /// CPUs of everything else, as the kernel shows them.
    pub others: Option<String>,
    /// Tasks of other programs that may still run there.
    pub n_tasks_left: u32,
    /// Kernel threads that could be elsewhere and may still run there.
    pub n_kernel_threads_left: u32,
    /// Interrupts of devices that may still go there.
    pub n_irqs_left: u32,
    /// What could not be had, and why; whole sentences.
    pub notes: Vec<String>,
}

impl Isolation {
    /// There is none, because.
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

    /// The CPUs of the commands.
    pub fn bound_cpus(&self) -> Vec<usize> {
        crate::values::parse_cpu_list(&self.bound).unwrap_or_default()
    }

    /// The CPUs that are kept free.
    pub fn shielded_cpus(&self) -> Vec<usize> {
        crate::values::parse_cpu_list(&self.cpus).unwrap_or_default()
    }
}
