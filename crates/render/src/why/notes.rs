//! Notes on the answer of `why`.

use std::collections::BTreeSet;

use crate::columns::{one_line, shorten};
use crate::names::first_of;
use crate::uncertain;
use crate::units::{self, DisplayUnit};
use crate::why::words::{ARM_IN_WORDS, NAME_IN_WORDS, arms, interval};
use measure::profile::breakdown::{Breakdown, CountPart, FunctionPart, PartKind, TimePart};
use measure::profile::matching::Guess;
use measure::profile::saved::FunctionOrigin;
use model::values::ValueUnit;

/// Largest part of the CPU time that may be missing from the samples without a note.
const UNSAMPLED_SHARE: f64 = 0.2;
/// Names of functions in a note.
const NAMES_MAX: usize = 4;

/// The notes below the tables.
pub fn notes(breakdown: &Breakdown) -> Vec<String> {
    let level = uncertain::significant(100.0 * (1.0 - breakdown.alpha), 3);
    let level = level.trim_end_matches('0').trim_end_matches('.').to_owned();
    let blocks = match breakdown.n_measured_blocks {
        n if n == breakdown.n_blocks => units::counted(n, "block"),
        n => format!(
            "{} of {n} blocks (the others measure what samples cost, or count)",
            breakdown.n_blocks
        ),
    };
    let mut notes = vec![format!(
        "Times are means of a run in {blocks}; all intervals together hold at {level} %."
    )];
    let period = DisplayUnit::for_largest(ValueUnit::Time, breakdown.period_ns as f64);
    let period = period.label(&uncertain::trimmed(breakdown.period_ns as f64 / period.size, 3));
    let cost = match breakdown.cost {
        Some([cost, half_width]) => {
            let [_, lo, hi] = interval(100.0 * cost, 100.0 * half_width);
            let range = if cost > half_width { format!("{lo} to") } else { "at most".into() };
            format!("they cost {range} {hi} % of the CPU time")
        }
        None => "there are too few blocks to say what they cost".into(),
    };
    notes.push(format!("Samples: one every {period} of CPU time on average; {cost}."));
    notes.extend(counted(breakdown));
    if let Some(ns) = breakdown.visible_ns {
        let pct = uncertain::significant(100.0 * ns / breakdown.clean.means_ns[0], 2);
        notes.push(format!(
            "A function that hardly ran before is visible from {pct} % of the time on; one that ran before needs more."
        ));
    }
    if breakdown.arms.len() > 1 {
        let old = &arms(breakdown, ARM_IN_WORDS)[0];
        notes.push(format!("A point is one per cent of the time of {old} without other programs."));
    }
    notes.extend([0, 1].into_iter().filter_map(|arm| unseen_callers(breakdown, arm)));
    notes.extend(without_symbols(breakdown));
    notes.extend(breakdown.guesses.iter().map(|guess| guessed(breakdown, guess)));
    // The table of counts has them of other blocks.
    let is_in_table = |name: &str| breakdown.tallies.iter().any(|it| it.what == name);
    let changed = breakdown.counts.iter().filter(|it| it.is_different && !is_in_table(it.name));
    notes.extend(changed.map(changed_count));
    let unsampled = breakdown.parts.iter().find(|part| part.kind == PartKind::NotSampled);
    let is_large =
        |part: &&TimePart| part.means_ns[0] > UNSAMPLED_SHARE * breakdown.cpu.means_ns[0];
    if breakdown.has_kernel && unsampled.filter(is_large).is_some() {
        notes.push(
            "Much of the CPU time is not sampled: processes that a command starts are sampled from the first period on, and \
             many were shorter. A higher --rate samples more of them."
                .into(),
        );
    }
    if !breakdown.has_kernel {
        notes.push(
            "The kernel was not sampled: set kernel.perf_event_paranoid to 1 or lower, or run it as root.".into(),
        );
    }
    if !breakdown.has_chains {
        notes.push(
            "Call chains are cut, so times with callees are unknown: code without call frame information needs \
             -fno-omit-frame-pointer, and deep calls need a larger --stack-kib."
                .into(),
        );
    }
    if breakdown.n_lost_blocks > 0 {
        notes.push(format!(
            "Left out because samples were lost: {}; a lower --rate loses fewer.",
            units::counted(breakdown.n_lost_blocks, "block")
        ));
    }
    notes
}

/// A note on callers that no sample of this arm shows, if their time in the other arm exceeds the whole change: both
/// arms run what they call.
fn unseen_callers(breakdown: &Breakdown, arm: usize) -> Option<String> {
    breakdown.arms.get(1)?;
    let change = &breakdown.clean;
    let most_ns = change.estimate_ns.abs() + change.half_width_ns;
    let is_unseen = |part: &&FunctionPart| {
        let time = &part.time;
        time.means_ns[arm] == 0.0 && time.estimate_ns.abs() - time.half_width_ns > most_ns
    };
    let names: Vec<&str> =
        breakdown.with_callees.iter().filter(is_unseen).map(|part| &*part.name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "No sample of {} shows a call by {}. What is called runs there too, from elsewhere or from a frame that cannot be \
             seen, so with what they call these are more than what has changed.",
            arms(breakdown, ARM_IN_WORDS)[arm],
            listed(&names)
        )
    })
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names = names.iter().map(|it| shorten(it.as_ref(), NAME_IN_WORDS));
    first_of(&names.collect::<Vec<_>>(), NAMES_MAX)
}

/// A note on files without function names.
fn without_symbols(breakdown: &Breakdown) -> Option<String> {
    let all = breakdown.functions.iter().chain(&breakdown.with_callees);
    let unnamed =
        all.filter(|part| part.origin == FunctionOrigin::Unnamed && !part.file.is_empty());
    let files: BTreeSet<String> = unnamed.map(|part| one_line(&part.file)).collect();
    let files = files.into_iter().collect::<Vec<_>>();
    let has = if files.len() == 1 { "has" } else { "have" };
    let text = format!(
        "{} {has} no symbols for some functions: build with -g, or install the debug package.",
        files.join(", ")
    );
    (!files.is_empty()).then_some(text)
}

/// How the shown counts were made.
fn counted(breakdown: &Breakdown) -> Option<String> {
    (!breakdown.tallies.is_empty()).then(|| {
        format!(
            "Counts: of {} more blocks, in which each event was recorded; their times are not used.",
            breakdown.n_counted_blocks
        )
    })
}

fn changed_count(count: &CountPart) -> String {
    let number = |at: usize| uncertain::significant(count.means[at], 4);
    format!("Also different: {} {}, before {}.", number(1), count.name, number(0))
}

fn guessed(breakdown: &Breakdown, guess: &Guess) -> String {
    let of = |name: &str| shorten(name, NAME_IN_WORDS);
    let arms = arms(breakdown, ARM_IN_WORDS);
    match guess {
        Guess::Together { place, old, new } => format!(
            "{} count as one, because nothing tells which of them are the same: {} has {}, {} has {}.",
            match place {
                Some(place) => format!("Functions of {}", of(place)),
                None => "Other functions".into(),
            },
            arms[0],
            listed(old),
            arms[1],
            listed(new)
        ),
        Guess::Renamed { old, new, caller } => format!(
            "A guess: {} and {} are one function, because each is in one program only, and {} calls both.",
            of(old),
            of(new),
            of(caller)
        ),
        Guess::Part { function, arm, caller } => format!(
            "A guess: only {} has a function {}; in the other program its caller {} has its time, so both count as one.",
            arms[*arm],
            of(function),
            of(caller)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::profile::breakdown::breakdown;
    use measure::profile::breakdown::fixture::made_up;
    use measure::profile::tallies::Tally;

    #[test]
    fn all_measured_blocks_are_accounted_for_and_a_count_is_given_once() {
        let mut found = breakdown(&made_up(80, 8.0)).unwrap();
        let first = |found: &Breakdown| notes(found).swap_remove(0);
        assert!(
            first(&found).starts_with("Times are means of a run in 70 of 80 blocks (the others ")
        );
        found.n_measured_blocks = 70;
        assert!(first(&found).starts_with("Times are means of a run in 70 blocks; all "));
        let also =
            |found: &Breakdown| notes(found).iter().any(|it| it.starts_with("Also different"));
        assert!(also(&found));
        let what = found.counts.iter().find(|it| it.is_different).unwrap().name.to_owned();
        let (means, p) = (vec![1.0, 2.0], Some(0.001));
        found.tallies =
            vec![Tally { what, function: None, means, estimate: 1.0, half_width: 0.1, p }];
        assert!(!also(&found), "the table has it");
        let cost = |found: &Breakdown| notes(found).swap_remove(1);
        found.cost = Some([0.02, 0.003]);
        assert!(cost(&found).contains("they cost 1.70 to 2.30 %"), "{}", cost(&found));
        found.cost = Some([0.02, 0.03]);
        assert!(cost(&found).contains("they cost at most 5"), "{}", cost(&found));
    }

    /// The table has the points of the sentences. Only rows of the whole have points.
    #[test]
    fn the_table_has_points_of_the_first_time() {
        let found = breakdown(&made_up(80, 8.0)).unwrap();
        let text = crate::why::text(&found);
        let row =
            |name: &str| text.lines().rfind(|line| line.starts_with(name)).unwrap().to_owned();
        let points = row("work").split_whitespace().last().unwrap().to_owned();
        assert!(
            text.contains(&format!("{} points more", points.trim_start_matches('+'))),
            "{text}"
        );
        let cells = |name: &str| row(name).split("  ").filter(|it| !it.is_empty()).count();
        assert_eq!(cells("= wall time") + 1, cells("= time without"), "{text}");
        assert!(text.starts_with("On average "), "{text}");
    }

    #[test]
    fn programs_that_differ_in_the_middle_have_two_names() {
        let mut found = breakdown(&made_up(80, 8.0)).unwrap();
        let path = |version: &str| {
            format!("/home/somebody/.pyenv/versions/{version}/bin/python3 -m pyperformance")
        };
        found.arms = ["3.11.7", "3.12.1"].map(path).into();
        let text = crate::why::text(&found);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for name in ["…3.11.7/bin/python3 -m pyperformance", "…3.12.1/bin/python3 -m pyperformance"]
        {
            assert!(text.contains(&format!(" {name} ")), "{text}");
        }
        assert!(text.contains("…3.11.7/…nce …3.12.1/…nce change"), "{text}");
    }

    #[test]
    fn a_caller_that_only_one_program_shows_is_noted_if_it_is_more_than_the_change() {
        let mut found = breakdown(&made_up(80, 8.0)).unwrap();
        let mut caller = found.functions[0].clone();
        caller.name = "func1".into();
        let mut with = |means_ns: [f64; 2]| {
            caller.time.means_ns = means_ns.to_vec();
            caller.time.estimate_ns = means_ns[1] - means_ns[0];
            found.with_callees = vec![caller.clone()];
            notes(&found).into_iter().find(|note| note.contains("func1"))
        };
        let note = with([0.0, 9e9]).unwrap();
        assert!(note.starts_with("No sample of old shows a call by func1. "), "{note}");
        assert!(with([9e9, 0.0]).unwrap().starts_with("No sample of new shows"));
        // Work in only one program explains the change; a caller in both is compared.
        assert_eq!(with([0.0, 100.0]), None);
        assert_eq!(with([1.0, 9e9]), None);
    }
}
