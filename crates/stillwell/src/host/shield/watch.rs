//! Whether the shield still holds. Somebody else who asks for one of its CPUs takes the partition away without a word
//! (systemd's AllowedCPUs=, docker's --cpuset-cpus), so it is looked at between runs.

use crate::host::Host;
use crate::host::shield::{Isolation, ShieldKind, find, group_of};
use crate::values::read_cpu_list;

/// A file that says that the shield holds, and what is in it as long as it does.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    path: String,
    expected: String,
}

impl Watch {
    /// What to look at; `None` where there is nothing that could be taken away.
    pub fn new(host: &Host, isolation: &Isolation) -> Option<Self> {
        let group = group_of(&find(host), isolation.how)?;
        let file = match isolation.how {
            ShieldKind::Partition | ShieldKind::DelegatedPartition => "cpuset.cpus.partition",
            ShieldKind::Cpusets => "cpuset.cpus",
            ShieldKind::Boot | ShieldKind::Affinity => return None,
        };
        let path = format!("{group}/{file}");
        let expected = isolation.partition.clone().unwrap_or_else(|| isolation.cpus.clone());
        Some(Self { host: host.clone(), path, expected })
    }

    /// What became of it, if it does not hold any more.
    pub fn lost(&self) -> Option<String> {
        let now = self.host.read(&self.path);
        match now {
            Some(now) if now == self.expected => None,
            Some(now)
                if read_cpu_list(&now).is_some()
                    && read_cpu_list(&now) == read_cpu_list(&self.expected) =>
            {
                None
            }
            Some(now) => Some(format!("/{} was {:?} and is {now:?}", self.path, self.expected)),
            None => Some(format!("/{} is gone", self.path)),
        }
    }
}
