//! Output files of verbs, which are complete or missing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Error, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use host::sys::has_files_of_another;
use host::user_files::{directory_of, in_the_way, open_to_read, refuse_strange_links};
use host::{LINKS_MAX, UserDirectory, terminal};
use model::words::in_words;
use record::START;
use render::document::ErrorCode;

/// The option that names a file, and the path.
pub type NamedFile<'a> = (&'a str, &'a Path);

/// The files of the given options, without the options that are not given.
pub fn named<'a>(options: &[(&'static str, Option<&'a Path>)]) -> Vec<NamedFile<'a>> {
    options.iter().filter_map(|(option, path)| Some((*option, (*path)?))).collect()
}

/// Refuses two of these outputs that are one file, and an output that is one of `others`, which commands write to or
/// somebody reads. Links are followed, and the files need not exist.
pub fn check_distinct(outputs: &[NamedFile<'_>], others: &[NamedFile<'_>]) -> Result<()> {
    for (index, (option, path)) in outputs.iter().enumerate() {
        let Some(place) = place_of(path) else { continue };
        let mut before = outputs[..index].iter().chain(others);
        if let Some((other, named)) = before.find(|it| place_of(it.1).as_ref() == Some(&place)) {
            let (path, named) = (path.display(), named.display());
            bail!("{option} {path}: {other} {named} is the same file; choose another name");
        }
    }
    Ok(())
}

/// The place by which two names of a file are equal; `None` for a device or a FIFO, which any number may write to.
fn place_of(path: &Path) -> Option<PathBuf> {
    match target_of(path) {
        Target::Stdout => Some("-".into()),
        Target::Stderr => Some("/dev/stderr".into()),
        Target::Opened => None,
        Target::Replaced => {
            let file = end_of_links(path);
            let directory = directory_of(&file).canonicalize().ok();
            let place = directory.zip(file.file_name()).map(|(it, name)| it.join(name));
            Some(place.unwrap_or(file))
        }
    }
}

/// Refuses an empty name, a directory, a file whose directory does not exist, and a file of measurements. Keeps the
/// directory open for [`write_one`].
pub fn check_path(option: &str, path: &Path) -> Result<()> {
    ensure!(!path.as_os_str().is_empty(), "{option}: the name of the file is empty");
    let (shown, directory) = (path.display(), directory_of(path));
    let shown_directory = directory.display();
    ensure!(directory.is_dir(), "{option} {shown}: there is no directory {shown_directory}");
    let is_directory = path.is_dir() || path.as_os_str().as_bytes().ends_with(b"/");
    ensure!(!is_directory, "{option} {shown}: it is a directory");
    let cannot_write = || format!("{option} {shown}: cannot write");
    match target_of(path) {
        Target::Stdout | Target::Stderr => {}
        Target::Opened => refuse_strange_links(path).with_context(cannot_write)?,
        Target::Replaced => {
            refuse_measurements(path).with_context(cannot_write)?;
            let (opened, name) = directory_and_name(path).with_context(cannot_write)?;
            opened.check_place(&name).with_context(cannot_write)?;
            if has_files_of_another() {
                let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
                checked.insert(directory.into(), opened);
            }
        }
    }
    Ok(())
}

/// Writes a complete file or none, compressed if the name ends with .gz.
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

/// [`write_one`] for the file of an option, which an error names.
pub fn write_option(
    option: &str,
    path: &Path,
    export: impl Fn(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    write_one(path, export).with_context(|| format!("{option} {}: cannot write", path.display()))
}

/// The errors of several outputs as one, so that `--json` has all of them. One that fails does not prevent the rest.
pub fn write_all(written: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    let mut errors: Vec<Error> = written.into_iter().filter_map(Result::err).collect();
    if errors.len() > 1 {
        let all: Vec<String> = errors.iter().map(in_words).collect();
        return Err(ErrorCode::of(&errors[0]).error(all.join("; ")));
    }
    errors.pop().map_or(Ok(()), Err)
}

/// Writes a file that must not exist yet.
pub fn write_new(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    let exists =
        || io::Error::new(io::ErrorKind::AlreadyExists, format!("it {}", in_the_way(path)));
    ensure!(path.symlink_metadata().is_err(), exists());
    write_one(path, export)
}

fn write_plain(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if let Some(mut stream) = stream(path)? {
        export(&mut stream)?;
        return Ok(stream.flush()?);
    }
    refuse_measurements(path)?;
    let (directory, name) = directory_and_name(path)?;
    directory.replace(&name, 0o644, |file| {
        let mut buffer = BufWriter::new(file);
        export(&mut buffer)?;
        Ok(buffer.flush()?)
    })
}

/// The file that a link leads to, which need not exist.
fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = path.read_link() else { break };
        path = directory_of(&path).join(target);
    }
    path
}

/// Refuses to replace a record or another file of Stillwell's own data, which no command can write again.
fn refuse_measurements(path: &Path) -> Result<()> {
    ensure!(
        !is_of_measurements(path).unwrap_or(false),
        "this file has measurements of Stillwell, which would be lost; choose another name"
    );
    Ok(())
}

/// Whether a file begins as our records, profiles, manifests and histories, perhaps compressed.
fn is_of_measurements(path: &Path) -> io::Result<bool> {
    let beginning = START.trim_end_matches('"');
    let (start, _) = formats::peeked(formats::decoding(open_to_read(path)?)?, beginning.len())?;
    Ok(start == beginning.as_bytes())
}

/// The way to write to a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Our own standard output. Opening its path would overwrite a file from the beginning, and may be forbidden under
    /// sudo.
    Stdout,
    Stderr,
    Opened,
    /// A file or a new path; with lent rights also anything else, which is refused there.
    Replaced,
}

fn target_of(path: &Path) -> Target {
    let is_any = |names: &[&str]| names.iter().any(|name| path == Path::new(name));
    if is_any(&["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
        return Target::Stdout;
    }
    if is_any(&["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]) {
        return Target::Stderr;
    }
    let may_open = !has_files_of_another() || is_any(&["/dev/null", "/dev/tty"]);
    match path.metadata() {
        Ok(meta) if !meta.is_file() && may_open => Target::Opened,
        _ => Target::Replaced,
    }
}

/// The stream of a target that is not replaced.
fn stream(path: &Path) -> Result<Option<Box<dyn Write>>> {
    Ok(match target_of(path) {
        Target::Stdout => Some(Box::new(BufWriter::new(terminal::data()))),
        Target::Stderr => Some(terminal::escaping_on_terminal(io::stderr())),
        Target::Opened => {
            refuse_strange_links(path)?;
            #[expect(clippy::disallowed_methods, reason = "opened as every tool does")]
            let file = std::fs::OpenOptions::new().write(true).open(path)?;
            Some(terminal::escaping_on_terminal(file))
        }
        Target::Replaced => None,
    })
}

/// With lent rights, the directories of the checked files. They are open before the first run, so a benchmark cannot
/// replace them.
static CHECKED: Mutex<BTreeMap<PathBuf, Arc<UserDirectory>>> = Mutex::new(BTreeMap::new());

/// Links are followed, not replaced, but not with the rights that sudo lends.
fn directory_and_name(path: &Path) -> io::Result<(Arc<UserDirectory>, OsString)> {
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(directory) = checked.get(directory_of(path)) {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        return Ok((directory.clone(), name.into()));
    }
    let (directory, name) = UserDirectory::to_write(path, true)?;
    Ok((directory.into(), name))
}
