//! For a history without a change: which movement is nearest to one, what would decide it, and what would have been
//! seen.

use schemars::JsonSchema;
use serde::Serialize;
use stats::level_shift::{self, Shape, Shift};

use crate::history::detection::{DetectionSettings, options};
use crate::history::series::{Change, ChangeKind, Series};

/// The movement that is nearest to a change, in a history without one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NearestChange {
    /// The series.
    pub series: String,
    /// The movement; its p is above the level, or too large among so many series.
    pub change: Change,
    /// Further results that would make it a change, if they are like those since; `None` if it is not known.
    pub n_more: Option<usize>,
    /// The smallest change at this place that these results would have shown, as a fraction; `None` if unknown.
    pub smallest_visible: Option<f64>,
    /// Day of the first result after the movement, s since 1970.
    pub since_s: i64,
    /// The level of each series: the probability that a series without a change is called changed.
    pub alpha: f64,
}

/// The nearest movement of these series. `None` if one has changed, or if none has enough results for a change.
pub fn nearest(all: &[Series], settings: DetectionSettings) -> Option<NearestChange> {
    if all.iter().any(|series| !series.changes.is_empty()) {
        return None;
    }
    let found = all.iter().filter_map(|series| Some((series, series.nearest.as_ref()?)));
    let (series, change) = found.min_by(|one, other| one.1.p.total_cmp(&other.1.p))?;
    let outlook = stats::logs(&series.values).ok().and_then(|logs| {
        level_shift::outlook(&logs, &shift(change), options(settings)).ok().flatten()
    });
    Some(NearestChange {
        series: series.label(),
        change: change.clone(),
        // If a single p is below the level, only the number of series hides it.
        n_more: outlook.and_then(|it| it.n_more).filter(|_| change.p > settings.alpha),
        smallest_visible: outlook.and_then(|it| it.smallest).map(f64::exp_m1),
        since_s: series.time_s(change.at),
        alpha: settings.alpha,
    })
}

fn shift(change: &Change) -> Shift {
    let (at, until) = (change.at, change.until.unwrap_or(change.at));
    let shape = match change.kind {
        ChangeKind::Level => Shape::Step { at },
        ChangeKind::Spell => Shape::Spell { from: at, to: until },
        ChangeKind::Drift => Shape::Drift { from: at, to: until },
    };
    let [size, lo, hi] = [change.ratio.ratio, change.ratio.lo, change.ratio.hi].map(f64::ln);
    Shift { shape, p: change.p, size, interval: stats::Interval { lo, hi } }
}
