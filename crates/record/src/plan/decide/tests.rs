use super::*;
use model::values::{Cpus, Percent};

fn spec(commands: &[&str]) -> RunSpec {
    RunSpec { commands: commands.iter().map(|&c| c.into()).collect(), ..RunSpec::default() }
}

#[track_caller]
fn check_blocks(
    min: Option<u32>,
    max: Option<u32>,
    commands: &[&str],
    expected: Option<(u32, u32)>,
) {
    let mut spec = spec(commands);
    spec.length.min_runs = min;
    spec.length.max_runs = max;
    let found = decide_run(&spec, &Facts::default(), 1).ok().map(|plan| match plan.blocks {
        BlockRule::Budget { min, max, .. } => (min, max),
        BlockRule::Exactly(n) => (n, n),
    });
    assert_eq!(found, expected);
}

#[test]
fn numbers_of_runs_give_way_to_what_was_said() {
    check_blocks(None, None, &["a", "b"], Some((10, 500)));
    check_blocks(None, None, &["a"], Some((24, u32::MAX)));
    check_blocks(Some(600), None, &["a", "b"], Some((600, 600)));
    check_blocks(None, Some(5), &["a", "b"], Some((5, 5)));
    check_blocks(Some(7), Some(5), &["a", "b"], None);
}

/// `--runs` and `--budget`: whichever comes first. Only `--min-runs` outranks a budget.
#[test]
fn a_budget_ends_also_a_number_of_runs() {
    let blocks = |runs, min_runs, budget: Option<&str>| {
        let mut spec = spec(&["a", "b"]);
        (spec.length.runs, spec.length.min_runs) = (runs, min_runs);
        spec.length.stop.budget = budget.map(|budget| budget.parse().unwrap());
        let plan = decide_run(&spec, &Facts::default(), 1).unwrap();
        (plan.blocks, plan.stopping)
    };
    let (both, stopping) = blocks(Some(30), None, Some("2s"));
    let budget_ns = 2_000_000_000;
    assert_eq!(both, BlockRule::Budget { budget_ns, min: 30, max: 30, firm: 1 });
    assert_eq!(stopping, Stopping::AtTheEnd);
    assert_eq!(blocks(Some(30), None, None).0, BlockRule::Exactly(30));
    assert_eq!(blocks(None, None, None).0.firm(), 1);
    assert_eq!(blocks(None, Some(20), Some("2s")).0.firm(), 20);
}

#[test]
fn precision_is_for_estimation() {
    let plan = |spec: &RunSpec| decide_run(spec, &Facts::default(), 1).unwrap();
    let found = plan(&spec(&["a"])).precision.unwrap();
    assert_eq!((found.pct, found.n_blocks_min), (0.5, 12));
    assert_eq!(plan(&spec(&["a", "b"])).precision, None);
    let mut exact = spec(&["a"]);
    exact.length.runs = Some(30);
    assert_eq!(plan(&exact).precision, None);
    let mut sequential = spec(&["a", "b"]);
    sequential.length.order = Some(Order::Sequential);
    sequential.length.stop.precision = Some(Percent(1.0));
    assert!(decide_run(&sequential, &Facts::default(), 1).is_err());
}

#[test]
fn only_cpus_that_are_there_can_be_used() {
    let mut spec = spec(&["a"]);
    spec.process.affinity = Some(Cpus(vec![1, 9]));
    let facts = Facts { cpus_online: Some("0-3".into()), ..Facts::default() };
    let error = decide_run(&spec, &facts, 1).unwrap_err().to_string();
    assert!(error.contains("CPU 9 is not one of those"), "{error}");
    spec.process.affinity = Some(Cpus((0..2048).collect()));
    let facts = Facts { cpus_online: Some("0-2047".into()), ..Facts::default() };
    let affinity = decide_run(&spec, &facts, 1).unwrap().process.affinity;
    assert_eq!(affinity, Some((0..2048).collect()));
}

#[test]
fn the_clock_alone_needs_no_evidence() {
    let mut spec = spec(&["a"]);
    assert!(decide_run(&spec, &Facts::default(), 1).unwrap().evidence);
    spec.display.metrics = Some("wall".parse().unwrap());
    assert!(!decide_run(&spec, &Facts::default(), 1).unwrap().evidence);
}
