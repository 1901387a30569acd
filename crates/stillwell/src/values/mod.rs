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
pub use file_format::{FileFormat, TimeUnit};
pub use metric_list::{CPU, MetricChoice, MetricList};
pub use numbers::LaunchNumbers;
pub use options::{
    ExitStatuses, FailOn, IgnoreFailure, NameList, OutputTarget, Padding, Percent, Sched, Shell,
    TimeSpan,
};
pub use rlimit::Rlimit;
pub use statistic::{ALPHA_PCT_RANGE, Average, CALIBRATION_RUNS_MIN, Estimand, Estimate, Order};
pub use tim::TimShape;
pub use worker::{Gc, Headline, ValueUnit};
