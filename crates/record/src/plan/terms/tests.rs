use super::*;
use crate::plan::{BlockRule, Surroundings, decide_run, decide_session};
use host::Facts;
use model::spec::RunSpec;

fn spec(commands: &[&str]) -> RunSpec {
    RunSpec { commands: commands.iter().map(|&it| it.into()).collect(), ..RunSpec::default() }
}

fn decided(commands: &[&str], terms: &Terms<'_>) -> Plan {
    decide_session(&spec(commands), terms, &Surroundings::of(&Facts::default(), 1)).unwrap()
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(|arm| arm.label()).collect()
}

fn checkout(name: &str) -> BuiltRevision {
    let git = Git { revision: name.into(), committed_s: None };
    BuiltRevision { name: name.into(), directories: vec![format!("/{name}")], git }
}

#[test]
fn without_terms_a_plan_is_that_of_the_options() {
    let commands = ["a", "b | c"];
    let by_options = decide_run(&spec(&commands), &Facts::default(), 1).unwrap();
    assert_eq!(decided(&commands, &Terms::default()), by_options);
}

#[test]
fn some_arms_keep_the_shell_of_all() {
    let commands = ["a", "b", "c | d"];
    let terms = |arms| Terms {
        arms: ArmTerms::Picked(arms),
        are_whole: true,
        tolerates_failures: true,
        ..Terms::default()
    };
    let last = decided(&commands, &terms(&[0, 2]));
    assert_eq!(labels(&last), ["a", "c | d"]);
    assert_eq!(last.shell_reason, ShellReason::Needed { arm: 1, syntax: "|".into() });
    assert!(last.arms.iter().all(|arm| arm.accept.is_none()) && last.control.is_none());
    let first = decided(&commands, &terms(&[0, 1]));
    assert_eq!((&first.shell, &first.shell_reason), (&last.shell, &ShellReason::UserChoice));
}

#[test]
fn checkouts_are_for_the_arms_of_their_program() {
    let new = checkout("new");
    let arms = ArmTerms::Checkouts(vec![None, Some(&new)]);
    let plan = decided(&["a", "b |c"], &Terms { arms, reference: 1, ..Terms::default() });
    let places: Vec<Option<&str>> = plan.arms.iter().map(|arm| arm.directory(None)).collect();
    // The third is the empty shell.
    assert_eq!(places, [None, Some("/new"), None]);
    assert_eq!((&plan.arms[1].git, plan.reference), (&Some(new.git), 1));
}

#[test]
fn benchmarks_count_together() {
    let place = |name: &str, benchmark: &str| ArmPlace {
        name: name.into(),
        benchmark: benchmark.into(),
        directories: vec!["/d".into()],
        git: None,
    };
    let places = vec![place("p", "x"), place("q", "x"), place("p", "y"), place("q", "y")];
    let arms = ArmTerms::Together(places);
    let terms = Terms { arms, are_whole: true, ..Terms::default() };
    let plan = decided(&["a", "b", "c | d", "e"], &terms);
    assert_eq!(labels(&plan), ["p", "q", "p", "q"]);
    assert_eq!((plan.control, plan.compared()), (None, vec![1]));
    assert!(plan.by_geometric_mean);
}

#[test]
fn the_terms_say_when_a_session_ends() {
    let ended = |ending| decided(&["a", "b"], &Terms { ending, ..Terms::default() }).stopping;
    assert_eq!(ended(Ending::AsAsked), Stopping::WhenDecided);
    assert_eq!(ended(Ending::AtTheEnd), Stopping::AtTheEnd);
    assert_eq!(ended(Ending::AtADifference), Stopping::AtADifference);
    let rule = TrialRule { at_least: 0.0, aim: 0.1, miss: 0.1 };
    let n_blocks_max = Some(7);
    let ending = Ending::Trial(rule);
    let alpha = Some(0.2);
    let terms = Terms { ending, alpha, n_blocks_max, ..Terms::default() };
    let trial = decided(&["a", "b"], &terms);
    assert_eq!((trial.trial, trial.policy.alpha), (Some(rule), 0.2));
    assert!(matches!(trial.blocks, BlockRule::Budget { min: 7, max: 7, firm: 1, .. }));
    let one = Terms { ending: Ending::AtTheEnd, ..Terms::default() };
    assert_eq!(decided(&["a"], &one).precision, None);
}
