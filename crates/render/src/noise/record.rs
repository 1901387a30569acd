//! The ledger of each arm in a record.

use crate::Styles;
use crate::columns::{shorten, wrap, wrap_headline};
use crate::noise::ledger::{ENTRIES_MAX, largest_part, lines};
use crate::noise::words;
use crate::remedies::Audience;
use crate::styles::paint;
use crate::units::{counted, short_time};
use analysis::ledger::{ArmLedger, EvidenceCost, RecordLedger, ThreadUse};
use record::Record;
use record::ledger::{NoiseSource, Remedy};

/// A part above 1/20 of the total gets a sentence.
const NOTED: i64 = 20;
/// Maximum width of a command in a heading.
const LABEL_COLUMNS: usize = 40;

/// The loss, its causes and remedies; then one block for each arm, then the limits of the data.
pub fn record(record: &Record, ledger: &RecordLedger, styles: &Styles) -> String {
    let mut out = String::new();
    conclusion(&mut out, ledger, Audience::of(&record.header.plan), styles);
    for arm in &ledger.arms {
        out.push('\n');
        arm_block(&mut out, arm, record.slices.is_some(), styles);
    }
    let mut limits = String::new();
    if record.header.facts.virtualisation.is_some() && ledger.total.unexplained_ns() > 0 {
        let text = "this is a virtual machine: what its host takes is CPU time of the program, or not explained";
        wrap(&mut limits, "note: ", 6, text);
    }
    if let Some(cost) = ledger.evidence {
        wrap(&mut limits, "evidence: ", 10, &evidence(cost));
    }
    for gap in record.header.gaps.iter().filter(|gap| is_evidence(&gap.what)) {
        wrap(&mut limits, "gap: ", 5, &format!("{}: {}; {}", gap.what, gap.why, gap.fix));
    }
    if !limits.is_empty() {
        out.push('\n');
    }
    out + &limits
}

/// The lost time, the largest source, and its remedy.
fn conclusion(out: &mut String, ledger: &RecordLedger, audience: Audience, styles: &Styles) {
    let total_ns = ledger.total.total_ns;
    if total_ns <= 0 {
        out.push_str("No time is above t0: the mean run took no longer.\n");
        return;
    }
    let share = words::percent(total_ns as f64 / ledger.measured_ns.max(1) as f64 * 100.0);
    let (least, most) = if ledger.is_lower_limit() { ("At least ", "at most ") } else { ("", "") };
    let lost = format!(
        "{least}{share} of the time was above t0: {} of {}.",
        short_time(total_ns as f64),
        short_time(ledger.measured_ns as f64)
    );
    wrap_headline(out, styles.headline, &lost);
    let Some(largest) = largest_part(out, &ledger.total, audience, [most, "the time above t0"])
    else {
        out.push_str("What took it is not known.\n");
        return;
    };
    let can_be_removed =
        matches!(largest.remedy(), Some(Remedy::OwnCpu | Remedy::Affinity | Remedy::Tune(_)));
    if can_be_removed && audience == Audience::Run {
        wrap(out, "proof: ", 7, "--explain measures again without the largest source");
    }
}

fn evidence(cost: EvidenceCost) -> String {
    let time = short_time(cost.of_run_ns);
    let share = words::percent(cost.share * 100.0);
    format!("reading it took {time} after each run, {share} of the time of the runs")
}

/// Selects the metrics that name a cause.
fn is_evidence(what: &str) -> bool {
    ["preempted", "run-queue-wait", "task-clock", "migrations", "cycles", "who took the time"]
        .contains(&what)
}

fn arm_block(out: &mut String, arm: &ArmLedger, is_sliced: bool, styles: &Styles) {
    let (n, run) = (arm.n, if is_sliced { "slice" } else { "run" });
    let total_ns = arm.ledger.total_ns;
    let of_all = total_ns as f64 / arm.measured_ns.max(1) as f64 * 100.0;
    let heading = format!("{} {}", arm.arm + 1, shorten(&arm.label, LABEL_COLUMNS));
    out.push_str(&paint(styles.headline, &heading));
    out.push('\n');
    let (least, most) = if arm.is_upper_limit { ("at least ", "at most ") } else { ("", "") };
    let text = format!(
        "{least}{} above t0 in {} of {}, t0 {most}{}{}",
        short_time(total_ns.max(0) as f64),
        counted(n, run),
        short_time(arm.measured_ns as f64 / n.max(1) as f64),
        short_time(arm.t0_ns),
        if total_ns > 0 { format!(": {of_all:.1} % of the time") } else { String::new() }
    );
    wrap(out, "   ", 3, &text);
    lines(out, &arm.ledger, ENTRIES_MAX);
    for text in caveats(arm, run) {
        wrap(out, "   ", 3, &text);
    }
}

fn caveats(arm: &ArmLedger, run: &str) -> Vec<String> {
    let mut all = Vec::new();
    match arm.threads {
        ThreadUse::One => {}
        ThreadUse::TakeTurns => all.push(
            "its threads, or processes, take turns on a CPU: only what they waited for is told apart, and some of that time \
             they took from each other"
                .into(),
        ),
        ThreadUse::Parallel => all.push(
            "its threads run on several CPUs at a time: only what kept them from running is told apart"
                .into(),
        ),
    }
    if arm.n_uncounted > 0 {
        all.push(format!(
            "in {} of {} {run}s there were more switches than the kernel had room for: how much of the waiting followed a \
             preemption is not known of these",
            arm.n_uncounted, arm.n
        ));
    }
    let mut note_on = |source: NoiseSource, text: &str| {
        let named = arm.ledger.entries.iter().find(|entry| entry.source == source);
        if named.map_or(0, |entry| entry.ns) > arm.ledger.total_ns / NOTED {
            all.push(text.into());
        }
    };
    if arm.ledger.entries.iter().any(|entry| matches!(entry.source, NoiseSource::Task { .. })) {
        note_on(
            NoiseSource::Queued,
            "ready: who ran is named where a program was taken off its CPU, not where it was woken or made and waited for one",
        );
    }
    note_on(
        NoiseSource::Asleep,
        "sleeping or waiting: for a device, a timer, another process. The kernel counts the wait for a CPU of the first \
         process only, so its other processes, or Stillwell at the end, may have waited for one",
    );
    note_on(
        NoiseSource::MoreCpuTime,
        "more CPU time: a slower CPU (its clock, its caches, the other thread of its core, the host of a virtual \
         machine), or more work. The counts of `show -v` tell more work, where instructions are counted",
    );
    note_on(
        NoiseSource::SeenLate,
        "no CPU to see its end: the run itself never waited, so Stillwell waited for a CPU when it had ended. Run fewer \
         other programs, or leave one CPU free",
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::fixture::arm_ledger;
    use host::Gap;
    use record::fixture;
    use record::ledger::{Ledger, LedgerEntry};

    #[test]
    fn the_ledger_of_a_record() {
        let mut record = fixture::record(&["make -j1"]);
        record.header.facts.virtualisation = Some("kvm".into());
        record.header.gaps = ["cycles", "who took the time", "governor and turbo"]
            .map(|what| Gap {
                what: what.into(),
                why: "it is not there".into(),
                fix: "buy one".into(),
            })
            .into();
        let task = |name: &str| NoiseSource::Task { name: name.into() };
        let parts = [
            LedgerEntry { n: Some(12), ..LedgerEntry::exact(task("chrome"), 22_000_000) },
            LedgerEntry::exact(NoiseSource::Preempted, 9_000_000),
            LedgerEntry::exact(NoiseSource::Interrupt { line: "LOC".into() }, 5_000_000),
            LedgerEntry::estimate(NoiseSource::Faults, 2_000_000, 1200),
            LedgerEntry::exact(NoiseSource::Asleep, -3_000),
        ];
        let ledger = Ledger::new(41_000_000, parts, NoiseSource::Unexplained);
        let whole = RecordLedger {
            arms: vec![arm_ledger("make -j1", 60, 12.3e6, ledger.clone())],
            measured_ns: 779_000_000,
            total: ledger,
            evidence: Some(EvidenceCost { of_run_ns: 12_345.6, share: 0.000_94 }),
        };
        insta::assert_snapshot!(super::record(&record, &whole, &Styles::default()));
        let mut whole = whole;
        whole.arms[0].is_upper_limit = true;
        let text = super::record(&record, &whole, &Styles::default());
        assert!(text.starts_with("At least "), "{text}");
        assert!(
            text.contains("at least 41.0 ms above t0 in 60 runs of 13.0 ms, t0 at most 12.3 ms"),
            "{text}"
        );
    }

    /// A large part gets a sentence about its other possible causes.
    #[test]
    fn what_the_parts_do_not_say_is_said() {
        let check = |threads, n_uncounted, source, ns, expected: &str| {
            let ledger =
                Ledger::new(1_000_000, [LedgerEntry::exact(source, ns)], NoiseSource::Unexplained);
            let arm = ArmLedger { threads, n_uncounted, ..arm_ledger("a", 9, 1e6, ledger) };
            let said = caveats(&arm, "run").join("\n");
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        };
        check(ThreadUse::One, 0, NoiseSource::Asleep, 40_000, "");
        check(ThreadUse::One, 0, NoiseSource::Asleep, 60_000, "of the first process only");
        check(ThreadUse::One, 0, NoiseSource::SeenLate, 60_000, "Stillwell waited for a CPU");
        check(ThreadUse::One, 0, NoiseSource::Queued, 60_000, "");
        check(ThreadUse::TakeTurns, 0, NoiseSource::Queued, 1, "take turns on a CPU");
        check(ThreadUse::Parallel, 0, NoiseSource::Queued, 1, "several CPUs at a time");
        check(ThreadUse::One, 4, NoiseSource::Queued, 1, "in 4 of 9 runs there were more");
    }
}
