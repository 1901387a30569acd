//! One line for each knob, grouped by the required action.

use std::fmt::Write as _;

use crate::Styles;
use crate::columns::{wrap, wrap_at};
use crate::system::{SystemDetail, grouped, heading, words};
use crate::units::counts_in_words;
use host::knobs::{Confidence, Format, Knob, Reading, State};
use host::{KnobReport, Standing, SystemReport};
use model::values::format_cpu_list;

/// Width of the name column. The longest name has 15 letters.
const NAME_COLUMNS: usize = 18;
const INDENT: usize = 2;

/// Groups without an action, which only --all shows.
const HIDDEN: [(Standing, &str); 3] = [
    (Standing::Fine, "fine"),
    (Standing::Shown, "good to know"),
    (Standing::Absent, "not on this machine"),
];

pub(super) fn groups(
    out: &mut String,
    report: &SystemReport,
    detail: SystemDetail,
    styles: &Styles,
) {
    let is_verbose = detail.is_verbose;
    let needs_cpus = match report.recommended.cpus.as_slice() {
        [] => " -> stillwell system --cpus LIST".to_owned(),
        cpus => format!(" -> stillwell system --cpus {}", format_cpu_list(cpus)),
    };
    let groups = [
        (Standing::NotTuned, "not tuned", ""),
        (
            Standing::OnRequest,
            "left alone",
            " -> only with `tune --only NAME`, because it costs something",
        ),
        (Standing::NeedsCpus, "depends on the CPUs of the benchmark", &needs_cpus),
        (Standing::ByHand, "needs a reboot or a decision of yours", ""),
        (Standing::CannotSet, "cannot be set here", ""),
    ];
    let hidden = HIDDEN.iter().filter(|_| detail.has_all);
    let hidden = hidden.map(|&(standing, title)| (standing, title, ""));
    for (standing, title, then) in groups.into_iter().chain(hidden) {
        let mut knobs = report.standing(standing).peekable();
        if knobs.peek().is_none() {
            continue;
        }
        heading(out, styles, title, then);
        if standing == Standing::CannotSet && !is_verbose {
            refused(out, knobs);
        } else {
            knobs.for_each(|knob| line(out, knob, is_verbose));
        }
        out.push('\n');
    }
}

/// One line for all hidden groups, with their numbers of knobs.
pub(super) fn hidden(out: &mut String, report: &SystemReport) {
    let counts = HIDDEN.map(|(standing, title)| (report.standing(standing).count(), title));
    let counts = counts_in_words(&counts);
    if !counts.is_empty() {
        wrap(out, "--all shows more: ", 18, &counts);
    }
}

/// One line for each reason: a read-only file system is one fact, however many knobs it affects.
fn refused<'a>(out: &mut String, knobs: impl Iterator<Item = &'a KnobReport>) {
    for (why, knobs) in grouped(knobs.map(|it| (state(it.knob, &it.reading), it))) {
        if let [knob] = knobs[..] {
            line(out, knob, false);
            continue;
        }
        let names: Vec<&str> = knobs.iter().map(|knob| knob.knob.name).collect();
        wrap_at(out, INDENT, &format!("{}: {why}", names.join(", ")));
    }
}

fn line(out: &mut String, report: &KnobReport, is_verbose: bool) {
    let name = format!("{:INDENT$}{:<room$}", "", report.knob.name, room = NAME_COLUMNS - INDENT);
    wrap(out, &name, NAME_COLUMNS, &state(report.knob, &report.reading));
    if is_verbose {
        details(out, report);
    }
}

fn state(knob: &Knob, reading: &Reading) -> String {
    match (knob.name, &reading.state) {
        ("turbo", State::Fine { .. }) => "off".to_owned(),
        ("turbo", State::NotTuned { .. }) => "on -> off".to_owned(),
        (_, State::NotTuned { .. }) if words::is_unit(knob) && knob.name != "services" => {
            format!("running: {} -> stopped", words::units(&reading.settings))
        }
        (_, State::Fine { now } | State::Reported { now, advice: None }) => {
            words::values(knob, now)
        }
        (_, State::NotTuned { now, wanted }) => {
            format!("{} -> {}", words::values(knob, now), words::values(knob, wanted))
        }
        (_, State::CannotSet { why } | State::Absent { why }) => why.clone(),
        // The heading states the action, because all of them need the same.
        (_, State::Reported { now, .. }) if !knob.files.is_empty() => words::values(knob, now),
        (_, State::Reported { now, advice: Some(advice) }) => {
            format!("{} -> {}", words::values(knob, now), advice)
        }
    }
}

fn details(out: &mut String, report: &KnobReport) {
    let knob = report.knob;
    let sure = match knob.sure {
        Confidence::Tested => "tested on real kernels",
        Confidence::Documented => "by the kernel's documentation, not tested by us",
    };
    let start = " ".repeat(NAME_COLUMNS);
    wrap_at(out, NAME_COLUMNS, &format!("noise: {}", knob.noise));
    wrap_at(out, NAME_COLUMNS, &format!("needs: {}; {sure}", knob.needs));
    for file in knob.files {
        // Do not wrap a path, so that the user can copy it.
        match file.format {
            Format::Timer => writeln!(out, "{start}the timers of systemd that are due"),
            _ => writeln!(out, "{start}/{}", file.path),
        }
        .ok();
    }
}
