//! How to set kernel parameters with each boot loader. A loader is recognised by its files.

use serde::Serialize;

use crate::boot::{BootParameter, BootState};
use crate::{Host, virtualisation};

/// A way to set kernel parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loader {
    /// Name of the loader, with the systems that use it.
    pub name: &'static str,
    /// Steps that set the parameters, as commands or sentences.
    pub apply: Vec<String>,
    /// Steps that remove the parameters.
    pub undo: Vec<String>,
}

/// The boot loaders that this machine seems to have, or else the usual ones.
pub(super) fn find(host: &Host, missing: &[&BootParameter]) -> Vec<Loader> {
    if missing.is_empty() {
        return Vec::new();
    }
    let line = missing.iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join(" ");
    if virtualisation::container(host).is_some() && !has_loader(host) {
        return vec![outside("the host of this container", "set them on the host, with", &line)];
    }
    if virtualisation::machine(host).as_deref() == Some("wsl") {
        return vec![wsl(&line)];
    }
    let exists = |paths: &[&str]| paths.iter().any(|path| host.exists(path));
    let is_debian =
        exists(&["usr/sbin/update-grub", "sbin/update-grub"]) || is_like(host, "debian");
    let mut loaders = Vec::new();
    if exists(GRUBBY) {
        loaders.push(grubby(missing, &line));
    } else if exists(GRUB) {
        loaders.push(if is_debian { grub_debian(&line) } else { grub(&line) });
    }
    if exists(SYSTEMD_BOOT) {
        loaders.push(systemd_boot(&line));
    }
    if exists(&["boot/extlinux/extlinux.conf"]) {
        loaders.push(one_line(
            "extlinux (U-Boot)",
            "each `append` line of /boot/extlinux/extlinux.conf",
            &line,
        ));
    }
    if exists(&["boot/firmware/cmdline.txt"]) {
        loaders.push(one_line("Raspberry Pi", "the one line of /boot/firmware/cmdline.txt", &line));
    }
    if loaders.is_empty() && virtualisation::machine(host).is_some() {
        loaders.push(outside("the hypervisor", "no boot loader is seen here; where the virtual machine is configured, boot its kernel with", &line));
    } else if loaders.is_empty() {
        loaders = vec![grub(&line), systemd_boot(&line)];
    }
    loaders
}

const GRUBBY: &[&str] = &["usr/sbin/grubby", "sbin/grubby", "usr/bin/grubby"];
const GRUB: &[&str] = &["etc/default/grub"];
const SYSTEMD_BOOT: &[&str] =
    &["boot/loader/loader.conf", "efi/loader/loader.conf", "boot/efi/loader/loader.conf"];

fn has_loader(host: &Host) -> bool {
    [GRUBBY, GRUB, SYSTEMD_BOOT].concat().iter().any(|path| host.exists(path))
}

/// Whether the system is this distribution or derives from it (os-release(5)).
fn is_like(host: &Host, name: &str) -> bool {
    let text = host.read("etc/os-release").unwrap_or_default();
    let ids = text
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")));
    let words =
        ids.flat_map(|ids| ids.trim_matches('"').split(' ').map(str::to_owned).collect::<Vec<_>>());
    words.into_iter().any(|id| id == name)
}

/// The grub-mkconfig of Debian and Ubuntu reads these files after /etc/default/grub, so the user need not edit that
/// file.
fn grub_debian(line: &str) -> Loader {
    let file = "/etc/default/grub.d/stillwell.cfg";
    Loader {
        name: "GRUB (Debian, Ubuntu)",
        apply: vec![
            format!("echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {line}\"' | sudo tee {file}"),
            "sudo update-grub".into(),
        ],
        undo: vec![format!("sudo rm {file}"), "sudo update-grub".into()],
    }
}

fn grub(line: &str) -> Loader {
    let make =
        "sudo grub-mkconfig -o /boot/grub/grub.cfg    # grub2-mkconfig and /boot/grub2 on openSUSE";
    Loader {
        name: "GRUB",
        apply: vec![
            "sudo cp /etc/default/grub /etc/default/grub.before-stillwell".into(),
            format!(
                "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {line}\"' | sudo tee -a /etc/default/grub"
            ),
            make.into(),
        ],
        undo: vec![
            "sudo mv /etc/default/grub.before-stillwell /etc/default/grub".into(),
            make.into(),
        ],
    }
}

/// grubby replaces a parameter of the same name, so the undo step restores the old value.
fn grubby(missing: &[&BootParameter], line: &str) -> Loader {
    let names: Vec<&str> =
        missing.iter().map(|p| p.text.split('=').next().unwrap_or(&p.text)).collect();
    let before: Vec<&str> = missing
        .iter()
        .filter_map(|p| match &p.now {
            BootState::Different { value } => Some(value.as_str()),
            _ => None,
        })
        .collect();
    let mut undo =
        vec![format!("sudo grubby --update-kernel=ALL --remove-args=\"{}\"", names.join(" "))];
    if !before.is_empty() {
        undo.push(format!("sudo grubby --update-kernel=ALL --args=\"{}\"", before.join(" ")));
    }
    Loader {
        name: "grubby (Fedora, RHEL and their like)",
        apply: vec![format!("sudo grubby --update-kernel=ALL --args=\"{line}\"")],
        undo,
    }
}

/// kernel-install(8) makes the entries again from /etc/kernel/cmdline. Many systems are too old for `add-all`.
fn systemd_boot(line: &str) -> Loader {
    let make = "sudo kernel-install add \"$(uname -r)\" \"/lib/modules/$(uname -r)/vmlinuz\"";
    Loader {
        name: "systemd-boot",
        apply: vec![
            "sudo cp /etc/kernel/cmdline /etc/kernel/cmdline.before-stillwell".into(),
            format!("sudo sed -i '1s/$/ {line}/' /etc/kernel/cmdline"),
            make.into(),
        ],
        undo: vec![
            "sudo mv /etc/kernel/cmdline.before-stillwell /etc/kernel/cmdline".into(),
            make.into(),
        ],
    }
}

fn one_line(name: &'static str, place: &str, line: &str) -> Loader {
    Loader {
        name,
        apply: vec![format!("add to {place}:"), line.into()],
        undo: vec!["take the same words out again".into()],
    }
}

/// WSL reads %UserProfile%\.wslconfig of Windows.
fn wsl(line: &str) -> Loader {
    Loader {
        name: "WSL 2",
        apply: vec![
            "in Windows, write into %UserProfile%\\.wslconfig:".into(),
            "[wsl2]".into(),
            format!("kernelCommandLine = {line}"),
            "wsl --shutdown".into(),
        ],
        undo: vec!["take the line out again and run `wsl --shutdown`".into()],
    }
}

fn outside(name: &'static str, how: &str, line: &str) -> Loader {
    Loader {
        name,
        apply: vec![format!("{how}:"), line.into()],
        undo: vec!["take the same words out again".into()],
    }
}
