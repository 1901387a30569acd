//! Ratios in numbers and in words.

use crate::analysis::RatioInterval;
use crate::render::exported::half_width;
use crate::render::uncertain;
use crate::render::units::percent;

/// Decimals of a ratio without a usable error, and digits of a very large or small one.
const RATIO_DECIMALS: usize = 4;

/// A ratio, with its error if that is finite and not 0.
pub(in crate::render) fn ratio_text(ratio: f64, err: Option<f64>) -> String {
    match err.filter(|err| err.is_finite() && *err != 0.0) {
        Some(err) => uncertain::format(ratio, Some(err)),
        None if err.is_none() => uncertain::significant(ratio, 3),
        None => uncertain::fixed(ratio, RATIO_DECIMALS),
    }
}

/// `1.0183 +- 0.0055  [1.0129, 1.0238]`.
pub(super) fn ratio_and_interval(interval: RatioInterval) -> String {
    let half = half_width(interval);
    if !half.is_finite() {
        return format!("{}  [no interval]", ratio_text(interval.ratio, Some(half)));
    }
    let end = |end: f64| {
        apart(
            end,
            match uncertain::decimals(interval.ratio, Some(half)) {
                Some(decimals) => uncertain::fixed(end, decimals),
                None if half.is_finite() => uncertain::significant(end, RATIO_DECIMALS as i32),
                None => uncertain::fixed(end, RATIO_DECIMALS),
            },
        )
    };
    format!(
        "{}  [{}, {}]",
        ratio_text(interval.ratio, Some(half)),
        end(interval.lo),
        end(interval.hi)
    )
}

/// The end of an interval with enough decimals to differ from 1: the verdict depends on that difference.
fn apart(end: f64, text: String) -> String {
    let n_decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let is_one = |text: &str| text.parse() == Ok(1.0);
    let longer = (n_decimals + 1..=n_decimals + 4).map(|n| uncertain::fixed(end, n));
    if end == 1.0 || !is_one(&text) {
        return text;
    }
    longer.into_iter().find(|longer| !is_one(longer)).unwrap_or(text)
}

/// A ratio in words: `5 % slower`, `takes 30 % less time`, and factors for large ones. "30 % faster" would be
/// ambiguous: it may be of the speed or of the time.
pub(in crate::render) fn change(ratio: f64) -> String {
    match ratio {
        2.0.. => format!("takes {} times as long", uncertain::significant(ratio, 3)),
        1.0.. => format!("{} slower", percent(ratio - 1.0)),
        0.5.. => format!("takes {} less time", percent(1.0 - ratio)),
        _ => format!("takes {} times as long", uncertain::significant(ratio, 2)),
    }
}
