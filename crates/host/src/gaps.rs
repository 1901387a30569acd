//! Finds this machine's gaps that affect the reading of a timing.

use crate::mounts::Mount;
use crate::{Facts, Gap, Host};
use model::prose::{Prose, prose};
use model::values::parse_cpu_list;

/// Bits of capabilities(7), linux/capability.h.
const CAP_SYS_PTRACE: u32 = 19;

/// The gaps, the most harmful first.
pub(super) fn find(host: &Host, mounts: &[Mount], facts: &Facts) -> Vec<Gap> {
    let Some(status) = host.read("proc/self/status") else {
        // The other checks need /proc.
        return vec![gap(
            "the state of the machine",
            "/proc cannot be read",
            "mount it with `mount -t proc proc /proc`",
        )];
    };
    let gaps = [
        cpufreq(host, facts),
        clock(facts),
        bandwidth(facts),
        one_cpu(facts),
        hidden_processes(mounts, &status),
    ];
    gaps.into_iter().flatten().collect()
}

fn gap(what: &str, why: impl Into<String>, fix: impl Into<Prose>) -> Gap {
    Gap { what: what.to_owned(), why: why.into(), fix: fix.into() }
}

/// The value of a line `name:\tvalue` of proc_pid_status(5).
pub(super) fn status_value<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn is_capable(status: &str, capability: u32) -> bool {
    let set = status_value(status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    set.is_some_and(|set| set >> capability & 1 == 1)
}

fn cpufreq(host: &Host, facts: &Facts) -> Option<Gap> {
    if facts.scaling_driver.is_some() || !facts.governors.is_empty() {
        return None;
    }
    let what = "governor and turbo";
    if !host.exists("sys/devices/system/cpu") {
        return Some(gap(what, "/sys is not mounted", "mount it with `mount -t sysfs sysfs /sys`"));
    }
    match &facts.virtualisation {
        Some(kind) => Some(gap(
            what,
            format!("the hypervisor ({kind}) sets the CPU frequency and does not show it"),
            "compare only what was measured in one session, or measure on bare metal",
        )),
        None => Some(gap(
            what,
            "the kernel shows no cpufreq",
            "load a cpufreq driver or turn off firmware control of the frequency, and until then compare only what was \
             measured in one session",
        )),
    }
}

/// Clock sources that are slow to read (about a microsecond, by a device access or a trap), or that only count ticks.
/// Programs read all others in user space in about 30 ns.
pub(super) const SLOW_CLOCK_SOURCES: &[&str] =
    &["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr"];

fn clock(facts: &Facts) -> Option<Gap> {
    let source =
        facts.clock_source.as_deref().filter(|source| SLOW_CLOCK_SOURCES.contains(source))?;
    Some(gap(
        "a fast clock",
        format!(
            "the kernel's clock source is {source}, so each look at the clock is slow or coarse"
        ),
        "find in dmesg why the usual one (tsc on x86) was given up, often a firmware setting, or boot with tsc=reliable",
    ))
}

/// A limit does not throttle if the CPUs of this process cannot reach it.
fn bandwidth(facts: &Facts) -> Option<Gap> {
    let limit = facts.cgroup.as_ref()?.cpu_max.as_deref()?;
    let (quota_us, period_us) = limit.split_once(' ')?;
    let (quota_us, period_us): (u64, u64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    let n_allowed = facts
        .cpus_allowed
        .as_deref()
        .and_then(|list| parse_cpu_list(list).ok())
        .map(|cpus| cpus.len());
    if n_allowed.is_some_and(|n| quota_us >= period_us.saturating_mul(n as u64)) {
        return None;
    }
    Some(gap(
        "CPU time without pauses",
        format!(
            "the cgroup may use {quota_us} µs of CPU time in each {period_us} µs, and the kernel stops it for the rest \
             of the period when that is used up"
        ),
        "measure without the limit (systemd: CPUQuota=, docker: --cpus, kubernetes: limits.cpu)",
    ))
}

fn one_cpu(facts: &Facts) -> Option<Gap> {
    let allowed = facts.cpus_allowed.as_deref()?;
    if parse_cpu_list(allowed).ok()?.len() != 1 {
        return None;
    }
    let (why, fix) = if facts.topology.as_ref().is_some_and(|topology| topology.n_cpus == 1) {
        ("the machine has one CPU".to_owned(), "use a machine with two or more".into())
    } else {
        (
            format!("this process may use CPU {allowed} only"),
            prose!["start it with two or more and leave the choice to " Affinity],
        )
    };
    Some(gap(
        "a CPU for the benchmark alone",
        format!("{why}, which stillwell itself needs too"),
        fix,
    ))
}

/// Finds a /proc that hides other processes (proc(5), "Mount options"). Linux 5.8 replaced the numbers by names.
fn hidden_processes(mounts: &[Mount], status: &str) -> Option<Gap> {
    let proc = mounts.iter().rfind(|mount| mount.point == "/proc" && mount.fs_type == "proc")?;
    let mode = proc.option("hidepid").filter(|mode| !matches!(*mode, "0" | "off"))?;
    let groups = ["Gid", "Groups"].iter().filter_map(|name| status_value(status, name));
    let mut groups = groups.flat_map(str::split_ascii_whitespace);
    let is_member = proc.option("gid").is_some_and(|exempt| groups.any(|group| group == exempt));
    if is_member || is_capable(status, CAP_SYS_PTRACE) {
        return None;
    }
    Some(gap(
        "the processes of other users",
        format!("/proc is mounted with hidepid={mode}"),
        "run `sudo mount -o remount,hidepid=0 /proc`, or join the group of its option gid=",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cgroup, mounts};

    /// A machine without gaps, seen by a user without privileges.
    fn good() -> Facts {
        Facts {
            scaling_driver: Some("intel_pstate".to_owned()),
            clock_source: Some("tsc".to_owned()),
            cpus_allowed: Some("0-3".to_owned()),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        }
    }

    const USER: &str = "proc/self/status = Name:\\tx\\nGid:\\t1000\\t1000\\nGroups:\\t27 995\\nCapEff:\\t0000000000000000\n";
    const ROOT: &str = "proc/self/status = Name:\\tx\\nCapEff:\\t000001ffffffffff\n";

    /// `expect`: the `what` and `why` of each gap.
    #[track_caller]
    fn check(files: &str, facts: &Facts, expect: &[(&str, &str)]) {
        let (_directory, host) = crate::fixture::expand(files);
        let gaps = find(&host, &mounts::read(&host), facts);
        let found: Vec<_> = gaps.iter().map(|gap| (gap.what.as_str(), gap.why.as_str())).collect();
        assert_eq!(found, expect, "{files}{facts:?}");
        let mut fixes = gaps.iter().map(|gap| gap.fix.to_string());
        assert!(fixes.all(|fix| !fix.is_empty() && !fix.ends_with('.')), "{gaps:?}");
    }

    #[test]
    fn a_good_machine_has_none() {
        check(USER, &good(), &[]);
        check("", &good(), &[("the state of the machine", "/proc cannot be read")]);
    }

    #[test]
    fn frequency() {
        let none = Facts { scaling_driver: None, ..good() };
        check(USER, &none, &[("governor and turbo", "/sys is not mounted")]);
        let files = format!("{USER}sys/devices/system/cpu/online = 0-3\n");
        check(&files, &none, &[("governor and turbo", "the kernel shows no cpufreq")]);
        let guest = Facts { virtualisation: Some("kvm".to_owned()), ..none };
        let why = "the hypervisor (kvm) sets the CPU frequency and does not show it";
        check(&files, &guest, &[("governor and turbo", why)]);
    }

    #[test]
    fn clocks() {
        let with = |source: &str| Facts { clock_source: Some(source.to_owned()), ..good() };
        for source in ["arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "tsc-early"]
        {
            check(USER, &with(source), &[]);
        }
        for source in ["hpet", "acpi_pm", "jiffies"] {
            let why = format!(
                "the kernel's clock source is {source}, so each look at the clock is slow or coarse"
            );
            check(USER, &with(source), &[("a fast clock", &why)]);
        }
    }

    #[test]
    fn cpu_bandwidth() {
        let with = |limit: &str| Facts {
            cgroup: Some(Cgroup {
                version: 2,
                path: "/".to_owned(),
                cpu_max: Some(limit.to_owned()),
                memory_max_bytes: None,
            }),
            ..good()
        };
        let why = "the cgroup may use 150000 µs of CPU time in each 100000 µs, and the kernel stops it for the rest of \
                   the period when that is used up";
        check(USER, &with("150000 100000"), &[("CPU time without pauses", why)]);
        // Four CPUs cannot use more than four times the period.
        check(USER, &with("400000 100000"), &[]);
    }

    #[test]
    fn cpus_allowed() {
        let one = Facts { cpus_allowed: Some("3".to_owned()), ..good() };
        let why = "this process may use CPU 3 only, which stillwell itself needs too";
        check(USER, &one, &[("a CPU for the benchmark alone", why)]);
    }

    #[test]
    fn processes_hidden() {
        let mount = |options| {
            format!("proc/self/mountinfo = 22 27 0:21 / /proc rw - proc proc {options}\n")
        };
        let what = "the processes of other users";
        let hidden = format!("{USER}{}", mount("rw,gid=7,hidepid=invisible"));
        check(&hidden, &good(), &[(what, "/proc is mounted with hidepid=invisible")]);
        check(
            &format!("{USER}{}", mount("rw,hidepid=2")),
            &good(),
            &[(what, "/proc is mounted with hidepid=2")],
        );
        check(&format!("{USER}{}", mount("rw,gid=995,hidepid=2")), &good(), &[]);
        check(&format!("{ROOT}{}", mount("rw,hidepid=2")), &good(), &[]);
        check(&format!("{USER}{}", mount("rw")), &good(), &[]);
    }
}
