//! Arms that did not run side by side: an estimate, and a test only if several past sessions show their scatter.

use crate::analysis::comparison::{Evidence, NoTest, PastSessionsTest, RatioInterval};
use crate::analysis::summary::{ArmSummary, UncertainValue};

/// Fewest past sessions that show the scatter between sessions (statistics of the prediction test).
const SESSIONS_MIN: usize = 5;

/// An arm of one record against the same arm of earlier records. Drift cancels within a session, but not between
/// sessions. With few past sessions there is an estimate and no verdict; with enough of them their scatter is the
/// measure.
pub fn across_records(old: &[&ArmSummary], new: &ArmSummary, alpha: f64) -> Evidence {
    if let [old] = old {
        return unpaired(old, new, NoTest::SeparateRecords);
    }
    let (have, need) = (old.len(), SESSIONS_MIN);
    let past: Vec<f64> = old.iter().filter_map(|arm| shown_t0(arm)).map(|t0| t0.value).collect();
    let logs = stats::logs(&past).ok().zip(shown_t0(new).map(|t0| t0.value.ln()));
    let Some((past, new)) = logs.filter(|(past, new)| past.len() == have && new.is_finite()) else {
        return Evidence::None { because: NoTest::UnfitNumbers };
    };
    if have < need {
        let mean = stats::mean(&past).unwrap_or(new);
        let ratio = UncertainValue { value: (new - mean).exp(), err: None };
        return Evidence::Unpaired { ratio, because: NoTest::FewSessions { have, need } };
    }
    match stats::across_sessions::across_sessions(&past, new, alpha) {
        Ok(found) => Evidence::AcrossSessions(PastSessionsTest {
            n_sessions: have,
            p: found.test.p,
            ratio: RatioInterval {
                ratio: found.difference.exp(),
                lo: found.interval.lo.exp(),
                hi: found.interval.hi.exp(),
            },
            alpha,
        }),
        Err(_) => Evidence::None { because: NoTest::UnfitNumbers },
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
    Evidence::Unpaired { ratio, because }
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
    fn past_sessions_say_how_much_sessions_differ() {
        let past: Vec<_> = [100.0, 101.0, 99.0, 102.0, 98.0, 100.0].map(session).into();
        let past: Vec<_> = past.iter().collect();
        let verdict_at = |t0: f64| match across_records(&past, &session(t0), 0.01) {
            Evidence::AcrossSessions(found) => {
                (found.ratio.lo > 1.0, found.n_sessions, found.p <= 0.01)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(verdict_at(103.0), (false, 6, false));
        assert_eq!(verdict_at(110.0), (true, 6, true));
        let few = across_records(&past[..3], &session(110.0), 0.01);
        let because = NoTest::FewSessions { have: 3, need: 5 };
        assert!(matches!(few, Evidence::Unpaired { because: found, .. } if found == because));
    }
}
