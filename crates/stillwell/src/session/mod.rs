//! A session from its plan to its exit code: orders, measures, records, analyses, judges and shows the runs.

mod core_pairs;
mod forecast;
mod guard;
mod opening;
mod progress;
mod screen;
mod sizing;
mod state;
mod steps;
mod surroundings;
mod visits;
mod whole;

use anyhow::{Context as _, Result};

pub use core_pairs::{core_pairs, hidden_siblings};
pub use guard::{Guard, Voice, interrupted};
pub use opening::{Opening, SampledSession, VisitOpening};
pub use progress::LineClock;
pub use screen::Screen;
pub use state::{SessionState, unfit};
pub use steps::{Session, SessionEnd};
pub use surroundings::{bare_surroundings, instruction_counters, surroundings, told_gap};
pub use visits::{Visit, VisitLimits};

/// 32 random bits: enough for a seed, and short enough to type again.
pub fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
