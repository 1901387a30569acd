//! Verdicts on generated pairs.

use super::*;
use stats::Stream;

fn piece(benchmark: &str, node: &str, ratio: f64, n: usize, stream: &mut Stream) -> NodePairs {
    let mut slots = Slots::default();
    for _ in 0..n {
        let mut time = |level: f64| level * 1e6 * (1.0 + 0.01 * stream.unit());
        let (old, new) = (time(1.0), time(ratio));
        let place = usize::from(stream.below(2) == 1);
        slots.push((place, old), (1 - place, new));
    }
    let mut plan = record::fixture::record(&["base", "new"]).header.plan;
    plan.policy = DecisionRule::default();
    NodePairs {
        node: node.into(),
        benchmark: benchmark.into(),
        arm: "new".into(),
        reference: "base".into(),
        plan: Arc::new(plan),
        slots,
        has_steps: false,
        memory: MemoryLimits::default(),
    }
}

fn pooled(line: &PoolLine) -> PooledRatio {
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
    // The smaller p-value is tested at half of alpha, the larger one at alpha.
    assert_eq!((slow.alpha, same.alpha), (0.005, 0.01));
    assert!(same.ratio.lo < 1.0 && same.ratio.hi > 1.0 && same.p > 0.01, "{same:?}");
}

/// Six nodes that differ by more than their errors: certain on each node, but not across nodes.
#[test]
fn a_lucky_node_makes_no_verdict() {
    let mut stream = Stream::new(2);
    let ratios =
        [("n0", 1.10), ("n1", 1.0), ("n2", 1.0), ("n3", 0.995), ("n4", 1.005), ("n5", 1.0)];
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
    // Ten variants share alpha. Three pairs a node are too few for a tenth.
    let three = ["n0", "n1", "n2"].map(|node| piece("x", node, 1.0, 3, &mut stream));
    let because = NoTest::TooFewPairs { have: 9, need: 11 };
    assert_eq!(pool(three.to_vec(), 10, 1)[0].evidence, PoolEvidence::None { because });
    let mut still = piece("x", "n0", 1.0, 4, &mut stream);
    still.slots.slot1 = vec![1.0; 4];
    still.slots.slot2 = vec![1.0; 4];
    let other = NodePairs { node: "n1".into(), ..still.clone() };
    let because = NoTest::UnfitNumbers;
    assert_eq!(pool(vec![still, other], 1, 1)[0].evidence, PoolEvidence::None { because });
    assert!(pool(Vec::new(), 0, 1).is_empty());
}

/// By a coarse clock each node has 280 or 290 ms by chance, with both variants.
#[test]
fn times_in_coarse_steps_are_not_the_same() {
    let mut stream = Stream::new(6);
    let stepped = |node: usize| {
        let mut piece = piece("x", &format!("n{node}"), 1.0, 80, &mut stream);
        let step = |time: &mut f64| *time = if *time > 1.005e6 { 290e6 } else { 280e6 };
        piece.slots.slot1.iter_mut().chain(&mut piece.slots.slot2).for_each(step);
        NodePairs { has_steps: true, ..piece }
    };
    let pieces: Vec<NodePairs> = (0..6).map(stepped).collect();
    let is_open = |ratio: RatioInterval| ratio.lo < 0.99 && ratio.hi > 1.01;
    let all = pool(pieces.clone(), 1, 1).remove(0);
    assert!(is_open(pooled(&all).ratio), "{all:?}");
    let is_rough = |node: &NodeRatio| node.ratio.unwrap().err.unwrap() > 0.015;
    assert!(all.nodes.iter().all(is_rough), "{all:?}");
    let one = pool(pieces[..1].to_vec(), 1, 1);
    let PoolEvidence::OneNode(one) = &one[0].evidence else { panic!("{one:?}") };
    assert!(is_open(one.ratio), "{one:?}");
    // Of the same times by Stillwell's clock.
    let own = pieces.into_iter().map(|piece| NodePairs { has_steps: false, ..piece });
    let own = pool(own.collect(), 1, 1).remove(0);
    assert!(!is_open(pooled(&own).ratio), "{own:?}");
}

/// One node of four has a run at the launcher's peak.
#[test]
fn memory_at_the_launchers_peak_is_a_limit() {
    let mut stream = Stream::new(5);
    let mut of = |old, new| {
        let mut pieces = ["n0", "n1", "n2", "n3"].map(|it| piece("x", it, 1.5, 10, &mut stream));
        pieces[1].memory = MemoryLimits { old, new };
        pool(pieces.to_vec(), 1, 1).remove(0)
    };
    let ends = |line: &PoolLine| pooled(line).ratio.ends().map(|end| end.is_some());
    assert_eq!(ends(&of(false, false)), [true, true]);
    assert_eq!(ends(&of(true, false)), [true, false]);
    let turned = of(false, true);
    assert_eq!(turned.evidence, PoolEvidence::None { because: NoTest::MemoryFloor });
    assert!(turned.nodes.iter().all(|node| node.ratio.is_none()), "{turned:?}");
}

/// The p-value, the interval and the word come from one decision, even with tied times.
#[test]
fn what_is_printed_agrees() {
    let (mut stream, mut n_different) = (Stream::new(4), 0);
    for _ in 0..60 {
        let mut pieces = Vec::new();
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            let ratio = 1.0 + 0.01 * (at * stream.below(3) as usize) as f64;
            for node in ["n0", "n1", "n2", "n3"] {
                let mut piece = piece(name, node, ratio, 2 + stream.below(6) as usize, &mut stream);
                let tick = |time: &mut f64| *time = (*time / 4e3).round() * 4e3;
                piece.slots.slot1.iter_mut().chain(&mut piece.slots.slot2).for_each(tick);
                pieces.push(piece);
            }
        }
        for line in pool(pieces, 3, 1) {
            let PoolEvidence::Pooled(found) = line.evidence else { continue };
            let is_different = !found.ratio.logs().contains(0.0);
            assert_eq!(is_different, found.p <= line.plan.policy.alpha, "{found:?}");
            assert!(found.p >= found.effects_p.max(found.relabelling_p), "{found:?}");
            n_different += usize::from(is_different);
        }
    }
    assert!((20..160).contains(&n_different), "{n_different}");
}

/// Few pairs that agree by chance: Student's t is sure, the coins are not.
#[test]
fn nodes_that_agree_by_chance_make_no_verdict() {
    let logs: [[f64; 3]; 3] =
        [[0.021, 0.019, -0.001], [0.02, -0.0009, 0.0205], [-0.0011, 0.0201, 0.02]];
    let pieces = logs.iter().enumerate().map(|(node, logs)| {
        let mut piece = piece("x", &format!("n{node}"), 1.0, logs.len(), &mut Stream::new(1));
        piece.slots.slot1 = vec![1e6; logs.len()];
        piece.slots.slot2 = logs.iter().map(|log: &f64| 1e6 * log.exp()).collect();
        piece.slots.slot1_is_new = vec![false; logs.len()];
        piece
    });
    let all = pooled(&pool(pieces.collect(), 1, 1)[0]);
    assert!(all.effects_p < 0.01 && all.relabelling_p > 0.01, "{all:?}");
    assert!(all.p == all.relabelling_p && all.ratio.lo < 1.0, "{all:?}");
}
