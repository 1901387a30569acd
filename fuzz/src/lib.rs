//! The sources of the crate `stillwell`, which is a program, as a library for the fuzzer. A library beside the program
//! would compile every source twice in each build.
#![allow(dead_code, unused_imports, unfulfilled_lint_expectations, reason = "the program uses the rest")]

#[path = "../../crates/stillwell/src/analysis/mod.rs"]
mod analysis;
#[path = "../../crates/stillwell/src/bisection/mod.rs"]
mod bisection;
#[path = "../../crates/stillwell/src/campaign/mod.rs"]
mod campaign;
#[path = "../../crates/stillwell/src/cmd/mod.rs"]
mod cmd;
#[path = "../../crates/stillwell/src/convert/mod.rs"]
mod convert;
#[path = "../../crates/stillwell/src/fair_play/mod.rs"]
mod fair_play;
#[path = "../../crates/stillwell/src/harness/mod.rs"]
mod harness;
#[path = "../../crates/stillwell/src/history/mod.rs"]
mod history;
#[path = "../../crates/stillwell/src/host/mod.rs"]
mod host;
#[path = "../../crates/stillwell/src/ledger.rs"]
mod ledger;
#[path = "../../crates/stillwell/src/link/mod.rs"]
mod link;
#[path = "../../crates/stillwell/src/load/mod.rs"]
mod load;
#[path = "../../crates/stillwell/src/measure/mod.rs"]
mod measure;
#[path = "../../crates/stillwell/src/noise/mod.rs"]
mod noise;
#[path = "../../crates/stillwell/src/plan/mod.rs"]
mod plan;
#[path = "../../crates/stillwell/src/pool/mod.rs"]
mod pool;
#[path = "../../crates/stillwell/src/profile/mod.rs"]
mod profile;
#[path = "../../crates/stillwell/src/race/mod.rs"]
mod race;
#[path = "../../crates/stillwell/src/record/mod.rs"]
mod record;
#[path = "../../crates/stillwell/src/render/mod.rs"]
mod render;
#[path = "../../crates/stillwell/src/schedule.rs"]
mod schedule;
#[path = "../../crates/stillwell/src/session/mod.rs"]
mod session;
#[path = "../../crates/stillwell/src/spec/mod.rs"]
mod spec;
#[path = "../../crates/stillwell/src/sys/mod.rs"]
mod sys;
#[path = "../../crates/stillwell/src/terminal.rs"]
mod terminal;
#[path = "../../crates/stillwell/src/values/mod.rs"]
mod values;
#[path = "../../crates/stillwell/src/verdict.rs"]
mod verdict;
#[path = "../../crates/stillwell/src/words.rs"]
mod words;

pub use cmd::fuzz::{FuzzTarget, Mutator, TARGETS, target};

/// The folder of the crate `stillwell`.
pub fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/stillwell")
}

/// Reads an input as the target of this name does.
pub fn read(name: &str, bytes: &[u8]) {
    (target(name).expect("the name of a target").read)(bytes);
}
