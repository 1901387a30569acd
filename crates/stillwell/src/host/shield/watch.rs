//! Checks between runs that the shield still holds.
//!
//! Another program that asks for one of the CPUs ends the partition without any message. Examples are AllowedCPUs= of
//! systemd and --cpuset-cpus of docker.

use crate::host::Host;
use crate::host::shield::{Isolation, ShieldKind, find, group_of};
use crate::values::read_cpu_list;

/// A file that shows the state of the shield, and its content while the shield holds.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    path: String,
    expected: String,
}

impl Watch {
    /// Chooses the file to watch. `None` means that no other program can end this shield.
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

    /// Describes how the shield was lost, or returns `None` if it still holds.
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
