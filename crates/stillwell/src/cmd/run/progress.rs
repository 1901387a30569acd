//! The progress line. It is drawn between pieces of the schedule and never while a run is being timed; there is no
//! ticker.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::analysis::live::Live;
use crate::plan::Plan;
use crate::render::units;

/// Arms whose estimate fits on the line.
const ARMS_SHOWN_MAX: usize = 3;

/// A bar, or nothing.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    shown_arms: Vec<usize>,
}

impl Progress {
    /// A bar on standard error, drawn only if `visible`.
    pub fn new(plan: &Plan, visible: bool, colours: bool) -> Self {
        let target =
            if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        // Shorter than the terminal is wide, so that the ^C it echoes stays on the line that is cleared.
        let template = if colours { "{msg} {bar:20.cyan}" } else { "{msg} {bar:20}" };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is constant"));
        let shown_arms = plan.candidates().map(|(arm, _)| arm).take(ARMS_SHOWN_MAX).collect();
        bar.set_message("warm-up");
        Self { bar, shown_arms }
    }

    /// The number of blocks is known.
    pub fn expect_blocks(&self, n_blocks: u32) {
        self.bar.set_length(n_blocks.into());
    }

    /// Shows how far it is: blocks, the smallest time of the first arms, the expected time to the end.
    pub fn draw(&self, live: &Live, spent_ns: u64) {
        let n_done = live.n_blocks() as u64;
        let Some(n_total) = self.bar.length().filter(|_| n_done > 0) else {
            self.bar.tick();
            return;
        };
        let remaining_ns = spent_ns as f64 / n_done as f64 * n_total.saturating_sub(n_done) as f64;
        let minima = self.shown_arms.iter().filter_map(|&arm| live.min_ns(arm));
        let minima: Vec<_> = minima.map(units::short_time).collect();
        let message = format!(
            "block {n_done}/{n_total}  min {}  {} left",
            minima.join(", "),
            units::short_time(remaining_ns)
        );
        self.bar.set_message(message);
        self.bar.set_position(n_done);
        self.bar.tick();
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
