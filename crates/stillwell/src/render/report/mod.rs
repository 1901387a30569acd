//! A report as one HTML file that needs no network: text and tables are made here, charts are drawn by the page's own
//! scripts from data that `analysis::report` computed.
//!
//! Commands and names of files are hostile input. What is text goes through the template's escaping, what is data into
//! a JSON element in which no `<` is left, and the page's policy runs no script but those that are in it.

mod cards;
mod charts;
mod group;
mod index;
mod page;
mod records;
mod tables;

use std::io::Write;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::Environment;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::analysis::report::{ReportData, ReportInput};
use crate::render::columns::is_invisible;
use crate::verdict::Judgement;

pub(super) use group::signs;

const TEMPLATE: &str = include_str!("../../../assets/report/page.html");
pub(super) const STYLE: &str = include_str!("../../../assets/report/style.css");
pub(super) const D3: &str = include_str!("../../../assets/vendor/d3-7.9.0.min.js");
pub(super) const PLOT: &str = include_str!("../../../assets/vendor/plot-0.6.17.min.js");
pub(super) const DRAW: &str = include_str!("../../../assets/report/draw.js");
pub(super) const FIGURES: &str = include_str!("../../../assets/report/figures.js");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 7] = [
    D3,
    PLOT,
    DRAW,
    include_str!("../../../assets/report/charts.js"),
    include_str!("../../../assets/report/charts-compare.js"),
    FIGURES,
    include_str!("../../../assets/report/page.js"),
];
/// Name of the template: its end turns escaping on.
const NAME: &str = "page.html";

/// A record with what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct ReportRecord<'a> {
    /// The record and its analysis.
    pub input: ReportInput<'a>,
    /// One for each of its comparisons.
    pub judgements: &'a [Judgement],
}

/// Writes the page.
///
/// # Errors
/// `to` cannot be written.
pub fn write(
    to: &mut dyn Write,
    records: &[ReportRecord<'_>],
    data: &ReportData,
    title: Option<&str>,
) -> Result<()> {
    let page = page::page(records, data, title);
    let script_data = ReportScriptData { data, words: ReportTexts { groups: &page.words } };
    let mut environment = Environment::new();
    environment.add_template(NAME, TEMPLATE).context("the template of the report")?;
    let whole = ReportTemplate {
        policy: policy(),
        style: STYLE,
        scripts: &SCRIPTS,
        data: embedded(&script_data)?,
        page: &page,
    };
    let template = environment.get_template(NAME).context("the template of the report")?;
    let html =
        template.render(minijinja::value::Serde(&whole)).context("the template of the report")?;
    Ok(to.write_all(html.as_bytes())?)
}

/// What the template is given.
#[derive(Serialize)]
struct ReportTemplate<'a> {
    policy: String,
    style: &'static str,
    scripts: &'static [&'static str],
    data: String,
    #[serde(flatten)]
    page: &'a page::ReportPage,
}

/// What the scripts are given.
#[derive(Serialize)]
struct ReportScriptData<'a> {
    data: &'a ReportData,
    words: ReportTexts<'a>,
}

#[derive(Serialize)]
struct ReportTexts<'a> {
    groups: &'a [page::GroupText],
}

/// Nothing but what is in the page, and of that only these scripts and this style sheet; no address is ever asked.
fn policy() -> String {
    let hash =
        |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = SCRIPTS.iter().map(|script| hash(script)).collect();
    let (scripts, style) = (scripts.join(" "), hash(STYLE));
    format!(
        "default-src 'none'; script-src {scripts}; style-src {style}; base-uri 'none'; form-action 'none'"
    )
}

/// JSON that can be in a script element: nothing in it ends the element or begins another.
pub(super) fn embedded(data: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(data).context("the data of the report")?;
    let mut safe = String::with_capacity(json.len());
    for char in json.chars() {
        if matches!(char, '<' | '>' | '&') || is_invisible(char) {
            safe.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            safe.push(char);
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests;
