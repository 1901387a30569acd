//! Output of `bisect`: a line for each step, then the answer.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json as object};

use crate::bisection::{
    Answer, BisectSearch, Commit, CommitGraph, Observation, Relation, SearchStep,
};
use crate::render::columns::{one_line, shorten, wrap};
use crate::render::text::size_of;
use crate::render::units::{counted, short_time};

/// Digits of a commit that people read.
const SHORT: usize = 10;
/// Columns of a subject in a line.
const SUBJECT: usize = 50;
/// Commits of a set that are listed.
const LISTED_MAX: usize = 12;

/// A commit in a line: `0123456789 "the subject"`.
pub fn name(commit: &Commit) -> String {
    let subject = shorten(&one_line(&commit.subject), SUBJECT);
    format!("{} \"{subject}\"", short(commit))
}

fn short(commit: &Commit) -> &str {
    &commit.id[..commit.id.len().min(SHORT)]
}

/// The lines before the first step.
pub fn beginning(
    graph: &CommitGraph,
    (lo, hi): (usize, usize),
    directory: &Path,
    n_observed: usize,
) -> String {
    let commits = graph.commits();
    let n = graph.between(lo, hi).len();
    let mut out = format!("good  {}\n", name(&commits[lo]));
    writeln!(out, "bad   {}, {}", name(&commits[hi]), counted(n, "commit")).ok();
    if n_observed > 0 {
        let from = one_line(&directory.display().to_string());
        writeln!(out, "going on with {from}").ok();
    }
    out
}

/// What a step is about, for its line.
pub fn step(graph: &CommitGraph, step: &SearchStep) -> String {
    let short = |commit: usize| short(&graph.commits()[commit]);
    match *step {
        SearchStep::Ends { lo, hi, .. } => format!("ends     {}  {}", short(lo), short(hi)),
        SearchStep::Probe { commit, n_possible, .. } => {
            format!("probe    {}  {n_possible:>5} possible", short(commit))
        }
        SearchStep::Confirm { base, head, .. } => {
            format!("confirm  {}  {}", short(base), short(head))
        }
        SearchStep::Done => String::new(),
    }
}

/// The line of an observation; `None` where there is nothing to say. `search` has not taken it in yet.
pub fn observed(search: &BisectSearch, step: &str, observation: &Observation) -> Option<String> {
    let time = |seconds: f64| short_time(seconds * 1e9);
    Some(match observation {
        Observation::Built { .. } => return None,
        Observation::Failed { commit, why } => {
            let why = why.lines().next().unwrap_or_default();
            let commit = short(&search.graph().commits()[*commit]);
            format!("skipped  {commit}  {}\n", shorten(&one_line(why), SUBJECT))
        }
        Observation::Ends { new, seconds, .. } | Observation::Confirm { new, seconds, .. } => {
            format!("{step}  {}, {}\n", size(new), time(*seconds))
        }
        Observation::Probe { of_old, of_new, seconds, .. } => {
            let answer = word(search.answer_now(of_old, of_new));
            format!("{step}  {answer}: {} than good, {}\n", size(of_old), time(*seconds))
        }
    })
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::LikeOld => "like the old",
        Answer::LikeNew => "like the new",
        Answer::Neither => "neither",
        Answer::Undecided => "undecided",
    }
}

/// The answer of a step of `git bisect run`.
pub fn told(answer: Answer, of_old: &Relation, of_new: &Relation) -> String {
    let [old, new] = [of_old, of_new].map(size);
    format!("HEAD is {}: {old} than good, {new} than bad\n", word(answer))
}

fn size(relation: &Relation) -> String {
    size_of(relation.ratio, relation.lo.zip(relation.hi))
}

/// The answer.
pub fn text(search: &BisectSearch, (lo, hi): (usize, usize)) -> String {
    let (graph, found) = (search.graph(), search.outcome());
    let commits = graph.commits();
    let mut out = String::from("\n");
    match &found.ends {
        Some(ends) if !ends.is_different => {
            let verdict = if ends.is_same { "are the same" } else { "were not found to differ" };
            let text =
                format!("The two ends {verdict}: {}. There is nothing to search.", size(ends));
            wrap(&mut out, "", 0, &text);
            return out;
        }
        _ => {}
    }
    for culprit in &found.culprits {
        let head = &commits[culprit.head];
        let mut text = match culprit.commits.as_slice() {
            [_] => format!("{} is {}", name(head), size(&culprit.size)),
            several => format!(
                "One of {} commits up to {}, which cannot be built one by one, is {}",
                several.len(),
                name(head),
                size(&culprit.size)
            ),
        };
        text += &format!(
            " than {}, by fresh runs of both.",
            if culprit.commits.len() == 1 && head.parents.first() == Some(&culprit.base) {
                format!("its parent {}", short(&commits[culprit.base]))
            } else {
                short(&commits[culprit.base]).to_owned()
            }
        );
        wrap(&mut out, "", 2, &text);
        let unbuilt = culprit.commits.iter().filter(|commit| **commit != culprit.head);
        for &commit in unbuilt {
            writeln!(out, "  {} cannot be built", name(&commits[commit])).ok();
        }
    }
    for range in &found.unresolved {
        let n = counted(range.commits.len(), "commit");
        let (lo, hi) = (short(&commits[range.lo]), short(&commits[range.hi]));
        let text = format!(
            "{hi} is {} than {lo}; it was not found which of {n} did it:",
            size(&range.size)
        );
        wrap(&mut out, "", 2, &text);
        for &commit in range.commits.iter().take(LISTED_MAX) {
            let remark =
                if found.failed.contains_key(&commit) { ", which cannot be built" } else { "" };
            writeln!(out, "  {}{remark}", name(&commits[commit])).ok();
        }
        let n_more = range.commits.len().saturating_sub(LISTED_MAX);
        if n_more > 0 {
            writeln!(out, "  and {n_more} more").ok();
        }
    }
    out.push('\n');
    let n = graph.between(lo, hi).len();
    let text = format!(
        "{}: {} were measured, {} cannot be built. {} took {}, measuring {}.",
        counted(n, "commit"),
        found.n_probes,
        found.failed.len(),
        counted(found.n_builds as usize, "build"),
        short_time(found.build_s * 1e9),
        short_time(found.measure_s * 1e9)
    );
    wrap(&mut out, "", 2, &text);
    out
}

/// The last line.
pub fn kept(directory: &Path) -> String {
    format!("the records are in {}\n", one_line(&directory.display().to_string()))
}

/// The answer for programs.
pub fn json(
    search: &BisectSearch,
    (lo, hi): (usize, usize),
    observations: &[&Observation],
) -> Value {
    let (graph, found) = (search.graph(), search.outcome());
    let commits = graph.commits();
    let id = |commit: usize| commits[commit].id.clone();
    let listed = |list: &[usize]| -> Vec<Value> {
        let one =
            |&commit: &usize| object!({ "id": id(commit), "subject": commits[commit].subject });
        list.iter().map(one).collect()
    };
    let culprits: Vec<Value> = found
        .culprits
        .iter()
        .map(|it| {
            object!({
                "commits": listed(&it.commits),
                "base": id(it.base),
                "head": id(it.head),
                "size": it.size
            })
        })
        .collect();
    let unresolved: Vec<Value> = found
        .unresolved
        .iter()
        .map(|it| {
            object!({
                "good": id(it.lo),
                "bad": id(it.hi),
                "commits": listed(&it.commits),
                "size": it.size
            })
        })
        .collect();
    let failed = found.failed.iter();
    let failed: Vec<Value> =
        failed.map(|(commit, why)| object!({ "id": id(*commit), "why": why })).collect();
    let probes: Vec<Value> = observations
        .iter()
        .filter_map(|observation| match observation {
            Observation::Probe { commit, of_old, of_new, seconds } => Some(object!({
                "id": id(*commit),
                "of_good": of_old,
                "of_bad": of_new,
                "seconds": seconds
            })),
            _ => None,
        })
        .collect();
    object!({
        "good": id(lo),
        "bad": id(hi),
        "n_commits": graph.between(lo, hi).len(),
        "ends": found.ends,
        "culprits": culprits,
        "unresolved": unresolved,
        "unbuildable": failed,
        "probes": probes,
        "n_builds": found.n_builds,
        "build_s": found.build_s,
        "measure_s": found.measure_s
    })
}
