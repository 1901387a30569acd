use super::*;
use crate::plan::decide_session;
use crate::plan::terms::Terms;
use model::values::Sched;

fn decided(change: impl FnOnce(&mut RunSpec), surroundings: &Surroundings) -> Result<Plan> {
    let mut spec = RunSpec { commands: vec!["a".into(), "b".into()], ..RunSpec::default() };
    change(&mut spec);
    decide_session(&spec, &Terms::default(), surroundings)
}

#[test]
fn the_users_priority_goes_first() {
    let check = |options: PriorityOptions, may_raise: bool, expected: Option<i32>| {
        let surroundings = Surroundings { may_raise, ..Surroundings::default() };
        let plan = decided(|spec| spec.process.priority = options, &surroundings).unwrap();
        let found = (plan.process.nice, plan.process.is_raised);
        assert_eq!(found, (expected, expected == Some(HIGHEST_PRIORITY)));
    };
    let none = PriorityOptions::default();
    check(none, true, Some(-20));
    check(none, false, None);
    check(PriorityOptions { priority: Some(Priority::Off), ..none }, true, None);
    check(PriorityOptions { nice: Some(3), ..none }, true, Some(3));
    check(PriorityOptions { sched: Some(Sched::Batch), ..none }, true, None);
}

#[test]
fn threads_are_placed_on_the_cpus_of_the_shield() {
    let places = Some(MachinePlaces::default());
    let shield = Surroundings { bound_cpus: vec![2, 3], is_shielded: true, ..Default::default() };
    let process = decided(|_| (), &Surroundings { places, ..shield }).unwrap().process;
    assert_eq!(process.affinity, Some(vec![2, 3]));
    assert_eq!(process.launcher_cpus, process.affinity);
    assert!(process.thread_variables.contains(&("OMP_NUM_THREADS".into(), "2".into())));
    let nothing_runs = Surroundings { bound_cpus: vec![2, 3], ..Default::default() };
    assert!(decided(|_| (), &nothing_runs).unwrap().process.thread_variables.is_empty());
}
