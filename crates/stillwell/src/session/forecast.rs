//! Warns if the budget has no room for the fewest blocks. A wrong forecast is withdrawn.

use record::plan::Plan;
use render::budget::{has_room, short_budget};

/// Blocks before a forecast (0: after a round of the warm-up), and the factor by which the fewest blocks must exceed
/// the budget. Later forecasts leave out the first block, which cold caches often slow.
const FORECASTS: [(u32, f64); 3] = [(0, 3.0), (1, 3.0), (3, 1.5)];

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BudgetForecast {
    is_short: bool,
    first_ns: u64,
    /// Number of blocks at the last forecast.
    after: Option<u32>,
}

impl BudgetForecast {
    /// The message after `n_run` blocks that took `span_ns`, or after a round of the warm-up.
    pub(super) fn after(&mut self, plan: &Plan, n_run: u32, span_ns: u64) -> Option<String> {
        let (min, _, budget_ns) = plan.blocks.bounds();
        if n_run == 1 {
            self.first_ns = span_ns;
        }
        if self.is_short {
            let has_fitted = n_run >= min && span_ns <= budget_ns;
            self.is_short = !has_fitted;
            return has_fitted.then(|| has_room(min));
        }
        // Several short blocks may pass between two calls.
        let (at, factor) = FORECASTS.into_iter().rfind(|(n_blocks, _)| *n_blocks <= n_run)?;
        if self.after.replace(at) == Some(at) {
            return None;
        }
        let block_ns = match n_run {
            0 | 1 => span_ns,
            n => span_ns.saturating_sub(self.first_ns) / u64::from(n - 1),
        };
        let is_far = block_ns as f64 * f64::from(min) >= factor * budget_ns as f64;
        let text = short_budget(plan, block_ns).filter(|_| is_far)?;
        self.is_short = true;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;
    use record::plan::BlockRule;
    use stats::Stream;

    const BUDGET_NS: u64 = 10_000_000_000;
    const MIN: u32 = 10;

    /// A made-up session: messages, number of blocks, and the factor by which the fewest blocks exceeded the budget.
    struct MadeUp {
        told: Vec<String>,
        n_blocks: u32,
        too_long: f64,
    }

    /// The first block is up to four times as slow as the others, which scatter by a half.
    fn session(seed: u64) -> MadeUp {
        let mut plan = record(&["a", "b"]).header.plan;
        plan.blocks = BlockRule::Budget { budget_ns: BUDGET_NS, min: MIN, max: u32::MAX, firm: 1 };
        let mut stream = Stream::new(seed);
        let block_ns = 10_f64.powf(8.0 + 2.0 * stream.unit());
        let first = 1.0 + 3.0 * stream.unit();
        let mut forecast = BudgetForecast::default();
        let (mut told, mut n_blocks, mut span_ns, mut fewest_ns) = (Vec::new(), 0, 0, 0.0);
        for block in 0..1000 {
            let factor = if block == 0 { first } else { 0.75 + 0.5 * stream.unit() };
            let time_ns = factor * block_ns;
            fewest_ns += if block < MIN { time_ns } else { 0.0 };
            if block > 0 && span_ns + time_ns as u64 > BUDGET_NS {
                continue;
            }
            (n_blocks, span_ns) = (n_blocks + 1, span_ns + time_ns as u64);
            told.extend(forecast.after(&plan, n_blocks, span_ns));
        }
        MadeUp { told, n_blocks, too_long: fewest_ns / BUDGET_NS as f64 }
    }

    #[test]
    fn over_200_sessions_a_forecast_holds_or_is_withdrawn() {
        let sessions: Vec<MadeUp> = (0..200).map(session).collect();
        let n_short = sessions.iter().filter(|it| it.n_blocks < MIN).count();
        assert!((50..150).contains(&n_short), "{n_short} of 200 were short");
        let mut n_withdrawn = 0;
        for made in &sessions {
            match (made.n_blocks >= MIN, &made.told[..]) {
                (true, []) => {}
                (true, [_, withdrawn]) => {
                    assert!(withdrawn.contains("after all"), "{withdrawn}");
                    n_withdrawn += 1;
                }
                (true, told) => panic!("a forecast stands that was broken: {told:?}"),
                (false, told) => {
                    assert!(told.len() <= 1, "{told:?}");
                    let is_told = !told.is_empty() || made.too_long < 4.0;
                    assert!(is_told, "{} times too long, and nothing was told", made.too_long);
                }
            }
        }
        assert!(n_withdrawn <= 10, "{n_withdrawn} of 200 forecasts were wrong");
    }
}
