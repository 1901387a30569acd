//! The table of CPUs, one a line, like `lscpu -a -e`.

use crate::system::{grouped, heading};
use crate::{Styles, table, uncertain};
use host::{CpuRow, SystemReport};
use model::values::format_cpu_list;

/// With more CPUs, similar ones share a line: a table of hundreds of lines is too long to read.
const LINES_MAX: usize = 32;

pub(super) fn table(out: &mut String, report: &SystemReport, is_verbose: bool, styles: &Styles) {
    let rows = &report.table;
    if rows.is_empty() {
        return;
    }
    heading(out, styles, "CPUs", "");
    let is_recommended = |row: &CpuRow| report.recommended.cpus.contains(&row.cpu);
    let groups: Vec<Vec<&CpuRow>> = if is_verbose || rows.len() <= LINES_MAX {
        rows.iter().map(|row| vec![row]).collect()
    } else {
        alike(rows, is_recommended)
    };
    let cells = groups.iter().map(|group| line(group, is_recommended(group[0])));
    let lines: Vec<[String; 10]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(cells).collect();
    // Omit columns without any data.
    let is_shown: Vec<bool> =
        (0..10).map(|column| lines[1..].iter().any(|line| !line[column].is_empty())).collect();
    let shown = |line: [String; 10]| {
        let cells = line.into_iter().zip(&is_shown).filter(|(_, is_shown)| **is_shown);
        cells.map(|(cell, _)| cell).collect()
    };
    let rows = lines.into_iter().map(shown).collect();
    for line in table::plain(rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).lines() {
        out.extend(["  ", line, "\n"]);
    }
}

const HEADINGS: [&str; 10] =
    ["CPU", "core", "socket", "node", "siblings", "MHz", "kind", "isolated", "nohz", "IRQs/s"];

/// Groups CPUs that differ only in number, core and interrupts.
fn alike(rows: &[CpuRow], is_recommended: impl Fn(&CpuRow) -> bool) -> Vec<Vec<&CpuRow>> {
    let keyed = rows.iter().map(|row| {
        let place = (row.online, row.socket, row.node, row.max_khz, row.class);
        ((place, row.isolated, row.nohz, row.allowed, is_recommended(row)), row)
    });
    grouped(keyed).into_iter().map(|(_, group)| group).collect()
}

fn line(group: &[&CpuRow], is_recommended: bool) -> [String; 10] {
    let first = group[0];
    let list = |numbers: &mut dyn Iterator<Item = usize>| {
        format_cpu_list(&numbers.collect::<Vec<usize>>())
    };
    let cpus = list(&mut group.iter().map(|row| row.cpu));
    if !first.online {
        let mut cells: [String; 10] = Default::default();
        cells[0] = format!("{cpus} off");
        return cells;
    }
    let siblings = match group {
        [row] => format_cpu_list(&row.siblings),
        _ if first.siblings.len() == 1 => "none".to_owned(),
        _ => format!("{} a core", first.siblings.len()),
    };
    let yes = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
    let mark = match (is_recommended, first.allowed) {
        (true, _) => " *",
        (false, true) => "",
        (false, false) => " (not ours)",
    };
    [
        format!("{cpus}{mark}"),
        list(&mut group.iter().filter_map(|row| row.core)),
        first.socket.map_or_else(String::new, |socket| socket.to_string()),
        first.node.to_string(),
        siblings,
        first.max_khz.map_or_else(String::new, |khz| (khz / 1000).to_string()),
        first.class.map_or_else(String::new, |class| class.letter().to_owned()),
        yes(first.isolated),
        yes(first.nohz),
        rates(group),
    ]
}

/// Formats the lowest and the highest rate of several CPUs.
fn rates(group: &[&CpuRow]) -> String {
    let rates = || group.iter().filter_map(|row| row.irqs_per_second);
    let (least, most) = rates()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (rate.min(least), rate.max(most)));
    let shown = |rate: f64| uncertain::fixed(rate, if rate < 10.0 { 1 } else { 0 });
    match (least.is_finite(), group.len()) {
        (false, _) => String::new(),
        (true, 1) => shown(least),
        (true, _) => format!("{}-{}", shown(least), shown(most)),
    }
}
