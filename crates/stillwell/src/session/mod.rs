//! A session from its plan to its exit code: order, measure, keep; then analyse, judge and show what was kept.

mod guard;
mod progress;
mod screen;
mod session;
mod start;
mod visits;
mod whole;

use anyhow::{Context as _, Result};

pub use guard::{Guard, user_of_workers};
pub use progress::Progress;
pub use screen::Screen;
pub use session::{Ended, Seen, Session};
pub use start::SessionStart;
pub use visits::Visit;

/// A run, or an answer, took too long.
pub const EXIT_TIMEOUT: u8 = 124;
/// ^C, or SIGTERM.
pub const EXIT_INTERRUPTED: u8 = 130;

/// 32 random bits: enough for a seed, and short enough to type again.
pub fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
