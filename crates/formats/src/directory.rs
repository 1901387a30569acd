//! Directories of criterion and asv.
#![expect(clippy::disallowed_methods, reason = "looks into the directories that the caller names")]

use std::fs::ReadDir;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{FileFormat, ReadOptions, Results, SourceFile, criterion};

const N_FILES_MAX: usize = 100_000;

/// A file's path below a directory, and its bytes.
pub type FileBytes = (String, Vec<u8>);

/// Reads a directory of criterion; `None` for another directory.
pub(crate) fn read_criterion(path: &Path, options: ReadOptions<'_>) -> Result<Option<Results>> {
    let Some(read) = criterion_files(path, options)? else { return Ok(None) };
    let files: Vec<_> = read.iter().map(|(path, bytes)| SourceFile { path, bytes }).collect();
    let results = FileFormat::Criterion.read(&files, options);
    results.with_context(|| path.display().to_string()).map(Some)
}

/// The only result in a directory of asv.
pub(crate) fn asv_result(path: &Path, options: ReadOptions<'_>) -> Result<PathBuf> {
    let (shown, paths) = (path.display(), below(path)?);
    let is_wanted = options.format.is_none_or(|wanted| wanted == FileFormat::Asv);
    let is_result = |file: &&PathBuf| {
        let is_json = file.extension().is_some_and(|extension| extension == "json");
        is_json && !file.ends_with("benchmarks.json") && !file.ends_with("machine.json")
    };
    let of_asv: Vec<&PathBuf> = paths.iter().filter(is_result).collect();
    let is_asv = paths.iter().any(|file| file.ends_with("machine.json"));
    match &of_asv[..] {
        [only] if is_asv && is_wanted => Ok(path.join(only)),
        [first, ..] if is_asv => bail!(
            "{shown} has {} results of asv, and one is needed here; name one of them, for example {}",
            of_asv.len(),
            path.join(first).display()
        ),
        _ => bail!(
            "{shown} is a directory, and neither one of criterion with the side {:?} nor one of asv; name a file",
            options.side
        ),
    }
}

/// The criterion files below a directory, with relative paths; `None` for another directory. Errors: a file cannot be
/// read.
pub fn criterion_files(path: &Path, options: ReadOptions<'_>) -> Result<Option<Vec<FileBytes>>> {
    let is_wanted = options.format.is_none_or(|wanted| wanted == FileFormat::Criterion);
    let paths = below(path)?;
    let names: Vec<String> = paths.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    if !is_wanted || !criterion::is_directory(names.iter().map(String::as_str), options.side) {
        return Ok(None);
    }
    let wanted = names.into_iter().zip(paths);
    let wanted = wanted
        .filter(|(name, file)| criterion::wants(name, options.side) || path.join(file).is_dir());
    // The error of reading a directory that is closed says so.
    let read = |(name, file): (String, PathBuf)| {
        let file = path.join(file);
        let bytes = std::fs::read(&file);
        Ok((name, bytes.with_context(|| format!("cannot read {}", file.display()))?))
    };
    wanted.map(read).collect::<Result<_>>().map(Some)
}

/// Sorted relative paths of all files below a directory, and of the directories in it that cannot be read: reading one
/// gives the reason. Links are not followed. Errors: the directory itself cannot be read, or has too many files.
pub fn below(path: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let entries = path.read_dir().map_err(anyhow::Error::from);
    let walked = entries.and_then(|entries| walk(entries, Path::new(""), &mut paths));
    walked.with_context(|| format!("cannot read {}", path.display()))?;
    // Not by components, as paths compare: a history knows a directory by its files in the order of bytes.
    paths.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(paths)
}

/// Adds the relative paths of the entries, and of what is below them.
fn walk(entries: ReadDir, below: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (below.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir()
            && let Ok(entries) = entry.path().read_dir()
        {
            walk(entries, &path, paths)?;
        } else if kind.is_dir() || kind.is_file() {
            ensure!(paths.len() < N_FILES_MAX, "it has more than {N_FILES_MAX} files");
            paths.push(path);
        }
    }
    Ok(())
}
