//! `--export` and similar options: files for other programs.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum as _;
use formats::{BenchmarkValues, Detail, FileFormat, ResultUnit, Results, edit};

use crate::cmd::assessment::Assessment;
use crate::cmd::output_file::{
    NamedFile, check_distinct, check_path, named, write_all, write_option,
};
use crate::cmd::{open, report};
use analysis::convert::of_record;
use host::terminal;
use host::user_files::in_the_way;
use model::spec::convert::WriteFormat;
use model::spec::input::InputOptions;
use model::spec::run::ExportOptions;
use model::spec::workers::SessionOptions;
use model::values::DecideOn;
use record::Record;
use render::markup::{self, Markup};
use render::{bmf, csv, hyperfine, pyperf, times};

pub type Export = fn(&Assessment, &mut dyn Write) -> Result<()>;

type ExportRequest<'a> = (&'static str, &'a Path, Export);

pub fn are_none(options: &ExportOptions) -> bool {
    options.export.is_empty() && by_option(options).next().is_none()
}

fn wanted(options: &ExportOptions) -> Result<Vec<ExportRequest<'_>>> {
    let mut wanted: Vec<ExportRequest<'_>> = by_option(options).collect();
    for pair in options.export.chunks_exact(2) {
        let format = WriteFormat::from_str(&pair[0], true).ok();
        let Some(export) = session_export(&pair[0]).or(format.and_then(export_as)) else {
            bail!(
                "--export {}: the formats are json, markdown, asciidoc, org, csv, times, hyperfine, hyperfine-1, pyperf and bmf",
                pair[0]
            );
        };
        wanted.push(("--export", Path::new(&pair[1]), export));
    }
    Ok(wanted)
}

fn by_option(options: &ExportOptions) -> impl Iterator<Item = ExportRequest<'_>> {
    [
        ("--export-json", &options.export_json, json as Export),
        ("--export-csv", &options.export_csv, comma_separated),
        ("--export-markdown", &options.export_markdown, |assessment, to| {
            table(assessment, Markup::Markdown, to)
        }),
        ("--export-asciidoc", &options.export_asciidoc, |assessment, to| {
            table(assessment, Markup::Asciidoc, to)
        }),
        ("--export-orgmode", &options.export_orgmode, |assessment, to| {
            table(assessment, Markup::Org, to)
        }),
        ("--report", &options.report, |assessment, to| {
            report::write(to, std::slice::from_ref(assessment), None)
        }),
    ]
    .into_iter()
    .filter_map(|(option, path, export)| Some((option, path.as_deref()?, export)))
}

/// Whether an export goes to standard output, so that the summary does not.
pub fn use_stdout(options: &ExportOptions) -> bool {
    let pairs = options.export.chunks_exact(2).any(|pair| pair[1] == "-");
    pairs || by_option(options).any(|(_, path, _)| path == Path::new("-"))
}

/// Refuses exports that could not be written after the session, or would replace one of these files. With `as_json`,
/// standard output is taken.
pub fn check(
    options: &ExportOptions,
    as_json: bool,
    record: Option<&Path>,
    others: &[NamedFile<'_>],
) -> Result<()> {
    ensure!(
        !(as_json && use_stdout(options)),
        "--json and an export to - are both for standard output; give the export the name of a file"
    );
    let exports: Vec<NamedFile<'_>> =
        wanted(options)?.into_iter().map(|(option, path, _)| (option, path)).collect();
    check_distinct(&[named(&[("-o", record)]), exports.clone()].concat(), others)?;
    exports.into_iter().try_for_each(|(option, path)| check_path(option, path))
}

/// The options of a session, with the file of `-o` as an export if its name says so. Errors: the file exists; `-o`
/// never replaces one.
pub fn by_suffix(options: &SessionOptions) -> Result<SessionOptions> {
    let (options, file) = options.by_suffix();
    if let Some(path) = file {
        ensure!(path.symlink_metadata().is_err(), "-o: {} {}", path.display(), in_the_way(&path));
    }
    Ok(options)
}

/// Writes all requested exports.
pub fn write(options: &ExportOptions, assessment: &Assessment) -> Result<()> {
    write_all(
        wanted(options)?
            .into_iter()
            .map(|(option, path, export)| write_option(option, path, |to| export(assessment, to))),
    )
}

/// The writer of a format only for sessions.
fn session_export(format: &str) -> Option<Export> {
    Some(match format {
        "asciidoc" => |assessment, to| table(assessment, Markup::Asciidoc, to),
        "org" => |assessment, to| table(assessment, Markup::Org, to),
        "hyperfine-1" => |assessment, mut to| {
            leave_out("hyperfine-1", assessment)?;
            Ok(hyperfine::write_v1(&mut to, &assessment.record, &assessment.analysis)?)
        },
        "times" => |assessment, mut to| {
            leave_out("times", assessment)?;
            Ok(times::write(&mut to, &assessment.record)?)
        },
        _ => return None,
    })
}

/// Says what a format that has only times leaves out. Errors: that is everything.
fn leave_out(format: &str, assessment: &Assessment) -> Result<()> {
    const OTHERS: &str = "hyperfine, csv and markdown have them";
    let record = &assessment.record;
    let out = times::without_times(record);
    let what = |unit: &ResultUnit| match unit {
        ResultUnit::Bytes => "memory".to_owned(),
        ResultUnit::Count => "counts".to_owned(),
        unit => format!("in {}", unit.name()),
    };
    if let Some((label, unit)) = out.first() {
        ensure!(
            out.len() < record.header.plan.candidates().count(),
            "{format} has only times, and the values of {label} are {}; {OTHERS}",
            what(unit)
        );
    }
    for (label, unit) in &out {
        terminal::say_bare(format!(
            "note: {label} is left out: {format} has only times, and its values are {}; {OTHERS}",
            what(unit)
        ));
    }
    if record.header.plan.policy.decide_on == Some(DecideOn::Value) {
        terminal::say_bare(format!(
            "note: {format} has the wall times, not the values that decide; {OTHERS}"
        ));
    }
    Ok(())
}

/// Warns if other programs take the better values of a record for the worse ones.
pub fn note_direction(record: &Record) {
    if let Some(why) = without_direction(record) {
        terminal::say_bare(format!("note: {why}"));
    }
}

/// The direction that other formats do not have.
pub fn without_direction(record: &Record) -> Option<String> {
    let arm = of_record::without_direction(record)?;
    Some(format!(
        "more of the value of {} is better, but other formats say so only by a unit such as ops/s",
        record.header.plan.full_label(arm)
    ))
}

/// The benchmarks that a format can hold. The others are reported. If the format can hold none, the writer says why.
pub fn held(mut results: Results, why_not: impl Fn(&BenchmarkValues) -> Option<String>) -> Results {
    let whys: Vec<Option<String>> = results.benchmarks.iter().map(why_not).collect();
    if whys.iter().all(Option::is_some) || whys.iter().all(Option::is_none) {
        return results;
    }
    for (label, why) in results.labels().iter().zip(&whys) {
        if let Some(why) = why {
            terminal::say_bare(format!("note: {label} is left out: {why}"));
        }
    }
    let mut whys = whys.iter();
    results.benchmarks.retain(|_| whys.next().is_some_and(Option::is_none));
    results.order.clear();
    results
}

/// The writer of a format; `None` for records.
pub fn export_as(format: WriteFormat) -> Option<Export> {
    Some(match format {
        WriteFormat::Record => return None,
        WriteFormat::Pyperf => |it, mut to| {
            note_direction(&it.record);
            pyperf::write(&mut to, &held(of_record::results(&it.record), pyperf::why_not))
        },
        WriteFormat::Bmf => |it, mut to| {
            note_direction(&it.record);
            bmf::write(&mut to, &held(of_record::results(&it.record), bmf::why_not))
        },
        WriteFormat::Csv => comma_separated,
        WriteFormat::Markdown => |assessment, to| table(assessment, Markup::Markdown, to),
        WriteFormat::Hyperfine => json,
        WriteFormat::Json => |assessment, to| assessment.write_document(to, None),
    })
}

fn json(assessment: &Assessment, mut to: &mut dyn Write) -> Result<()> {
    note_direction(&assessment.record);
    Ok(hyperfine::write_v2(&mut to, &assessment.record, &assessment.analysis)?)
}

fn comma_separated(assessment: &Assessment, mut to: &mut dyn Write) -> Result<()> {
    Ok(csv::write(&mut to, assessment.judged())?)
}

fn table(assessment: &Assessment, markup: Markup, to: &mut dyn Write) -> Result<()> {
    let table = markup::table(markup, assessment.judged());
    Ok(to.write_all(table.as_bytes())?)
}

/// The results in the file of `--append`. `None` for a new file, a FIFO or a device. Errors: the file is not pyperf's.
pub fn appended_to(path: &Path) -> Result<Option<Results>> {
    if !path.is_file() {
        return Ok(None);
    }
    let input = InputOptions { format: Some(FileFormat::Pyperf), ..InputOptions::default() };
    let opened = open::open(path, &input, Detail::Everything)
        .context("--append: name a new file, or one of pyperf's")?;
    Ok(Some(opened.into_results()))
}

/// Adds the benchmarks of a record to a pyperf file, which need not exist. A benchmark in both gets the processes of
/// both. Errors: the file is not pyperf's, or a benchmark in both comes from two machines.
pub fn append(path: &Path, assessment: &Assessment) -> Result<()> {
    let shown = path.display();
    let ours = held(of_record::results(&assessment.record), pyperf::why_not);
    let results = match appended_to(path)? {
        Some(mut results) => {
            edit::add(&mut results, ours).with_context(|| format!("--append {shown}"))?;
            results
        }
        None => ours,
    };
    write_option("--append", path, |mut to| pyperf::write(&mut to, &results))
}
