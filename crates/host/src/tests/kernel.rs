//! An imitation of the kernel for captured machines: it changes the files that depend on a write. Its own state is in
//! files below `fake`, so the tests compare that too when they check a restored machine.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::io;
use std::path::Path;

use crate::knobs::Format;
use crate::value_format::parse_cpu_mask;
use crate::{Host, cpu};
use model::values::{format_cpu_list, parse_cpu_list};

const CPU: &str = "sys/devices/system/cpu";
/// The value of `min_perf_pct` without turbo: the base frequency in percent of the turbo frequency.
const BASE_PCT: u64 = 66;

/// Gives this kernel to a machine.
pub(super) fn with_kernel(mut host: Host) -> Host {
    for policy in cpu::policies(&host) {
        for name in ["scaling_min_freq", "scaling_max_freq"] {
            if let Some(khz) = host.read(format!("{policy}/{name}"))
                && !host.exists(request(&policy, name))
            {
                put(&host, &request(&policy, name), &khz);
            }
        }
        // A captured machine may show values that this kernel would not show.
        put_limits_in_force(&host, &policy);
    }
    host.kernel = Some(answer);
    host
}

/// The limit that the user set. The file of the policy shows the limit in force.
fn request(policy: &str, name: &str) -> String {
    let number = policy.rsplit('/').next().unwrap();
    format!("fake/{number}-{name}")
}

fn put(host: &Host, path: &str, value: &str) {
    let path = host.root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{}\n", value.trim_end())).unwrap();
}

fn errno(number: i32) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(number))
}

/// Accepts a limit of the frequency, which comes into force with [`take_effect`].
pub(super) fn answer_without_effect(
    host: &Host,
    format: Format,
    path: &str,
    value: &str,
) -> io::Result<()> {
    match path.rsplit_once('/').expect("it is in a directory") {
        (policy, name @ ("scaling_min_freq" | "scaling_max_freq")) => {
            put(host, &request(policy, name), value);
            Ok(())
        }
        _ => answer(host, format, path, value),
    }
}

/// Runs the kernel's work queue.
pub(super) fn take_effect(host: &Host) {
    cpu::policies(host).iter().for_each(|policy| put_limits_in_force(host, policy));
}

/// Answers a write as the kernel does.
pub(super) fn answer(host: &Host, format: Format, path: &str, value: &str) -> io::Result<()> {
    let value = value.trim_end();
    let (directory, name) = path.rsplit_once('/').unwrap();
    match format {
        Format::Affinity => return set_affinity(host, path, &parse_cpu_list(value).unwrap()),
        Format::Unit => return switch_unit(host, path, value),
        Format::Timer => {
            let unit = path.rsplit('/').next().unwrap();
            put(host, &format!("fake/systemctl/is-active -- {unit}"), value);
            return Ok(());
        }
        _ => {}
    }
    if !host.exists(path) {
        return errno(libc::ENOENT);
    }
    match name {
        "scaling_governor" => {
            switch_tunables(host, directory, value);
            let energy = format!("{directory}/energy_performance_preference");
            if host.exists(&energy) {
                // After performance the kernel sets a default, not the user's earlier value.
                let default = if value == "performance" { value } else { "default" };
                put(host, &energy, default);
            }
        }
        "energy_performance_preference" => {
            let governor = host.read(format!("{directory}/scaling_governor"));
            if governor.as_deref() == Some("performance") && value != "performance" {
                return errno(libc::EBUSY);
            }
        }
        "boost" if path == format!("{CPU}/cpufreq/boost") => {
            for policy in cpu::policies(host) {
                if host.exists(format!("{policy}/boost")) {
                    put(host, &format!("{policy}/boost"), value);
                }
            }
        }
        "boost" => {
            let global = host.read(format!("{CPU}/cpufreq/boost"));
            if global.as_deref() == Some("0") && value == "1" {
                return errno(libc::EINVAL);
            }
        }
        "no_turbo" if value == "1" => {
            let path = format!("{CPU}/intel_pstate/min_perf_pct");
            if let Some(pct) = host.read_value::<u64>(&path) {
                put(host, &path, &pct.min(BASE_PCT).to_string());
            }
        }
        "scaling_min_freq" | "scaling_max_freq" => put(host, &request(directory, name), value),
        "energy_perf_bias" => share_with_siblings(host, path, value),
        "smp_affinity_list" => check_affinity(host, path, &parse_cpu_list(value).unwrap())?,
        "default_smp_affinity" => check_affinity(host, path, &parse_cpu_mask(value).unwrap())?,
        "online" => switch_cpu(host, directory, value),
        "cpumask" if host.exists(format!("{path}_requested")) => {
            put(host, &format!("{path}_requested"), value);
        }
        _ => {}
    }
    put(host, path, value);
    match name {
        "no_turbo" | "boost" => {
            cpu::policies(host).iter().for_each(|policy| put_limits_in_force(host, policy));
        }
        "scaling_min_freq" | "scaling_max_freq" => put_limits_in_force(host, directory),
        _ => {}
    }
    Ok(())
}

/// The settings of a governor vanish with it, and come back with the kernel's defaults.
fn switch_tunables(host: &Host, policy: &str, governor: &str) {
    let old = host.read(format!("{policy}/scaling_governor")).unwrap();
    if old == governor {
        return;
    }
    let away = |name: &str| format!("fake/{}-{name}", policy.rsplit('/').next().unwrap());
    let rename = |from: String, to: String| {
        std::fs::create_dir_all(host.root.join("fake")).unwrap();
        std::fs::rename(host.root.join(from), host.root.join(to)).ok();
    };
    rename(format!("{policy}/{old}"), away(&old));
    rename(away(governor), format!("{policy}/{governor}"));
    for file in host.list(format!("{policy}/{governor}")) {
        put(host, &format!("{policy}/{governor}/{file}"), "1000");
    }
}

fn switch_unit(host: &Host, path: &str, value: &str) -> io::Result<()> {
    let procs = format!("{path}/cgroup.procs");
    let (from, to) = match value {
        "active" => (format!("fake/{path}"), procs),
        _ => (procs, format!("fake/{path}")),
    };
    let (from, to) = (host.root.join(from), host.root.join(to));
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::rename(from, to)
}

/// Shows the user's limits in a policy, lowered to the maximum that turbo allows.
fn put_limits_in_force(host: &Host, policy: &str) {
    let read = |path: String| host.read_value::<u64>(path);
    let no_turbo = host.read(format!("{CPU}/intel_pstate/no_turbo"));
    let boost = host.read(format!("{CPU}/cpufreq/boost"));
    let is_off = no_turbo.as_deref() == Some("1") || boost.as_deref() == Some("0");
    let base = read(format!("{policy}/base_frequency")).filter(|_| is_off);
    let asked = |name| read(request(policy, name));
    let (Some(min), Some(max)) = (asked("scaling_min_freq"), asked("scaling_max_freq")) else {
        return;
    };
    let max = max.min(base.unwrap_or(u64::MAX));
    put(host, &format!("{policy}/scaling_max_freq"), &max.to_string());
    put(host, &format!("{policy}/scaling_min_freq"), &min.min(max).to_string());
}

/// Refuses to move an interrupt with a file `fixed` in its directory: EPERM since Linux 6.12.
fn check_affinity(host: &Host, path: &str, cpus: &[usize]) -> io::Result<()> {
    let fixed = path.replace("smp_affinity_list", "fixed");
    if fixed != path && host.exists(fixed) {
        return errno(libc::EPERM);
    }
    let online = online(host);
    if cpus.iter().any(|cpu| online.contains(cpu)) { Ok(()) } else { errno(libc::EINVAL) }
}

/// Imitates sched_setaffinity(2). A thread with a file `fixed` in its directory is bound to a CPU, although its flags
/// did not say so when Stillwell read them.
fn set_affinity(host: &Host, path: &str, cpus: &[usize]) -> io::Result<()> {
    if !host.exists(path) {
        return errno(libc::ESRCH);
    }
    if host.exists(path.replace("/status", "/fixed")) {
        return errno(libc::EINVAL);
    }
    let status = host.read(path).unwrap();
    let lines = status.lines().map(|line| match line.split_once(":\t") {
        Some((name @ "Cpus_allowed_list", _)) => format!("{name}:\t{}", format_cpu_list(cpus)),
        _ => line.to_owned(),
    });
    put(host, path, &lines.collect::<Vec<_>>().join("\n"));
    Ok(())
}

/// Answers like a kernel before Linux 6.2, which reduced a mask to the online CPUs.
pub(super) fn answer_as_before_6_2(
    host: &Host,
    format: Format,
    path: &str,
    value: &str,
) -> io::Result<()> {
    if format != Format::Affinity {
        return answer(host, format, path, value);
    }
    let mut cpus = parse_cpu_list(value.trim_end()).unwrap();
    cpus.retain(|cpu| online(host).contains(cpu));
    answer(host, format, path, &format_cpu_list(&cpus))
}

/// Copies a value to the siblings, because threads of a core or all CPUs of a package may share one register.
fn share_with_siblings(host: &Host, path: &str, value: &str) {
    let cpu = path.strip_suffix("/power/energy_perf_bias").unwrap();
    let siblings = host.read(format!("{cpu}/topology/thread_siblings_list")).unwrap();
    for sibling in parse_cpu_list(&siblings).unwrap() {
        let path = format!("{CPU}/cpu{sibling}/power/energy_perf_bias");
        // The file is missing while its CPU is offline.
        if host.exists(&path) {
            put(host, &path, value);
        }
    }
}

fn online(host: &Host) -> Vec<usize> {
    parse_cpu_list(&host.read(format!("{CPU}/online")).unwrap()).unwrap()
}

/// Switches a CPU and the files that vanish or come back with it.
fn switch_cpu(host: &Host, directory: &str, value: &str) {
    let cpu: usize = directory.rsplit_once("cpu").unwrap().1.parse().unwrap();
    let away = host.root.join(format!("fake/away{cpu}"));
    let mut now = online(host);
    now.retain(|other| *other != cpu);
    let parts = [
        format!("{directory}/topology"),
        format!("{directory}/power"),
        format!("{directory}/cpuidle"),
        format!("{CPU}/cpufreq/policy{cpu}"),
    ];
    for (index, part) in parts.iter().enumerate() {
        let (here, there) = (host.root.join(part), away.join(index.to_string()));
        let (from, to) = if value == "0" { (&here, &there) } else { (&there, &here) };
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(from, to).ok();
    }
    if value == "1" {
        now.push(cpu);
        std::fs::remove_dir_all(&away).ok();
    }
    put(host, &format!("{CPU}/online"), &format_cpu_list(&now));
    take_from_sets(host, cpu, value);
    if value == "0" {
        move_interrupts(host, &now);
    } else {
        // See `kswapd_cpu_online()` in mm/vmscan.c.
        set_affinity(host, "proc/40/status", &now).ok();
    }
}

/// Version 1: the root has all online CPUs, and a set loses a CPU for good.
fn take_from_sets(host: &Host, cpu: usize, value: &str) {
    let point = "sys/fs/cgroup/cpuset";
    if !host.exists(point) {
        return;
    }
    put(host, &format!("{point}/cpuset.cpus"), &format_cpu_list(&online(host)));
    for group in host.list(point) {
        let path = format!("{point}/{group}/cpuset.cpus");
        if let (Some(cpus), "0") = (host.read(&path), value) {
            let mut cpus = parse_cpu_list(&cpus).unwrap_or_default();
            cpus.retain(|other| *other != cpu);
            put(host, &path, &format_cpu_list(&cpus));
        }
    }
}

/// Moves an interrupt to all online CPUs if none of its CPUs is online. It does not move back later.
fn move_interrupts(host: &Host, online: &[usize]) {
    for irq in host.list("proc/irq") {
        let path = format!("proc/irq/{irq}/smp_affinity_list");
        let cpus = host.read(&path).and_then(|list| parse_cpu_list(&list).ok());
        if cpus.is_some_and(|cpus| !cpus.iter().any(|cpu| online.contains(cpu))) {
            put(host, &path, &format_cpu_list(online));
        }
    }
}

/// Reads all files of a machine except the journal's.
pub(super) fn files(root: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            // Asked of the entry, which costs no call. Links lead to directories of devices.
            let kind = entry.file_type().unwrap();
            if kind.is_dir() || (kind.is_symlink() && path.is_dir()) {
                if relative != "run/stillwell" {
                    directories.push(path);
                }
            } else {
                found.insert(relative, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}
