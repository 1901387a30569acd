use super::*;

/// Answers the steps of a search among commits with these values. Two commits are told apart if their log ratio exceeds
/// `error`; `lie` may change a probe's answer.
struct Machine<'a> {
    values: &'a [f64],
    error: f64,
    lie: &'a dyn Fn(usize) -> Option<f64>,
}

impl Machine<'_> {
    fn relation(&self, old: f64, new: f64) -> Relation {
        let theta = (new / old).ln();
        Relation {
            ratio: theta.exp(),
            lo: Some((theta - self.error).exp()),
            hi: Some((theta + self.error).exp()),
            alpha: 1e-4,
            is_different: theta.abs() > self.error,
            is_same: theta.abs() + self.error <= 0.003,
        }
    }

    /// The steps and the result of the whole search.
    fn search(&self) -> (Vec<SearchStep>, SearchOutcome) {
        let last = self.values.len() - 1;
        let graph = CommitGraph::line(self.values.len());
        let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
        let mut search = BisectSearch::new(graph, 0, last, rules);
        let mut steps = Vec::new();
        loop {
            let step = search.next_step();
            let Some((compared, _)) = step.compared() else {
                return (steps, search.outcome().clone());
            };
            let lie = match step {
                SearchStep::Probe { commit, .. } => (self.lie)(commit),
                _ => None,
            };
            let reference = lie.unwrap_or(self.values[compared[0]]);
            let relation = |&commit: &usize| self.relation(reference, self.values[commit]);
            let found: Vec<Relation> = compared[1..].iter().map(relation).collect();
            search.take(&step.observed(&found, 1.0));
            steps.push(step);
            assert!(steps.len() < 300, "it does not end: {steps:?}");
        }
    }
}

fn heads(probed: &SearchOutcome) -> Vec<usize> {
    probed.culprits.iter().map(|culprit| culprit.head).collect()
}

/// A value without noise differs a little between any two commits. Beside a change of 5 % that is none.
#[test]
fn what_rounding_leaves_is_not_searched() {
    let values: Vec<f64> = (0..40)
        .map(|n| if n < 23 { 100.0 } else { 105.0 } + f64::from(n * 7 % 11) / 100.0)
        .collect();
    let (steps, found) = Machine { values: &values, error: 0.0, lie: &|_| None }.search();
    assert_eq!(heads(&found), [23], "{found:?}");
    let is_ends = |step: &&SearchStep| matches!(step, SearchStep::Ends { .. });
    assert_eq!(steps.iter().filter(is_ends).count(), 1, "{steps:?}");
    assert!(found.unresolved.is_empty() && steps.len() <= 9, "{steps:?}");
}

/// Two wrong answers lead to a commit without a change. The confirmation shows it, and both sides are searched.
#[test]
fn a_refuted_commit_opens_both_sides() {
    for (change, liars, told) in [(23, [9, 10], [100.0, 105.0]), (23, [30, 31], [100.0, 105.0])] {
        let values: Vec<f64> = (0..40).map(|n| if n < change { 100.0 } else { 105.0 }).collect();
        let lie = |commit: usize| match commit {
            commit if commit <= liars[0] => Some(told[0]),
            commit if commit >= liars[1] => Some(told[1]),
            _ => None,
        };
        // All probes lie at first: they agree that the change is between the two.
        let n_probes = std::cell::Cell::new(0);
        let first = |commit: usize| {
            n_probes.set(n_probes.get() + 1);
            if n_probes.get() <= 6 { lie(commit) } else { None }
        };
        let (steps, found) = Machine { values: &values, error: 0.001, lie: &first }.search();
        assert_eq!(heads(&found), [change], "{steps:?}");
        let is_confirmed = |step: &SearchStep| matches!(step, SearchStep::Confirm { head, .. } if *head == liars[1]);
        assert!(steps.iter().any(is_confirmed), "the lie has to be believed: {steps:?}");
    }
}

/// 200 commits of 0.025 % each: no commit did it, and the answer is the whole range.
#[test]
fn a_creeping_change_is_a_range() {
    let values: Vec<f64> = (0..=200).map(|n| 100.0 * 1.00025_f64.powi(n)).collect();
    let (_, found) = Machine { values: &values, error: 0.004, lie: &|_| None }.search();
    assert!(found.culprits.is_empty(), "{found:?}");
    let left: BTreeSet<usize> = found.unresolved.iter().flat_map(|it| it.commits.clone()).collect();
    assert_eq!(left.len(), 200, "{found:?}");
}

/// A step of 3 % in a range that creeps by 2 %: probes before it look like the new end.
#[test]
fn a_step_is_found_in_a_range_that_creeps() {
    for change in [20, 77, 140, 190] {
        let values: Vec<f64> = (0..=200)
            .map(|n| 1.0001_f64.powi(n) * if n < change { 100.0 } else { 103.0 })
            .collect();
        let (steps, found) = Machine { values: &values, error: 0.002, lie: &|_| None }.search();
        assert!(heads(&found).contains(&(change as usize)), "{change}: {found:?} {steps:?}");
    }
}

/// 3 % (1.4 to 4.6 %) may be all of 2.9 or 2.1 %, but not of 1.5 %: a second change of -1.5 % would be missed.
#[test]
fn a_wide_interval_does_not_hide_a_second_change() {
    let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
    let search = BisectSearch::new(CommitGraph::line(2), 0, 1, rules);
    let of = |percent: f64, error: f64| {
        Machine { values: &[], error, lie: &|_| None }.relation(100.0, 100.0 + percent)
    };
    let change = of(3.0, 0.016);
    assert!(search.rules.explains(&change, &of(2.9, 0.001)));
    assert!(search.rules.explains(&change, &of(2.3, 0.001)));
    assert!(!search.rules.explains(&change, &of(1.5, 0.002)));
    // Within the margin, both are the same.
    assert!(search.rules.explains(&of(0.5, 0.0001), &of(0.45, 0.0001)));
}

#[test]
fn a_failed_build_counts_and_a_found_one_does_not() {
    let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
    let mut search = BisectSearch::new(CommitGraph::line(9), 0, 8, rules);
    search.take(&Observation::Built { commit: 0, seconds: 0.5 });
    search.take(&Observation::Built { commit: 8, seconds: 0.0 });
    search.take(&Observation::Failed { commit: 4, why: "error".into(), seconds: 1.5 });
    // Searches of older versions have no time there.
    let older = r#"{"what": "failed", "commit": 5, "why": "error"}"#;
    search.take(&serde_json::from_str(older).unwrap());
    let found = search.outcome();
    assert_eq!((found.n_builds, found.build_s, found.failed.len()), (2, 2.0, 2));
}
