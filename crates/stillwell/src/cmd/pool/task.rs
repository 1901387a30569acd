//! One job of the queue: measures its tasks one after another.
//!
//! The record of a task appears atomically in the folder of finished tasks, and the first record counts. A job that was
//! requeued or submitted twice skips finished tasks.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the measuring and puts its record into the folder"
)]

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};

use host::user_files::read_text;
use host::{invoking_user, sys, terminal};
use measure::interrupt::Interrupt;
use measure::supervised;
use model::words::in_words;
use record::{EndReason, Record};
use search::pool::manifest::{Pool, PoolManifest, seed_option};

/// Suffix of the file with the output of a task.
const LOG_SUFFIX: &str = ".txt";

/// Measures the unfinished tasks of a job. File names include `node`. Returns the number of tasks that failed; `None`
/// after a signal. Errors: the job does not exist, the suite has changed, or the folder cannot be written.
pub fn work(pool: &Pool, job: usize, node: &str) -> Result<Option<usize>> {
    let manifest = &pool.manifest;
    ensure!(
        job < manifest.n_jobs(),
        "there is no job {job}: the pool has {} (0 to {})",
        manifest.n_jobs(),
        manifest.n_jobs().saturating_sub(1)
    );
    check_suite(manifest)?;
    let interrupt = Interrupt::catch()?;
    let mut n_failed = 0;
    for task in manifest.tasks_of(job) {
        if pool.record(task).exists() {
            continue;
        }
        let (name, out) = new_part(&pool.part(), task, node)?;
        let part = pool.part().join(format!("{name}.swell"));
        let log = pool.part().join(format!("{name}{LOG_SUFFIX}"));
        let mut is_interrupted = false;
        let ended = measure(pool, task, &part, out, &interrupt, &mut is_interrupted);
        let failure = ended.and_then(|status| finish(pool, task, &part, status)).err();
        if let Some(error) = failure.as_ref().filter(|_| !is_interrupted) {
            n_failed += 1;
            keep_failure(pool, &name, &log, error);
        }
        // A partial record is of no use, and may not exist.
        std::fs::remove_file(&part).ok();
        std::fs::remove_file(&log).ok();
        if failure.is_some() && is_interrupted {
            return Ok(None);
        }
    }
    Ok(Some(n_failed))
}

/// Creates the output file of an attempt and returns its unique name. A process id is not unique enough, because the
/// kernel reuses ids.
fn new_part(folder: &Path, task: usize, node: &str) -> Result<(String, File)> {
    let prefix = format!("{task}.{}.{}.", for_file(node), std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(LOG_SUFFIX).permissions(Permissions::from_mode(0o644));
    let made = || anyhow::Ok(builder.tempfile_in(folder)?.keep()?);
    let (file, path) = made().with_context(|| format!("cannot write to {}", folder.display()))?;
    let name = path.file_name().and_then(OsStr::to_str).and_then(|it| it.strip_suffix(LOG_SUFFIX));
    Ok((name.context("it has lost its name")?.to_owned(), file))
}

/// Checks that the suite file is the submitted one.
fn check_suite(manifest: &PoolManifest) -> Result<()> {
    let path = manifest.suite.display();
    let text =
        read_text(&manifest.suite).with_context(|| format!("cannot read {path} on this node"))?;
    ensure!(
        text == manifest.suite_text,
        "{path} was changed since this pool was made; put it back, or make a new pool"
    );
    Ok(())
}

fn command(manifest: &PoolManifest, task: usize, record: &Path) -> Result<Vec<OsString>> {
    let planned = manifest.tasks[task];
    // Under sudo the task keeps root, and any process of the caller may have written the manifest.
    let program = match invoking_user() {
        Some(_) => sys::own_path().context("cannot find this program")?,
        None => manifest.program.clone(),
    };
    let mut words: Vec<OsString> = vec![program.into(), "bench".into()];
    words.push(manifest.suite.clone().into());
    // One word for each option and its value, because a name may begin with a dash.
    words.push(format!("--only={}", manifest.benchmarks[planned.benchmark].name).into());
    words.push(format!("--runs={}", manifest.n_blocks).into());
    words.push(seed_option(planned.seed).into());
    words.extend(manifest.arms.iter().map(|arms| format!("--arms={arms}").into()));
    let pins = manifest.commits.iter();
    words.extend(pins.map(|(name, commit)| format!("--pin={name}={commit}").into()));
    words.extend(["-o".into(), record.into()]);
    Ok(words)
}

fn measure(
    pool: &Pool,
    task: usize,
    part: &Path,
    out: File,
    interrupt: &Interrupt,
    is_interrupted: &mut bool,
) -> Result<ExitStatus> {
    let err = out.try_clone().context("cannot open the file for its messages again")?;
    let command = command(&pool.manifest, task, part)?;
    let mut child = supervised::prepared(&command, false)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .with_context(|| format!("cannot execute {}", command[0].display()))?;
    let drain = || *is_interrupted |= interrupt.take();
    supervised::wait(&mut child, interrupt.as_fd(), drain, || Ok(()))
}

/// Moves a complete record to the finished ones, unless the task already has one.
fn finish(pool: &Pool, task: usize, part: &Path, status: ExitStatus) -> Result<()> {
    ensure!(status.success(), "stillwell bench ended with {status}");
    let record = Record::read(part).context("it was measured, but its record cannot be read")?;
    ensure!(record.end_reason() == Some(EndReason::Complete), "its record has no proper end");
    let done = pool.record(task);
    let put = || -> std::io::Result<()> {
        File::open(part)?.sync_all()?;
        match std::fs::hard_link(part, &done) {
            // Another job finished the task first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            // A file system without hard links: rename instead.
            Err(error) if is_refused(&error) => rename_new(part, &done)?,
            linked => linked?,
        }
        File::open(pool.done())?.sync_all()
    };
    put().with_context(|| format!("cannot put its record to {}", done.display()))
}

fn is_refused(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        renamed => Ok(renamed?),
    }
}

/// Keeps the output of a failed task and appends the error.
fn keep_failure(pool: &Pool, name: &str, log: &Path, error: &anyhow::Error) {
    let error = in_words(error);
    let kept: PathBuf = pool.failed().join(format!("{name}{LOG_SUFFIX}"));
    std::fs::rename(log, &kept).ok();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&kept);
    if let Ok(mut file) = file {
        writeln!(file, "stillwell pool: {error}").ok();
    }
    writeln!(terminal::stderr(), "stillwell pool: task {name}: {error}").ok();
}

/// Name of a node for use in a file name.
fn for_file(node: &str) -> String {
    let allowed =
        |char: char| if char.is_ascii_alphanumeric() || "-_".contains(char) { char } else { '_' };
    node.chars().take(64).map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed job leaves its files, and a later job may have the same process id.
    #[test]
    fn every_attempt_has_a_part_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let names = [0, 1, 2].map(|_| new_part(folder.path(), 7, "a b").unwrap().0);
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2]);
        for name in names {
            assert!(name.starts_with(&format!("7.a_b.{}.", std::process::id())), "{name}");
            assert!(folder.path().join(name + LOG_SUFFIX).exists());
        }
    }
}
