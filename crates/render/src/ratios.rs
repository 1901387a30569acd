//! Ratios in numbers and in words.

use crate::exported::half_width;
use crate::uncertain;
use crate::units::{percent, signed_percent};
use analysis::exact::agree_within;
use analysis::{PairedTest, RatioInterval, UnevenShape};

/// Decimals of a ratio without a usable error, and digits of a very large or small one.
const RATIO_DECIMALS: usize = 4;

/// A ratio with its error, if finite and not 0.
pub(crate) fn ratio_text(ratio: f64, err: Option<f64>) -> String {
    match err.filter(|err| err.is_finite() && *err != 0.0) {
        Some(err) => uncertain::format(ratio, Some(err)),
        None if err.is_none() => uncertain::significant(ratio, 3),
        None => uncertain::fixed(ratio, RATIO_DECIMALS),
    }
}

/// A ratio and its interval: `1.0183 [1.0129, 1.0238]`. Without `+-`, because the interval need not be symmetric and
/// may have only one end.
pub fn ratio_and_interval(interval: RatioInterval) -> String {
    let text = |end: f64| apart(end, uncertain::fixed(end, RATIO_DECIMALS));
    let known = match interval.ends() {
        [Some(_), Some(_)] => {
            let [lo, ratio, hi] = interval_ends(interval);
            return format!("{ratio} [{lo}, {hi}]");
        }
        [Some(lo), None] if lo >= 1.0 => format!("at least {}", text(lo)),
        [None, Some(hi)] if hi <= 1.0 => format!("at most {}", text(hi)),
        _ => "no interval".into(),
    };
    format!("{} [{known}]", uncertain::significant(interval.ratio, 3))
}

/// Decimals of a ratio of exactly repeating counts.
const EXACT_DECIMALS: usize = 6;

/// Whether an interval has no width.
pub(crate) fn is_exact(interval: RatioInterval) -> bool {
    interval.lo.total_cmp(&interval.hi).is_eq()
}

/// A ratio of exactly repeating counts: `1.00997`, or `1`.
pub(crate) fn exact_text(ratio: f64) -> String {
    let text = uncertain::fixed(ratio, EXACT_DECIMALS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share of exactly repeating counts as a percentage: `0.997 %`.
pub(crate) fn exact_percent(share: f64) -> String {
    format!("{} %", uncertain::significant(share * 100.0, 3))
}

/// Lower end, ratio and upper end, with as many decimals as half of the interval needs.
pub(crate) fn interval_ends(interval: RatioInterval) -> [String; 3] {
    let RatioInterval { ratio, lo, hi } = interval;
    let half = half_width(interval);
    let decimals = uncertain::decimals(ratio, Some(half));
    let text = |number: f64| match decimals {
        Some(decimals) => uncertain::fixed(number, decimals),
        None if half.is_finite() => uncertain::significant(number, RATIO_DECIMALS as i32),
        None => uncertain::fixed(number, RATIO_DECIMALS),
    };
    [apart(lo, text(lo)), text(ratio), apart(hi, text(hi))]
}

/// How well counts repeat. Only for a test with [`PairedTest::repeats`]: tied times have intervals without a width too.
pub(crate) fn repeats(interval: RatioInterval) -> String {
    match is_exact(interval) {
        true => "repeats exactly".into(),
        false => format!("repeats within {}", percent(agree_within(interval))),
    }
}

/// The ratio of a test with its interval, or of repeating counts: `1.00997 exactly`.
pub(crate) fn tested_ratio(paired: &PairedTest, shown: RatioInterval) -> String {
    match paired.repeats && is_exact(shown) {
        true => format!("{} exactly", exact_text(shown.ratio)),
        false => ratio_and_interval(shown),
    }
}

/// A share and its interval as percentages: `12.4 %` and `9.0 to 14.5 %`.
pub(crate) fn percent_ends([share, lo, hi]: [f64; 3]) -> (String, String) {
    let [share, lo, hi] = [share, lo, hi].map(|share| share * 100.0);
    let half = (hi - lo) / 2.0;
    let Some(decimals) = uncertain::decimals(share, Some(half)) else {
        let [share, lo, hi] = [share, lo, hi].map(|number| uncertain::significant(number, 2));
        return (format!("{share} %"), format!("{lo} to {hi} %"));
    };
    let text = |number: f64| {
        let text = uncertain::fixed(number, decimals);
        // An end next to zero is never printed as zero, because it decides.
        let is_zero = text.parse() == Ok(0.0) && number != 0.0;
        if is_zero { uncertain::significant(number, 1) } else { text }
    };
    (format!("{} %", text(share)), format!("{} to {} %", text(lo), text(hi)))
}

/// A factor with the digits that matter: `1.02`, `2.3`, `23`.
pub(crate) fn times_text(factor: f64) -> String {
    uncertain::significant(factor, if factor < 2.0 { 3 } else { 2 })
}

/// The end of an interval with enough decimals to differ from 1, because the verdict depends on that.
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
/// ambiguous: of speed or of time.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        2.0.. => format!("takes {} times as long", uncertain::significant(ratio, 3)),
        1.0.. => format!("{} slower", percent(ratio - 1.0)),
        0.5.. => format!("takes {} less time", percent(1.0 - ratio)),
        _ => format!("takes {} times as long", uncertain::significant(ratio, 2)),
    }
}

/// Ratios that are told in per cent; others are factors.
const IN_PERCENT: std::ops::Range<f64> = 0.5..2.0;

/// Both ratios of a change that is not uniform.
pub fn shape_text(shape: UnevenShape) -> String {
    let what = if shape.typical.max(shape.floor) > 1.0 { "slowdown" } else { "speed-up" };
    let size = |ratio: f64| match IN_PERCENT.contains(&ratio) {
        true => signed_percent(ratio),
        false => format!("{} times", uncertain::significant(ratio, 3)),
    };
    format!("not a uniform {what}: floor {}, typical {}", size(shape.floor), size(shape.typical))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::exact::repeated;

    #[test]
    fn an_interval_may_have_one_end_only() {
        let text = |lo, hi| ratio_and_interval(RatioInterval { ratio: 1.0412, lo, hi });
        assert_eq!(text(1.0103, f64::INFINITY), "1.04 [at least 1.0103]");
        assert_eq!(text(1.00001, f64::INFINITY), "1.04 [at least 1.00001]");
        assert_eq!(text(0.9, f64::INFINITY), "1.04 [no interval]");
        assert_eq!(text(0.0, 0.97), "1.04 [at most 0.9700]");
        assert_eq!(text(0.0, 1.23), "1.04 [no interval]");
        assert_eq!(text(1.01, 1.07), "1.041 [1.010, 1.070]");
    }

    #[test]
    fn two_tiny_ratios_do_not_look_alike() {
        let shape = UnevenShape { floor: 3.2e-14, typical: 3.33e-14 };
        let expected = "floor 3.20e-14 times, typical 3.33e-14 times";
        assert_eq!(shape_text(shape), format!("not a uniform speed-up: {expected}"));
    }

    #[test]
    fn counts_that_repeat_exactly_have_no_interval() {
        let exact = |ratio| RatioInterval { ratio, lo: ratio, hi: ratio };
        let repeated = |ratio| tested_ratio(&repeated(exact(ratio), 3, 1, 0.01), exact(ratio));
        assert_eq!(repeated(1.009_971_9), "1.009972 exactly");
        assert_eq!(repeated(1.0), "1 exactly");
    }

    /// On a coarse clock, all ratios in the interval may lie closer together than any digit.
    #[test]
    fn tied_times_do_not_repeat() {
        let point = RatioInterval { ratio: 1.05, lo: 1.05, hi: 1.05 };
        let paired = PairedTest { repeats: false, ..repeated(point, 30, 1, 0.01) };
        assert!(tested_ratio(&paired, point).contains("[1.05"));
        assert!(percent_ends([0.05; 3]).1.contains(" to "));
    }
}
