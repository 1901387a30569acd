//! Output of `bisect`: a line for each step, then the answer.

mod page;
mod track;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::columns::{one_line, shorten, wrap};
use crate::quantity::QuantityWords;
use crate::sizes::size_of;
use crate::units::{counted, short_time};
use search::bisection::{
    Answer, BisectSearch, Commit, CommitGraph, Culprit, LayoutFinding, LayoutVerdict, Observation,
    Relation, SearchStep,
};

pub use page::{StepRecord, write as write_page};

/// Digits of an abbreviated commit.
const SHORT: usize = 10;
/// Columns of the name of a step.
const STEP: usize = 9;
/// Columns of a subject in a line.
const SUBJECT: usize = 50;
/// Columns of a reason in a line.
const REASON: usize = 58;
/// Mark of lines from a build's output.
const OUTPUT_MARK: &str = "  | ";
/// Longest list of commits.
const LISTED_MAX: usize = 12;

/// A commit in a line: `0123456789 "the subject"`.
pub fn name(commit: &Commit) -> String {
    let subject = shorten(&commit.subject, SUBJECT);
    format!("{} \"{subject}\"", short(commit))
}

fn short(commit: &Commit) -> &str {
    &commit.id[..commit.id.len().min(SHORT)]
}

/// The lines before the first step.
pub fn beginning(search: &BisectSearch, directory: &Path, n_observed: usize) -> String {
    let (commits, n) = (search.graph().commits(), search.between().len());
    let mut out = format!("good  {}\n", name(&commits[search.good]));
    writeln!(out, "bad   {}, {}", name(&commits[search.bad]), counted(n, "commit")).ok();
    if n_observed > 0 {
        let from = one_line(&directory.display().to_string());
        writeln!(out, "going on with {from}").ok();
    }
    out
}

/// The words for a step in its line.
pub fn step(graph: &CommitGraph, step: &SearchStep) -> String {
    let short = |commit: usize| short(&graph.commits()[commit]);
    match *step {
        SearchStep::Ends { lo, hi, .. } => format!("ends     {}  {}", short(lo), short(hi)),
        SearchStep::Probe { commit, n_possible, .. } => {
            format!("probe    {}  {n_possible} possible", short(commit))
        }
        SearchStep::Confirm { base, head, .. } => {
            format!("confirm  {}  {}", short(base), short(head))
        }
        SearchStep::Layouts { base, head, .. } => {
            format!("layouts  {}  {}", short(base), short(head))
        }
        SearchStep::Done => String::new(),
    }
}

/// The line of an observation; `None` if it says nothing. `search` is in the state before the observation.
pub fn observed(
    search: &BisectSearch,
    step: &str,
    observation: &Observation,
    quantity: QuantityWords,
) -> Option<String> {
    let (step, said) = match observation {
        Observation::Failed { commit, why, .. } => {
            let commit = short(&search.graph().commits()[*commit]);
            (format!("skipped  {commit}"), reason(why))
        }
        // The answer says why there is no other link order.
        Observation::Layouts { found, .. } if found.over.is_none() => return None,
        _ => {
            let (said, seconds) = measured(search, observation, quantity)?;
            (step.to_owned(), format!("{said}, {}", short_time(seconds * 1e9)))
        }
    };
    let mut out = String::new();
    wrap(&mut out, &format!("{step}  "), STEP, &said);
    Some(out)
}

/// What a measurement says, and its time, s. `search` is in the state before it: a probe's answer depends on that.
fn measured(
    search: &BisectSearch,
    observation: &Observation,
    quantity: QuantityWords,
) -> Option<(String, f64)> {
    match observation {
        Observation::Built { .. } | Observation::Failed { .. } => None,
        Observation::Ends { new, seconds, .. } | Observation::Confirm { new, seconds, .. } => {
            Some((size(new, quantity), *seconds))
        }
        Observation::Layouts { found, seconds, .. } => Some((layouts(found, quantity), *seconds)),
        Observation::Probe { of_old, of_new, seconds, .. } => {
            let answer = word(search.answer_now(of_old, of_new));
            let size = size(of_old, quantity);
            Some((format!("{answer}: {size} than {}", old_end(search)), *seconds))
        }
    }
}

/// Why a commit cannot be built or run, on one line: the compiler's message if a build failed.
fn reason(why: &str) -> String {
    let mut output = why.lines().filter_map(|line| line.strip_prefix(OUTPUT_MARK));
    let is_cause = |line: &&str| line.to_lowercase().contains("error") && !line.contains("***");
    let cause = output.clone().find(is_cause).or_else(|| output.next_back());
    shorten(cause.or(why.lines().next()).unwrap_or_default(), REASON)
}

/// The old end of the range that is searched now, the whole one or a part.
fn old_end(search: &BisectSearch) -> &str {
    let commits = search.graph().commits();
    match search.next_step() {
        SearchStep::Probe { lo, .. } if !commits[lo].is_old => short(&commits[lo]),
        _ => "good",
    }
}

fn layouts(layout: &LayoutFinding, quantity: QuantityWords) -> String {
    match &layout.over {
        Some(over) => format!("{} over {} link orders", size(over, quantity), layout.n),
        None => "no other link order".into(),
    }
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
pub fn told(
    answer: Answer,
    of_old: &Relation,
    of_new: &Relation,
    quantity: QuantityWords,
) -> String {
    let [old, new] = [of_old, of_new].map(|relation| size(relation, quantity));
    format!("HEAD is {}: {old} than good, {new} than bad\n", word(answer))
}

fn size(relation: &Relation, quantity: QuantityWords) -> String {
    size_of(relation.ratio, relation.lo.zip(relation.hi), quantity)
}

/// The answer.
pub fn text(search: &BisectSearch, quantity: QuantityWords) -> String {
    let mut out = String::from("\n");
    for (indent, text) in paragraphs(search, quantity) {
        wrap(&mut out, indent, 2, &text);
    }
    if search.outcome().ends.is_some_and(|ends| ends.is_different) {
        out.push('\n');
        wrap(&mut out, "", 2, &cost(search));
    }
    out
}

/// The sentences of the answer, each with its indent.
fn paragraphs(search: &BisectSearch, quantity: QuantityWords) -> Vec<(&'static str, String)> {
    let (commits, outcome) = (search.graph().commits(), search.outcome());
    let mut all = Vec::new();
    let mut say = |indent, text| all.push((indent, text));
    if let Some(ends) = outcome.ends.as_ref().filter(|ends| !ends.is_different) {
        let size = size(ends, quantity);
        let more = if quantity.is_time() {
            "Runs that take longer or a quieter machine show smaller differences; a longer --budget does where fewer than 400 blocks were measured."
        } else {
            "A longer --budget shows smaller differences where fewer than 400 blocks were measured."
        };
        say(
            "",
            match ends.is_same {
                true => format!("The two ends are the same: {size}. There is nothing to search."),
                false => format!(
                    "The two ends were not found to differ: {size}. So there is nothing to search yet. {more}"
                ),
            },
        );
        return all;
    }
    let mut remarks = BTreeSet::new();
    for culprit in &outcome.culprits {
        say("", sentence(commits, culprit, quantity));
        if let Some(words) = culprit.layout.as_ref().and_then(|it| remark(it, quantity))
            && remarks.insert(words.clone())
        {
            say("  ", words);
        }
        let unbuilt = culprit.commits.iter().filter(|commit| **commit != culprit.head);
        for &commit in unbuilt {
            let why = outcome.failed.get(&commit).map_or_else(String::new, |why| reason(why));
            say("  ", format!("{} cannot be built or run: {why}", name(&commits[commit])));
        }
    }
    for range in &outcome.unresolved {
        let n = counted(range.commits.len(), "commit");
        let (lo, hi) = (short(&commits[range.lo]), short(&commits[range.hi]));
        let size = size(&range.size, quantity);
        say("", format!("{hi} is {size} than {lo}; it was not found which of {n} did it:"));
        for &commit in range.commits.iter().take(LISTED_MAX) {
            let is_failed = outcome.failed.contains_key(&commit);
            let remark = if is_failed { ", which cannot be built or run" } else { "" };
            say("  ", format!("{}{remark}", name(&commits[commit])));
        }
        let n_more = range.commits.len().saturating_sub(LISTED_MAX);
        if n_more > 0 {
            say("  ", format!("and {n_more} more"));
        }
    }
    if let Some(words) = balance(search, quantity) {
        say("", words);
    }
    all
}

/// Compares the total of the confirmed changes with the difference of the ends, if the reader would have to add.
fn balance(search: &BisectSearch, quantity: QuantityWords) -> Option<String> {
    let outcome = search.outcome();
    let ends = size(&outcome.ends?, quantity);
    let parts = outcome.culprits.iter().map(|it| &it.size);
    let parts: Vec<&Relation> = parts.chain(outcome.unresolved.iter().map(|it| &it.size)).collect();
    match parts.as_slice() {
        [] => None,
        [only] if outcome.unresolved.is_empty() && !search.is_whole(only) => Some(format!(
            "The ends differ by something else: bad is {ends} than good. No other change was found between them."
        )),
        [_] => None,
        several => {
            let together: f64 = several.iter().map(|it| it.ratio).product();
            let together = size_of(together, None, quantity);
            Some(format!("Together that is {together}. Bad is {ends} than good."))
        }
    }
}

/// Builds and time that the search used.
fn cost(search: &BisectSearch) -> String {
    let outcome = search.outcome();
    let builds = match outcome.n_builds as usize {
        0 => "Building took no time".to_owned(),
        n => format!("{} took {}", counted(n, "build"), short_time(outcome.build_s * 1e9)),
    };
    let n_failed = Some(outcome.failed.len()).filter(|n| *n > 0);
    let failed = n_failed.map(|n| format!(", {n} cannot be built or run")).unwrap_or_default();
    format!(
        "{}: {}{failed}. {builds}, measuring {}.",
        counted(search.between().len(), "commit"),
        counted(outcome.n_probes as usize, "probe"),
        short_time(outcome.measure_s * 1e9)
    )
}

/// A culprit in one or two sentences.
fn sentence(commits: &[Commit], culprit: &Culprit, quantity: QuantityWords) -> String {
    let head = &commits[culprit.head];
    let base = if culprit.commits.len() == 1 && head.parents.first() == Some(&culprit.base) {
        format!("its parent {}", short(&commits[culprit.base]))
    } else {
        short(&commits[culprit.base]).to_owned()
    };
    let what = match culprit.commits.as_slice() {
        [_] => name(head),
        several => format!(
            "One of {} commits up to {}, which cannot be built or run one by one,",
            several.len(),
            name(head)
        ),
    };
    let size_built = size(&culprit.size, quantity);
    let over =
        culprit.layout.as_ref().and_then(|layout| Some((layout.verdict, layout.over?, layout.n)));
    match over {
        Some((LayoutVerdict::Layout, over, n)) => format!(
            "{what} is layout: it moved code. It is {size_built} than {base} as built, and {} in the mean of {n} link \
             orders.",
            size(&over, quantity)
        ),
        Some((LayoutVerdict::Source, over, n)) => format!(
            "{what} is {size_built} than {base}, by fresh runs of both, and {} in the mean of {n} link orders.",
            size(&over, quantity)
        ),
        _ => format!("{what} is {size_built} than {base}, by fresh runs of both."),
    }
}

/// What is unknown about a culprit's layout.
fn remark(layout: &LayoutFinding, quantity: QuantityWords) -> Option<String> {
    match (layout.verdict, &layout.over, &layout.why) {
        (LayoutVerdict::Unclear, Some(over), _) => Some(format!(
            "It may be layout: in the mean of {} link orders it is {}. More of them tell more (--layouts).",
            layout.n,
            size(over, quantity)
        )),
        (LayoutVerdict::NotRelinked, _, Some(why)) => {
            let why = shorten(why.lines().next().unwrap_or_default(), 80);
            Some(format!("Other link orders were not measured ({why})."))
        }
        _ => None,
    }
}

/// The last lines. `builds`: the directory of all builds, if this search made some.
pub fn kept(directory: &Path, builds: Option<&Path>) -> String {
    let shown = |path: &Path| one_line(&path.display().to_string());
    let mut out = String::new();
    wrap(&mut out, "", 2, &format!("the records are in {}", shown(directory)));
    if let Some(builds) = builds {
        let quoted = shell_words::quote(&shown(builds)).into_owned();
        let text = "builds are kept for the next search; to remove all that are kept:";
        wrap(&mut out, "", 2, text);
        writeln!(out, "  rm -r {quoted} && git worktree prune").ok();
    }
    out
}

/// The findings of an interrupted search; empty without an answer.
pub fn so_far(search: &BisectSearch, quantity: QuantityWords) -> String {
    let (commits, outcome) = (search.graph().commits(), search.outcome());
    let mut out = String::new();
    for culprit in &outcome.culprits {
        let (head, size) = (name(&commits[culprit.head]), size(&culprit.size, quantity));
        writeln!(out, "so far: {head} is {size}, confirmed").ok();
    }
    if let SearchStep::Probe { lo, hi, n_possible, .. } = search.next_step() {
        let (lo, hi) = (short(&commits[lo]), short(&commits[hi]));
        let n = counted(n_possible, "commit");
        writeln!(out, "so far: a change between {lo} and {hi} is in one of {n}").ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::Better;
    use search::bisection::SearchRules;
    use search::bisection::fixture::relation;

    #[test]
    fn only_times_become_clearer_with_longer_runs() {
        let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
        let mut search = BisectSearch::new(CommitGraph::line(2), 0, 1, rules);
        let new = relation(0.0, 10.0);
        search.take(&Observation::Ends { lo: 0, hi: 1, new, seconds: 1.0 });
        assert_eq!(so_far(&search, QuantityWords::Time), "");
        let words = |quantity| {
            let text = text(&search, quantity);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            words(QuantityWords::Time).contains("Runs that take longer or a quieter machine"),
            "{}",
            words(QuantityWords::Time)
        );
        assert!(words(QuantityWords::Value(Better::Higher)).ends_with(
            "A longer --budget shows smaller differences where fewer than 400 blocks were measured."
        ));
    }

    #[test]
    fn an_interrupted_search_says_what_is_left() {
        let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
        let mut search = BisectSearch::new(CommitGraph::line(5), 0, 4, rules);
        let new = relation(5.0, 1.0);
        search.take(&Observation::Ends { lo: 0, hi: 4, new, seconds: 1.0 });
        let said = "so far: a change between c0 and c4 is in one of 4 commits\n";
        assert_eq!(so_far(&search, QuantityWords::Time), said);
    }

    #[test]
    fn a_failed_build_is_named_by_what_the_compiler_said() {
        let why = "its build \"make\" ended with exit status: 2; the end of what it wrote:\n  | cc -c a.c\n  \
                   | a.c:3:1: error: expected ';'\n  | make: *** [a.o] Error 1";
        assert_eq!(reason(why), "a.c:3:1: error: expected ';'");
        assert_eq!(reason("x\n  | one\n  | two"), "two");
        assert_eq!(reason("it has no times"), "it has no times");
    }
}
