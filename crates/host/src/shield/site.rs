//! Finds out which kinds of shield this machine can have.

use crate::Host;
use crate::mounts::{self, Mount};
use crate::shield::ShieldKind;
use model::values::name_cpus;

/// The control groups of a machine that can hold CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Mount point of version 2, if its root has the cpuset controller and is writable; otherwise the reason.
    pub version_2: Result<String, String>,
    /// Mount point of version 1, under the same conditions.
    pub version_1: Result<String, String>,
    /// Whether systemd manages the groups.
    pub has_systemd: bool,
    pub kernel: (u32, u32),
    /// CPUs of the boot parameter `isolcpus=`.
    pub boot: Vec<usize>,
}

pub fn find(host: &Host) -> Site {
    let mounts = mounts::read(host);
    Site {
        version_2: version_2(host, &mounts),
        version_1: version_1(host, &mounts),
        // See sd_booted(3).
        has_systemd: host.exists("run/systemd/system"),
        kernel: kernel(&host.read("proc/sys/kernel/osrelease").unwrap_or_default()),
        boot: host.read_cpus("sys/devices/system/cpu/isolated").unwrap_or_default(),
    }
}

impl Site {
    /// The kind of shield for these CPUs, and why no better kind is possible.
    pub(super) fn how(&self, cpus: &[usize]) -> (ShieldKind, Vec<String>) {
        // A partition of isolcpus= CPUs adds nothing. Linux 6.12 refuses it or does not undo it exactly.
        if !cpus.is_empty() && cpus.iter().all(|cpu| self.boot.contains(cpu)) {
            return (ShieldKind::Boot, Vec::new());
        }
        match (&self.version_2, &self.version_1) {
            (Ok(_), _) if self.has_systemd && self.has_remote_partitions() => {
                (ShieldKind::DelegatedPartition, Vec::new())
            }
            (Ok(_), _) => (ShieldKind::Partition, Vec::new()),
            (Err(_), Ok(_)) => (ShieldKind::Cpusets, Vec::new()),
            (Err(why_2), Err(why_1)) => {
                let why = if why_1 == why_2 { why_2.clone() } else { format!("{why_2}, {why_1}") };
                (
                    ShieldKind::Affinity,
                    vec![format!("{} cannot be kept free: {why}", name_cpus(cpus))],
                )
            }
        }
    }

    /// Whether a partition's parent need not be a partition (`cpuset.cpus.exclusive`).
    fn has_remote_partitions(&self) -> bool {
        self.kernel >= (6, 7)
    }

    /// Whether the kernel restores the CPU masks that users gave to tasks (commit da019032819a).
    pub(super) fn keeps_masks(&self) -> bool {
        self.kernel >= (6, 2)
    }
}

fn version_2(host: &Host, mounts: &[Mount]) -> Result<String, String> {
    let Some(mount) = mounts.iter().find(|mount| mount.fs_type == "cgroup2") else {
        return Err("no cgroup v2 is mounted".into());
    };
    let point = mount.relative_point();
    let controllers = host.read(format!("{point}/cgroup.controllers")).unwrap_or_default();
    // Only the root group has no cgroup.type (Documentation/admin-guide/cgroup-v2.rst).
    if host.exists(format!("{point}/cgroup.type")) || mount.root != "/" {
        return Err(IN_CONTAINER.into());
    }
    if !controllers.split_ascii_whitespace().any(|name| name == "cpuset") {
        return Err("cgroup v2 has no cpuset controller here".into());
    }
    if mount.read_only {
        return Err(format!("{} is mounted read-only, as in a container", mount.point));
    }
    Ok(point.to_owned())
}

const IN_CONTAINER: &str = "this is a container, and CPUs can be kept free only from outside of it";

fn version_1(host: &Host, mounts: &[Mount]) -> Result<String, String> {
    let has_cpuset = |mount: &&Mount| {
        mount.fs_type == "cgroup" && mount.options.iter().any(|option| option == "cpuset")
    };
    let Some(mount) = mounts.iter().find(has_cpuset) else {
        return Err("no cgroup v1 with the cpuset controller is mounted".into());
    };
    let point = mount.relative_point();
    // Only the root group has a release_agent (cgroups(7)).
    if mount.root != "/" || !host.exists(format!("{point}/release_agent")) {
        return Err(IN_CONTAINER.into());
    }
    if mount.read_only {
        return Err(format!("{} is mounted read-only, as in a container", mount.point));
    }
    Ok(point.to_owned())
}

/// Parses a release such as `6.12.117+deb12-cloud-amd64`.
fn kernel(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    const V2: &str = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[track_caller]
    fn check(files: &str, cpus: &[usize], how: ShieldKind, why: &str) {
        let (_directory, host) = expand(files);
        let found = find(&host).how(cpus);
        assert_eq!((found.0, found.1.join(" ").as_str()), (how, why), "{files}");
    }

    #[test]
    fn the_best_that_works() {
        let controllers = "sys/fs/cgroup/cgroup.controllers = cpuset cpu memory\n";
        let systemd = "run/systemd/system/\n";
        let release = |release: &str| format!("proc/sys/kernel/osrelease = {release}\n");
        check(&format!("{V2}{controllers}"), &[2], ShieldKind::Partition, "");
        let old = format!("{V2}{controllers}{systemd}{}", release("6.1.0-56-cloud-amd64"));
        check(&old, &[2], ShieldKind::Partition, "");
        let new = format!("{V2}{controllers}{systemd}{}", release("6.12.117+deb12"));
        check(&new, &[2], ShieldKind::DelegatedPartition, "");
        let booted = "sys/devices/system/cpu/isolated = 2-3\n";
        check(&format!("{new}{booted}"), &[2, 3], ShieldKind::Boot, "");
        check(&format!("{new}{booted}"), &[1, 2], ShieldKind::DelegatedPartition, "");
        let v1 = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  sys/fs/cgroup/cpuset/release_agent =\n";
        check(v1, &[1], ShieldKind::Cpusets, "");
    }

    #[test]
    fn why_there_is_none() {
        check(
            "",
            &[1],
            ShieldKind::Affinity,
            "CPU 1 cannot be kept free: no cgroup v2 is mounted, no cgroup v1 with the cpuset controller is mounted",
        );
        let container = format!(
            "{V2}sys/fs/cgroup/cgroup.controllers = cpuset\nsys/fs/cgroup/cgroup.type = domain\n"
        );
        let (_directory, host) = expand(&container);
        let site = find(&host);
        assert_eq!(site.version_2, Err(IN_CONTAINER.to_owned()));
        let sealed = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n\
                      sys/fs/cgroup/cgroup.controllers = cpuset\n";
        let (_directory, host) = expand(sealed);
        let why = find(&host).version_2.unwrap_err();
        assert_eq!(why, "/sys/fs/cgroup is mounted read-only, as in a container");
    }

    #[test]
    fn releases_of_kernels() {
        for (release, expect) in
            [("6.12.117+deb12", (6, 12)), ("6.1.0-56", (6, 1)), ("7.0-rc1", (7, 0)), ("", (0, 0))]
        {
            assert_eq!(kernel(release), expect, "{release}");
        }
    }
}
