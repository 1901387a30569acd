//! Reads back the shield that is in force after it was made.

use crate::resctrl::CPUS_OF_CACHE;
use crate::shield::{Isolation, ShieldKind, ShieldPlan, find, group_of, tasks, version1};
use crate::{Host, resctrl};
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
        cache: raised.cache.as_ref().and_then(|cache| resctrl::in_force(host, cache)),
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
        let list = host.read(&path).and_then(|list| read_cpu_list(&list)).unwrap_or_default();
        list.iter().any(|cpu| cpus.contains(cpu))
            && host.identity(&path).is_ok_and(|devices| devices.is_some_and(|it| !it.is_empty()))
    };
    let n = host.list("proc/irq").iter().filter(|irq| reaches(irq)).count();
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The files that show the state of the shield, and their content while the shield holds.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    files: Vec<(String, String)>,
}

impl Watch {
    /// Chooses the files to watch. `None` means that no other program can end this shield.
    pub fn new(host: &Host, isolation: &Isolation) -> Option<Self> {
        let file = match isolation.how {
            ShieldKind::Partition | ShieldKind::DelegatedPartition => Some("cpuset.cpus.partition"),
            ShieldKind::Cpusets => Some("cpuset.cpus"),
            ShieldKind::Boot | ShieldKind::Affinity => None,
        };
        let of_group = file.and_then(|file| {
            let path = format!("{}/{file}", group_of(&find(host), isolation.how)?);
            let expected = isolation.partition.clone().unwrap_or_else(|| isolation.cpus.clone());
            Some((path, expected))
        });
        let of_cache =
            isolation.cache.as_ref().map(|_| (CPUS_OF_CACHE.to_owned(), isolation.cpus.clone()));
        let files: Vec<_> = of_group.into_iter().chain(of_cache).collect();
        (!files.is_empty()).then(|| Self { host: host.clone(), files })
    }

    /// How the shield was lost, or `None` if it still holds.
    pub fn lost(&self) -> Option<String> {
        self.files.iter().find_map(|(path, expected)| match self.host.read(path) {
            Some(now) if now == *expected => None,
            Some(now)
                if read_cpu_list(&now).is_some()
                    && read_cpu_list(&now) == read_cpu_list(expected) =>
            {
                None
            }
            Some(now) => Some(format!("/{path} was {expected:?} and is {now:?}")),
            None => Some(format!("/{path} is gone")),
        })
    }
}
