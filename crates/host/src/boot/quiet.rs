//! A quiet boot, without graphical session, timers and noisy services (systemd(1), systemd-debug-generator(8)).

use crate::boot::{BootParameter, BootState};
use crate::{CommandLine, Host};

/// Services that start work by themselves, and that a machine does without for a day. None of them mounts anything,
/// provides a login, or protects the machine.
const NOISY: [&str; 31] = [
    "anacron",
    "atd",
    "avahi-daemon",
    "bluetooth",
    "colord",
    "cron",
    "crond",
    "cronie",
    "cups",
    "cups-browsed",
    "exim4",
    "fcron",
    "fwupd",
    "gdm",
    "gdm3",
    "geoclue",
    "irqbalance",
    "lightdm",
    "ModemManager",
    "packagekit",
    "postfix",
    "power-profiles-daemon",
    "sddm",
    "smartmontools",
    "snapd",
    "switcheroo-control",
    "sysstat",
    "tlp",
    "tuned",
    "unattended-upgrades",
    "upower",
];

/// The running services that a quiet boot omits. `None` without systemd.
pub(crate) fn noisy_services(host: &Host) -> Option<Vec<&'static str>> {
    let slices = ["sys/fs/cgroup/system.slice", "sys/fs/cgroup/systemd/system.slice"];
    let has_services =
        slices.iter().any(|slice| host.list(slice).iter().any(|name| name.ends_with(".service")));
    let is_running =
        |name: &&str| host.is_active(&format!("sys/fs/cgroup/system.slice/{name}.service"));
    has_services.then(|| NOISY.into_iter().filter(is_running).collect())
}

/// The parameters of a quiet boot, besides those that isolate CPUs.
pub(super) fn parameters(host: &Host, line: &CommandLine) -> Vec<BootParameter> {
    let parameter = |text: String, what, cost| {
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        let now = match line.value(name) {
            _ if line.has(name, value) => BootState::Set,
            // This parameter may be there several times.
            Some(other) if name != "systemd.mask" => {
                BootState::Different { value: format!("{name}={other}") }
            }
            _ => BootState::Missing,
        };
        BootParameter { text, what, cost, now }
    };
    let mut parameters = Vec::new();
    if let Some(services) = noisy_services(host) {
        parameters.push(parameter(
            "systemd.unit=multi-user.target".into(),
            "no graphical session",
            "you log in on a text console or over the network",
        ));
        parameters.push(parameter(
            "systemd.mask=timers.target".into(),
            "no timer starts a job: no updates, indexers, trims or backups",
            "these jobs wait for the next usual boot",
        ));
        parameters.extend(services.iter().map(|name| {
            parameter(
                format!("systemd.mask={name}.service"),
                "this service runs now, and wakes up by itself",
                "it is missing until the next usual boot",
            )
        }));
    }
    parameters.push(parameter(
        "consoleblank=0".into(),
        "the console has no timer that blanks it",
        "the screen stays on",
    ));
    parameters.push(parameter(
        "vt.global_cursor_default=0".into(),
        "the console has no cursor that blinks five times a second",
        "no cursor is to be seen",
    ));
    parameters
}
