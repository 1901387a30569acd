//! The parts of a ledger, one line each.

use crate::noise::{Entry, Ledger, Source};
use crate::render::noise::words;
use crate::render::table;
use crate::render::units::short_time;

/// Lines with a cause; the others are added up.
const ENTRIES_MAX: usize = 10;

/// One line for each part, the largest first; what is not explained is always shown.
pub(super) fn lines(out: &mut String, found: &Ledger) {
    let line = |entry: &Entry| {
        vec![
            format!("   {}", words::name(&entry.source)),
            short_time(entry.ns as f64),
            words::share(entry, found.total_ns),
            entry.n.map_or_else(String::new, |n| format!("{n} times")),
            if entry.is_estimate { "estimate".into() } else { String::new() },
        ]
    };
    // What is not explained is last, and always shown.
    let (known, unknown): (Vec<&Entry>, Vec<&Entry>) =
        found.entries.iter().partition(|entry| !entry.source.is_unexplained());
    let n_shown = known.len().min(ENTRIES_MAX);
    let mut rows: Vec<Vec<String>> = known[..n_shown].iter().map(|entry| line(entry)).collect();
    if n_shown < known.len() {
        let ns: i64 = known[n_shown..].iter().map(|entry| entry.ns).sum();
        let rest = Entry { source: Source::Unexplained, ns, n: None, is_estimate: false };
        let mut row = line(&rest);
        row[0] = format!("   {} more", known.len() - n_shown);
        rows.push(row);
    }
    rows.extend(unknown.iter().map(|entry| line(entry)));
    out.push_str(&table::plain(rows, &[1, 2, 3]));
}
