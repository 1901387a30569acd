//! Output of `pool collect`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::{one_line, shorten, wrap};
use crate::conclusion::{Conclusion, Effect, whole};
use crate::document::DocumentBody;
use crate::names::first_of;
use crate::pool::{NAME_MAX, NAMED_MAX};
use crate::quantity::QuantityWords;
use crate::ratios::{ratio_and_interval, ratio_text};
use crate::styles::paint;
use crate::text::{margin, no_test};
use crate::units::{counted, percent};
use crate::{Styles, table, uncertain};
use analysis::pool::{NodeRatio, PoolEvidence, PoolLine, PooledRatio};
use analysis::verdict::{Judgement, Verdict};
use analysis::{RatioInterval, UncertainValue};
use record::plan::DecisionRule;
use search::pool::Pool;

/// With fewer nodes, more nodes narrow an interval more than more repetitions do.
const NODES_FEW: usize = 5;

pub struct Collection<'a> {
    pub pool: &'a Pool,
    /// Number of finished tasks.
    pub n_done: usize,
    /// Unfinished tasks.
    pub missing: &'a [usize],
    /// Tasks with a damaged record, and the damage.
    pub damaged: &'a [(usize, String)],
    pub lines: &'a [PoolLine],
    /// One for each line.
    pub judgements: &'a [Judgement],
}

/// The table of variants with their ratios across the nodes, then the remarks.
pub fn collected(collection: &Collection<'_>, by_node: bool, styles: &Styles) -> String {
    let mut out = String::new();
    let nodes = collection.lines.iter().flat_map(|line| &line.nodes);
    let nodes: BTreeSet<&str> = nodes.map(|it| it.node.as_str()).collect();
    let on = match nodes.len() {
        0 => String::new(),
        n if n <= NAMED_MAX => {
            let nodes: Vec<&str> = nodes.into_iter().collect();
            format!(" on {}", one_line(&nodes.join(", ")))
        }
        n => format!(" on {n} nodes"),
    };
    let n_tasks = collection.pool.manifest.tasks.len();
    let suite = paint(styles.headline, &one_line(&collection.pool.manifest.suite_name));
    writeln!(out, "{suite}: {} of {}{on}", collection.n_done, counted(n_tasks, "task")).ok();
    if !collection.lines.is_empty() {
        out.push('\n');
        out.push_str(&variants(collection.lines, collection.judgements));
    }
    if by_node && !collection.lines.is_empty() {
        out.push('\n');
        out.push_str(&each_node(collection.lines));
    }
    out.push('\n');
    remarks(&mut out, collection);
    absent(&mut out, collection);
    out
}

fn variants(lines: &[PoolLine], judgements: &[Judgement]) -> String {
    let is_time = |line: &PoolLine| QuantityWords::of(&line.plan).is_time();
    let are_times = lines.iter().all(is_time);
    let slower = if are_times { "slower on" } else { "worse on" };
    let heading =
        ["benchmark", "variant", "ratio", "verdict", slower, "sign p", "pairs", "ratio of"];
    let mut rows = vec![table::cells(&heading)];
    for (line, judgement) in lines.iter().zip(judgements) {
        let (ratio, slower, sign) = match &line.evidence {
            PoolEvidence::Pooled(pooled) => (
                shown_ratio(pooled.ratio.of_values(line.plan.policy.better)),
                format!("{} of {}", pooled.n_slower, pooled.n_nodes),
                uncertain::significant(pooled.sign_p, 2),
            ),
            PoolEvidence::OneNode(one) => {
                let ratio = one.ratio.of_values(line.plan.policy.better);
                (shown_ratio(ratio), "one node".into(), String::new())
            }
            PoolEvidence::None { .. } => Default::default(),
        };
        rows.push(vec![
            shorten(&line.benchmark, NAME_MAX),
            shorten(&line.arm, NAME_MAX),
            ratio,
            verdict(line, judgement),
            slower,
            sign,
            line.n_pairs.to_string(),
            QuantityWords::of(&line.plan).noun().unwrap_or("time").into(),
        ]);
    }
    if are_times {
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    table::plain(rows, &[5, 6])
}

fn verdict(line: &PoolLine, judgement: &Judgement) -> String {
    let word = QuantityWords::of(&line.plan).verdict(judgement.verdict).to_lowercase();
    match &line.evidence {
        PoolEvidence::None { .. } => "no verdict".into(),
        _ if judgement.within_margin => format!("{word}, < {}", margin(line.plan.policy)),
        _ => word,
    }
}

/// A ratio with half of its interval; an interval wider than the ratio carries no information yet. A difference of
/// limits has one end.
fn shown_ratio(ratio: RatioInterval) -> String {
    if ratio.ends().contains(&None) && !ratio.logs().contains(0.0) {
        return ratio_and_interval(ratio);
    }
    let half_width = (ratio.hi - ratio.lo) / 2.0;
    if half_width < ratio.ratio {
        ratio_text(ratio.ratio, Some(half_width))
    } else {
        "unknown".into()
    }
}

fn each_node(lines: &[PoolLine]) -> String {
    let mut rows = vec![table::cells(&["benchmark", "variant", "node", "pairs", "ratio", ""])];
    for line in lines {
        for NodeRatio { node, n_pairs, ratio, is_outlier, .. } in &line.nodes {
            rows.push(vec![
                shorten(&line.benchmark, NAME_MAX),
                shorten(&line.arm, NAME_MAX),
                shorten(node, NAME_MAX),
                n_pairs.to_string(),
                node_ratio(*ratio, line),
                if *is_outlier { "not like the others".into() } else { String::new() },
            ]);
        }
    }
    table::plain(rows, &[3])
}

/// The ratio of the values on one node.
fn node_ratio(ratio: Option<UncertainValue>, line: &PoolLine) -> String {
    let shown = ratio.map(|ratio| ratio.of_values(line.plan.policy.better));
    shown.map_or_else(String::new, |ratio| ratio_text(ratio.value, ratio.err))
}

/// Appends the meaning of the table and its limits.
fn remarks(out: &mut String, collection: &Collection<'_>) {
    if collection.lines.iter().any(|line| pooled(line).is_some()) {
        let text = "ratios are new ÷ reference, the mean over the nodes; +- is half of the interval, which is about nodes \
                    like these: how they differ is in it";
        wrap(out, "", 0, text);
    }
    let few = collection.lines.iter().zip(collection.judgements).filter_map(|(line, judgement)| {
        let n_nodes = pooled(line)?.n_nodes;
        (judgement.verdict == Verdict::Undecided && n_nodes < NODES_FEW).then_some(n_nodes)
    });
    if let Some(n_nodes) = few.min() {
        let text = format!(
            "undecided with {n_nodes} nodes: more nodes make an interval smaller than more repetitions do"
        );
        wrap(out, "note: ", 6, &text);
    }
    let one: Vec<String> = collection
        .lines
        .iter()
        .filter(|line| matches!(line.evidence, PoolEvidence::OneNode(_)))
        .map(label)
        .collect();
    if !one.is_empty() {
        let text = format!(
            "all pairs are of one node, and the verdict is for that node only: {}",
            first_of(&one, NAMED_MAX)
        );
        wrap(out, "note: ", 6, &text);
    }
    for line in collection.lines {
        outliers(out, line);
        if let PoolEvidence::None { because } = line.evidence {
            wrap(
                out,
                "no verdict: ",
                12,
                &format!("{}: {}", label(line), no_test(because, line.plan.policy)),
            );
        }
    }
    if collection.lines.iter().any(|line| line.has_control) {
        wrap(
            out,
            "note: ",
            6,
            "the times have the start of the shell in them: the ratios are of the whole",
        );
    }
}

fn pooled(line: &PoolLine) -> Option<&PooledRatio> {
    if let PoolEvidence::Pooled(pooled) = &line.evidence { Some(pooled) } else { None }
}

fn outliers(out: &mut String, line: &PoolLine) {
    for node in line.nodes.iter().filter(|node| node.is_outlier) {
        let ratio = node_ratio(node.ratio, line);
        let all = |it: &PooledRatio| it.ratio.of_values(line.plan.policy.better).ratio;
        let all = pooled(line).map_or_else(String::new, |it| uncertain::fixed(all(it), 4));
        let p = node.outlier_p.map_or_else(String::new, |p| uncertain::significant(p, 2));
        let text = format!(
            "{} is not like the other nodes: {ratio} in {}, where all together say {all}, p {p}",
            node.node,
            label(line)
        );
        wrap(out, "note: ", 6, &text);
    }
    if let Some(pooled) =
        pooled(line).filter(|pooled| pooled.between > line.plan.policy.same_within)
    {
        let text = format!(
            "the nodes differ by {} (one standard deviation) in {}",
            percent(pooled.between),
            label(line)
        );
        wrap(out, "note: ", 6, &text);
    }
}

fn label(line: &PoolLine) -> String {
    format!("{} ({})", line.benchmark, line.arm)
}

fn absent(out: &mut String, collection: &Collection<'_>) {
    let manifest = &collection.pool.manifest;
    let labels = |tasks: &[usize]| {
        let labels: Vec<String> = tasks.iter().map(|&task| manifest.label(task)).collect();
        first_of(&labels, NAMED_MAX)
    };
    if !collection.missing.is_empty() {
        let text = format!(
            "{} not done: {}; stillwell pool status {} says what became of them",
            counted(collection.missing.len(), "task"),
            labels(collection.missing),
            collection.pool.folder.display()
        );
        wrap(out, "note: ", 6, &text);
    }
    for (task, why) in collection.damaged.iter().take(NAMED_MAX) {
        wrap(out, "not counted: ", 6, &format!("{}: {why}", manifest.label(*task)));
    }
    if !collection.damaged.is_empty() {
        wrap(out, "", 6, "remove such a file, and stillwell pool resume measures it again");
    }
    if collection.damaged.len() > NAMED_MAX {
        writeln!(out, "and {} more", collection.damaged.len() - NAMED_MAX).ok();
    }
}

/// The results of a pool.
#[derive(Serialize, JsonSchema)]
pub struct PoolBody<'a> {
    /// The directory of the pool.
    pool: &'a Path,
    /// The name of the suite.
    suite: &'a str,
    /// Tasks of the pool, and how many are done.
    n_tasks: usize,
    n_done: usize,
    /// Tasks that are not done.
    missing: Vec<String>,
    /// Results that do not count, with the reason.
    damaged: Vec<(String, &'a str)>,
    /// Each variant of each benchmark against the reference.
    variants: Vec<PooledVariant<'a>>,
}

/// A variant of a benchmark.
#[derive(Serialize, JsonSchema)]
struct PooledVariant<'a> {
    #[serde(flatten)]
    line: &'a PoolLine,
    /// The decision rule of the suite.
    policy: DecisionRule,
    /// The verdict.
    judgement: &'a Judgement,
}

impl DocumentBody for PoolBody<'_> {
    const NAME: &'static str = "pool";
}

pub fn document<'a>(collection: &'a Collection<'_>) -> (PoolBody<'a>, Conclusion) {
    let manifest = &collection.pool.manifest;
    let variants = || collection.lines.iter().zip(collection.judgements);
    let damaged = collection.damaged.iter().map(|(task, why)| (manifest.label(*task), &why[..]));
    let body = PoolBody {
        pool: &collection.pool.folder,
        suite: &manifest.suite_name,
        n_tasks: manifest.tasks.len(),
        n_done: collection.n_done,
        missing: collection.missing.iter().map(|&task| manifest.label(task)).collect(),
        damaged: damaged.collect(),
        variants: variants()
            .map(|(line, judgement)| PooledVariant { line, policy: line.plan.policy, judgement })
            .collect(),
    };
    let effects = variants().map(|(line, judgement)| effect(line, judgement)).collect();
    (body, Conclusion { effects, ..Conclusion::of(whole(collection.judgements)) })
}

fn effect(line: &PoolLine, judgement: &Judgement) -> Effect {
    let name = label(line);
    let effect = match &line.evidence {
        PoolEvidence::Pooled(it) => Effect::of_ratio(name, it.ratio, 1.0 - it.alpha),
        PoolEvidence::OneNode(it) => Effect::of_ratio(name, it.ratio, 1.0 - it.alpha),
        PoolEvidence::None { .. } => Effect { name, ..Effect::default() },
    };
    Effect {
        against: Some(line.reference.clone()),
        verdict: Some(judgement.verdict),
        no_test: judgement.no_test,
        ..effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::pool::OneNode;
    use analysis::verdict::judge_interval;
    use model::values::{Better, DecideOn, ValueUnit};
    use record::fixture::record;

    const OF_COSTS: RatioInterval = RatioInterval { ratio: 1.25, lo: 1.24, hi: 1.26 };

    fn line(decide_on: DecideOn, unit: ValueUnit, better: Better) -> PoolLine {
        let mut plan = record(&["old", "new"]).header.plan;
        plan.policy.decide_on = Some(decide_on);
        plan.policy.better = better;
        plan.arms.iter_mut().for_each(|arm| arm.unit = unit);
        PoolLine {
            benchmark: "b".into(),
            arm: "new".into(),
            reference: "old".into(),
            n_pairs: 9,
            evidence: PoolEvidence::OneNode(OneNode { p: 0.001, ratio: OF_COSTS, alpha: 0.01 }),
            nodes: Vec::new(),
            plan: plan.into(),
            has_control: false,
        }
    }

    fn judged(line: &PoolLine) -> Judgement {
        judge_interval(OF_COSTS, &line.plan.policy)
    }

    #[test]
    fn a_lower_throughput_is_worse() {
        let line = line(DecideOn::Value, ValueUnit::Count, Better::Higher);
        assert_eq!(verdict(&line, &judged(&line)), "worse");
        let on_a_node = UncertainValue { value: 1.25, err: None };
        assert_eq!(node_ratio(Some(on_a_node), &line), "0.800");
    }

    #[test]
    fn a_difference_of_limits_has_one_end() {
        let interval = |lo, hi| shown_ratio(RatioInterval { ratio: 1.25, lo, hi });
        assert_eq!(interval(1.24, f64::INFINITY), "1.25 [at least 1.2400]");
        assert_eq!(interval(0.0, f64::INFINITY), "unknown");
    }

    /// A value in milliseconds is a time, as in every other verb.
    #[test]
    fn each_row_names_what_it_compares() {
        let time = line(DecideOn::Value, ValueUnit::Time, Better::Lower);
        let memory = line(DecideOn::Maxrss, ValueUnit::Bytes, Better::Lower);
        let table = |lines: &[PoolLine]| {
            let judgements: Vec<Judgement> = lines.iter().map(judged).collect();
            variants(lines, &judgements)
        };
        let times = table(std::slice::from_ref(&time));
        assert!(times.contains("  slower  ") && times.contains("  slower on  "), "{times}");
        assert!(!times.contains("ratio of"), "{times}");
        let both = table(&[time, memory]);
        let rows: Vec<&str> = both.lines().collect();
        assert!(rows[0].contains("  worse on  ") && rows[0].ends_with("  ratio of"), "{both}");
        assert!(rows[1].contains("  slower  ") && rows[1].ends_with("  time"), "{both}");
        assert!(rows[2].contains("  worse  ") && rows[2].ends_with("  memory"), "{both}");
    }
}
