//! Arms that did not run side by side: an estimate, and the place of the new session among the past ones.

use crate::analysis::comparison::{Evidence, NoTest, PastSessions};
use crate::analysis::summary::{ArmSummary, UncertainValue};

/// An arm of one record against the same arm of earlier records. There is no test: drift cancels within a session, but
/// not between sessions.
pub fn across_records(old: &[&ArmSummary], new: &ArmSummary) -> Evidence {
    let because = NoTest::SeparateRecords;
    if let [old] = old {
        return unpaired(old, new, because);
    }
    let past: Option<Vec<f64>> = old.iter().map(|arm| Some(shown_t0(arm)?.value)).collect();
    let rank = past.zip(shown_t0(new)).and_then(|(past, new)| {
        let rank = stats::across_sessions::rank_among(&past, new.value).ok()?;
        Some((rank, new.value / rank.median)).filter(|(_, ratio)| ratio.is_finite())
    });
    let Some((rank, ratio)) = rank else {
        return Evidence::None { because: NoTest::UnfitNumbers };
    };
    let past = PastSessions {
        n_sessions: old.len(),
        n_faster: rank.n_below,
        n_slower: rank.n_above,
        lowest: rank.lowest / rank.median,
        highest: rank.highest / rank.median,
    };
    Evidence::Unpaired {
        ratio: UncertainValue { value: ratio, err: None },
        because,
        past: Some(past),
    }
}

/// t0, minus that of the control if there is one.
fn shown_t0(arm: &ArmSummary) -> Option<UncertainValue> {
    arm.net.map(|net| net.t0).or(arm.wall.as_ref().map(|wall| wall.t0))
}

/// Two arms whose runs were not interleaved: the ratio of their t0, and the reason for no test.
pub(super) fn unpaired(old: &ArmSummary, new: &ArmSummary, because: NoTest) -> Evidence {
    let Some((old, new)) = shown_t0(old).zip(shown_t0(new)) else {
        return Evidence::None { because };
    };
    if old.value == 0.0 || !(new.value / old.value).is_finite() {
        return Evidence::None { because: NoTest::UnfitNumbers };
    }
    let ratio = match (old.measured(), new.measured()) {
        (Some(old), Some(new)) => {
            let ratio = new.over(old);
            UncertainValue { value: ratio.value, err: Some(ratio.err) }
        }
        _ => UncertainValue { value: new.value / old.value, err: None },
    };
    Evidence::Unpaired { ratio, because, past: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::times;

    fn session(t0: f64) -> ArmSummary {
        ArmSummary {
            arm: 0,
            label: "x".into(),
            is_hidden: false,
            n_runs: 30,
            n_timed_out: 0,
            n_failed: 0,
            n_nonzero_exits: 0,
            wall: Some(times(t0, 1.0)),
            net: None,
            metrics: Vec::new(),
            sliced: None,
        }
    }

    #[test]
    fn a_new_session_has_a_place_among_the_past_ones() {
        let past: Vec<_> = [100.0, 101.0, 99.0, 102.0, 98.0].map(session).into();
        let past: Vec<_> = past.iter().collect();
        let place = |past: &[&ArmSummary], t0: f64| match across_records(past, &session(t0)) {
            Evidence::Unpaired { ratio, because: NoTest::SeparateRecords, past: Some(found) } => {
                (ratio, found)
            }
            other => panic!("{other:?}"),
        };
        let (ratio, found) = place(&past, 110.0);
        assert_eq!((ratio.value, ratio.err), (1.1, None));
        assert_eq!((found.n_sessions, found.n_faster, found.n_slower), (5, 5, 0));
        assert_eq!((found.lowest, found.highest), (0.98, 1.02));
        let (_, tied) = place(&past, 101.0);
        assert_eq!((tied.n_faster, tied.n_slower), (3, 1));
        // With one past session, the errors of both t0 count.
        let one = across_records(&past[..1], &session(110.0));
        let Evidence::Unpaired { ratio, past: None, .. } = one else { panic!("{one:?}") };
        assert!(ratio.err.is_some());
    }

    #[test]
    fn without_a_time_there_is_no_place() {
        let nothing = ArmSummary { wall: None, ..session(1.0) };
        let found = across_records(&[&session(1.0), &nothing], &session(1.0));
        assert!(matches!(found, Evidence::None { because: NoTest::UnfitNumbers }), "{found:?}");
        let zero = across_records(&[&session(0.0), &session(0.0)], &session(1.0));
        assert!(matches!(zero, Evidence::None { because: NoTest::UnfitNumbers }), "{zero:?}");
    }
}
