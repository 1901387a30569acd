//! Counts of the runs, in a table and in sentences.

use crate::columns::{shorten, wide};
use crate::table::cells;
use crate::uncertain;
use crate::why::words::{NAME_COLUMNS_MIN, NAME_IN_WORDS, arms};
use measure::profile::breakdown::{Breakdown, FunctionPart};
use measure::profile::saved::FunctionOrigin;
use measure::profile::tallies::Tally;

/// Columns of the table beside the name.
const NUMBER_COLUMNS: usize = 40;
/// Counts in the sentences about one function.
const N_OF_FUNCTION: usize = 2;
/// Ratios nearer to 1 are told as differences.
const RATIO_MIN: f64 = 1.1;
/// Fewer events in a run count as none.
const NONE: f64 = 0.5;

/// A heading, and a row for each count; without counts only the heading.
pub fn table(breakdown: &Breakdown, n_max: usize) -> Vec<Vec<String>> {
    let arms = arms(breakdown, 12);
    let heading = match breakdown.arms.len() {
        1 => cells(&["", "in a run"]),
        _ => cells(&["", &arms[0], &arms[1], "change"]),
    };
    // A sum is redundant if one function does it all.
    let is_sum_of_one = |sum: &Tally| {
        let same = |it: &Tally| it.what == sum.what && it.means == sum.means;
        sum.function.is_none()
            && breakdown.tallies.iter().any(|it| it.function.is_some() && same(it))
    };
    let tallies = breakdown.tallies.iter().filter(|tally| !is_sum_of_one(tally));
    std::iter::once(heading).chain(tallies.take(n_max).map(row)).collect()
}

fn row(tally: &Tally) -> Vec<String> {
    let columns = wide().saturating_sub(NUMBER_COLUMNS).max(2 * NAME_COLUMNS_MIN);
    let of = tally.function.as_deref().unwrap_or("all of the run");
    let name = shorten(&format!("{}: {of}", tally.what), columns);
    let (text, decimals) = uncertain::in_column(tally.estimate, tally.half_width);
    if tally.means.len() < 2 {
        return vec![name, text];
    }
    let mean = |at: usize| uncertain::fixed(tally.means[at], decimals.unwrap_or(0));
    let change = if text.starts_with('-') { text } else { format!("+{text}") };
    vec![name, mean(0), mean(1), change]
}

/// The counts that explain a function in the sentences: its own counts, and for a kernel reason all counts of its kind.
pub fn part_tallies<'a>(breakdown: &'a Breakdown, part: &FunctionPart) -> Vec<&'a Tally> {
    let of_kind = |what: &str| {
        let all = breakdown.tallies.iter().filter(|tally| tally.what == what);
        let in_all = all.clone().find(|tally| tally.function.is_none());
        // The notes on all counts have page faults from more runs.
        let in_all = in_all.filter(|_| what != part.name);
        let own = all.clone().find(|tally| tally.function.is_some());
        // If one function makes all of them, one sentence says it.
        let is_all = |run: &&Tally| own.is_some_and(|own| own.means == run.means);
        in_all.filter(|run| !is_all(run)).into_iter().chain(own).collect()
    };
    match part.origin {
        FunctionOrigin::Entry => match part.name.strip_prefix("system call ") {
            Some(call) => of_kind(&format!("{call} system calls")),
            None => of_kind(&part.name),
        },
        _ => {
            let own = |tally: &&Tally| tally.function.as_ref() == Some(&part.name);
            breakdown.tallies.iter().filter(own).take(N_OF_FUNCTION).collect()
        }
    }
}

/// The function's count with the largest change, if it changes enough to explain anything.
pub fn largest(breakdown: &Breakdown) -> Option<&Tally> {
    let is_large = |tally: &&Tally| {
        let [before, after] = [tally.means[0], tally.means[1]];
        before.max(after) > RATIO_MIN * before.min(after)
    };
    breakdown.tallies.iter().filter(|tally| tally.function.is_some()).find(is_large)
}

/// A count that differs, in a sentence.
pub fn sentence(tally: &Tally) -> String {
    let function = tally.function.as_deref().map(|it| shorten(it, NAME_IN_WORDS));
    let who = function.as_deref().unwrap_or("A run");
    let verb = if tally.what == "page faults" { "takes" } else { "makes" };
    let [before, after] = [0, 1].map(|at| uncertain::trimmed(tally.means[at], 4));
    let what = &tally.what;
    let in_run = if function.is_some() { " a run" } else { "" };
    if tally.means[0] < NONE {
        let one = what.strip_suffix('s').filter(|_| after == "1");
        let what = one.unwrap_or(what);
        return format!("{who} {verb} {after} {what}{in_run}, before {before}.");
    }
    if tally.means[1] == 0.0 {
        return format!("{who} {verb} no {what} any more, before {before}{in_run}.");
    }
    let ratio = tally.means[1] / tally.means[0];
    if (1.0 / RATIO_MIN..RATIO_MIN).contains(&ratio) {
        let word = if ratio > 1.0 { "more" } else { "fewer" };
        let change = uncertain::trimmed(tally.estimate.abs(), 3);
        return format!("{who} {verb} {change} {what} {word}: {after}{in_run}, before {before}.");
    }
    let times = uncertain::significant(ratio, 2);
    format!("{who} {verb} {times} times as many {what}: {after}{in_run}, before {before}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(function: Option<&str>, means: [f64; 2]) -> String {
        sentence(&Tally {
            what: "page faults".into(),
            function: function.map(String::from),
            means: means.to_vec(),
            estimate: means[1] - means[0],
            half_width: 1.0,
            p: Some(0.001),
        })
    }

    #[test]
    fn a_count_is_said_as_a_multiple_or_as_a_difference() {
        assert_eq!(
            said(Some("touch"), [2049.0, 4098.0]),
            "touch takes 2.0 times as many page faults: 4098 a run, before 2049."
        );
        let none = "touch takes no page faults any more, before 7 a run.";
        assert_eq!(said(Some("touch"), [7.0, 0.0]), none);
        assert_eq!(
            said(None, [1000.0, 20.0]),
            "A run takes 0.020 times as many page faults: 20, before 1000."
        );
        assert_eq!(
            said(Some("touch"), [1000.0, 1030.0]),
            "touch takes 30 page faults more: 1030 a run, before 1000."
        );
        assert_eq!(
            said(Some("touch"), [0.0, 512.0]),
            "touch takes 512 page faults a run, before 0."
        );
        assert_eq!(said(None, [0.0, 1.0]), "A run takes 1 page fault, before 0.");
    }
}
