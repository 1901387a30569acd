#![doc = include_str!("../README.md")]
//!
//! Record → analysis: every number of any output, without formatting. Pure; all statistics come from `stats`.

mod activity;
pub mod advice;
mod arm;
mod arm_values;
mod best;
pub mod calibrate;
pub mod ceilings;
mod clocks;
mod coarse_steps;
mod compare;
mod compared_times;
mod comparison;
pub mod convert;
mod crowding;
pub mod distributions;
mod disturbance;
pub mod estimators;
mod evidence;
pub mod exact;
pub mod files;
mod finding;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod histogram;
pub mod launches;
mod layouts;
pub mod ledger;
pub mod live;
mod long_slices;
pub mod low_runs;
mod memory_floor;
mod neighbours;
mod notes;
mod outliers;
pub mod pool;
mod quiet;
mod ranking;
pub mod report;
pub mod select;
pub mod series;
mod sessions;
mod single;
mod sliced;
mod steadiness;
pub mod suite;
mod summary;
mod times;
pub mod trial;
mod unsteady;
pub mod verdict;
pub mod walls;
pub mod watch;
#[cfg(any(test, feature = "fixtures"))]
pub mod weather;
pub mod work;

use record::Record;

pub use activity::{Activity, CountKind, RunCount, activities};
pub use arm::summarise;
pub use arm_values::by_arm;
pub use best::{BestChoice, BestChoices};
pub use ceilings::{CeilingAnswer, against_ceiling};
pub use clocks::{compares_time, compares_times};
pub use coarse_steps::{ReadingStep, may_have_steps, misread, widened, widened_ratio};
pub use compared_times::{ComparedStatistic, ComparedTime, ComparedTimes};
pub use comparison::{
    Comparison, DecisionEstimate, Evidence, NoTest, PairedDecision, PairedTest, PastSessions,
    RatioInterval, SameDoubt, SessionChange, SlowRuns, StatisticName, UnevenShape,
};
pub use disturbance::{Disturbance, DisturbanceSource, other_quantity};
pub use estimators::{Estimators, Ratios, estimators};
pub use finding::{Finding, Note};
pub use layouts::over_layouts;
pub use long_slices::LongSlices;
pub use low_runs::{LoneRun, Oddity, WorkCount};
pub use memory_floor::MemoryLimits;
pub use neighbours::Neighbours;
pub use outliers::{Cause, CountName, ExcessTime, Outlier, Outliers};
pub use ranking::{Ranking, geometric_mean};
pub use sessions::{LEVEL_MIN, across_records, shift_options};
pub use single::Analysis;
pub use steadiness::{
    ArmCheck, RUNS_MIN, RecordCheck, Steadiness, SteadinessCheck, SteadinessFlag, check_record,
    raised,
};
pub use summary::{
    ArmSummary, InterruptionSummary, LimitCause, MetricSummary, NetTimes, SLOW_TAIL, SliceSummary,
    StallSummary, TailQuantile, TimeSummary, UncertainValue,
};
pub use times::throughput;
pub use watch::trial_outcome;

pub fn analyse(record: &Record) -> Analysis {
    if record.parts.is_empty() {
        single::analyse_alone(record, summarise(record), None)
    } else {
        suite::analyse(record)
    }
}
