//! Notes on times that are not steady, with one remedy for a slow start.

use crate::comparison::Comparison;
use crate::finding::{Finding, Note};
use crate::steadiness::{SlowStart, SteadinessFlag, unstable_candidates};
use record::Record;

/// The arms whose times are not stable, and the slow start that a comparison leaves out.
pub(super) fn notes_on_times(record: &Record, comparisons: &[Comparison]) -> Vec<Note> {
    let mut notes = unstable(record);
    let start = warmups(record, comparisons, &mut notes);
    notes.extend(start);
    notes
}

/// The slow start that a comparison leaves out. Its remedy replaces the remedies of the `unstable` arms.
pub(super) fn warmups(
    record: &Record,
    comparisons: &[Comparison],
    unstable: &mut [Note],
) -> Option<Note> {
    let tests = comparisons.iter().filter_map(|comparison| comparison.evidence.test().ok());
    let n_blocks =
        tests.map(|paired| paired.n_warmup_pairs).max().filter(|&n_blocks| n_blocks >= 2)?;
    let plan = &record.header.plan;
    let alternates = |note: &Note| match &note.finding {
        Finding::Unstable { flags, .. } => SteadinessFlag::alternates(flags),
        _ => false,
    };
    let can_help = !plan.in_slices && !unstable.iter().any(alternates);
    let of_blocks = can_help.then_some(plan.n_warmups as usize + n_blocks);
    let of_arms = unstable.iter_mut().filter_map(|note| match &mut note.finding {
        Finding::Unstable { n_warmups, .. } => n_warmups.take(),
        _ => None,
    });
    let n_warmups = of_blocks.max(of_arms.max());
    Some(Note { finding: Finding::SlowStart { n_blocks, n_warmups }, weight: 0.008 })
}

/// The weight is below every cause, because unsteady times explain nothing. All arms have the same number of warm-up
/// runs, so only the longest slow start has a remedy.
fn unstable(record: &Record) -> Vec<Note> {
    let unstable = unstable_candidates(record);
    let starts = unstable.iter().filter_map(|(.., slow_start)| *slow_start);
    let mut most = starts.map(|start| start.n_warmups).max();
    let note = |(arm, flags, slow_start): (usize, Vec<SteadinessFlag>, Option<SlowStart>)| {
        let is_most = |n: &mut usize| slow_start.is_some_and(|start| start.n_warmups == *n);
        let n_warmups = most.take_if(is_most);
        Note { finding: Finding::Unstable { arm, flags, n_warmups }, weight: 0.005 }
    };
    unstable.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Evidence, PairedTest};
    use crate::fixture::paired;

    #[test]
    fn a_slow_start_has_one_remedy_and_alternating_modes_have_none() {
        // The plan has one warm-up.
        let record = record::fixture::record(&["a", "b"]);
        let tested = PairedTest { n_warmup_pairs: 2, ..paired(1.01, 0.98, 1.04) };
        let found = [Comparison { arm: 1, reference: 0, evidence: Evidence::Paired(tested) }];
        let remedies = |flags: &[SteadinessFlag], n_warmups: Option<usize>| {
            let finding = Finding::Unstable { arm: 1, flags: flags.to_vec(), n_warmups };
            let mut notes = vec![Note { finding, weight: 0.005 }];
            let start = warmups(&record, &found, &mut notes);
            notes.extend(start);
            let remedy = |note: Note| match note.finding {
                Finding::SlowStart { n_warmups, .. } | Finding::Unstable { n_warmups, .. } => {
                    n_warmups
                }
                _ => None,
            };
            notes.into_iter().map(remedy).collect::<Vec<_>>()
        };
        let step = SteadinessFlag::Stepped { change: -0.1, at_run: 4 };
        let modes = SteadinessFlag::Modes { spread: 0.5 };
        assert_eq!(remedies(&[step], None), [None, Some(3)]);
        assert_eq!(remedies(&[modes, step], Some(4)), [None, Some(4)]);
        assert_eq!(remedies(&[modes], None), [None, None]);
    }

    #[test]
    fn only_the_longest_slow_start_has_a_remedy() {
        let remedies = |slow: [u64; 2]| {
            let mut record = record::fixture::record(&["a", "b"]);
            for (arm, n_slow) in (0..).zip(slow) {
                for block in 0..40 {
                    let at = u64::from(block);
                    let ns = 1_000_000 + (at * at * 7919 + at * 104_729) % 10_007;
                    let more = 200_000 * n_slow.saturating_sub(at);
                    record::fixture::run(&mut record, arm, Some(block), ns + more);
                }
            }
            let remedy = |note: Note| match note.finding {
                Finding::Unstable { n_warmups, .. } => n_warmups,
                _ => None,
            };
            unstable(&record).into_iter().map(remedy).collect::<Vec<_>>()
        };
        assert_eq!(remedies([5, 8]), [None, Some(9)]);
        assert_eq!(remedies([8, 5]), [Some(9), None]);
    }
}
