//! Control groups in a directory that behaves like the kernel, for tests.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::io;

use crate::Host;
use crate::shield::{SERVICE, SLICE};
use model::values::{format_cpu_list, read_cpu_list};

const POINT: &str = "sys/fs/cgroup";

/// Files that the kernel shows in a new group.
const FILES: &[(&str, &str)] = &[
    ("cgroup.procs", ""),
    ("tasks", ""),
    ("cpuset.cpus", ""),
    ("cpuset.mems", ""),
    ("cpuset.cpu_exclusive", "0"),
    ("cpuset.cpus.exclusive", ""),
    ("cpuset.cpus.partition", "member"),
];

pub(super) fn set(host: &Host, path: &str, text: &str) {
    std::fs::write(host.root.join(path), format!("{text}\n")).unwrap();
}

pub(super) fn fake_group(host: &Host, path: &str) {
    for (file, value) in FILES {
        set(host, &format!("{path}/{file}"), value);
    }
}

/// Removes a group, unless a task is in it.
pub(super) fn fake_remove(host: &Host, path: &str) -> io::Result<()> {
    let has = |file: &str| host.read(format!("{path}/{file}")).is_some_and(|text| !text.is_empty());
    if has("tasks") || has("cgroup.procs") {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    if host.read(format!("{path}/cpuset.cpus.partition")).is_some_and(|kind| kind != "member") {
        forget_masks(host, &[]);
    }
    match std::fs::remove_dir_all(host.root.join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Writes a file as the kernel does: tasks move between groups, and the controller switch adds and removes. If the file
/// `refuses` exists, the write of a partition succeeds but the partition is invalid.
pub(super) fn fake_write(host: &Host, path: &str, value: &str) -> io::Result<()> {
    let (group, file) = path.rsplit_once('/').unwrap();
    if !host.exists(path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    match file {
        "tasks" | "cgroup.procs" => {
            let (parent, _) = group.rsplit_once('/').unwrap();
            let mut groups = vec![parent.to_owned(), group.to_owned()];
            groups.extend(super::OURS.iter().map(|name| format!("{group}/{name}")));
            groups.extend(super::OURS.iter().map(|name| format!("{parent}/{name}")));
            for other in groups {
                let path = format!("{other}/{file}");
                let Some(text) = host.read(&path) else { continue };
                let left: Vec<&str> = text.lines().filter(|line| *line != value).collect();
                set(host, &path, &left.join("\n"));
            }
            let mut now = host.read(path).unwrap_or_default();
            now = [now.as_str(), value].join("\n");
            set(host, path, now.trim());
            if let Some(cpus) =
                host.read(format!("{group}/cpuset.cpus")).filter(|_| file == "tasks")
            {
                show_mask(host, value, &cpus);
            }
        }
        "cgroup.subtree_control" => {
            let now = host.read(path).unwrap_or_default();
            let (sign, name) = value.split_at(1);
            let mut names: Vec<&str> = now.split_whitespace().filter(|n| *n != name).collect();
            if sign == "+" {
                names.push(name);
            }
            set(host, path, &names.join(" "));
        }
        "cpuset.cpus.partition" if host.exists("refuses") && value != "member" => {
            set(host, path, &format!("{value} invalid ({})", host.read("refuses").unwrap()));
        }
        "cpuset.cpus.partition" => {
            set(host, path, value);
            let cpus = host.read(format!("{group}/cpuset.cpus")).unwrap_or_default();
            let cpus = if value == "member" { Vec::new() } else { read_cpu_list(&cpus).unwrap() };
            forget_masks(host, &cpus);
        }
        _ => set(host, path, value),
    }
    Ok(())
}

/// Before Linux 6.2 a partition that begins or ends gives every other task all CPUs of its set.
fn forget_masks(host: &Host, without: &[usize]) {
    if !host.exists("forgets-masks") {
        return;
    }
    let mut cpus = read_cpu_list(&host.read("sys/devices/system/cpu/online").unwrap()).unwrap();
    cpus.retain(|cpu| !without.contains(cpu));
    for tid in host.list("proc") {
        show_mask(host, &tid, &format_cpu_list(&cpus));
    }
}

fn show_mask(host: &Host, tid: &str, cpus: &str) {
    let path = format!("proc/{tid}/task/{tid}/status");
    if host.exists(&path) {
        set(host, &path, &format!("Cpus_allowed_list:\t{cpus}"));
    }
}

/// sched_setaffinity(2).
pub(super) fn fake_bind(host: &Host, tid: i32, cpus: &[usize]) -> io::Result<()> {
    show_mask(host, &tid.to_string(), &format_cpu_list(cpus));
    Ok(())
}

/// Imitates systemd: the groups of its slice and service exist while they are active.
pub(super) fn fake_systemd(host: &Host, program: &str, words: &[&str]) -> Result<(), String> {
    let groups =
        [(SLICE, format!("{POINT}/{SLICE}")), (SERVICE, format!("{POINT}/{SLICE}/{SERVICE}"))];
    if program == "systemd-run" {
        for (_, path) in &groups {
            std::fs::create_dir_all(host.root.join(path)).unwrap();
            fake_group(host, path);
        }
        return Ok(());
    }
    let (_, path) = groups.iter().find(|(unit, _)| words.last() == Some(unit)).unwrap();
    let path = host.root.join(path);
    if words.contains(&"stop") && path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    if path.exists() || words.contains(&"stop") { Ok(()) } else { Err("inactive".into()) }
}
