//! Values that every stage shares: units, CPU lists, metrics and option values, each with a parser for the command
//! line. This module imports no other.

mod ceiling;
mod cheat_kind;
mod compared;
mod core;
mod cpu_list;
pub mod exit_code;
mod exit_status;
mod fail_on;
pub mod metric;
mod metric_list;
mod name_pattern;
mod percent;
mod process;
mod statistic;
#[cfg(test)]
mod test_parsing;
mod time_span;
mod worker;

pub use ceiling::{Ceiling, known_unit};
pub use cheat_kind::{CheatKind, ErrorControl};
pub use compared::{Better, Compared, CounterChoice, DecideOn, time_ns};
pub use core::is_core_shared;
pub use cpu_list::{
    CPUS_MAX, Cpus, format_cpu_list, name_cpus, parse_boot_cpu_list, parse_cpu_list, read_cpu_list,
};
pub use exit_status::{ExitStatuses, IgnoreFailure};
pub use fail_on::FailOn;
pub use metric_list::{CPU, MetricChoice, MetricList, TimeUnit, VALUE};
pub use name_pattern::{NameList, NamePattern};
pub use percent::Percent;
pub use process::{MemoryMode, MemoryPolicy, Numa, OutputTarget, Padding, Sched, Shell, Threads};
pub(crate) use statistic::option_value;
pub use statistic::{
    ALPHA_PCT_RANGE, CALIBRATION_RUNS_MIN, Clock, Estimand, Estimate, FileStatistic, Order,
    Priority, ProcessValue,
};
pub use time_span::TimeSpan;
pub use worker::{Gc, Headline, ValueUnit};
