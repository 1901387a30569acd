//! Asks systemctl, and starts and stops timers. Timers have no processes, so no file tells whether they are active.

use std::io;

use serde::Deserialize;

use crate::Host;

#[cfg(test)]
use crate::files::READ_BYTES_MAX;
use crate::invoker::system_command;

/// How far ahead jobs count. The length of a session is unknown, and a stopped timer costs nothing.
const HORIZON_S: i64 = 24 * 3600;
/// Longest name of a unit (systemd.unit(5)).
const NAME_BYTES_MAX: usize = 255;

/// Whether this is the name of a timer and nothing else: no path, no option (systemd.unit(5)).
pub fn is_timer_name(name: &str) -> bool {
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_' | b'.' | b'\\' | b'@')
    };
    name.len() <= NAME_BYTES_MAX
        && !name.starts_with(['-', '.'])
        && name.bytes().all(is_allowed)
        && name.strip_suffix(".timer").is_some_and(|stem| !stem.is_empty())
}

impl Host {
    /// The answer of systemctl. `None` if systemd does not run this machine, or systemctl cannot be executed.
    pub(crate) fn ask_systemd(&self, arguments: &[&str]) -> Option<String> {
        self.try_ask_systemd(arguments).ok()
    }

    /// The answer of systemctl. Its exit code is no error: `is-active` has one for each state.
    fn try_ask_systemd(&self, arguments: &[&str]) -> io::Result<String> {
        #[cfg(test)]
        if !self.is_this_machine() {
            // The text format of a machine ends a path at an equals sign.
            let words = arguments.join(" ").replace('=', ":");
            return self.try_read(format!("fake/systemctl/{words}").as_ref(), READ_BYTES_MAX);
        }
        // See sd_booted(3).
        if !self.is_this_machine() || !self.try_exists("run/systemd/system".as_ref())? {
            return Err(io::Error::other("systemd does not run this machine"));
        }
        let mut command = system_command("systemctl");
        let output = command.args(arguments).output()?;
        let text = String::from_utf8(output.stdout);
        text.map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Whether a timer is active. The last part of the path is the timer's name.
    pub(crate) fn timer_state(&self, path: &str) -> io::Result<String> {
        let unit = timer_of(path)?;
        let state = match self.try_ask_systemd(&["is-active", "--", unit]) {
            Ok(state) => state,
            // Without systemctl its timer is not gone.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(io::Error::other("systemctl cannot be found"));
            }
            Err(error) => return Err(error),
        };
        Ok(if state.trim() == "active" { "active" } else { "inactive" }.into())
    }

    /// Starts or stops a timer, but not the timer's service.
    pub(crate) fn switch_timer(&self, path: &str, value: &str) -> io::Result<()> {
        self.switch(timer_of(path)?, value)
    }

    pub(crate) fn switch(&self, unit: &str, value: &str) -> io::Result<()> {
        let verb = if value == "active" { "start" } else { "stop" };
        if !self.is_this_machine() {
            return Err(io::Error::other("services belong to the machine that is running"));
        }
        let mut command = system_command("systemctl");
        let output = command.args(["--no-ask-password", verb, "--", unit]).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("systemctl {verb} {unit}: {}", said.trim())))
    }
}

fn timer_of(path: &str) -> io::Result<&str> {
    let unit = path.rsplit('/').next().unwrap_or(path);
    if is_timer_name(unit) {
        return Ok(unit);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{unit:?} is no name of a timer")))
}

/// A row of `systemctl list-timers --output=json` (systemd 249 and later).
#[derive(Debug, Deserialize)]
struct ListedTimer {
    unit: String,
    /// Next time, µs since 1970. Null or zero for a timer that will not elapse again.
    next: Option<u64>,
}

/// The timers that elapse within a day, the next first. `None` if systemd cannot be asked.
pub(super) fn active(host: &Host, now_s: i64) -> Option<Vec<String>> {
    // Without --all only active timers are listed.
    let listed = host.ask_systemd(&["list-timers", "--no-pager", "--output=json"])?;
    let Ok(mut rows) = serde_json::from_str::<Vec<ListedTimer>>(&listed) else {
        return without_times(host);
    };
    let last_us = u64::try_from(now_s + HORIZON_S).ok()? * 1_000_000;
    let is_due = |us: u64| us != 0 && us <= last_us;
    rows.retain(|row| row.next.is_some_and(is_due) && is_timer_name(&row.unit));
    rows.sort_by_key(|row| row.next);
    Some(rows.into_iter().map(|row| row.unit).collect())
}

/// An older systemd prints times for people only, so they are not read.
fn without_times(host: &Host) -> Option<Vec<String>> {
    let arguments =
        ["list-units", "--no-pager", "--no-legend", "--plain", "--type=timer", "--state=active"];
    let listed = host.ask_systemd(&arguments)?;
    let names = listed.lines().filter_map(|line| line.split_ascii_whitespace().next());
    Some(names.filter(|name| is_timer_name(name)).map(str::to_owned).collect())
}
