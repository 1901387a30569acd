//! Judges the untimed runs of both programs.

use std::collections::BTreeSet;

use crate::Survivors;
use crate::fair_play::{Act, AuditReport, CheatFinding, RunFacts};
use model::values::CheatKind;

/// Tolerated factor of the first call's CPU time, compared with the reference. It is a single run, and a core of two
/// speeds makes a run take 1.6 times as long (measured on a shared host).
const FIRST_CALL_FACTOR: f64 = 2.0;
/// Tolerated difference of the first call, µs: on a busy virtual machine one run of 2 ms took 12 ms of CPU time.
const FIRST_CALL_DIFFERENCE_US: f64 = 20_000.0;
/// Tolerated factor of the CPU time undercover, compared with the reference.
const UNDERCOVER_FACTOR: f64 = 1.25;
/// Smaller differences of CPU time are never held against a program, µs: starting a process costs as much.
const DIFFERENCE_US: f64 = 5000.0;
/// CPU time that a helper may use after its run has ended, µs.
const LATE_CPU_US: u64 = 5000;

#[derive(Clone, Debug, Default)]
pub struct ProgramRuns {
    /// Undercover runs with the same inputs, in order. The first one is the program's first call.
    pub plain: Vec<RunFacts>,
    /// Runs with the same inputs that can see that they are measured.
    pub overt: Vec<RunFacts>,
    pub traced: Vec<RunFacts>,
}

/// The observations on two programs.
#[derive(Clone, Debug, Default)]
pub struct AuditFacts {
    pub reference: ProgramRuns,
    pub attempt: ProgramRuns,
    /// CPU times in the measured session, µs: the reference's and the attempt's.
    pub measured_us: Option<[Vec<f64>; 2]>,
    /// Kernel settings that have changed.
    pub changed_settings: Vec<String>,
    /// Whether inputs or numbers are held back.
    pub has_held_back: bool,
}

pub fn judge(facts: &AuditFacts) -> AuditReport {
    let mut report = AuditReport::default();
    if let Some(why) = failure(&facts.reference, "the reference") {
        report.unchecked.push(format!("the audit: {why}"));
        return report;
    }
    if let Some(why) = failure(&facts.attempt, "the attempt") {
        report
            .findings
            .push(CheatFinding::new(CheatKind::Detection, format!("{why} in the audit")));
    }
    report.findings.extend(acts(facts));
    report.findings.extend(survivors(facts));
    report.findings.extend(first_call(facts));
    report.findings.extend(undercover(facts));
    report.findings.extend(facts.changed_settings.iter().map(|setting| {
        CheatFinding::new(CheatKind::Priority, format!("{setting} changed during the audit"))
    }));
    report.unchecked.extend(unchecked(facts));
    report
}

fn all_runs(program: &ProgramRuns) -> impl Iterator<Item = &RunFacts> {
    program.plain.iter().chain(&program.overt).chain(&program.traced)
}

/// A failed run. The measured runs did not fail.
fn failure(program: &ProgramRuns, who: &str) -> Option<String> {
    all_runs(program).find_map(|run| match run {
        RunFacts { timed_out: true, .. } => Some(format!("{who} took too long")),
        RunFacts { is_valid: Some(false), .. } => {
            Some(format!("the --validate command refused the output of {who}"))
        }
        RunFacts { exit, .. } if *exit != 0 => Some(format!("{who} failed (exit {exit})")),
        _ => None,
    })
}

/// Acts of the attempt alone. File names that differ from run to run are excused if the reference has such names too.
fn acts(facts: &AuditFacts) -> Vec<CheatFinding> {
    let traced = |program: &ProgramRuns| -> Vec<BTreeSet<Act>> {
        program.traced.iter().map(|run| run.acts.clone()).collect()
    };
    let reference = traced(&facts.reference);
    let of_reference: BTreeSet<Act> = reference.iter().flatten().cloned().collect();
    let is_steady = |act: &&Act| reference.iter().all(|acts| acts.contains(act));
    let varying: BTreeSet<(CheatKind, &String)> = of_reference
        .iter()
        .filter(|act| !is_steady(act))
        .filter_map(|act| Some((act.kind, act.place.as_ref()?)))
        .collect();
    let of_attempt: BTreeSet<Act> = traced(&facts.attempt).into_iter().flatten().collect();
    let is_excused = |act: &Act| {
        of_reference.contains(act)
            || act.place.as_ref().is_some_and(|place| varying.contains(&(act.kind, place)))
    };
    let held = of_attempt.iter().filter(|act| !is_excused(act));
    let sentence = |act: &Act| format!("the attempt {}; the reference does not", act.what);
    held.map(|act| CheatFinding::new(act.kind, sentence(act))).collect()
}

/// Processes that outlive the attempt's runs, unless something outlives the reference's too.
fn survivors(facts: &AuditFacts) -> Option<CheatFinding> {
    let left = |program: &ProgramRuns| {
        let left = all_runs(program).filter_map(|run| run.survivors.clone());
        left.filter(is_survival).collect::<Vec<_>>()
    };
    let of_attempt = left(&facts.attempt);
    survivor_finding(&of_attempt, !left(&facts.reference).is_empty())
}

/// Whether enough outlived a run to count.
fn is_survival(left: &Survivors) -> bool {
    left.n_ended > 0 || left.late_cpu_us > LATE_CPU_US
}

/// Judges what outlived a session's runs: a finding for the attempts if the reference leaves nothing. Each benchmark
/// has `n_programs` arms, the reference first.
pub fn judge_survivors(left: &[Survivors], n_programs: usize) -> Option<CheatFinding> {
    let is_of_reference = |it: &Survivors| (it.arm as usize).is_multiple_of(n_programs);
    let (reference, attempts): (Vec<_>, Vec<_>) =
        left.iter().filter(|it| is_survival(it)).cloned().partition(is_of_reference);
    survivor_finding(&attempts, !reference.is_empty())
}

/// The finding about processes that outlived an attempt's runs, unless the reference leaves some too.
fn survivor_finding(left: &[Survivors], reference_does_too: bool) -> Option<CheatFinding> {
    let first = left.first().filter(|_| !reference_does_too)?;
    let is_daemon = left.iter().any(|it| it.n_detached > 0);
    let (kind, how) = if is_daemon {
        (CheatKind::Daemon, ", outside of its process group")
    } else {
        (CheatKind::Survivor, "")
    };
    let (name, n) = (&first.name, left.len());
    let then = if first.n_ended > 0 { "was ended" } else { "used CPU time after its end" };
    Some(CheatFinding::new(
        kind,
        format!("{n} runs of the attempt left {name} behind{how}; it {then}"),
    ))
}

fn median(values: &[f64]) -> Option<f64> {
    stats::median(values).ok()
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

fn cpu_us(runs: &[RunFacts]) -> Vec<f64> {
    runs.iter().map(|run| run.cpu_us as f64).collect()
}

/// Later calls do less work than the first.
fn first_call(facts: &AuditFacts) -> Option<CheatFinding> {
    let parts = |program: &ProgramRuns| {
        let all = cpu_us(&program.plain);
        let (first, later) = all.split_first()?;
        Some((*first, median(later)?))
    };
    let (first, later) = parts(&facts.attempt)?;
    let (first_of_reference, later_of_reference) = parts(&facts.reference)?;
    // One slow run is no proof if another was nearly as slow.
    let slowest_us = greatest(cpu_us(&facts.attempt.plain).get(1..)?)?;
    let expected_us = slowest_us * (first_of_reference / later_of_reference).max(1.0);
    let is_more =
        first > FIRST_CALL_FACTOR * expected_us && first - expected_us > FIRST_CALL_DIFFERENCE_US;
    let sentence = format!(
        "the first call of the attempt took {:.0} ms of CPU time and later ones {:.0} ms, those of the reference \
         {:.0} and {:.0} ms",
        first / 1e3,
        later / 1e3,
        first_of_reference / 1e3,
        later_of_reference / 1e3
    );
    is_more.then(|| CheatFinding::new(CheatKind::SecondCall, sentence))
}

/// The program does less work when it can see that it is measured.
fn undercover(facts: &AuditFacts) -> Option<CheatFinding> {
    let later = |program: &ProgramRuns| cpu_us(program.plain.get(1..).unwrap_or_default());
    let hidden = [later(&facts.reference), later(&facts.attempt)];
    let seen = [cpu_us(&facts.reference.overt), cpu_us(&facts.attempt.overt)];
    let seen = [Some(&seen), facts.measured_us.as_ref()];
    seen.into_iter().flatten().find_map(|seen| {
        let is_more = |of: fn(&[f64]) -> Option<f64>| {
            let values = [of(&hidden[0])?, of(&hidden[1])?, of(&seen[0])?, of(&seen[1])?];
            let [reference, attempt, seen_reference, seen_attempt] = values;
            let expected_us = reference * seen_attempt / seen_reference;
            let is_more = attempt > UNDERCOVER_FACTOR * expected_us
                && attempt - expected_us > DIFFERENCE_US;
            is_more.then_some((attempt / reference, seen_attempt / seen_reference))
        };
        // Load slows single runs, and the minimum of few runs is luck: median and minimum must agree.
        let (hidden, seen) = is_more(median).filter(|_| is_more(least).is_some())?;
        let sentence = format!(
            "where the attempt can see that it is measured, it takes {seen:.2} times the reference's CPU time, \
             undercover {hidden:.2} times"
        );
        Some(CheatFinding::new(CheatKind::Detection, sentence))
    })
}

fn unchecked(facts: &AuditFacts) -> BTreeSet<String> {
    let unseen = all_runs(&facts.attempt).chain(all_runs(&facts.reference));
    let mut all: BTreeSet<String> = unseen.flat_map(|run| run.unseen.clone()).collect();
    if !facts.has_held_back {
        all.insert(
            "hard-coded answers: there is neither --input-set nor --seeds, so every run has the same input"
                .into(),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cpu_us: u64) -> RunFacts {
        RunFacts { cpu_us, ..RunFacts::default() }
    }

    fn program(plain: &[u64], overt: &[u64]) -> ProgramRuns {
        let runs = |times: &[u64]| times.iter().map(|&it| run(it)).collect();
        ProgramRuns { plain: runs(plain), overt: runs(overt), traced: vec![run(0)] }
    }

    fn kinds(facts: &AuditFacts) -> Vec<CheatKind> {
        judge(facts).findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn the_first_call_is_compared_with_that_of_the_reference() {
        let steady = program(&[50_000, 50_000, 50_000], &[]);
        let warms = program(&[101_000, 50_000, 50_000], &[]);
        let judged = |reference: &ProgramRuns, attempt: &ProgramRuns| {
            let (reference, attempt) = (reference.clone(), attempt.clone());
            kinds(&AuditFacts { reference, attempt, ..AuditFacts::default() })
        };
        assert_eq!(judged(&steady, &warms), [CheatKind::SecondCall]);
        assert_eq!(judged(&warms, &warms), []);
        assert_eq!(judged(&warms, &steady), []);
        // A core of two speeds, and a run slowed by load.
        assert_eq!(judged(&steady, &program(&[80_000, 50_000, 50_000], &[])), []);
        assert_eq!(judged(&steady, &program(&[110_000, 50_000, 50_000, 60_000], &[])), []);
        // A short run that starts while the machine is busy.
        assert_eq!(judged(&steady, &program(&[12_000, 2_000, 2_000], &[])), []);
    }

    #[test]
    fn times_undercover_are_compared_with_the_measured_ones() {
        let reference = program(&[100_000; 4], &[100_000; 3]);
        let judged = |plain: &[u64], overt: &[u64], measured_us| {
            let (reference, attempt) = (reference.clone(), program(plain, overt));
            kinds(&AuditFacts { reference, attempt, measured_us, ..AuditFacts::default() })
        };
        assert_eq!(judged(&[90_000; 4], &[10_000; 3], None), [CheatKind::Detection]);
        assert_eq!(judged(&[90_000; 4], &[88_000; 3], None), []);
        // Neither one quick run nor one slow run is proof.
        assert_eq!(judged(&[90_000; 4], &[88_000, 88_000, 40_000], None), []);
        assert_eq!(judged(&[90_000, 90_000, 400_000, 500_000], &[88_000; 3], None), []);
        let measured = Some([vec![100_000.0; 9], vec![50_000.0; 9]]);
        assert_eq!(judged(&[90_000; 4], &[], measured), [CheatKind::Detection]);
    }

    #[test]
    fn an_act_of_both_is_excused_and_so_are_names_that_vary() {
        let act = |what: &str, place: Option<&str>| Act {
            kind: CheatKind::OutsideFile,
            what: what.into(),
            place: place.map(String::from),
        };
        let traced =
            |acts: &[Act]| RunFacts { acts: acts.iter().cloned().collect(), ..RunFacts::default() };
        let reference = ProgramRuns {
            traced: vec![
                traced(&[act("leaves /log", Some("/")), act("leaves /tmp/a", Some("/tmp"))]),
                traced(&[act("leaves /log", Some("/")), act("leaves /tmp/b", Some("/tmp"))]),
            ],
            ..ProgramRuns::default()
        };
        let judged = |acts: &[Act]| {
            let attempt = ProgramRuns { traced: vec![traced(acts)], ..ProgramRuns::default() };
            kinds(&AuditFacts { reference: reference.clone(), attempt, ..AuditFacts::default() })
        };
        assert_eq!(
            judged(&[act("leaves /log", Some("/")), act("leaves /tmp/c", Some("/tmp"))]),
            []
        );
        assert_eq!(judged(&[act("leaves /other", Some("/"))]), [CheatKind::OutsideFile]);
    }

    #[test]
    fn what_outlives_a_run_counts_if_it_had_to_be_ended_or_worked_on() {
        let left = |arm, n_ended, n_detached, late_cpu_us| Survivors {
            n_runs: 1,
            n_left: 0,
            step: 0,
            arm,
            name: "helper".into(),
            n_ended,
            n_detached,
            late_cpu_us,
        };
        let kind = |left: &[Survivors]| judge_survivors(left, 2).map(|finding| finding.kind);
        assert_eq!(kind(&[left(1, 0, 0, 900)]), None);
        assert_eq!(kind(&[left(1, 0, 0, 60_000)]), Some(CheatKind::Survivor));
        assert_eq!(kind(&[left(1, 1, 0, 0)]), Some(CheatKind::Survivor));
        assert_eq!(kind(&[left(1, 1, 1, 0)]), Some(CheatKind::Daemon));
        assert_eq!(kind(&[left(0, 1, 0, 0), left(1, 1, 0, 0)]), None);
    }
}
