//! Settings of a governor. They vanish when the last policy leaves the governor, and come back with the kernel's
//! defaults (`cpufreq_dbs_governor_exit()` in drivers/cpufreq/cpufreq_governor.c).

use crate::knobs::{File, Format, Machine, Undo};

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

const fn file(path: &'static str) -> File {
    File { path, format: Format::Number, undo: Undo::Tunables }
}

/// Drivers have them for each policy or for all. `scaling_setspeed` belongs to the governor `userspace`.
const FILES: [File; 7] = [
    file("sys/devices/system/cpu/cpufreq/ondemand/*"),
    file("sys/devices/system/cpu/cpufreq/conservative/*"),
    file("sys/devices/system/cpu/cpufreq/schedutil/*"),
    file("sys/devices/system/cpu/cpufreq/policy#/ondemand/*"),
    file("sys/devices/system/cpu/cpufreq/policy#/conservative/*"),
    file("sys/devices/system/cpu/cpufreq/policy#/schedutil/*"),
    file("sys/devices/system/cpu/cpufreq/policy#/scaling_setspeed"),
];
const GOVERNORS: &[&str] = &["ondemand", "conservative", "schedutil"];

/// The files of a knob, and of governors. `M` is `N` + 7.
pub(super) const fn with_tunables<const N: usize, const M: usize>(files: [File; N]) -> [File; M] {
    assert!(M == N + FILES.len());
    let mut all = [FILES[0]; M];
    let mut at = 0;
    while at < M {
        all[at] = if at < N { files[at] } else { FILES[at - N] };
        at += 1;
    }
    all
}

/// The settings of the governors in use.
pub(super) fn tunables(machine: &Machine<'_>) -> Vec<String> {
    let host = machine.host;
    let mut paths = Vec::new();
    for policy in &machine.policies {
        let governor = host.read(format!("{policy}/scaling_governor")).unwrap_or_default();
        if governor == "userspace" {
            paths.push(format!("{policy}/scaling_setspeed"));
        }
        if !GOVERNORS.contains(&governor.as_str()) {
            continue;
        }
        for directory in [format!("{CPUFREQ}/{governor}"), format!("{policy}/{governor}")] {
            let files = host.list(&directory).into_iter();
            paths.extend(files.map(|file| format!("{directory}/{file}")));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
