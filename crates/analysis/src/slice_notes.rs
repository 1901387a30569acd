//! Notes on the slices of workers.

use crate::finding::{Finding, Note};
use crate::long_slices::long_slices;
use crate::summary::ArmSummary;
use model::values::metric::Metric;
use record::{Event, Record, Rows};

/// A faster loop is most likely empty. CPython's empty loop takes some 5 ns, a compiled one 0.3 ns or less.
const HARDLY_NS: f64 = 1.0;
/// Blocking and waking alone cost up to this share.
pub(super) const WAIT_MIN: f64 = 0.1;

pub(super) fn of_slices(record: &Record, slices: &Rows, arms: &[ArmSummary]) -> Vec<Note> {
    let mut notes = Vec::new();
    let wait = arms.iter().filter_map(|arm| arm.sliced.as_ref()?.wait_share).fold(0.0, f64::max);
    if wait > WAIT_MIN {
        notes.push(Note { finding: Finding::WorkersWaited { share: wait }, weight: wait });
    }
    for arm in arms.iter().filter(|arm| !arm.is_hidden) {
        let is_timed = slices.has(Metric::Loops) && record.header.plan.arms[arm.arm].unit.is_time();
        let per_loop_ns = arm.times.as_ref().map(|wall| wall.t0.value).filter(|_| is_timed);
        if let Some(per_loop_ns) = per_loop_ns.filter(|&ns| ns < HARDLY_NS) {
            let finding = Finding::HardlyAnything { arm: arm.arm, per_loop_ns };
            notes.push(Note { finding, weight: 1.0 });
        }
        if let Some(shares) = long_slices(record, slices, arm.arm) {
            let finding = Finding::LongSlices { arm: arm.arm, shares };
            notes.push(Note { finding, weight: shares.of_time });
        }
    }
    let n_cpus = record.header.plan.process.affinity.as_ref().map_or(usize::MAX, Vec::len);
    for event in &record.events {
        let Event::Worker { arm, n_warmup_slices, is_steady, n_threads, short, .. } = event else {
            continue;
        };
        let arm = *arm as usize;
        if *n_warmup_slices >= WARMUP_SLICES_MIN || !is_steady {
            let finding =
                Finding::WarmUp { arm, n_slices: *n_warmup_slices, is_steady: *is_steady };
            notes.push(Note { finding, weight: 0.02 });
        }
        if let Some(times) = *short {
            let weight = times.short_ns / times.long_ns - 1.0;
            notes.push(Note { finding: Finding::ShortSlices { arm, times }, weight });
        }
        if let Some(n_threads) = n_threads.filter(|&n| n > 1 && n_cpus == 1) {
            notes.push(Note { finding: Finding::OneCpu { arm, n_threads }, weight: 0.5 });
        }
    }
    if record.header.plan.is_forked() {
        notes.push(Note { finding: Finding::OneLayout, weight: 0.03 });
    }
    notes
}

/// Fewest left-out slices for a note. The first slice is always left out.
const WARMUP_SLICES_MIN: u32 = 2;
