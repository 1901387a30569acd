//! The kernel's counts of the last-level cache around a run: how much the run's CPUs have filled, and the memory
//! traffic (Documentation/filesystems/resctrl.rst, "mon_data").
#![expect(clippy::disallowed_methods, reason = "reads files of resctrl")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use host::{CacheMonitors, Gap};
use model::prose::prose;
use model::values::metric::{METRICS, Metric, MetricSource};
use record::Row;
use record::plan::Plan;

const COUNT_BYTES: usize = 32;

/// The open files of the counts. They belong to the group of the runs' CPUs, so the kernel's work there counts too.
#[derive(Debug, Default)]
pub struct CacheUse {
    occupancy: Vec<File>,
    traffic: Vec<File>,
    others_traffic: Vec<File>,
    /// Traffic before the run: of the runs' CPUs, and of everything else.
    before: (Option<u64>, Option<u64>),
}

impl CacheUse {
    /// Opens the files that can be read. `root`: where their paths begin.
    pub fn open(root: &str, monitors: &CacheMonitors) -> Self {
        let all = |paths: &[String]| -> Vec<File> {
            let open = |path: &String| File::open(format!("{root}{path}")).ok();
            paths.iter().map(open).collect::<Option<_>>().unwrap_or_default()
        };
        Self {
            occupancy: all(&monitors.occupancy),
            traffic: all(&monitors.traffic),
            others_traffic: all(&monitors.others_traffic),
            before: (None, None),
        }
    }

    /// The metrics that these files provide.
    pub fn metrics(&self) -> Vec<Metric> {
        [
            (&self.occupancy, Metric::CacheBytes),
            (&self.traffic, Metric::MemoryTrafficBytes),
            (&self.others_traffic, Metric::OthersTrafficBytes),
        ]
        .into_iter()
        .filter_map(|(files, metric)| (!files.is_empty()).then_some(metric))
        .collect()
    }

    pub fn before(&mut self) {
        self.before = (sum(&self.traffic), sum(&self.others_traffic));
    }

    /// Sets the counts of the run that has just ended. A counter that went back belongs to a group that is gone.
    pub fn after(&self, row: &mut Row) {
        let since = |files: &[File], before: Option<u64>| sum(files)?.checked_sub(before?);
        row.set(Metric::CacheBytes, sum(&self.occupancy));
        row.set(Metric::MemoryTrafficBytes, since(&self.traffic, self.before.0));
        row.set(Metric::OthersTrafficBytes, since(&self.others_traffic, self.before.1));
    }
}

/// The gap for cache counts that the user asked for and the launcher lacks.
pub fn no_cache_counts(plan: &Plan, metrics: &[Metric]) -> Option<Gap> {
    let of_cache = METRICS.iter().filter(|info| info.source == MetricSource::Resctrl);
    let is_asked = |name: &str| plan.metrics.iter().any(|choice| choice.name == name);
    let missing: Vec<&str> = of_cache
        .filter(|info| is_asked(info.name) && !metrics.contains(&info.metric))
        .map(|info| info.name)
        .collect();
    (!missing.is_empty()).then(|| Gap {
        what: missing.join(", "),
        why: "the kernel counts them for a part of the cache, and the runs have none of their own"
            .into(),
        fix: prose![Isolate " where the processor can divide its cache, and resctrl is mounted"],
    })
}

/// The sum of the counts; `None` without a file, or if one says `Unavailable`, `Unassigned` or `Error`.
fn sum(files: &[File]) -> Option<u64> {
    let count = |file: &File| -> Option<u64> {
        let mut text = [0; COUNT_BYTES];
        // Read from the start: the kernel counts anew for each such read.
        let n_bytes = file.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..n_bytes]).ok()?.trim_end().parse().ok()
    };
    let counts: Option<Vec<u64>> = files.iter().map(count).collect();
    counts.filter(|counts| !counts.is_empty()).map(|counts| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(row: &Row) -> [Option<u64>; 3] {
        [Metric::CacheBytes, Metric::MemoryTrafficBytes, Metric::OthersTrafficBytes]
            .map(|metric| row.get(metric))
    }

    #[test]
    fn the_traffic_of_a_run_is_what_was_added_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let set = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), format!("{text}\n")).unwrap();
        };
        for (name, text) in [("own", "100"), ("root", "1000"), ("pod", "50"), ("fill", "4096")] {
            set(name, text);
        }
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let monitors = CacheMonitors {
            occupancy: names(&["fill"]),
            traffic: names(&["own"]),
            others_traffic: names(&["root", "pod"]),
        };
        let root = format!("{}/", directory.path().display());
        let mut found = CacheUse::open(&root, &monitors);
        assert_eq!(found.metrics().len(), 3);
        found.before();
        for (name, text) in [("own", "164"), ("root", "1500"), ("pod", "51"), ("fill", "8192")] {
            set(name, text);
        }
        let mut row = Row::new(0, 0, Some(0), 0);
        found.after(&mut row);
        assert_eq!(counts(&row), [Some(8192), Some(64), Some(501)]);
        // The kernel may not know a count at the moment.
        set("pod", "Unavailable");
        found.after(&mut row);
        assert_eq!(counts(&row), [Some(8192), Some(64), None]);
        // A file that cannot be opened belongs to a group that is gone. A part of a sum is no sum.
        let gone = CacheMonitors { others_traffic: names(&["root", "none"]), ..monitors };
        assert_eq!(
            CacheUse::open(&root, &gone).metrics(),
            [Metric::CacheBytes, Metric::MemoryTrafficBytes]
        );
    }
}
