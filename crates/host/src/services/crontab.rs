//! When cron executes its next job (crontab(5)).

use jiff::ToSpan as _;
use jiff::civil::DateTime;

use crate::Host;
use crate::services::HORIZON_S;

const MINUTE_S: i64 = 60;
const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The times of a job, a bit for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JobTimes {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both days are restricted. Then either of them is enough.
    either_day: bool,
}

/// Seconds until the next job of all crontabs that can be read: `None` without a job ahead, `Some(None)` if the times of
/// a job are not understood.
pub(super) fn next_s(host: &Host, now: DateTime) -> Option<Option<i64>> {
    let mut next: Option<Option<i64>> = None;
    for (path, has_user) in crontabs(host) {
        let text = host.read(&path).unwrap_or_default();
        for line in text.lines() {
            let due = match job(line, has_user) {
                Some(Ok(times)) => match times.next_s(now) {
                    Some(s) => Some(s),
                    None => continue,
                },
                Some(Err(())) => None,
                None => continue,
            };
            next = match (next, due) {
                (Some(Some(before)), Some(s)) => Some(Some(before.min(s))),
                (Some(Some(before)), None) => Some(Some(before)),
                (_, due) => Some(due),
            };
        }
    }
    next
}

/// The crontabs of the machine, whose jobs name a user, and those of users.
fn crontabs(host: &Host) -> Vec<(String, bool)> {
    // cron(8) of Debian skips names with a dot, such as .placeholder.
    let jobs = host.list("etc/cron.d").into_iter().filter(|name| !name.contains('.'));
    let of_machine = jobs.map(|name| format!("etc/cron.d/{name}"));
    let of_machine = std::iter::once("etc/crontab".to_owned()).chain(of_machine);
    let spools =
        ["var/spool/cron/crontabs", "var/spool/cron", "var/spool/cron/tabs", "etc/crontabs"];
    let of_users = spools.iter().flat_map(|directory| {
        host.list(directory).into_iter().map(move |name| format!("{directory}/{name}"))
    });
    of_machine.map(|path| (path, true)).chain(of_users.map(|path| (path, false))).collect()
}

/// The times of a line of a crontab. `None` for a line without a job; an error for times that are not understood.
fn job(line: &str, has_user: bool) -> Option<Result<JobTimes, ()>> {
    let line = line.trim();
    let first = line.split_ascii_whitespace().next().filter(|_| !line.starts_with('#'))?;
    if let Some((_, times)) = NICKNAMES.iter().find(|(name, _)| *name == first) {
        return Some(JobTimes::parse(times.split(' ')).ok_or(()));
    }
    // @reboot, and assignments of variables.
    if first.starts_with('@') || first.contains('=') {
        return None;
    }
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let n_fields = if has_user { 7 } else { 6 };
    if fields.len() < n_fields {
        return None;
    }
    Some(JobTimes::parse(fields[..5].iter().copied()).ok_or(()))
}

impl JobTimes {
    fn parse<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut texts = [""; 5];
        for text in &mut texts {
            *text = fields.next()?;
        }
        let [minutes, hours, days, months, weekdays] = texts;
        let is_free = |text: &str| text.starts_with('*');
        let mut found = Self {
            minutes: bits(minutes, 0, 59, &[])?,
            hours: bits(hours, 0, 23, &[])?,
            days: bits(days, 1, 31, &[])?,
            months: bits(months, 1, 12, &MONTHS)?,
            weekdays: bits(weekdays, 0, 7, &WEEKDAYS)?,
            either_day: !is_free(days) && !is_free(weekdays),
        };
        // Sunday is 0 and 7.
        found.weekdays |= found.weekdays >> 7 & 1;
        Some(found)
    }

    /// Seconds until the next minute with these times, within the horizon.
    fn next_s(&self, now: DateTime) -> Option<i64> {
        let minutes = (1..=HORIZON_S / MINUTE_S).map(|n| n * MINUTE_S - i64::from(now.second()));
        minutes.into_iter().find(|s| now.checked_add(s.seconds()).is_ok_and(|at| self.has(at)))
    }

    fn has(&self, at: DateTime) -> bool {
        let has = |bits: u64, value: i8| bits >> value & 1 == 1;
        let weekday = at.date().weekday().to_sunday_zero_offset();
        let (day, weekday) = (has(self.days, at.day()), has(self.weekdays, weekday));
        has(self.minutes, at.minute())
            && has(self.hours, at.hour())
            && has(self.months, at.month())
            && if self.either_day { day || weekday } else { day && weekday }
    }
}

/// The values of a field: `*`, `5`, `1-5`, `*/10`, `mon,wed`.
fn bits(text: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let value = |text: &str| -> Option<u32> {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let value = match named {
            Some(index) => low + u32::try_from(index).ok()?,
            None => text.parse().ok()?,
        };
        (low..=high).contains(&value).then_some(value)
    };
    let mut all = 0;
    for item in text.split(',') {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let step: usize = step.parse().ok().filter(|step| *step > 0)?;
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (value(first)?, value(last)?),
            None if range == "*" => (low, high),
            // `5/10` counts on to the end.
            None if item.contains('/') => (value(range)?, high),
            None => (value(range)?, value(range)?),
        };
        all |= (first..=last).step_by(step).fold(0, |bits, value| bits | 1 << value);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use jiff::civil::datetime;

    use super::*;
    use crate::fixture::expand;

    /// A Monday.
    const NOW: DateTime = datetime(2026, 11, 23, 12, 30, 15, 0);

    #[track_caller]
    fn check(line: &str, minutes: Option<i64>) {
        let times = job(line, false).unwrap().unwrap();
        let expect = minutes.map(|minutes| minutes * MINUTE_S - 15);
        assert_eq!(times.next_s(NOW), expect, "{line}");
    }

    #[test]
    fn the_next_time_of_a_job() {
        check("* * * * * x", Some(1));
        check("30 12 * * * x", Some(24 * 60));
        check("*/20 * * * * x", Some(10));
        check("15 13 * * * x", Some(45));
        check("0 9-17/4 * * mon x", Some(30));
        check("0 13 * * Tue,Wed x", None);
        // With both days restricted one of them is enough.
        check("0 13 1 * mon x", Some(30));
        check("0 13 1 * * x", None);
        check("0 0 24 nov 0 x", Some(690));
        check("0 13 * * 7 x", None);
        check("@hourly x", Some(30));
        check("@daily x", Some(690));
        check("@yearly x", None);
    }

    #[test]
    fn lines_without_a_job() {
        for line in ["", "# 1 2 3 4 5 x", "PATH=/bin:/usr/bin", "@reboot x", "1 2 3 4 5"] {
            assert_eq!(job(line, false), None, "{line}");
        }
        // A user is missing.
        assert_eq!(job("1 2 3 4 5 x", true), None);
        for line in ["61 * * * * x", "* * * * 1~5 x", "*/0 * * * * x", "5-x * * * * x"] {
            assert_eq!(job(line, false), Some(Err(())), "{line}");
        }
    }

    #[test]
    fn the_first_job_of_all_crontabs() {
        let (_directory, host) = expand(
            "etc/crontab = 25 13 * * * root run-parts /etc/cron.hourly\n\
             etc/cron.d/.placeholder = * * * * * root x\n\
             etc/cron.d/sysstat = 5-55/10 * * * * root debian-sa1\n\
             var/spool/cron/crontabs/ann = 40 12 * * * backup\n",
        );
        assert_eq!(next_s(&host, NOW), Some(Some(5 * MINUTE_S - 15)));
        let (_directory, host) = expand("etc/cron.d/x = 0 0 1 1 * root x\n");
        assert_eq!(next_s(&host, NOW), None);
        let (_directory, host) = expand("etc/crontab = 61 * * * * root x\n");
        assert_eq!(next_s(&host, NOW), Some(None));
    }
}
