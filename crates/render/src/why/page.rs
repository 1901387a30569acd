//! The page of `why`: one HTML file without network, with a differential flame graph that its own script draws.
//!
//! Names of functions and commands are hostile input: see `render::report`.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::columns::{for_page, width};
use crate::report::{embedded, filled, policy};
use crate::why::notes::notes;
use crate::why::sentences::answer;
use crate::why::{N_PROFILE_ROWS, counts, differences, times, with_callees};
use measure::profile::breakdown::Breakdown;
use measure::profile::flame::FlameGraph;

const TEMPLATE: &str = include_str!("../../assets/profile/page.html");
const SCRIPT: &str = include_str!("../../assets/profile/flame.js");
/// The style of all reports, plus the flame graph's.
const STYLE: &str = concat!(
    include_str!("../../assets/report/style.css"),
    include_str!("../../assets/profile/flame.css")
);

/// Columns of a command in the heading of a table.
const ARM_IN_HEADING: usize = 16;

/// Input of the template.
#[derive(Serialize)]
struct WhyTemplate<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    data: String,
    title: String,
    /// Class of the first sentence: its colour.
    class: &'static str,
    sentences: Vec<String>,
    caption: &'static str,
    reading: String,
    is_pair: bool,
    arms: &'a [String],
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Functions with their callees.
    callees: Vec<Vec<String>>,
    /// Counts of a run: a heading and rows.
    counts: Vec<Vec<String>>,
    notes: Vec<String>,
    version: &'static str,
}

/// Writes the page.
pub fn write(to: &mut dyn Write, breakdown: &Breakdown, graph: &FlameGraph) -> Result<()> {
    for_page(|| write_in_full(to, breakdown, graph))
}

fn write_in_full(to: &mut dyn Write, breakdown: &Breakdown, graph: &FlameGraph) -> Result<()> {
    let is_pair = breakdown.arms.len() > 1;
    let mut table = if is_pair { differences(breakdown) } else { times(breakdown) };
    let mut counted = counts::table(breakdown, N_PROFILE_ROWS);
    // A longer name would make its column wider than all numbers. The title has the whole name.
    if is_pair && breakdown.arms.iter().any(|arm| width(arm) > ARM_IN_HEADING) {
        for row in [&mut table[0], &mut counted[0]] {
            [row[1], row[2]] = ["first", "second"].map(String::from);
        }
    }
    let heading = table.remove(0);
    let callees = with_callees(breakdown);
    let for_browser = |table: Vec<Vec<String>>| -> Vec<Vec<String>> {
        table.into_iter().map(|row| row.iter().map(|it| it.replace("+-", "±")).collect()).collect()
    };
    let template = WhyTemplate {
        policy: policy(&[SCRIPT], STYLE),
        style: STYLE,
        script: SCRIPT,
        data: embedded(graph)?,
        title: breakdown.arms.join(" and "),
        class: match breakdown.clean.estimate_ns {
            _ if !is_pair || !breakdown.clean.is_different() => "none",
            change if change > 0.0 => "slower",
            _ => "faster",
        },
        sentences: answer(breakdown),
        caption: if is_pair { "What changed, by call chain." } else { "The time, by call chain." },
        reading: reading(graph),
        is_pair,
        arms: &breakdown.arms,
        heading,
        rows: for_browser(table),
        callees: for_browser(callees),
        counts: for_browser(counted),
        notes: notes(breakdown),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(to.write_all(filled(TEMPLATE, &template)?.as_bytes())?)
}

fn reading(graph: &FlameGraph) -> String {
    let mut said =
        "Below each function is what it calls; the width is CPU time by samples.".to_owned();
    if graph.arms.len() > 1 {
        said += &format!(
            " Red takes more time in the second program, green less; the stronger, the larger the change. Grey: no \
             change that can be told from noise. The chance that any branch is coloured falsely is at most {} %.",
            100.0 * graph.alpha
        );
    }
    if !graph.has_chains {
        said += " Call chains are cut here, so each function is a branch of its own.";
    }
    said + " A dashed edge marks the kernel."
}
