//! `--gate`: searches for the commit that made a gate fail.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::cmd::assessment::Assessment;
use crate::cmd::open::whole_suite;
use analysis::verdict::Verdict;
use model::spec::BisectVerb;

/// The search with the commits and the benchmark of the gate. Errors: the directory has no gate, none of its benchmarks
/// changed, or its builds have no commits.
pub(super) fn search_of(verb: &BisectVerb, directory: &Path) -> Result<BisectVerb> {
    let shown = directory.display();
    let whole = whole_suite(directory)?.with_context(|| format!("{shown} has no results"))?;
    let found = Assessment::of(whole);
    let program = verb.program.as_deref().unwrap_or_default();
    let mut slowest: Option<(f64, usize, String)> = None;
    for (comparison, judgement) in found.analysis.comparisons.iter().zip(&found.judgements) {
        let arm = &found.record.header.plan.arms[comparison.arm];
        let name = inner_name(arm.benchmark.as_deref().unwrap_or(arm.label()), program);
        let is_wanted = match &verb.only {
            Some(only) => name == only,
            None => judgement.verdict == Verdict::Slower,
        };
        let ratio = judgement.interval.map_or(1.0, |interval| interval.ratio);
        if is_wanted && slowest.as_ref().is_none_or(|(most, ..)| ratio > *most) {
            slowest = Some((ratio, comparison.arm, name.to_owned()));
        }
    }
    let (_, arm, name) = slowest.with_context(|| match &verb.only {
        Some(only) => format!("{shown} has no benchmark {only:?}"),
        None => format!("no benchmark of {shown} became slower; --only names another"),
    })?;
    let reference = found.record.header.plan.reference_of(arm);
    let commit = |arm: usize| {
        let git = found.record.header.git_of(arm).map(|git| git.revision.clone());
        git.with_context(|| format!("a build of {shown} is of no commit; name GOOD and BAD"))
    };
    let (good, bad) = (commit(reference)?, commit(arm)?);
    ensure!(good != bad, "both builds of {shown} are of {good}");
    let (only, good, bad) = (Some(name), Some(good), Some(bad));
    Ok(BisectVerb { only, good, bad, gate: None, ..verb.clone() })
}

/// The name of a benchmark without its program, which a gate of several programs puts in front.
fn inner_name<'a>(name: &'a str, program: &str) -> &'a str {
    let path = program.split_whitespace().next().unwrap_or_default().trim_start_matches("./");
    let file = path.rsplit('/').next().unwrap_or_default();
    let inner = [path, file].into_iter().filter(|program| !program.is_empty());
    let mut inner = inner.filter_map(|program| name.strip_prefix(program)?.strip_prefix('/'));
    inner.next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_loses_the_name_of_its_program() {
        assert_eq!(inner_name("bin/sums/BM_fib/8", "./bin/sums -q"), "BM_fib/8");
        assert_eq!(inner_name("sums/BM_fib/8", "bin/sums"), "BM_fib/8");
        assert_eq!(inner_name("BM_fib/8", "bin/sums"), "BM_fib/8");
    }
}
