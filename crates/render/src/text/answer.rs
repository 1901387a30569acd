//! The answer in one sentence: which command is faster, by how much, and how sure that is.

use std::fmt::Write as _;

use crate::budget::{longer, to_decide};
use crate::names::distinct;
use crate::quantity::{QuantityWords, is_within_limit};
use crate::ratios::times_text;
use crate::remedies::Audience;
use crate::t0;
use crate::text::comparison::{margin, no_test};
use crate::text::doubt::slow_text;
use crate::text::{SummaryContext, rate};
use crate::uncertain;
use crate::units::percent;
use analysis::verdict::{Judged, Judgement, Verdict};
use analysis::{ArmSummary, Evidence, NoTest, PairedTest, RatioInterval, SameDoubt, StatisticName};
use model::values::{Better, Clock, Estimand};
use record::plan::Plan;

/// Columns of a name in a sentence about several commands.
const NAME_IN_LIST_MAX: usize = 24;
/// More names are only counted.
const NAMES_MAX: usize = 3;

/// The sentence about all commands of a session; `None` if there is nothing to tell.
pub(super) fn sentence(page: &SummaryContext<'_>) -> Option<String> {
    let analysis = page.analysis;
    let candidates: Vec<&ArmSummary> = page.candidates().collect();
    match (&candidates[..], &analysis.comparisons[..]) {
        ([], _) => None,
        ([arm], _) => Some(alone(page, &page.names[arm.arm], arm)),
        (_, [found]) if candidates.len() == 2 => {
            let [new, old] = [found.arm, found.reference].map(|arm| &*page.names[arm]);
            let judgement = page.judged.judgements.first()?;
            Some(pair([new, old], &found.evidence, judgement, page.plan))
        }
        _ => several(page, &candidates),
    }
}

/// The time of a single command.
pub(super) fn alone(page: &SummaryContext<'_>, name: &str, arm: &ArmSummary) -> String {
    let Some(text) = t0::arm_text(page.unit, arm) else {
        return format!("{name} has no finished run");
    };
    if let Some(text) = rate(page.judged.record, arm) {
        return format!("{name}: {text}, the median of its values; more is better");
    }
    if let Some(t0) = arm.net_t0().filter(|_| arm.is_too_short()) {
        let use_n = t0::without_shell(page.plan).map_or_else(String::new, |it| format!(": {it}"));
        return format!("{name} is {}{use_n}", t0::too_short(page.plan, t0));
    }
    let quantity = QuantityWords::of_arm(page.judged.record, arm.arm);
    let has_t0 = QuantityWords::has_t0(page.judged.record, arm.arm);
    if let (false, Some(values)) = (has_t0, &arm.times) {
        let is_imported = page.judged.record.header.imported.is_some();
        let runs = if is_imported { "values" } else { "runs" };
        let (most, err) = match values.is_upper_limit {
            true => ("at most ", None),
            false => ("", values.median.err),
        };
        let text = page.unit.label(&page.unit.uncertain(values.median.value, err));
        let why = t0::why_limited(arm).map_or_else(String::new, |why| format!(": {why}"));
        return match quantity {
            // Copies are not named: the memory is the largest process's.
            QuantityWords::Amount { verb, noun, is_count, .. } => {
                let of = if is_count { "" } else { "of " };
                format!("{name} {verb} {most}{text} {of}{noun}, the median of its runs{why}")
            }
            _ => format!("{name} gives {text}, the median of its {runs}"),
        };
    }
    let text = page.unit.label(&text);
    let copies = page.plan.copies.as_ref().filter(|_| quantity.is_time());
    let name = &copies.map_or_else(|| name.to_owned(), |it| format!("{} copies of {name}", it.n));
    let takes = match quantity {
        QuantityWords::Amount { noun, .. } => format!("uses {text} of {noun}"),
        _ if copies.is_some() => format!("take {text}"),
        _ => format!("takes {text}"),
    };
    let Some(why) = t0::why_limited(arm) else {
        // A single run may have been disturbed, and so may slow slices.
        let is_known = arm.times.as_ref().is_some_and(|times| times.t0.err.is_some())
            && !contains_slow_slices(page, arm);
        let undisturbed = match copies {
            _ if !is_known => "",
            Some(_) => " when nothing disturbs them",
            None => " when nothing disturbs it",
        };
        return format!("{name} {takes}{undisturbed}");
    };
    let cpu = arm.cpu.as_ref().filter(|cpu| !cpu.is_upper_limit);
    let cpu = cpu.map_or_else(String::new, |cpu| {
        let cpu = page.unit.label(&page.unit.uncertain(cpu.t0.value, cpu.t0.err));
        format!("; {} CPU time is {cpu}", if copies.is_some() { "their" } else { "its" })
    });
    format!("{name} {takes}: {why}{cpu}{}", t0::not_subtracted(arm))
}

/// The verdict on `new` against `old`, with its interval.
pub(crate) fn pair(
    [new, old]: [&str; 2],
    evidence: &Evidence,
    judgement: &Judgement,
    plan: &Plan,
) -> String {
    let quantity = QuantityWords::of(plan);
    match evidence {
        Evidence::Paired(paired) => {
            let shown = judgement.shown(paired);
            match judgement.verdict {
                Verdict::Slower | Verdict::Faster => decided([new, old], paired, judgement, plan),
                Verdict::Same if paired.repeats => quantity.same_again(new, old, shown),
                Verdict::Same => {
                    let same = quantity.same(new, old, &margin(plan.policy));
                    format!("{same}: {}", quantity.range(new, old, shown))
                }
                Verdict::Undecided if is_within_limit(judgement, plan) => {
                    let limit = percent(plan.slower_limit);
                    let slower = if quantity.is_time() { "slower" } else { "worse" };
                    let range = quantity.range(new, old, shown);
                    format!("{new} is not {limit} {slower} than {old}: {range}")
                }
                Verdict::Undecided => undecided(new, old, paired, shown, plan),
            }
        }
        Evidence::Unpaired { ratio, because, .. } => {
            let times = uncertain::significant(ratio.of_values(judgement.better).value, 3);
            let because = no_test(*because, plan.policy);
            if quantity.is_time() {
                return format!(
                    "{new} took {times} times as long as {old}, which is an estimate and no verdict: {because}"
                );
            }
            format!("the ratio of {new} to {old} is {times}, an estimate and no verdict: {because}")
        }
        Evidence::None { because } => {
            format!("no verdict on {new} against {old}: {}", no_test(*because, plan.policy))
        }
    }
}

/// A decided difference, and whether it still counts as the same, or the means differ by another ratio.
fn decided(
    [new, old]: [&str; 2],
    paired: &PairedTest,
    judgement: &Judgement,
    plan: &Plan,
) -> String {
    let (shown, quantity) = (judgement.shown(paired), QuantityWords::of(plan));
    let text = match paired.repeats {
        true => quantity.differs_again(new, old, shown),
        false => quantity.difference(new, old, shown),
    };
    if judgement.within_margin {
        return format!("{text}, less than the {} that counts as the same", margin(plan.policy));
    }
    if plan.policy.estimand == Estimand::Adaptive && paired.has_other_mean() {
        let times = times_text(paired.mean_ratio.of_values(judgement.better).ratio);
        return format!("{text}; {} it {}", quantity.on_average(), quantity.times(&times));
    }
    text
}

/// The knowledge about an undecided difference, and what would decide.
fn undecided(
    new: &str,
    old: &str,
    paired: &PairedTest,
    shown: RatioInterval,
    plan: &Plan,
) -> String {
    if paired.doubt == Some(SameDoubt::HiddenTail)
        && let Some(needed) = paired.to_decide
    {
        let same = QuantityWords::of(plan).same(new, old, &margin(plan.policy));
        let slow = if QuantityWords::of(plan).is_time() { "slow" } else { "bad" };
        let (n, longer) = (needed.n_pairs, longer(needed, plan));
        return format!("{same} so far; {n} blocks are needed to exclude rare {slow} runs{longer}");
    }
    if let Some(doubt) = paired.doubt {
        let margin = margin(plan.policy);
        let but = doubt_of([new, old], doubt, paired, plan);
        return match doubt {
            // Within such steps nothing is known.
            SameDoubt::CoarseSteps => {
                format!("cannot call {new} and {old} the same within {margin}: {but}")
            }
            _ => format!(
                "cannot call {new} and {old} the same yet: within {margin} they are, but {but}"
            ),
        };
    }
    let quantity = QuantityWords::of(plan);
    let what = format!("cannot tell yet {}", quantity.question(new, old));
    if shown.ends().contains(&None) {
        return format!("{what}: {} blocks are too few for an interval", paired.n_pairs);
    }
    format!("{what}: {}; {}", quantity.range(new, old, shown), to_decide(paired, plan))
}

/// The reason against "the same", with the name of the affected command.
fn doubt_of([new, old]: [&str; 2], doubt: SameDoubt, paired: &PairedTest, plan: &Plan) -> String {
    let quantity = QuantityWords::of(plan);
    let slow = slow_text(paired.slow_runs, quantity);
    let slow_runs = if quantity.is_time() { "slow" } else { "bad" };
    match doubt {
        SameDoubt::Uneven => "their fastest and their usual runs differ by two ratios".into(),
        SameDoubt::HiddenTail => format!("there may be rare {slow_runs} runs"),
        SameDoubt::MeanDiffers => {
            let mean = times_text(plan.policy.better.turned(paired.mean_ratio.ratio));
            format!("{} {new} {}{slow}", quantity.on_average(), quantity.times(&mean))
        }
        SameDoubt::TailDiffers => {
            format!("{new} and {old} do not have the same {slow_runs} runs{slow}")
        }
        SameDoubt::MeanUnknown => {
            let means = if quantity.is_time() { "mean times" } else { "means" };
            let part = match paired.statistic {
                StatisticName::Typical => Some("typical"),
                StatisticName::Floor | StatisticName::LocalFloor => Some("floor"),
                StatisticName::Mean | StatisticName::GeometricMean => None,
            };
            let setting = part.and_then(|part| Audience::of(plan).estimand(part));
            let remedy = setting.map_or_else(String::new, |it| format!("; {it} leaves them out"));
            format!("too little is known of the {means}{remedy}")
        }
        SameDoubt::CoarseSteps => "their times are read in steps too coarse for that".into(),
    }
}

/// The sentence about more than two commands, or about commands without a comparison each.
fn several(page: &SummaryContext<'_>, candidates: &[&ArmSummary]) -> Option<String> {
    let Judged { analysis, judgements, .. } = page.judged;
    let plan = page.plan;
    let untested = analysis.comparisons.iter().map(|found| found.evidence.test().err());
    let untested: Option<Vec<NoTest>> = untested.collect();
    if let Some(because) = untested.and_then(|all| all.first().copied()) {
        return Some(format!("no verdict: {}", no_test(because, plan.policy)));
    }
    if judgements.len() + 1 < candidates.len() {
        return None;
    }
    let n_arms = candidates.len();
    if judgements.iter().all(|judgement| judgement.verdict == Verdict::Same) {
        let margin = margin(plan.policy);
        let reference = &page.names[plan.reference];
        return Some(format!("all {n_arms} are the same within {margin} of {reference}"));
    }
    Some(fastest(page, n_arms))
}

fn fastest(page: &SummaryContext<'_>, n_arms: usize) -> String {
    let ranking = &page.ranking;
    let labels: Vec<&str> = ranking.order.iter().map(|&arm| &*page.names[arm]).collect();
    let short = distinct(&labels, NAME_IN_LIST_MAX);
    let on_average = slower_on_average(page, &short).unwrap_or_default();
    let n_close = ranking.close.len();
    let than = ranking.factors.map(|(lo, hi)| {
        let [lo, hi] = [lo, hi].map(times_text);
        if lo == hi { format!("{lo} times") } else { format!("{lo} to {hi} times") }
    });
    let best = if page.quantity.is_time() { "fastest" } else { "best" };
    let hint = hint(page);
    let Some(than) = than else {
        return format!("cannot tell yet which of the {n_arms} is the {best}{hint}");
    };
    let than = page.quantity.best(&than, n_arms - 1 - n_close);
    let first = &short[0];
    // A close one may stand behind one that is apart: its interval is wide.
    let named = ranking.order.iter().zip(&short).filter(|(arm, _)| ranking.close.contains(arm));
    let mut close: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
    let close = match close.pop() {
        None => return format!("{first} is the {best}: {than}{on_average}"),
        Some(_) if n_close >= NAMES_MAX => format!("{n_close} more"),
        Some(last) if close.is_empty() => last.into(),
        Some(last) => format!("{} and {last}", close.join(", ")),
    };
    // The factor belongs to the first alone.
    format!(
        "{first} may be the {best}: {than}; {close} cannot be told apart from it{on_average}{hint}"
    )
}

/// The mean of the first against the lowest one, if another arm certainly has a lower mean. `names` are in the order of
/// the ranking.
fn slower_on_average(page: &SummaryContext<'_>, names: &[String]) -> Option<String> {
    let (plan, order, quantity) = (page.plan, &page.ranking.order, page.quantity);
    if plan.policy.estimand != Estimand::Adaptive {
        return None;
    }
    let mean = |arm: usize| {
        if arm == plan.reference {
            return Some(RatioInterval { ratio: 1.0, lo: 1.0, hi: 1.0 });
        }
        let found = page.analysis.comparisons.iter().find(|found| found.arm == arm)?;
        found.evidence.test().ok().map(|paired| paired.mean_ratio)
    };
    let first = mean(*order.first()?)?;
    let means = order.iter().zip(names).filter_map(|(&arm, name)| Some((mean(arm)?, name)));
    let (lowest, name) = means.min_by(|(one, _), (other, _)| one.hi.total_cmp(&other.hi))?;
    // Both are relative to the reference, as in the ranking.
    let ratio = RatioInterval {
        ratio: first.ratio / lowest.ratio,
        lo: first.lo / lowest.hi,
        hi: first.hi / lowest.lo,
    };
    if ratio.lo <= 1.0 || ratio.ends().contains(&None) {
        return None;
    }
    let range = quantity.range(names.first()?, name, ratio.of_values(plan.policy.better));
    Some(format!("; {} {range}", quantity.on_average()))
}

/// The words of `to_decide` for the open comparison that needs the most pairs; empty if none is open.
fn hint(page: &SummaryContext<'_>) -> String {
    let tests = page.analysis.comparisons.iter().filter_map(|found| found.evidence.test().ok());
    let open = tests.filter(|paired| paired.to_decide.is_some());
    let most = open.max_by_key(|paired| paired.to_decide.map(|needed| needed.n_pairs));
    most.map_or_else(String::new, |paired| format!("; {}", to_decide(paired, page.plan)))
}

/// How much other programs disturbed the only command, in one line.
pub(super) fn disturbance(page: &SummaryContext<'_>, arm: &ArmSummary) -> Option<String> {
    let times = arm.times.as_ref()?;
    times.sd?;
    let (unit, quantity) = (page.unit, QuantityWords::of_arm(page.judged.record, arm.arm));
    let time = |ns: f64| unit.number(ns, unit.decimals(times.t0.value, times.t0.err));
    let [q10, .., q90] = times.quantiles;
    let pieces = if page.plan.workers.is_some() { "slices" } else { "values" };
    let (n, runs) = arm.sliced.as_ref().map_or((arm.n_runs, "runs"), |it| (it.n_slices, pieces));
    let subject = if arm.net.is_some() { " as measured, nothing subtracted" } else { "" };
    let took = if quantity.is_time() { "took" } else { "were" };
    let (than, nine) = match quantity {
        QuantityWords::Value(Better::Higher) => ("least", q10),
        _ => ("most", q90),
    };
    let half = unit.label(&time(times.median.value));
    let mut spread = format!("{n} {runs}{subject}: half {took} at {than} {half}");
    if n >= NINE_OF_TEN_MIN {
        write!(spread, ", nine of ten at {than} {}", unit.label(&time(nine))).ok();
    }
    if contains_slow_slices(page, arm) {
        write!(spread, "; the time above is of whole processes, slow {runs} included").ok();
    }
    if let Some(share) = lost_share(page, arm) {
        write!(spread, "; other programs took {share} of the time, which is left out").ok();
    }
    Some(spread)
}

/// The answer is of processes. Their means contain slow slices if t0 is above the usual slice.
fn contains_slow_slices(page: &SummaryContext<'_>, arm: &ArmSummary) -> bool {
    let Some(times) = &arm.times else { return false };
    let has_t0 = QuantityWords::has_t0(page.judged.record, arm.arm);
    arm.sliced.is_some() && has_t0 && times.t0.value > times.median.value
}

/// Fewest runs with nine tenths of them, as the rule of thumb n (1 − p) ≥ 1 has it.
const NINE_OF_TEN_MIN: usize = 10;

/// Smallest share taken by other programs that is mentioned.
const LOST_SHOWN: f64 = 0.001;

/// The share of the time that other programs took, which clean time leaves out. Unclear time may have been theirs too.
fn lost_share(page: &SummaryContext<'_>, arm: &ArmSummary) -> Option<String> {
    let is_clean = page.plan.policy.clock == Clock::Clean && arm.clean.is_some();
    let stalls = arm.stalls.filter(|_| is_clean)?;
    let is_shown = |ns: f64| ns >= LOST_SHOWN * stalls.wall_mean_ns;
    let least = if is_shown(stalls.unclear_mean_ns) { "at least " } else { "" };
    let share = percent(stalls.stalled_mean_ns / stalls.wall_mean_ns);
    is_shown(stalls.stalled_mean_ns).then(|| format!("{least}{share}"))
}
