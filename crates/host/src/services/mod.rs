//! Jobs that may fall into a measurement: timers of systemd, and jobs of cron (systemd.timer(5), crontab(5)).

mod systemd;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::Host;
use crate::processes::Process;

pub use systemd::is_timer_name;

/// How far ahead jobs count. The length of a session is unknown, and a stopped timer costs nothing.
const HORIZON_S: i64 = 24 * 3600;
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

/// A unit that may start a job during a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueUnit {
    pub unit: String,
    /// Time until the next job, s. `None` if unknown.
    pub due_s: Option<i64>,
}

/// Programs that may run jobs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// systemd. The units with a job ahead, the next first, and updaters that run just now.
    Systemd {
        due: Vec<DueUnit>,
        updating: Vec<String>,
    },
    /// systemd cannot be asked, but these are enabled or running.
    Unasked(Vec<String>),
    /// Without systemd, the daemon that runs jobs.
    Cron(String),
    None,
}

pub fn jobs(host: &Host) -> Jobs {
    if let Some(timers) = systemd::active(host, Timestamp::now().as_second()) {
        let mut due: Vec<DueUnit> = timers
            .into_iter()
            .filter(|timer| timer.due_s.is_none_or(|due_s| due_s <= HORIZON_S))
            .collect();
        let daemon = CRON_SERVICES.iter().find(|name| is_running(host, name));
        let daemon = daemon.filter(|_| has_job(host));
        due.extend(daemon.map(|name| DueUnit { unit: format!("{name}.service"), due_s: None }));
        due.sort_by_key(|unit| (unit.due_s.unwrap_or(i64::MAX), unit.unit.clone()));
        let updating = UPDATERS.iter().filter(|name| is_running(host, name));
        return Jobs::Systemd { due, updating: updating.map(|name| (*name).to_owned()).collect() };
    }
    let enabled = enabled(host);
    if !enabled.is_empty() {
        return Jobs::Unasked(enabled);
    }
    cron_process(host).filter(|_| has_job(host)).map_or(Jobs::None, Jobs::Cron)
}

/// Whether a service has processes.
fn is_running(host: &Host, name: &str) -> bool {
    host.is_active(&format!("sys/fs/cgroup/system.slice/{name}.service"))
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
    let daemons = CRON_SERVICES.iter().filter(|name| is_running(host, name));
    units.extend(daemons.map(|name| format!("{name}.service")));
    units.sort();
    units.dedup();
    units
}

/// The name of a running daemon that executes crontabs.
fn cron_process(host: &Host) -> Option<String> {
    let pids = host.list("proc").into_iter().filter_map(|name| name.parse().ok());
    let names = pids.filter_map(|pid| Some(Process::read(host, pid)?.name));
    names.into_iter().find(|name| CRON_SERVICES.contains(&name.as_str()))
}

/// A time span in words: `now`, `in 12 min`, `in 3 h`.
pub fn when(due_s: Option<i64>) -> String {
    match due_s {
        None => "at a time that nothing tells".into(),
        Some(s) if s < 60 => "now".into(),
        Some(s) if s < 2 * 3600 => format!("in {} min", s / 60),
        Some(s) => format!("in {} h", s / 3600),
    }
}

/// Whether a readable crontab has a job. Due times are not computed: cron has dialects, and stopping its daemon costs
/// nothing.
fn has_job(host: &Host) -> bool {
    crontabs(host).any(|(path, has_user)| {
        let text = host.read(&path).unwrap_or_default();
        text.lines().any(|line| is_job(line, has_user))
    })
}

/// The machine's crontabs, whose jobs name a user, and users' crontabs.
fn crontabs(host: &Host) -> impl Iterator<Item = (String, bool)> {
    // cron(8) of Debian skips names with a dot, such as .placeholder.
    let jobs = host.list("etc/cron.d").into_iter().filter(|name| !name.contains('.'));
    let of_machine = jobs.map(|name| format!("etc/cron.d/{name}"));
    let of_machine = std::iter::once("etc/crontab".to_owned()).chain(of_machine);
    let spools =
        ["var/spool/cron/crontabs", "var/spool/cron", "var/spool/cron/tabs", "etc/crontabs"];
    let of_users = spools.into_iter().flat_map(|directory| {
        host.list(directory).into_iter().map(move |name| format!("{directory}/{name}"))
    });
    of_machine.map(|path| (path, true)).chain(of_users.map(|path| (path, false)))
}

/// A line with times and a command; no comment, no variable, and not `@reboot`.
fn is_job(line: &str, has_user: bool) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let Some(first) = fields.first().filter(|first| !first.starts_with('#')) else { return false };
    let n_times = if first.starts_with('@') { 1 } else { 5 };
    *first != "@reboot" && !first.contains('=') && fields.len() > n_times + usize::from(has_user)
}
