//! The document of `bisect --json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use analysis::verdict::Verdict;
use search::bisection::{BisectSearch, Commit, LayoutFinding, Observation, Relation};

/// The result of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BisectBody {
    /// The old end: the id of its commit.
    good: String,
    /// The new end.
    bad: String,
    /// Commits between them.
    n_commits: usize,
    /// The new end against the old one; null before they were measured.
    ends: Option<Relation>,
    /// The commits that changed the time, confirmed by fresh blocks.
    culprits: Vec<CulpritEntry>,
    /// Changes that no single commit could be named for.
    unresolved: Vec<UnresolvedEntry>,
    /// Commits that cannot be built or run.
    unbuildable: Vec<UnbuildableCommit>,
    /// The commits that were measured between the ends.
    probes: Vec<CommitProbe>,
    /// Builds.
    n_builds: u32,
    /// Time of the builds, s.
    build_s: f64,
    /// Time of the measurements, s.
    measure_s: f64,
}

/// A change that was found and confirmed.
#[derive(Debug, Serialize, JsonSchema)]
struct CulpritEntry {
    /// The commits: one, or one that can be built and those before it that cannot.
    commits: Vec<ListedCommit>,
    /// The commit that it was confirmed against.
    base: String,
    /// The commit that was confirmed.
    head: String,
    /// The size, from fresh blocks.
    size: Relation,
    /// The size over several link orders; null if no other one was measured.
    layout: Option<LayoutFinding>,
}

/// A change without a commit.
#[derive(Debug, Serialize, JsonSchema)]
struct UnresolvedEntry {
    /// The last commit that is like the old end.
    good: String,
    /// The first commit that is like the new end.
    bad: String,
    /// The commits that it is among.
    commits: Vec<ListedCommit>,
    /// The difference of the two.
    size: Relation,
}

/// A commit.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedCommit {
    /// Id of the commit.
    id: String,
    /// The first line of its message.
    subject: String,
}

/// A commit that cannot be built or run.
#[derive(Debug, Serialize, JsonSchema)]
struct UnbuildableCommit {
    /// Id of the commit.
    id: String,
    /// The reason.
    why: String,
}

/// A commit that was measured together with both ends of its range.
#[derive(Debug, Serialize, JsonSchema)]
struct CommitProbe {
    /// Id of the commit.
    id: String,
    /// The commit against the old end.
    of_good: Relation,
    /// The commit against the new end.
    of_bad: Relation,
    /// Time of the measurement, s.
    seconds: f64,
}

impl DocumentBody for BisectBody {
    const NAME: &'static str = "bisect";
}

pub fn document(search: &BisectSearch, observations: &[&Observation]) -> (BisectBody, Conclusion) {
    let (commits, outcome) = (search.graph().commits(), search.outcome());
    let id = |commit: usize| commits[commit].id.clone();
    let listed = |list: &[usize]| {
        let entry = |it: &Commit| ListedCommit { id: it.id.clone(), subject: it.subject.clone() };
        list.iter().map(|&commit| entry(&commits[commit])).collect::<Vec<_>>()
    };
    let culprits = outcome.culprits.iter().map(|it| CulpritEntry {
        commits: listed(&it.commits),
        base: id(it.base),
        head: id(it.head),
        size: it.size,
        layout: it.layout.clone(),
    });
    let unresolved = outcome.unresolved.iter().map(|it| UnresolvedEntry {
        good: id(it.lo),
        bad: id(it.hi),
        commits: listed(&it.commits),
        size: it.size,
    });
    let failed = outcome.failed.iter();
    let failed =
        failed.map(|(&commit, why)| UnbuildableCommit { id: id(commit), why: why.clone() });
    let probes = observations.iter().filter_map(|observation| match observation {
        Observation::Probe { commit, of_old, of_new, seconds } => Some(CommitProbe {
            id: id(*commit),
            of_good: *of_old,
            of_bad: *of_new,
            seconds: *seconds,
        }),
        _ => None,
    });
    let effects = outcome.culprits.iter().map(|it| {
        let name = match it.commits.len() {
            1 => id(it.head),
            n => format!("one of {n} commits up to {}", id(it.head)),
        };
        effect(name, id(it.base), &it.size)
    });
    let verdict = match outcome.culprits.is_empty() {
        true => FinalVerdict::Undecided,
        false => FinalVerdict::Found,
    };
    let conclusion = Conclusion { effects: effects.collect(), ..Conclusion::of(verdict) };
    let body = BisectBody {
        good: id(search.good),
        bad: id(search.bad),
        n_commits: search.between().len(),
        ends: outcome.ends,
        culprits: culprits.collect(),
        unresolved: unresolved.collect(),
        unbuildable: failed.collect(),
        probes: probes.collect(),
        n_builds: outcome.n_builds,
        build_s: outcome.build_s,
        measure_s: outcome.measure_s,
    };
    (body, conclusion)
}

fn effect(name: String, against: String, size: &Relation) -> Effect {
    let verdict = if size.ratio > 1.0 { Verdict::Slower } else { Verdict::Faster };
    Effect {
        name,
        against: Some(against),
        verdict: Some(verdict),
        ratio: Some(size.ratio),
        lo: size.lo,
        hi: size.hi,
        confidence: size.lo.map(|_| 1.0 - size.alpha),
        ..Effect::default()
    }
}
