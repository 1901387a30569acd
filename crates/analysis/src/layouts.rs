//! The mean ratio over link orders, from a record whose blocks alternate between several.

use stats::pooled::{Center, RandomEffects, centers};
use stats::{Interval, Invalid};

use crate::comparison::RatioInterval;
use crate::walls::Walls;
use record::Record;

/// The second arm ÷ the first over `n` link orders, with an interval at level `1 - alpha`; `None` if fewer than two
/// have runs. The sample is the link orders, because all runs of one order share its layout.
pub fn over_layouts(record: &Record, n: usize, alpha: f64) -> Option<RatioInterval> {
    let mut orders = vec![Vec::new(); n.max(1)];
    for (block, ratio) in Walls::of(record).ratios(0, 1) {
        orders[block % n.max(1)].push(ratio.ln());
    }
    orders.retain(|ratios| !ratios.is_empty());
    let (theta, interval) = over(&orders, alpha).ok()?;
    Some(RatioInterval::of_logs(theta, interval))
}

fn over(orders: &[Vec<f64>], alpha: f64) -> Result<(f64, Interval), Invalid> {
    if orders.len() < 2 {
        return Err(Invalid::TooFew { need: 2, got: orders.len() });
    }
    let found = centers(orders, Center::Typical).and_then(|of_each| RandomEffects::of(&of_each));
    match found {
        Ok(effects) => Ok((effects.mean, effects.interval(alpha)?)),
        // Values without scatter are the same in each order.
        Err(Invalid::NoSpread) => {
            let theta = orders[0][0];
            Ok((theta, Interval { lo: theta, hi: theta }))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the scatter of the orders counts.
    #[test]
    fn more_runs_of_the_same_orders_are_no_more_evidence() {
        let runs = |level: f64, n: usize| -> Vec<f64> {
            (0..n).map(|run| level + 1e-4 * f64::from((run % 3) as u32)).collect()
        };
        let width = |n: usize| {
            let orders = [0.05, -0.04, 0.03, -0.05].map(|level| runs(level, n));
            over(&orders, 0.05).unwrap().1.half_width()
        };
        assert!(width(9) > 0.05, "{}", width(9));
        assert!((width(900) / width(9) - 1.0).abs() < 0.05);
    }

    #[test]
    fn orders_without_scatter_have_an_interval_of_one_point() {
        let orders = vec![vec![0.05; 3]; 4];
        assert_eq!(over(&orders, 0.01), Ok((0.05, Interval { lo: 0.05, hi: 0.05 })));
        assert!(over(&orders[..1], 0.01).is_err());
    }
}
