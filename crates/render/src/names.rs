//! Short, distinct names of commands and benchmarks.

use std::collections::HashSet;

use crate::columns::{one_line, room_for_names, shorten, width};
use crate::table::GAP;
use record::plan::Plan;

/// Shorter common beginnings are not worth a cut, bytes.
const COMMON_MIN: usize = 8;

/// The room that a name in a table has at least, columns.
const NAME_MIN: usize = 24;

/// Cuts the names in the first column to fit the terminal, without making two look alike.
pub(super) fn cut_names(heading: &[String], rows: &mut [Vec<String>]) {
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(heading.get(column));
        cells.map(|cell| width(cell) + GAP.len()).max().unwrap_or(0)
    };
    let others: usize = (1..heading.len()).map(widest).sum();
    let labels: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
    let short = distinct(&labels, room_for_names(others, NAME_MIN));
    rows.iter_mut().zip(short).for_each(|(row, name)| row[0] = name);
}

/// The first names, and the number of the others: `a, b and 3 more`.
pub(super) fn first_of<T: AsRef<str>>(names: &[T], max: usize) -> String {
    let n_more = names.len().saturating_sub(max);
    let shown: Vec<&str> = names.iter().take(max).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    if n_more > 0 { format!("{shown} and {n_more} more") } else { shown }
}

/// Each item once, in the order of first use.
pub(super) fn each_once<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// The labels in at most `columns` columns each, no two alike. If the usual cut in the middle makes two of them alike,
/// their common beginning is left out. Identical labels are numbered.
pub fn distinct(labels: &[&str], columns: usize) -> Vec<String> {
    let short: Vec<String> = labels.iter().map(|label| shorten(label, columns)).collect();
    if are_distinct(&short) {
        return short;
    }
    let n_common = common_prefix(labels);
    if n_common >= COMMON_MIN {
        let rest = labels.iter().map(|label| shorten(&format!("…{}", &label[n_common..]), columns));
        let rest: Vec<String> = rest.collect();
        if are_distinct(&rest) {
            return rest;
        }
    }
    let numbered = labels.iter().enumerate().map(|(index, label)| {
        let number = format!("{}: ", index + 1);
        let room = columns.saturating_sub(number.len());
        number + &shorten(label, room)
    });
    numbered.collect()
}

/// The label of an arm, cut in the middle unless another would look like it.
pub(super) fn short_label(plan: &Plan, arm: usize, columns: usize) -> String {
    let label = plan.full_label(arm);
    let short = shorten(&label, columns);
    let mut others = plan.candidates().map(|(arm, _)| plan.full_label(arm));
    let is_unique = !others.any(|other| other != label && shorten(&other, columns) == short);
    if is_unique { short } else { one_line(&label) }
}

fn are_distinct(names: &[String]) -> bool {
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name))
}

/// Length of the common beginning of all labels, up to the start of a word, in bytes.
fn common_prefix(labels: &[&str]) -> usize {
    let Some((first, others)) = labels.split_first() else { return 0 };
    let n_common = |other: &str| {
        first.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
    };
    let n_common = others.iter().map(|other| n_common(other)).min().unwrap_or(0);
    let is_break = |char: char| char.is_whitespace() || "/-=".contains(char);
    let starts = first.char_indices().filter(|(_, char)| is_break(*char));
    let starts = starts.map(|(at, char)| at + char.len_utf8());
    starts.take_while(|&at| at <= n_common).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(labels: &[&str], columns: usize, expected: &[&str]) {
        assert_eq!(distinct(labels, columns), expected);
    }

    #[test]
    fn names_stay_apart() {
        check(&["gzip -1 f", "gzip -2 f"], 20, &["gzip -1 f", "gzip -2 f"]);
        check(
            &[
                "program --with=options --level 1 input-file",
                "program --with=options --level 2 input-file",
            ],
            20,
            &["…1 input-file", "…2 input-file"],
        );
        check(&["true", "true"], 20, &["1: true", "2: true"]);
        check(
            &["漢字漢字漢字 a", "漢字漢字漢字 b", "漢字漢字漢字 a"],
            9,
            &["1: 漢字…a", "2: 漢字…b", "3: 漢字…a"],
        );
    }
}
