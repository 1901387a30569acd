//! Checks between runs that the shield still holds. Another program that asks for one of the CPUs ends the partition
//! without any message: for example AllowedCPUs= of systemd, or --cpuset-cpus of docker.

use crate::Host;
use crate::resctrl::CPUS_OF_CACHE;
use crate::shield::{Isolation, ShieldKind, find, group_of};
use model::values::read_cpu_list;

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
