//! `convert`: a file in another format, with other benchmarks or metadata.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use formats::{BenchmarkValues, Detail, Results, edit};

use crate::cmd::assessment::Assessment;
use crate::cmd::exports::{export_as, held, note_direction, without_direction};
use crate::cmd::open::{FileContent, InputFile, records};
use crate::cmd::output_file::{write_new, write_one};
use crate::cmd::print::print;
use analysis::convert::to_record::ImportOptions;
use analysis::launches;
use host::terminal;
use host::user_files::{directory_of, in_the_way};
use model::spec::ConvertVerb;
use model::spec::convert::{EditOptions, WriteFormat};
use model::values::exit_code;
use record::plan::defaults;
use record::{Layout, Readers, Record, Writer};
use render::{bmf, pyperf, values};

/// Size of the pieces in which rows are written.
const PIECE_BYTES: usize = 1 << 20;

/// Reads, changes and writes a file; after an error none is written.
pub fn convert(verb: &ConvertVerb) -> Result<u8> {
    if let Some(output) = &verb.output {
        ensure!(output.symlink_metadata().is_err(), exists(output, to(verb)));
    }
    let mut opened = together(verb)?;
    let to = to(verb);
    if let (WriteFormat::Pyperf | WriteFormat::Bmf, FileContent::Own(record)) =
        (to, &opened.content)
    {
        note_direction(record);
    }
    if !verb.edits.is_empty() {
        if matches!(to, WriteFormat::Record | WriteFormat::Hyperfine | WriteFormat::Json) {
            check_direction(&opened)?;
        }
        opened = opened.changed(|results| edit(results, &verb.edits))?;
    }
    match to {
        WriteFormat::Record => record(verb, opened),
        WriteFormat::Pyperf => {
            let results = held(opened.into_results(), pyperf::why_not);
            let is_indented = verb.edits.indent;
            output(verb, to, &results, |mut to| match is_indented {
                true => pyperf::write_indented(&mut to, &results),
                false => pyperf::write(&mut to, &results),
            })
        }
        WriteFormat::Bmf => {
            let results = held(opened.into_results(), bmf::why_not);
            output(verb, to, &results, |mut to| bmf::write(&mut to, &results))
        }
        WriteFormat::Csv => {
            let why_not =
                |it: &BenchmarkValues| pyperf::why_not(it).filter(|_| it.n_launches() == 0);
            let results = held(opened.into_results(), why_not);
            let has_values = results.benchmarks.iter().any(|it| it.n_launches() > 0);
            ensure!(has_values, "there are no values in it, only summaries");
            output(verb, to, &results, |mut to| values::write_csv(&mut to, &results))
        }
        WriteFormat::Markdown => {
            let results = opened.into_results();
            output(
                verb,
                to,
                &results,
                |to| Ok(to.write_all(values::markdown(&results).as_bytes())?),
            )
        }
        WriteFormat::Hyperfine | WriteFormat::Json => {
            let (record, results) = opened.into_both(about(verb, true))?;
            let assessment = Assessment::of(record);
            let export = export_as(to).context("a format without a writer")?;
            output(verb, to, &results, |to| export(&assessment, to))
        }
    }
}

/// All named files as one: the others are added to the first.
fn together(verb: &ConvertVerb) -> Result<InputFile> {
    let mut all = records(&verb.files, &verb.input, Detail::Everything)?;
    let first = all.next().context("there is no file")??;
    first.tell_unread();
    if all.len() == 0 {
        return Ok(first);
    }
    check_direction(&first)?;
    let path = first.path.display().to_string();
    first.changed(|results| {
        for other in all {
            let other = other?;
            other.tell_unread();
            check_direction(&other)?;
            let shown = other.path.display().to_string();
            let other = other.into_results();
            results.format = results.format.filter(|_| results.format == other.format);
            edit::add(results, other).with_context(|| format!("cannot add {shown} to {path}"))?;
        }
        Ok(())
    })
}

/// Errors: more of a record's value is better, and changed results would say the opposite.
fn check_direction(opened: &InputFile) -> Result<()> {
    let FileContent::Own(record) = &opened.content else { return Ok(()) };
    if let Some(why) = without_direction(record) {
        bail!(
            "{}: {why}; convert this file alone and unchanged, or measure with --value-unit ops/s",
            opened.path.display()
        );
    }
    Ok(())
}

/// The named format, or else the format of the output's name.
fn to(verb: &ConvertVerb) -> WriteFormat {
    let name = verb.output.as_deref().and_then(Path::file_name).unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    verb.to.unwrap_or(match plain.rsplit_once('.').map(|(_, extension)| extension) {
        Some("swell") => WriteFormat::Record,
        Some("csv") => WriteFormat::Csv,
        Some("md") => WriteFormat::Markdown,
        _ => WriteFormat::Pyperf,
    })
}

fn about(verb: &ConvertVerb, is_flat: bool) -> ImportOptions {
    ImportOptions {
        n_warmups: verb.warmup.unwrap_or(defaults::CONVERT_WARMUPS),
        reference: verb.reference.clone(),
        is_flat,
        with_launches: !is_flat,
        ..ImportOptions::default()
    }
}

fn edit(results: &mut Results, edits: &EditOptions) -> Result<()> {
    if !edits.include_benchmark.is_empty() {
        edit::include_benchmarks(results, &edits.include_benchmark)
            .context("--include-benchmark")?;
    }
    if !edits.exclude_benchmark.is_empty() {
        edit::exclude_benchmarks(results, &edits.exclude_benchmark)
            .context("--exclude-benchmark")?;
    }
    if let Some(numbers) = &edits.include_runs {
        edit::include_launches(results, numbers).context("--include-runs")?;
    }
    if let Some(numbers) = &edits.exclude_runs {
        edit::exclude_launches(results, numbers).context("--exclude-runs")?;
    }
    if edits.remove_warmups {
        edit::remove_warmups(results).context("--remove-warmups")?;
    }
    if let Some(key) = &edits.extract_metadata {
        edit::extract_metadata(results, key).context("--extract-metadata")?;
    }
    if edits.remove_all_metadata {
        edit::remove_all_metadata(results);
    }
    for pair in &edits.update_metadata {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("--update-metadata {pair}: a key and a value are expected: KEY=VALUE");
        };
        edit::update_metadata(results, key, value).context("--update-metadata")?;
    }
    Ok(())
}

fn exists(output: &Path, to: WriteFormat) -> anyhow::Error {
    let what = if to == WriteFormat::Record { "the record " } else { "" };
    anyhow!("{what}{} {}", output.display(), in_the_way(output))
}

/// Writes a file in another format than the record's.
fn output(
    verb: &ConvertVerb,
    to: WriteFormat,
    results: &Results,
    export: impl Fn(&mut dyn io::Write) -> Result<()>,
) -> Result<u8> {
    let Some(path) = &verb.output else {
        write_one(Path::new("-"), export)?;
        return Ok(exit_code::SUCCESS);
    };
    write_new(path, export)
        .map_err(|error| match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::AlreadyExists) => exists(path, to),
            _ => error,
        })
        .with_context(|| format!("cannot write {}", path.display()))?;
    let n_values: usize = results.benchmarks.iter().map(|it| it.values.len()).sum();
    print(&format!(
        "benchmarks: {}, values: {n_values}\nfile: {}\n",
        results.benchmarks.len(),
        path.display()
    ))?;
    Ok(exit_code::SUCCESS)
}

fn record(verb: &ConvertVerb, opened: InputFile) -> Result<u8> {
    let shown = opened.path.display().to_string();
    ensure!(
        matches!(opened.content, FileContent::Foreign(..)),
        "{shown} is a record already; --to says what else to write"
    );
    let record = launches::scattered(opened.into_record_with(about(verb, false))?);
    let Some(path) = &verb.output else {
        let mut stdout = io::BufWriter::new(terminal::data());
        lines(&record, |piece| Ok(stdout.write_all(piece)?))?;
        stdout.flush()?;
        return Ok(exit_code::SUCCESS);
    };
    write(path, &record)?;
    let plan = &record.header.plan;
    let n_warmups = (0..record.rows.len()).filter(|&at| record.rows.block(at).is_none()).count();
    let n_values = record.rows.len() - n_warmups;
    let n_arms = plan.candidates().count();
    let what = if plan.arms.iter().all(|arm| arm.benchmark.is_none()) {
        format!("commands: {n_arms}, runs: {n_values}, warm-up runs: {n_warmups}")
    } else {
        format!("benchmarks: {n_arms}, values: {n_values}, warm-ups: {n_warmups}")
    };
    print(&format!("{what}\nrecord: {}\n", path.display()))?;
    Ok(exit_code::SUCCESS)
}

/// The header and the lines of a record, piece by piece.
fn lines(record: &Record, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut line = serde_json::to_vec(&record.header).context("cannot serialise the header")?;
    line.push(b'\n');
    each(&line)?;
    rest(record, each)
}

fn rest(record: &Record, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let layout = Layout::from_names(&record.header.columns).map_err(anyhow::Error::msg)?;
    let mut lines = Vec::new();
    let mut pass_on = |lines: &mut Vec<u8>| {
        if lines.len() >= PIECE_BYTES {
            each(lines)?;
            lines.clear();
        }
        anyhow::Ok(())
    };
    for row in record.rows.iter() {
        layout.encode(&row, &mut lines);
        pass_on(&mut lines)?;
    }
    for event in &record.events {
        serde_json::to_writer(&mut lines, event).context("cannot serialise an event")?;
        lines.push(b'\n');
        pass_on(&mut lines)?;
    }
    each(&lines)
}

/// Writes under another name until the file is complete. An error removes that file.
fn write(path: &Path, record: &Record) -> Result<()> {
    let cannot_write = || format!("cannot write the record {}", path.display());
    if path.extension().is_some_and(|extension| extension == "gz") {
        let packed = write_new(path, |to| lines(record, |piece| Ok(to.write_all(piece)?)));
        return packed.with_context(cannot_write);
    }
    let mut file = tempfile::Builder::new()
        .make_in(directory_of(path), |path| {
            Writer::create(path, &record.header, Readers::Owner).map_err(io::Error::other)
        })
        .with_context(cannot_write)?;
    rest(record, |piece| file.as_file_mut().append(piece)).with_context(cannot_write)?;
    // Keeps a record that another process made under this name in the meantime.
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(exists(path, WriteFormat::Record))
        }
        Err(failed) => Err(failed.error).with_context(cannot_write),
    }
}
