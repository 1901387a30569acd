#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use super::fake::MOUNTED;
use super::*;
use crate::fixture::expand;

const ONLINE: &str = "sys/devices/system/cpu/online = 0-3\n";
/// Another program's group with CPU 1 and the lower two ways.
const OTHERS: &str = "sys/fs/resctrl/pod/schemata =     L3:0=3\n\
                      sys/fs/resctrl/pod/mode = shareable\n\
                      sys/fs/resctrl/pod/cpus_list = 1\n";

fn machine(more: &str) -> (tempfile::TempDir, Host) {
    expand(&format!("{ONLINE}{MOUNTED}{more}"))
}

/// Checks the ways of the benchmark's CPUs and of the default group.
#[track_caller]
fn check(more: &str, cpus: &[usize], percent: f64, expect: &[(&str, u32, u64, u64)]) {
    let (_directory, host) = machine(more);
    let found = plan(&host, cpus, percent).unwrap();
    let found: Vec<_> =
        found.caches.iter().map(|it| (it.resource.as_str(), it.id, it.ours, it.rest)).collect();
    assert_eq!(found, expect, "{more}");
}

#[track_caller]
fn refused(more: &str, cpus: &[usize], percent: f64, expect: &str) {
    let (_directory, host) = machine(more);
    let why = plan(&host, cpus, percent).unwrap_err();
    assert!(why.contains(expect), "{why}");
}

#[test]
fn ways_that_devices_use_are_left_to_everybody_else() {
    check("", &[2, 3], 50.0, &[("L3", 0, 0x03f, 0xfc0)]);
    // Devices use no ways: the upper ones.
    let none = "sys/fs/resctrl/info/L3/shareable_bits = 0\n";
    check(none, &[2, 3], 25.0, &[("L3", 0, 0xe00, 0x1ff)]);
    // At least the two ways that the kernel demands.
    check("", &[2, 3], 1.0, &[("L3", 0, 0x003, 0xffc)]);
}

/// The number of a cache is the kernel's, and other caches stay whole.
#[test]
fn only_the_caches_of_the_cpus_are_divided() {
    let two = "sys/fs/resctrl/schemata =     L3:0=fff;1=fff\\n    MB:0=100;1=100\n\
               sys/devices/system/cpu/cpu{0-1}/cache/index3/level = 3\n\
               sys/devices/system/cpu/cpu{2-3}/cache/index3/level = 3\n\
               sys/devices/system/cpu/cpu{0-1}/cache/index3/id = 0\n\
               sys/devices/system/cpu/cpu{2-3}/cache/index3/id = 1\n";
    check(two, &[2], 50.0, &[("L3", 1, 0x03f, 0xfc0)]);
    check(two, &[0, 3], 50.0, &[("L3", 0, 0x03f, 0xfc0), ("L3", 1, 0x03f, 0xfc0)]);
    let unknown = "sys/fs/resctrl/schemata =     L3:0=fff;1=fff\n";
    refused(unknown, &[2], 50.0, "the kernel does not show which caches CPU 2 use");
}

/// With CDP code and data have masks of their own, and both are divided in the same way.
#[test]
fn code_and_data_are_divided_together() {
    let (_directory, host) = machine("");
    std::fs::remove_dir_all(host.root.join("sys/fs/resctrl/info/L3")).unwrap();
    for name in ["L3CODE", "L3DATA"] {
        let directory = host.root.join(format!("sys/fs/resctrl/info/{name}"));
        std::fs::create_dir_all(&directory).unwrap();
        for (file, text) in [("cbm_mask", "fff"), ("min_cbm_bits", "1"), ("num_closids", "2")] {
            std::fs::write(directory.join(file), text).unwrap();
        }
    }
    let schemata = "L3DATA:0=fff\nL3CODE:0=ff0\n";
    std::fs::write(host.root.join("sys/fs/resctrl/schemata"), schemata).unwrap();
    let plan = plan(&host, &[3], 25.0).unwrap();
    make(&host, &plan).unwrap();
    let now = host.read("sys/fs/resctrl/schemata").unwrap();
    assert_eq!(now, "L3CODE:0=1f0\nL3DATA:0=1ff", "{now:?}");
    assert_eq!(in_force(&host, &plan).unwrap().resource, "L3CODE,L3DATA");
}

#[test]
fn what_others_have_is_left_to_them() {
    // Their ways are at the lower end, so ours are at the other, although devices use some of these.
    check(OTHERS, &[2, 3], 25.0, &[("L3", 0, 0xe00, 0x1ff)]);
    refused(OTHERS, &[1], 25.0, "/sys/fs/resctrl/pod has CPU 1 already");
    let both = "sys/fs/resctrl/vm/schemata =     L3:0=c00\nsys/fs/resctrl/vm/cpus_list =\n";
    refused(
        &format!("{OTHERS}{both}"),
        &[2, 3],
        50.0,
        "/sys/fs/resctrl/pod, /sys/fs/resctrl/vm uses the ways",
    );
    let monitored = "sys/fs/resctrl/mon_groups/watch/cpus_list = 2\n";
    refused(monitored, &[2], 50.0, "/sys/fs/resctrl/mon_groups/watch has CPU 2 already");
    let three = "sys/fs/resctrl/{1-3}/schemata =     L3:0=fff\n";
    refused(three, &[2], 50.0, "all 4 groups that this processor can divide");
    let halved = "sys/fs/resctrl/schemata =     L3:0=00f\n";
    refused(halved, &[2], 50.0, "6 of 12 ways cannot be taken from the default group, which has 4");
}

#[test]
fn a_machine_that_cannot_divide_its_cache_says_so() {
    for (files, expect) in [
        ("", "cannot divide the cache"),
        ("sys/fs/resctrl/\n", "mount -t resctrl resctrl /sys/fs/resctrl"),
        ("sys/fs/resctrl/info/L3_MON/num_rmids = 8\n", "can watch its last-level cache"),
    ] {
        let (_directory, host) = expand(&format!("{ONLINE}{files}"));
        let why = plan(&host, &[3], 50.0).unwrap_err();
        assert!(why.contains(expect), "{why}");
    }
}

#[test]
fn ways_and_cpus_are_given_and_come_back() {
    let (_directory, host) = machine(OTHERS);
    let plan = plan(&host, &[2, 3], 25.0).unwrap();
    make(&host, &plan).unwrap();
    assert_eq!(host.read(ROOT_SCHEMATA).unwrap(), "    L3:0=1ff\n    MB:0=100");
    assert_eq!(host.read("sys/fs/resctrl/cpus_list").unwrap(), "0-1");
    let found = in_force(&host, &plan).unwrap();
    assert_eq!((found.ways, found.of_ways, found.bytes), (3, 12, Some(3 << 20)));
    // Another program gives ways of ours to another group.
    let theirs = host.root.join("sys/fs/resctrl/pod/schemata");
    std::fs::write(&theirs, "L3:0=fff\n").unwrap();
    assert_eq!(lost(&host, &plan).unwrap(), "/sys/fs/resctrl/pod has ways of it too");
    assert_eq!(stray(&host).unwrap(), CachePlan { caches: plan.caches.clone(), ..plan.clone() });
    assert_eq!(remove(&host, &plan), CacheReturn::default());
    assert_eq!(host.read(ROOT_SCHEMATA).unwrap(), "    L3:0=fff\n    MB:0=100");
    assert_eq!(host.read("sys/fs/resctrl/cpus_list").unwrap(), "0-3");
}

#[test]
fn a_refusal_of_the_kernel_is_explained_and_undone() {
    let (_directory, host) = machine("");
    let plan = plan(&host, &[2, 3], 50.0).unwrap();
    // Meanwhile another program makes a group that shares its ways with nobody.
    for (file, text) in [("schemata", "L3:0=3\n"), ("mode", "exclusive\n"), ("cpus_list", "\n")] {
        let path = host.root.join(format!("sys/fs/resctrl/rt/{file}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let why = make(&host, &plan).unwrap_err();
    assert!(
        why.contains("cannot give ways to the group") && why.contains("Overlaps with exclusive"),
        "{why}"
    );
    assert_eq!(remove(&host, &plan), CacheReturn::default());
    assert!(!host.exists(OURS));
}

#[test]
fn a_mask_that_somebody_else_has_changed_is_left_alone() {
    let (_directory, host) = machine("");
    let plan = plan(&host, &[2, 3], 50.0).unwrap();
    make(&host, &plan).unwrap();
    std::fs::write(host.root.join(ROOT_SCHEMATA), "L3:0=ff0\n").unwrap();
    let found = remove(&host, &plan);
    let (path, now, old) = (ROOT_SCHEMATA.into(), "L3:0=ff0".into(), "L3:0=fff".into());
    assert_eq!(found.foreign, [Foreign { path, now, old }]);
    assert_eq!(host.read(ROOT_SCHEMATA).unwrap(), "L3:0=ff0");
}

#[test]
fn monitors_are_those_of_the_caches_of_the_cpus() {
    let more = format!("{OTHERS}sys/fs/resctrl/pod/mon_data/mon_L3_00/mbm_total_bytes = 5\n");
    let (_directory, host) = machine(&more);
    let plan = plan(&host, &[2, 3], 25.0).unwrap();
    make(&host, &plan).unwrap();
    let found = monitors(&host, &in_force(&host, &plan).unwrap());
    assert_eq!(found.occupancy, ["sys/fs/resctrl/stillwell/mon_data/mon_L3_00/llc_occupancy"]);
    assert_eq!(found.traffic.len(), 1);
    let others = ["", "pod/"]
        .map(|group| format!("sys/fs/resctrl/{group}mon_data/mon_L3_00/mbm_total_bytes"));
    assert_eq!(found.others_traffic, others);
}
