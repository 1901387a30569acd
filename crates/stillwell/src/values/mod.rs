//! The words that every stage shares: units, CPU lists, metrics and the values of options. Each knows how it is written
//! on the command line. This module imports no other.

mod cpu_list;
mod file_format;
pub mod metric;
mod metric_list;
mod numbers;
mod options;
mod rlimit;
mod statistic;
mod tim;
mod worker;

pub use cpu_list::{
    CPUS_MAX, Cpus, format_cpu_list, name_cpus, parse_boot_cpu_list, parse_cpu_list, read_cpu_list,
};
pub use file_format::{Format, TimeUnit};
pub use metric_list::{CPU, MetricList, Shown};
pub use numbers::Numbers;
pub use options::{
    FailOn, IgnoreFailure, Names, OutputTarget, Padding, Percent, Sched, Shell, Statuses, TimeSpan,
};
pub use rlimit::Rlimit;
pub use statistic::{ALPHA_PCT_RANGE, CALIBRATION_RUNS_MIN, Estimand, Estimate, Middle, Order};
pub use tim::TimShape;
pub use worker::{Gc, Headline, Unit};
