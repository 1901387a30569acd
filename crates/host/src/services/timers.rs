//! The active timers of systemd, and when each is due.

use serde::Deserialize;

use crate::Host;
use crate::services::DueUnit;
use crate::services::systemd::is_timer_name;

/// A row of `systemctl list-timers --output=json` (systemd 249 and later).
#[derive(Debug, Deserialize)]
struct ListedTimer {
    unit: String,
    /// Next time, µs since 1970. Null or zero for a timer that will not elapse again.
    next: Option<u64>,
}

/// The timers that will elapse. `None` if systemd cannot be asked.
pub(super) fn active(host: &Host, now_s: i64) -> Option<Vec<DueUnit>> {
    // Without --all only active timers are listed.
    let listed = host.ask_systemd(&["list-timers", "--no-pager", "--output=json"])?;
    match serde_json::from_str::<Vec<ListedTimer>>(&listed) {
        Ok(rows) => Some(rows.into_iter().filter_map(|row| due(row, now_s)).collect()),
        Err(_) => without_times(host),
    }
}

fn due(row: ListedTimer, now_s: i64) -> Option<DueUnit> {
    let next_us = row.next.filter(|us| *us != 0 && is_timer_name(&row.unit))?;
    let next_s = i64::try_from(next_us / 1_000_000).ok()?;
    Some(DueUnit { unit: row.unit, due_s: Some((next_s - now_s).max(0)) })
}

/// An older systemd prints times for people only, so they are not read.
fn without_times(host: &Host) -> Option<Vec<DueUnit>> {
    let arguments =
        ["list-units", "--no-pager", "--no-legend", "--plain", "--type=timer", "--state=active"];
    let listed = host.ask_systemd(&arguments)?;
    let names = listed.lines().filter_map(|line| line.split_ascii_whitespace().next());
    let names = names.filter(|name| is_timer_name(name));
    Some(names.map(|name| DueUnit { unit: name.to_owned(), due_s: None }).collect())
}
