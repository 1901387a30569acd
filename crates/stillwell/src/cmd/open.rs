//! Input files of the verbs: our own records, or results of other programs.
#![expect(clippy::disallowed_methods, reason = "reads files and looks into directories")]

use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};

use crate::cmd::named_files::expanded;
use crate::cmd::output_file::NamedFile;
use crate::cmd::programs::refuse_program;
use analysis::convert::of_record;
use analysis::convert::to_record::{self, ImportOptions};
use analysis::files::ComparedFile;
use analysis::suite::merge;
use analysis::{launches, select};
use formats::{Detail, ReadOptions, Results, limit_unpacked};
use host::{Host, memory_limit_bytes, terminal};
use model::spec::FilesVerb;
use model::spec::input::InputOptions;
use record::plan::defaults::CRITERION_SIDE;
use record::{self, Record, START, SuiteManifest};

const EXTENSION: &str = "swell";

#[derive(Debug)]
pub struct InputFile {
    /// The path in the user's words.
    pub path: PathBuf,
    pub content: FileContent,
    /// Time of creation, RFC 3339.
    pub created: String,
}

#[derive(Debug)]
pub enum FileContent {
    /// One of our own records.
    Own(Box<Record>),
    /// The results of another program, or of a changed record.
    Foreign(Results),
}

/// Opens a path, `-` for standard input, or a directory of criterion or asv. Errors: the file cannot be read, its
/// format is unknown, or it lacks the selected benchmarks.
pub fn open(path: &Path, options: &InputOptions, detail: Detail) -> Result<InputFile> {
    limit_unpacked(options.kind.max_unpacked.unwrap_or_else(unpacked_max));
    let created = created(path);
    let content = content(path, options, detail)?;
    let mut opened = InputFile { path: path.into(), content, created };
    if !options.kind.benchmark.is_empty() {
        let shown = || path.display().to_string();
        opened.select(&options.kind.benchmark).with_context(shown)?;
    }
    Ok(opened)
}

/// Most values that are kept of a file that is read line by line: more do not improve its statistics.
pub const VALUES_MAX: usize = 4 << 20;

/// Opens all files of a verb, one after another.
pub fn all(
    verb: &FilesVerb,
    detail: Detail,
) -> Result<impl ExactSizeIterator<Item = Result<InputFile>>> {
    let input = InputOptions { values_max: Some(VALUES_MAX), ..verb.input.clone() };
    records(&verb.files, &input, detail)
}

/// The named files, the results in named folders, or the newest of our own records. Errors: there is none.
pub fn records(
    files: &[PathBuf],
    options: &InputOptions,
    detail: Detail,
) -> Result<impl ExactSizeIterator<Item = Result<InputFile>> + use<>> {
    let options = options.clone();
    let named = if files.is_empty() { vec![record::newest()?] } else { files.to_vec() };
    let mut files = Vec::with_capacity(named.len());
    for path in named {
        match record::is_suite(&path) {
            true => files.push(path),
            false => files.extend(expanded(&path, read_options(&options, detail))?),
        }
    }
    let n_stdin = files.iter().filter(|path| **path == Path::new("-")).count();
    ensure!(n_stdin < 2, "standard input (-) can be read only once");
    Ok(files.into_iter().map(move |path| open(&path, &options, detail)))
}

/// The named files, which an output must not replace.
pub fn inputs(verb: &FilesVerb) -> Vec<NamedFile<'_>> {
    let files = verb.files.iter().filter(|path| *path != Path::new("-"));
    files.map(|path| ("the input", path.as_path())).collect()
}

impl InputFile {
    /// A record with one row for each run, and with its slices. Errors: the file has no values.
    pub fn into_record(self) -> Result<Record> {
        self.into_record_with(ImportOptions::default())
    }

    /// [`InputFile::into_record`] with launches turned into rows by `about`.
    pub fn into_record_with(self, about: ImportOptions) -> Result<Record> {
        match self.content {
            FileContent::Own(record) => Ok(launches::gather(*record)),
            FileContent::Foreign(results) => imported(&self.path, self.created, &results, about),
        }
    }

    /// This file with changed results.
    pub fn changed(self, change: impl FnOnce(&mut Results) -> Result<()>) -> Result<Self> {
        let (path, created) = (self.path.clone(), self.created.clone());
        let mut results = self.into_results();
        change(&mut results)?;
        Ok(Self { path, content: FileContent::Foreign(results), created })
    }

    /// Reports unreadable benchmarks, for verbs that do not show the file's notes.
    pub fn tell_unread(&self) {
        let FileContent::Foreign(results) = &self.content else { return };
        for said in results.unread_in_words() {
            terminal::say_bare(format!("note: {}: {said}", self.path.display()));
        }
    }

    /// Whether the file has benchmarks, compared across files, and not commands, which are compared within one.
    pub fn has_benchmarks(&self) -> bool {
        match &self.content {
            FileContent::Own(record) => {
                let plan = &record.header.plan;
                let is_imported = record.header.imported.is_some();
                plan.has_benchmarks()
                    || (is_imported && plan.arms.iter().any(|arm| arm.benchmark.is_some()))
            }
            FileContent::Foreign(results) => !results.compares_commands(),
        }
    }

    /// [`InputFile::into_record_with`], and the results. Errors: the file has no values.
    pub fn into_both(self, about: ImportOptions) -> Result<(Record, Results)> {
        match self.content {
            FileContent::Own(record) => {
                let results = of_record::results(&record);
                Ok((launches::gather(*record), results))
            }
            FileContent::Foreign(results) => {
                Ok((imported(&self.path, self.created, &results, about)?, results))
            }
        }
    }

    pub fn into_results(self) -> Results {
        match self.content {
            FileContent::Own(record) => of_record::results(&record),
            FileContent::Foreign(results) => results,
        }
    }

    pub fn into_compared(self) -> ComparedFile {
        match self.content {
            FileContent::Own(record) => ComparedFile::from_record(*record),
            FileContent::Foreign(results) => ComparedFile::from_results(results),
        }
    }

    fn select(&mut self, names: &[String]) -> Result<()> {
        match &mut self.content {
            FileContent::Foreign(results) => formats::edit::include_benchmarks(results, names),
            FileContent::Own(record) => select::arms(record, names),
        }
    }
}

fn imported(
    path: &Path,
    created: String,
    results: &Results,
    about: ImportOptions,
) -> Result<Record> {
    let about = ImportOptions {
        file: path.display().to_string(),
        from: results.format.map_or_else(|| "stillwell".into(), |format| format.key().into()),
        created,
        command_line: command_line(),
        ..about
    };
    let record = to_record::record(results, &about);
    Ok(launches::gather(record.with_context(|| about.file.clone())?))
}

/// The command line of this process.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// All benchmarks of a suite in one record; `None` if nothing was measured.
pub fn whole_suite(path: &Path) -> Result<Option<Record>> {
    let manifest = SuiteManifest::read(path)?;
    let parts = manifest.records(path)?.into_iter().map(launches::gather).collect();
    let not_begun = manifest.not_begun(path);
    let SuiteManifest { suite, created, command_line, .. } = manifest;
    let whole = merge(path, suite.seed, parts).filter(|whole| whole.rows.len() > 0);
    Ok(whole.map(|mut whole| {
        // From the first session, also after a resumed one.
        (whole.header.created, whole.header.command_line) = (created, command_line);
        whole.not_begun = not_begun;
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
        let stdin = std::io::stdin().lock();
        return read_stream(path, stdin, options, detail).context("standard input");
    }
    if path.is_dir() {
        return Ok(FileContent::Foreign(formats::read(path, read_options(options, detail))?));
    }
    let file = File::open(path).with_context(cannot_read)?;
    let kind = file.metadata().with_context(cannot_read)?.file_type();
    let is_endless = kind.is_block_device() || (kind.is_char_device() && !file.is_terminal());
    ensure!(!is_endless, "{shown} is a device, not a file with results");
    let (start, whole) =
        formats::peeked(BufReader::new(file), START.len()).with_context(cannot_read)?;
    if options.format.is_none() && start == START.as_bytes() {
        return Ok(FileContent::Own(Box::new(Record::read(path)?)));
    }
    refuse_program(path)?;
    read_stream(path, whole, options, detail).with_context(|| shown.to_string())
}

/// Reads one of our own records, packed or in another encoding too, or a file of another program.
fn read_stream(
    path: &Path,
    from: impl Read,
    options: &InputOptions,
    detail: Detail,
) -> Result<FileContent> {
    let (start, whole) = formats::peeked(formats::decoding(from)?, START.len())?;
    // A file that is named as a record and is none gets the error of a record.
    let is_named_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
    let is_ours = start == START.as_bytes() || is_named_ours;
    if options.format.is_none() && is_ours {
        return Ok(FileContent::Own(Box::new(Record::stream(path, whole)?)));
    }
    let results = formats::read_from(whole, path, read_options(options, detail))?;
    Ok(FileContent::Foreign(results))
}

/// Options for reading the files of other programs.
pub fn read_options(options: &InputOptions, detail: Detail) -> ReadOptions<'_> {
    ReadOptions {
        format: options.format,
        detail,
        unit: options.kind.unit.unwrap_or_default(),
        values_max: options.values_max,
        side: options.kind.side.as_deref().unwrap_or(CRITERION_SIDE),
    }
}

/// The time of the last change, or else the current time.
fn created(path: &Path) -> String {
    let modified = path.metadata().and_then(|meta| meta.modified()).ok();
    let time = modified.and_then(|time| Timestamp::try_from(time).ok());
    let time = time.unwrap_or_else(Timestamp::now);
    host::local_time::at(time).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Part of the free memory for an unpacked file. `slowest` takes 18 bytes for each byte of a file of times; the verbs
/// that analyse more were not measured.
const SHARE: u64 = 64;
/// Free memory if neither the kernel nor a limit tells, bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// The default of `--max-unpacked`, bytes.
pub(super) fn unpacked_max() -> u64 {
    let limits = [limit_bytes(&Host::new("/")), getrlimit(Resource::As).current];
    limits.into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES) / SHARE
}

/// The free memory, or the tightest limit of this process's control groups.
fn limit_bytes(host: &Host) -> Option<u64> {
    let free = host.read("proc/meminfo").as_deref().and_then(available);
    [free, memory_limit_bytes(host)].into_iter().flatten().min()
}

/// `MemAvailable` of /proc/meminfo, bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    #[test]
    fn the_limit_of_a_group_far_above_binds() {
        let meminfo = "proc/meminfo = MemAvailable: 22314204 kB\n";
        let (_directory, host) = expand(meminfo);
        assert_eq!(limit_bytes(&host), Some(22_314_204 * 1024));
        let groups = "proc/self/mountinfo = 30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                      proc/self/cgroup = 0::/user.slice/app.scope\n\
                      sys/fs/cgroup/user.slice/memory.max = 1048576\n\
                      sys/fs/cgroup/user.slice/app.scope/memory.max = 2097152\n";
        let (_directory, host) = expand(&format!("{meminfo}{groups}"));
        assert_eq!(limit_bytes(&host), Some(1 << 20));
    }

    #[test]
    fn available_memory() {
        let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   22314204 kB\n";
        assert_eq!(available(meminfo), Some(22_314_204 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
