//! Reads back the shield that is in force after it was made.

use crate::Host;
use crate::shield::{Isolation, ShieldKind, ShieldPlan, find, group_of, tasks, version1};
use model::values::{format_cpu_list, read_cpu_list};

/// The name that the kernel should show for the partition.
pub fn expected_partition(raised: &ShieldPlan) -> Option<String> {
    let is_partition = matches!(raised.how, ShieldKind::Partition | ShieldKind::DelegatedPartition);
    is_partition.then(|| super::version2::kind(raised).to_owned())
}

/// Reads the state of the shield from the machine.
pub fn verify(host: &Host, raised: &ShieldPlan, notes: Vec<String>) -> Isolation {
    let site = find(host);
    let group = group_of(&site, raised.how);
    let own: Vec<i32> = group
        .iter()
        .flat_map(|path| numbers(host, &format!("{path}/cgroup.threads"), &format!("{path}/tasks")))
        .collect();
    let (mut n_tasks_left, mut n_kernel_threads_left) = (0, 0);
    for task in tasks::all(host) {
        let reaches = task.cpus.iter().any(|cpu| raised.cpus.contains(cpu));
        if !reaches || !task.process.is_movable() || own.contains(&task.tid) {
            continue;
        }
        *(if task.process.is_kernel_thread() {
            &mut n_kernel_threads_left
        } else {
            &mut n_tasks_left
        }) += 1;
    }
    let partition = matches!(raised.how, ShieldKind::Partition | ShieldKind::DelegatedPartition)
        .then(|| host.read(format!("{}/cpuset.cpus.partition", group.as_deref()?)))
        .flatten();
    let others = match raised.how {
        ShieldKind::Partition | ShieldKind::DelegatedPartition => site
            .version_2
            .as_ref()
            .ok()
            .and_then(|point| host.read(format!("{point}/cpuset.cpus.effective"))),
        ShieldKind::Cpusets => {
            version1::system(&site).and_then(|path| host.read(format!("{path}/cpuset.cpus")))
        }
        ShieldKind::Boot | ShieldKind::Affinity => None,
    };
    Isolation {
        how: raised.how,
        cpus: format_cpu_list(&raised.cpus),
        bound: format_cpu_list(&raised.bound),
        partition,
        others: others.and_then(|list| Some(format_cpu_list(&read_cpu_list(&list)?))),
        n_tasks_left,
        n_kernel_threads_left,
        n_irqs_left: n_irqs(host, &raised.cpus),
        notes,
    }
}

fn numbers(host: &Host, version_2: &str, version_1: &str) -> Vec<i32> {
    let text = host.read(version_2).or_else(|| host.read(version_1)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Number of device interrupts that the kernel may send to these CPUs.
fn n_irqs(host: &Host, cpus: &[usize]) -> u32 {
    let reaches = |irq: &String| {
        let path = format!("proc/irq/{irq}/smp_affinity_list");
        let list = host.read_cpus(&path).unwrap_or_default();
        list.iter().any(|cpu| cpus.contains(cpu))
            && host.identity(&path).is_ok_and(|devices| devices.is_some_and(|it| !it.is_empty()))
    };
    let n = host.list("proc/irq").iter().filter(|irq| reaches(irq)).count();
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The file that shows the state of the shield, and its content while the shield holds.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    path: String,
    expected: String,
}

impl Watch {
    /// Chooses the file to watch. `None` means that no other program can end this shield.
    pub fn new(host: &Host, isolation: &Isolation) -> Option<Self> {
        let file = match isolation.how {
            ShieldKind::Partition | ShieldKind::DelegatedPartition => "cpuset.cpus.partition",
            ShieldKind::Cpusets => "cpuset.cpus",
            ShieldKind::Boot | ShieldKind::Affinity => return None,
        };
        let path = format!("{}/{file}", group_of(&find(host), isolation.how)?);
        let expected = isolation.partition.clone().unwrap_or_else(|| isolation.cpus.clone());
        Some(Self { host: host.clone(), path, expected })
    }

    /// How the shield was lost, or `None` if it still holds.
    pub fn lost(&self) -> Option<String> {
        let Self { host, path, expected } = self;
        let Some(now) = host.read(path) else { return Some(format!("/{path} is gone")) };
        let cpus = read_cpu_list(&now);
        let holds = now == *expected || (cpus.is_some() && cpus == read_cpu_list(expected));
        (!holds).then(|| format!("/{path} was {expected:?} and is {now:?}"))
    }
}
