//! Writes a machine as one text, for a bug report or as a test fixture: every file that Stillwell reads, without data
//! that identifies the machine, its disks or its owner.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::PathLog;
use crate::knobs::bench_cpus;
use crate::processes::{Process, pid_of};
use crate::{CommandLine, Host, SystemReport, boot, look, read_cpu_table, recommend};

const NAME: &str = "machine";
/// Fixtures need at most this much of a file. The longest file is /proc/interrupts of a big machine.
const BYTES_MAX: u64 = 1 << 20;

/// Reads everything that `run`, `system show` and `system boot` read. The text has the form of `tests/hosts`.
pub fn capture(host: &Host, date: &str) -> String {
    let touched = PathLog::default();
    let host = Host { touched: Some(touched.clone()), ..host.clone() };
    drop(look(&host));
    let table = read_cpu_table(&host, None);
    // Some knobs read more files when they know the CPUs of the benchmark.
    for bench in [vec![], bench_cpus(&host, None).unwrap_or_default(), recommend(&table).cpus] {
        drop(SystemReport::new(&host, bench, false, None, None));
    }
    drop(boot::BootAdvice::new(&host, &table, None, false));
    for path in ["proc/interrupts", "proc/uptime", "proc/sys/kernel/random/boot_id"] {
        touched.add(Path::new(path));
    }
    let name = host.read("proc/sys/kernel/hostname").unwrap_or_default();
    let paths = touched.paths();
    let mut text = format!("# Captured by `stillwell system capture`, {date}.\n\n");
    for path in &paths {
        text += &without_name(entry(&host, &paths, path), &name);
    }
    without_ids(&text)
}

/// Replaces IDs of containers and the like, 32 or more hexadecimal digits, by a word.
fn without_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|char: char| char.is_ascii_hexdigit()) {
        let digits = &rest[start..];
        let end = digits.find(|char: char| !char.is_ascii_hexdigit()).unwrap_or(digits.len());
        out.push_str(&rest[..start]);
        out.push_str(if end >= 32 { "ID" } else { &digits[..end] });
        rest = &digits[end..];
    }
    out + rest
}

/// Skips short names like `a`, which are parts of other words.
fn without_name(text: String, name: &str) -> String {
    if name.len() < 4 || name == NAME { text } else { text.replace(name, NAME) }
}

/// The lines of a path, if any.
fn entry(host: &Host, paths: &BTreeSet<PathBuf>, path: &Path) -> String {
    let full = host.root.join(path);
    let shown = path.display();
    if is_private(path) || !full.exists() {
        return String::new();
    }
    if full.is_dir() {
        // A path that was looked for may not exist.
        let has_more = |path: &Path| {
            let below = paths.range(path.to_owned()..).skip(1);
            below
                .take_while(|next| next.starts_with(path))
                .any(|next| host.root.join(next).exists())
        };
        let names = host.list(path).into_iter().map(|name| path.join(name));
        let empty = names.filter(|path| {
            host.root.join(path).is_dir() && !paths.contains(path) && !has_more_below(paths, path)
        });
        let mut lines: String = empty.map(|path| format!("{}/\n", path.display())).collect();
        // The file names in such a directory tell which units systemd starts.
        if shown.to_string().ends_with(".wants") {
            let names = host.list(path).into_iter();
            lines = names.map(|name| format!("{shown}/{name} =\n")).collect();
        }
        if lines.is_empty() && !has_more(path) {
            lines = format!("{shown}/\n");
        }
        return lines;
    }
    // Devices hold no text, and reading one may have side effects.
    if path.starts_with("dev") {
        return format!("{shown} =\n");
    }
    match host.read_long(path, BYTES_MAX) {
        None => format!("{shown} !\n"),
        Some(text) => {
            let text = escape(public(path, text.trim_end()).trim_end());
            format!("{}\n", format!("{shown} = {text}").trim_end())
        }
    }
}

fn has_more_below(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    paths.range(path.to_owned()..).next().is_some_and(|next| next.starts_with(path))
}

/// The user's own systemd units, and everything in a home directory.
fn is_private(path: &Path) -> bool {
    ["etc/systemd", "home", "root"].iter().any(|start| path.starts_with(start))
}

/// Removes data that identifies the machine, its disks or its owner.
fn public(path: &Path, text: &str) -> String {
    let shown = path.to_str().unwrap_or_default();
    match shown {
        "proc/sys/kernel/hostname" => NAME.to_owned(),
        "proc/sys/kernel/random/boot_id" => "00000000-0000-4000-8000-000000000000".to_owned(),
        "proc/cmdline" => CommandLine::parse(text).filtered(is_public_parameter),
        // The environment of the first process may hold anything.
        "proc/1/environ" => {
            let kept = text.split('\0').filter(|variable| variable.starts_with("container="));
            kept.collect::<Vec<_>>().join("\0")
        }
        "proc/self/mountinfo" => lines(text, |line| {
            let kernel = [" - proc ", " - sysfs ", " - cgroup ", " - cgroup2 "];
            kernel.iter().any(|kind| line.contains(kind))
        }),
        "proc/cpuinfo" => lines(text, |line| !line.to_ascii_lowercase().starts_with("serial")),
        "etc/os-release" | "usr/lib/os-release" => lines(text, |line| {
            ["PRETTY_NAME=", "ID=", "ID_LIKE="].iter().any(|key| line.starts_with(key))
        }),
        "proc/swaps" => swaps(text),
        _ if pid_of(shown).is_some() => lines(text, |line| line.starts_with("Cpus_allowed_list:")),
        _ if shown.starts_with("proc/") && shown.ends_with("/stat") => {
            Process::parse(text).map_or(String::new(), |process| process.without_names())
        }
        _ => text.to_owned(),
    }
}

fn lines(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keeps(line)).collect::<Vec<_>>().join("\n")
}

/// Replaces the first word of each line: the path of a file or a disk.
fn swaps(text: &str) -> String {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().to_owned();
    let lines = (0..).zip(lines).map(|(index, line)| {
        let rest = line.split_once(|char: char| char.is_ascii_whitespace());
        format!("/swap{index} {}", rest.map_or("", |(_, rest)| rest.trim_start()))
    });
    std::iter::once(heading).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Parameters that affect noise. Others may hold names of disks, addresses or secrets.
fn is_public_parameter(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "isolcpus",
        "nohz_full",
        "nohz",
        "rcu_nocbs",
        "rcu_nocb_poll",
        "irqaffinity",
        "nosmt",
        "mitigations",
        "skew_tick",
        "tsc",
        "clocksource",
        "idle",
        "nowatchdog",
        "nmi_watchdog",
        "nosoftlockup",
        "intel_pstate",
        "amd_pstate",
        "maxcpus",
        "nr_cpus",
        "cpuidle.off",
        "transparent_hugepage",
        "default_hugepagesz",
        "hugepages",
        "hugepagesz",
        "quiet",
        "psi",
        "preempt",
        "threadirqs",
        "kthread_cpus",
        "processor.max_cstate",
        "intel_idle.max_cstate",
        "numa_balancing",
        "systemd.unified_cgroup_hierarchy",
        "cgroup_no_v1",
        "lockdown",
        "msr.allow_writes",
        "selinux",
        "apparmor",
    ];
    NAMES.contains(&name)
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\0' => escaped.push_str("\\0"),
            char if char.is_control() && u32::from(char) < 256 => {
                escaped.push_str(&format!("\\x{:02x}", u32::from(char)));
            }
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture};
    use crate::fixture_names;

    #[test]
    fn a_captured_machine_is_the_same_machine() {
        for name in fixture_names() {
            let (_directory, host) = fixture(&name);
            let text = capture(&host, "today");
            let (_copy_directory, copy) = expand(&text);
            let report = |host: &Host| {
                let bench = recommend(&read_cpu_table(host, None)).cpus;
                let reports =
                    [vec![], bench].map(|bench| SystemReport::new(host, bench, true, None, None));
                let without_register = |report: SystemReport| {
                    serde_json::to_value(report).unwrap()["knobs"]
                        .as_array()
                        .unwrap()
                        .iter()
                        // The capture omits processor registers and some boot parameters.
                        .filter(|knob| !knob["files"].to_string().contains("/msr"))
                        .cloned()
                        .collect::<Vec<_>>()
                };
                let table = read_cpu_table(host, None);
                (reports.map(without_register), table)
            };
            let is_same = report(&host) == report(&copy);
            assert!(is_same, "{name} is another machine after\n{text}");
            assert_eq!(look(&host).facts.topology, look(&copy).facts.topology, "{name}");
            // A second capture changes nothing.
            assert_eq!(capture(&copy, "today"), text, "{name}");
        }
    }

    #[test]
    fn nothing_private_is_captured() {
        let (_directory, host) = expand(
            "proc/sys/kernel/hostname = salaries\n\
             proc/cmdline = root=UUID=9f1c-secret cryptdevice=secret isolcpus=3 password=secret quiet\n\
             proc/1/environ = TOKEN=secret\\0container=lxc\\0HOME=/secret\n\
             proc/self/cgroup = 0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n\
             sys/devices/system/cpu/smt/control = salaries\n\
             proc/self/mountinfo = 22 27 0:21 / /proc rw - proc proc rw\\n30 27 0:3 / /home/secret rw - ext4 /dev/sda rw\n\
             proc/swaps = Filename Type Size Used Priority\\n/home/secret/swap file 100 5 -2\n\
             proc/2/stat = 2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 25\n\
             proc/2/task/2/children = 60\n\
             proc/60/stat = 60 (jbd2/secret-8) S 2 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 25\n\
             proc/60/status = Name:\\tjbd2/secret-8\\nCpus_allowed_list:\\t0-3\n\
             proc/cpuinfo = processor\\t: 0\\nSerial\\t\\t: secret\n\
             etc/os-release = ID=debian\\nBUILD=secret\n\
             etc/systemd/system/timers.target.wants/secret.timer =\n\
             sys/devices/system/cpu/online = 0-3\n",
        );
        let text = capture(&host, "today");
        assert!(!text.contains("secret") && !text.contains("salaries"), "{text}");
        assert!(text.contains("proc/cmdline = isolcpus=3 quiet\n"), "{text}");
        assert!(text.contains("proc/1/environ = container=lxc\n"), "{text}");
        assert!(text.contains("proc/self/cgroup = 0::/docker/ID\n"), "{text}");
        assert!(text.contains("proc/60/status = Cpus_allowed_list:\\t0-3\n"), "{text}");
        assert!(text.contains("/swap0 file 100 5 -2\n"), "{text}");
    }
}
