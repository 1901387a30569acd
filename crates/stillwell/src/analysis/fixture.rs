//! Summaries for the tests, built in memory.

use crate::analysis::summary::{TimeSummary, UncertainValue};

/// Times whose statistics all have this value and this error.
pub(super) fn times(value: f64, err: f64) -> TimeSummary {
    let uncertain = UncertainValue { value, err: Some(err) };
    TimeSummary {
        t0: uncertain,
        has_floor: true,
        min: value,
        max: value,
        low20: uncertain,
        median: uncertain,
        mean: uncertain,
        sd: Some(0.0),
        cv: Some(0.0),
        quantiles: [value; 4],
    }
}
