use super::*;
use crate::plan::{Plan, decide_run};
use host::Facts;
use model::spec::RunSpec;

fn plan(n: u32, decide_on: Option<DecideOn>) -> Result<Plan> {
    let mut spec = RunSpec { commands: vec!["true".into()], copies: Some(n), ..RunSpec::default() };
    spec.judgement.decide_on = decide_on;
    decide_run(&spec, &Facts::default(), 1)
}

#[test]
fn copies_have_cpus_of_their_own_if_there_are_enough() {
    let cpus = |n: u32, cpus: &[usize]| {
        let mut copies = plan(n, None).unwrap().copies.unwrap();
        copies.give_cpus(cpus, None);
        copies.cpus
    };
    assert_eq!(cpus(2, &[0, 1, 2, 3]), [[0, 2], [1, 3]]);
    assert_eq!(cpus(3, &[4, 5, 6, 7]), [vec![4, 7], vec![5], vec![6]]);
    assert!(cpus(3, &[0, 1]).is_empty());
    assert_eq!(plan(1, None).unwrap().copies, None);
    let mut limited = plan(2, None).unwrap().copies.unwrap();
    limited.give_cpus(&[0, 1], Some("150000 100000"));
    assert_eq!(limited.n_cpus, 1);
}

#[test]
fn several_copies_are_compared_by_wall_time() {
    let several = plan(2, None).unwrap();
    assert_eq!((several.policy.clock, several.evidence), (Clock::Wall, false));
    assert_eq!(plan(2, Some(DecideOn::Cpu)).unwrap().policy.clock, Clock::Cpu);
    let error = plan(2, Some(DecideOn::Cycles)).unwrap_err().to_string();
    assert!(error.starts_with("--decide-on cycles: that is known of a single copy"), "{error}");
    assert!(plan(2, Some(DecideOn::Clean)).is_err() && plan(1, Some(DecideOn::Clean)).is_ok());
}
