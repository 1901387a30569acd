//! What is in a suite, without measuring it.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Result;

use crate::plan::suite::{Suite, SuiteMember};
use crate::plan::{Arm, Role};
use crate::render::one_line;
use crate::spec::suite::SuiteFile;

/// Prints the names of the benchmarks, one on each line, or all about them as JSON.
pub fn benchmarks(suite: &Suite, as_json: bool) -> Result<u8> {
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let benchmarks: Vec<_> = suite.members.iter().map(described).collect();
        let value = serde_json::json!({
            "suite": suite.name,
            "commits": commits(suite),
            "benchmarks": benchmarks,
        });
        serde_json::to_writer_pretty(&mut stdout, &value)?;
        writeln!(stdout)?;
        return Ok(0);
    }
    suite.members.iter().try_for_each(|it| writeln!(stdout, "{}", one_line(&it.name)))?;
    Ok(0)
}

/// Of the variants that are of a revision: the commits that they are of now.
fn commits(suite: &Suite) -> BTreeMap<&str, &str> {
    let arms = suite.members.iter().flat_map(|member| &member.plan.arms);
    let of_commits = arms.filter_map(|arm| Some((arm.label(), arm.git.as_ref()?)));
    // Of files as they are it is not known when their commit was made.
    let of_revisions = of_commits.filter(|(_, git)| git.committed_s.is_some());
    of_revisions.map(|(name, git)| (name, git.revision.as_str())).collect()
}

fn described(member: &SuiteMember) -> serde_json::Value {
    let candidates = member.plan.arms.iter().filter(|arm| arm.role == Role::Candidate);
    let variants: Vec<&str> = candidates.map(Arm::label).collect();
    serde_json::json!({ "name": member.name, "tags": member.tags, "variants": variants })
}

/// Prints the JSON schema of suite files.
pub fn schema() -> Result<u8> {
    let schema = schemars::schema_for!(SuiteFile);
    super::super::print(&format!("{}\n", serde_json::to_string_pretty(&schema)?))?;
    Ok(0)
}
