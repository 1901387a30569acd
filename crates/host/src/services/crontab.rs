//! Whether cron has jobs (crontab(5)).

use crate::Host;

/// Whether a readable crontab has a job. Due times are not computed: cron has dialects, and stopping its daemon costs
/// nothing.
pub(super) fn has_job(host: &Host) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    #[test]
    fn lines_with_a_job() {
        for line in ["30 12 * * * x", "*/20 * * * * x y", "0 9-17/4 * * mon x", "@hourly x"] {
            assert!(is_job(line, false), "{line}");
        }
        for line in ["", "# 1 2 3 4 5 x", "PATH=/bin:/usr/bin", "@reboot x", "1 2 3 4 5"] {
            assert!(!is_job(line, false), "{line}");
        }
        // A user is missing.
        assert!(!is_job("1 2 3 4 5 x", true) && is_job("1 2 3 4 5 root x", true));
    }

    #[test]
    fn crontabs_of_the_machine_and_of_users() {
        for (files, expect) in [
            ("etc/crontab = 25 13 * * * root run-parts /etc/cron.hourly\n", true),
            ("etc/cron.d/.placeholder = * * * * * root x\n", false),
            ("etc/cron.d/sysstat = 5-55/10 * * * * root debian-sa1\n", true),
            ("var/spool/cron/crontabs/ann = 40 12 * * * backup\n", true),
            ("etc/crontab = PATH=/bin\n", false),
        ] {
            let (_directory, host) = expand(files);
            assert_eq!(has_job(&host), expect, "{files}");
        }
    }
}
