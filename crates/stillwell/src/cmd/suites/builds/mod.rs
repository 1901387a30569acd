//! The variants of a suite, checked out and built. Each revision has a work tree of its own below `$XDG_CACHE_HOME`, which
//! is kept: the next session finds it built.

mod source;
mod tree;

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::host::with_their_files;
use crate::measure::clock::monotonic_ns;
use crate::measure::interrupt::Interrupt;
use crate::plan::suite::VariantBuild;
use crate::render::one_line;
use crate::spec::suite::{LinkOrder, Variant};

use source::Source;
use tree::Tree;

/// Builds with a random order of linking, unless the file says how many.
const BUILDS: u32 = 8;
/// A build that ^C does not end is killed after this.
const END_NS: u64 = 2_000_000_000;
/// Who waits for another session so long is told why.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How often a lock is tried.
const TRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Why a variant cannot be made ready.
#[derive(Debug)]
pub struct Unready {
    /// Under which of its keys the reason is.
    pub keys: &'static [&'static str],
    /// The reason.
    pub error: anyhow::Error,
}

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
) -> Result<VariantBuild, Unready> {
    let unready = |keys| {
        let context = format!("the variant {:?}", variant.name);
        move |error: anyhow::Error| Unready { keys, error: error.context(context) }
    };
    let is_revision = variant.revision.is_some();
    let keys: &[&str] = if is_revision { &["revision"] } else { &["build", "source"] };
    let source = Source::of(variant, directory).map_err(unready(keys))?;
    let keys: &[&str] = if variant.build.is_some() { &["build", "command"] } else { keys };
    let roots = roots(variant, &source, builder, is_needed).map_err(unready(keys))?;
    let cwd = variant.cwd.as_deref().unwrap_or_default();
    let directories = roots.iter().map(|root| {
        let directory = if cwd.is_empty() { root.clone() } else { root.join(cwd) };
        let there = !is_needed || directory.is_dir();
        ensure!(there, "`cwd`: there is no directory {}", directory.display());
        let shown = directory.to_str().map(str::to_owned);
        shown.with_context(|| format!("{} is not UTF-8", directory.display()))
    });
    let directories = directories.collect::<Result<_>>().map_err(unready(&["cwd"]))?;
    Ok(VariantBuild { variant: variant.clone(), directories, git: source.commit(cwd) })
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

    /// Until ^C comes, or some time has passed.
    fn rest(&self, time: Timespec) {
        let mut waited = [PollFd::new(&*self.interrupt, PollFlags::IN)];
        rustix::event::poll(&mut waited, Some(&time)).ok();
    }

    /// Holds all other sessions off that make the same ready, until it is dropped. `None` where the file system has no locks.
    ///
    /// # Errors
    /// The file of the lock cannot be made, or ^C came.
    fn lock(&self, path: &Path, variant: &Variant) -> Result<Option<File>> {
        // Nobody removes it: who waits for it would hold a lock of which nobody else knows.
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = with_their_files(open);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let began_ns = monotonic_ns();
        let mut is_told = false;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(_) => return Ok(None),
            }
            if !is_told && monotonic_ns() - began_ns >= PATIENCE_NS {
                let name = one_line(&variant.name);
                writeln!(anstream::stderr(), "waiting for another session that builds {name}").ok();
                is_told = true;
            }
            self.rest(TRY);
            ensure!(!self.was_interrupted(), "interrupted while another session built it");
        }
    }

    /// Waits for a build, and ends it when ^C comes.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let mut asked_to_end = None;
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for a build")? {
                ensure!(!self.was_interrupted.get(), "interrupted while it was built");
                return Ok(status);
            }
            self.rest(Timespec { tv_sec: 0, tv_nsec: 20_000_000 });
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
        _ => vec![None],
    };
    let tree = |number: Option<u32>| Tree { source, variant, number, builder, is_needed };
    numbers.into_iter().map(|number| tree(number).ready()).collect()
}
