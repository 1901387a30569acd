//! The output of `system show` and `system boot`.

mod boot;
mod cpus;
mod knobs;
pub mod tuned;
mod words;

use std::fmt::Write as _;
use std::io;

use serde::Serialize;

use crate::host::{CpusFrom, SystemReport};
use crate::render::Styles;
use crate::render::columns::wrap;
use crate::render::json::pretty_for;
use crate::render::remedies::Audience;
use crate::render::styles::paint;
use crate::values::{format_cpu_list, name_cpus};

pub use boot::{entry_added, entry_removed, json as boot_json, text as boot_text};

/// Writes all findings as one document.
///
/// # Errors
/// `to` cannot be written.
pub fn json(to: &mut impl io::Write, report: &SystemReport) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        tool: String,
        system: &'a SystemReport,
    }
    let tool = concat!("stillwell ", env!("CARGO_PKG_VERSION")).to_owned();
    pretty_for(to, &Document { tool, system: report }, Audience::Machine)
}

/// Lists the knobs in groups, then the CPUs and the recommended ones.
pub fn text(report: &SystemReport, is_verbose: bool, styles: &Styles) -> String {
    let mut out = String::new();
    head(&mut out, report);
    knobs::groups(&mut out, report, is_verbose, styles);
    cpus::table(&mut out, &report.table, &report.recommended, is_verbose, styles);
    recommended(&mut out, report);
    out
}

fn head(out: &mut String, report: &SystemReport) {
    let cpus = name_cpus(&report.cpus);
    let text = match report.cpus_from {
        CpusFrom::Asked => format!("for benchmarks on {cpus}"),
        CpusFrom::Isolated => format!("for benchmarks on {cpus}, isolated at boot"),
        CpusFrom::Nobody => {
            "for the whole machine; nobody has said which CPUs benchmarks are to have".into()
        }
    };
    wrap(out, "", 0, &text);
    out.push('\n');
}

fn recommended(out: &mut String, report: &SystemReport) {
    let found = &report.recommended;
    let why = found.why.join(", ");
    let text = match found.cpus.as_slice() {
        [] => format!("no CPU can be recommended for benchmarks: {why}"),
        cpus => format!("recommended for benchmarks (*): --cpus {} ({why})", format_cpu_list(cpus)),
    };
    wrap(out, "", 2, &text);
}

/// Writes a heading and the action after it.
fn heading(out: &mut String, styles: &Styles, title: &str, then: &str) {
    writeln!(out, "{}{then}", paint(styles.headline, title)).ok();
}
