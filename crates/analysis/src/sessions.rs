//! Arms that did not run side by side: an estimate, and the new session's rank among the past ones.

use stats::level_shift::{self, Shape, ShiftOptions};

use crate::RatioInterval;
use crate::comparison::{Evidence, NoTest, PastSessions, SessionChange};
use crate::summary::{ArmSummary, UncertainValue};
use model::values::Better;
use record::plan::DecisionRule;

pub const LEVEL_MIN: usize = 3;
/// Fixed, so the same sessions always have the same changes.
const SEED: u64 = 1;

/// Compares an arm with the same arm of earlier records, the oldest first. There is no test, because drift cancels only
/// within a session.
pub fn across_records(old: &[&ArmSummary], new: &ArmSummary, rule: &DecisionRule) -> Evidence {
    let because = NoTest::SeparateRecords;
    if let [old] = old {
        return unpaired(old, new, rule.better, because);
    }
    if old.iter().chain([&new]).any(|arm| arm.times.is_none()) {
        return Evidence::None { because };
    }
    let cost = |arm: &ArmSummary| Some(rule.better.turned(arm.ratio_t0()?.value));
    let past: Option<Vec<f64>> = old.iter().map(|arm| cost(arm)).collect();
    let rank = past.zip(cost(new)).and_then(|(past, new)| {
        let rank = stats::across_sessions::rank_among(&past, new).ok()?;
        let all: Vec<f64> = past.into_iter().chain([new]).collect();
        let ratio = new / rank.median;
        ratio.is_normal().then(|| (rank, ratio, last_change(&all, rule.alpha)))
    });
    let Some((rank, ratio, change)) = rank else {
        return Evidence::None { because: NoTest::UnfitNumbers };
    };
    let past = PastSessions {
        n_sessions: old.len(),
        n_faster: rank.n_below,
        n_slower: rank.n_above,
        lowest: rank.lowest / rank.median,
        highest: rank.highest / rank.median,
        change,
    };
    Evidence::Unpaired {
        ratio: UncertainValue { value: ratio, err: None },
        because,
        past: Some(past),
    }
}

/// The options of a search for changes of level at this error rate.
pub fn shift_options(alpha: f64, seed: u64) -> ShiftOptions {
    // With so many orders, alpha is the share of two of them, the real one included.
    let n_orders = (2.0 / alpha).ceil() as usize - 1;
    ShiftOptions { alpha, level_min: LEVEL_MIN, n_orders, seed }
}

/// The last change of level, unless the level has come back since.
fn last_change(times: &[f64], alpha: f64) -> Option<SessionChange> {
    let options = shift_options(alpha, SEED);
    let history = level_shift::find(&stats::logs(times).ok()?, options).ok()?;
    let last = history.shifts.last()?;
    let Shape::Step { at } = last.shape else { return None };
    let ratio = RatioInterval::of_logs(last.size, last.interval);
    Some(SessionChange { since: at + 1, ratio, p: last.p })
}

/// Two arms that were not interleaved: the ratio of their t0 as costs, and the reason for no test.
pub(super) fn unpaired(
    old: &ArmSummary,
    new: &ArmSummary,
    better: Better,
    because: NoTest,
) -> Evidence {
    if old.times.is_none() || new.times.is_none() {
        return Evidence::None { because };
    }
    let both = old.ratio_t0().zip(new.ratio_t0());
    let ratio = both.and_then(|(old, new)| match better {
        Better::Lower => new.over(old),
        Better::Higher => old.over(new),
    });
    match ratio {
        Some(ratio) => Evidence::Unpaired { ratio, because, past: None },
        None => Evidence::None { because: NoTest::UnfitNumbers },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{no_runs, times};

    fn session(t0: f64) -> ArmSummary {
        ArmSummary { times: Some(times(t0, 1.0)), ..no_runs() }
    }

    #[test]
    fn a_new_session_has_a_place_among_the_past_ones() {
        let past: Vec<_> = [100.0, 101.0, 99.0, 102.0, 98.0].map(session).into();
        let past: Vec<_> = past.iter().collect();
        let rule = &DecisionRule::default();
        let place = |past: &[&ArmSummary], t0: f64| match across_records(past, &session(t0), rule) {
            Evidence::Unpaired { ratio, because: NoTest::SeparateRecords, past: Some(found) } => {
                (ratio, found)
            }
            other => panic!("{other:?}"),
        };
        let (ratio, found) = place(&past, 110.0);
        assert_eq!((ratio.value, ratio.err), (1.1, None));
        assert_eq!((found.n_sessions, found.n_faster, found.n_slower), (5, 5, 0));
        assert_eq!((found.lowest, found.highest, found.change), (0.98, 1.02, None));
        let (_, tied) = place(&past, 101.0);
        assert_eq!((tied.n_faster, tied.n_slower), (3, 1));
        // With one past session, the errors of both t0 count.
        let one = across_records(&past[..1], &session(110.0), rule);
        let Evidence::Unpaired { ratio, past: None, .. } = one else { panic!("{one:?}") };
        assert!(ratio.err.is_some());
    }

    /// A ratio above 1 is worse, whatever the direction, as it is with a test.
    #[test]
    fn twice_the_throughput_is_half_the_cost() {
        let rule = &DecisionRule { better: Better::Higher, ..DecisionRule::default() };
        let past: Vec<_> = [100.0, 98.0, 102.0].map(session).into();
        let past: Vec<_> = past.iter().collect();
        for past in [&past[..1], &past[..]] {
            let found = across_records(past, &session(200.0), rule);
            let Evidence::Unpaired { ratio, past, .. } = &found else { panic!("{found:?}") };
            assert_eq!(ratio.value, 0.5);
            let place = past.map(|past| (past.n_faster, past.n_slower));
            assert!(place.is_none_or(|place| place == (0, 3)), "{place:?}");
            let Evidence::Unpaired { ratio, .. } = found.of_values(rule.better) else { panic!() };
            assert_eq!(ratio.value, 2.0);
        }
    }

    /// Fifteen sessions at one level; four and the new one at another.
    #[test]
    fn a_change_of_level_is_told_from_a_single_session() {
        let level = |i: usize| if i < 15 { 100.0 } else { 110.0 };
        let past: Vec<_> =
            (0..19).map(|i| session(level(i) + (i * 7 % 10) as f64 / 10.0)).collect();
        let change = |past: &[ArmSummary], t0: f64| {
            let past: Vec<&ArmSummary> = past.iter().collect();
            match across_records(&past, &session(t0), &DecisionRule::default()) {
                Evidence::Unpaired { past: Some(found), .. } => found.change,
                other => panic!("{other:?}"),
            }
        };
        let found = change(&past, 110.5).unwrap();
        assert_eq!(found.since, 16);
        assert!(found.ratio.lo > 1.09 && found.ratio.hi < 1.11 && found.p <= 0.01, "{found:?}");
        assert_eq!(change(&past[..15], 110.5), None);
    }

    #[test]
    fn without_a_time_there_is_no_place() {
        let nothing = ArmSummary { times: None, ..session(1.0) };
        let rule = &DecisionRule::default();
        // Without a finished run there are no numbers that could be unfit.
        for (past, new) in [(&nothing, &session(1.0)), (&session(1.0), &nothing)] {
            let found = across_records(&[&session(1.0), past], new, rule);
            let because = NoTest::SeparateRecords;
            assert!(matches!(found, Evidence::None { because: it } if it == because), "{found:?}");
        }
        let zero = across_records(&[&session(0.0), &session(0.0)], &session(1.0), rule);
        assert!(matches!(zero, Evidence::None { because: NoTest::UnfitNumbers }), "{zero:?}");
    }
}
