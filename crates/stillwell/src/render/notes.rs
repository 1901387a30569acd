//! Findings in words: what was found, and what would help.

use crate::analysis::{Finding, Flag};
use crate::noise::Entry;
use crate::render::{noise, uncertain, units};

/// What was found, with its numbers.
pub(super) fn what(finding: &Finding) -> String {
    match finding {
        Finding::Lost { total_ns, parts, .. } => lost(*total_ns, parts),
        Finding::MajorFaults { n } => format!("{n} page faults had to read from a device"),
        Finding::Migrations { per_run } => {
            format!("runs moved to another CPU {per_run:.2} times on average")
        }
        Finding::Busy { load, n_cpus } => {
            format!("the machine was busy at the start: load {load:.1} on {n_cpus} CPUs")
        }
        Finding::RejectedRuns { arm, n, n_runs } => {
            format!("{} failed and did not count", runs(*arm, *n, *n_runs))
        }
        Finding::FailedRuns { arm, n, n_runs } => {
            format!("{} exited with a failure", runs(*arm, *n, *n_runs))
        }
        Finding::TimedOutRuns { arm, n, n_runs } => {
            format!("{} took longer than the timeout and did not count", runs(*arm, *n, *n_runs))
        }
        Finding::MemoryFloor { arm, floor_kib } => format!(
            "peak memory of command {} is not above that of our launcher ({floor_kib} KiB); its own may be lower",
            arm + 1
        ),
        Finding::NoFloor { arm } => format!(
            "command {} shows no lower limit of its time; its t0 is the smallest run",
            arm + 1
        ),
        Finding::Unstable { arm, flags: raised, .. } => {
            format!("the times of command {} are not stable: {}", arm + 1, flags(raised))
        }
        Finding::SlowStart { n_blocks } => format!(
            "the first {n_blocks} blocks were slower than the rest and are left out of the comparison"
        ),
        Finding::WorkersWaited { share } => format!(
            "the processes waited for a CPU for {} of the time of their slices; mostly other slices than those that \
             count, which are the lowest fifth",
            percent(*share)
        ),
        Finding::HardlyAnything { arm, per_loop_ns } => format!(
            "one loop of {} takes {} ns: perhaps nothing is left in it of what was to be measured",
            arm + 1,
            uncertain::significant(*per_loop_ns, 2)
        ),
        Finding::WarmUp { arm, n_slices, is_steady: true } => format!(
            "the first {n_slices} slices of a process of {} were slower than the rest; as many are left out",
            arm + 1
        ),
        Finding::WarmUp { arm, .. } => {
            format!("{} did not become steady while it was watched: it still gets faster", arm + 1)
        }
        Finding::OneCpu { arm, n_threads } => {
            format!("{} has {n_threads} threads, and all of them one CPU", arm + 1)
        }
        Finding::ShieldLost { .. }
        | Finding::SharedCpus { .. }
        | Finding::NiceInTerminal { .. }
        | Finding::RealTimePauses { .. } => about_cpus(finding),
        Finding::OneLayout => {
            "all processes are forks of one, with the same layout of memory: what it does to the times is not \
             averaged, and may be a part of a difference"
                .into()
        }
    }
}

/// What was found of the CPUs that the runs were to have for themselves, or before others.
fn about_cpus(finding: &Finding) -> String {
    match finding {
        Finding::ShieldLost { n_runs, why } => {
            let runs = if *n_runs == 1 { "run was" } else { "runs were" };
            format!("the shield was lost: {why}; the last {n_runs} {runs} perhaps not alone")
        }
        Finding::SharedCpus { share, n_cpus } => {
            let cpus = if *n_cpus == 1 { "the one CPU" } else { "the CPUs" };
            format!(
                "nothing else was on {cpus} of the runs: their own processes and threads took turns there for {} of the \
                 time",
                percent(*share)
            )
        }
        Finding::NiceInTerminal { share } => format!(
            "the nice level counted only among the commands of one terminal (sched_autogroup_enabled is 1), and other \
             programs took the CPU for {} of the time",
            percent(*share)
        ),
        Finding::RealTimePauses { why } => format!("runs of more than 0.9 s had pauses: {why}"),
        other => unreachable!("{other:?} is none of these"),
    }
}

/// What would help, if anything would.
pub(super) fn advice(finding: &Finding) -> Option<String> {
    let advice = match finding {
        Finding::Lost { parts, .. } => {
            let advice = parts.first().and_then(|entry| noise::advice(&entry.source));
            let more = "`stillwell noise` shows more";
            return Some(advice.map_or_else(|| more.into(), |advice| format!("{advice}; {more}")));
        }
        Finding::MajorFaults { .. } => {
            "more --warmup, or --cold-cache if that is what is to be measured"
        }
        Finding::Migrations { .. } => "--affinity",
        Finding::NoFloor { .. } => "more runs, or --estimand typical",
        Finding::Unstable { n_warmups, .. } => {
            let start = n_warmups.map_or_else(String::new, |n| format!("; --warmup {n}"));
            let trust = "trust the +- of its t0 less; a paired comparison is not affected";
            return Some(format!("{trust}{start}; `stillwell check` shows more"));
        }
        Finding::SlowStart { n_blocks } => return Some(format!("--warmup {}", n_blocks + 1)),
        Finding::HardlyAnything { .. } => "keep the result: assign it, or pass it on",
        Finding::WarmUp { is_steady: false, .. } => "more --warmups",
        Finding::OneCpu { .. } => "--affinity all",
        Finding::ShieldLost { .. } => "CPUs that no other control group has",
        Finding::SharedCpus { .. } => "--affinity with as many CPUs as they have threads",
        Finding::NiceInTerminal { .. } => "--isolate, or `stillwell system tune --only autogroup`",
        Finding::RealTimePauses { .. } => {
            "--isolate without --sched, or `stillwell system tune --only rt-throttling`"
        }
        Finding::OneLayout => "a script with a Runner, and stillwell bench",
        Finding::WorkersWaited { .. }
        | Finding::WarmUp { .. }
        | Finding::Busy { .. }
        | Finding::RejectedRuns { .. }
        | Finding::FailedRuns { .. }
        | Finding::TimedOutRuns { .. }
        | Finding::MemoryFloor { .. } => return None,
    };
    Some(advice.into())
}

/// What makes times unsteady, with the sizes.
pub(super) fn flags(raised: &[Flag]) -> String {
    let flag = |flag: &Flag| match *flag {
        Flag::Correlated { n_runs, n_eff } => {
            format!("correlated ({n_runs} runs are worth {})", uncertain::fixed(n_eff, 0))
        }
        Flag::Drifting { change } => format!("drifting {}", change_of(change)),
        Flag::Stepped { change, at_run } => {
            format!("stepped {} at run {at_run}", change_of(change))
        }
        Flag::Modes => "more than one mode".into(),
        Flag::FloorMoved { spread } => format!("floor moved {}", size_of(spread)),
    };
    raised.iter().map(flag).collect::<Vec<_>>().join(", ")
}

/// A change with its sign: `+3.1 %`.
pub(super) fn change_of(fraction: f64) -> String {
    let sign = if fraction > 0.0 && fraction < FACTOR_FROM { "+" } else { "" };
    format!("{sign}{}", size_of(fraction))
}

/// More than this is said as a factor.
const FACTOR_FROM: f64 = 10.0;

/// A size: `0.81 %`, `×12`.
pub(super) fn size_of(fraction: f64) -> String {
    let factor = 1.0 + fraction;
    match fraction {
        ..FACTOR_FROM => units::percent(fraction),
        ..1e4 => format!("×{}", uncertain::significant(factor, 2)),
        _ => format!("×{factor:.1e}"),
    }
}

fn runs(arm: usize, n: usize, n_runs: usize) -> String {
    let runs = if n_runs == 1 { "run" } else { "runs" };
    format!("{n} of {n_runs} {runs} of command {}", arm + 1)
}

fn lost(total_ns: i64, parts: &[Entry]) -> String {
    let part = |entry: &Entry| {
        let ns = units::short_time(entry.ns as f64);
        format!("{ns} ({}) {}", noise::share(entry, total_ns), noise::name(&entry.source))
    };
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!("of {} above t0: {}", units::short_time(total_ns as f64), parts.join(", "))
}

/// One decimal is enough for a share of the time, and a share of 132 % is not to be written 130 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format!("{} %", uncertain::fixed(percent, usize::from(percent < 9.95)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Source;

    #[test]
    fn lost_time_is_said_by_its_parts() {
        let parts = vec![
            Entry::exact(Source::Preempted, 31_000_000),
            Entry::exact(Source::Interrupt { line: "LOC".into() }, 5_000_000),
        ];
        let finding = Finding::Lost { total_ns: 41_000_000, share: 0.05, parts };
        let expected = "of 41.0 ms above t0: 31.0 ms (76 %) other programs ran instead, 5.00 ms (12 %) interrupt LOC \
                        (timer)";
        assert_eq!(what(&finding), expected);
        assert!(advice(&finding).unwrap().starts_with("--isolate, or --affinity on a quiet CPU"));
    }

    #[test]
    fn commands_are_counted_from_one() {
        let finding = Finding::FailedRuns { arm: 0, n: 1, n_runs: 1 };
        assert_eq!(what(&finding), "1 of 1 run of command 1 exited with a failure");
        assert_eq!(advice(&Finding::SlowStart { n_blocks: 3 }).as_deref(), Some("--warmup 4"));
    }

    #[test]
    fn an_unstable_arm_is_named_with_the_sizes() {
        let flags = vec![
            Flag::Correlated { n_runs: 60, n_eff: 13.6 },
            Flag::Drifting { change: 0.0312 },
            Flag::Stepped { change: -0.0203, at_run: 31 },
            Flag::Modes,
            Flag::FloorMoved { spread: 0.0081 },
        ];
        let finding = Finding::Unstable { arm: 1, flags, n_warmups: Some(4) };
        let expected = "the times of command 2 are not stable: correlated (60 runs are worth 14), drifting +3.1 %, \
                        stepped -2.0 % at run 31, more than one mode, floor moved 0.81 %";
        assert_eq!(what(&finding), expected);
        assert!(advice(&finding).unwrap().contains("; --warmup 4;"));
        assert_eq!([0.5, 11.0, 8.6e13].map(change_of), ["+50 %", "×12", "×8.6e13"]);
    }
}
