//! The control group of this process and its limits (cgroups(7)), in version 1, version 2, and "hybrid": a version 1
//! hierarchy for each controller beside an empty version 2 one.

use crate::mounts::{self, Mount};
use crate::{Cgroup, Host};

/// Reads the group and its tightest limits, up to the highest group visible from here. An ancestor's limit binds as
/// much as the group's own (Documentation/admin-guide/cgroup-v2.rst, "Top-down Constraint").
pub(super) fn read(host: &Host, mounts: &[Mount]) -> Option<Cgroup> {
    let text = host.read("proc/self/cgroup")?;
    let cpu = Membership::find(&text, "cpu");
    let memory = Membership::find(&text, "memory");
    let named = cpu.or(memory)?;
    let cpu = cpu.and_then(|cpu| {
        let directories = cpu.directories("cpu", mounts);
        let limits =
            directories.iter().filter_map(|directory| cpu_limit(host, directory, cpu.version));
        limits.min_by(|a, b| (a.0 as f64 / a.1 as f64).total_cmp(&(b.0 as f64 / b.1 as f64)))
    });
    let memory = memory.and_then(|memory| {
        let directories = memory.directories("memory", mounts);
        let limits = directories
            .iter()
            .filter_map(|directory| memory_limit(host, directory, memory.version));
        limits.min()
    });
    Some(Cgroup {
        version: named.version,
        path: named.path.to_owned(),
        cpu_max: cpu.map(|(quota_us, period_us)| format!("{quota_us} {period_us}")),
        memory_max_bytes: memory,
    })
}

/// The tightest memory limit of this process's group and its ancestors, bytes.
pub fn memory_limit_bytes(host: &Host) -> Option<u64> {
    read(host, &mounts::read(host))?.memory_max_bytes
}

/// Files that count how long a CPU quota stopped this process: of its group and of all ancestors with a quota. Paths
/// are relative to the root of the host.
pub fn quota_counts(host: &Host) -> Vec<String> {
    let Some(text) = host.read("proc/self/cgroup") else { return Vec::new() };
    let Some(cpu) = Membership::find(&text, "cpu") else { return Vec::new() };
    let directories = cpu.directories("cpu", &mounts::read(host)).into_iter();
    let limited = directories.filter(|directory| cpu_limit(host, directory, cpu.version).is_some());
    limited.map(|directory| format!("{directory}/cpu.stat")).collect()
}

/// The group that counts the memory of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    /// Version of the hierarchy.
    pub version: u8,
    /// Directory, relative to the root of the host.
    pub directory: String,
    /// The directory in which a group for the runs can be made.
    pub above: String,
}

/// The group that counts this process's memory; `None` if no such group can be made for the runs.
///
/// In version 2 a group with processes has no counting groups below, so the new one is beside it. A shield's group must
/// not be left, because it has the CPUs.
pub fn memory_group(host: &Host) -> Option<MemoryGroup> {
    let text = host.read("proc/self/cgroup")?;
    let memory = Membership::find(&text, "memory")?;
    let mut directories = memory.directories("memory", &mounts::read(host)).into_iter();
    let directory = directories.next()?;
    let above = if memory.version == 1 { directory.clone() } else { directories.next()? };
    let counts = |above: &String| {
        let controllers = host.read(format!("{above}/cgroup.subtree_control"));
        controllers.is_some_and(|it| it.split_whitespace().any(|name| name == "memory"))
    };
    let is_of_shield = directory.rsplit('/').next().is_some_and(|name| name.contains("stillwell"));
    let can_be_made = memory.version == 1 || (counts(&above) && !is_of_shield);
    can_be_made.then_some(MemoryGroup { version: memory.version, directory, above })
}

/// What to do when the kernel refuses a new process. Its answer is EAGAIN for every limit (fork(2)), but a control
/// group's limit can be read.
pub fn why_no_process(host: &Host) -> String {
    match full_group(host) {
        Some((group, max)) => {
            format!(
                "the control group /{group} has all of its {max} processes and threads (pids.max)"
            )
        }
        None => "check the limits on processes and memory (ulimit -u, ulimit -v, pids.max of the \
                 control group)"
            .into(),
    }
}

/// The nearest group that has reached its limit of processes and threads, with their number.
fn full_group(host: &Host) -> Option<(String, u64)> {
    let text = host.read("proc/self/cgroup")?;
    let groups = Membership::find(&text, "pids")?.directories("pids", &mounts::read(host));
    groups.into_iter().find_map(|group| {
        // `max` means "no limit".
        let max: u64 = host.read_value(format!("{group}/pids.max"))?;
        let now: u64 = host.read_value(format!("{group}/pids.current"))?;
        (now >= max).then_some((group, max))
    })
}

/// The group of this process for one controller.
#[derive(Clone, Copy)]
struct Membership<'a> {
    version: u8,
    path: &'a str,
}

impl<'a> Membership<'a> {
    /// Parses lines like `4:cpu,cpuacct:/path` (version 1) and `0::/path` (version 2). A controller is in one hierarchy
    /// only: version 2, if no line of version 1 has it.
    fn find(text: &'a str, controller: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let version_1 = lines
            .clone()
            .find(|(controllers, _)| controllers.split(',').any(|name| name == controller))
            .map(|(_, path)| Self { version: 1, path });
        version_1.or_else(|| {
            let (_, path) = lines.find(|(controllers, _)| controllers.is_empty())?;
            Some(Self { version: 2, path })
        })
    }

    /// The directories of the group and its ancestors, relative to the root of the host, nearest first.
    fn directories(&self, controller: &str, mounts: &[Mount]) -> Vec<String> {
        let mount = mounts.iter().find(|mount| match self.version {
            1 => mount.fs_type == "cgroup" && mount.options.iter().any(|name| name == controller),
            _ => mount.fs_type == "cgroup2",
        });
        let Some(mount) = mount else { return Vec::new() };
        let mut directory = mount.relative_point().to_owned();
        let mut directories = vec![directory.clone()];
        for name in below(self.path, &mount.root).split('/').filter(|name| !name.is_empty()) {
            directory = format!("{directory}/{name}");
            directories.push(directory.clone());
        }
        directories.reverse();
        directories
    }
}

/// The part of `path` below the mounted group. Without its own cgroup namespace, a container may see a path outside of
/// its mount: `/..`, or the host's path. Then the mounted group is the container's.
fn below<'a>(path: &'a str, mounted: &str) -> &'a str {
    match path.strip_prefix(mounted.trim_end_matches('/')) {
        Some(rest)
            if (rest.is_empty() || rest.starts_with('/'))
                && !rest.split('/').any(|name| name == "..") =>
        {
            rest
        }
        _ => "",
    }
}

/// Quota and period in µs.
fn cpu_limit(host: &Host, directory: &str, version: u8) -> Option<(u64, u64)> {
    let (quota, period) = match version {
        // -1 means "no limit" (Documentation/scheduler/sched-bwc.rst). It does not parse.
        1 => (
            host.read(format!("{directory}/cpu.cfs_quota_us"))?,
            host.read(format!("{directory}/cpu.cfs_period_us"))?,
        ),
        // `max 100000` means "no limit".
        _ => {
            let text = host.read(format!("{directory}/cpu.max"))?;
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    let (quota_us, period_us) = (quota.parse().ok()?, period.parse().ok()?);
    (period_us > 0).then_some((quota_us, period_us))
}

fn memory_limit(host: &Host, directory: &str, version: u8) -> Option<u64> {
    match version {
        // "No limit" is the largest number of pages: 2^63 rounded down to a page.
        1 => host
            .read_value(format!("{directory}/memory.limit_in_bytes"))
            .filter(|bytes| *bytes < 1 << 62),
        // `max` means "no limit".
        _ => host.read_value(format!("{directory}/memory.max")),
    }
}

/// Limit on the groups of one hierarchy, so a strange tree ends.
const GROUPS_MAX: usize = 1 << 16;

/// All groups below the root of a hierarchy, parents first.
pub(super) fn groups(host: &Host, point: &str) -> Vec<String> {
    let mut groups = vec![point.to_owned()];
    let mut next = 0;
    while next < groups.len() && groups.len() < GROUPS_MAX {
        let directory = groups[next].clone();
        let children = host.list(&directory).into_iter().map(|name| format!("{directory}/{name}"));
        groups.extend(children.filter(|path| {
            ["cgroup.procs", "cpuset.cpus", "cpus"]
                .iter()
                .any(|file| host.exists(format!("{path}/{file}")))
        }));
        next += 1;
    }
    groups.remove(0);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    const V2: &str = "proc/self/mountinfo = 30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[track_caller]
    fn check(files: &str, expect: Option<(u8, &str, Option<&str>, Option<u64>)>) {
        let (_directory, host) = expand(files);
        let expect = expect.map(|(version, path, cpu_max, memory_max_bytes)| Cgroup {
            version,
            path: path.to_owned(),
            cpu_max: cpu_max.map(str::to_owned),
            memory_max_bytes,
        });
        assert_eq!(read(&host, &mounts::read(&host)), expect, "{files}");
    }

    #[test]
    fn the_tightest_ancestor_binds() {
        let files = format!(
            "{V2}proc/self/cgroup = 0::/a.slice/b.scope\n\
             sys/fs/cgroup/a.slice/b.scope/cpu.max = 300000 100000\n\
             sys/fs/cgroup/a.slice/cpu.max = 20000 10000\n\
             sys/fs/cgroup/a.slice/b.scope/memory.max = max\n\
             sys/fs/cgroup/a.slice/memory.max = 1073741824\n"
        );
        check(&files, Some((2, "/a.slice/b.scope", Some("20000 10000"), Some(1 << 30))));
    }

    #[test]
    fn each_group_with_a_quota_counts_its_stops() {
        let files = format!(
            "{V2}proc/self/cgroup = 0::/a/b/c\nsys/fs/cgroup/a/b/c/cpu.max = 50000 100000\n\
             sys/fs/cgroup/a/b/cpu.max = max 100000\nsys/fs/cgroup/a/cpu.max = 90000 100000\n"
        );
        let (_directory, host) = expand(&files);
        assert_eq!(
            quota_counts(&host),
            ["sys/fs/cgroup/a/b/c/cpu.stat", "sys/fs/cgroup/a/cpu.stat"]
        );
        let (_directory, host) = expand(V2);
        assert_eq!(quota_counts(&host), [""; 0]);
    }

    #[test]
    fn a_full_group_is_why_there_is_no_process() {
        let full = |files: &str| {
            let (_directory, host) = expand(&format!("{V2}proc/self/cgroup = 0::/a/b\n{files}"));
            why_no_process(&host)
        };
        let limits = full("sys/fs/cgroup/a/b/pids.max = max\nsys/fs/cgroup/a/b/pids.current = 9\n");
        assert!(limits.starts_with("check the limits on processes"), "{limits}");
        let above = "sys/fs/cgroup/a/b/pids.max = 30\nsys/fs/cgroup/a/b/pids.current = 20\n\
                     sys/fs/cgroup/a/pids.max = 20\nsys/fs/cgroup/a/pids.current = 20\n";
        let expected =
            "the control group /sys/fs/cgroup/a has all of its 20 processes and threads (pids.max)";
        assert_eq!(full(above), expected);
        assert_eq!(full(&above.replace("current = 20", "current = 19")), limits);
        let version_1 = "proc/self/mountinfo = 31 23 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                         proc/self/cgroup = 7:pids:/a\nsys/fs/cgroup/pids/a/pids.max = 4\n\
                         sys/fs/cgroup/pids/a/pids.current = 4\n";
        let (_directory, host) = expand(version_1);
        assert!(why_no_process(&host).contains("/sys/fs/cgroup/pids/a has all of its 4 "));
    }

    #[test]
    fn a_hierarchy_on_the_root_is_read_too() {
        let files = "proc/self/mountinfo = 30 23 0:26 / / rw shared:4 - cgroup2 cgroup2 rw\n\
                     proc/self/cgroup = 0::/a\na/memory.max = 4096\n";
        check(files, Some((2, "/a", None, Some(4096))));
    }

    #[test]
    fn no_limits() {
        let files = format!(
            "{V2}proc/self/cgroup = 0::/a\nsys/fs/cgroup/a/cpu.max = max 100000\n\
             sys/fs/cgroup/a/memory.max = max\nsys/fs/cgroup/ab/cpu.max = 1 100000\n"
        );
        check(&files, Some((2, "/a", None, None)));
        check("proc/self/cgroup = 0::/\n", Some((2, "/", None, None)));
        check("", None);
    }

    /// Version 1 in a container that shares the host's cgroup namespace.
    #[test]
    fn version_1_with_a_group_as_root_of_the_mount() {
        check(
            "proc/self/mountinfo = 9 8 0:29 /docker/7f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\\n\
             10 8 0:30 /docker/7f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             proc/self/cgroup = 5:memory:/docker/7f\\n4:cpu,cpuacct:/docker/7f/x\\n1:name=systemd:/docker/7f\\n0::/\n\
             sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us = -1\n\
             sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us = 100000\n\
             sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us = 150000\n\
             sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us = 100000\n\
             sys/fs/cgroup/memory/memory.limit_in_bytes = 9223372036854771712\n",
            Some((1, "/docker/7f/x", Some("150000 100000"), None)),
        );
    }

    #[test]
    fn a_path_outside_of_the_mount_is_the_mount() {
        let files =
            format!("{V2}proc/self/cgroup = 0::/../b\nsys/fs/cgroup/cpu.max = 50000 100000\n");
        check(&files, Some((2, "/../b", Some("50000 100000"), None)));
    }
}
