//! Lists the benchmarks of a suite without measuring them.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Result;

use crate::cmd::print::print;
use host::terminal;
use model::spec::suite::SuiteFile;
use model::values::exit_code;
use record::plan::suite::{Suite, SuiteMember};
use record::plan::{Arm, Role};
use render::json::pretty;
use render::one_line;

/// Prints the names of the benchmarks, one a line, or their names, tags and variants as JSON.
pub fn benchmarks(suite: &Suite, as_json: bool) -> Result<u8> {
    if as_json {
        let benchmarks: Vec<_> = suite.members.iter().map(described).collect();
        let value = serde_json::json!({
            "suite": suite.name,
            "commits": commits(suite),
            "benchmarks": benchmarks,
        });
        pretty(&mut terminal::data(), &value)?;
        return Ok(exit_code::SUCCESS);
    }
    let mut stdout = terminal::data();
    suite.members.iter().try_for_each(|it| writeln!(stdout, "{}", one_line(&it.name)))?;
    Ok(exit_code::SUCCESS)
}

/// The current commit of each variant with a revision.
fn commits(suite: &Suite) -> BTreeMap<&str, &str> {
    let arms = suite.members.iter().flat_map(|member| &member.plan.arms);
    let of_commits = arms.filter_map(|arm| Some((arm.label(), arm.git.as_ref()?)));
    // Only revisions have a commit time.
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
    print(&format!("{}\n", serde_json::to_string_pretty(&schema)?))?;
    Ok(exit_code::SUCCESS)
}
