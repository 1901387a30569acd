//! Directories of criterion and asv.
#![expect(clippy::disallowed_methods, reason = "looks into the directories that the caller names")]

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
    let is_result = |name: &&String| {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.ends_with(".json") && !matches!(last, "benchmarks.json" | "machine.json")
    };
    let of_asv: Vec<&String> = paths.iter().filter(is_result).collect();
    let is_asv = paths.iter().any(|name| name.rsplit('/').next() == Some("machine.json"));
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
    if !is_wanted || !criterion::is_directory(paths.iter().map(String::as_str), options.side) {
        return Ok(None);
    }
    let wanted = paths.into_iter().filter(|name| criterion::wants(name, options.side));
    let read = |name: String| {
        let file = path.join(&name);
        let bytes = std::fs::read(&file);
        Ok((name, bytes.with_context(|| format!("cannot read {}", file.display()))?))
    };
    wanted.map(read).collect::<Result<_>>().map(Some)
}

/// Sorted relative paths of all files below a directory. Links are not followed. Errors: the directory cannot be read,
/// or has too many files.
pub fn below(path: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    walk(path, "", &mut paths).with_context(|| format!("cannot read {}", path.display()))?;
    paths.sort();
    Ok(paths)
}

/// Adds the relative paths of the files below a directory.
fn walk(root: &Path, below: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(root, &path, paths)?;
        } else if kind.is_file() {
            ensure!(paths.len() < N_FILES_MAX, "it has more than {N_FILES_MAX} files");
            paths.push(path);
        }
    }
    Ok(())
}
