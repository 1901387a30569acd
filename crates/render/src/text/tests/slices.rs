//! The brief summary of slices and of lost time.

use super::*;
use analysis::{SliceSummary, StallSummary};

/// Half of the slices took less than the mean of any process: a few slow ones are in each.
#[test]
fn a_time_above_the_median_of_its_slices_says_why() {
    let record = record(&["only"]);
    let told = |median: f64| {
        let mut analysis = analysis(&record, &[5.0e6]);
        let arm = &mut analysis.arms[0];
        arm.sliced = Some(SliceSummary { n_slices: 48, loops: 1, ..SliceSummary::default() });
        arm.times.as_mut().unwrap().median.value = median;
        let text = brief(&record, &analysis).replace('\n', " ");
        let is_of_all = "the time above is of whole processes, slow values included";
        [is_of_all, "when nothing disturbs it"].map(|words| text.contains(words))
    };
    assert_eq!([4.9e6, 5.1e6].map(told), [[true, false], [false, true]]);
}

#[test]
fn unclear_time_may_have_gone_to_other_programs_too() {
    let record = record(&["only"]);
    let told = |unclear_mean_ns: f64| {
        let mut analysis = analysis(&record, &[5.0e6]);
        let arm = &mut analysis.arms[0];
        let [wall_mean_ns, stalled_mean_ns] = [1e7, 8e5];
        arm.stalls =
            Some(StallSummary { wall_mean_ns, stalled_mean_ns, unclear_mean_ns, n_without: 0 });
        arm.clean = arm.times.clone();
        brief(&record, &analysis).replace('\n', " ").contains("took at least 8.0 % of the time")
    };
    assert_eq!([1e3, 3e6].map(told), [false, true]);
}
