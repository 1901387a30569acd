//! The progress of a session: a redrawn line on a terminal, else a line every ten seconds. Written between pieces of
//! the schedule, never during a timed run; there is no ticker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;

use analysis::live::LiveTimes;
use analysis::watch::{ComparisonProgress, SessionComparisons};
use host::terminal;
use measure::clock::monotonic_ns;
use model::values::{DecideOn, ValueUnit};
use record::plan::{BlockRule, Plan};
use render::units::{self, DisplayUnit};
use render::{distinct, ratio_and_interval, shorten};

/// Arms whose estimate fits on the line.
const ARMS_SHOWN_MAX: usize = 3;
const NAME_MAX: usize = 18;

/// Columns of the bar, with the space before it and a margin.
const BAR_COLUMNS: usize = 16;
/// Parts of the bar.
const BAR_LENGTH: u64 = 1000;
/// Interval of lines that cannot be redrawn.
const LINE_EVERY_NS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressTarget {
    Bar,
    Lines,
    /// Only notices, without progress lines.
    Notices,
    Nowhere,
}

/// Paces the lines of a log. Clones share their state.
#[derive(Clone, Debug)]
pub struct LineClock {
    last_ns: Arc<AtomicU64>,
}

impl LineClock {
    pub fn start() -> Self {
        Self { last_ns: Arc::new(AtomicU64::new(monotonic_ns())) }
    }

    /// Whether a line is due now; then the next is due ten seconds later.
    pub fn is_due(&self) -> bool {
        self.is_due_at(monotonic_ns())
    }

    fn is_due_at(&self, now_ns: u64) -> bool {
        let last_ns = self.last_ns.load(Ordering::Relaxed);
        let is_due = now_ns.saturating_sub(last_ns) >= LINE_EVERY_NS;
        // Only one of several threads gets the line.
        let swapped = || {
            let order = Ordering::Relaxed;
            self.last_ns.compare_exchange(last_ns, now_ns, order, order)
        };
        is_due && swapped().is_ok()
    }
}

#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    target: ProgressTarget,
    clock: LineClock,
    colours: bool,
    shown_arms: Vec<usize>,
    /// The short name of each arm, and the unit of its values.
    names: Vec<String>,
    units: Vec<ValueUnit>,
    /// What is counted; empty if the values have a unit.
    counted: String,
    /// The largest number of blocks, if known, and the longest time.
    n_blocks_max: Option<u32>,
    budget_ns: Option<u64>,
    /// Blocks that are measured even if the budget is too short.
    n_firm: u32,
    beginning: String,
}

impl ProgressLine {
    pub fn new(plan: &Plan, target: ProgressTarget, colours: bool) -> Self {
        let drawn = match target {
            ProgressTarget::Bar => ProgressDrawTarget::stderr(),
            _ => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(BAR_LENGTH), drawn);
        let shown_arms = plan.candidates().map(|(arm, _)| arm).take(ARMS_SHOWN_MAX).collect();
        let (n_blocks_max, budget_ns) = match plan.blocks {
            BlockRule::Exactly(n_blocks) => (Some(n_blocks), None),
            BlockRule::Budget { budget_ns, max, .. } => {
                (Some(max).filter(|&max| max < u32::MAX), Some(budget_ns))
            }
        };
        let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label()).collect();
        let names = distinct(&labels, NAME_MAX);
        let counted = plan
            .policy
            .decide_on
            .filter(|&it| it != DecideOn::Value && it.unit() == ValueUnit::Count);
        let (beginning, clock) = (String::new(), LineClock::start());
        let line = Self {
            bar,
            target,
            clock,
            colours,
            shown_arms,
            names,
            units: plan.arms.iter().map(|arm| arm.unit).collect(),
            counted: counted.map_or_else(String::new, |it| format!("{} ", it.name())),
            n_blocks_max,
            budget_ns,
            n_firm: plan.blocks.firm(),
            beginning,
        };
        line.say("warm-up");
        line
    }

    /// Goes on with the clock of earlier visits. The line begins with a text.
    pub fn go_on(&mut self, clock: LineClock, beginning: String) {
        self.say(&format!("{beginning}warm-up"));
        (self.clock, self.beginning) = (clock, beginning);
    }

    pub fn expect_blocks(&mut self, n_blocks: u32) {
        (self.n_blocks_max, self.budget_ns) = (Some(n_blocks), None);
    }

    /// Writes a permanent line, unless only errors are wanted.
    pub fn notice(&self, text: &str) {
        if self.target != ProgressTarget::Nowhere {
            self.bar.suspend(|| terminal::say(text));
        }
    }

    /// Draws the number of blocks, the ratio so far or the smallest times, and the time to the decision and to the end.
    pub fn draw(&mut self, live: &LiveTimes, watch: Option<&SessionComparisons>) {
        let is_due = self.target == ProgressTarget::Lines && self.clock.is_due();
        if self.target != ProgressTarget::Bar && !is_due {
            return;
        }
        let n_done = live.n_blocks();
        if n_done == 0 {
            self.bar.tick();
            if is_due {
                self.notice(&format!("{}warm-up", self.beginning));
            }
            return;
        }
        let span_ns = live.span_ns() as f64;
        let block_ns = span_ns / n_done as f64;
        let by_blocks = self.n_blocks_max.map(|max| f64::from(max) * block_ns);
        let firm_ns = f64::from(self.n_firm) * block_ns;
        let by_budget = self.budget_ns.map(|budget_ns| firm_ns.max(budget_ns as f64));
        let all_ns = by_blocks.into_iter().chain(by_budget).fold(f64::INFINITY, f64::min);
        let left_ns = (all_ns - span_ns).max(0.0);
        let left = time_left(left_ns);
        let middle = match watch.and_then(SessionComparisons::standing) {
            None => format!("{}  {left}", self.minima(live)),
            Some(standing) => {
                let wait_ns = block_ns * (standing.expected_blocks - n_done as f64).max(1.0);
                let wait = (wait_ns < left_ns).then(|| units::short_time(wait_ns));
                so_far(&standing, &self.names, wait.as_deref(), &left)
            }
        };
        let text = format!("{}block {n_done}  {middle}", self.beginning);
        if is_due {
            self.notice(&text);
            return;
        }
        self.say(&text);
        self.bar.set_position((span_ns / all_ns.max(1.0) * BAR_LENGTH as f64) as u64);
        self.bar.tick();
    }

    /// Sets the text. A narrow terminal gets no bar, then a shorter text: a line beyond the terminal's width cannot be
    /// cleared after a resize.
    fn say(&self, text: &str) {
        let size = tcgetwinsize(std::io::stderr()).ok();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
        // The line is shorter than the terminal, so the echo of ^C stays on the cleared line.
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

    /// Smallest values of the first arms, with names if there are several.
    fn minima(&self, live: &LiveTimes) -> String {
        let minima = self.shown_arms.iter().filter_map(|&arm| {
            let least = live.min_ns(arm)?;
            let unit = self.units[arm];
            let value = match unit.is_time() {
                true => units::short_time(least),
                false => {
                    let unit = DisplayUnit::for_largest(unit, least);
                    unit.label(&unit.number(least, None))
                }
            };
            Some(if self.shown_arms.len() > 1 {
                format!("{} {value}", self.names[arm])
            } else {
                value
            })
        });
        format!("min {}{}", self.counted, minima.collect::<Vec<_>>().join(", "))
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The remaining time. A session may outlast its budget, because some blocks are measured in any case.
fn time_left(left_ns: f64) -> String {
    if left_ns > 0.0 {
        format!("{} left", units::short_time(left_ns))
    } else {
        "no time left".into()
    }
}

/// The open comparison. `wait`: time to its decision, if before the end at `left`.
fn so_far(
    standing: &ComparisonProgress,
    names: &[String],
    wait: Option<&str>,
    left: &str,
) -> String {
    let ComparisonProgress { n_comparisons, n_open, ratio, arms: (new, old), .. } = *standing;
    let decided = match n_comparisons {
        1 => String::new(),
        n => format!("{}/{n} decided  ", n - n_open),
    };
    let ratio = format!("{} ÷ {} = {}", names[new], names[old], ratio_and_interval(ratio));
    match wait {
        Some(wait) => format!("{decided}{ratio}  {wait} to {left}"),
        None => format!("{decided}{ratio}  {left}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::RatioInterval;

    #[test]
    fn the_line_says_what_is_open() {
        let names = ["gzip -1 f", "gzip -2 f"].map(String::from);
        let one = ComparisonProgress {
            n_comparisons: 1,
            n_open: 1,
            arms: (1, 0),
            ratio: RatioInterval { ratio: 1.0123, lo: 1.0042, hi: 1.0204 },
            expected_blocks: 60.0,
        };
        let line = so_far(&one, &names, Some("2.00 s"), &time_left(9e9));
        let ratio = "gzip -2 f ÷ gzip -1 f = 1.0123 [1.0042, 1.0204]";
        assert_eq!(line, format!("{ratio}  2.00 s to 9.00 s left"));
        let five = ComparisonProgress { n_comparisons: 5, n_open: 2, ..one };
        let line = so_far(&five, &names, None, &time_left(9e9));
        assert_eq!(line, format!("3/5 decided  {ratio}  9.00 s left"));
        assert_eq!(so_far(&one, &names, None, &time_left(0.0)), format!("{ratio}  no time left"));
    }

    #[test]
    fn a_log_gets_a_line_every_ten_seconds() {
        let clock = LineClock { last_ns: Arc::new(AtomicU64::new(0)) };
        let due: Vec<u64> = (0..=35).filter(|s| clock.is_due_at(s * 1_000_000_000)).collect();
        assert_eq!(due, [10, 20, 30]);
    }
}
