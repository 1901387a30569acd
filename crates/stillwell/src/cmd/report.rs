//! `report`: a page of records or files of other programs.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use formats::Detail;

use crate::cmd::assessment::Assessment;
use crate::cmd::open;
use crate::cmd::output_file::{check_distinct, check_path, write_one};
use crate::cmd::print::print;
use host::user_files::open_to_read;
use model::spec::{FilesVerb, ReportVerb};
use model::values::exit_code;
use record::newest;
use render::report as page;

/// A text near the start of our pages (assets/report/page.html).
const OUR_PAGE: &str = "<meta name=\"generator\" content=\"stillwell\">";
/// Number of bytes to search for the text.
const PAGE_START: u64 = 4096;

pub fn report(verb: &ReportVerb) -> Result<u8> {
    let (output, is_named) = match &verb.output {
        Some(output) => (output.clone(), true),
        None => (beside(&verb.files)?, false),
    };
    refuse_input(verb, &output)?;
    if is_named {
        check_path("-o", &output)?;
    } else {
        refuse_other_page(&output)?;
    }
    let all = open::all(&verb.files, Detail::Everything)?;
    let all = all.map(|opened| Ok(Assessment::of(opened?.into_record()?)));
    let all: Vec<Assessment> = all.collect::<Result<_>>()?;
    let shown = output.display();
    let advice = if is_named { "" } else { "; name another place with -o" };
    write_one(&output, |to| write(to, &all, verb.title.as_deref()))
        .with_context(|| format!("cannot write the page {shown}{advice}"))?;
    if output != Path::new("-") {
        print(&format!("report: {shown}\n"))?;
    }
    Ok(exit_code::SUCCESS)
}

/// The page next to the first file: `a.html` for `a.swell`, `x.html` for a directory `x`.
fn beside(files: &FilesVerb) -> Result<PathBuf> {
    let first = if let Some(first) = files.files.first() { first.clone() } else { newest()? };
    let first = first.as_path();
    ensure!(
        first != Path::new("-"),
        "standard input has no place for a page beside it; name the page with -o FILE"
    );
    if first.is_dir() {
        // `..` and `.` give no name for a page.
        let name = first.file_name().with_context(|| {
            format!("{}: this directory has no name; name the page with -o FILE", first.display())
        })?;
        let mut name = name.to_owned();
        name.push(".html");
        return Ok(first.with_file_name(name));
    }
    let is_packed = first.extension().is_some_and(|extension| extension == "gz");
    let file = if is_packed { first.with_extension("") } else { first.into() };
    Ok(file.with_extension("html"))
}

/// Refuses to replace a file that the user did not name, unless it is one of our pages.
fn refuse_other_page(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    match open_to_read(path) {
        Ok(file) => drop(file.take(PAGE_START).read_to_end(&mut start)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        // The file exists and is not our page.
        Err(_) => {}
    }
    let is_ours = start.windows(OUR_PAGE.len()).any(|window| window == OUR_PAGE.as_bytes());
    let shown = path.display();
    ensure!(is_ours, "{shown} exists and is no report; name the page with -o FILE");
    Ok(())
}

fn refuse_input(verb: &ReportVerb, output: &Path) -> Result<()> {
    let shown = output.display();
    let is_record = output.extension().is_some_and(|extension| extension == "swell");
    ensure!(!is_record, "-o {shown}: that is the name of a record; a page ends with .html");
    check_distinct(&[("-o", output)], &open::inputs(&verb.files))
}

pub fn write(to: &mut dyn std::io::Write, all: &[Assessment], title: Option<&str>) -> Result<()> {
    let judged: Vec<_> = all.iter().map(Assessment::judged).collect();
    page::write(to, &judged, title)
}
