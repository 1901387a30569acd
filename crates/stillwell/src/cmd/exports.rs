//! `--export` and its like: files for other programs. A file is complete or not there at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::cmd::judged::Judged;
use crate::cmd::{open, report};
use crate::convert::read::Detail;
use crate::convert::{edit, of_record};
use crate::host::with_their_files;
use crate::render::markup::{self, Markup};
use crate::render::{bmf, csv, hyperfine, json as document, pyperf, times};
use crate::spec::convert::WriteFormat;
use crate::spec::input::InputOptions;
use crate::spec::run::ExportOptions;
use crate::values::FileFormat;

pub type Export = fn(&Judged, &mut dyn Write) -> Result<()>;

/// An export that was asked for: its option, where it goes, and what writes it.
type Wanted<'a> = (&'static str, &'a Path, Export);

impl ExportOptions {
    /// Whether none was asked for.
    pub fn is_empty(&self) -> bool {
        self.export.is_empty() && self.by_option().next().is_none()
    }

    fn wanted(&self) -> Result<Vec<Wanted<'_>>> {
        let mut wanted: Vec<Wanted<'_>> = self.by_option().collect();
        for pair in self.export.chunks_exact(2) {
            let format = WriteFormat::from_str(&pair[0], true).ok();
            let Some(export) = format.and_then(export_as) else {
                bail!(
                    "--export {}: the formats are pyperf, bmf, csv, markdown, hyperfine and json",
                    pair[0]
                );
            };
            wanted.push(("--export", Path::new(&pair[1]), export));
        }
        Ok(wanted)
    }

    fn by_option(&self) -> impl Iterator<Item = Wanted<'_>> {
        [
            ("--export-json", &self.export_json, json as Export),
            ("--export-json-v1", &self.export_json_v1, json_v1),
            ("--export-csv", &self.export_csv, comma_separated),
            ("--export-markdown", &self.export_markdown, |judged, to| {
                table(judged, Markup::Markdown, to)
            }),
            ("--export-asciidoc", &self.export_asciidoc, |judged, to| {
                table(judged, Markup::Asciidoc, to)
            }),
            ("--export-orgmode", &self.export_orgmode, |judged, to| table(judged, Markup::Org, to)),
            ("--export-times", &self.export_times, |judged, mut to| {
                Ok(times::write(&mut to, &judged.record)?)
            }),
            ("--report", &self.report, |judged, to| {
                report::write(to, std::slice::from_ref(judged), None)
            }),
        ]
        .into_iter()
        .filter_map(|(option, path, export)| Some((option, path.as_deref()?, export)))
    }

    /// Whether some export goes to standard output, so that nothing else should.
    pub fn uses_stdout(&self) -> bool {
        let pairs = self.export.chunks_exact(2).any(|pair| pair[1] == "-");
        pairs || self.by_option().any(|(_, path, _)| path == Path::new("-"))
    }
}

/// Refuses what cannot be written later, before anything is measured.
///
/// # Errors
/// The first file whose directory does not exist.
pub fn check(options: &ExportOptions) -> Result<()> {
    let wanted = options.wanted()?;
    let paths: Vec<&Path> = wanted.iter().map(|(_, path, _)| *path).collect();
    for (index, (option, path, _)) in wanted.into_iter().enumerate() {
        let is_taken = paths[..index].contains(&path);
        ensure!(!is_taken, "{option} {}: another export goes there", path.display());
        check_path(option, path)?;
    }
    Ok(())
}

/// Refuses a file whose directory does not exist.
///
/// # Errors
/// There is no such directory, or the file is one.
pub fn check_path(option: &str, path: &Path) -> Result<()> {
    let (shown, directory) = (path.display(), directory_of(path));
    let shown_directory = directory.display();
    ensure!(directory.is_dir(), "{option} {shown}: there is no directory {shown_directory}");
    ensure!(!path.is_dir(), "{option} {shown}: it is a directory");
    Ok(())
}

/// The directory that a file is in.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes all that were asked for.
///
/// # Errors
/// The first file that cannot be written.
pub fn write(options: &ExportOptions, judged: &Judged) -> Result<()> {
    for (option, path, export) in options.wanted()? {
        let shown = path.display();
        write_one(path, |to| export(judged, to))
            .with_context(|| format!("{option} {shown}: cannot write"))?;
    }
    Ok(())
}

/// What writes a format that is no record.
pub fn export_as(format: WriteFormat) -> Option<Export> {
    Some(match format {
        WriteFormat::Record => return None,
        WriteFormat::Pyperf => pyperf_json,
        WriteFormat::Bmf => bencher,
        WriteFormat::Csv => comma_separated,
        WriteFormat::Markdown => |judged, to| table(judged, Markup::Markdown, to),
        WriteFormat::Hyperfine => json,
        WriteFormat::Json => whole_analysis,
    })
}

/// Writes a file as a whole: it is complete or not there at all. What ends with .gz is compressed.
///
/// # Errors
/// It cannot be written, or `export` fails.
pub fn write_one(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "gz") {
        return write_plain(path, |to| {
            let mut gzip = GzEncoder::new(to, Compression::default());
            export(&mut gzip)?;
            gzip.finish()?;
            Ok(())
        });
    }
    write_plain(path, export)
}

/// Writes a file that must not exist yet.
///
/// # Errors
/// As [`write_one`]; it exists.
pub fn write_new(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    ensure!(path.symlink_metadata().is_err(), io::Error::from(io::ErrorKind::AlreadyExists));
    write_one(path, export)
}

fn write_plain(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut stdout = BufWriter::new(io::stdout().lock());
        export(&mut stdout)?;
        return Ok(stdout.flush()?);
    }
    // A device or a pipe (/dev/null, /dev/stdout) is written to, not replaced.
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        let mut file = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
        export(&mut file)?;
        return Ok(file.flush()?);
    }
    // A link is followed, not replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.into());
    let file = with_their_files(|| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        tempfile::Builder::new().permissions(mode).tempfile_in(directory_of(path))
    });
    // Its own message names the temporary file.
    let file = file.map_err(|error| io::Error::from(error.kind()))?;
    let mut buffer = BufWriter::new(file);
    export(&mut buffer)?;
    let file: NamedTempFile = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}

fn json(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(hyperfine::write_v2(&mut to, &judged.record, &judged.analysis)?)
}

fn json_v1(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(hyperfine::write_v1(&mut to, &judged.record, &judged.analysis)?)
}

fn pyperf_json(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    pyperf::write(&mut to, &of_record::results(&judged.record))
}

fn bencher(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    bmf::write(&mut to, &of_record::results(&judged.record))
}

fn whole_analysis(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(document::write(&mut to, &judged.record, &judged.analysis, &judged.judgements)?)
}

fn comma_separated(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(csv::write(&mut to, &judged.record, &judged.analysis, &judged.judgements)?)
}

fn table(judged: &Judged, markup: Markup, to: &mut dyn Write) -> Result<()> {
    let table = markup::table(markup, &judged.record, &judged.analysis, &judged.judgements);
    Ok(to.write_all(table.as_bytes())?)
}

/// Adds the benchmarks of a record to a file of pyperf's, which need not exist: what both have gets the processes of both.
///
/// # Errors
/// The file is none of pyperf's, what both have is not of one machine, or it cannot be written.
pub fn append(path: &Path, judged: &Judged) -> Result<()> {
    let shown = path.display();
    let ours = of_record::results(&judged.record);
    let results = if path.exists() {
        let input = InputOptions { format: Some(FileFormat::Pyperf), ..InputOptions::default() };
        let mut results = open::open(path, &input, Detail::Everything)
            .with_context(|| format!("--append {shown}"))?
            .into_results();
        edit::add(&mut results, ours).with_context(|| format!("--append {shown}"))?;
        results
    } else {
        ours
    };
    write_one(path, |mut to| pyperf::write(&mut to, &results))
        .with_context(|| format!("--append {shown}: cannot write"))
}
