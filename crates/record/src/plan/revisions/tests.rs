//! Plans of several revisions.

use super::*;
use crate::plan::{ArmTerms, Plan, Surroundings, Terms, decide_session};
use model::spec::RunSpec;

fn revisions() -> Vec<BuiltRevision> {
    let made = |name: &str| BuiltRevision {
        name: name.into(),
        directories: vec![format!("/tree/{name}")],
        git: Git { revision: name.repeat(8), committed_s: None },
    };
    ["a", "b", "c"].map(made).to_vec()
}

fn planned(spec: &RunSpec) -> Result<Plan> {
    let terms = Terms { arms: ArmTerms::Revisions(&revisions()), ..Terms::default() };
    decide_session(spec, &terms, &Surroundings::default())
}

fn spec(commands: &[&str]) -> RunSpec {
    RunSpec { commands: commands.iter().map(|it| (*it).into()).collect(), ..RunSpec::default() }
}

#[test]
fn each_command_is_compared_among_its_revisions() {
    let mut spec = spec(&["./p {revision} | cat", "./q"]);
    spec.hooks.prepare = vec!["warm {revision}".into()];
    spec.judgement.aa = true;
    let plan = planned(&spec).unwrap();
    let shown: Vec<_> = plan.arms.iter().map(|arm| (arm.label(), arm.role)).collect();
    let six = ["a", "b", "c", "a", "b", "c"].map(|name| (name, Role::Candidate));
    let two = [("a", Role::Twin), ("empty shell", Role::EmptyShell)];
    assert_eq!(shown, [&six[..], &two].concat());
    assert_eq!(plan.arms[1].argv, ["sh", "-c", "./p bbbbbbbb | cat"]);
    assert_eq!(plan.arms[2].prepare.as_deref(), Some("warm cccccccc"));
    assert_eq!(plan.arms[5].directories, ["/tree/c"]);
    assert_eq!(plan.compared(), [1, 2, 4, 5]);
    assert_eq!([plan.reference_of(2), plan.reference_of(5)], [0, 3]);
    assert_eq!(plan.control.map(|control| control.arm), Some(7));
    assert_eq!(plan.arms[4].benchmark.as_deref(), Some("./q"));
}

#[test]
fn a_setup_is_executed_once() {
    let mut spec = spec(&["./p"]);
    spec.hooks.setup = Some("make {revision}".into());
    assert!(planned(&spec).unwrap_err().to_string().contains("--setup mentions {revision}"));
}
