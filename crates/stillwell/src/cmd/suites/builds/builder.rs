//! The builder of a suite: its locks, its copies, and ^C while it builds.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use host::terminal;
use host::user_files::open_to_write;
use measure::clock::monotonic_ns;
use measure::interrupt::Interrupt;
use model::spec::suite::Variant;
use render::one_line;

/// Time that a build has to end after ^C, before it is killed.
const END_NS: u64 = 2_000_000_000;
/// Wait after which the user learns that another session holds the lock.
const PATIENCE_NS: u64 = 1_000_000_000;
/// The interval between attempts to take a lock.
const TRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

#[derive(Debug)]
pub struct Builder {
    /// A unique name.
    pub session: String,
    /// Copies for this session alone.
    pub copies: RefCell<Vec<PathBuf>>,
    /// Builds that were begun.
    pub n_builds: Cell<usize>,
    interrupt: Rc<Interrupt>,
    was_interrupted: Cell<bool>,
}

impl Builder {
    /// Errors: ^C cannot be caught.
    pub fn new() -> Result<Self> {
        let now = jiff::Timestamp::now().as_microsecond();
        Ok(Self {
            session: format!("{now:x}-{:x}", std::process::id()),
            copies: RefCell::default(),
            n_builds: Cell::new(0),
            interrupt: Rc::new(Interrupt::catch()?),
            was_interrupted: Cell::new(false),
        })
    }

    /// Whether ^C came during or between builds and listings.
    pub fn was_interrupted(&self) -> bool {
        if self.interrupt.take() {
            self.was_interrupted.set(true);
        }
        self.was_interrupted.get()
    }

    /// The interrupt for other waits of this session.
    pub fn interrupt(&self) -> Rc<Interrupt> {
        Rc::clone(&self.interrupt)
    }

    /// Notes that ^C ended another wait.
    pub fn note_interrupt(&self) {
        self.was_interrupted.set(true);
    }

    /// Sleeps until ^C or until the time has passed.
    fn rest(&self, time: Timespec) {
        let mut waited = [PollFd::new(&*self.interrupt, PollFlags::IN)];
        rustix::event::poll(&mut waited, Some(&time)).ok();
    }

    /// Locks a path against other sessions until the file is dropped. `None` if the file system has no locks. Errors:
    /// the lock file cannot be created, or ^C came.
    pub fn lock(&self, path: &Path, variant: &Variant) -> Result<Option<File>> {
        // The lock file stays: after a removal, a waiting session would lock a file that no other session opens.
        let file = open_to_write(path, OFlags::CREATE, 0o666);
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
                terminal::say_bare(format!("waiting for another session that builds {name}"));
                is_told = true;
            }
            self.rest(TRY);
            ensure!(!self.was_interrupted(), "interrupted while another session built it");
        }
    }

    /// Waits for a build; ^C ends the build. Errors: ^C came.
    pub fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let mut asked_to_end = None;
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for a build")? {
                ensure!(!self.was_interrupted.get(), "interrupted while it was built");
                return Ok(status);
            }
            self.rest(Timespec { tv_sec: 0, tv_nsec: 20_000_000 });
            // The build is in its own process group.
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
