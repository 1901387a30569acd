//! A report as one HTML file that needs no network. This module writes text and tables; the page's scripts draw the
//! charts from the data of `analysis::report`.
//!
//! Commands and file names are hostile input: the template escapes all text, data is in a JSON element without any `<`,
//! and the Content-Security-Policy allows only the page's own scripts.

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
use formats::csv_cell::is_invisible;
use minijinja::{Environment, HtmlEscape};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::columns::for_page;
use analysis::report::report;
use analysis::verdict::Judged;

/// The beginning of all pages. A page of a site has a `root`, and links to its style.
const HEAD: &str = include_str!("../../assets/report/head.html");
const TEMPLATE: &str = include_str!("../../assets/report/page.html");
pub(super) const STYLE: &str = include_str!("../../assets/report/style.css");
pub(super) const D3: &str = include_str!("../../assets/vendor/d3-7.9.0.min.js");
pub(super) const PLOT: &str = include_str!("../../assets/vendor/plot-0.6.17.min.js");
pub(super) const DRAW: &str = include_str!("../../assets/report/draw.js");
pub(super) const FIGURES: &str = include_str!("../../assets/report/figures.js");
/// The page's scripts. Each may use the earlier ones.
const SCRIPTS: [&str; 7] = [
    D3,
    PLOT,
    DRAW,
    include_str!("../../assets/report/charts.js"),
    include_str!("../../assets/report/charts-compare.js"),
    FIGURES,
    include_str!("../../assets/report/page.js"),
];

pub fn write(to: &mut dyn Write, records: &[Judged<'_>], title: Option<&str>) -> Result<()> {
    let data = report(records);
    let page = for_page(|| page::page(records, &data, title));
    let script_data = ScriptData { data: &data, words: ReportTexts { groups: &page.words } };
    let whole = ReportTemplate {
        policy: policy(&SCRIPTS, STYLE),
        style: STYLE,
        scripts: &SCRIPTS,
        data: embedded(&script_data)?,
        page: &page,
    };
    Ok(to.write_all(filled(TEMPLATE, &whole)?.as_bytes())?)
}

/// A page whose body is this template, filled with these values.
pub(super) fn filled(body: &str, values: &impl Serialize) -> Result<String> {
    let template = format!("{HEAD}{body}");
    let values = minijinja::value::Serde(values);
    let mut environment = Environment::new();
    environment.add_filter("options", options);
    // The name makes minijinja escape the values.
    let page = environment.render_named_str("page.html", &template, values);
    page.context("the template of the page")
}

/// Marks options, which browsers would break after a hyphen.
fn options(text: &str) -> minijinja::Value {
    let is_option = |word: &str| word.trim_start_matches(['(', '`', '\'']).starts_with('-');
    let words = text.split(' ').map(|word| match is_option(word) {
        true => format!("<span class=\"option\">{}</span>", HtmlEscape(word)),
        false => HtmlEscape(word).to_string(),
    });
    minijinja::Value::from_safe_string(words.collect::<Vec<_>>().join(" "))
}

/// Input of the template.
#[derive(Serialize)]
struct ReportTemplate<'a> {
    policy: String,
    style: &'static str,
    scripts: &'static [&'static str],
    data: String,
    #[serde(flatten)]
    page: &'a page::ReportPage,
}

/// Input of the scripts of a page.
#[derive(Serialize)]
pub(super) struct ScriptData<D, W> {
    pub data: D,
    pub words: W,
}

#[derive(Serialize)]
struct ReportTexts<'a> {
    groups: &'a [page::GroupText],
}

/// The Content-Security-Policy: the browser runs these scripts, uses this style sheet and loads nothing else.
pub(super) fn policy(scripts: &[&str], style: &str) -> String {
    let hash =
        |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
    let (scripts, style) = (scripts.join(" "), hash(style));
    format!(
        "default-src 'none'; script-src {scripts}; style-src {style}; base-uri 'none'; form-action 'none'"
    )
}

/// JSON for a script element, without characters that end the element or begin another.
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
