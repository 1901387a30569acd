//! Pairs from many nodes → what holds across them. Two runs of a pair are always of one node, so a ratio never compares machines;
//! the machines are the sample that a verdict is drawn from.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use serde::Serialize;
use stats::multiplicity::{holm, shares};
use stats::pooled::{Center, RandomEffects, centers, residuals, sign_test};
use stats::sequential::{Question, Sequential};
use stats::spending::{Reached, Spending};
use stats::{Interval, Measured};

use crate::analysis::walls::Slots;
use crate::analysis::watch::estimand_of;
use crate::analysis::{NoTest, RatioInterval, Uncertain};
use crate::plan::{Estimand, Policy};

/// The pairs of one task: a variant against the reference on one node.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Where.
    pub node: String,
    /// Of what.
    pub benchmark: String,
    /// The variant.
    pub arm: String,
    /// What it is compared with.
    pub reference: String,
    /// How the suite wants it judged.
    pub policy: Policy,
    /// Whether the shell, or another control, is in the times.
    pub has_control: bool,
    /// The pairs.
    pub slots: Slots,
}

/// A variant of a benchmark against the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The benchmark.
    pub benchmark: String,
    /// The variant.
    pub arm: String,
    /// What it is compared with.
    pub reference: String,
    /// Pairs on all nodes.
    pub n_pairs: usize,
    /// What is known.
    pub evidence: PoolEvidence,
    /// What each node says.
    pub nodes: Vec<NodeRatio>,
    /// How it is to be judged.
    #[serde(skip)]
    pub policy: Policy,
    /// Whether the shell, or another control, is in the times.
    pub has_control: bool,
}

/// What is known of a ratio.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PoolEvidence {
    /// Of several nodes: for machines like these.
    Pooled(Pooled),
    /// Of one node: the comparison within its sessions, for that node.
    OneNode(OneNode),
    /// There is nothing to compare.
    None {
        /// Why.
        because: NoTest,
    },
}

/// A ratio over several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pooled {
    /// Nodes.
    pub n_nodes: usize,
    /// p-value of "no difference", adjusted for the suite (Holm).
    pub p: f64,
    /// The mean ratio of the nodes.
    pub ratio: RatioInterval,
    /// 1 − level of the interval: the share of alpha that Holm's procedure leaves.
    pub alpha: f64,
    /// How much the nodes differ in truth, one standard deviation, as a fraction; 0 where their errors explain it.
    pub between: f64,
    /// Cochran's Q, about the number of nodes minus 1 where they do not differ.
    pub q: f64,
    /// Nodes with a ratio above 1.
    pub n_slower: usize,
    /// p-value of the sign test over the nodes, not adjusted.
    pub sign_p: f64,
}

/// A ratio on one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneNode {
    /// p-value of "no difference", adjusted for the suite (Holm).
    pub p: f64,
    /// The ratio there.
    pub ratio: RatioInterval,
    /// 1 − level of the interval.
    pub alpha: f64,
}

/// What one node says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRatio {
    /// Its name.
    pub node: String,
    /// Its pairs.
    pub n_pairs: usize,
    /// The ratio there with its standard error; none without a pair, or where nothing varies.
    pub ratio: Option<Uncertain>,
    /// p-value of "a node like the others", adjusted for the number of nodes (Holm).
    pub outlier_p: Option<f64>,
    /// Whether it is not like the others.
    pub is_outlier: bool,
}

/// What is known before the family is: of all nodes, or of one.
enum Tested {
    Nodes { found: RandomEffects, p: f64, n_slower: usize, sign_p: f64 },
    One { slots: Slots, seen: Box<Sequential> },
    Nothing(NoTest),
}

/// All variants of a suite. They are judged together: `alpha` is the chance that any of those that do not differ is said to.
/// `n_family`: how many there are, with those of which there is no pair yet.
pub fn pool(pieces: Vec<Piece>, n_family: usize, seed: u64) -> Vec<Line> {
    let groups = groups(pieces);
    let n_lines = groups.len();
    let n_family = n_family.max(n_lines);
    let mut lines: Vec<(Line, Tested)> =
        groups.into_par_iter().map(|group| line(group, n_family, seed)).collect();
    let tested: Vec<usize> =
        (0..n_lines).filter(|&at| !matches!(lines[at].1, Tested::Nothing(_))).collect();
    let mut p: Vec<f64> = tested.iter().map(|&at| lines[at].1.p()).collect();
    let is_rejected = |at: usize, share: f64| {
        let (line, found) = &lines[tested[at]];
        match found {
            Tested::One { seen, .. } => seen.is_different(share),
            _ => p[at] < line.policy.alpha * share,
        }
    };
    let shares = shares(&p, n_family, is_rejected).unwrap_or_default();
    // What is not tested counts as not different.
    p.resize(n_family, 1.0);
    let adjusted = holm(&p).unwrap_or_default();
    for ((&at, share), p) in tested.iter().zip(shares).zip(adjusted) {
        let (line, found) = &mut lines[at];
        line.evidence = evidence(line, found, share, p);
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// The pairs of each variant, by node.
struct Group {
    first: Piece,
    nodes: BTreeMap<String, Slots>,
}

/// In the order in which they come.
fn groups(pieces: Vec<Piece>) -> Vec<Group> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for mut piece in pieces {
        let slots = std::mem::take(&mut piece.slots);
        let node = piece.node.clone();
        let key = (piece.benchmark.clone(), piece.arm.clone());
        let at = *places.entry(key).or_insert_with(|| {
            groups.push(Group { first: piece, nodes: BTreeMap::new() });
            groups.len() - 1
        });
        groups[at].nodes.entry(node).or_default().append(&slots);
    }
    groups
}

fn line(group: Group, n_family: usize, seed: u64) -> (Line, Tested) {
    let Group { first, mut nodes } = group;
    nodes.retain(|_, slots| slots.len() > 0);
    let center = match first.policy.estimand {
        Estimand::Mean => Center::Mean,
        // The floor of a few runs on each node is no estimate of one.
        Estimand::Adaptive | Estimand::Typical | Estimand::Floor => Center::Typical,
    };
    let ratios: Vec<Vec<f64>> = nodes.values().map(Slots::log_ratios).collect();
    let centers = centers(&ratios, center).ok();
    let p = centers.as_deref().and_then(outlier_p).unwrap_or_default();
    let node = |(at, (node, slots)): (usize, (&String, &Slots))| {
        let outlier_p = p.get(at).copied();
        let ratio = centers.as_ref().map(|centers| {
            let Measured { value, err } = centers[at];
            Uncertain { value: value.exp(), err: Some(value.exp() * err) }
        });
        NodeRatio {
            node: node.clone(),
            n_pairs: slots.len(),
            ratio,
            outlier_p,
            is_outlier: outlier_p.is_some_and(|p| p <= first.policy.alpha),
        }
    };
    let nodes_found: Vec<NodeRatio> = nodes.iter().enumerate().map(node).collect();
    let tested = test(centers.as_deref(), nodes, &first.policy, n_family, seed);
    let line = Line {
        benchmark: first.benchmark,
        arm: first.arm,
        reference: first.reference,
        n_pairs: nodes_found.iter().map(|node| node.n_pairs).sum(),
        evidence: PoolEvidence::None { because: tested.because() },
        nodes: nodes_found,
        policy: first.policy,
        has_control: first.has_control,
    };
    (line, tested)
}

fn outlier_p(centers: &[Measured]) -> Option<Vec<f64>> {
    let p: Vec<f64> = residuals(centers).ok()?.iter().map(|node| node.p).collect();
    holm(&p).ok()
}

fn test(
    centers: Option<&[Measured]>,
    mut nodes: BTreeMap<String, Slots>,
    policy: &Policy,
    family: usize,
    seed: u64,
) -> Tested {
    if nodes.len() == 1 {
        let slots = nodes.pop_first().map(|(_, slots)| slots).unwrap_or_default();
        return test_one(slots, policy, family, seed);
    }
    let found = centers.and_then(|centers| {
        let found = RandomEffects::of(centers).ok()?;
        let n_slower = centers.iter().filter(|node| node.value > 0.0).count();
        // A node that says exactly 1 has no sign.
        let n_signs = centers.iter().filter(|node| node.value != 0.0).count();
        let sign_p = sign_test(n_slower, n_signs).unwrap_or(1.0);
        Some(Tested::Nodes { p: found.test().ok()?.p, found, n_slower, sign_p })
    });
    found.unwrap_or(Tested::Nothing(NoTest::UnfitNumbers))
}

/// As in a session of one machine, with one look at the end.
fn test_one(slots: Slots, policy: &Policy, family: usize, seed: u64) -> Tested {
    let question = Question {
        spending: Spending { alpha: policy.alpha, family, n_min: 0 },
        estimand: estimand_of(policy.estimand),
        margin: policy.same_within.ln_1p(),
        limit: 0.0,
        seed,
    };
    let mut seen = Sequential::new(question);
    let end = [Reached { n_pairs: slots.len(), fraction: 1.0 }];
    match slots.pairs().and_then(|pairs| seen.take(&pairs, &end)) {
        Ok(true) => Tested::One { slots, seen: Box::new(seen) },
        Ok(false) => Tested::Nothing(match seen.spending().n_pairs_needed() {
            Some(need) => NoTest::TooFewPairs { have: slots.len(), need },
            None => NoTest::FamilyTooLarge { n: family },
        }),
        Err(_) => Tested::Nothing(NoTest::UnfitNumbers),
    }
}

impl Tested {
    fn p(&self) -> f64 {
        match self {
            Self::Nodes { p, .. } => *p,
            Self::One { seen, .. } => seen.p(),
            Self::Nothing(_) => 1.0,
        }
    }

    fn because(&self) -> NoTest {
        match self {
            Self::Nothing(because) => *because,
            _ => NoTest::UnfitNumbers,
        }
    }
}

/// `share`: of alpha, at which it is judged; `p`: adjusted for the family.
fn evidence(line: &Line, tested: &Tested, share: f64, p: f64) -> PoolEvidence {
    let alpha = line.policy.alpha * share;
    let unfit = PoolEvidence::None { because: NoTest::UnfitNumbers };
    match tested {
        Tested::Nodes { found, n_slower, sign_p, .. } => match found.interval(alpha) {
            Ok(interval) => PoolEvidence::Pooled(Pooled {
                n_nodes: line.nodes.len(),
                p,
                ratio: ratio(found.mean, interval),
                alpha,
                between: found.between.exp_m1(),
                q: found.q,
                n_slower: *n_slower,
                sign_p: *sign_p,
            }),
            Err(_) => unfit,
        },
        Tested::One { slots, seen } => {
            let found = slots.pairs().and_then(|pairs| seen.conclude(&pairs, share));
            match found {
                Ok(Some(found)) => {
                    let theta = found.last.theta.clamp(found.interval.lo, found.interval.hi);
                    PoolEvidence::OneNode(OneNode { p, ratio: ratio(theta, found.interval), alpha })
                }
                _ => unfit,
            }
        }
        Tested::Nothing(because) => PoolEvidence::None { because: *because },
    }
}

fn ratio(log_ratio: f64, interval: Interval) -> RatioInterval {
    let Interval { lo, hi } = interval.exp();
    RatioInterval { ratio: log_ratio.exp(), lo, hi }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Stream;

    const POLICY: Policy = Policy { alpha: 0.01, same_within: 0.01, estimand: Estimand::Adaptive };

    /// Pairs of noisy times: the new arm has this ratio.
    fn piece(benchmark: &str, node: &str, ratio: f64, n: usize, stream: &mut Stream) -> Piece {
        let mut slots = Slots::default();
        for _ in 0..n {
            let mut time = |level: f64| level * 1e6 * (1.0 + 0.01 * stream.unit());
            let (old, new) = (time(1.0), time(ratio));
            let is_new_first = stream.below(2) == 1;
            let (first, second) = if is_new_first { (new, old) } else { (old, new) };
            slots.slot1.push(first);
            slots.slot2.push(second);
            slots.slot1_is_new.push(is_new_first);
        }
        Piece {
            node: node.into(),
            benchmark: benchmark.into(),
            arm: "new".into(),
            reference: "base".into(),
            policy: POLICY,
            has_control: false,
            slots,
        }
    }

    fn pooled(line: &Line) -> Pooled {
        match &line.evidence {
            PoolEvidence::Pooled(pooled) => *pooled,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ratio_holds_across_nodes_and_every_pair_counts_once() {
        let mut stream = Stream::new(1);
        let mut pieces = Vec::new();
        for repetition in 0..12 {
            let node = format!("n{}", repetition % 4);
            pieces.push(piece("slow", &node, 1.05, 5, &mut stream));
            pieces.push(piece("same", &node, 1.0, 5, &mut stream));
        }
        let found = pool(pieces, 2, 1);
        let [slow, same] = &found[..] else { panic!("{found:?}") };
        assert_eq!((same.n_pairs, slow.n_pairs, slow.nodes.len()), (60, 60, 4));
        let (same, slow) = (pooled(same), pooled(slow));
        assert!(slow.ratio.lo > 1.04 && slow.ratio.hi < 1.06 && slow.p < 0.01, "{slow:?}");
        assert!(slow.n_slower == 4 && (slow.sign_p - 0.125).abs() < 1e-12, "{slow:?}");
        // The smaller p-value is judged at half of alpha, the other one at all of it.
        assert_eq!((slow.alpha, same.alpha), (0.005, 0.01));
        assert!(same.ratio.lo < 1.0 && same.ratio.hi > 1.0 && same.p > 0.01, "{same:?}");
    }

    /// The same pairs, of four nodes that differ by more than their own errors: what is certain on each is not across them.
    #[test]
    fn a_lucky_node_makes_no_verdict() {
        let mut stream = Stream::new(2);
        let ratios = [("n0", 1.10), ("n1", 1.0), ("n2", 1.0), ("n3", 0.99)];
        let pieces = ratios.map(|(node, ratio)| piece("x", node, ratio, 30, &mut stream));
        let found = pool(pieces.to_vec(), 1, 1);
        let all = pooled(&found[0]);
        assert!(all.ratio.lo < 1.0 && all.ratio.hi > 1.0 && all.between > 0.02, "{all:?}");
        let outliers: Vec<&str> =
            found[0].nodes.iter().filter(|it| it.is_outlier).map(|it| &it.node[..]).collect();
        assert_eq!(outliers, ["n0"]);
        let one = pool(pieces[..1].to_vec(), 1, 1);
        let PoolEvidence::OneNode(one) = &one[0].evidence else { panic!("{one:?}") };
        assert!(one.ratio.lo > 1.09 && one.ratio.hi < 1.11 && one.p <= 0.01, "{one:?}");
    }

    #[test]
    fn what_cannot_be_tested_says_why() {
        let mut stream = Stream::new(3);
        let few = pool(vec![piece("x", "n0", 1.0, 3, &mut stream)], 1, 1);
        let because = NoTest::TooFewPairs { have: 3, need: 8 };
        assert_eq!(few[0].evidence, PoolEvidence::None { because });
        let mut still = piece("x", "n0", 1.0, 4, &mut stream);
        still.slots.slot1 = vec![1.0; 4];
        still.slots.slot2 = vec![1.0; 4];
        let other = Piece { node: "n1".into(), ..still.clone() };
        let because = NoTest::UnfitNumbers;
        assert_eq!(pool(vec![still, other], 1, 1)[0].evidence, PoolEvidence::None { because });
        assert!(pool(Vec::new(), 0, 1).is_empty());
    }
}
