//! The output of `system tune`, `system reset` and `system status`.

use std::fmt::Write as _;

use crate::shield;
use crate::system::grouped;
use crate::units::counted;
use host::journal::{self, Journal};
use host::knobs::{Format, State};
use host::restore::Restoration;
use host::tune::{KnobPlan, KnobResult};
use host::{self, Host};

/// Width of the name column.
const NAME_COLUMNS: usize = 16;

/// Lists the writes of `--dry-run` as shell commands, in order. Settings that cannot be changed are comments.
pub fn planned(planned: &[KnobPlan]) -> String {
    let mut text = String::new();
    for KnobPlan { knob, reading } in planned {
        for setting in &reading.settings {
            let (path, wanted) = (&setting.path, &setting.wanted);
            match knob.file(path).map(|file| file.format) {
                Some(Format::Unit | Format::Timer) => {
                    let unit = path.rsplit('/').next().unwrap_or(path);
                    writeln!(text, "systemctl stop {unit}  # {}", knob.name)
                }
                Some(Format::Affinity) => {
                    let pid = path.split('/').nth(1).unwrap_or(path);
                    writeln!(
                        text,
                        "taskset -p -c {wanted} {pid}  # {}, was {}",
                        knob.name, setting.now
                    )
                }
                _ => {
                    writeln!(text, "echo {wanted} > /{path}  # {}, was {}", knob.name, setting.now)
                }
            }
            .ok();
        }
        if let State::CannotSet { why } = &reading.state {
            writeln!(text, "# {}: cannot be set: {why}", knob.name).ok();
        }
    }
    if text.is_empty() { "# nothing is to be written\n".into() } else { text }
}

/// A line for each knob that was set or could not be set.
pub fn turned(turned: &[KnobResult]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: &str| {
        writeln!(text, "{name:NAME_COLUMNS$}{what}").ok();
    };
    let mut n_set = 0;
    for knob in turned {
        let name = knob.knob.name;
        n_set += knob.n_set;
        match &knob.state {
            State::NotTuned { now, wanted } if knob.n_set > 0 => {
                let unmovable = match knob.n_unmovable {
                    0 => String::new(),
                    n => format!("; the kernel lets nobody move {n} of them"),
                };
                line(
                    name,
                    &format!("{now} -> {wanted} ({}{unmovable})", counted(knob.n_set, "file")),
                );
            }
            State::NotTuned { now, .. } if knob.failed.is_empty() && knob.n_unmovable > 0 => {
                line(name, &format!("{now}; the kernel lets nobody move them"));
            }
            _ => {}
        }
        for foreign in &knob.foreign {
            line(name, &foreign.between_two_tunes());
        }
        for (reason, settings) in grouped(knob.failed.iter().map(|(it, why)| (why, it))) {
            let (first, others) = (settings[0], others(settings.len()));
            let (wanted, path) = (&first.wanted, &first.path);
            line(name, &format!("cannot write {wanted:?} to /{path}{others}: {reason}"));
        }
    }
    let refused = turned.iter().filter_map(|knob| match &knob.state {
        State::CannotSet { why } => Some((why, knob.knob.name)),
        _ => None,
    });
    for (reason, names) in grouped(refused) {
        match names[..] {
            [name] => line(name, &format!("cannot be set: {reason}")),
            _ => line(&(names.join(", ") + " "), &format!("cannot be set: {reason}")),
        }
    }
    let end = match n_set {
        0 => "nothing was changed".to_owned(),
        n => format!("{} changed; `stillwell system reset` puts them back", counted(n, "file")),
    };
    text + &end + "\n"
}

/// Describes the restoration after a killed session.
pub fn earlier(restored: &Restoration) -> String {
    format!("what an earlier stillwell has left was put back\n{}", self::restored(restored))
}

/// Describes the outcome of a restoration.
pub fn restored(restored: &Restoration) -> String {
    let mut text = String::new();
    if let Some(raised) = &restored.lowered {
        writeln!(text, "{} everybody's again", shield::cpus(&raised.cpus)).ok();
    }
    writeln!(text, "{} put back", counted(restored.restored.len(), "file")).ok();
    for foreign in &restored.foreign {
        writeln!(
            text,
            "left alone: /{} holds {:?}, which stillwell did not write; it was {:?}",
            foreign.path, foreign.now, foreign.old
        )
        .ok();
    }
    for path in &restored.gone {
        writeln!(text, "gone: /{path}").ok();
    }
    for (reason, paths) in grouped(restored.failed.iter().map(|(path, why)| (why, path))) {
        writeln!(text, "cannot put back /{}{}: {reason}", paths[0], others(paths.len())).ok();
    }
    for sentence in restored.waits() {
        writeln!(text, "{sentence}").ok();
    }
    text
}

fn others(n_files: usize) -> String {
    match n_files {
        0 | 1 => String::new(),
        n => format!(" and {}", counted(n - 1, "other file")),
    }
}

/// The name of a timer, which has no file, or else the path.
fn shown(format: Format, path: &str) -> String {
    match format {
        Format::Timer => path.rsplit('/').next().unwrap_or(path).to_owned(),
        _ => format!("/{path}"),
    }
}

/// Lists the current changes.
pub fn status(host: &Host, journal: &Journal, since: &str) -> String {
    let mut text = String::new();
    if let (Some(first), Some(last)) = (journal.begun.first(), journal.begun.last()) {
        let how =
            if last.scoped { "while a benchmark runs" } else { "until `stillwell system reset`" };
        let process = match (journal::is_alive(last), journal.is_stale()) {
            (true, _) if journal::is_stopped(last) => {
                format!("process {0} is stopped; `kill -CONT {0}` lets it go on", last.pid)
            }
            (true, _) => format!("process {} is running", last.pid),
            (false, false) => format!("process {} has ended", last.pid),
            (false, true) => format!("process {} ended before everything was put back", last.pid),
        };
        writeln!(text, "changed since {since} by user {}, {how}; {process}", first.user_id).ok();
    }
    if let Some(raised) = &journal.shield {
        writeln!(text, "{} kept free: `stillwell shield status`", shield::cpus(&raised.cpus)).ok();
    }
    for item in &journal.items {
        let now = host.read_item(item).unwrap_or_else(|error| {
            match host::is_offline(host, &item.kept.path) {
                true => "its CPU is offline".into(),
                false if host::is_gone(&error) => "gone".into(),
                false => host::reason_unread(&error),
            }
        });
        let old = item.kept.old.trim_end();
        if item.file.format.same(&now, old) {
            continue;
        }
        let path = shown(item.file.format, &item.kept.path);
        writeln!(text, "{:NAME_COLUMNS$}{path}: {now}, was {old}", item.knob.name).ok();
    }
    text
}
