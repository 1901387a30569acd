//! What a history without a change says.

use std::fmt::Write as _;

use crate::columns::{one_line, shorten};
use crate::history::day;
use crate::uncertain;
use crate::units::{counted, percent, signed_percent};
use search::history::detection::NearestChange;

/// A movement with a larger p is not worth a word.
const NEAR: f64 = 0.2;

/// What a history without a change says: the level, the nearest movement, and the smallest visible one.
pub(crate) fn no_change(found: &NearestChange) -> Vec<String> {
    let NearestChange { series, change, n_more, smallest_visible, since_s, alpha } = found;
    let p = uncertain::significant(change.p, 2);
    let mut nearest = format!(
        "nearest: {} {} since {}, p = {p}",
        shorten(&one_line(series), 60),
        signed_percent(change.ratio.ratio),
        day(*since_s),
    );
    if let Some(n) = n_more {
        let results = counted(*n, "more result");
        write!(nearest, "; {results} like the last would make it a change").ok();
    }
    let level = uncertain::trimmed(100.0 * alpha, 6);
    let visible = smallest_visible
        .map(|least| format!("smallest change visible there at {level} %: {}", percent(least)));
    // A movement that any order of the results would show is none.
    let nearest = Some(nearest).filter(|_| change.p < NEAR);
    nearest.into_iter().chain(visible).collect()
}
