//! The ratio across nodes. Both runs of a pair are on one node, so no ratio compares machines; the sample behind a
//! verdict is the nodes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stats::PointEstimate;
use stats::multiplicity::{holm, shares};
use stats::pooled::{Center, PooledTest, centers, residuals, sign_test};
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{InterimPoint, Look, Spending};

use crate::coarse_steps::{misread, widened_ratio};
use crate::comparison::{NoTest, RatioInterval};
use crate::memory_floor::MemoryLimits;
use crate::summary::UncertainValue;
use crate::walls::Slots;
use crate::watch::estimand_of;
use model::values::Estimand;
use record::plan::{DecisionRule, Plan};

/// The pairs of one task: a variant against the reference on one node.
#[derive(Clone, Debug)]
pub struct NodePairs {
    pub node: String,
    pub benchmark: String,
    pub arm: String,
    pub reference: String,
    /// The task's plan; all tasks of a variant compare the same quantity by the same rule.
    pub plan: Arc<Plan>,
    pub slots: Slots,
    /// Whether the times may have been read in steps ([`crate::may_have_steps`]).
    pub has_steps: bool,
    pub memory: MemoryLimits,
}

/// A variant of a benchmark against the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PoolLine {
    /// The benchmark.
    pub benchmark: String,
    /// The variant.
    pub arm: String,
    /// The reference arm.
    pub reference: String,
    /// Number of pairs on all nodes.
    pub n_pairs: usize,
    /// The evidence on the ratio.
    pub evidence: PoolEvidence,
    /// The ratio on each node.
    pub nodes: Vec<NodeRatio>,
    /// The plan of the variant's first task, with the decision rule.
    #[serde(skip)]
    pub plan: Arc<Plan>,
    /// Whether the times include the shell or another control.
    pub has_control: bool,
}

impl PoolLine {
    /// Widens a ratio of times by what it may be off. Drops the ends of a memory ratio that may be the launcher's, or the
    /// whole ratio.
    fn limit(&mut self, memory: MemoryLimits, misread: f64) {
        let ratio = match &mut self.evidence {
            PoolEvidence::Pooled(pooled) => &mut pooled.ratio,
            PoolEvidence::OneNode(one) => &mut one.ratio,
            PoolEvidence::None { .. } => return,
        };
        if misread > 0.0 {
            *ratio = widened_ratio(*ratio, misread);
        }
        let is_different = !ratio.logs().contains(0.0);
        if let Some(bounded) = memory.bounded(*ratio, is_different) {
            *ratio = bounded;
            return;
        }
        self.evidence = PoolEvidence::None { because: NoTest::MemoryFloor };
        for node in &mut self.nodes {
            (node.ratio, node.outlier_p, node.is_outlier) = (None, None, false);
        }
    }
}

/// The evidence on a ratio.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PoolEvidence {
    /// Several nodes: valid for machines like these.
    Pooled(PooledRatio),
    /// One node: the comparison within its sessions, valid for that node.
    OneNode(OneNode),
    /// There is no estimate.
    None {
        /// Reason why there is no estimate.
        because: NoTest,
    },
}

/// A ratio over several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PooledRatio {
    /// Number of nodes.
    pub n_nodes: usize,
    /// p-value of "no difference", adjusted for the suite (Holm): the larger one of the next two. It decides.
    pub p: f64,
    /// p-value of the random-effects test, not adjusted: a difference that holds for machines like these.
    pub effects_p: f64,
    /// p-value of the re-labelling test, not adjusted: a difference that is not the noise of these runs.
    pub relabelling_p: f64,
    /// The mean ratio of the nodes.
    pub ratio: RatioInterval,
    /// 1 − level of the interval: the share of alpha that Holm's procedure leaves.
    pub alpha: f64,
    /// Standard deviation of the true ratios of the nodes, as a fraction; 0 if their errors explain the scatter.
    pub between: f64,
    /// Cochran's Q; about the number of nodes minus 1 if the nodes do not differ.
    pub q: f64,
    /// Number of nodes with a ratio above 1.
    pub n_slower: usize,
    /// p-value of the sign test over the nodes, not adjusted.
    pub sign_p: f64,
}

/// A ratio on one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OneNode {
    /// p-value of "no difference", adjusted for the suite (Holm).
    pub p: f64,
    /// The ratio on this node.
    pub ratio: RatioInterval,
    /// 1 − level of the interval.
    pub alpha: f64,
}

/// The ratio on one node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeRatio {
    /// Name of the node.
    pub node: String,
    /// Number of pairs on the node.
    pub n_pairs: usize,
    /// The ratio with its standard error; `None` without a pair, without scatter, or if memory at the launcher's peak leaves no
    /// verdict.
    pub ratio: Option<UncertainValue>,
    /// p-value of "a node like the others", adjusted for the number of nodes (Holm).
    pub outlier_p: Option<f64>,
    /// Whether the node differs from the others.
    pub is_outlier: bool,
}

/// The test of a variant before the adjustment for the family.
enum PoolTest {
    Nodes { test: Box<PooledTest>, n_slower: usize, sign_p: f64 },
    One { slots: Slots, test: Box<SequentialTest> },
    Nothing(NoTest),
}

/// Tests all variants of a suite as one family: `alpha` is the chance that any variant is falsely called different.
/// `n_family` counts all variants, including those without a pair yet.
pub fn pool(pieces: Vec<NodePairs>, n_family: usize, seed: u64) -> Vec<PoolLine> {
    let groups = groups(pieces);
    let n_lines = groups.len();
    let n_family = n_family.max(n_lines);
    // A mean of the nodes is off by no more than the worst of them.
    let worst = |group: &VariantPairs| group.misread().into_iter().fold(0.0, f64::max);
    let limits: Vec<(MemoryLimits, f64)> =
        groups.iter().map(|group| (group.first.memory, worst(group))).collect();
    let mut lines: Vec<(PoolLine, PoolTest)> =
        groups.into_par_iter().map(|group| line(group, n_family, seed)).collect();
    let tested: Vec<usize> =
        (0..n_lines).filter(|&at| !matches!(lines[at].1, PoolTest::Nothing(_))).collect();
    let mut p: Vec<f64> = tested.iter().map(|&at| lines[at].1.p()).collect();
    let is_rejected = |at: usize, share: f64| {
        let (line, found) = &lines[tested[at]];
        match found {
            PoolTest::One { test, .. } => test.is_different(share),
            PoolTest::Nodes { test, .. } => test.is_different(line.plan.policy.alpha * share),
            PoolTest::Nothing(_) => false,
        }
    };
    let shares = shares(&p, n_family, is_rejected).unwrap_or_default();
    // A variant without a test counts as not different.
    p.resize(n_family, 1.0);
    let adjusted = holm(&p).unwrap_or_default();
    for ((&at, share), p) in tested.iter().zip(shares).zip(adjusted) {
        let (line, found) = &mut lines[at];
        line.evidence = evidence(line, found, share, p);
        let (memory, misread) = limits[at];
        line.limit(memory, misread);
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

struct VariantPairs {
    first: NodePairs,
    nodes: BTreeMap<String, Slots>,
}

impl VariantPairs {
    /// By how much the ratio of each node may be off, because its times were read in steps.
    fn misread(&self) -> Vec<f64> {
        self.nodes.values().map(|slots| misread(slots, self.first.has_steps)).collect()
    }
}

/// Groups the pairs by variant, in order of appearance.
fn groups(pieces: Vec<NodePairs>) -> Vec<VariantPairs> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut groups: Vec<VariantPairs> = Vec::new();
    for mut piece in pieces {
        let slots = std::mem::take(&mut piece.slots);
        let (node, memory) = (piece.node.clone(), piece.memory);
        let key = (piece.benchmark.clone(), piece.arm.clone());
        let at = *places.entry(key).or_insert_with(|| {
            groups.push(VariantPairs { first: piece, nodes: BTreeMap::new() });
            groups.len() - 1
        });
        groups[at].nodes.entry(node).or_default().append(&slots);
        groups[at].first.memory = groups[at].first.memory.or(memory);
    }
    groups
}

fn line(mut group: VariantPairs, n_family: usize, seed: u64) -> (PoolLine, PoolTest) {
    group.nodes.retain(|_, slots| !slots.is_empty());
    let misread = group.misread();
    let VariantPairs { first, mut nodes } = group;
    let policy = first.plan.policy;
    let center = match policy.estimand {
        Estimand::Mean => Center::Mean,
        // A floor needs more runs than a node has.
        Estimand::Adaptive | Estimand::Typical | Estimand::Floor => Center::Typical,
    };
    let ratios: Vec<Vec<f64>> = nodes.values().map(Slots::log_ratios).collect();
    let mut centers = centers(&ratios, center).ok();
    for (found, misread) in centers.iter_mut().flatten().zip(misread) {
        found.err = found.err.max(misread.ln_1p());
    }
    let p = centers.as_deref().and_then(outlier_p).unwrap_or_default();
    let node = |(at, (node, slots)): (usize, (&String, &Slots))| {
        let outlier_p = p.get(at).copied();
        let ratio = centers.as_ref().map(|centers| {
            let PointEstimate { value, err } = centers[at];
            UncertainValue { value: value.exp(), err: Some(value.exp() * err) }
        });
        NodeRatio {
            node: node.clone(),
            n_pairs: slots.len(),
            ratio,
            outlier_p,
            is_outlier: outlier_p.is_some_and(|p| p <= policy.alpha),
        }
    };
    let nodes_found: Vec<NodeRatio> = nodes.iter().enumerate().map(node).collect();
    let question = PoolQuestion { center, policy, n_family, seed };
    let tested = match nodes.pop_first() {
        Some((_, slots)) if nodes.is_empty() => question.test_one(slots),
        _ => question.test_nodes(&ratios, centers.as_deref()),
    };
    let line = PoolLine {
        benchmark: first.benchmark,
        arm: first.arm,
        reference: first.reference,
        n_pairs: nodes_found.iter().map(|node| node.n_pairs).sum(),
        evidence: PoolEvidence::None { because: tested.because() },
        nodes: nodes_found,
        has_control: first.plan.control.is_some(),
        plan: first.plan,
    };
    (line, tested)
}

fn outlier_p(centers: &[PointEstimate]) -> Option<Vec<f64>> {
    let p: Vec<f64> = residuals(centers).ok()?.iter().map(|node| node.p).collect();
    holm(&p).ok()
}

struct PoolQuestion {
    center: Center,
    policy: DecisionRule,
    n_family: usize,
    seed: u64,
}

impl PoolQuestion {
    fn spending(&self) -> Spending {
        Spending { alpha: self.policy.alpha, family: self.n_family, n_min: 0 }
    }

    /// The test over several nodes. `ratios`: log ratios of each node's pairs.
    fn test_nodes(&self, ratios: &[Vec<f64>], centers: Option<&[PointEstimate]>) -> PoolTest {
        let n_pairs = ratios.iter().map(Vec::len).sum();
        let spending = self.spending();
        if spending.looks(&at_the_end(n_pairs)).is_empty() {
            return PoolTest::Nothing(no_decision(&spending, n_pairs));
        }
        let draws = spending.draws(Look { n_pairs, spent: 1.0 });
        let test = PooledTest::new(ratios, self.center, draws, self.seed);
        let (Ok(test), Some(centers)) = (test, centers) else {
            return PoolTest::Nothing(NoTest::UnfitNumbers);
        };
        let n_slower = centers.iter().filter(|node| node.value > 0.0).count();
        // A node with a ratio of exactly 1 has no sign.
        let n_signs = centers.iter().filter(|node| node.value != 0.0).count();
        let sign_p = sign_test(n_slower, n_signs).unwrap_or(1.0);
        PoolTest::Nodes { test: Box::new(test), n_slower, sign_p }
    }

    fn test_one(&self, slots: Slots) -> PoolTest {
        let design = SequentialDesign {
            spending: self.spending(),
            estimand: estimand_of(self.policy.estimand),
            margin: self.policy.same_within.ln_1p(),
            limit: 0.0,
            seed: self.seed,
        };
        let mut test = SequentialTest::new(design);
        let end = at_the_end(slots.len());
        match slots.pairs().and_then(|pairs| test.take(&pairs, &end)) {
            Ok(true) => PoolTest::One { slots, test: Box::new(test) },
            Ok(false) => PoolTest::Nothing(no_decision(test.spending(), slots.len())),
            Err(_) => PoolTest::Nothing(NoTest::UnfitNumbers),
        }
    }
}

fn at_the_end(n_pairs: usize) -> [InterimPoint; 1] {
    [InterimPoint { n_pairs, fraction: 1.0 }]
}

fn no_decision(spending: &Spending, n_pairs: usize) -> NoTest {
    match spending.n_pairs_needed() {
        Some(need) => NoTest::TooFewPairs { have: n_pairs, need },
        None => NoTest::FamilyTooLarge { n: spending.family },
    }
}

impl PoolTest {
    fn p(&self) -> f64 {
        match self {
            Self::Nodes { test, .. } => test.p(),
            Self::One { test, .. } => test.p(),
            Self::Nothing(_) => 1.0,
        }
    }

    fn because(&self) -> NoTest {
        if let Self::Nothing(because) = self { *because } else { NoTest::UnfitNumbers }
    }
}

/// `share`: share of alpha; `p`: adjusted for the family.
fn evidence(line: &PoolLine, tested: &PoolTest, share: f64, p: f64) -> PoolEvidence {
    let alpha = line.plan.policy.alpha * share;
    let unfit = PoolEvidence::None { because: NoTest::UnfitNumbers };
    match tested {
        PoolTest::Nodes { test, n_slower, sign_p } => match test.interval(alpha) {
            Ok(interval) => PoolEvidence::Pooled(PooledRatio {
                n_nodes: line.nodes.len(),
                p,
                effects_p: test.effects_p(),
                relabelling_p: test.relabelling_p(),
                ratio: RatioInterval::of_logs(test.effects().mean, interval),
                alpha,
                between: test.effects().between.exp_m1(),
                q: test.effects().q,
                n_slower: *n_slower,
                sign_p: *sign_p,
            }),
            Err(_) => unfit,
        },
        PoolTest::One { slots, test } => {
            let conclusion = slots.pairs().and_then(|pairs| test.conclude(&pairs, share));
            conclusion.ok().flatten().map_or(unfit, |found| {
                let ratio = RatioInterval::clamped(found.last.theta, found.interval);
                PoolEvidence::OneNode(OneNode { p, ratio, alpha })
            })
        }
        PoolTest::Nothing(because) => PoolEvidence::None { because: *because },
    }
}

#[cfg(test)]
mod tests;
