//! A plan is decided once: only `record::plan` makes and changes plans.

use super::opening::sources_with;

/// Methods that change a list.
const CHANGES: [&str; 9] =
    ["clear", "extend", "insert", "iter_mut", "push", "remove", "retain", "swap", "truncate"];

/// Whether a line of code borrows a plan to change it, assigns to a field of one, or changes a list in one.
fn changes_a_plan(line: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let ends = |text: &str| !text.starts_with(is_part);
    let borrowed = line.match_indices("&mut ").any(|(at, begin)| {
        let path = line[at + begin.len()..].split(|char| !is_part(char) && char != '.').next();
        path.unwrap_or_default().split('.').any(|name| ["Plan", "plan"].contains(&name))
    });
    let bound = line.match_indices("mut plan").any(|(at, text)| ends(&line[at + text.len()..]));
    let changed = line.match_indices("plan.").any(|(at, begin)| {
        let is_name = line[..at].chars().next_back().is_none_or(|before| !is_part(before));
        let rest = &line[at + begin.len()..];
        let (path, rest) =
            rest.split_at(rest.find(|char| !is_part(char) && char != '.').unwrap_or(rest.len()));
        let rest = rest.trim_start_matches([' ', '+', '-', '|', '&']);
        let assigns = rest == "=" || rest.starts_with("= ");
        let last = path.rsplit('.').next().unwrap_or_default();
        is_name && (assigns || CHANGES.contains(&last))
    });
    borrowed || bound || changed
}

#[test]
fn only_the_decision_changes_a_plan() {
    let found = sources_with(changes_a_plan);
    let others: Vec<&String> =
        found.iter().filter(|file| !file.starts_with("record/plan/")).collect();
    assert!(others.is_empty(), "a plan is changed after it was decided in {others:?}");
    assert!(found.len() > 3, "the rule finds the places in record::plan: {found:?}");
}

#[test]
fn the_decision_reads_no_machine() {
    let mut found = sources_with(|line| line.contains("Host") || line.contains("fs::"));
    found.retain(|file| file.starts_with("record/plan/"));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_changes_a_plan() {
    for line in [
        "fn raise(plan: &mut Plan) {",
        "let mut plan = decide(&request)?;",
        "header.plan.policy.alpha = 0.1;",
        "plan.seed += 1;",
        "place(&mut member.plan.process);",
        "for arm in plan.arms.iter_mut() {",
    ] {
        assert!(changes_a_plan(line), "{line}");
    }
    for line in [
        "if plan.seed == 1 {",
        "let n = plan.arms.len();",
        "tune::plan(&machine, &mut planned);",
        "header.plan = plan.select_arms(&kept);",
        "let step = &mut planned.steps;",
    ] {
        assert!(!changes_a_plan(line), "{line}");
    }
}
