#![doc = include_str!("../README.md")]
//!
//!
//! The machine: its properties ([`Facts`]), its missing capabilities ([`Gap`]) and its sources of noise ([`knobs`]).
//! Reading never writes and never fails: unreadable data becomes `None` or a gap. Tuning writes only the files of the
//! knob table, and the journal restores them.

mod absent;
mod boot;
mod caches;
mod capture;
mod cgroup;
mod cmdline;
mod core_pairs;
mod cpu;
mod cpu_table;
mod facts;
mod fault;
mod files;
#[cfg(any(test, feature = "fixtures"))]
mod fixture;
#[cfg(any(test, feature = "fixtures"))]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod fixture_text;
mod gaps;
mod git;
pub mod guardian;
mod identity;
mod interrupts;
mod invoker;
pub mod journal;
pub mod knobs;
mod links;
pub mod local_time;
mod look;
mod mounts;
pub mod priority;
mod processes;
mod recommend;
mod report;
pub mod restore;
mod scratch;
mod services;
pub mod shield;
pub mod shielding;
pub mod sys;
pub mod terminal;
#[cfg(test)]
mod tests;
mod topology;
mod tracepoints;
pub mod tune;
pub mod user_files;
mod value_format;
mod virtualisation;
mod write;

pub use absent::is_offline;
pub use boot::{BootAdvice, BootParameter, BootState, remove_entry};
pub use caches::drop_caches;
pub use capture::capture;
pub use cgroup::{MemoryGroup, memory_group, memory_limit_bytes, quota_counts, why_no_process};
pub use cmdline::CommandLine;
pub use core_pairs::{CorePair, CorePairs, pairs_to_measure, with_hidden_siblings};
pub use cpu_table::{CountedInterrupts, CpuRow, read_cpu_table, read_uptime_seconds};
pub use facts::{Cgroup, Facts, Gap, Git, Topology};
pub use files::{Host, is_gone, reason_unread};
#[cfg(any(test, feature = "fixtures"))]
pub use fixture::{expand, fixture_names};
pub use git::find as find_git;
pub use interrupts::Interrupts;
pub use invoker::{
    check_invoker, command_as, command_of_invoker, environment_as_caller, environment_for,
    invoking_home, invoking_user, is_caller_unknown, user_of_commands, user_of_files,
    without_place_of_git,
};
pub use links::LINKS_MAX;
pub use look::{Survey, look};
pub use processes::{Process, Thread, threads};
pub use recommend::{Recommendation, recommend};
pub use report::{CpusFrom, KnobReport, Standing, SystemReport};
pub use scratch::ScratchDirectory;
pub use services::started_by;
pub use topology::{MemoryNode, cores, cores_first, memory_nodes};
pub use tracepoints::{
    EVENT_FOLDERS, EventFormat, WakeTracepoint, system_call_tracepoint, wake_tracepoint,
    with_tracefs,
};
pub use user_files::{UserDirectory, open_regular};
pub use value_format::parse_cpu_mask;
