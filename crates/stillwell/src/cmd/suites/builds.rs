//! The variants of a suite, checked out and built. Each revision has a work tree of its own below `$XDG_CACHE_HOME`, which
//! is kept: the next session finds it built.
#![expect(clippy::disallowed_methods, reason = "executes git and builds")]

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest as _, Sha256};

use crate::cmd::measuring::LINE_MAX;
use crate::host::{Git, command_of_invoker, find_git};
use crate::link::Wrappers;
use crate::measure::clock::monotonic_ns;
use crate::measure::interrupt::Interrupt;
use crate::measure::supervised;
use crate::plan::suite::Built;
use crate::record;
use crate::render::{one_line, shorten};
use crate::spec::suite::{Build, LinkOrder, Variant};

/// Builds with a random order of linking, unless the file says how many.
const BUILDS: u32 = 8;
/// Is in a directory that has been built, with what was done.
const DONE: &str = ".stillwell-built";
/// Tells a build its number.
const NUMBER: &str = "STILLWELL_BUILD";
/// Lines of a failed build that are shown.
const LINES_MAX: usize = 20;
/// A build that ^C does not end is killed after this.
const END_NS: u64 = 2_000_000_000;
/// Characters of a commit in a name.
const COMMIT_MAX: usize = 12;

/// Makes a variant ready. `directory` is that of the suite file. If it is not needed, nothing is checked out or built, and it
/// is only said where it would be.
///
/// # Errors
/// The revision is unknown, or the build fails.
pub fn variant(
    variant: &Variant,
    directory: &Path,
    builder: &Builder,
    is_needed: bool,
) -> Result<Built> {
    let context = || format!("the variant {:?}", variant.name);
    let source = Source::of(variant, directory).with_context(context)?;
    let roots = roots(variant, &source, builder, is_needed).with_context(context)?;
    let cwd = variant.cwd.as_deref().unwrap_or_default();
    let directories = roots.iter().map(|root| {
        let directory = if cwd.is_empty() { root.clone() } else { root.join(cwd) };
        let there = !is_needed || directory.is_dir();
        ensure!(there, "`cwd`: there is no directory {}", directory.display());
        let shown = directory.to_str().map(str::to_owned);
        shown.with_context(|| format!("{} is not UTF-8", directory.display()))
    });
    let directories = directories.collect::<Result<_>>().with_context(context)?;
    Ok(Built { variant: variant.clone(), directories, git: source.commit(cwd) })
}

/// Who builds, for one session.
#[derive(Debug)]
pub struct Builder {
    /// No other session has this name.
    session: String,
    /// Copies that were made for this session alone.
    copies: RefCell<Vec<PathBuf>>,
    interrupt: Rc<Interrupt>,
    was_interrupted: Cell<bool>,
}

impl Builder {
    /// For a session that begins now.
    ///
    /// # Errors
    /// ^C cannot be caught.
    pub fn new() -> Result<Self> {
        let now = jiff::Timestamp::now().as_microsecond();
        Ok(Self {
            session: format!("{now:x}-{:x}", std::process::id()),
            copies: RefCell::default(),
            interrupt: Rc::new(Interrupt::catch()?),
            was_interrupted: Cell::new(false),
        })
    }

    /// Whether ^C ended a build, or what a program was asked, or came in between.
    pub fn was_interrupted(&self) -> bool {
        if self.interrupt.take() {
            self.was_interrupted.set(true);
        }
        self.was_interrupted.get()
    }

    /// For somebody else who waits.
    pub fn interrupt(&self) -> Rc<Interrupt> {
        Rc::clone(&self.interrupt)
    }

    /// ^C has ended what somebody else waited for.
    pub fn note_interrupt(&self) {
        self.was_interrupted.set(true);
    }

    /// The copies that were made.
    pub fn copies(&self) -> Vec<PathBuf> {
        self.copies.borrow().clone()
    }

    /// Waits for a build, and ends it when ^C comes.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let mut asked_to_end = None;
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for a build")? {
                ensure!(!self.was_interrupted.get(), "interrupted while it was built");
                return Ok(status);
            }
            let mut waited = [PollFd::new(&*self.interrupt, PollFlags::IN)];
            let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            rustix::event::poll(&mut waited, Some(&moment)).ok();
            // It is a group of its own.
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if self.interrupt.take() {
                group.map(|group| kill_process_group(group, Signal::TERM));
                self.was_interrupted.set(true);
                asked_to_end.get_or_insert_with(monotonic_ns);
            }
            if asked_to_end.is_some_and(|since_ns| monotonic_ns() - since_ns > END_NS) {
                group.map(|group| kill_process_group(group, Signal::KILL));
            }
        }
    }
}

/// Removes copies; what cannot be removed stays.
pub fn remove(copies: &[PathBuf]) {
    copies.iter().for_each(|copy| drop(std::fs::remove_dir_all(copy)));
}

/// The directories that a variant is in, one for each of its builds.
fn roots(
    variant: &Variant,
    source: &Source,
    builder: &Builder,
    is_needed: bool,
) -> Result<Vec<PathBuf>> {
    let numbers = match &variant.build {
        Some(build) if build.link_order == LinkOrder::Random => {
            (0..build.builds.unwrap_or(BUILDS)).map(Some).collect()
        }
        Some(build) => {
            ensure!(build.builds.is_none(), "`builds` goes with link_order = \"random\"");
            vec![None]
        }
        None => vec![None],
    };
    let tree = |number: Option<u32>| Tree { source, variant, number, builder, is_needed };
    numbers.into_iter().map(|number| tree(number).ready()).collect()
}

/// Where a variant's files come from.
enum Source {
    /// A commit of a repository.
    Commit { repository: PathBuf, git: Git },
    /// Files as they are.
    Files(PathBuf),
}

impl Source {
    fn of(variant: &Variant, directory: &Path) -> Result<Self> {
        match &variant.revision {
            Some(revision) => Self::checked_out(variant, directory, revision),
            None => Self::files(variant, directory),
        }
    }

    /// The commit that was checked out, or that the files are at where the variant runs.
    fn commit(self, cwd: &str) -> Option<Git> {
        match self {
            Self::Commit { git, .. } => Some(git),
            Self::Files(path) => find_git(&path.join(cwd).canonicalize().ok()?),
        }
    }

    fn checked_out(variant: &Variant, directory: &Path, revision: &str) -> Result<Self> {
        let of_build = variant.build.as_ref().and_then(|build| build.source.as_ref());
        ensure!(of_build.is_none(), "`build.source` does not go with `revision`");
        let repository = directory.join(variant.repository.as_deref().unwrap_or_default());
        let top = git(&repository, &["rev-parse", "--show-toplevel"])?;
        let wanted = format!("{revision}^{{commit}}");
        let found = git(&repository, &["rev-parse", "--verify", "--end-of-options", &wanted]);
        let revision =
            found.with_context(|| format!("there is no commit {revision:?} in {top}"))?;
        // `TIME ID`. As the user, like all that a repository's configuration has a say in.
        let dated = git(&repository, &["rev-list", "--max-count=1", "--timestamp", &revision])?;
        let committed_s = dated.split(' ').next().and_then(|time| time.parse().ok());
        Ok(Self::Commit { repository: top.into(), git: Git { revision, committed_s } })
    }

    fn files(variant: &Variant, directory: &Path) -> Result<Self> {
        ensure!(variant.repository.is_none(), "`repository` goes with `revision`");
        let source = variant.build.as_ref().and_then(|build| build.source.as_deref());
        let path = directory.join(source.unwrap_or_default());
        ensure!(path.is_dir(), "there is no directory {}", path.display());
        Ok(Self::Files(path))
    }
}

/// One directory that a variant runs in.
struct Tree<'a> {
    source: &'a Source,
    variant: &'a Variant,
    /// Of builds that are linked in a random order.
    number: Option<u32>,
    builder: &'a Builder,
    is_needed: bool,
}

impl Tree<'_> {
    /// Where it is, checked out and built.
    fn ready(&self) -> Result<PathBuf> {
        let path = match (self.source, self.number) {
            // In place: what is built is what the user works on.
            (Source::Files(path), None) => path.clone(),
            _ => self.own_directory()?,
        };
        if !self.is_needed
            || (self.variant.build.is_none() && matches!(self.source, Source::Files(_)))
        {
            return Ok(path);
        }
        let is_kept = matches!(self.source, Source::Commit { .. });
        let done = path.join(DONE);
        let what = self.variant.build.as_ref().map_or("", |build| &build.command);
        if is_kept && std::fs::read_to_string(&done).is_ok_and(|found| found == what) {
            return Ok(path);
        }
        match (self.source, self.number) {
            (Source::Commit { repository, git }, _) => {
                check_out(repository, &git.revision, &path)?;
            }
            (Source::Files(source), Some(_)) => {
                self.builder.copies.borrow_mut().push(path.clone());
                copy(source, &path)?;
            }
            (Source::Files(_), None) => {}
        }
        if let Some(build) = &self.variant.build {
            self.build(build, &path)?;
        }
        if is_kept {
            std::fs::write(&done, what)
                .with_context(|| format!("cannot write {}", done.display()))?;
        }
        Ok(path)
    }

    /// A directory for this source, build command and number.
    fn own_directory(&self) -> Result<PathBuf> {
        let (origin, name) = match self.source {
            Source::Commit { repository, git } => {
                (repository, &git.revision[..git.revision.len().min(COMMIT_MAX)])
            }
            Source::Files(path) => (path, self.variant.name.as_str()),
        };
        let command = self.variant.build.as_ref().map_or("", |build| build.command.as_str());
        let mut hash = Sha256::new();
        hash.update(origin.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(command);
        let hash: String = hash.finalize()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let plain: String =
            name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
        // A copy is of the files as they are now, so it is this session's alone.
        let of_session = match self.source {
            Source::Commit { .. } => String::new(),
            Source::Files(_) => format!("-{}", self.builder.session),
        };
        let number = self.number.map_or_else(String::new, |number| format!("-link{number}"));
        let hash = hash + &of_session;
        Ok(record::builds_path()?.join(format!("{plain}-{hash}{number}")))
    }

    fn build(&self, build: &Build, path: &Path) -> Result<()> {
        let of = self.number.map_or_else(String::new, |number| format!(", link order {number}"));
        writeln!(anstream::stderr(), "building {}{of}", one_line(&self.variant.name)).ok();
        // The kernel ends its shell with this program, whatever ends that.
        let words = ["sh", "-c", &build.command].map(OsString::from);
        let mut command = supervised::prepared(&words, true);
        command.current_dir(path).stdin(Stdio::null());
        command.envs(&self.variant.env);
        // Whoever builds has to find the compilers in it.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        let compilers = tempfile::Builder::new().permissions(readable).tempdir();
        let compilers = compilers.context("cannot make a directory for compilers")?;
        if let Some(number) = self.number {
            let wrappers = Wrappers::create(&compilers.path().join("bin"), number.into())?;
            command.env("PATH", wrappers.path_variable()).env(NUMBER, number.to_string());
        }
        let mut log = tempfile::tempfile().context("cannot make a file for what a build says")?;
        let to_log = || log.try_clone().context("cannot make a file for what a build says");
        command.stdout(to_log()?).stderr(to_log()?).process_group(0);
        let status = self.builder.wait(&mut command.spawn().context("cannot execute sh")?)?;
        if status.success() {
            return Ok(());
        }
        let mut said = Vec::new();
        log.rewind().and_then(|()| log.read_to_end(&mut said)).ok();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.trim_end().lines().collect();
        let end = lines[lines.len().saturating_sub(LINES_MAX)..].iter();
        let end: String = end.map(|line| format!("\n  | {}", shorten(line, LINE_MAX))).collect();
        bail!(
            "its build {:?} ended with {} in {}; the end of what it wrote:{end}",
            build.command,
            status,
            path.display()
        )
    }
}

fn check_out(repository: &Path, commit: &str, path: &Path) -> Result<()> {
    if path.join(".git").exists() {
        // Of a build that failed or was killed.
        git(path, &["checkout", "--quiet", "--force", "--detach", commit])?;
        git(path, &["clean", "--quiet", "-dffx"])?;
        return Ok(());
    }
    let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    // Of directories that somebody has removed.
    git(repository, &["worktree", "prune"])?;
    git(repository, &["worktree", "add", "--quiet", "--detach", path, commit])?;
    Ok(())
}

/// Copies a directory as it is now, over what was copied before.
fn copy(source: &Path, path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", path.display()));
        }
        _ => {}
    }
    // Whoever asked for root runs what is made of it.
    let mut command = command_of_invoker("cp");
    command.args(["-a", "--reflink=auto", "--"]).arg(source).arg(path);
    let output = command.output().context("cannot execute cp")?;
    ensure!(
        output.status.success(),
        "cannot copy {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// What git answers, without the newline.
fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = command_of_invoker("git");
    let output = command.arg("-C").arg(directory).args(arguments).output();
    let output = output.context("cannot execute git, which `revision` needs")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "git {} in {}: {}",
        arguments.join(" "),
        directory.display(),
        said.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
