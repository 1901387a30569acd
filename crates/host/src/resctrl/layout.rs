//! The present resctrl file system: the caches that can be divided, and the groups that share them.

use std::collections::BTreeMap;

use crate::Host;
use model::values::read_cpu_list;

pub(super) const POINT: &str = "sys/fs/resctrl";
pub(super) const GROUP: &str = "stillwell";
pub(super) const OURS: &str = "sys/fs/resctrl/stillwell";
/// The ways of the default group.
pub(super) const ROOT_SCHEMATA: &str = "sys/fs/resctrl/schemata";
/// The kernel's reason for the last refusal.
pub(super) const LAST_STATUS: &str = "sys/fs/resctrl/info/last_cmd_status";
/// Directories of the root that are no groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];

/// Masks, or sizes, by resource and cache.
pub(super) type MaskTable = BTreeMap<(String, u32), u64>;

/// A resource whose caches can be divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub name: String,
    pub full: u64,
    /// Fewest ways of a group.
    pub min_ways: u32,
    /// Ways that devices use too.
    pub shareable: u64,
    /// Whether the ways of a group may have gaps.
    pub is_sparse: bool,
    /// Largest number of groups in hardware, the default group included.
    pub n_classes: usize,
}

/// The divisible resources of the last level, `L3` or else `L2`. With CDP there are two, for code and for data.
pub(super) fn resources(host: &Host) -> Vec<Resource> {
    let named = |names: [&str; 3]| -> Vec<Resource> {
        names.iter().filter_map(|name| resource(host, name)).collect()
    };
    match named(["L3", "L3CODE", "L3DATA"]) {
        found if found.is_empty() => named(["L2", "L2CODE", "L2DATA"]),
        found => found,
    }
}

fn resource(host: &Host, name: &str) -> Option<Resource> {
    let read = |file: &str| host.read(format!("{POINT}/info/{name}/{file}"));
    let mask = |file: &str| u64::from_str_radix(&read(file)?, 16).ok();
    Some(Resource {
        name: name.into(),
        full: mask("cbm_mask").filter(|mask| *mask != 0)?,
        min_ways: read("min_cbm_bits").and_then(|n| n.parse().ok()).unwrap_or(1),
        shareable: mask("shareable_bits").unwrap_or(0),
        is_sparse: read("sparse_masks").as_deref() == Some("1"),
        n_classes: read("num_closids").and_then(|n| n.parse().ok()).unwrap_or(1),
    })
}

/// The masks in a file `schemata`. Lines of other resources are left out; memory bandwidth has no masks.
pub(super) fn masks(host: &Host, path: &str) -> MaskTable {
    parse(&host.read(path).unwrap_or_default(), 16)
}

/// The sizes in a file `size`, in bytes.
pub(super) fn sizes(host: &Host, path: &str) -> MaskTable {
    parse(&host.read(path).unwrap_or_default(), 10)
}

fn parse(text: &str, radix: u32) -> MaskTable {
    let mut table = MaskTable::new();
    for line in text.lines() {
        let Some((name, values)) = line.trim().split_once(':') else { continue };
        if !matches!(name, "L3" | "L3CODE" | "L3DATA" | "L2" | "L2CODE" | "L2DATA") {
            continue;
        }
        for value in values.split(';') {
            let parsed = value.split_once('=').and_then(|(id, mask)| {
                Some((id.trim().parse().ok()?, u64::from_str_radix(mask.trim(), radix).ok()?))
            });
            if let Some((id, mask)) = parsed {
                table.insert((name.to_owned(), id), mask);
            }
        }
    }
    table
}

/// The directories of all groups with ways of their own, the default group first.
pub(super) fn groups(host: &Host) -> Vec<String> {
    let names = host.list(POINT).into_iter().filter(|name| !NO_GROUPS.contains(&name.as_str()));
    let groups = names.map(|name| format!("{POINT}/{name}"));
    let groups = groups.filter(|group| host.exists(format!("{group}/schemata")));
    std::iter::once(POINT.to_owned()).chain(groups).collect()
}

/// The groups other than the default one that have one of these CPUs, including groups that only monitor.
pub(super) fn groups_with(host: &Host, cpus: &[usize]) -> Vec<String> {
    let monitoring = groups(host).into_iter().flat_map(|group| {
        let directory = format!("{group}/mon_groups");
        host.list(&directory).into_iter().map(move |name| format!("{directory}/{name}"))
    });
    let all = groups(host).into_iter().skip(1).chain(monitoring);
    let has = |group: &String| {
        let list = host.read(format!("{group}/cpus_list"));
        let list = list.and_then(|list| read_cpu_list(&list)).unwrap_or_default();
        list.iter().any(|cpu| cpus.contains(cpu))
    };
    all.filter(has).collect()
}

/// The kernel's number of the cache of this level that a CPU uses.
pub(super) fn cache_of(host: &Host, cpu: usize, level: char) -> Option<u32> {
    let directory = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    host.list(&directory).iter().find_map(|index| {
        let is_it = host.read(format!("{directory}/{index}/level"))? == level.to_string();
        is_it.then(|| host.read_value(format!("{directory}/{index}/id")))?
    })
}
