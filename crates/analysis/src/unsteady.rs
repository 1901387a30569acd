//! Notes on times that are not steady, with one remedy for a slow start.

use crate::comparison::Comparison;
use crate::finding::{Finding, Note};
use crate::steadiness::{SteadinessFlag, unstable_candidates};
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

/// The weight is below every cause, because unsteady times explain nothing.
fn unstable(record: &Record) -> Vec<Note> {
    let unstable = unstable_candidates(record).into_iter();
    unstable
        .map(|(arm, flags, slow_start)| {
            let n_warmups = slow_start.map(|unstable| unstable.n_warmups);
            Note { finding: Finding::Unstable { arm, flags, n_warmups }, weight: 0.005 }
        })
        .collect()
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
}
