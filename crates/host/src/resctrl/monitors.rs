//! Files in which the kernel counts how much of the cache a group has, and its memory traffic.

use serde::{Deserialize, Serialize};

use crate::Host;
use crate::resctrl::CacheInForce;
use crate::resctrl::layout::{OURS, groups};

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
