//! Budgets that are too short, and sufficient ones.

use crate::remedies::Audience;
use crate::uncertain;
use crate::units::counted;
use analysis::{DecisionEstimate, PairedTest, SameDoubt};
use record::plan::counting::AGREEING_RUNS;
use record::plan::suite::SUSPECT_PARTS;
use record::plan::{BlockRule, Plan};
use record::{EndReason, Record};

/// Factor on estimated times: the advice holds even if the blocks take a little longer.
const MARGIN: f64 = 1.1;

/// `at this pace --budget 10s has room for some 4 of 10 blocks: too few for a verdict; --budget 24s has room for all`.
/// `None` if the fewest blocks fit, or are measured in any case.
pub fn short_budget(plan: &Plan, block_ns: u64) -> Option<String> {
    let BlockRule::Budget { budget_ns, min, .. } = plan.blocks else { return None };
    let needed_ns = u64::from(min).saturating_mul(block_ns);
    if needed_ns <= budget_ns || plan.blocks.firm() >= min {
        return None;
    }
    let fitting = u32::try_from(budget_ns / block_ns.max(1)).unwrap_or(u32::MAX);
    let fitting = fitting.max(plan.blocks.firm());
    let family = plan.family().max(1);
    let fewest = stats::verdict::minimum_pairs(plan.policy.alpha / family as f64).ok();
    let is_compared = !plan.compared().is_empty() && plan.order.has_blocks();
    let outcome = match fewest {
        _ if !is_compared => ": a rough time",
        Some(fewest) if fitting as usize >= fewest => "",
        _ => ": too few for a verdict",
    };
    let has = budget(budget_ns as f64);
    let enough = budget(MARGIN * needed_ns as f64);
    let (option, remedy) = match Audience::of(plan) {
        Audience::Suite => {
            ("the budget of", format!("a longer `budget`, or `policy.budget = \"{enough}\"`"))
        }
        _ => ("--budget", format!("--budget {enough}")),
    };
    let blocks = counted(min as usize, "block");
    Some(format!(
        "at this pace {option} {has} has room for some {fitting} of {blocks}{outcome}; {remedy} has room for all"
    ))
}

/// Withdraws [`short_budget`].
pub fn has_room(min: u32) -> String {
    format!(
        "the later blocks took less time: the budget has room for {} after all",
        counted(min as usize, "block")
    )
}

/// The blocks of a benchmark so far, and their time. Without a block, the message leaves the benchmark out.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkPace<'a> {
    pub plan: &'a Plan,
    pub n_blocks: u64,
    pub span_ns: u64,
}

/// `the budget of 60s has no room for the fewest blocks of 9 of 13 benchmarks; 3min would be enough`. `paces`: one for
/// each benchmark; `spent_ns`: the total time so far. A resumed suite keeps its budget (`is_resumed`), so nothing is
/// advised. `None` if the fewest blocks fit.
pub fn short_budget_of_suite(
    budget_ns: u64,
    spent_ns: u64,
    paces: &[BenchmarkPace<'_>],
    is_resumed: bool,
) -> Option<String> {
    let needed = |&BenchmarkPace { plan, n_blocks, span_ns }: &BenchmarkPace<'_>| {
        let (min, ..) = plan.blocks.bounds();
        // Counts that repeat need no more.
        let min = if plan.valgrind().is_some() { min.min(AGREEING_RUNS) } else { min };
        let n_missing = u64::from(min).saturating_sub(n_blocks);
        Some((n_missing, span_ns, span_ns.checked_div(n_blocks)? * u64::from(min)))
    };
    let needs: Vec<(u64, u64, u64)> = paces.iter().filter_map(needed).collect();
    let n_short = needs.iter().filter(|(n_missing, ..)| *n_missing > 0).count();
    if n_short == 0 {
        return None;
    }
    let needed_ns: u64 = needs.iter().map(|(.., needed_ns)| needed_ns).sum();
    let timed_ns: u64 = needs.iter().map(|(_, span_ns, _)| span_ns).sum();
    // Warm-up, hooks and starts of workers take a proportional part of the time.
    let enough_ns = needed_ns as f64 * spent_ns as f64 / timed_ns.max(1) as f64;
    let has_suspects =
        |pace: &BenchmarkPace<'_>| pace.plan.suite.as_ref().is_some_and(|suite| suite.has_suspects);
    let n_parts = if paces.iter().any(has_suspects) { SUSPECT_PARTS } else { 1 };
    let enough_ns = enough_ns * n_parts as f64;
    let (has, enough) = (budget(budget_ns as f64), budget(MARGIN * enough_ns));
    let of = counted(paces.len(), "benchmark");
    let text =
        format!("the budget of {has} has no room for the fewest blocks of {n_short} of {of}");
    // The paces of benchmarks differ, so the forecast can be below what was not enough.
    let is_told = !is_resumed && MARGIN * enough_ns > budget_ns as f64 && enough != has;
    Some(if is_told { format!("{text}; {enough} would have") } else { text })
}

/// [`short_budget_of_suite`] for a finished gate. Times got `share` of the whole budget.
pub fn short_budget_of_gate(record: &Record, budget_ns: u64, share: f64) -> Option<String> {
    fn pace(part: &Record) -> BenchmarkPace<'_> {
        let (plan, rows) = (&part.header.plan, &part.rows);
        if part.end_reason() != Some(EndReason::Complete) {
            return BenchmarkPace { plan, n_blocks: 0, span_ns: 0 };
        }
        let timed = (0..rows.len()).filter(|&at| rows.block(at).is_some());
        let (mut started_ns, mut ended_ns, mut n_blocks) = (u64::MAX, 0, 0);
        for at in timed {
            started_ns = started_ns.min(rows.started_ns(at));
            ended_ns = ended_ns.max(rows.started_ns(at) + rows.span_ns(at).unwrap_or(0));
            n_blocks = n_blocks.max(rows.block(at).map_or(0, |block| block as u64 + 1));
        }
        BenchmarkPace { plan, n_blocks, span_ns: ended_ns.saturating_sub(started_ns) }
    }
    let paces: Vec<_> = record.parts.iter().map(pace).collect();
    let timed_ns = paces.iter().map(|pace| pace.span_ns).sum();
    // The times used only a share of the whole budget.
    let enough_for = |time_ns: u64| (time_ns as f64 / share) as u64;
    short_budget_of_suite(budget_ns, enough_for(timed_ns), &paces, false)
}

/// The deciding number of blocks, with options that make room for them.
pub(crate) fn to_decide(paired: &PairedTest, plan: &Plan) -> String {
    match paired.to_decide {
        Some(needed) => format!(
            "about {} blocks would decide{}; these were {}",
            needed.n_pairs,
            longer(needed, plan),
            paired.n_pairs
        ),
        None if paired.is_unsteady => format!(
            "the times changed during these {} blocks, so no number that would decide can be forecast",
            paired.n_pairs
        ),
        None if paired.doubt == Some(SameDoubt::CoarseSteps) => {
            "only finer steps of the times would decide".into()
        }
        None => format!("{} blocks are too few to say how many would decide", paired.n_pairs),
    }
}

/// Options that make room for this number of blocks, in parentheses. A new session needs them all: the interim analyses
/// of this one have used its error rate.
pub(super) fn longer(to_decide: DecisionEstimate, plan: &Plan) -> String {
    let BlockRule::Budget { max, .. } = plan.blocks else {
        return format!(" ({})", more_blocks(to_decide, plan).join(" "));
    };
    let (options, between) = match Audience::of(plan) {
        // The suite's own budget ends each benchmark as well.
        audience @ Audience::Suite => {
            let own = longer_budget(to_decide, plan);
            let own = own.map(|time| format!("`policy.budget = \"{time}\"`"));
            let n_pairs = to_decide.n_pairs;
            let beyond = (n_pairs > max as usize).then(|| audience.blocks_max(n_pairs));
            let whole = "a longer `budget` of the suite".to_owned();
            (own.into_iter().chain(beyond).chain([whole]).collect(), ", ")
        }
        // The gate's budget is for all benchmarks, of which others may be decided sooner.
        Audience::Gate => {
            let mut arms = plan.arms.iter();
            let steadier = arms.find_map(|arm| arm.value.as_ref()?.steadier(&arm.argv));
            let steadier = steadier.map(|argument| format!("programs with {argument}"));
            (["a longer --budget".to_owned()].into_iter().chain(steadier).collect(), ", or ")
        }
        _ => (more_blocks(to_decide, plan), " "),
    };
    if options.is_empty() { String::new() } else { format!(" ({})", options.join(between)) }
}

/// The budget for this number of blocks, if longer than the plan's.
fn longer_budget(to_decide: DecisionEstimate, plan: &Plan) -> Option<String> {
    let BlockRule::Budget { budget_ns, .. } = plan.blocks else { return None };
    let longer = to_decide.time_ns.filter(|time_ns| MARGIN * time_ns > budget_ns as f64);
    longer.map(|time_ns| budget(MARGIN * time_ns))
}

/// The options of `run`, `timeit` or `bench` that make room for this number of blocks.
pub(crate) fn more_blocks(to_decide: DecisionEstimate, plan: &Plan) -> Vec<String> {
    let n_pairs = to_decide.n_pairs;
    let BlockRule::Budget { max, .. } = plan.blocks else {
        return vec!["--runs".into(), n_pairs.to_string()];
    };
    let audience = Audience::of(plan);
    let longer = longer_budget(to_decide, plan).map(|time| format!("--budget {time}"));
    let beyond = (n_pairs > max as usize).then(|| audience.blocks_max(n_pairs));
    let options: Vec<String> = match audience {
        // The options exclude each other: a number of processes, or a budget.
        Audience::Workers => beyond.or(longer).into_iter().collect(),
        _ => longer.into_iter().chain(beyond).collect(),
    };
    options.iter().flat_map(|option| option.split(' ')).map(str::to_owned).collect()
}

/// A time as `--budget` reads it, rounded up.
pub(super) fn budget(time_ns: f64) -> String {
    let time_s = time_ns / 1e9;
    match time_s {
        ..1.0 => format!("{}ms", uncertain::fixed((time_ns / 1e6).ceil(), 0)),
        ..100.0 => format!("{}s", uncertain::fixed(time_s.ceil(), 0)),
        ..6000.0 => format!("{}min", uncertain::fixed((time_s / 60.0).ceil(), 0)),
        _ => format!("{}h", uncertain::fixed((time_s / 3600.0).ceil(), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::DecideOn;
    use record::fixture::record;
    use record::plan::InstructionCounter;
    use record::plan::suite::SuiteMembership;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_short_budget_is_told_with_what_fits_and_what_would() {
        let text = |commands: &[&str], budget_s: u64, min: u32, firm: u32, block_ns: u64| {
            let mut plan = record(commands).header.plan;
            let budget_ns = budget_s * SECOND_NS;
            plan.blocks = BlockRule::Budget { budget_ns, min, max: 500, firm };
            short_budget(&plan, block_ns)
        };
        let two = &["sleep 1.0", "sleep 1.1"];
        let expected = "at this pace --budget 10s has room for some 4 of 10 blocks: too few for a verdict; \
                        --budget 24s has room for all";
        assert_eq!(text(two, 10, 10, 1, 2_100_000_000).as_deref(), Some(expected));
        let nine = text(two, 10, 10, 1, 1_100_000_000).unwrap();
        assert!(
            nine.contains("some 9 of 10 blocks; --budget 13s"),
            "nine pairs can decide: {nine}"
        );
        let one = text(&["sleep 1"], 3, 24, 1, SECOND_NS).unwrap();
        assert!(
            one.contains("--budget 3s has room for some 3 of 24 blocks: a rough time"),
            "{one}"
        );
        assert_eq!(text(two, 10, 10, 1, SECOND_NS), None, "they fit");
        assert_eq!(text(two, 10, 10, 10, 9 * SECOND_NS), None, "the user wants them");
    }

    #[test]
    fn a_suite_says_how_long_its_fewest_blocks_take() {
        let mut plan = record(&["a", "b"]).header.plan;
        plan.blocks = BlockRule::Budget { budget_ns: SECOND_NS, min: 10, max: 500, firm: 1 };
        let text_of = |plan: &Plan, blocks: [u64; 2]| {
            let pace = |n| BenchmarkPace { plan, n_blocks: n, span_ns: n * 2 * SECOND_NS };
            short_budget_of_suite(16 * SECOND_NS, 26 * SECOND_NS, &blocks.map(pace), false)
        };
        // Two benchmarks, ten blocks of 2 s each, plus a tenth.
        let expected = "the budget of 16s has no room for the fewest blocks of 2 of 2 benchmarks; 44s would have";
        assert_eq!(text_of(&plan, [4, 9]).as_deref(), Some(expected));
        assert_eq!(text_of(&plan, [10, 10]), None);
        // One with too little time for its blocks, beside a quick one with many: less is no advice.
        let paces = [(9, 1), (100, 1)].map(|(n_blocks, span_ns)| BenchmarkPace {
            plan: &plan,
            n_blocks,
            span_ns,
        });
        let text = short_budget_of_suite(16 * SECOND_NS, SECOND_NS, &paces, false).unwrap();
        assert!(text.ends_with("of 1 of 2 benchmarks"), "{text}");
        let pace = BenchmarkPace { plan: &plan, n_blocks: 4, span_ns: 8 * SECOND_NS };
        let resumed = short_budget_of_suite(16 * SECOND_NS, 26 * SECOND_NS, &[pace], true).unwrap();
        assert!(
            resumed.ends_with("of 1 of 1 benchmark"),
            "no other budget can be given: {resumed}"
        );
        let (name, benchmark) = (String::new(), String::new());
        let gate =
            SuiteMembership { name, benchmark, family: 2, is_gate: true, has_suspects: true };
        plan.suite = Some(gate);
        // Suspects get the rest of the time.
        let text = text_of(&plan, [4, 9]).unwrap();
        assert!(text.ends_with("; 88s would have"), "{text}");
        // Three counts that repeat are enough.
        plan.policy.decide_on = Some(DecideOn::Instructions);
        let (path, version) = ("/v".into(), "valgrind-3.19.0".into());
        plan.counter = Some(InstructionCounter::Valgrind { path, version });
        assert_eq!(text_of(&plan, [3, 4]), None);
        assert!(text_of(&plan, [2, 4]).unwrap().contains("of 1 of 2 benchmarks"));
    }
}
