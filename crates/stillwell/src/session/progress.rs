//! The progress line. It is drawn between pieces of the schedule and never while a run is being timed; there is no
//! ticker.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;

use crate::analysis::live::LiveTimes;
use crate::analysis::watch::{ComparisonProgress, SessionComparisons};
use crate::plan::{BlockRule, Plan};
use crate::render::{shorten, uncertain, units};

/// Arms whose estimate fits on the line.
const ARMS_SHOWN_MAX: usize = 3;

/// Columns of the bar, with the space before it and a margin.
const BAR_COLUMNS: usize = 16;
/// Parts of the bar.
const BAR_LENGTH: u64 = 1000;

/// A line on standard error with a bar. A hidden line draws nothing.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    colours: bool,
    shown_arms: Vec<usize>,
    /// The largest number of blocks, where it is known, and the longest time.
    n_blocks_max: Option<u32>,
    budget_ns: Option<u64>,
    beginning: String,
}

impl ProgressLine {
    /// A bar on standard error, drawn only if `visible`.
    pub fn new(plan: &Plan, visible: bool, colours: bool) -> Self {
        let target =
            if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(BAR_LENGTH), target);
        let shown_arms = plan.candidates().map(|(arm, _)| arm).take(ARMS_SHOWN_MAX).collect();
        let (n_blocks_max, budget_ns) = match plan.blocks {
            BlockRule::Exactly(n_blocks) => (Some(n_blocks), None),
            BlockRule::Budget { budget_ns, max, .. } => {
                (Some(max).filter(|&max| max < u32::MAX), Some(budget_ns))
            }
        };
        let beginning = String::new();
        let line = Self { bar, colours, shown_arms, n_blocks_max, budget_ns, beginning };
        line.say("warm-up");
        line
    }

    /// Begins the line with this text.
    pub fn begin_with(&mut self, text: String) {
        self.say(&format!("{text}warm-up"));
        self.beginning = text;
    }

    /// Replaces the budget by a number of blocks.
    pub fn expect_blocks(&mut self, n_blocks: u32) {
        (self.n_blocks_max, self.budget_ns) = (Some(n_blocks), None);
    }

    /// Draws the number of blocks, the ratio so far or the smallest times, and the expected time to the decision and
    /// to the end.
    pub fn draw(&self, live: &LiveTimes, watch: Option<&SessionComparisons>) {
        let n_done = live.n_blocks();
        if n_done == 0 {
            self.bar.tick();
            return;
        }
        let span_ns = live.span_ns() as f64;
        let block_ns = span_ns / n_done as f64;
        let by_blocks = self.n_blocks_max.map(|max| f64::from(max) * block_ns);
        let by_budget = self.budget_ns.map(|budget_ns| budget_ns as f64);
        let all_ns = by_blocks.into_iter().chain(by_budget).fold(f64::INFINITY, f64::min);
        let left_ns = (all_ns - span_ns).max(0.0);
        let left = units::short_time(left_ns);
        let middle = match watch.and_then(SessionComparisons::standing) {
            None => format!("min {}  {left} left", self.minima(live)),
            Some(standing) => {
                let wait_ns = block_ns * (standing.expected_blocks - n_done as f64).max(1.0);
                let wait = (wait_ns < left_ns).then(|| units::short_time(wait_ns));
                so_far(&standing, wait.as_deref(), &left)
            }
        };
        self.say(&format!("{}block {n_done}  {middle}", self.beginning));
        self.bar.set_position((span_ns / all_ns.max(1.0) * BAR_LENGTH as f64) as u64);
        self.bar.tick();
    }

    /// Sets the text. On a narrow terminal the bar is left out, and then the middle of the text: a line that is longer
    /// than the terminal cannot be cleared when that is resized.
    fn say(&self, text: &str) {
        let size = tcgetwinsize(std::io::stderr()).ok();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
        // The line is shorter than the terminal, so the echo of ^C stays on the line that is cleared.
        let text = shorten(text, columns.map_or(usize::MAX, |columns| columns.saturating_sub(3)));
        let has_bar = columns.is_none_or(|columns| text.chars().count() + BAR_COLUMNS < columns);
        let template = match (has_bar, self.colours) {
            (true, true) => "{msg} {bar:12.cyan}",
            (true, false) => "{msg} {bar:12}",
            (false, _) => "{msg}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is constant");
        self.bar.set_style(style);
        self.bar.set_message(text);
    }

    fn minima(&self, live: &LiveTimes) -> String {
        let minima = self.shown_arms.iter().filter_map(|&arm| live.min_ns(arm));
        minima.map(units::short_time).collect::<Vec<_>>().join(", ")
    }

    /// Clears the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The comparison that is still open. `wait` is the time to its decision, if that comes before the end.
fn so_far(standing: &ComparisonProgress, wait: Option<&str>, left: &str) -> String {
    let ComparisonProgress { n_comparisons, n_open, ratio, err, .. } = *standing;
    let decided = match n_comparisons {
        1 => String::new(),
        n => format!("{}/{n} decided  ", n - n_open),
    };
    let ratio = uncertain::format(ratio, Some(err));
    match wait {
        Some(wait) => format!("{decided}ratio {ratio}  {wait} to {left} left"),
        None => format!("{decided}ratio {ratio}  {left} left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_open() {
        let one = ComparisonProgress {
            n_comparisons: 1,
            n_open: 1,
            ratio: 1.0123,
            err: 0.0081,
            expected_blocks: 60.0,
        };
        let line = so_far(&one, Some("2.00 s"), "9.00 s");
        assert_eq!(line, "ratio 1.0123 +- 0.0081  2.00 s to 9.00 s left");
        let five = ComparisonProgress { n_comparisons: 5, n_open: 2, ..one };
        let line = so_far(&five, None, "9.00 s");
        assert_eq!(line, "3/5 decided  ratio 1.0123 +- 0.0081  9.00 s left");
    }
}
