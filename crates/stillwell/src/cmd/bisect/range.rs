//! The commits between two revisions, as git lists them.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::bisect::state::BisectRange;
use crate::cmd::commits::{Place, no_common_ancestor};
use crate::cmd::git::git;
use host::terminal;
use search::bisection::Commit;

/// Larger histories would need more memory for the ancestors of each commit than a search is worth.
const COMMITS_MAX: usize = 20_000;

/// The commits in `bad` and not in `good`, with their parents among the old commits. If `good` is no ancestor of `bad`,
/// their merge base takes its place. Errors: a revision is unknown, or the two have no common ancestor.
pub(super) fn range_of(
    place: &Place,
    good: &str,
    bad: &str,
    first_parent: bool,
) -> Result<BisectRange> {
    let (good_id, bad_id) = (place.commit(good)?, place.commit(bad)?);
    ensure!(good_id != bad_id, "{good} and {bad} are the same commit");
    let base = git(&place.top, &["merge-base", &good_id, &bad_id])
        .with_context(|| no_common_ancestor(&place.top, good, bad))?;
    ensure!(base != bad_id, "{bad} is an ancestor of {good}; swap them: GOOD is the older one");
    if base != good_id {
        let shown = &base[..base.len().min(12)];
        terminal::say(format!(
            "{good} is no ancestor of {bad}; searching from their merge base {shown}"
        ));
    }
    let range = format!("{base}..{bad_id}");
    let mut words =
        vec!["log", "--reverse", "--topo-order", "--boundary", "--format=%m%H %P%x00%s"];
    words.extend(first_parent.then_some("--first-parent"));
    words.push(&range);
    let text = git(&place.top, &words)?;
    let mut lines: Vec<(bool, &str, Vec<&str>, &str)> = Vec::new();
    for line in text.lines() {
        let (ids, subject) = line.split_once('\0').unwrap_or((line, ""));
        let (mark, ids) = ids.split_at(1);
        let mut ids = ids.split(' ').filter(|id| !id.is_empty());
        let id = ids.next().context("git log lists a commit without an id")?;
        lines.push((mark == "-", id, ids.collect(), subject));
    }
    ensure!(lines.len() <= COMMITS_MAX, "more than {COMMITS_MAX} commits cannot be searched");
    // Old commits come first; the others are in order.
    lines.sort_by_key(|(is_old, ..)| !is_old);
    let numbers: HashMap<&str, usize> =
        lines.iter().enumerate().map(|(index, (_, id, ..))| (*id, index)).collect();
    let commit = |(is_old, id, parents, subject): &(bool, &str, Vec<&str>, &str)| {
        let n_parents = if *is_old {
            0
        } else if first_parent {
            1
        } else {
            parents.len()
        };
        let known = parents.iter().take(n_parents).filter_map(|id| numbers.get(id).copied());
        Commit {
            id: (*id).to_owned(),
            subject: (*subject).to_owned(),
            parents: known.collect(),
            is_old: *is_old,
        }
    };
    let commits = lines.iter().map(commit).collect();
    let (Some(&lo), Some(&hi)) = (numbers.get(&*base), numbers.get(&*bad_id)) else {
        let on_line = if first_parent { "the first parents of " } else { "" };
        bail!(
            "{good} is not among {on_line}{bad}; choose a commit that is, or leave --first-parent out"
        );
    };
    Ok(BisectRange { commits, lo, hi })
}
