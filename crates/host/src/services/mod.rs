//! Jobs that may fall into a measurement: timers of systemd, and jobs of cron (systemd.timer(5)).

mod systemd;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::Host;
use crate::processes::Process;

pub use systemd::is_timer_name;

/// Daemons that execute the jobs of crontabs. Stopping them leaves their running jobs alone (`KillMode=process` in the
/// units of Debian and Fedora).
pub const CRON_SERVICES: [&str; 4] = ["cron", "crond", "cronie", "fcron"];
/// Services that change packages. They are never stopped, because half an update is worse than noise.
const UPDATERS: [&str; 6] = [
    "apt-daily",
    "apt-daily-upgrade",
    "dnf-automatic-install",
    "dnf-makecache",
    "packagekit",
    "snapd.refresh",
];
/// Program names in `ps -o comm`, cut off after 15 bytes, and what executes them.
const STARTED_BY: [(&str, &str); 22] = [
    ("apt.systemd.dai", "apt-daily.timer"),
    ("unattended-upgr", "apt-daily-upgrade.timer"),
    ("apt-get", "apt-daily.timer"),
    ("apt-check", "apt-daily.timer"),
    ("apt-config", "apt-daily.timer"),
    ("dnf-automatic", "dnf-automatic.timer"),
    ("dnf", "dnf-makecache.timer"),
    ("mandb", "man-db.timer"),
    ("updatedb", "updatedb.timer"),
    ("updatedb.plocat", "plocate-updatedb.timer"),
    ("updatedb.mlocat", "mlocate-updatedb.timer"),
    ("fstrim", "fstrim.timer"),
    ("logrotate", "logrotate.timer"),
    ("systemd-tmpfile", "systemd-tmpfiles-clean.timer"),
    ("fwupdmgr", "fwupd-refresh.timer"),
    ("e2scrub_all", "e2scrub_all.timer"),
    ("btrfs-scrub", "btrfs-scrub.timer"),
    ("anacron", "anacron.timer"),
    ("run-parts", "cron"),
    ("cron", "cron"),
    ("crond", "cron"),
    ("rsnapshot", "cron"),
];

/// The timer or daemon that executes programs of this name.
pub fn started_by(program: &str) -> Option<&'static str> {
    STARTED_BY.iter().find(|(name, _)| *name == program).map(|(_, unit)| *unit)
}

/// Programs that may run jobs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// systemd. The units with a job ahead, and updaters that run just now.
    Systemd {
        due: Vec<String>,
        updating: Vec<&'static str>,
    },
    /// systemd cannot be asked, but these are enabled or running.
    Unasked(Vec<String>),
    /// Without systemd, the daemon that runs jobs.
    Cron(String),
    None,
}

pub fn jobs(host: &Host) -> Jobs {
    if let Some(timers) = systemd::active(host, Timestamp::now().as_second()) {
        let mut due = timers;
        due.extend(running_daemons(host));
        let updating = UPDATERS.into_iter().filter(|name| is_running(host, name)).collect();
        return Jobs::Systemd { due, updating };
    }
    let enabled = enabled(host);
    if !enabled.is_empty() {
        return Jobs::Unasked(enabled);
    }
    cron_process(host).map_or(Jobs::None, Jobs::Cron)
}

/// Whether a service has processes.
fn is_running(host: &Host, name: &str) -> bool {
    host.is_active(&format!("sys/fs/cgroup/system.slice/{name}.service"))
}

fn running_daemons(host: &Host) -> impl Iterator<Item = String> {
    let running = CRON_SERVICES.into_iter().filter(|name| is_running(host, name));
    running.map(|name| format!("{name}.service"))
}

/// The timers that start at boot, and running cron daemons of systemd. If systemd is not the first process, they are
/// only files.
fn enabled(host: &Host) -> Vec<String> {
    if host.read("proc/1/comm").is_some_and(|name| name != "systemd") {
        return Vec::new();
    }
    let wants =
        ["etc/systemd/system/timers.target.wants", "usr/lib/systemd/system/timers.target.wants"];
    let mut units: Vec<String> = wants.iter().flat_map(|directory| host.list(directory)).collect();
    units.retain(|name| is_timer_name(name));
    units.extend(running_daemons(host));
    units.sort();
    units.dedup();
    units
}

/// The name of a running daemon that executes crontabs.
fn cron_process(host: &Host) -> Option<String> {
    let names = Process::all(host).map(|(_, process)| process.name);
    names.into_iter().find(|name| CRON_SERVICES.contains(&name.as_str()))
}
