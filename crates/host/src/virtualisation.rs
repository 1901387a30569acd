//! Detects a virtual machine or a container, and its kind. It reads only files that every user may read, so root sees
//! the same machine. The names are from systemd-detect-virt(1), where it has one.

use crate::{Host, cpu};

/// The kind of virtual machine. `None` on bare metal or without a sign of one.
pub(super) fn machine(host: &Host) -> Option<String> {
    if let Some(kind) = host.read("sys/hypervisor/type") {
        return Some(kind);
    }
    let flag = hypervisor_flag(host);
    // A cloud's bare-metal machines carry the cloud's name too. On x86 the flag distinguishes them.
    if flag == Some(false) {
        return None;
    }
    let kind = wsl(host)
        .or_else(|| dmi(host))
        .or_else(|| device_tree(host))
        .or_else(|| clock_source(host));
    kind.or((flag == Some(true)).then_some("unknown hypervisor")).map(str::to_owned)
}

/// CPUID leaf 1, ECX bit 31. Hypervisors set it, hardware leaves it zero. `None` if it does not exist.
fn hypervisor_flag(host: &Host) -> Option<bool> {
    let cpuinfo = host.read("proc/cpuinfo")?;
    let flags = cpu::values(&cpuinfo, "flags").next()?;
    Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

fn wsl(host: &Host) -> Option<&'static str> {
    let release = host.read("proc/sys/kernel/osrelease")?;
    release.to_ascii_lowercase().contains("microsoft").then_some("wsl")
}

/// The firmware's names, with the table in systemd's src/basic/virt.c.
fn dmi(host: &Host) -> Option<&'static str> {
    let read = |name: &str| host.read(format!("sys/class/dmi/id/{name}")).unwrap_or_default();
    let (product, vendor) = (read("product_name"), read("sys_vendor"));
    // Amazon's ARM machines lack the flag, but the names of bare-metal ones end in `.metal`.
    if product.ends_with(".metal") {
        return None;
    }
    if vendor.starts_with("Microsoft") && product.starts_with("Virtual Machine") {
        return Some("microsoft");
    }
    let texts = [product, vendor, read("board_vendor"), read("bios_vendor")];
    let kind = |text: &String| {
        DMI_KINDS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, kind)| *kind)
    };
    texts.iter().find_map(kind)
}

const DMI_KINDS: &[(&str, &str)] = &[
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
    ("Cloud Hypervisor", "cloud-hypervisor"),
];

/// Detects guests on ARM and POWER.
fn device_tree(host: &Host) -> Option<&'static str> {
    let compatible =
        host.read("sys/firmware/devicetree/base/hypervisor/compatible").unwrap_or_default();
    let kinds = [("linux,kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware")];
    if let Some((_, kind)) = kinds.iter().find(|(start, _)| compatible.starts_with(start)) {
        return Some(kind);
    }
    // QEMU's machine type is "virt", and Firecracker uses the same name.
    let board = host.read("sys/firmware/devicetree/base/compatible").unwrap_or_default();
    board.starts_with("linux,dummy-virt").then_some("unknown hypervisor")
}

/// Detects a hypervisor by the clock for its guest. Firecracker on x86 has neither DMI nor a device tree, and only root
/// may read ACPI tables.
fn clock_source(host: &Host) -> Option<&'static str> {
    let sources = host.read("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let kinds = [("kvm-clock", "kvm"), ("hyperv_clocksource", "microsoft"), ("xen", "xen")];
    let kind = |source: &str| {
        kinds.iter().find(|(start, _)| source.starts_with(start)).map(|(_, kind)| *kind)
    };
    sources.split_ascii_whitespace().find_map(kind)
}

/// The kind of container. `None` without a sign of one.
pub(super) fn container(host: &Host) -> Option<String> {
    // systemd copies the variable below to a file that every user may read.
    if let Some(kind) = host.read("run/systemd/container").filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    // The container manager sets `container=` for the first process (https://systemd.io/CONTAINER_INTERFACE).
    let environment = host.read("proc/1/environ").unwrap_or_default();
    if let Some(kind) =
        environment.split('\0').find_map(|variable| variable.strip_prefix("container="))
    {
        return Some(kind.to_owned());
    }
    let kind = if host.exists("run/.containerenv") {
        Some("podman")
    } else if host.exists("var/run/secrets/kubernetes.io") {
        Some("kubernetes")
    } else if host.exists(".dockerenv") {
        Some("docker")
    } else {
        cgroup_kind(host)
    };
    kind.map(str::to_owned)
}

/// Detects the manager by the cgroup name: managers name the group after themselves. With its own cgroup namespace, a
/// container sees only `/`.
fn cgroup_kind(host: &Host) -> Option<&'static str> {
    let groups = host.read("proc/self/cgroup")?;
    let kinds = [
        ("/kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("/docker-", "docker"),
        ("/libpod-", "podman"),
        ("/lxc/", "lxc"),
        ("/lxc.payload", "lxc"),
    ];
    kinds.iter().find(|(part, _)| groups.contains(part)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    const GUEST: &str = "proc/cpuinfo = flags\\t\\t: fpu hypervisor lahf_lm\n";
    const METAL: &str = "proc/cpuinfo = flags\\t\\t: fpu lahf_lm\n";

    #[track_caller]
    fn check(files: &str, expect: (Option<&str>, Option<&str>)) {
        let (_directory, host) = expand(files);
        let found = (machine(&host), container(&host));
        assert_eq!(found, (expect.0.map(str::to_owned), expect.1.map(str::to_owned)), "{files}");
    }

    #[test]
    fn machines() {
        let ec2 = |product| {
            format!(
                "sys/class/dmi/id/sys_vendor = Amazon EC2\nsys/class/dmi/id/product_name = {product}\n"
            )
        };
        check("", (None, None));
        check(METAL, (None, None));
        check(GUEST, (Some("unknown hypervisor"), None));
        check("sys/hypervisor/type = xen\n", (Some("xen"), None));
        check(&format!("{GUEST}{}", ec2("c5.large")), (Some("amazon"), None));
        check(&format!("{METAL}{}", ec2("c5.metal")), (None, None));
        let google = "sys/class/dmi/id/product_name = Google Compute Engine\n";
        check(&format!("{GUEST}{google}"), (Some("google"), None));
        check(&format!("{METAL}{google}"), (None, None));
        check(&ec2("c6g.large"), (Some("amazon"), None));
        check(&ec2("c6g.metal"), (None, None));
        let pc = "sys/class/dmi/id/product_name = Standard PC (Q35 + ICH9, 2009)\nsys/class/dmi/id/sys_vendor = QEMU\n";
        check(&format!("{GUEST}{pc}"), (Some("qemu"), None));
        let azure = "sys/class/dmi/id/product_name = Virtual Machine\nsys/class/dmi/id/sys_vendor = Microsoft Corporation\n";
        check(&format!("{GUEST}{azure}"), (Some("microsoft"), None));
        let wsl = "proc/sys/kernel/osrelease = 5.15.153.1-microsoft-standard-WSL2\n";
        check(&format!("{GUEST}{wsl}"), (Some("wsl"), None));
        let clock =
            "sys/devices/system/clocksource/clocksource0/available_clocksource = tsc kvm-clock\n";
        check(&format!("{GUEST}{clock}"), (Some("kvm"), None));
        check(
            "sys/firmware/devicetree/base/hypervisor/compatible = linux,kvm\\0\n",
            (Some("kvm"), None),
        );
        check(
            "sys/firmware/devicetree/base/compatible = linux,dummy-virt\\0\n",
            (Some("unknown hypervisor"), None),
        );
    }

    #[test]
    fn containers() {
        check("run/systemd/container = lxc\n", (None, Some("lxc")));
        check(
            "proc/1/environ = HOME=/\\0container=systemd-nspawn\\0\n",
            (None, Some("systemd-nspawn")),
        );
        check("run/.containerenv =\n", (None, Some("podman")));
        check(".dockerenv =\n", (None, Some("docker")));
        check(
            "var/run/secrets/kubernetes.io/token = x\n.dockerenv =\n",
            (None, Some("kubernetes")),
        );
        check(
            "proc/self/cgroup = 4:cpu:/kubepods/burstable/pod1\\n0::/\n",
            (None, Some("kubernetes")),
        );
        check("proc/self/cgroup = 0::/system.slice/docker-7f.scope\n", (None, Some("docker")));
        check("proc/self/cgroup = 0::/user.slice/user-1000.slice/session-2.scope\n", (None, None));
    }
}
