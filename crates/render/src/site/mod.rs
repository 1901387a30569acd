//! A history as a site of static pages: an index and a page for each benchmark, with shared style and scripts, without
//! network. This module writes text and tables; the scripts draw the charts from the data of `history::chart`.
//!
//! Names, revisions and subjects of commits are hostile input: see `render::report`. File names consist of ASCII
//! letters, digits, `-` and a digest of the benchmark's name, so no two are equal, and none leaves its directory.

mod card;
mod page;

use std::path::Path;
use std::rc::Rc;

use anyhow::Result;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::history::SeriesChange;
use crate::report::{D3, DRAW, FIGURES, PLOT, STYLE, ScriptData, embedded, filled};
use crate::units::counted;
use model::values::Estimate;
use search::history::chart;
use search::history::detection::NearestChange;
use search::history::series::Series;

const TEMPLATE: &str = include_str!("../../assets/report/site.html");
/// The scripts. Each may use the earlier ones.
const SCRIPTS: [(&str, &str); 5] = [
    ("d3-7.9.0", D3),
    ("plot-0.6.17", PLOT),
    ("draw", DRAW),
    ("figures", FIGURES),
    ("site", include_str!("../../assets/report/site.js")),
];
const LICENCES: [(&str, &str); 2] = [
    ("d3", include_str!("../../assets/vendor/d3.LICENSE")),
    ("plot", include_str!("../../assets/vendor/plot.LICENSE")),
];
/// Pages load only the site's files. `file:` is for browsers that give a page on a disk no origin.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'";

/// The index page, which links to all others.
pub const INDEX: &str = "index.html";
/// Directories of the site.
pub const ASSETS: &str = "assets";
pub const PAGES: &str = "b";
/// Longest readable part of a file name, characters.
const SLUG_MAX: usize = 60;
/// Digits of a digest. A name's digest keeps benchmarks apart, a script's digest its versions.
const NAME_DIGITS: usize = 12;
const SCRIPT_DIGITS: usize = 8;

/// A history, ready to be written.
#[derive(Clone, Copy, Debug)]
pub struct HistorySite<'a> {
    /// Series of one benchmark are adjacent.
    pub series: &'a [Series],
    pub changes: &'a [SeriesChange<'a>],
    /// Without a change: the movement nearest to one.
    pub nearest: Option<&'a NearestChange>,
    /// The estimate in each result of the series.
    pub estimate: Estimate,
    pub title: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub struct SiteFile {
    /// Path from the directory of the site.
    pub path: String,
    pub text: String,
}

impl HistorySite<'_> {
    /// Paths of all pages, from the directory of the site.
    pub fn pages(&self) -> impl Iterator<Item = String> {
        let benchmarks = self.series.chunk_by(|a, b| a.benchmark == b.benchmark);
        benchmarks.map(|series| page_of(&series[0].benchmark)).chain([INDEX.to_owned()])
    }
}

/// Files that all pages share. The digest in a file name keeps pages from loading another version of a script.
pub fn assets() -> Vec<SiteFile> {
    let scripts = SCRIPTS.iter().map(|(name, text)| (name, "js", *text));
    let files = scripts.chain([(&"style", "css", STYLE)]);
    let hashed = files.map(|(name, extension, text)| SiteFile {
        path: format!("{ASSETS}/{name}.{}.{extension}", digest(text, SCRIPT_DIGITS)),
        text: text.into(),
    });
    let licences = LICENCES.iter().map(|(name, text)| SiteFile {
        path: format!("{ASSETS}/{name}.LICENSE"),
        text: (*text).into(),
    });
    hashed.chain(licences).collect()
}

/// All pages. The index comes last, so the links in it work from the start.
pub fn pages<'a>(site: HistorySite<'a>) -> impl Iterator<Item = Result<SiteFile>> + 'a {
    let frame = Rc::new(PageFrame::new());
    let of_index = Rc::clone(&frame);
    let benchmarks = site.series.chunk_by(|a, b| a.benchmark == b.benchmark);
    let benchmarks = benchmarks.map(move |series| {
        let charts = series.iter().map(|series| chart::chart(series, site.estimate)).collect();
        let words = series.iter().map(|series| page::chart_words(series, site.estimate)).collect();
        let data =
            ScriptData { data: OfSeries { series: charts }, words: OfSeries { series: words } };
        let path = page_of(&series[0].benchmark);
        Ok(SiteFile { path, text: frame.html(&page::benchmark(site, series), "../", &data)? })
    });
    let index = std::iter::once_with(move || {
        let data = IndexSparks { sparks: site.series.iter().map(chart::spark).collect() };
        let data = ScriptData { data, words: () };
        Ok(SiteFile { path: INDEX.into(), text: of_index.html(&page::index(site), "", &data)? })
    });
    benchmarks.chain(index)
}

/// The charts of a benchmark's series, or the texts of these charts.
#[derive(Serialize)]
struct OfSeries<T> {
    series: Vec<T>,
}

#[derive(Serialize)]
struct IndexSparks {
    sparks: Vec<chart::Sparkline>,
}

/// Input of the template.
#[derive(Serialize)]
struct SiteTemplate<'a> {
    policy: &'static str,
    /// Path from the page to the directory of the site.
    root: &'static str,
    style: &'a str,
    scripts: &'a [String],
    data: String,
    #[serde(flatten)]
    page: &'a page::SitePage,
}

/// The paths of the shared style sheet and scripts.
struct PageFrame {
    style: String,
    scripts: Vec<String>,
}

impl PageFrame {
    fn new() -> Self {
        let paths = assets().into_iter().map(|file| file.path);
        let (scripts, others): (Vec<String>, Vec<String>) =
            paths.partition(|path| path.ends_with(".js"));
        let style = others.into_iter().find(|path| path.ends_with(".css"));
        Self { style: style.unwrap_or_default(), scripts }
    }

    fn html(
        &self,
        page: &page::SitePage,
        root: &'static str,
        data: &impl Serialize,
    ) -> Result<String> {
        let (Self { style, scripts }, data) = (self, embedded(data)?);
        filled(TEMPLATE, &SiteTemplate { policy: POLICY, root, style, scripts, data, page })
    }
}

/// The file of a benchmark's page.
fn page_of(benchmark: &str) -> String {
    let mut slug = String::new();
    for char in benchmark.chars() {
        if char.is_ascii_alphanumeric() {
            slug.push(char.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    let slug = if slug.is_empty() { "benchmark" } else { slug };
    format!("{PAGES}/{slug}-{}.html", digest(benchmark, NAME_DIGITS))
}

/// The message after writing a site: the path of the index and the number of written files.
pub fn written_message(path: &Path, n_written: usize) -> String {
    let index = path.join(INDEX);
    let files = counted(n_written, "file");
    format!("report: {}, {files} new or changed\n", index.display())
}

fn digest(text: &str, n_digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..n_digits].to_owned()
}

#[cfg(test)]
mod tests;
