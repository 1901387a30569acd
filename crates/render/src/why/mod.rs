//! Output of `why`: the answer in sentences, a table of the parts, notes. [`page`] is the version for a browser, with a
//! flame graph.

mod counts;
mod notes;
pub mod page;
mod sentences;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use crate::columns::{one_line, wide, wrap};
use crate::conclusion::{Conclusion, Effect, FinalVerdict};
use crate::document::DocumentBody;
use crate::table::{cells, plain};
use crate::uncertain;
use crate::units::{DisplayUnit, short_time};
use crate::why::notes::notes;
use crate::why::sentences::answer;
use crate::why::words::{NAME_COLUMNS_MIN, arms, is_python, label, name};
use analysis::RatioInterval;
use analysis::verdict::Verdict;
use measure::profile::breakdown::{Breakdown, FunctionPart, PartKind, TimePart};
use model::values::{TimeSpan, ValueUnit};

/// Columns of the numbers in a table.
const NUMBER_COLUMNS: usize = 52;
/// Rows of a plain profile.
const N_PROFILE_ROWS: usize = 25;

/// The whole answer.
pub fn text(breakdown: &Breakdown) -> String {
    let mut out = String::new();
    for sentence in answer(breakdown) {
        wrap(&mut out, "", 0, &sentence);
    }
    out.push('\n');
    if breakdown.arms.len() > 1 {
        out += &plain(differences(breakdown), &[1, 2, 3, 4]);
    } else {
        out += &plain(times(breakdown), &[1, 2]);
        let n_hidden = breakdown.functions.len().saturating_sub(N_PROFILE_ROWS);
        if n_hidden > 0 {
            writeln!(out, "{n_hidden} smaller functions are left out; --json has them").ok();
        }
    }
    if !breakdown.with_callees.is_empty() {
        out.push_str("\nwith what they call:\n");
        out += &plain(with_callees(breakdown), &[1, 2, 3, 4]);
    }
    let counts = counts::table(breakdown, N_PROFILE_ROWS);
    if counts.len() > 1 {
        out.push_str("\ncounts of a run:\n");
        out += &plain(counts, &[1, 2, 3]);
    }
    out.push('\n');
    for note in notes(breakdown) {
        wrap(&mut out, "", 2, &note);
    }
    out
}

impl DocumentBody for Breakdown {
    const NAME: &'static str = "why";
}

/// The conclusion: the whole difference, then its functions.
pub fn conclusion(breakdown: &Breakdown) -> Conclusion {
    let [Some(before), Some(after)] = [breakdown.arms.first(), breakdown.arms.get(1)] else {
        return Conclusion::of(FinalVerdict::Measured);
    };
    let clean = &breakdown.clean;
    let (of_whole, verdict) = match clean.estimate_ns > 0.0 {
        _ if !clean.is_different() => (Verdict::Undecided, FinalVerdict::Undecided),
        true => (Verdict::Slower, FinalVerdict::Slower),
        false => (Verdict::Faster, FinalVerdict::Faster),
    };
    let effect = |name: &str, verdict: Option<Verdict>, part: &TimePart| {
        // A share of the reference's whole time, so that the functions add up to the whole.
        let ratio = |ns: f64| 1.0 + ns / clean.means_ns[0];
        let (change_ns, half_ns) = (part.estimate_ns, part.half_width_ns);
        let [ratio, lo, hi] = [change_ns, change_ns - half_ns, change_ns + half_ns].map(ratio);
        let interval = RatioInterval { ratio, lo, hi };
        let effect = Effect::of_ratio(name.to_owned(), interval, 1.0 - breakdown.alpha);
        Effect { against: Some(before.clone()), verdict, ..effect }
    };
    let whole = effect(after, Some(of_whole), clean);
    let functions = breakdown.functions.iter().map(|part| effect(&part.name, None, &part.time));
    Conclusion {
        effects: std::iter::once(whole).chain(functions).collect(),
        ..Conclusion::of(verdict)
    }
}

/// The line before the blocks that follow a verdict.
pub fn beginning(budget: TimeSpan) -> String {
    let time = short_time(budget.ns as f64);
    format!("\nwhy: runs both again with samples, for {time}\n")
}

/// The last line of a new session.
pub fn kept(record: &Path) -> String {
    format!("Show it again: stillwell why {}\n", one_line(&record.display().to_string()))
}

/// The parts, and the sums that they add up to.
fn rows(breakdown: &Breakdown) -> Vec<(String, &TimePart)> {
    let columns = wide().saturating_sub(NUMBER_COLUMNS).max(NAME_COLUMNS_MIN);
    let functions = breakdown.functions.iter().map(|part| (name(part, columns), &part.time));
    let (stalled, own): (Vec<_>, Vec<_>) =
        breakdown.parts.iter().partition(|part| part.kind == PartKind::Stalled);
    let total = stalled.first().map(|_| &breakdown.wall);
    let sums = [&breakdown.clean, &breakdown.cpu].into_iter().chain(stalled).chain(total);
    let parts = own.into_iter().chain(sums);
    functions.chain(parts.map(|part| (label(part.kind, breakdown).to_owned(), part))).collect()
}

/// A change with its sign and its error, and the number of its decimals.
fn signed(unit: DisplayUnit, part: &TimePart) -> (String, Option<usize>) {
    let (text, decimals) =
        uncertain::in_column(part.estimate_ns / unit.size, part.half_width_ns / unit.size);
    (if text.starts_with('-') { text } else { format!("+{text}") }, decimals)
}

/// A heading, and a row for each part of the difference.
fn differences(breakdown: &Breakdown) -> Vec<Vec<String>> {
    let arms = arms(breakdown, 12);
    let heading = format!("change [{}]", unit(breakdown).name);
    let heading = cells(&["", &arms[0], &arms[1], &heading, "points"]);
    let parts = rows(breakdown).into_iter().map(|(name, part)| difference(breakdown, name, part));
    std::iter::once(heading).chain(parts).collect()
}

/// A row for each function whose total with callees differs, or is large in the only program. Python's functions come
/// before the interpreter's.
fn with_callees(breakdown: &Breakdown) -> Vec<Vec<String>> {
    let columns = wide().saturating_sub(NUMBER_COLUMNS).max(NAME_COLUMNS_MIN);
    let row = if breakdown.arms.len() > 1 { difference } else { time };
    let (python, others): (Vec<&FunctionPart>, Vec<&FunctionPart>) =
        breakdown.with_callees.iter().partition(|part| is_python(part));
    let shown = python.into_iter().chain(others).take(N_PROFILE_ROWS);
    shown.map(|part| row(breakdown, name(part, columns), &part.time)).collect()
}

fn unit(breakdown: &Breakdown) -> DisplayUnit {
    DisplayUnit::choose(ValueUnit::Time, None, breakdown.wall.means_ns.iter().copied())
}

fn difference(breakdown: &Breakdown, name: String, part: &TimePart) -> Vec<String> {
    let unit = unit(breakdown);
    let (change, decimals) = signed(unit, part);
    let mean = |at: usize| unit.number(part.means_ns[at], decimals);
    let points = match part.is_different() {
        _ if is_beyond(part) => String::new(),
        true => words::points(breakdown, part),
        false => "-".into(),
    };
    vec![name, mean(0), mean(1), change, points]
}

/// Whether a row stands beside the time without other programs, of which the others are shares.
fn is_beyond(part: &TimePart) -> bool {
    matches!(part.kind, PartKind::Stalled | PartKind::Wall)
}

/// A heading, and a row for each part of one program's time: the largest functions, and time outside of functions.
fn times(breakdown: &Breakdown) -> Vec<Vec<String>> {
    let heading = format!("time per run [{}]", unit(breakdown).name);
    let n_functions = breakdown.functions.len();
    let is_shown = |at: usize| at < N_PROFILE_ROWS || at >= n_functions;
    let shown = rows(breakdown).into_iter().enumerate().filter(|(at, _)| is_shown(*at));
    std::iter::once(cells(&["", &heading, "share"]))
        .chain(shown.map(|(_, (name, part))| time(breakdown, name, part)))
        .collect()
}

fn time(breakdown: &Breakdown, name: String, part: &TimePart) -> Vec<String> {
    let share = 100.0 * part.estimate_ns / breakdown.clean.estimate_ns;
    let time = unit(breakdown).uncertain(part.estimate_ns, Some(part.half_width_ns));
    let share = if is_beyond(part) { String::new() } else { format!("{share:.1} %") };
    vec![name, time, share]
}
