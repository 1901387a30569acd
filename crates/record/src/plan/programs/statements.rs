//! The statements of `timeit`, as programs to measure.

use anyhow::{Result, ensure};

use crate::plan::workers::{TIMEIT, WorkerCode};
use crate::plan::{Arm, Role};
use model::spec::workers::CodeOptions;

pub const PYTHON: &str = "python3";

/// The statements of `timeit`, each in each interpreter. Errors: an interpreter or a statement cannot be used, or there are
/// too many names.
pub fn statements(statement: &str, code: &CodeOptions) -> Result<Vec<Arm>> {
    let mut pythons: Vec<&str> = code.compare_to.iter().map(String::as_str).collect();
    pythons.extend(code.python.iter().map(String::as_str));
    if code.python.is_empty() {
        pythons.push(PYTHON);
    }
    let statements: Vec<&str> =
        std::iter::once(statement).chain(code.vs.iter().map(String::as_str)).collect();
    let n_arms = pythons.len() * statements.len();
    ensure!(
        code.arm_name.len() <= n_arms,
        "--command-name is given {} times, but {n_arms} are compared",
        code.arm_name.len()
    );
    let duplicate = code.duplicate.unwrap_or(1);
    let mut arms = Vec::new();
    for python in &pythons {
        for statement in &statements {
            ensure!(!python.trim().is_empty(), "--python is empty");
            ensure!(!statement.contains('\0'), "a statement contains a NUL byte");
            ensure!(
                !statement.trim().is_empty(),
                "a statement is empty; `pass` is the one that does nothing"
            );
            let argv = std::iter::once(*python).chain(code.python_arg.iter().map(String::as_str));
            let label = match (pythons.len(), statements.len()) {
                (1, _) => on_one_line(statement),
                (_, 1) => (*python).to_owned(),
                _ => format!("{python}: {}", on_one_line(statement)),
            };
            arms.push(Arm {
                name: Some(code.arm_name.get(arms.len()).cloned().unwrap_or(label)),
                argv: argv.map(String::from).collect(),
                benchmark: Some(code.name.clone().unwrap_or_else(|| TIMEIT.into())),
                inner_loops: code.inner_loops.unwrap_or(1) * u64::from(duplicate),
                source: Some(WorkerCode {
                    setup: code.setup.join("\n"),
                    statement: (*statement).into(),
                    teardown: code.teardown.join("\n"),
                    duplicate,
                }),
                ..Arm::bare(statement, Role::Candidate)
            });
        }
    }
    Ok(arms)
}

/// A statement as a name: its lines behind each other.
fn on_one_line(statement: &str) -> String {
    let mut name = String::new();
    for line in statement.lines().map(str::trim).filter(|line| !line.is_empty()) {
        name += if name.is_empty() || name.ends_with([':', ';']) { "" } else { ";" };
        name += if name.is_empty() { "" } else { " " };
        name += line;
    }
    name
}
