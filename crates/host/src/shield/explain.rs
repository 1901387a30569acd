//! Explains in sentences why there is no shield and how to get one.

use std::io;

use crate::Host;
use model::values::name_cpus;
use model::words::reason;

/// A failed write to a control group.
pub(super) fn cannot(what: &str, group: &str, error: &io::Error) -> String {
    let advice = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => "run as root",
        Some(libc::EROFS) => "it is mounted read-only, as in a container; run outside of it",
        Some(libc::EBUSY) => "something else is using it; see who with `systemd-cgls`",
        Some(libc::ENOENT | libc::EINVAL | libc::ERANGE) => {
            "a CPU may be offline, or the kernel too old"
        }
        _ => "see cgroups(7)",
    };
    format!("cannot {what} in /{group}: {}; {advice}", reason(error))
}

/// A refused partition. The kernel shows it as `isolated invalid (reason)` or as a bare `isolated invalid`.
pub(super) fn refused(host: &Host, path: &str, now: &str, cpus: &[usize]) -> String {
    let shown = name_cpus(cpus);
    let point = path.rsplit_once('/').map_or("", |(point, _)| point);
    let reason = now.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let advice = match reason.map(|(reason, _)| reason) {
        Some(reason) if reason.contains("not exclusive") => other_groups(host, point, cpus),
        Some(reason) if reason.contains("housekeeping") => {
            "some of them are isolated by isolcpus= and some are not; choose either".into()
        }
        Some(reason) if reason.contains("not a partition root") || reason.contains("exclusive") => {
            "the groups above it do not set the CPUs aside (Linux 6.7 or later)".into()
        }
        _ => other_groups(host, point, cpus),
    };
    format!(
        "the kernel makes no partition of {shown} (/{path}/cpuset.cpus.partition: {now:?}): {advice}"
    )
}

fn other_groups(host: &Host, point: &str, cpus: &[usize]) -> String {
    match overlapping(host, point, cpus) {
        groups if groups.is_empty() => "something else has or needs these CPUs".into(),
        groups => has_them_too(&groups),
    }
}

/// The groups that have the CPUs, and the ways out.
pub(super) fn has_them_too(groups: &[String]) -> String {
    format!(
        "{} also has them; choose other CPUs, or take them from there (docker: --cpuset-cpus, systemd: AllowedCPUs=)",
        groups.join(", ")
    )
}

/// Sets of other programs that have these CPUs. Their tasks stay there.
pub(super) fn overlap(host: &Host, point: &str, cpus: &[usize]) -> Option<String> {
    let groups = overlapping(host, point, cpus);
    let shown = name_cpus(cpus);
    (!groups.is_empty()).then(|| {
        format!(
            "what runs in {} may still use {shown}, because these sets have them too (docker: --cpuset-cpus)",
            groups.join(", ")
        )
    })
}

fn overlapping(host: &Host, point: &str, cpus: &[usize]) -> Vec<String> {
    let groups = host.list(point).into_iter().filter(|name| !super::OURS.contains(&name.as_str()));
    let has_them = |name: &String| {
        let list = host.read_cpus(format!("{point}/{name}/cpuset.cpus")).unwrap_or_default();
        list.iter().any(|cpu| cpus.contains(cpu))
    };
    groups.filter(has_them).map(|name| format!("/{point}/{name}")).collect()
}

/// Neither `sudo` nor `doas` gives root rights without a password.
pub fn no_shield_without_rights(shielded: &[usize], bound: &[usize]) -> String {
    format!(
        "only root can keep {} free, and neither sudo nor doas gives the rights without a password; run it with sudo (the \
         commands still run as you). Until then they are bound to {}, which others may use too",
        name_cpus(shielded),
        name_cpus(bound)
    )
}
