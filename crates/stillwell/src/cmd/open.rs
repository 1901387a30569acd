//! Input files of the verbs: our own records, and the files of other programs as results.

#![expect(clippy::disallowed_methods, reason = "reads files and looks into directories")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _, Seek as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use jiff::{Timestamp, tz::TimeZone};

use crate::analysis::suite::merge;
use crate::analysis::{launches, select};
use crate::cmd::memory::unpacked_max;
use crate::cmd::programs::refuse_program;
use crate::convert::read::{limit_unpacked, unpacked, unpacking};
use crate::convert::source::{Detail, ReadOptions, SourceFile};
use crate::convert::to_record::{self, ImportOptions};
use crate::convert::{criterion, detect, edit, of_record};
use crate::plan::defaults::CRITERION_SIDE;
use crate::record::{self, Record, START, SuiteManifest};
use crate::results::Results;
use crate::spec::input::InputOptions;
use crate::values::FileFormat;

/// Extension of our own records.
const EXTENSION: &str = "swell";
/// Largest number of files below a directory that are read.
const N_FILES_MAX: usize = 100_000;

/// An input file.
#[derive(Debug)]
pub struct InputFile {
    /// Its path, as the user wrote it.
    pub path: PathBuf,
    /// Its content.
    pub content: FileContent,
    /// The time of its creation, RFC 3339.
    created: String,
}

/// The content of an input file.
#[derive(Debug)]
pub enum FileContent {
    /// One of our own records.
    Own(Box<Record>),
    /// The results of another program, in this format; or those of a record that was changed.
    Foreign(Results, Option<FileFormat>),
}

/// Opens a file: a path, `-` for standard input, or a directory of criterion or asv.
///
/// # Errors
/// The file cannot be read, its format is unknown, or it has none of the selected benchmarks.
pub fn open(path: &Path, options: &InputOptions, detail: Detail) -> Result<InputFile> {
    limit_unpacked(options.kind.max_unpacked.unwrap_or_else(unpacked_max));
    let created = created(path);
    let content = content(path, options, detail)?;
    let mut opened = InputFile { path: path.into(), content, created };
    if !options.benchmark.is_empty() {
        let shown = || path.display().to_string();
        opened.select(&options.benchmark).with_context(shown)?;
    }
    Ok(opened)
}

/// The files that the user named, or else the newest of our own records.
///
/// # Errors
/// There is none, or as [`open`].
pub fn records(
    files: &[PathBuf],
    options: &InputOptions,
    detail: Detail,
) -> Result<impl Iterator<Item = Result<InputFile>>> {
    let files = if files.is_empty() { vec![record::newest()?] } else { files.to_vec() };
    let n_stdin = files.iter().filter(|path| **path == Path::new("-")).count();
    ensure!(n_stdin < 2, "standard input (-) can be read only once");
    Ok(files.into_iter().map(move |path| open(&path, options, detail)))
}

impl InputFile {
    /// The file as a record with one row for each run, and with its slices.
    ///
    /// # Errors
    /// The file has no values.
    pub fn into_record(self) -> Result<Record> {
        self.into_record_with(ImportOptions::default())
    }

    /// As [`InputFile::into_record`], with the launches turned into rows as `about` says.
    pub fn into_record_with(self, about: ImportOptions) -> Result<Record> {
        match self.content {
            FileContent::Own(record) => Ok(launches::gather(*record)),
            FileContent::Foreign(results, format) => {
                imported(&self.path, self.created, &results, format, about)
            }
        }
    }

    /// A file with changed results.
    pub fn of_results(
        path: &Path,
        results: Results,
        created: String,
        format: Option<FileFormat>,
    ) -> Self {
        Self { path: path.into(), content: FileContent::Foreign(results, format), created }
    }

    /// The format of another program's file.
    pub fn format(&self) -> Option<FileFormat> {
        match &self.content {
            FileContent::Own(_) => None,
            FileContent::Foreign(_, format) => *format,
        }
    }

    /// The time of its creation.
    pub fn created(&self) -> &str {
        &self.created
    }

    /// Whether it has benchmarks, which are compared across files, and not commands, which are compared within one.
    pub fn has_benchmarks(&self) -> bool {
        match &self.content {
            FileContent::Own(record) => {
                let plan = &record.header.plan;
                let is_imported = record.header.imported.is_some();
                plan.has_benchmarks()
                    || (is_imported && plan.arms.iter().any(|arm| arm.benchmark.is_some()))
            }
            FileContent::Foreign(results, _) => !results.are_commands,
        }
    }

    /// The file as a record and as results.
    ///
    /// # Errors
    /// The file has no values.
    pub fn into_both(self) -> Result<(Record, Results)> {
        match self.content {
            FileContent::Own(record) => {
                let results = of_record::results(&record);
                Ok((launches::gather(*record), results))
            }
            FileContent::Foreign(results, format) => {
                let (path, about) = (&self.path, ImportOptions::default());
                Ok((imported(path, self.created, &results, format, about)?, results))
            }
        }
    }

    /// The file as results.
    pub fn into_results(self) -> Results {
        match self.content {
            FileContent::Own(record) => of_record::results(&record),
            FileContent::Foreign(results, _) => results,
        }
    }

    /// A copy of the file as results.
    pub fn results(&self) -> Results {
        match &self.content {
            FileContent::Own(record) => of_record::results(record),
            FileContent::Foreign(results, _) => results.clone(),
        }
    }

    fn select(&mut self, names: &[String]) -> Result<()> {
        match &mut self.content {
            FileContent::Foreign(results, _) => edit::include_benchmarks(results, names),
            FileContent::Own(record) => select::arms(record, names),
        }
    }
}

/// A record of results.
fn imported(
    path: &Path,
    created: String,
    results: &Results,
    format: Option<FileFormat>,
    about: ImportOptions,
) -> Result<Record> {
    let about = ImportOptions {
        file: path.display().to_string(),
        from: format.map_or_else(|| "stillwell".into(), FileFormat::key),
        created,
        command_line: command_line(),
        ..about
    };
    let record = to_record::record(results, &about);
    Ok(launches::gather(record.with_context(|| about.file.clone())?))
}

/// The words of our command line.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// All benchmarks of a suite in one record; `None` while nothing has been measured.
///
/// # Errors
/// One of its files cannot be read.
pub fn whole_suite(path: &Path) -> Result<Option<Record>> {
    let manifest = SuiteManifest::read(path)?;
    let parts = manifest.records(path)?.into_iter().map(launches::gather).collect();
    let SuiteManifest { suite, created, command_line, .. } = manifest;
    let whole = merge(path, suite.seed, parts).filter(|whole| whole.rows.len() > 0);
    Ok(whole.map(|mut whole| {
        // The time and command line of the first session, not those of a resumed one.
        (whole.header.created, whole.header.command_line) = (created, command_line);
        whole
    }))
}

fn content(path: &Path, options: &InputOptions, detail: Detail) -> Result<FileContent> {
    let shown = path.display();
    let cannot_read = || format!("cannot read {shown}");
    if record::is_suite(path) {
        let whole = whole_suite(path)?;
        let whole = whole.with_context(|| format!("{shown}: nothing has been measured yet"))?;
        return Ok(FileContent::Own(Box::new(whole)));
    }
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        return of_bytes(path, bytes, options, detail).context("standard input");
    }
    if path.is_dir() {
        return directory(path, options, detail);
    }
    let mut file = File::open(path).with_context(cannot_read)?;
    let kind = file.metadata().with_context(cannot_read)?.file_type();
    let is_endless = kind.is_block_device() || (kind.is_char_device() && !file.is_terminal());
    ensure!(!is_endless, "{shown} is a device, not a file with results");
    let mut start = Vec::new();
    file.by_ref().take(START.len() as u64).read_to_end(&mut start).with_context(cannot_read)?;
    let is_named_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
    if options.format.is_none() && (start == START.as_bytes() || is_named_ours) {
        return Ok(FileContent::Own(Box::new(Record::read(path)?)));
    }
    refuse_program(path)?;
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    let length = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1);
    ensure!(bytes.try_reserve_exact(length).is_ok(), "{shown} is larger than the memory allows");
    if file.rewind().is_err() {
        // A pipe cannot be rewound.
        bytes = start;
    }
    file.read_to_end(&mut bytes).with_context(cannot_read)?;
    of_bytes(path, bytes, options, detail).with_context(|| shown.to_string())
}

fn of_bytes(
    path: &Path,
    bytes: Vec<u8>,
    options: &InputOptions,
    detail: Detail,
) -> Result<FileContent> {
    if let (None, Some(unpacking)) = (options.format, unpacking(&bytes)) {
        let mut unpacking = BufReader::new(unpacking);
        if unpacking.fill_buf()?.starts_with(START.as_bytes()) {
            return Ok(FileContent::Own(Box::new(Record::stream(path, unpacking)?)));
        }
    }
    let bytes = match unpacked(&bytes)? {
        std::borrow::Cow::Owned(unpacked) => unpacked,
        std::borrow::Cow::Borrowed(_) => bytes,
    };
    if options.format.is_none() && bytes.starts_with(START.as_bytes()) {
        return Ok(FileContent::Own(Box::new(Record::parse(path, bytes)?)));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect::detect(&bytes)?,
    };
    ensure!(
        format != FileFormat::Criterion,
        "--format criterion is for directories; name the directory target/criterion"
    );
    let name = path.display().to_string();
    let beside: Vec<(String, Vec<u8>)> = format
        .wants_beside()
        .iter()
        .filter_map(|other| {
            let path = path.parent()?.join(other);
            Some((path.display().to_string(), std::fs::read(path).ok()?))
        })
        .collect();
    let mut files = vec![SourceFile { path: &name, bytes: &bytes }];
    files.extend(beside.iter().map(|(path, bytes)| SourceFile { path, bytes }));
    read_files(format, &files, options, detail)
}

fn read_files(
    format: FileFormat,
    files: &[SourceFile<'_>],
    options: &InputOptions,
    detail: Detail,
) -> Result<FileContent> {
    let side = options.kind.side.as_deref().unwrap_or(CRITERION_SIDE);
    let options = ReadOptions { detail, unit: options.kind.unit.unwrap_or_default(), side };
    Ok(FileContent::Foreign(format.read(files, options)?, Some(format)))
}

/// A file below a directory: its relative path, and its bytes.
pub type FileBytes = (String, Vec<u8>);

/// The criterion files below a directory, with relative paths. `None` if it is no directory of criterion.
///
/// # Errors
/// A file cannot be read.
pub fn criterion_files(path: &Path, options: &InputOptions) -> Result<Option<Vec<FileBytes>>> {
    let side = options.kind.side.as_deref().unwrap_or(CRITERION_SIDE);
    let is_wanted = options.format.is_none_or(|wanted| wanted == FileFormat::Criterion);
    let found = below(path)?;
    if !is_wanted || !detect::is_criterion(found.iter().map(String::as_str), side) {
        return Ok(None);
    }
    let wanted = found.into_iter().filter(|name| criterion::wants(name, side));
    let read = |name: String| {
        let file = path.join(&name);
        let bytes = std::fs::read(&file);
        Ok((name, bytes.with_context(|| format!("cannot read {}", file.display()))?))
    };
    wanted.map(read).collect::<Result<_>>().map(Some)
}

/// The relative paths of all files below a directory, sorted. Links are not followed.
///
/// # Errors
/// The directory cannot be read, or has too many files.
pub fn below(path: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(path, "", &mut found).with_context(|| format!("cannot read {}", path.display()))?;
    found.sort();
    Ok(found)
}

/// The content of a directory of criterion, or of a directory of asv with one result.
fn directory(path: &Path, options: &InputOptions, detail: Detail) -> Result<FileContent> {
    let shown = path.display();
    if let Some(read) = criterion_files(path, options)? {
        let files: Vec<_> = read.iter().map(|(path, bytes)| SourceFile { path, bytes }).collect();
        let results = read_files(FileFormat::Criterion, &files, options, detail);
        return results.with_context(|| shown.to_string());
    }
    let found = below(path)?;
    let side = options.kind.side.as_deref().unwrap_or(CRITERION_SIDE);
    let is_wanted = |format| options.format.is_none_or(|wanted| wanted == format);
    let names = || found.iter().map(String::as_str);
    let is_result = |name: &&String| {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.ends_with(".json") && !matches!(last, "benchmarks.json" | "machine.json")
    };
    let of_asv: Vec<&String> = found.iter().filter(is_result).collect();
    let is_asv = names().any(|name| name.rsplit('/').next() == Some("machine.json"));
    match &of_asv[..] {
        [only] if is_asv && is_wanted(FileFormat::Asv) => {
            content(&path.join(only), options, detail)
        }
        [first, ..] if is_asv => bail!(
            "{shown} has {} results of asv; name one of them, for example {}",
            of_asv.len(),
            path.join(first).display()
        ),
        _ => bail!(
            "{shown} is a directory, and neither one of criterion with the side {side:?} nor one of asv; name a file"
        ),
    }
}

/// Adds the relative paths of the files below a directory. Links are not followed.
fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(root, &path, found)?;
        } else if kind.is_file() {
            ensure!(found.len() < N_FILES_MAX, "it has more than {N_FILES_MAX} files");
            found.push(path);
        }
    }
    Ok(())
}

/// The time of a file's last change, or else the current time.
fn created(path: &Path) -> String {
    let modified = path.metadata().and_then(|meta| meta.modified()).ok();
    let time = modified.and_then(|time| Timestamp::try_from(time).ok());
    let time = time.unwrap_or_else(Timestamp::now).to_zoned(TimeZone::system());
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
