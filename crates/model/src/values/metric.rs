//! The table of metrics: one row for everything that the record, the exports and the tables need.

use serde::{Deserialize, Serialize};

/// Physical quantity of a metric, and the scale of its stored integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Time {
        /// Nanoseconds per stored unit.
        ns_per_unit: u32,
    },
    /// A duration in thousandths of a nanosecond.
    Picoseconds,
    Memory {
        /// Bytes per stored unit.
        bytes_per_unit: u32,
    },
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricSource {
    /// The launcher's clock and `wait4`: always there, without overhead.
    Always,
    /// `/proc/PID/schedstat` (`CONFIG_SCHEDSTATS` or `CONFIG_SCHED_INFO`).
    Schedstat,
    /// A perf software event.
    Software,
    /// A perf hardware event; needs a performance monitoring unit.
    Hardware,
    /// A worker's answer or its process.
    Worker,
    /// A probe of the core before the run, if the CPU's units are known.
    Probe,
    /// valgrind, which executed the run.
    Valgrind,
    /// The control groups of the runs: `cpu.stat` under a CPU quota, memory on request.
    ControlGroup,
}

/// One line of the metric table.
#[derive(Debug)]
pub struct MetricInfo {
    pub metric: Metric,
    /// Column in the record.
    pub column: &'static str,
    /// Name on the command line and in tables.
    pub name: &'static str,
    /// Name in hyperfine's `--metrics` and JSON, if hyperfine has the metric.
    pub hyperfine: Option<&'static str>,
    pub quantity: Quantity,
    pub source: MetricSource,
    /// One line for the documentation.
    pub what: &'static str,
}

const NS: Quantity = Quantity::Time { ns_per_unit: 1 };
const PS: Quantity = Quantity::Picoseconds;
const US: Quantity = Quantity::Time { ns_per_unit: 1000 };
const BYTES: Quantity = Quantity::Memory { bytes_per_unit: 1 };
const KIB: Quantity = Quantity::Memory { bytes_per_unit: 1024 };
const COUNT: Quantity = Quantity::Count;

/// Makes the enum and the table. A row: metric, column, name, hyperfine's name, quantity, source, description.
macro_rules! metrics {
    ($($metric:ident: $column:literal, $name:literal, $hyperfine:literal, $quantity:ident, $source:ident, $what:literal;)*) => {
        /// One measured quantity of one run. The discriminant is the index into [`METRICS`] and into a row's values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Metric { $($metric),* }

        /// Every metric, in the order of the enum and of the record's columns.
        pub static METRICS: [MetricInfo; [$($name),*].len()] = [$(MetricInfo {
            metric: Metric::$metric,
            column: $column,
            name: $name,
            hyperfine: if $hyperfine.is_empty() { None } else { Some($hyperfine) },
            quantity: $quantity,
            source: MetricSource::$source,
            what: $what,
        }),*];
    };
}

metrics! {
    WallNs: "wall_ns", "wall", "time_wall_clock", NS, Always,
        "from just before execve in the child until the parent has seen the exit";
    SpawnNs: "spawn_ns", "spawn", "", NS, Always,
        "from the clone call until the clock started; not part of wall_ns";
    UserUs: "user_us", "user", "time_user", US, Always,
        "CPU time in user mode (wait4), without that of the probe";
    SysUs: "sys_us", "sys", "time_system", US, Always,
        "CPU time in the kernel (wait4)";
    MaxrssKib: "maxrss_kib", "maxrss", "memory_peak_resident", KIB, Always,
        "peak resident set of the largest process of the run (wait4); never below the launcher's own";
    MinorFaults: "minor_faults", "minor-faults", "", COUNT, Always,
        "page faults served without input or output";
    MajorFaults: "major_faults", "major-faults", "", COUNT, Always,
        "page faults that had to read from a device";
    VoluntarySwitches: "voluntary_switches", "voluntary-switches", "", COUNT, Always,
        "times the run gave the CPU away to wait for something";
    InvoluntarySwitches: "involuntary_switches", "involuntary-switches", "", COUNT, Always,
        "times the scheduler took the CPU from the run";
    RunQueueWaitNs: "run_queue_wait_ns", "run-queue-wait", "", NS, Schedstat,
        "time the first process was ready but had no CPU, from its creation on (schedstat)";
    TaskClockNs: "task_clock_ns", "task-clock", "", NS, Software,
        "CPU time of all processes of the run, from execve on";
    Migrations: "migrations", "migrations", "", COUNT, Software,
        "moves from one CPU to another";
    PreemptedNs: "preempted_ns", "preempted", "", NS, Software,
        "time between being preempted and running again, over all threads (perf context_switch records)";
    Cycles: "cycles", "cycles", "cpu_cycles", COUNT, Hardware,
        "CPU cycles";
    Instructions: "instructions", "instructions", "instructions", COUNT, Hardware,
        "instructions retired";
    Branches: "branches", "branches", "", COUNT, Hardware,
        "branch instructions retired";
    BranchMisses: "branch_misses", "branch-misses", "branch_misses", COUNT, Hardware,
        "mispredicted branches";
    CacheReferences: "cache_references", "cache-references", "cache_references", COUNT, Hardware,
        "last-level cache accesses";
    CacheMisses: "cache_misses", "cache-misses", "cache_misses", COUNT, Hardware,
        "last-level cache misses";
    RunningPpm: "running_ppm", "running-ppm", "", COUNT, Hardware,
        "parts per million of the run during which the least scheduled hardware event was counting; empty when all counted all the time";
    Loops: "loops", "loops", "", COUNT, Worker,
        "how often the worker ran the benchmark in this slice";
    CpuNs: "cpu_ns", "cpu-clock", "", NS, Worker,
        "CPU time of all threads of the worker during this slice, by its own clock";
    EmptyLoopPs: "empty_loop_ps", "empty-loop", "", PS, Worker,
        "what one turn of an empty loop took in this worker, ps";
    StalledNs: "stalled_ns", "stalled", "", NS, Schedstat,
        "time in which something of the run was ready and none of it ran; clean time is wall time without it";
    UnclearNs: "unclear_ns", "unclear", "", NS, Schedstat,
        "time in which none of the run ran, asleep or waiting, which nothing here can tell apart";
    OneChainNs: "one_chain_ns", "one-chain", "", NS, Probe,
        "CPU time of a chain of additions on the run's CPU just before the run";
    FourChainsNs: "four_chains_ns", "four-chains", "", NS, Probe,
        "CPU time of four such chains at a time: longer than one chain if the core's other hardware thread is busy";
    RunnableMax: "runnable_max", "runnable-max", "", COUNT, Software,
        "most threads of the run that ran or were ready at a time";
    CrowdedNs: "crowded_ns", "crowded", "", NS, Software,
        "time in which more threads of the run ran or were ready than it had CPUs";
    QuotaNs: "quota_ns", "quota", "", NS, ControlGroup,
        "time for which a CPU quota stopped the control group, over all CPUs (cpu.stat)";
    TreePeakBytes: "tree_peak_bytes", "tree-memory", "", BYTES, ControlGroup,
        "peak memory of all processes of the run together, by the count of a control group of their own";
    ImpossibleStallNs: "impossible_stall_ns", "impossible-stall", "", NS, Schedstat,
        "part of unclear_ns that the records call a stall, and that other counts of the run rule out";
    CountingNs: "counting_ns", "counting", "", NS, Valgrind,
        "wall time of a run under valgrind, which is no time of the program; such a run has no other times";
    SystemCalls: "system_calls", "system-calls", "", COUNT, Valgrind,
        "system calls of the iterations that are counted, without readings of the clock";
    LeftOut: "left_out", "left-out", "", COUNT, Valgrind,
        "instructions of the counted iterations that `instructions` leaves out: Go's scheduler and collector";
}

impl MetricInfo {
    /// Converts a stored integer to ns, bytes or pieces. A hardware event that shared its register counted for only
    /// `running_ppm` of the time, so it is scaled up.
    pub fn in_base_unit(&self, stored: u64, running_ppm: Option<u64>) -> f64 {
        let stored = stored as f64;
        match self.quantity {
            Quantity::Time { ns_per_unit } => stored * f64::from(ns_per_unit),
            Quantity::Picoseconds => stored / 1e3,
            Quantity::Memory { bytes_per_unit } => stored * f64::from(bytes_per_unit),
            Quantity::Count
                if self.metric != Metric::RunningPpm && self.source == MetricSource::Hardware =>
            {
                running_ppm.map_or(stored, |ppm| stored * 1e6 / ppm as f64)
            }
            Quantity::Count => stored,
        }
    }
}

impl Metric {
    pub fn info(self) -> &'static MetricInfo {
        &METRICS[self as usize]
    }

    /// The metric of a run in its base unit. `get`: the stored integers of the run.
    pub fn in_base_unit(self, get: impl Fn(Self) -> Option<u64>) -> Option<f64> {
        Some(self.info().in_base_unit(get(self)?, get(Self::RunningPpm)))
    }

    /// The metric of a record's column; `None` if this version does not know it.
    pub fn from_column(column: &str) -> Option<Self> {
        METRICS.iter().find(|info| info.column == column).map(|info| info.metric)
    }

    /// The metric with this name: Stillwell's name, the column, or hyperfine's name.
    pub fn from_name(name: &str) -> Option<Self> {
        METRICS
            .iter()
            .find(|info| info.name == name || info.column == name || info.hyperfine == Some(name))
            .map(|info| info.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_integers_become_base_units() {
        assert_eq!(Metric::UserUs.info().in_base_unit(3, None), 3000.0);
        assert_eq!(Metric::MaxrssKib.info().in_base_unit(2, None), 2048.0);
        assert_eq!(Metric::Cycles.info().in_base_unit(10, Some(500_000)), 20.0);
        assert_eq!(Metric::MinorFaults.info().in_base_unit(10, Some(500_000)), 10.0);
        assert_eq!(Metric::RunningPpm.info().in_base_unit(500_000, Some(500_000)), 500_000.0);
    }

    #[test]
    fn every_name_finds_its_metric() {
        for info in &METRICS {
            assert_eq!(Metric::from_column(info.column), Some(info.metric));
            for name in [Some(info.name), Some(info.column), info.hyperfine].into_iter().flatten() {
                assert_eq!(Metric::from_name(name), Some(info.metric), "{name}");
            }
        }
        assert_eq!(Metric::from_name("walls"), None);
    }
}
