//! Ways of the last-level cache for the benchmark's CPUs alone, by the kernel's resctrl file system: Intel's CAT and
//! CDP, AMD's QoS, Arm's MPAM (Documentation/filesystems/resctrl.rst).
//!
//! Stillwell makes one group, takes ways from the default group for it and gives the CPUs to it. Everything else keeps
//! the other ways. Removing the group returns its CPUs to the default group. The group stays `shareable`: `exclusive`
//! would take ways of every cache of the machine, not only of those that the CPUs use (`rdtgroup_mode_test_exclusive()`
//! in fs/resctrl/rdtgroup.c).

mod choice;
#[cfg(test)]
pub(super) mod fake;
mod layout;
#[cfg(test)]
mod tests;

use std::io;

use serde::{Deserialize, Serialize};

use crate::Host;
#[cfg(test)]
use crate::fault;
use crate::files::Foreign;
use crate::knobs::Format;
use model::values::{format_cpu_list, read_cpu_list};

use layout::{GROUP, LAST_STATUS, MaskTable, OURS, ROOT_SCHEMATA, groups, masks, sizes};

pub use choice::plan;

/// The CPUs of our group.
pub const CPUS_OF_CACHE: &str = "sys/fs/resctrl/stillwell/cpus_list";

/// The part of the cache that a shield gives to its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachePlan {
    /// The CPUs that get this part.
    pub cpus: Vec<usize>,
    /// The ways of each cache that these CPUs use.
    pub caches: Vec<CacheWays>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheWays {
    /// Name in the file `schemata`: `L3`, or `L3CODE` and `L3DATA`.
    pub resource: String,
    /// The kernel's number of the cache.
    pub id: u32,
    pub full: u64,
    /// The ways of the default group before.
    pub before: u64,
    pub rest: u64,
    pub ours: u64,
}

/// The part of the cache in force, as the machine reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheInForce {
    /// The resource: `L3`, or `L3CODE,L3DATA`.
    pub resource: String,
    /// The kernel's numbers of the caches that the CPUs use.
    pub ids: Vec<u32>,
    /// The ways of the benchmark's CPUs in each cache.
    pub ways: u32,
    /// All ways of such a cache.
    pub of_ways: u32,
    /// The size of these ways.
    pub bytes: Option<u64>,
}

/// The result of giving ways back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CacheReturn {
    /// Files that could not be put back, and why.
    pub failed: Vec<(String, String)>,
    /// Masks of the default group that another program has changed.
    pub foreign: Vec<Foreign>,
}

impl CachePlan {
    fn lines(&self, mask: impl Fn(&CacheWays) -> u64) -> String {
        let lines = self
            .caches
            .iter()
            .map(|cache| format!("{}:{}={:x}\n", cache.resource, cache.id, mask(cache)));
        lines.collect()
    }
}

/// Whether the file system is mounted.
pub fn is_mounted(host: &Host) -> bool {
    host.exists(ROOT_SCHEMATA)
}

/// Makes the group. The journal must already have it. Errors: the kernel refuses a step, with its reason. [`remove`]
/// undoes the steps before.
pub fn make(host: &Host, plan: &CachePlan) -> Result<(), String> {
    let explain = |what: &str, error: &io::Error| explain(host, what, error);
    host.make_cache_group().map_err(|error| explain("make a group", &error))?;
    // The group's ways first: while they are everyone's, this disturbs nobody.
    host.write_cache(&format!("{OURS}/schemata"), &plan.lines(|cache| cache.ours))
        .map_err(|error| explain("give ways to the group", &error))?;
    host.write_cache(ROOT_SCHEMATA, &plan.lines(|cache| cache.rest))
        .map_err(|error| explain("take ways from the default group", &error))?;
    host.write_cache(CPUS_OF_CACHE, &(format_cpu_list(&plan.cpus) + "\n"))
        .map_err(|error| explain("give CPUs to the group", &error))?;
    match lost(host, plan) {
        None => Ok(()),
        Some(why) => Err(format!("the kernel took the ways and changed them: {why}")),
    }
}

/// How the division of the cache was lost, or `None` if it still holds.
pub fn lost(host: &Host, plan: &CachePlan) -> Option<String> {
    let holds = |table: &MaskTable, mask: &dyn Fn(&CacheWays) -> u64| {
        plan.caches.iter().all(|it| table.get(&(it.resource.clone(), it.id)) == Some(&mask(it)))
    };
    let path = format!("{OURS}/schemata");
    if !holds(&masks(host, &path), &|cache| cache.ours) {
        return Some(format!("/{path} is {:?}", host.read(&path).unwrap_or_default()));
    }
    let cpus = host.read(CPUS_OF_CACHE).unwrap_or_default();
    if read_cpu_list(&cpus).as_ref() != Some(&plan.cpus) {
        return Some(format!("/{CPUS_OF_CACHE} is {cpus:?}"));
    }
    // Other groups may get ways of ours later.
    let sharing = groups(host).into_iter().find(|group| {
        let theirs = masks(host, &format!("{group}/schemata"));
        let shares = |it: &CacheWays| {
            theirs.get(&(it.resource.clone(), it.id)).is_some_and(|mask| mask & it.ours != 0)
        };
        group != OURS && plan.caches.iter().any(shares)
    });
    sharing.map(|group| format!("/{group} has ways of it too"))
}

/// Removes the group and gives its ways back. It looks at the machine, so it also undoes a part of [`make`].
pub fn remove(host: &Host, plan: &CachePlan) -> CacheReturn {
    let mut result = CacheReturn::default();
    // The group goes first: no other group may get ways of a group that has been made exclusive.
    if let Err(error) = host.remove_cache_group() {
        let why = explain(host, "remove the group", &error);
        result.failed.push((OURS.into(), why));
        return result;
    }
    let now = masks(host, ROOT_SCHEMATA);
    let mut ours = CachePlan { cpus: Vec::new(), caches: Vec::new() };
    for cache in &plan.caches {
        match now.get(&(cache.resource.clone(), cache.id)) {
            Some(mask) if *mask == cache.before => {}
            Some(mask) if *mask == cache.rest => ours.caches.push(cache.clone()),
            // A cache goes offline with its CPUs, and comes back whole.
            None => {}
            Some(mask) => {
                let shown = |mask: u64| format!("{}:{}={mask:x}", cache.resource, cache.id);
                let path = ROOT_SCHEMATA.to_owned();
                result.foreign.push(Foreign { path, now: shown(*mask), old: shown(cache.before) });
            }
        }
    }
    if !ours.caches.is_empty()
        && let Err(error) = host.write_cache(ROOT_SCHEMATA, &ours.lines(|cache| cache.before))
    {
        let why = explain(host, "give the ways back", &error);
        result.failed.push((ROOT_SCHEMATA.into(), why));
    }
    result
}

/// The division in force, if it is the planned one.
pub fn in_force(host: &Host, plan: &CachePlan) -> Option<CacheInForce> {
    if lost(host, plan).is_some() {
        return None;
    }
    let first = plan.caches.first()?;
    let mut names: Vec<&str> = plan.caches.iter().map(|cache| cache.resource.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut ids: Vec<u32> = plan.caches.iter().map(|cache| cache.id).collect();
    ids.sort_unstable();
    ids.dedup();
    Some(CacheInForce {
        resource: names.join(","),
        ids,
        ways: first.ours.count_ones(),
        of_ways: first.full.count_ones(),
        bytes: sizes(host, &format!("{OURS}/size"))
            .get(&(first.resource.clone(), first.id))
            .copied(),
    })
}

/// A group of ours without a journal. The default group gets its ways that no other group has.
pub fn stray(host: &Host) -> Option<CachePlan> {
    if !host.exists(format!("{OURS}/schemata")) {
        return None;
    }
    let (ours, rest) = (masks(host, &format!("{OURS}/schemata")), masks(host, ROOT_SCHEMATA));
    let full = layout::resources(host);
    let caches = ours.into_iter().filter_map(|((resource, id), ours)| {
        let rest = *rest.get(&(resource.clone(), id))?;
        let full = full.iter().find(|known| known.name == resource)?.full;
        Some(CacheWays { resource, id, full, before: rest | ours, rest, ours })
    });
    let cpus = host.read(CPUS_OF_CACHE).and_then(|list| read_cpu_list(&list));
    Some(CachePlan { cpus: cpus.unwrap_or_default(), caches: caches.collect() })
}

/// Describes a refused step. The kernel's own reason is in a separate file.
fn explain(host: &Host, what: &str, error: &io::Error) -> String {
    match host.read(LAST_STATUS).filter(|said| !said.is_empty() && said != "ok") {
        Some(said) => format!("cannot {what} in /{OURS}: {error}; the kernel says {said:?}"),
        None => format!("cannot {what} in /{OURS}: {error}"),
    }
}

impl Host {
    /// Writes a file of our group, or the ways of the default group.
    fn write_cache(&self, path: &str, value: &str) -> io::Result<()> {
        let own = [format!("{OURS}/schemata"), CPUS_OF_CACHE.to_owned()];
        if path != ROOT_SCHEMATA && !own.iter().any(|own| own == path) {
            let why = format!("{path:?} is no file of the cache's division");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            return fault::by_kernel(path, || fake::write(self, path, value));
        }
        self.write_value(Format::Word, path, value)
    }

    fn make_cache_group(&self) -> io::Result<()> {
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            return fault::by_kernel(OURS, || fake::make(self, OURS));
        }
        self.make_directory(OURS, &[GROUP])
    }

    fn remove_cache_group(&self) -> io::Result<()> {
        #[cfg(test)]
        if self.root != std::path::Path::new("/") {
            return fault::by_kernel(OURS, || fake::remove(self, OURS));
        }
        self.remove_directory(OURS, &[GROUP])
    }
}

/// The files of the benchmark's group and of all others in the same caches, below the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMonitors {
    /// Bytes of the cache that hold lines of the benchmark's CPUs.
    pub occupancy: Vec<String>,
    /// Bytes between cache and memory, for the benchmark's CPUs.
    pub traffic: Vec<String>,
    /// Bytes between cache and memory, for everything else.
    pub others_traffic: Vec<String>,
}

/// The existing files. Some processors count only one of the two, or none.
pub fn monitors(host: &Host, cache: &CacheInForce) -> CacheMonitors {
    let files = |group: &str, name: &str| -> Vec<String> {
        let of_cache = |id: &u32| format!("{group}/mon_data/mon_L3_{id:02}/{name}");
        cache.ids.iter().map(of_cache).filter(|path| host.exists(path)).collect()
    };
    let others = groups(host).into_iter().filter(|group| group != OURS);
    CacheMonitors {
        occupancy: files(OURS, "llc_occupancy"),
        traffic: files(OURS, "mbm_total_bytes"),
        others_traffic: others.flat_map(|group| files(&group, "mbm_total_bytes")).collect(),
    }
}
