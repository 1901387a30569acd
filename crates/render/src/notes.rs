//! Findings in words: the observation and the remedy.

mod steadiness;

use crate::names::short_label;
use crate::quantity::QuantityWords;
use crate::remedies::Audience;
use crate::{noise, t0, uncertain, units};
use analysis::{Finding, LoneRun, LongSlices, Neighbours, Oddity, WorkCount, compares_times};
use model::prose::{Prose, prose};
use model::values::Clock;
use record::ShortSlice;
use record::ledger::LedgerEntry;
use record::plan::Plan;

pub(super) use steadiness::{change_of, flags, size_of};

const ONE_LAYOUT: &str =
    "all processes are forks of one, whose memory layout may be a part of a difference";

/// Describes a finding with its numbers.
pub(super) fn what(finding: &Finding, plan: &Plan) -> String {
    match finding {
        Finding::Lost { total_ns, is_lower_limit, parts, .. } => {
            lost(*total_ns, *is_lower_limit, parts)
        }
        Finding::NotMixed => NOT_MIXED.into(),
        Finding::ListedOrder => LISTED_ORDER.into(),
        Finding::MajorFaults { n } => major_faults(*n),
        Finding::Migrations { per_run } => {
            format!("runs moved to another CPU {per_run:.2} times on average")
        }
        Finding::Neighbours(found) => neighbours(found, plan),
        Finding::Busy { load, n_cpus } => {
            format!("the machine was busy at the start: load {load:.1} on {n_cpus} CPUs")
        }
        Finding::RejectedRuns { arm, n, n_runs } => {
            let (runs, why) = (runs(plan, *arm, *n, *n_runs), why_rejected(plan, *arm));
            format!("{runs} {why} and did not count")
        }
        Finding::FailedRuns { arm, n, n_runs } => {
            format!("{} did not exit with 0", runs(plan, *arm, *n, *n_runs))
        }
        Finding::TimedOutRuns { arm, n, n_runs } => {
            let runs = runs(plan, *arm, *n, *n_runs);
            format!("{runs} took longer than the timeout and did not count")
        }
        Finding::LeftBehind { .. } | Finding::Outlived { .. } => survivors(finding, plan),
        Finding::MemoryFloor { arm, floor_kib } => format!(
            "peak memory of {} is not above our launcher's ({floor_kib} KiB); its own may be lower",
            command(plan, *arm)
        ),
        Finding::CountersDisagree { arm, time, instructions } => {
            counters_disagree(&command(plan, *arm), *time, *instructions)
        }
        Finding::LoneRun { arm, run } => lone_run(&command(plan, *arm), run),
        Finding::NoFloor { arm } => format!(
            "{} shows no lower limit of its time; its t0 is the smallest run",
            command(plan, *arm)
        ),
        Finding::TooShort { arm, t0 } => {
            format!("{} is {}", command(plan, *arm), t0::too_short(plan, *t0))
        }
        Finding::Unstable { arm, flags: raised, .. } => unstable(plan, *arm, &flags(raised)),
        Finding::SlowStart { n_blocks, .. } => slow_start(plan, *n_blocks),
        Finding::WorkersWaited { share } => workers_waited(*share, plan.policy.clock),
        Finding::HardlyAnything { arm, per_loop_ns } => format!(
            "one loop of {} takes {} ns: perhaps nothing is left in it of what was to be measured",
            command(plan, *arm),
            uncertain::significant(*per_loop_ns, 2)
        ),
        Finding::WarmUp { arm, n_slices, is_steady: true } => format!(
            "the first {n_slices} slices of a process of {} were slower than the rest; as many are left out",
            command(plan, *arm)
        ),
        Finding::WarmUp { arm, .. } => never_steady(&command(plan, *arm)),
        Finding::ShortSlices { arm, times } => short_slices(&command(plan, *arm), times),
        Finding::ClockInSlices { arm, slice_ns } => with_clock(&command(plan, *arm), *slice_ns),
        Finding::LongSlices { arm, shares } => long_slices(&command(plan, *arm), shares),
        Finding::OneCpu { arm, n_threads } => {
            format!("{} has {n_threads} threads, and all of them one CPU", command(plan, *arm))
        }
        Finding::ShieldLost { n_runs, why } => shield_lost(*n_runs, why),
        Finding::SharedCpus { share, n_cpus } => shared_cpus(*share, *n_cpus),
        Finding::Crowded { arm, share, n_threads, n_cpus } => {
            crowded(&command(plan, *arm), *share, *n_threads, *n_cpus)
        }
        Finding::NiceInTerminal { .. } => NICE_IN_TERMINAL.into(),
        Finding::RealTimePauses { why } => format!("runs of more than 0.9 s had pauses: {why}"),
        Finding::CoarseSteps { share, misread } => coarse_steps(*share, *misread),
        Finding::OneLayout => ONE_LAYOUT.into(),
    }
}

/// Whether a run is rejected only if it failed, which ends the session. Otherwise its value may be missing: no exit
/// status is a failure, or the kernel did not count what decides.
pub(super) fn have_failed(plan: &Plan, arm: usize) -> bool {
    let is_counted = plan.policy.decide_on.is_some_and(|it| !it.metrics().is_empty());
    plan.arms[arm].accept.is_some() && !is_counted
}

fn why_rejected(plan: &Plan, arm: usize) -> &'static str {
    match plan.arms[arm].accept {
        _ if have_failed(plan, arm) => "failed",
        None if plan.validate.is_none() => "had no value to compare",
        _ => "failed or had no value to compare",
    }
}

/// A finding without the smaller parts of the lost time and without explanatory measurements.
pub(super) fn brief(finding: &Finding, plan: &Plan) -> String {
    match finding {
        Finding::Lost { total_ns, is_lower_limit, parts, .. } => {
            lost(*total_ns, *is_lower_limit, &parts[..parts.len().min(1)])
        }
        Finding::Neighbours(found) => neighbours(&Neighbours { ratio: None, ..*found }, plan),
        Finding::LeftBehind { arm, n, n_runs, name } => {
            left_behind(plan, (*arm, *n, *n_runs), name)
        }
        Finding::Unstable { arm, flags: raised, .. } if raised.len() > 1 => {
            unstable(plan, *arm, &format!("{}, and more", flags(&raised[..1])))
        }
        _ => what(finding, plan),
    }
}

const NOT_MIXED: &str =
    "a hook mentions a parameter: the runs of a value followed each other, and there is no verdict";

const NICE_IN_TERMINAL: &str = "the nice level counted only among the commands of one terminal (sched_autogroup_enabled is 1), \
                                so other programs took the CPU from the runs";

const LISTED_ORDER: &str = "the order was fixed, not random: what one command leaves to the next (caches, heat) \
                            counts as a difference";

/// Processes that outlive runs.
fn survivors(finding: &Finding, plan: &Plan) -> String {
    match finding {
        Finding::LeftBehind { arm, n, n_runs, name } => format!(
            "{}, beside which the later runs ran; {} ended with the session",
            left_behind(plan, (*arm, *n, *n_runs), name),
            if *n == 1 { "it was" } else { "they were" }
        ),
        Finding::Outlived { arm, n, name } => format!(
            "{} outlived a run of {} that was ended ({name}), and {} ended too",
            units::processes(*n),
            command(plan, *arm),
            if *n == 1 { "was" } else { "were" }
        ),
        _ => String::new(),
    }
}

fn left_behind(plan: &Plan, (arm, n, n_runs): (usize, u32, u32), name: &str) -> String {
    let (runs, them) = (units::counted(n_runs as usize, "run"), units::processes(n));
    format!("{runs} of {} left {them} behind ({name})", command(plan, arm))
}

fn unstable(plan: &Plan, arm: usize, why: &str) -> String {
    let series = QuantityWords::of(plan).series();
    format!("the {series} of {} are not stable: {why}", command(plan, arm))
}

/// The blocks that are left out may have better values.
fn slow_start(plan: &Plan, n_blocks: usize) -> String {
    let is_time = QuantityWords::of(plan).is_time();
    let differ = if is_time { "were slower than" } else { "differ from" };
    let up = if plan.compared().len() > 1 { "up to " } else { "" };
    format!("{up}the first {n_blocks} blocks {differ} the rest and are left out of the comparison")
}

fn workers_waited(share: f64, clock: Clock) -> String {
    let leaves_out = match clock {
        Clock::Clean => "clean time leaves this out",
        Clock::Cpu => "CPU time leaves this out",
        Clock::Wall => "their wall times contain this",
    };
    format!(
        "the processes waited for a CPU for {} of the time of their slices; {leaves_out}",
        percent(share)
    )
}

fn major_faults(n: f64) -> String {
    format!("{} had to read from a device", units::counted(n as usize, "page fault"))
}

fn never_steady(worker: &str) -> String {
    format!("{worker} did not become steady while it was watched")
}

fn neighbours(neighbours: &Neighbours, plan: &Plan) -> String {
    let pieces = if plan.in_slices { "slices" } else { "runs" };
    let share = percent(neighbours.share());
    let cost = neighbours.ratio.map_or_else(String::new, |ratio| {
        format!("; they took {} more CPU time than the others", percent(ratio - 1.0))
    });
    format!(
        "the other hardware thread of the core was busy when {share} of the {pieces} began{cost}"
    )
}

/// `run 17 of a took 35 % less than any other, but had 120 page faults (others at least 350): t0 rests on the others`.
fn lone_run(name: &str, run: &LoneRun) -> String {
    let below =
        format!("run {} of {name} took {} less than any other", run.run, percent(run.below));
    if !run.is_left_out() {
        return format!(
            "{below}, and nothing that was recorded tells why: t0 rests on it, and its error reaches the others"
        );
    }
    let odd: Vec<String> = run.oddities.iter().map(oddity).collect();
    format!("{below}, but had {}: t0 rests on the others", odd.join(", "))
}

fn oddity(oddity: &Oddity) -> String {
    let (what, value, others) = match *oddity {
        Oddity::Exit { status } => {
            return format!("exit status {status} (the next ten had others)");
        }
        Oddity::Less { count: WorkCount::CpuNs, value, others } => {
            ("of CPU time", units::short_time(value), units::short_time(others))
        }
        Oddity::Less { count: WorkCount::Instructions, value, others } => {
            ("instructions", uncertain::significant(value, 3), uncertain::significant(others, 3))
        }
        Oddity::Less { count: WorkCount::PageFaults, value, others } => {
            ("page faults", uncertain::fixed(value, 0), uncertain::fixed(others, 0))
        }
    };
    format!("{value} {what} (the next ten at least {others})")
}

fn shield_lost(n_runs: usize, why: &str) -> String {
    let runs = if n_runs == 1 { "run was" } else { "runs were" };
    format!("the shield was lost: {why}; the last {n_runs} {runs} perhaps not alone")
}

fn shared_cpus(share: f64, n_cpus: usize) -> String {
    let cpus = if n_cpus == 1 { "the one CPU" } else { "the CPUs" };
    format!(
        "nothing else was on {cpus} of the runs: their own processes and threads took turns there for {} of the time",
        percent(share)
    )
}

fn coarse_steps(share: f64, misread: f64) -> String {
    let (step, off) = (percent(share), percent(misread));
    format!(
        "the times seem to be read in steps of {step} of the shortest, so a ratio may be off by {off}"
    )
}

fn crowded(name: &str, share: f64, n_threads: u64, n_cpus: usize) -> String {
    let cpus = if n_cpus == 1 { "one CPU".into() } else { format!("{n_cpus} CPUs") };
    format!(
        "up to {n_threads} threads of a run of {name} were ready at a time, and it may use {cpus}; for {} of its time \
         more were ready than that",
        percent(share)
    )
}

/// `b takes 5 % more time, but executes 3 % fewer instructions`.
fn counters_disagree(name: &str, time: f64, instructions: f64) -> String {
    let (more, less) = if time > instructions { ("more", "fewer") } else { ("less", "more") };
    let [time, instructions] = [time, instructions].map(|ratio| percent((ratio - 1.0).abs()));
    format!("{name} takes {time} {more} time, but executes {instructions} {less} instructions")
}

/// The remedy for this plan's session.
pub(super) fn advice(finding: &Finding, plan: &Plan) -> Option<String> {
    let audience = Audience::of(plan);
    let advice: Prose = match finding {
        // The framework warms its processes up, and the gate has no option for that.
        Finding::MajorFaults { .. } | Finding::SlowStart { .. } | Finding::WarmUp { .. }
            if audience == Audience::Gate =>
        {
            return None;
        }
        Finding::NoFloor { .. } if audience == Audience::Gate => "a longer --budget".into(),
        Finding::Lost { parts, .. } => {
            let advice = parts.first().and_then(|entry| noise::advice(&entry.source, audience));
            let advice = advice.map_or_else(String::new, |advice| advice + "; ");
            prose!["{advice}`stillwell noise` shows more"]
        }
        Finding::NotMixed => "--prepare before each run, or a suite".into(),
        Finding::ListedOrder => "--order interleave, the default, averages it".into(),
        Finding::MajorFaults { .. } if audience == Audience::Suite => "more `policy.warmup`".into(),
        Finding::MajorFaults { .. } => {
            "more --warmup, or --cold-cache if that is what is to be measured".into()
        }
        Finding::Migrations { .. } => prose![Affinity],
        Finding::LeftBehind { .. } => {
            prose![Conclude " can end them; " Setup " can start what all runs share"]
        }
        Finding::CountersDisagree { .. } => prose![DecideOn " instructions compares these"],
        Finding::Neighbours(_) => {
            prose![Isolate "; on a virtual machine, a host that shares its cores with nobody"]
        }
        Finding::NoFloor { .. } if audience == Audience::Suite => "more `policy.min_blocks`".into(),
        Finding::NoFloor { .. } => "more runs".into(),
        Finding::TooShort { .. } => return t0::without_shell(plan).map(String::from),
        Finding::Unstable { n_warmups, .. } => {
            let n_warmups = n_warmups.filter(|_| audience != Audience::Gate);
            let start =
                n_warmups.map_or_else(String::new, |n| format!("; {}", audience.warmups(n)));
            let of = if compares_times(plan) { "t0" } else { "median" };
            let trust = format!("trust its {of} less; a paired comparison is not affected");
            return Some(format!("{trust}{start}; `stillwell check` shows more"));
        }
        Finding::SlowStart { n_warmups, .. } => return n_warmups.map(|n| audience.warmups(n)),
        Finding::HardlyAnything { .. } => "keep the result: assign it, or pass it on".into(),
        Finding::WarmUp { is_steady: false, .. } => prose!["more " Warmups " if it gets faster"],
        Finding::OneCpu { .. } => prose![Affinity " all"],
        Finding::ShieldLost { .. } => "CPUs that no other control group has".into(),
        Finding::SharedCpus { .. } => prose![Affinity " with as many CPUs as they have threads"],
        Finding::Crowded { .. } => {
            prose![Affinity " with as many CPUs as it has threads, or fewer threads"]
        }
        Finding::NiceInTerminal { .. } => {
            prose![Isolate ", or `stillwell system tune --only autogroup`"]
        }
        Finding::RealTimePauses { .. } => {
            prose![Isolate " without " Sched ", or `stillwell system tune --only rt-throttling`"]
        }
        Finding::ClockInSlices { .. } => "slices of a millisecond, the default".into(),
        Finding::CoarseSteps { .. } => "times with more digits, or longer runs".into(),
        Finding::OneLayout => "a script with a Runner, and stillwell bench".into(),
        Finding::WorkersWaited { .. }
        | Finding::WarmUp { .. }
        | Finding::ShortSlices { .. }
        | Finding::LongSlices { .. }
        | Finding::Busy { .. }
        | Finding::RejectedRuns { .. }
        | Finding::FailedRuns { .. }
        | Finding::TimedOutRuns { .. }
        | Finding::Outlived { .. }
        | Finding::LoneRun { .. }
        | Finding::MemoryFloor { .. } => return None,
    };
    Some(audience.words(&advice))
}

fn long_slices(who: &str, shares: &LongSlices) -> String {
    let (time, slices) = (percent(shares.of_time), percent(shares.of_slices));
    format!(
        "garbage collection or similar: {time} of the time of {who} is in {slices} of its slices"
    )
}

fn short_slices(who: &str, times: &ShortSlice) -> String {
    format!(
        "a loop of {who} takes {} in slices of {} loops and {} in longer ones, which are the ones that count",
        units::short_time(times.short_ns),
        times.loops,
        units::short_time(times.long_ns)
    )
}

fn with_clock(who: &str, slice_ns: f64) -> String {
    let time = units::short_time(slice_ns);
    format!("a slice of {who} takes {time}, and reading the clock is a part of that")
}

fn runs(plan: &Plan, arm: usize, n: usize, n_runs: usize) -> String {
    format!("{n} of {} of {}", units::counted(n_runs, "run"), command(plan, arm))
}

/// Widest name of a command in a note, columns.
const NAME_MAX: usize = 30;

/// Names a command, with its number if two are alike.
fn command(plan: &Plan, arm: usize) -> String {
    if arm >= plan.arms.len() {
        return format!("command {}", arm + 1);
    }
    let name = short_label(plan, arm, NAME_MAX);
    let n_alike = plan.candidates().filter(|(at, _)| plan.full_label(*at) == plan.full_label(arm));
    if n_alike.count() > 1 { format!("{}: {name}", arm + 1) } else { name }
}

fn lost(total_ns: i64, is_lower_limit: bool, parts: &[LedgerEntry]) -> String {
    let (least, most) = if is_lower_limit { ("at least ", "at most ") } else { ("", "") };
    let part = |entry: &LedgerEntry| {
        let ns = units::short_time(entry.ns as f64);
        let share = noise::share(entry, total_ns);
        format!("{ns} ({most}{share}) {}", noise::name(&entry.source))
    };
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!("of {least}{} above t0: {}", units::short_time(total_ns as f64), parts.join(", "))
}

/// Formats a share of the time. One decimal suffices, and 132 % must not become 130 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format!("{} %", uncertain::fixed(percent, usize::from(percent < 9.95)))
}

#[cfg(test)]
mod tests;
