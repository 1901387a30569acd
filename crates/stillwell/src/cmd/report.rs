//! `report`: records, or files of other programs, as one page.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::analysis::report::{ReportInput, report as report_data};
use crate::cmd::assessment::Assessment;
use crate::cmd::output_file::{check_path, write_one};
use crate::cmd::print::print;
use crate::convert::source::Detail;
use crate::render::report as page;
use crate::render::report::ReportRecord;
use crate::spec::ReportVerb;
use crate::values::exit_code;

/// `report`.
pub fn report(verb: &ReportVerb) -> Result<u8> {
    check_path("-o", &verb.output)?;
    refuse_input(verb)?;
    let mut all = Vec::new();
    for opened in verb.files.open(Detail::Everything)? {
        all.push(Assessment::of(opened?.into_record()?));
    }
    let shown = verb.output.display();
    write_one(&verb.output, |to| write(to, &all, verb.title.as_deref()))
        .with_context(|| format!("-o {shown}: cannot write"))?;
    if verb.output != Path::new("-") {
        print(&format!("report: {shown}\n"))?;
    }
    Ok(exit_code::SUCCESS)
}

/// Refuses an output that would overwrite its own input.
fn refuse_input(verb: &ReportVerb) -> Result<()> {
    let shown = verb.output.display();
    let is_record = verb.output.extension().is_some_and(|extension| extension == "swell");
    ensure!(!is_record, "-o {shown}: that is the name of a record; a page ends with .html");
    let Ok(output) = verb.output.canonicalize() else { return Ok(()) };
    let is_input = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == output);
    ensure!(
        !verb.files.files.iter().any(is_input),
        "-o {shown}: the page would replace its own data"
    );
    Ok(())
}

/// Writes the page of the records.
///
/// # Errors
/// `to` cannot be written.
pub fn write(to: &mut dyn std::io::Write, all: &[Assessment], title: Option<&str>) -> Result<()> {
    let inputs: Vec<ReportInput<'_>> =
        all.iter().map(|it| ReportInput { record: &it.record, analysis: &it.analysis }).collect();
    let data = report_data(&inputs);
    let reported = inputs.iter().zip(all);
    let reported: Vec<ReportRecord<'_>> =
        reported.map(|(&input, it)| ReportRecord { input, judgements: &it.judgements }).collect();
    page::write(to, &reported, &data, title)
}
