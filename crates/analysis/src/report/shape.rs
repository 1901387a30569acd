//! How an arm is drawn: location statistics and distribution function.

use serde::Serialize;
use stats::SortedSample;

use crate::summary::{ArmSummary, TimeSummary, UncertainValue};
use record::plan::Plan;

/// Values kept at either end if quantiles replace the middle.
const ENDS: usize = 50;
/// Quantiles of the middle.
const QUANTILES: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmShape {
    pub arm: usize,
    pub label: String,
    pub is_reference: bool,
    pub n: usize,
    /// Noise-free time as measured; `None` without a run.
    pub t0: Option<UncertainValue>,
    /// Whether t0 is only an upper limit.
    pub is_upper_limit: bool,
    /// t0 with its error on both sides, but at most the lowest run that counts: noise only adds. `None` without an
    /// error.
    pub t0_range: Option<[f64; 2]>,
    /// t0 minus the control's t0, if there is a control with one.
    pub net_t0: Option<UncertainValue>,
    pub median: Option<UncertainValue>,
    pub range: Option<[f64; 2]>,
    pub cumulative: Cumulative,
}

/// A distribution function: the share of values that are not above a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cumulative {
    /// Whether `values` is complete. Otherwise it has quantiles, and the values at the ends.
    pub is_exact: bool,
    /// Values, ascending.
    pub values: Vec<f64>,
    /// The distribution function at each value.
    pub shares: Vec<f64>,
}

pub(super) fn shape(plan: &Plan, arm: &ArmSummary, values: &[f64], n_max: usize) -> ArmShape {
    let wall = arm.times.as_ref();
    ArmShape {
        arm: arm.arm,
        label: arm.label.clone(),
        is_reference: plan.reference_of(arm.arm) == arm.arm,
        n: values.len(),
        t0: wall.map(|wall| wall.t0),
        is_upper_limit: wall.is_some_and(|wall| wall.is_upper_limit),
        t0_range: wall.and_then(t0_range),
        net_t0: arm.net.and_then(|net| net.t0),
        median: wall.map(|wall| wall.median),
        range: wall.map(|wall| [wall.min, wall.max]),
        cumulative: cumulative(values, n_max),
    }
}

fn t0_range(times: &TimeSummary) -> Option<[f64; 2]> {
    let UncertainValue { value, err } = times.t0;
    let (lo, hi) = (value - err?, value + err?);
    // t0 of a quantity other than time is the median, with runs on both sides.
    let most = if value > times.most() { hi } else { times.most() };
    Some([lo, hi.min(most)])
}

/// The distribution function: all values up to `n_max`; otherwise the ends, and quantiles between them.
pub fn cumulative(values: &[f64], n_max: usize) -> Cumulative {
    let Ok(sorted) = SortedSample::new(values) else { return Cumulative::default() };
    let (sorted, n) = (sorted.as_slice(), values.len());
    let is_exact = n <= n_max;
    let is_shown = |index: usize| {
        let nth = |index: usize| index * QUANTILES / n;
        is_exact || index < ENDS || n - index <= ENDS || nth(index) != nth(index - 1)
    };
    let mut cumulative = Cumulative { is_exact, ..Cumulative::default() };
    for (index, &value) in sorted.iter().enumerate().filter(|(index, _)| is_shown(*index)) {
        let share = (index + 1) as f64 / n as f64;
        if cumulative.values.last() == Some(&value) {
            // The share at a tie includes the whole tie.
            cumulative.shares.pop();
        } else {
            cumulative.values.push(value);
        }
        cumulative.shares.push(share);
    }
    cumulative
}
