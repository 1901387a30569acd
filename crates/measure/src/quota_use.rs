//! How long a CPU quota stopped a run's control groups, by the kernel's counts around it
//! (Documentation/scheduler/sched-bwc.rst, "Statistics").
#![expect(clippy::disallowed_methods, reason = "reads files of control groups")]

use std::fs::File;

use crate::proc_counts::read_anew;
use host::{Host, quota_counts};
use model::values::metric::Metric;
use record::Row;

const STAT_BYTES: usize = 1024;

/// The open counts of the groups with a quota.
#[derive(Debug, Default)]
pub struct QuotaUse {
    counts: Vec<File>,
    before_ns: Option<u64>,
}

impl QuotaUse {
    /// The counts of this process's groups, if evidence is wanted.
    pub fn open_own(has_evidence: bool) -> Self {
        let paths = has_evidence.then(|| quota_counts(&Host::new("/")));
        Self::open("/", &paths.unwrap_or_default())
    }

    /// Opens all counts or none. `root`: where the paths begin.
    fn open(root: &str, paths: &[String]) -> Self {
        let open = |path: &String| File::open(format!("{root}{path}")).ok();
        let counts = paths.iter().map(open).collect::<Option<Vec<File>>>().unwrap_or_default();
        let quota = Self { counts, before_ns: None };
        if quota.stopped_ns().is_some() { quota } else { Self::default() }
    }

    pub fn metrics(&self) -> Option<Metric> {
        (!self.counts.is_empty()).then_some(Metric::QuotaNs)
    }

    pub fn before(&mut self) {
        self.before_ns = self.stopped_ns();
    }

    /// Sets the time that was added by the end of the run.
    pub fn after(&self, row: &mut Row) {
        let added_ns = self.stopped_ns().zip(self.before_ns);
        row.set(Metric::QuotaNs, added_ns.and_then(|(after, before)| after.checked_sub(before)));
    }

    /// The sum of the counts; `None` without any.
    fn stopped_ns(&self) -> Option<u64> {
        let parse = |text: &[u8]| stopped_ns(std::str::from_utf8(text).ok()?);
        let of_group = |file: &File| read_anew::<STAT_BYTES, _>(file, parse);
        let counts: Option<Vec<u64>> = self.counts.iter().map(of_group).collect();
        counts.filter(|counts| !counts.is_empty()).map(|counts| counts.iter().sum())
    }
}

/// The time in a `cpu.stat`: ns in version 1, µs in version 2.
fn stopped_ns(text: &str) -> Option<u64> {
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_time", ns) => ns.parse().ok(),
        ("throttled_usec", us) => us.parse::<u64>().ok()?.checked_mul(1000),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_count() {
        let version_1 = "nr_periods 77\nnr_throttled 43\nthrottled_time 2078312710\nnr_bursts 0\n";
        assert_eq!(stopped_ns(version_1), Some(2_078_312_710));
        let version_2 = "usage_usec 9\nnr_throttled 43\nthrottled_usec 2078312\n";
        assert_eq!(stopped_ns(version_2), Some(2_078_312_000));
        assert_eq!(stopped_ns("usage_usec 9\n"), None);
    }

    #[test]
    fn a_run_has_what_was_added_in_all_groups() {
        let directory = tempfile::tempdir().unwrap();
        let set = |name: &str, us: u64| {
            std::fs::write(directory.path().join(name), format!("throttled_usec {us}\n")).unwrap();
        };
        let root = format!("{}/", directory.path().display());
        let paths = ["own", "above"].map(String::from);
        assert_eq!(QuotaUse::open(&root, &paths).metrics(), None);
        set("own", 10);
        set("above", 500);
        let mut found = QuotaUse::open(&root, &paths);
        assert_eq!(found.metrics(), Some(Metric::QuotaNs));
        found.before();
        set("own", 17);
        set("above", 503);
        let mut row = Row::new(0, 0, Some(0), 0);
        found.after(&mut row);
        assert_eq!(row.get(Metric::QuotaNs), Some(10_000));
    }
}
