//! Jobs that wake up in the middle of a benchmark: timers of systemd, and cron.

use crate::knobs::placement::unit;
use crate::knobs::{Confidence, File, Format, Group, Knob, Machine, Reading, State, Undo};
use crate::services::{CRON_SERVICES, Jobs, jobs};

/// Stands for systemd's timers, which have no files.
const TIMERS: File =
    File { path: "run/systemd/timers/*", format: Format::Timer, undo: Undo::Daemons };

/// The last knob: each later one would read the state of every timer again.
pub(super) const KNOBS: &[Knob] = &[Knob {
    name: "services",
    group: Group::Kernel,
    noise: "updates, indexers, trims and jobs of cron wake up in the middle of a benchmark; those that were due run afterwards",
    files: &[
        TIMERS,
        unit("sys/fs/cgroup/system.slice/cron.service"),
        unit("sys/fs/cgroup/system.slice/crond.service"),
        unit("sys/fs/cgroup/system.slice/cronie.service"),
        unit("sys/fs/cgroup/system.slice/fcron.service"),
    ],
    needs: "root and systemd",
    sure: Confidence::Tested,
    by_default: false,
    look: services,
}];

fn services(knob: &Knob, machine: &Machine<'_>) -> Reading {
    match jobs(machine.host) {
        Jobs::Systemd { due, updating } => systemd_timers(knob, machine, &due, &updating),
        Jobs::Unasked(units) => Reading::cannot(format!(
            "systemd cannot be asked here; enabled are {}",
            units.join(", ")
        )),
        Jobs::Cron(daemon) => Reading::cannot(format!(
            "systemd does not run this machine; {daemon} starts jobs, so stop it by hand"
        )),
        Jobs::None => Reading::absent("no timer of systemd is enabled, and no cron is running"),
    }
}

fn systemd_timers(
    knob: &Knob,
    machine: &Machine<'_>,
    due: &[String],
    updating: &[&str],
) -> Reading {
    let path = |unit: &String| match unit.strip_suffix(".service") {
        Some(name) if CRON_SERVICES.contains(&name) => {
            format!("sys/fs/cgroup/system.slice/{unit}")
        }
        _ => TIMERS.path.replace('*', unit),
    };
    let wanted = due.iter().map(|unit| (path(unit), "inactive".to_owned()));
    let mut reading = knob.compare(machine.host, wanted, "no timer is active");
    let updating = match updating {
        [] => String::new(),
        names => format!("; wait for the end of {}, which is never stopped", names.join(", ")),
    };
    let is_active =
        |unit: &&String| reading.settings.iter().any(|setting| setting.path == path(unit));
    let shown: Vec<&str> = due.iter().filter(is_active).map(String::as_str).collect();
    reading.state = match (shown.is_empty(), updating.is_empty()) {
        (true, true) => State::Fine { now: "nothing is due within a day".into() },
        (true, false) => State::CannotSet { why: format!("nothing is due within a day{updating}") },
        (false, _) => State::NotTuned {
            now: format!("{}{updating}", shown.join(", ")),
            wanted: "stopped".into(),
        },
    };
    reading
}
