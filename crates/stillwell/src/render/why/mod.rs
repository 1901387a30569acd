//! Output of `why`: the answer in sentences, a table of the parts, notes. [`page`] is the same for a browser, with a flame
//! graph; [`firefox`] is a file for the Firefox Profiler.

pub mod firefox;
pub mod page;

use std::fmt::Write as _;
use std::path::Path;

use crate::profile::breakdown::{Breakdown, CountPart, FunctionPart, PartKind, TimePart};
use crate::profile::matching::Guess;
use crate::profile::saved::FunctionOrigin;
use crate::render::columns::{one_line, shorten, wide, wrap};
use crate::render::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::render::document::DocumentBody;
use crate::render::table::{cells, plain};
use crate::render::uncertain;
use crate::render::units::{DisplayUnit, UnitKind};
use crate::verdict::Verdict;

/// Columns of a table beside the name.
const NUMBER_COLUMNS: usize = 52;
/// Fewest columns of a name.
const NAME_COLUMNS_MIN: usize = 20;
/// Functions in sentences; the table has all.
const N_IN_WORDS: usize = 3;
/// Columns of names in sentences.
const NAME_IN_WORDS: usize = 60;
const ARM_IN_WORDS: usize = 40;
/// Part of the CPU time that must not be missing from the samples.
const UNSAMPLED_SHARE: f64 = 0.2;
/// Functions of a plain profile.
const N_PROFILE_ROWS: usize = 25;

/// The whole answer.
pub fn text(found: &Breakdown) -> String {
    let mut out = String::new();
    for sentence in answer(found) {
        wrap(&mut out, "", 0, &sentence);
    }
    out.push('\n');
    if found.arms.len() > 1 {
        out += &plain(differences(found), &[1, 2, 3, 4]);
        if !found.with_callees.is_empty() {
            out.push_str("\nwith what they call:\n");
            out += &plain(with_callees(found), &[1, 2, 3, 4]);
        }
    } else {
        out += &plain(times(found), &[1, 2]);
        let n_hidden = found.functions.len().saturating_sub(N_PROFILE_ROWS);
        if n_hidden > 0 {
            writeln!(out, "{n_hidden} smaller functions are left out; --json has them").ok();
        }
    }
    out.push('\n');
    for note in notes(found) {
        wrap(&mut out, "", 2, &note);
    }
    out
}

impl DocumentBody for Breakdown {
    const NAME: &'static str = "why";
}

/// The conclusion for programs: the whole difference, then the functions that it is made of.
pub fn conclusion(found: &Breakdown) -> Conclusion {
    let [Some(before), Some(after)] = [found.arms.first(), found.arms.get(1)] else {
        return Conclusion::of(FinalVerdict::Measured);
    };
    let clean = &found.clean;
    let verdict = match clean.estimate_ns > 0.0 {
        _ if !clean.is_different() => FinalVerdict::Undecided,
        true => FinalVerdict::Slower,
        false => FinalVerdict::Faster,
    };
    let effect = |name: &str, verdict: Option<Verdict>, part: &TimePart| {
        // A share of the reference's whole time, so that the functions' add up to the whole.
        let ratio = |ns: f64| 1.0 + ns / clean.means_ns[0];
        let (change_ns, half_ns) = (part.estimate_ns, part.half_width_ns);
        Effect {
            name: name.to_owned(),
            against: Some(before.clone()),
            verdict,
            ratio: Some(ratio(change_ns)),
            lo: Some(ratio(change_ns - half_ns)),
            hi: Some(ratio(change_ns + half_ns)),
            confidence: Some(1.0 - found.alpha),
            ..Effect::default()
        }
    };
    let of_whole = match verdict {
        FinalVerdict::Slower => Verdict::Slower,
        FinalVerdict::Faster => Verdict::Faster,
        _ => Verdict::Undecided,
    };
    let whole = effect(after, Some(of_whole), clean);
    let functions = found.functions.iter().map(|part| effect(&part.name, None, &part.time));
    Conclusion {
        effects: std::iter::once(whole).chain(functions).collect(),
        ..Conclusion::of(verdict)
    }
}

/// The last line of a new session.
pub fn kept(record: &Path) -> String {
    format!("Show it again: stillwell why {}\n", one_line(&record.display().to_string()))
}

/// A value and the ends of its interval, with the decimals that the interval allows.
fn interval(value: f64, half_width: f64) -> [String; 3] {
    let decimals = uncertain::decimals(value, Some(half_width)).unwrap_or(1);
    [value, value - half_width, value + half_width].map(|it| uncertain::fixed(it, decimals))
}

/// One to three sentences.
fn answer(found: &Breakdown) -> Vec<String> {
    if found.arms.len() == 1 {
        return vec![format!("{}: {} runs.", one_line(&found.arms[0]), found.n_blocks)];
    }
    let [before, after] = [0, 1].map(|arm| shorten(&found.arms[arm], ARM_IN_WORDS));
    let clean = &found.clean;
    let whole_ns = clean.means_ns[0];
    let pct = |ns: f64| 100.0 * ns / whole_ns;
    let unit = DisplayUnit::choose(UnitKind::Time, None, clean.means_ns.iter().copied());
    let time = |ns: f64| unit.label(&unit.number(ns, None));
    let times = format!("{} against {}", time(clean.means_ns[1]), time(whole_ns));
    let mut sentences = Vec::new();
    let change = clean.estimate_ns;
    sentences.push(if clean.is_different() {
        let [value, lo, hi] = interval(pct(change.abs()), pct(clean.half_width_ns));
        let word = if change > 0.0 { "slower" } else { "faster" };
        format!("{after} is {value} % {word} than {before} ({lo} to {hi} %): {times}.")
    } else {
        let [_, lo, hi] = interval(pct(change), pct(clean.half_width_ns));
        format!(
            "{after} and {before} differ by less than the noise: {times}, a change of {lo} to {hi} %."
        )
    });
    let explained = |part: &FunctionPart| {
        let time = &part.time;
        let [value, lo, hi] = interval(pct(time.estimate_ns.abs()), pct(time.half_width_ns));
        let word = if time.estimate_ns > 0.0 { "more" } else { "less" };
        format!("{} takes {value} points {word} ({lo} to {hi})", located(part))
    };
    let all = in_words(found);
    if all.is_empty() {
        sentences.push(match found.with_callees.first() {
            Some(part) => format!("With what it calls, {}.", explained(part)),
            None => format!("None of {} functions differs beyond the noise.", found.n_functions),
        });
        return sentences;
    }
    let named = &all[..all.len().min(N_IN_WORDS)];
    let text: Vec<String> = named.iter().map(|part| explained(part)).collect();
    sentences.push(format!("{}.", text.join("; ")));
    sentences.extend(named.iter().flat_map(|part| reasons(found, part)));
    let n_more = all.len() - named.len();
    let is_own = |part: &&TimePart| part.is_different() && part.kind != PartKind::Stalled;
    let parts: Vec<&TimePart> = found.parts.iter().filter(is_own).collect();
    if n_more > 0 {
        sentences.push(format!("{n_more} more functions differ; they are in the table."));
    }
    if parts.is_empty() {
        sentences.push("The rest is not distinguishable from noise.".into());
    } else {
        let words: Vec<&str> = parts.iter().map(|part| label(part.kind, found)).collect();
        sentences.push(format!("Beside these, there is a difference in: {}.", words.join(", ")));
    }
    sentences
}

/// What the sentences name, the largest change first: functions, and in the place of the kernel's functions the reasons why
/// they run, if these differ.
fn in_words(found: &Breakdown) -> Vec<&FunctionPart> {
    let entries = found.with_callees.iter().filter(|part| part.origin == FunctionOrigin::Entry);
    let entries: Vec<&FunctionPart> = entries.collect();
    let is_said =
        |part: &&FunctionPart| entries.is_empty() || part.origin != FunctionOrigin::Kernel;
    let mut all: Vec<&FunctionPart> = found.functions.iter().filter(is_said).collect();
    all.extend(&entries);
    all.sort_by(|a, b| b.time.estimate_ns.abs().total_cmp(&a.time.estimate_ns.abs()));
    all
}

/// What else is known of a function that differs.
fn reasons(found: &Breakdown, part: &FunctionPart) -> Vec<String> {
    let name = name(part, NAME_IN_WORDS);
    let lacks = part.missing_in.and_then(|arm| found.arms.get(arm));
    let lacks = lacks.map(|arm| format!("{} has no function {name}.", shorten(arm, ARM_IN_WORDS)));
    let size = match part.code_bytes.as_slice() {
        &[before, after] if before != after && before.min(after) > 0 => {
            Some(format!("{name} has {after} bytes of code, before {before}."))
        }
        _ => None,
    };
    let count = found.counts.iter().find(|count| count.is_different && count.name == part.name);
    let count = count.map(|count| {
        let number = |at: usize| uncertain::significant(count.means[at], 4);
        format!("A run has {} {}, before {}.", number(1), count.name, number(0))
    });
    lacks.into_iter().chain(size).chain(count).collect()
}

/// The name of a function, with its line.
fn located(part: &FunctionPart) -> String {
    let name = name(part, NAME_IN_WORDS);
    match &part.line {
        Some(line) => format!("{name} ({})", shorten(line, NAME_COLUMNS_MIN * 2)),
        None => name,
    }
}

/// The name of a function, with the kernel's marked.
fn name(part: &FunctionPart, columns: usize) -> String {
    match part.origin {
        FunctionOrigin::Kernel if part.name != "[kernel]" => {
            format!("{} [kernel]", shorten(&part.name, columns.saturating_sub(9)))
        }
        _ => shorten(&part.name, columns),
    }
}

fn label(kind: PartKind, found: &Breakdown) -> &'static str {
    match kind {
        PartKind::Wall => "= wall time",
        PartKind::Clean if has_stalls(found) => "= time without other programs",
        PartKind::Clean => "= wall time",
        PartKind::Cpu => "  of it CPU time",
        PartKind::Function => "function",
        PartKind::OtherFunctions if found.functions.is_empty() => "all functions",
        PartKind::OtherFunctions => "other functions",
        PartKind::OtherKernel => "kernel",
        PartKind::NotSampled if found.has_kernel => "not sampled",
        PartKind::NotSampled => "kernel, and not sampled",
        PartKind::Stalled => "other programs had the CPU",
        PartKind::Sleeping if has_waits(found) => "asleep, for other reasons",
        PartKind::Sleeping => "asleep",
        PartKind::OffCpu => "off the CPU",
        PartKind::Overlap => "off the CPU, less threads at once",
    }
}

/// Whether the time that other programs took is known.
fn has_stalls(found: &Breakdown) -> bool {
    found.parts.iter().any(|part| part.kind == PartKind::Stalled)
}

/// Whether any of the rows says what the runs wait for.
fn has_waits(found: &Breakdown) -> bool {
    found.functions.iter().any(|part| part.origin == FunctionOrigin::Wait)
}

/// The parts and the sums that they add up to.
fn rows(found: &Breakdown) -> Vec<(String, &TimePart)> {
    let columns = wide().saturating_sub(NUMBER_COLUMNS).max(NAME_COLUMNS_MIN);
    let functions = found.functions.iter().map(|part| (name(part, columns), &part.time));
    let (stalled, own): (Vec<_>, Vec<_>) =
        found.parts.iter().partition(|part| part.kind == PartKind::Stalled);
    let total = stalled.first().map(|_| &found.wall);
    let sums = [&found.clean, &found.cpu].into_iter().chain(stalled).chain(total);
    let parts = own.into_iter().chain(sums);
    functions.chain(parts.map(|part| (label(part.kind, found).to_owned(), part))).collect()
}

/// A change with its sign and its error, and the number of its decimals.
fn signed(unit: DisplayUnit, part: &TimePart) -> (String, Option<usize>) {
    let (text, decimals) =
        uncertain::in_column(part.estimate_ns / unit.size, part.half_width_ns / unit.size);
    (if text.starts_with('-') { text } else { format!("+{text}") }, decimals)
}

/// A heading, and a row for each part of the difference.
fn differences(found: &Breakdown) -> Vec<Vec<String>> {
    let arm = |at: usize| shorten(&found.arms[at], 12);
    let heading = format!("change [{}]", unit(found).name);
    let heading = cells(&["", &arm(0), &arm(1), &heading, "of the change"]);
    let parts = rows(found).into_iter().map(|(name, part)| difference(found, name, part));
    std::iter::once(heading).chain(parts).collect()
}

/// A row for each function that differs with what it calls.
fn with_callees(found: &Breakdown) -> Vec<Vec<String>> {
    let columns = wide().saturating_sub(NUMBER_COLUMNS).max(NAME_COLUMNS_MIN);
    let parts = found.with_callees.iter().take(N_PROFILE_ROWS);
    parts.map(|part| difference(found, name(part, columns), &part.time)).collect()
}

fn unit(found: &Breakdown) -> DisplayUnit {
    DisplayUnit::choose(UnitKind::Time, None, found.wall.means_ns.iter().copied())
}

fn difference(found: &Breakdown, name: String, part: &TimePart) -> Vec<String> {
    let (unit, whole) = (unit(found), &found.clean);
    let (change, decimals) = signed(unit, part);
    let mean = |at: usize| unit.number(part.means_ns[at], decimals);
    let share = 100.0 * part.estimate_ns / whole.estimate_ns;
    let has_share = whole.is_different() && part.is_different();
    let share = if has_share { format!("{share:.0} %") } else { "-".into() };
    vec![name, mean(0), mean(1), change, share]
}

/// A heading, and a row for each part of the time of one program: the largest functions, and what is no function.
fn times(found: &Breakdown) -> Vec<Vec<String>> {
    let unit = unit(found);
    let heading = format!("time per run [{}]", unit.name);
    let row = |(name, part): (String, &TimePart)| {
        let share = 100.0 * part.estimate_ns / found.clean.estimate_ns;
        let time = unit.uncertain(part.estimate_ns, Some(part.half_width_ns));
        vec![name, time, format!("{share:.1} %")]
    };
    let n_functions = found.functions.len();
    let is_shown = |at: usize| at < N_PROFILE_ROWS || at >= n_functions;
    let shown = rows(found).into_iter().enumerate().filter(|(at, _)| is_shown(*at));
    std::iter::once(cells(&["", &heading, "share"])).chain(shown.map(|(_, it)| row(it))).collect()
}

fn notes(found: &Breakdown) -> Vec<String> {
    let level = uncertain::significant(100.0 * (1.0 - found.alpha), 3);
    let level = level.trim_end_matches('0').trim_end_matches('.').to_owned();
    let mut notes = vec![format!(
        "{} blocks; all intervals together hold at {level} %; times are means of a run.",
        found.n_blocks
    )];
    let period = DisplayUnit::for_largest(UnitKind::Time, found.period_ns as f64);
    let period = period.label(&uncertain::trimmed(found.period_ns as f64 / period.size, 3));
    let cost = match found.cost {
        Some([cost, half_width]) => {
            let [_, lo, hi] = interval(100.0 * cost, 100.0 * half_width);
            format!("they cost {lo} to {hi} % of the CPU time")
        }
        None => "there are too few blocks to say what they cost".into(),
    };
    notes.push(format!("Samples: one every {period} of CPU time on average; {cost}."));
    if let Some(ns) = found.visible_ns {
        let pct = uncertain::significant(100.0 * ns / found.clean.means_ns[0], 2);
        notes.push(format!(
            "Visible: {pct} % of the time in a function that hardly ran before; more in a larger one, as its interval says."
        ));
    }
    notes.extend(found.guesses.iter().map(|guess| guessed(found, guess)));
    notes.extend(found.counts.iter().filter(|count| count.is_different).map(changed_count));
    let unsampled = found.parts.iter().find(|part| part.kind == PartKind::NotSampled);
    let is_large = |part: &&TimePart| part.means_ns[0] > UNSAMPLED_SHARE * found.cpu.means_ns[0];
    if found.has_kernel && unsampled.filter(is_large).is_some() {
        notes.push(
            "Much of the CPU time is not sampled: processes that a command starts are sampled from the first period on, and \
             many were shorter. A higher --rate samples more of them."
                .into(),
        );
    }
    if !found.has_kernel {
        notes.push(
            "The kernel was not sampled: set kernel.perf_event_paranoid to 1 or lower, or run it as root.".into(),
        );
    }
    if !found.has_chains {
        notes.push(
            "Call chains are cut, so times with callees are unknown: build with -fno-omit-frame-pointer.".into(),
        );
    }
    if found.n_lost_blocks > 0 {
        notes.push(format!(
            "{} blocks are left out because samples were lost; a lower --rate loses fewer.",
            found.n_lost_blocks
        ));
    }
    notes
}

fn changed_count(count: &CountPart) -> String {
    let number = |at: usize| uncertain::significant(count.means[at], 4);
    format!("Also different: {} {}, before {}.", number(1), count.name, number(0))
}

fn guessed(found: &Breakdown, guess: &Guess) -> String {
    let of = |name: &str| shorten(name, NAME_IN_WORDS);
    match guess {
        Guess::Renamed { old, new, caller } => format!(
            "A guess: {} and {} are one function, because each is in one program only, and {} calls both.",
            of(old),
            of(new),
            of(caller)
        ),
        Guess::Part { function, arm, caller } => format!(
            "A guess: only {} has a function {}; in the other program its caller {} has its time, so both count as one.",
            shorten(&found.arms[*arm], ARM_IN_WORDS),
            of(function),
            of(caller)
        ),
    }
}
