//! Names and numbers in the sentences and the tables of `why`.

use crate::columns::shorten;
use crate::names::distinct;
use crate::uncertain;
use measure::profile::breakdown::{Breakdown, FunctionPart, PartKind, TimePart};
use measure::profile::saved::FunctionOrigin;

/// Fewest columns of a name.
pub const NAME_COLUMNS_MIN: usize = 20;
/// Columns of names in sentences.
pub const NAME_IN_WORDS: usize = 60;
pub const ARM_IN_WORDS: usize = 40;

/// The names of the programs, no two alike.
pub fn arms(breakdown: &Breakdown, columns: usize) -> Vec<String> {
    let arms: Vec<&str> = breakdown.arms.iter().map(String::as_str).collect();
    distinct(&arms, columns)
}

/// A value and the ends of its interval, with the decimals that the interval allows.
pub fn interval(value: f64, half_width: f64) -> [String; 3] {
    let decimals = uncertain::decimals(value, Some(half_width)).unwrap_or(1);
    [value, value - half_width, value + half_width].map(|it| uncertain::fixed(it, decimals))
}

/// A change in per cent of the first command's time, with the decimals of the sentences: `+2.92`.
pub fn points(breakdown: &Breakdown, part: &TimePart) -> String {
    let pct = |ns: f64| 100.0 * ns / breakdown.clean.means_ns[0];
    let [value, ..] = interval(pct(part.estimate_ns), pct(part.half_width_ns));
    if value.starts_with('-') { value } else { format!("+{value}") }
}

/// Whether a function is Python's, by CPython's names for profilers.
pub fn is_python(part: &FunctionPart) -> bool {
    part.name.starts_with("py::")
}

/// The name of a function, with its line.
pub fn located(part: &FunctionPart) -> String {
    let name = name(part, NAME_IN_WORDS);
    match &part.line {
        Some(line) => format!("{name} ({})", shorten(line, NAME_COLUMNS_MIN * 2)),
        None => name,
    }
}

/// The name of a function; the kernel's are marked.
pub fn name(part: &FunctionPart, columns: usize) -> String {
    match part.origin {
        FunctionOrigin::Kernel if part.name != "[kernel]" => {
            format!("{} [kernel]", shorten(&part.name, columns.saturating_sub(9)))
        }
        _ => shorten(&part.name, columns),
    }
}

pub fn label(kind: PartKind, breakdown: &Breakdown) -> &'static str {
    match kind {
        PartKind::Wall => "= wall time",
        PartKind::Clean if has_stalls(breakdown) => "= time without other programs",
        PartKind::Clean => "= wall time",
        PartKind::Cpu => "  of it CPU time",
        PartKind::Function => "function",
        PartKind::OtherFunctions if breakdown.functions.is_empty() => "all functions",
        PartKind::OtherFunctions => "other functions",
        PartKind::OtherKernel => "kernel",
        PartKind::NotSampled if breakdown.has_kernel => "not sampled",
        PartKind::NotSampled => "kernel, and not sampled",
        PartKind::Stalled => "other programs had the CPU",
        PartKind::Sleeping if has_waits(breakdown) => "asleep, for other reasons",
        PartKind::Sleeping => "asleep",
        PartKind::OffCpu => "off the CPU",
        PartKind::Overlap => "off the CPU, less threads at once",
    }
}

/// Whether the time that other programs took is known.
pub fn has_stalls(breakdown: &Breakdown) -> bool {
    breakdown.parts.iter().any(|part| part.kind == PartKind::Stalled)
}

/// Whether any row says what the runs wait for.
fn has_waits(breakdown: &Breakdown) -> bool {
    breakdown.functions.iter().any(|part| part.origin == FunctionOrigin::Wait)
}
