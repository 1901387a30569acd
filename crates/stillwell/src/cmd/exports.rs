//! `--export-*`: files for other programs. A file is complete or not there at all.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tempfile::NamedTempFile;

use crate::cmd::judged::Judged;
use crate::render::markup::{self, Markup};
use crate::render::{csv, hyperfine, times};
use crate::spec::run::ExportOptions;

type Export = fn(&Judged, &mut dyn Write) -> Result<()>;

impl ExportOptions {
    fn wanted(&self) -> impl Iterator<Item = (&'static str, &Path, Export)> {
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
        ]
        .into_iter()
        .filter_map(|(option, path, export)| Some((option, path.as_deref()?, export)))
    }

    /// Whether some export goes to standard output, so that nothing else should.
    pub fn uses_stdout(&self) -> bool {
        self.wanted().any(|(_, path, _)| path == Path::new("-"))
    }
}

/// Refuses what cannot be written later, before anything is measured.
///
/// # Errors
/// The first file whose directory does not exist.
pub fn check(options: &ExportOptions) -> Result<()> {
    let paths: Vec<&Path> = options.wanted().map(|(_, path, _)| path).collect();
    for (index, (option, path, _)) in options.wanted().enumerate() {
        let is_taken = paths[..index].contains(&path);
        ensure!(!is_taken, "{option} {}: another export goes there", path.display());
        let directory = directory_of(path);
        ensure!(
            directory.is_dir(),
            "{option} {}: there is no directory {}",
            path.display(),
            directory.display()
        );
        ensure!(!path.is_dir(), "{option} {}: it is a directory", path.display());
    }
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
    for (option, path, export) in options.wanted() {
        let shown = path.display();
        write_one(path, |to| export(judged, to))
            .with_context(|| format!("{option} {shown}: cannot write"))?;
    }
    Ok(())
}

fn write_one(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut stdout = BufWriter::new(std::io::stdout().lock());
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
    let builder_mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let file = tempfile::Builder::new().permissions(builder_mode).tempfile_in(directory_of(path));
    // Its own message names the temporary file.
    let file = file.map_err(|error| std::io::Error::from(error.kind()))?;
    let mut buffer = BufWriter::new(file);
    export(&mut buffer)?;
    let file: NamedTempFile = buffer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}

fn json(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(hyperfine::write_v2(&mut to, &judged.record, &judged.analysis)?)
}

fn json_v1(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(hyperfine::write_v1(&mut to, &judged.record, &judged.analysis)?)
}

fn comma_separated(judged: &Judged, mut to: &mut dyn Write) -> Result<()> {
    Ok(csv::write(&mut to, &judged.record, &judged.analysis, &judged.judgements)?)
}

fn table(judged: &Judged, markup: Markup, to: &mut dyn Write) -> Result<()> {
    let table = markup::table(markup, &judged.record, &judged.analysis, &judged.judgements);
    Ok(to.write_all(table.as_bytes())?)
}
