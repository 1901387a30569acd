//! Makes and removes shields in a directory that behaves like the kernel. `host/tests/faults` does it with a fault at
//! every call.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::collections::BTreeMap;

use super::*;
use crate::fixture::expand;
use crate::journal::Store;
use crate::restore::take_down;
use crate::shield::fake::set;
use crate::shielding::put_in_force;

const CPUS: &str = "sys/devices/system/cpu/online = 0-3\n\
                    sys/devices/system/cpu/cpu{0-1}/topology/core_cpus_list = 0-1\n\
                    sys/devices/system/cpu/cpu{2-3}/topology/core_cpus_list = 2-3\n\
                    proc/sys/kernel/random/boot_id = 5a1c\n\
                    proc/sys/kernel/osrelease = 6.12.1\n\
                    proc/77/task/77/stat = 77 (a b) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n\
                    proc/77/task/77/status = Cpus_allowed_list:\\t0-3\n";
const V2: &str = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                  sys/fs/cgroup/cgroup.controllers = cpuset cpu\n\
                  sys/fs/cgroup/cgroup.subtree_control = cpu\n\
                  sys/fs/cgroup/cgroup.procs = 77\n\
                  sys/fs/cgroup/cpuset.cpus.effective = 0-1\n\
                  sys/fs/cgroup/docker/cpuset.cpus =\n";
const V1: &str = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  sys/fs/cgroup/cpuset/release_agent =\n\
                  sys/fs/cgroup/cpuset/cpuset.cpus = 0-3\n\
                  sys/fs/cgroup/cpuset/cpuset.mems = 0\n\
                  sys/fs/cgroup/cpuset/tasks = 77\n\
                  sys/fs/cgroup/cpuset/cgroup.procs =\n\
                  sys/fs/cgroup/cpuset/docker/cpuset.cpus = 0-3\n";

fn machine(files: &str) -> (tempfile::TempDir, Host) {
    expand(&format!("{CPUS}{files}"))
}

/// Reads every file except the journal's lock.
fn files(host: &Host) -> BTreeMap<String, String> {
    fn walk(
        directory: &std::path::Path,
        root: &std::path::Path,
        out: &mut BTreeMap<String, String>,
    ) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, root, out);
            } else if entry.file_name() != "lock" {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                out.insert(name, std::fs::read_to_string(&path).unwrap().trim().to_owned());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(&host.root, &host.root, &mut out);
    out
}

fn open(host: &Host) -> Store {
    // A child of another test may hold a copy of our lock until it calls exec.
    (0..1000).find_map(|_| Store::open(host).ok()).expect("the lock is free")
}

fn shield(host: &Host) -> (ShieldPlan, Isolation) {
    let mut store = open(host);
    store.begin(host, false, 0, 0).unwrap();
    let placement = place(host, None, &[]).unwrap();
    let request = ShieldRequest { cpus: None, balanced: false, hidden_siblings: Vec::new() };
    put_in_force(host, &mut store, &placement, Vec::new(), &request).unwrap()
}

#[test]
fn a_partition_is_made_and_taken_away() {
    let (_directory, host) = machine(V2);
    let before = files(&host);
    let (raised, isolation) = shield(&host);
    assert_eq!(raised.how, ShieldKind::Partition);
    assert_eq!((isolation.cpus.as_str(), isolation.bound.as_str()), ("2-3", "2"));
    assert_eq!(isolation.partition.as_deref(), Some("isolated"));
    assert_eq!((isolation.others.as_deref(), isolation.n_tasks_left), (Some("0-1"), 1));
    assert_eq!(host.read("sys/fs/cgroup/stillwell/cpuset.cpus").unwrap(), "2-3");
    enter(&host, &raised, 77).unwrap();
    assert_eq!(host.read("sys/fs/cgroup/stillwell/cgroup.procs").unwrap(), "77");
    let watch = Watch::new(&host, &isolation).unwrap();
    assert_eq!(watch.lost(), None);
    set(&host, "sys/fs/cgroup/stillwell/cpuset.cpus.partition", "isolated invalid");
    assert!(watch.lost().unwrap().contains("is \"isolated invalid\""));
    let restored = take_down(&host, &mut open(&host));
    assert!(restored.is_complete() && restored.lowered.is_some(), "{restored:?}");
    assert_eq!(files(&host), before);
}

/// The write succeeds, but the kernel makes no partition.
#[test]
fn a_refused_partition_leaves_nothing_and_is_explained() {
    let (_directory, host) = machine(V2);
    set(&host, "refuses", "partition is nocpu due to overlap");
    let before = files(&host);
    let (raised, isolation) = shield(&host);
    assert_eq!(raised.how, ShieldKind::Affinity);
    let note = isolation.notes.join("\n");
    assert!(note.contains("isolated invalid (partition is nocpu due to overlap)"), "{note}");
    take_down(&host, &mut open(&host));
    assert_eq!(files(&host), before);
}

/// A write to a group beside a partition makes the partition invalid. So nothing is written, and a partition that an
/// attempt broke all the same is made valid again.
#[test]
fn a_partition_of_somebody_else_stays_valid() {
    let (_directory, host) = machine(V2);
    let theirs = "sys/fs/cgroup/rt/inner";
    std::fs::create_dir_all(host.root.join(theirs)).unwrap();
    for (file, value) in [("cpuset.cpus", "3"), ("cpuset.cpus.partition", "isolated")] {
        set(&host, &format!("{theirs}/{file}"), value);
        set(&host, &format!("sys/fs/cgroup/rt/{file}"), "");
    }
    let before = files(&host);
    // The first write of a shield switches the controller on, and would need this directory.
    let control = host.root.join("sys/fs/cgroup/cgroup.subtree_control");
    std::fs::remove_file(&control).unwrap();
    let (raised, isolation) = shield(&host);
    assert_eq!(raised.how, ShieldKind::Affinity);
    let note = isolation.notes.join("\n");
    assert!(note.contains("/sys/fs/cgroup/rt/inner also has them"), "{note}");
    take_down(&host, &mut open(&host));
    set(&host, "sys/fs/cgroup/cgroup.subtree_control", "cpu");
    assert_eq!(files(&host), before);
    set(&host, &format!("{theirs}/cpuset.cpus"), "0");
    shield(&host);
    set(
        &host,
        &format!("{theirs}/cpuset.cpus.partition"),
        "isolated invalid (Parent is not a partition root)",
    );
    take_down(&host, &mut open(&host));
    set(&host, &format!("{theirs}/cpuset.cpus"), "3");
    assert_eq!(files(&host), before);
}

#[test]
fn a_set_beside_it_that_has_the_cpus_is_named() {
    let (_directory, host) = machine(V2);
    let before = files(&host);
    set(&host, "sys/fs/cgroup/docker/cpuset.cpus", "2");
    set(&host, "sys/fs/cgroup/cgroup.subtree_control", "cpu cpuset");
    let (raised, isolation) = shield(&host);
    assert_eq!(raised.how, ShieldKind::Affinity);
    let note = isolation.notes.join("\n");
    for part in [
        "no partition of CPUs 2-3 was tried: /sys/fs/cgroup/docker also has them; choose other CPUs",
        "CPUs 2-3 are not kept free: commands are bound to CPU 2",
    ] {
        assert!(note.contains(part), "{note}");
    }
    assert!(!host.exists("sys/fs/cgroup/stillwell"));
    take_down(&host, &mut open(&host));
    set(&host, "sys/fs/cgroup/docker/cpuset.cpus", "");
    set(&host, "sys/fs/cgroup/cgroup.subtree_control", "cpu");
    assert_eq!(files(&host), before);
}

#[test]
fn sets_of_version_1_take_the_tasks_of_the_root() {
    let (_directory, host) = machine(V1);
    let before = files(&host);
    let (raised, isolation) = shield(&host);
    assert_eq!(raised.how, ShieldKind::Cpusets);
    assert_eq!(host.read("sys/fs/cgroup/cpuset/stillwell-system/tasks").unwrap(), "77");
    assert_eq!(host.read("sys/fs/cgroup/cpuset/stillwell-system/cpuset.cpus").unwrap(), "0-1");
    assert_eq!(isolation.others.as_deref(), Some("0-1"));
    let restored = take_down(&host, &mut open(&host));
    assert!(restored.is_complete(), "{restored:?}");
    assert_eq!(files(&host), before);
}
