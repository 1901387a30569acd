//! `timeit`: statements in any interpreters.

use anyhow::Result;

use crate::cmd::conclusion::{Presentation, measure_and_show, opening};
use crate::cmd::exports::by_suffix;
use crate::cmd::revisions;
use crate::session::{Guard, surroundings, told_gap};
use host::{Host, terminal};
use measure::programs::behind_shim;
use model::spec::TimeitVerb;
use model::spec::workers::SessionOptions;
use record::plan::programs::{decide_workers, statements};
use record::plan::{BuiltRevision, Terms, across, require_comparison};

pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let session = &by_suffix(&verb.spec.session)?;
    if are_rivals(&verb.spec.statement) {
        let text = "the statements are timed together, as the lines of one; to compare them, put --vs in front of the second";
        terminal::say(text);
    }
    let revisions = revisions::built(&verb.spec.revisions)?;
    let mut guard = Guard::for_workers(&verb.host_root, &session.workers)?;
    let code = measure(verb, session, &revisions, &mut guard);
    guard.restore(code)
}

fn measure(
    verb: &TimeitVerb,
    session: &SessionOptions,
    revisions: &[BuiltRevision],
    guard: &mut Guard,
) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let statements = statements(&verb.spec.statement.join("\n"), &verb.spec.code)?;
    let mut arms = across(statements, revisions);
    for arm in &mut arms {
        if let Some(executable) = behind_shim(&arm.argv[0], guard.user()) {
            arm.argv[0] = executable;
        }
    }
    let around = surroundings(&host, guard, &survey, false)?;
    let plan = decide_workers(arms, &verb.spec.session, &Terms::default(), &around)?;
    require_comparison(&plan, &session.judgement)?;
    survey.gaps.extend(told_gap(&around, &session.workers.machine.placement));
    let opening = opening(session, survey, guard);
    measure_and_show(&plan, opening, &Presentation::of_workers(session))
}

/// Whether statements look like things to compare: each is an expression, so joined the first one's value is lost.
fn are_rivals(statements: &[String]) -> bool {
    statements.len() == 2 && statements.iter().all(|statement| is_expression(statement))
}

/// Whether a line of Python looks like an expression: no keyword begins it, no colon ends it, and nothing is assigned outside
/// of brackets.
fn is_expression(line: &str) -> bool {
    const KEYWORDS: [&str; 23] = [
        "assert", "async", "break", "class", "continue", "def", "del", "elif", "else", "except",
        "finally", "for", "from", "global", "if", "import", "nonlocal", "pass", "raise", "return",
        "try", "while", "with",
    ];
    let first = line.split(|it: char| !it.is_alphanumeric() && it != '_').next();
    let is_keyword = first.is_some_and(|word| KEYWORDS.contains(&word));
    let is_part = line.trim().is_empty() || line.starts_with([' ', '\t']) || line.ends_with(':');
    let (mut depth, mut before) = (0_i32, ' ');
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
        let is_assigned =
            letter == '=' && !"=!<>:".contains(before) && letters.peek() != Some(&'=');
        if depth == 0 && (is_assigned || letter == ';') {
            return false;
        }
        before = letter;
    }
    !is_keyword && !is_part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_expressions_are_told_from_the_lines_of_a_statement() {
        let rivals = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            are_rivals(&lines)
        };
        assert!(rivals(&["sorted(x)", "sorted(x, key=int)"]));
        assert!(rivals(&["x == 1", "x <= 1 or (y := 2)"]));
        for lines in [
            ["x = 1", "f(x)"],
            ["import re", "re.match('a', 'b')"],
            ["for y in x:", "    f(y)"],
            ["x += 1", "x"],
            ["f(x); g(x)", "h(x)"],
            ["pass", "f(x)"],
        ] {
            assert!(!rivals(&lines), "{lines:?}");
        }
        assert!(!rivals(&["f(x)"]) && !rivals(&["a", "b", "c"]));
    }
}
