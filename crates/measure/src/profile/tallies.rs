//! Page faults and system calls of the runs, by function and in all, and which of these counts differ.

use std::collections::BTreeMap;

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use stats::max_t::PairedDifferences;

use crate::profile::columns::{ArmColumn, BlockRuns, SAMPLES_MIN, estimates};

/// Re-labellings of the test, and signs of the intervals.
pub const N_LABELINGS: usize = 9999;
/// Smallest change that is listed, as a share of all events of its kind.
const SHARE_MIN: f64 = 0.01;

/// How often a run does something.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tally {
    /// The counted thing, such as "page faults" or "read system calls".
    pub what: String,
    /// The function that does it; `None` for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Mean of each arm.
    pub means: Vec<f64>,
    /// Second arm minus first; with one arm, its mean.
    pub estimate: f64,
    /// Half of the width of the estimate's interval. All intervals of counts hold together.
    pub half_width: f64,
    /// p-value, adjusted for the number of counts; `None` with one arm.
    pub p: Option<f64>,
}

/// The counts that differ, the largest change (as a share of all events of its kind) first; with one arm all, the most
/// frequent first. Empty with fewer than `blocks_min` blocks. Errors: see the test and the intervals.
pub fn tallies(blocks: &BlockRuns<'_>, blocks_min: usize) -> Result<Vec<Tally>> {
    let profile = blocks.profile;
    let n_arms = profile.arms.len();
    if blocks.counted.len() < blocks_min {
        return Ok(Vec::new());
    }
    let counts = counts(blocks);
    let sum = |column: &ArmColumn| column.iter().flatten().sum::<f64>();
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let counts: Vec<(Place, ArmColumn)> =
        counts.into_iter().filter(|(_, column)| sum(column) >= SAMPLES_MIN as f64).collect();
    if counts.is_empty() {
        return Ok(Vec::new());
    }
    let all = PairedDifferences::new(counts.iter().map(|(_, it)| estimates(it)).collect())?;
    let p = (n_arms > 1).then(|| all.adjusted_p(N_LABELINGS, profile.seed));
    let intervals = all.intervals(profile.alpha, N_LABELINGS, profile.seed)?;
    let of_kind: BTreeMap<u32, f64> = counts
        .iter()
        .filter(|((_, function), _)| function.is_none())
        .map(|((what, _), column)| (*what, column.iter().map(mean).fold(0.0, f64::max)))
        .collect();
    let name = |function: u32| profile.functions[function as usize].name.clone();
    let mut tallies: Vec<(f64, Tally)> = Vec::new();
    for (at, ((what, function), column)) in counts.iter().enumerate() {
        let p = p.as_ref().map(|p| p[at]);
        let share = intervals.means[at].abs() / of_kind.get(what).copied().unwrap_or(f64::INFINITY);
        if p.is_some_and(|p| p > profile.alpha) || share < SHARE_MIN {
            continue;
        }
        let tally = Tally {
            what: name(*what),
            function: function.map(name),
            means: column.iter().map(mean).collect(),
            estimate: intervals.means[at],
            half_width: intervals.half_widths[at],
            p,
        };
        tallies.push((share, tally));
    }
    tallies.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(tallies.into_iter().map(|(_, tally)| tally).collect())
}

/// The counted thing and the function; `None` for all functions.
type Place = (u32, Option<u32>);

fn counts(blocks: &BlockRuns<'_>) -> BTreeMap<Place, ArmColumn> {
    let profile = blocks.profile;
    let mut counts: BTreeMap<Place, ArmColumn> = BTreeMap::new();
    let nothing = vec![vec![0.0; blocks.counted.len()]; profile.arms.len()];
    for (row, runs) in blocks.counted.iter().enumerate() {
        for (arm, run) in runs.iter().enumerate() {
            for &(stack, n) in run.events.iter().flat_map(|events| &events.chains) {
                let chain = &profile.stacks[stack as usize];
                let Some((&what, callers)) = chain.split_last() else { continue };
                let in_all = [Some((what, None)), callers.last().map(|&it| (what, Some(it)))];
                for place in in_all.into_iter().flatten() {
                    counts.entry(place).or_insert_with(|| nothing.clone())[arm][row] += n as f64;
                }
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;
    use crate::profile::saved::{CountedEvents, FunctionOrigin, Profile, ProfiledFunction};

    /// `work` has 300 page faults, and `more` more in the second program; `rest` has 700 or 701 by chance. A function
    /// of the start has one more in the second.
    fn with_faults(more: u64) -> Profile {
        let mut profile = made_up(80, 0.0);
        let faults = profile.functions.len() as u32;
        for (name, origin) in
            [("page faults", FunctionOrigin::Event), ("start", FunctionOrigin::User)]
        {
            profile.functions.push(ProfiledFunction::new(name.into(), "a", origin));
        }
        let first = profile.stacks.len() as u32;
        profile.stacks.extend([vec![0, 1, faults], vec![0, 2, faults], vec![faults + 1, faults]]);
        for run in profile.runs.iter_mut().filter(|run| run.block % 8 == 3) {
            (run.period_ns, run.samples) = (0, Vec::new());
            let arm = u64::from(run.arm);
            let chance = u64::from(run.block / 8 % 2) ^ arm;
            let chains =
                vec![(first, 300 + more * arm), (first + 1, 700 + chance), (first + 2, 20 + arm)];
            run.events = Some(CountedEvents { n_lost: 0, chains });
        }
        profile
    }

    fn said(profile: &Profile) -> Vec<(Option<String>, f64)> {
        let found = tallies(&BlockRuns::of(profile), 8).unwrap();
        assert!(
            found
                .iter()
                .all(|it| it.what == "page faults" && it.estimate == it.means[1] - it.means[0])
        );
        found.into_iter().map(|it| (it.function, it.estimate)).collect()
    }

    #[test]
    fn the_function_with_more_page_faults_is_named() {
        assert_eq!(said(&with_faults(300)), [(None, 301.0), (Some("work".into()), 300.0)]);
        // One more in a thousand is beyond chance, but does not matter.
        assert_eq!(said(&with_faults(0)), []);
        // Counted runs are not sampled, and do not show the cost of samples.
        let profile = with_faults(0);
        let blocks = BlockRuns::of(&profile);
        let n = [blocks.sampled.len(), blocks.unsampled.len(), blocks.counted.len()];
        assert_eq!(n, [60, 10, 10]);
    }

    #[test]
    fn runs_with_lost_events_are_left_out() {
        let mut profile = with_faults(300);
        let counted = profile.runs.iter_mut().filter_map(|run| run.events.as_mut());
        counted.take(6).for_each(|events| events.n_lost = 1);
        assert_eq!(BlockRuns::of(&profile).counted.len(), 7);
        // With seven blocks, no p-value is below one percent.
        assert_eq!(said(&profile), []);
    }

    #[test]
    fn one_program_has_all_its_counts() {
        let mut profile = with_faults(0);
        profile.arms.pop();
        profile.runs.retain(|run| run.arm == 0);
        let found = tallies(&BlockRuns::of(&profile), 8).unwrap();
        let names: Vec<Option<&str>> = found.iter().map(|it| it.function.as_deref()).collect();
        assert_eq!(names, [None, Some("rest"), Some("work"), Some("start")]);
        assert!(found.iter().all(|it| it.p.is_none()));
    }
}
