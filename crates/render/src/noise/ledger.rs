//! Prints the parts of a ledger, one a line.

use crate::columns::wrap;
use crate::noise::words;
use crate::remedies::Audience;
use crate::table;
use crate::units::short_time;
use record::ledger::{Ledger, LedgerEntry, NoiseSource};

/// Maximum number of lines with a cause. Further causes are added up in one line.
pub(super) const ENTRIES_MAX: usize = 10;
/// Maximum in a short report.
pub(super) const BRIEF_MAX: usize = 5;

/// Appends the largest part with its remedy, and returns its source. `most` comes before its share, `of` after it.
pub(super) fn largest_part(
    out: &mut String,
    ledger: &Ledger,
    audience: Audience,
    [most, of]: [&str; 2],
) -> Option<NoiseSource> {
    let table = ledger.for_table();
    let largest = words::largest(&table.entries)?;
    let (what, share) = (words::name(&largest.source), words::share(largest, table.whole_ns));
    wrap(out, "largest: ", 9, &format!("{what}, {most}{share} of {of}"));
    if let Some(advice) = words::advice(&largest.source, audience) {
        wrap(out, "remedy: ", 8, &advice);
    }
    Some(largest.source.clone())
}

/// Writes one line for each part, the largest first, unexplained time last. No part is below zero.
pub(super) fn lines(out: &mut String, ledger: &Ledger, n_max: usize) {
    let ledger = ledger.for_table();
    let times = |n| if n == 1 { "1 time".into() } else { format!("{n} times") };
    let line = |entry: &LedgerEntry| {
        vec![
            format!("   {}", words::name(&entry.source)),
            short_time(entry.ns as f64),
            words::share(entry, ledger.whole_ns),
            match (entry.n, entry.is_estimate) {
                (Some(n), true) => format!("{}, estimate", times(n)),
                (Some(n), false) => times(n),
                (None, true) => "estimate".into(),
                (None, false) => String::new(),
            },
        ]
    };
    // The unexplained part is last, and appears with any number of causes.
    let (known, unknown): (Vec<&LedgerEntry>, Vec<&LedgerEntry>) =
        ledger.entries.iter().partition(|entry| !entry.source.is_unexplained());
    let n_shown = known.len().min(n_max);
    let mut rows: Vec<Vec<String>> = known[..n_shown].iter().map(|entry| line(entry)).collect();
    if n_shown < known.len() {
        let ns: i64 = known[n_shown..].iter().map(|entry| entry.ns).sum();
        let is_estimate = known[n_shown..].iter().any(|entry| entry.is_estimate);
        let rest = LedgerEntry { source: NoiseSource::Unexplained, ns, n: None, is_estimate };
        let mut row = line(&rest);
        row[0] = format!("   {} more", known.len() - n_shown);
        rows.push(row);
    }
    rows.extend(unknown.iter().map(|entry| line(entry)));
    out.push_str(&table::plain(rows, &[1, 2, 3]));
    if ledger.excess_ns > 0 {
        let excess = short_time(ledger.excess_ns as f64);
        wrap(out, "   ", 3, &format!("the estimates add up to {excess} more than was lost"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimated part makes the sum an estimate.
    #[test]
    fn a_sum_with_an_estimate_is_one() {
        let text = |is_estimate| {
            let entry = |ns: i64| LedgerEntry {
                is_estimate: is_estimate && ns == 1,
                ..LedgerEntry::exact(NoiseSource::Task { name: ns.to_string() }, ns)
            };
            let mut text = String::new();
            let ledger = Ledger::new(100, (1..13).map(entry), NoiseSource::Unexplained);
            lines(&mut text, &ledger, ENTRIES_MAX);
            text.lines().find(|line| line.contains("2 more")).unwrap().to_owned()
        };
        assert!(text(true).ends_with("estimate") && !text(false).contains("estimate"));
    }
}
