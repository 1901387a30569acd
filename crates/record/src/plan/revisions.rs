//! Multiplies arms by revisions: each arm in each checkout.

use anyhow::{Result, ensure};

use crate::plan::arms::Arms;
use crate::plan::parameters::{Assignment, substitute};
use crate::plan::{Arm, Control, Role, ShellReason};
use host::Git;
use model::spec::run::HookOptions;

const REVISION: &str = "revision";

/// A revision with its checkout and build.
#[derive(Clone, Debug)]
pub struct BuiltRevision {
    /// Name for people.
    pub name: String,
    /// The directories that the blocks use in turns.
    pub directories: Vec<String>,
    pub git: Git,
}

/// Each arm once for each revision. Arms of one command are compared with each other; several commands are several
/// benchmarks. Without revisions the arms are unchanged.
pub fn across(arms: Vec<Arm>, revisions: &[BuiltRevision]) -> Vec<Arm> {
    if revisions.is_empty() {
        return arms;
    }
    let is_one = arms.len() == 1;
    let of_all = |arm: &Arm| {
        let benchmark = match &arm.benchmark {
            Some(benchmark) if is_one => benchmark.clone(),
            _ => arm.label().to_owned(),
        };
        let arm = Arm { benchmark: Some(benchmark), ..arm.clone() };
        revisions.iter().map(|revision| at_revision(&arm, revision)).collect::<Vec<_>>()
    };
    arms.iter().flat_map(of_all).collect()
}

/// The arms of `run`, with a twin and a control.
pub(super) fn across_commands(
    mut made: Arms,
    hooks: &HookOptions,
    revisions: &[BuiltRevision],
) -> Result<Arms> {
    let Some(first) = revisions.first() else { return Ok(made) };
    for (option, hook) in [("--setup", &hooks.setup), ("--cleanup", &hooks.cleanup)] {
        let mentions = hook.as_ref().is_some_and(|hook| hook.contains("{revision}"));
        ensure!(
            !mentions,
            "{option} mentions {{revision}}, and it is executed once for all of them; use --build, which is executed for \
             each, or --prepare"
        );
    }
    let (candidates, others): (Vec<Arm>, Vec<Arm>) =
        made.arms.into_iter().partition(|arm| arm.role == Role::Candidate);
    made.arms = across(candidates, revisions);
    for mut arm in others {
        match arm.role {
            Role::Twin => arm = Arm { role: Role::Twin, ..made.arms[0].clone() },
            Role::Subtract => arm.directories.clone_from(&first.directories),
            _ => {}
        }
        made.arms.push(arm);
    }
    let last = made.arms.len() - 1;
    made.control = made.control.map(|control| Control { arm: last, ..control });
    if let ShellReason::Needed { arm, .. } = &mut made.shell_reason {
        *arm *= revisions.len();
    }
    Ok(made)
}

fn at_revision(arm: &Arm, revision: &BuiltRevision) -> Arm {
    let assignment: Assignment = vec![(REVISION.into(), revision.git.revision.clone())];
    let filled = |text: &String| substitute(text, &assignment);
    Arm {
        name: Some(revision.name.clone()),
        command: filled(&arm.command),
        argv: arm.argv.iter().map(filled).collect(),
        environment: arm.environment.iter().map(|(name, it)| (name.clone(), filled(it))).collect(),
        prepare: arm.prepare.as_ref().map(filled),
        conclude: arm.conclude.as_ref().map(filled),
        directories: revision.directories.clone(),
        git: Some(revision.git.clone()),
        is_revision: true,
        ..arm.clone()
    }
}

#[cfg(test)]
mod tests {
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
}
