//! The output of `system show` and `system boot`.

mod boot;
mod cpus;
mod knobs;
pub mod tuned;
mod words;

use std::fmt::Write as _;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Styles;
use crate::columns::wrap;
use crate::conclusion::{Conclusion, FinalVerdict, tune_now};
use crate::document::{self, DocumentBody};
use crate::styles::paint;
use crate::units::counted;
use host::{CorePair, CpusFrom, Standing, SystemReport};
use model::values::{format_cpu_list, name_cpus};

pub use boot::{entry_removed, text as boot_text};

/// The sources of noise on this machine.
#[derive(Serialize, JsonSchema)]
pub struct SystemBody<'a> {
    /// Name and version of this program.
    tool: &'static str,
    /// The knobs and the CPUs.
    system: &'a SystemReport,
}

impl DocumentBody for SystemBody<'_> {
    const NAME: &'static str = "system";
}

/// Writes all findings as one document.
pub fn json(to: &mut impl io::Write, report: &SystemReport) -> io::Result<()> {
    let tool = concat!("stillwell ", env!("CARGO_PKG_VERSION"));
    let body = SystemBody { tool, system: report };
    let conclusion = match report.is_tuned {
        true => Conclusion::of(FinalVerdict::Tuned),
        false => Conclusion { next: Some(tune_now()), ..Conclusion::of(FinalVerdict::NotTuned) },
    };
    document::write(to, &body, conclusion, None)
}

/// How much of the report is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDetail {
    /// With what each knob does, and its files.
    pub is_verbose: bool,
    /// With the knobs that are fine, those that cannot be changed, and those that this machine does not have.
    pub has_all: bool,
}

/// The advice, the knobs in groups, then the CPUs.
pub fn text(report: &SystemReport, detail: SystemDetail, styles: &Styles) -> String {
    let mut out = String::new();
    conclusion(&mut out, report, styles);
    recommended(&mut out, report);
    core_pairs(&mut out, report);
    head(&mut out, report);
    knobs::groups(&mut out, report, detail, styles);
    cpus::table(&mut out, report, detail.is_verbose, styles);
    if !detail.has_all {
        knobs::hidden(&mut out, report);
    }
    out
}

/// Whether something is left to tune, and the command for it.
fn conclusion(out: &mut String, report: &SystemReport, styles: &Styles) {
    let count = |standing| report.standing(standing).count();
    let (open, by_hand) = (count(Standing::NotTuned), count(Standing::ByHand));
    let (style, first) = match open {
        0 => (styles.same, "Nothing is left to tune while the machine runs.".to_owned()),
        1 => (styles.attention, "1 setting adds noise and can be changed now.".to_owned()),
        n => (styles.attention, format!("{n} settings add noise and can be changed now.")),
    };
    writeln!(out, "{}", paint(style, &first)).ok();
    if let Some(command) = &report.command {
        writeln!(out, "to change: {command}").ok();
        writeln!(out, "to undo: sudo stillwell system reset").ok();
    }
    if by_hand > 0 {
        let need = if by_hand == 1 { "needs" } else { "need" };
        let settings = counted(by_hand, "setting");
        writeln!(out, "{settings} {need} a reboot or a decision of yours: see below").ok();
    }
}

fn head(out: &mut String, report: &SystemReport) {
    let cpus = name_cpus(&report.cpus);
    let text = match report.cpus_from {
        CpusFrom::Asked => format!("benchmarks on {cpus}"),
        CpusFrom::Isolated => format!("benchmarks on {cpus}, isolated at boot"),
        CpusFrom::Nobody => "the whole machine; --cpus names the CPUs of benchmarks".into(),
    };
    wrap(out, "shown for: ", 11, &text);
    out.push('\n');
}

fn recommended(out: &mut String, report: &SystemReport) {
    let choice = &report.recommended;
    let why = choice.why.join(", ");
    let text = match choice.cpus.as_slice() {
        [] => format!("none for benchmarks: {why}"),
        cpus => format!("{} (* below; {why})", format_cpu_list(cpus)),
    };
    wrap(out, "recommended CPUs: ", 18, &text);
}

/// Which CPUs slow each other, if any.
fn core_pairs(out: &mut String, report: &SystemReport) {
    let Some(measured) = &report.core_pairs else { return };
    let factor = |pair: &CorePair| {
        let [low, high] = pair.interval;
        format!("{:.2} times as long ({low:.2} to {high:.2})", pair.slowdown)
    };
    for pair in measured.pairs.iter().filter(|pair| pair.are_siblings()) {
        let [one, other] = pair.cpus;
        let text = format!(
            "measured: CPUs {one} and {other} share a core, though the machine does not say so: while one is busy, \
             arithmetic on the other takes {}",
            factor(pair)
        );
        wrap(out, "", 2, &text);
    }
    let apart = measured.pairs.iter().filter(|pair| !pair.are_siblings());
    let most = apart.clone().max_by(|a, b| a.slowdown.total_cmp(&b.slowdown));
    if let Some(most) = most {
        let (who, n) = (name_cpus(&most.cpus), apart.count());
        let text = match n {
            1 => format!(
                "measured: while one of {who} is busy, arithmetic on the other takes {}",
                factor(most)
            ),
            _ => format!(
                "measured: in {n} pairs of CPUs that share no core, a busy one makes arithmetic on the other \
                          take at most {}: {who}",
                factor(most)
            ),
        };
        wrap(out, "", 2, &text);
    }
    if let Some([_, busy]) = measured.busy.first() {
        let text = format!(
            "not measured: which CPUs slow each other; other programs use CPU {busy}. Ask again when it is idle"
        );
        wrap(out, "", 2, &text);
    }
}

/// Groups of equal keys, such as reasons, in order of first appearance.
fn grouped<K: PartialEq, T>(all: impl Iterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, one) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups
}

/// Writes a heading and the action after it.
fn heading(out: &mut String, styles: &Styles, title: &str, then: &str) {
    writeln!(out, "{}{then}", paint(styles.headline, title)).ok();
}
