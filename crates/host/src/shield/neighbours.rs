//! Partitions of other programs. The kernel makes them invalid as soon as a group beside them gets one of their CPUs.
//! Stillwell checks for an overlap before its first write, and repairs what an attempt breaks all the same.

use serde::{Deserialize, Serialize};

use crate::Host;
use crate::cgroup::groups;
use crate::shield::OURS;
use crate::shield::explain::has_them_too;
use model::values::name_cpus;
use model::words::reason;

const KIND: &str = "cpuset.cpus.partition";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    pub group: String,
    /// `root` or `isolated`.
    pub kind: String,
}

/// The valid partitions of other programs.
pub(super) fn neighbours(host: &Host, point: &str) -> Vec<Neighbour> {
    let partitions = foreign_groups(host, point).filter_map(|group| {
        let kind = host.read(format!("{group}/{KIND}"))?;
        matches!(kind.as_str(), "root" | "isolated").then_some(Neighbour { group, kind })
    });
    partitions.collect()
}

fn foreign_groups(host: &Host, point: &str) -> impl Iterator<Item = String> {
    let is_ours = |group: &String| group.split('/').any(|name| OURS.contains(&name));
    groups(host, point).into_iter().filter(move |group| !is_ours(group))
}

/// Why there is no shield, if partitions of other programs (valid or not) have or want one of these CPUs. With `beside`
/// it also names the groups directly below the root, for a partition there.
pub(super) fn overlap(host: &Host, point: &str, cpus: &[usize], beside: bool) -> Option<String> {
    let has_cpus = |group: &str| {
        ["cpuset.cpus", "cpuset.cpus.exclusive", "cpuset.cpus.exclusive.effective"]
            .iter()
            .filter_map(|file| host.read_cpus(format!("{group}/{file}")))
            .any(|list| list.iter().any(|cpu| cpus.contains(cpu)))
    };
    let is_rival = |group: &String| {
        let kind = host.read(format!("{group}/{KIND}")).unwrap_or_default();
        let is_partition = kind.starts_with("root") || kind.starts_with("isolated");
        let is_beside = group.rsplit_once('/').is_some_and(|(parent, _)| parent == point);
        (is_partition || beside && is_beside) && has_cpus(group)
    };
    let rivals: Vec<String> =
        foreign_groups(host, point).filter(is_rival).map(|group| format!("/{group}")).collect();
    (!rivals.is_empty()).then(|| {
        format!("no partition of {} was tried: {}", name_cpus(cpus), has_them_too(&rivals))
    })
}

/// Makes the partitions valid again that our attempt made invalid. Returns those that could not be repaired, with
/// reasons.
pub(super) fn repair(host: &Host, neighbours: &[Neighbour]) -> Vec<(String, String)> {
    let mut left = Vec::new();
    for Neighbour { group, kind } in neighbours {
        let path = format!("{group}/{KIND}");
        if host.read(&path).is_some_and(|now| now.starts_with(&format!("{kind} invalid")))
            && let Err(error) = host.write_set(&path, kind)
        {
            // A partition that is by now invalid for another reason stays so, and that is no error of the write.
            left.push((path, reason(error)));
        }
    }
    left
}
