//! The answer of `bisect` for programs.

use serde_json::{Value, json as object};

use crate::bisection::{BisectSearch, Observation};

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
                "size": it.size,
                "layout": it.layout
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
