//! The deciding quantity, from the options to the plan.

use anyhow::Result;

use crate::plan::{Plan, decide_run};
use host::Facts;
use model::spec::RunSpec;
use model::values::{Better, Clock, DecideOn, Estimand, ValueUnit};

fn plan(change: impl FnOnce(&mut RunSpec)) -> Result<Plan> {
    let commands = ["a | b", "c"].map(String::from).to_vec();
    let mut spec = RunSpec { commands, ..RunSpec::default() };
    change(&mut spec);
    decide_run(&spec, &Facts::default(), 1)
}

#[test]
fn a_value_decides_unless_another_quantity_is_named() {
    let with_value = |spec: &mut RunSpec| {
        let value = &mut spec.process.execution.value;
        value.value = Some("[0-9]+".into());
        value.value_unit = Some("req/s".into());
        value.value_better = Some(Better::Higher);
    };
    let made = plan(with_value).unwrap();
    let policy = made.policy;
    assert_eq!((policy.decide_on, policy.better), (Some(DecideOn::Value), Better::Higher));
    assert_eq!(
        (policy.estimand, made.control),
        (Estimand::Adaptive, None),
        "a tail is compared too"
    );
    assert_eq!(made.arms.len(), 2, "without the empty shell");
    let made = plan(|spec| {
        with_value(spec);
        spec.judgement.decide_on = Some(DecideOn::Wall);
    });
    let made = made.unwrap();
    assert_eq!((made.policy.decide_on, made.policy.clock), (Some(DecideOn::Wall), Clock::Wall));
    assert_eq!((made.policy.better, made.policy.estimand), (Better::Lower, Estimand::Adaptive));
    assert!(made.control.is_some() && made.arms[0].value.is_some());
}

#[test]
fn a_quantity_sets_the_unit() {
    let unit = |decide_on: DecideOn| {
        plan(|spec| spec.judgement.decide_on = Some(decide_on)).unwrap().arms[0].unit
    };
    assert_eq!(unit(DecideOn::Maxrss), ValueUnit::Bytes);
    assert_eq!(unit(DecideOn::User), ValueUnit::Time);
    assert_eq!(unit(DecideOn::Faults), ValueUnit::Count);
    let plain = plan(|spec| spec.display.metrics = Some("wall".parse().unwrap())).unwrap();
    assert!(!plain.evidence);
    let counted = plan(|spec| {
        spec.display.metrics = Some("wall".parse().unwrap());
        spec.judgement.decide_on = Some(DecideOn::Instructions);
    });
    assert!(counted.unwrap().evidence);
}

#[test]
fn what_does_not_go_together() {
    let none = plan(|spec| spec.judgement.decide_on = Some(DecideOn::Value)).unwrap_err();
    assert!(none.to_string().contains("there is no value"), "{none}");
    let subtracted = plan(|spec| {
        spec.arms.subtract = Some("d".into());
        spec.judgement.decide_on = Some(DecideOn::Maxrss);
    });
    assert!(subtracted.unwrap_err().to_string().contains("subtracts times"));
}
