//! Decides the plan from options and facts, with the defaults of a session. `plan::defaults` has the defaults of verbs
//! without a plan.

use anyhow::{Result, bail, ensure};

use crate::plan::arms::{Arms, arms};
use crate::plan::deciding::Deciding;
use crate::plan::revisions::across_commands;
use crate::plan::surroundings::Surroundings;
use crate::plan::terms::{ArmTerms, Terms};
use crate::plan::{
    Arm, BlockRule, DecisionRule, Plan, Precision, ProcessPlan, Role, Stopping, copies, defaults,
};
use host::Facts;
use model::prose::prose;
use model::spec::RunSpec;
use model::spec::groups::JudgementOptions;
use model::spec::run::{DisplayOptions, LengthOptions, ProcessOptions};
use model::values::metric::{Metric, Quantity};
use model::values::{
    Better, CPU, Clock, Estimand, MetricChoice, Order, Percent, ProcessValue, TimeSpan, TimeUnit,
    VALUE,
};

pub(super) const BUDGET_ONE_NS: u64 = 3_000_000_000;
pub(super) const BUDGET_SEVERAL_NS: u64 = 10_000_000_000;
const BLOCKS_MIN_ONE: u32 = 24;
const BLOCKS_MIN_SEVERAL: u32 = 10;
/// Blocks beyond the fewest that can decide: a trimmed mean needs some more pairs.
const FAMILY_BLOCKS_MORE: u32 = 4;
/// More pairs hardly narrow an interval (docs/methodology.md, "Many pairs").
const BLOCKS_MAX_SEVERAL: u32 = 500;
const PRECISION_ONE_PCT: f64 = 0.5;
const ALPHA_PCT: f64 = 1.0;
const SAME_WITHIN: f64 = 0.01;
/// Fewest runs for a meaningful error of t0.
const PRECISION_BLOCKS_MIN: u32 = 12;
/// Load comes and goes over tenths of seconds. A shorter session may see only one state of the machine, and its error
/// would not cover the others (docs/methodology.md, "t0 and its error").
const PRECISION_TIME_MIN_NS: u64 = 1_000_000_000;

/// Decides a plan of commands by which nothing is executed. Errors: see [`decide_session`].
#[cfg(any(test, feature = "fixtures"))]
pub fn decide_run(spec: &RunSpec, facts: &Facts, drawn_seed: u64) -> Result<Plan> {
    decide_session(spec, &Terms::default(), &Surroundings::of(facts, drawn_seed))
}

/// Decides the plan of commands. Errors: the options contradict themselves, or this machine lacks what they need.
pub fn decide_session(
    spec: &RunSpec,
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let arms = arms(spec)?;
    let arms = match terms.arms {
        ArmTerms::Revisions(revisions) => across_commands(arms, &spec.hooks, revisions)?,
        _ => arms,
    };
    // Without this, `-r 1 make` would run for two hours instead of one.
    let warmup = spec.length.warmup.or(spec.length.runs.map(|_| 0));
    let length = LengthOptions { warmup, ..spec.length.clone() };
    let plan = decide(&RunSpec { length, ..spec.clone() }, arms, terms, surroundings)?;
    require_comparison(&plan, &spec.judgement)?;
    Ok(plan)
}

/// Errors: `--fail-on slower` has nothing to compare. A suite may have benchmarks that are in one program only.
pub fn require_comparison(plan: &Plan, judgement: &JudgementOptions) -> Result<()> {
    let is_asked = judgement.fail_on.is_some_and(|fail_on| fail_on.slower_pct.is_some());
    let why = match plan.has_programs() {
        true => "no benchmark is in two of the programs",
        false => "there is only one command",
    };
    ensure!(
        !is_asked || !plan.compared().is_empty(),
        "--fail-on slower needs something to compare, but {why}"
    );
    Ok(())
}

/// Decides the plan for these arms, by the other options. Errors: see [`decide_session`].
pub(super) fn decide(
    spec: &RunSpec,
    arms: Arms,
    terms: &Terms<'_>,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let max_runs = terms.n_blocks_max.or(spec.length.max_runs);
    let length = LengthOptions { max_runs, ..spec.length.clone() };
    let mut plan = by_options(&RunSpec { length, ..spec.clone() }, arms, surroundings)?;
    surroundings.bind(&mut plan.process, &spec.process.priority);
    terms.apply(&mut plan);
    surroundings.place(&mut plan, spec)?;
    Ok(plan)
}

/// The plan as the options say.
fn by_options(spec: &RunSpec, mut arms: Arms, surroundings: &Surroundings) -> Result<Plan> {
    let (deciding, copies) = copies::deciding(&mut arms, spec)?;
    let Arms { arms, control, shell, shell_reason } = arms;
    let RunSpec { length, process, hooks, judgement, display, .. } = spec;
    let n_comparisons = n_comparisons(&arms);
    let metrics = match &display.metrics {
        Some(list) => list.0.clone(),
        None => default_metrics(),
    };
    let metrics = with_value(in_unit(metrics, display.time_unit), &arms);
    let order = order(length.order, &arms)?;
    let of_all = |hook: &Option<String>, of_value: fn(&Arm) -> &Option<String>| {
        hook.clone().filter(|_| arms.iter().all(|arm| of_value(arm).is_none()))
    };
    let alpha = defaults::alpha(judgement.alpha.unwrap_or(Percent(ALPHA_PCT)))?;
    let blocks = block_rule(length, n_comparisons, alpha)?;
    // A user who asks for a number of runs gets this number, whatever they show.
    let is_sequence = n_comparisons > 0 && order.has_blocks() && length.runs.is_none();
    let stopping = match blocks {
        BlockRule::Budget { .. } if is_sequence => Stopping::WhenDecided,
        _ => Stopping::AtTheEnd,
    };
    Ok(Plan {
        reference: 0,
        control,
        shell,
        shell_reason,
        order,
        seed: length.seed.unwrap_or(surroundings.drawn_seed),
        n_warmups: length.warmup.unwrap_or(1),
        blocks,
        stopping,
        trial: None,
        slower_limit: judgement.fail_on.and_then(|it| it.slower_pct).unwrap_or(0.0) / 100.0,
        tolerates_slowdowns: judgement.fail_on.is_some_and(|it| it.slower_pct.is_none()),
        ceiling: deciding.ceiling,
        refuses_survivors: judgement.fail_on.is_some_and(|fail_on| !fail_on.allows_processes),
        precision: precision(length, n_comparisons, order)?,
        timeout_ns: length.timeout.map(|timeout| timeout.ns),
        setup: of_all(&hooks.setup, |arm| &arm.setup),
        cleanup: of_all(&hooks.cleanup, |arm| &arm.cleanup),
        validate: hooks.validate.clone(),
        cold_cache: hooks.cold_cache,
        input: process.execution.input.clone().filter(|input| input != "null"),
        process: process_plan(process, &surroundings.facts)?,
        evidence: copies.is_none() && needs_evidence(display, &deciding),
        copies,
        counter: None,
        metrics,
        policy: DecisionRule {
            alpha,
            same_within: judgement.same.map_or(SAME_WITHIN, |percent| percent.0 / 100.0),
            ..deciding.rule
        },
        arms,
        workers: None,
        in_slices: false,
        suite: None,
        fair_play: None,
        by_geometric_mean: false,
    })
}

fn needs_evidence(display: &DisplayOptions, deciding: &Deciding) -> bool {
    let is_shown = display.metrics.as_ref().is_none_or(|list| list.needs_evidence());
    is_shown || deciding.needs_counters()
}

/// The metrics to show if the user names none.
pub fn default_metrics() -> Vec<MetricChoice> {
    let choice = |name: &str| MetricChoice { name: name.into(), unit: None };
    ["wall", CPU, "user", "sys", "maxrss"].map(choice).to_vec()
}

/// The metrics; times get this unit unless they have one.
fn in_unit(mut metrics: Vec<MetricChoice>, unit: Option<TimeUnit>) -> Vec<MetricChoice> {
    let Some(TimeUnit(unit)) = unit else { return metrics };
    let is_time = |name: &str| match Metric::from_name(name).map(|metric| metric.info().quantity) {
        Some(quantity) => matches!(quantity, Quantity::Time { .. } | Quantity::Picoseconds),
        None => name == CPU,
    };
    let times = metrics.iter_mut().filter(|metric| is_time(&metric.name));
    times.for_each(|metric| metric.unit = metric.unit.take().or(Some(unit.to_owned())));
    metrics
}

/// The metrics, and the value of the runs if there is one.
fn with_value(mut metrics: Vec<MetricChoice>, arms: &[Arm]) -> Vec<MetricChoice> {
    let says_value = arms.iter().any(|arm| arm.value.is_some());
    metrics.extend(says_value.then(|| MetricChoice { name: VALUE.into(), unit: None }));
    metrics
}

/// The order of the runs. A setup for each value runs once, so all runs of the value must follow it.
fn order(asked: Option<Order>, arms: &[Arm]) -> Result<Order> {
    if arms.iter().all(|arm| arm.setup.is_none() && arm.cleanup.is_none()) {
        return Ok(asked.unwrap_or_default());
    }
    ensure!(
        !asked.is_some_and(Order::has_blocks),
        "--order interleave or listed: --setup or --cleanup mentions a parameter, so it is executed once for each value, and \
         the runs of the values cannot be mixed; use --prepare, which is executed before each run, or a suite"
    );
    Ok(Order::Sequential)
}

impl Default for DecisionRule {
    fn default() -> Self {
        Self {
            alpha: ALPHA_PCT / 100.0,
            same_within: SAME_WITHIN,
            estimand: Estimand::default(),
            clock: Clock::default(),
            process_value: ProcessValue::default(),
            decide_on: None,
            better: Better::Lower,
        }
    }
}

/// Number of arms that are compared with an earlier one, the twin included.
fn n_comparisons(arms: &[Arm]) -> usize {
    let has_reference = |&(index, arm): &(usize, &Arm)| {
        let is_before =
            |other: &Arm| other.role == Role::Candidate && other.benchmark == arm.benchmark;
        !arm.role.is_control() && arms[..index].iter().any(is_before)
    };
    arms.iter().enumerate().filter(has_reference).count()
}

/// Fewest blocks that can decide so many comparisons at once, even if some pairs disagree.
pub(super) fn fewest_blocks(family: usize, alpha: f64) -> u32 {
    let fewest = stats::verdict::minimum_pairs(alpha / family as f64);
    let fewest = fewest.ok().and_then(|fewest| u32::try_from(fewest).ok()).unwrap_or(0);
    let fewest = if family > 1 { fewest + FAMILY_BLOCKS_MORE } else { 0 };
    BLOCKS_MIN_SEVERAL.max(fewest)
}

fn block_rule(length: &LengthOptions, n_comparisons: usize, alpha: f64) -> Result<BlockRule> {
    if let Some(n_blocks) = length.runs {
        let of_budget = |budget: TimeSpan| {
            let (min, max) = (n_blocks, n_blocks);
            BlockRule::Budget { budget_ns: budget.ns, min, max, firm: 1 }
        };
        return Ok(length.stop.budget.map_or(BlockRule::Exactly(n_blocks), of_budget));
    }
    let (budget_ns, default_min, default_max) = if n_comparisons == 0 {
        (BUDGET_ONE_NS, BLOCKS_MIN_ONE, u32::MAX)
    } else {
        (BUDGET_SEVERAL_NS, fewest_blocks(n_comparisons, alpha), BLOCKS_MAX_SEVERAL)
    };
    if let (Some(min), Some(max)) = (length.min_runs, length.max_runs) {
        ensure!(min <= max, "--min-runs {min} is above --max-runs {max}");
    }
    let (min, max) = limits((length.min_runs, length.max_runs), (default_min, default_max));
    Ok(BlockRule::Budget {
        budget_ns: length.stop.budget.map_or(budget_ns, |budget| budget.ns),
        min,
        max,
        // Only a number from the user outranks the budget.
        firm: length.min_runs.unwrap_or(1),
    })
}

/// Fewest and most blocks. A default that contradicts the user's limits gives way.
pub(super) fn limits(user: (Option<u32>, Option<u32>), (min, max): (u32, u32)) -> (u32, u32) {
    match user {
        (Some(min), Some(max)) => (min, max),
        (Some(min), None) => (min, max.max(min)),
        (None, Some(max)) => (min.min(max), max),
        (None, None) => (min, max),
    }
}

fn precision(
    length: &LengthOptions,
    n_comparisons: usize,
    order: Order,
) -> Result<Option<Precision>> {
    let requested = length.stop.precision.map(|percent| percent.0);
    ensure!(
        requested.is_none() || order.has_blocks(),
        "--precision needs complete blocks while it measures, so it does not go with --order sequential, nor with a \
         parameter in --setup or --cleanup"
    );
    let default = (n_comparisons == 0 && length.runs.is_none() && order.has_blocks())
        .then_some(PRECISION_ONE_PCT);
    let n_blocks_min = length.min_runs.unwrap_or(PRECISION_BLOCKS_MIN);
    let time_min_ns = PRECISION_TIME_MIN_NS;
    Ok(requested.or(default).map(|pct| Precision { pct, n_blocks_min, time_min_ns }))
}

fn process_plan(process: &ProcessOptions, facts: &Facts) -> Result<ProcessPlan> {
    let affinity = process.affinity.as_ref().map(|cpus| cpus.0.clone());
    affinity.as_ref().map_or(Ok(()), |cpus| check_online(cpus, facts))?;
    Ok(ProcessPlan {
        launcher_cpus: affinity.clone(),
        affinity,
        nice: process.priority.nice,
        is_raised: false,
        sched: process.priority.sched,
        rlimits: Vec::new(),
        no_aslr: process.layout.no_aslr,
        env_padding: process.layout.env_padding.unwrap_or_default(),
        thread_variables: Vec::new(),
        memory: None,
    })
}

/// Checks that CPUs are online. They need not be in this process's mask: isolated CPUs (isolcpus=) are in no mask until
/// a process is bound to them. Errors: the first CPU that is not online.
pub(super) fn check_online(cpus: &[usize], facts: &Facts) -> Result<()> {
    let Some(online) = &facts.cpus_online else { return Ok(()) };
    let known = model::values::parse_cpu_list(online).unwrap_or_default();
    match cpus.iter().find(|cpu| !known.contains(cpu)) {
        Some(cpu) => {
            bail!(prose![Affinity ": CPU {cpu} is not one of those that are online ({online})"])
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
