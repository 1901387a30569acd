//! The answer of `why` in sentences.

use crate::columns::one_line;
use crate::uncertain;
use crate::units::{DisplayUnit, counted};
use crate::why::counts;
use crate::why::words::{
    ARM_IN_WORDS, NAME_IN_WORDS, arms, interval, is_python, label, located, name,
};
use measure::profile::breakdown::{Breakdown, FunctionPart, PartKind, TimePart};
use measure::profile::saved::FunctionOrigin;
use model::values::ValueUnit;

/// Most functions in sentences; the table has all.
const N_IN_WORDS: usize = 3;

/// Part of the largest change that a called function needs to be named for it.
const MOST_OF_CHANGE: f64 = 0.8;

/// One to three sentences.
pub fn answer(breakdown: &Breakdown) -> Vec<String> {
    let arms = arms(breakdown, ARM_IN_WORDS);
    let [before, after] = &arms[..] else {
        return vec![format!(
            "{}: means of {}.",
            one_line(&breakdown.arms[0]),
            counted(breakdown.n_blocks, "run")
        )];
    };
    let clean = &breakdown.clean;
    let whole_ns = clean.means_ns[0];
    let pct = |ns: f64| 100.0 * ns / whole_ns;
    let unit = DisplayUnit::choose(ValueUnit::Time, None, clean.means_ns.iter().copied());
    let time = |ns: f64| unit.label(&unit.number(ns, None));
    let times = format!("{} against {}", time(clean.means_ns[1]), time(whole_ns));
    let mut sentences = Vec::new();
    let change = clean.estimate_ns;
    sentences.push(if clean.is_different() {
        let [value, lo, hi] = interval(pct(change.abs()), pct(clean.half_width_ns));
        let word = if change > 0.0 { "slower" } else { "faster" };
        format!("On average {after} is {value} % {word} than {before} ({lo} to {hi} %): {times}.")
    } else {
        let [_, lo, hi] = interval(pct(change), pct(clean.half_width_ns));
        format!(
            "On average {after} and {before} differ by less than the noise: {times}, a change of {lo} to {hi} %."
        )
    });
    let explained = |part: &FunctionPart| {
        let time = &part.time;
        let [value, lo, hi] = interval(pct(time.estimate_ns.abs()), pct(time.half_width_ns));
        let word = if time.estimate_ns > 0.0 { "more" } else { "less" };
        // Other kernel reasons are one system call each.
        let is_plural = part.origin == FunctionOrigin::Entry
            && ["page faults", "interrupts"].contains(&&*part.name);
        let take = if is_plural { "take" } else { "takes" };
        format!("{} {take} {value} points {word} ({lo} to {hi})", located(part))
    };
    let all = in_words(breakdown);
    if all.is_empty() {
        sentences.push(match python(breakdown).or(breakdown.with_callees.first()) {
            Some(part) => format!("With what it calls, {}.", explained(part)),
            None => {
                format!("None of {} functions differs beyond the noise.", breakdown.n_functions)
            }
        });
        sentences.extend(other_counts(breakdown, &sentences));
        return sentences;
    }
    sentences
        .extend(python(breakdown).map(|part| format!("With what it calls, {}.", explained(part))));
    let named = &all[..all.len().min(N_IN_WORDS)];
    let text: Vec<String> = named.iter().map(|part| explained(part)).collect();
    sentences.push(format!("{}.", text.join("; ")));
    for reason in named.iter().flat_map(|part| reasons(breakdown, part)) {
        if !sentences.contains(&reason) {
            sentences.push(reason);
        }
    }
    sentences.extend(other_counts(breakdown, &sentences));
    let n_more = all.len() - named.len();
    let is_own = |part: &&TimePart| part.is_different() && part.kind != PartKind::Stalled;
    let parts: Vec<&TimePart> = breakdown.parts.iter().filter(is_own).collect();
    if n_more > 0 {
        sentences.push(format!("{n_more} more functions differ; they are in the table."));
    }
    if parts.is_empty() {
        sentences.push("The rest is not distinguishable from noise.".into());
    } else {
        let words: Vec<&str> = parts.iter().map(|part| label(part.kind, breakdown)).collect();
        sentences.push(format!("Beside these, there is a difference in: {}.", words.join(", ")));
    }
    sentences
}

/// The Python function with most of the change, if the functions that differ themselves are the interpreter's. Of
/// functions that call each other, the one with the least time.
fn python(breakdown: &Breakdown) -> Option<&FunctionPart> {
    let change_ns = |part: &&FunctionPart| part.time.estimate_ns.abs();
    let all = || breakdown.with_callees.iter().filter(|part| is_python(part));
    let most_ns = all().map(|part| change_ns(&part)).fold(0.0, f64::max);
    let has_most = |part: &&FunctionPart| change_ns(part) >= MOST_OF_CHANGE * most_ns;
    let time_ns = |part: &FunctionPart| part.time.means_ns.iter().sum::<f64>();
    all().filter(has_most).min_by(|a, b| time_ns(a).total_cmp(&time_ns(b)))
}

/// The subjects of the sentences, the largest change first: functions, and instead of the kernel's functions the
/// reasons why they run, if these differ.
fn in_words(breakdown: &Breakdown) -> Vec<&FunctionPart> {
    let entries = breakdown.with_callees.iter().filter(|part| part.origin == FunctionOrigin::Entry);
    let entries: Vec<&FunctionPart> = entries.collect();
    let is_said =
        |part: &&FunctionPart| entries.is_empty() || part.origin != FunctionOrigin::Kernel;
    let mut all: Vec<&FunctionPart> = breakdown.functions.iter().filter(is_said).collect();
    all.extend(&entries);
    all.sort_by(|a, b| b.time.estimate_ns.abs().total_cmp(&a.time.estimate_ns.abs()));
    all
}

/// Further facts about a function that differs.
fn reasons(breakdown: &Breakdown, part: &FunctionPart) -> Vec<String> {
    let name = name(part, NAME_IN_WORDS);
    let arms = arms(breakdown, ARM_IN_WORDS);
    let lacks = part.missing_in.and_then(|arm| arms.get(arm));
    let lacks = lacks.map(|arm| format!("{arm} has no function {name}."));
    let size = match part.code_bytes.as_slice() {
        &[before, after] if before != after && before.min(after) > 0 => {
            let word = if after > before { "larger" } else { "smaller" };
            let change = after.abs_diff(before);
            Some(format!("The code of {name} is {change} bytes {word}: {after}, before {before}."))
        }
        _ => None,
    };
    let count = breakdown.counts.iter().find(|count| count.is_different && count.name == part.name);
    let count = count.map(|count| {
        let number = |at: usize| uncertain::significant(count.means[at], 4);
        format!("A run has {} {}, before {}.", number(1), count.name, number(0))
    });
    let tallies = counts::part_tallies(breakdown, part).into_iter().map(counts::sentence);
    lacks.into_iter().chain(size).chain(count).chain(tallies).collect()
}

/// The count with the largest change, if the whole differs and no sentence has a function's count.
fn other_counts(breakdown: &Breakdown, sentences: &[String]) -> Option<String> {
    let is_said = breakdown.tallies.iter().any(|it| sentences.contains(&counts::sentence(it)));
    let largest = counts::largest(breakdown).filter(|_| breakdown.clean.is_different() && !is_said);
    largest.map(counts::sentence)
}
