//! One benchmark of a suite on its way: what has been seen of it, its record, and its end.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::analysis::end_reason;
use crate::measure::slices::Paces;
use crate::measure::{ExecRunner, Hook, MeasurementFailure, Runner};
use crate::plan::suite::SuiteMember;
use crate::record::{EndReason, Event, Record, RecordTail, Writer};
use crate::session::{Ended, Progress, Seen, Session, Visit};
use crate::sys::User;

/// One benchmark on its way.
pub struct Entry<'a> {
    /// What it is.
    pub member: &'a SuiteMember,
    /// Where its record is.
    pub path: PathBuf,
    /// What has been seen of it, once it was visited.
    pub seen: Option<Seen>,
    /// What has been found out about its workers.
    pub paces: Paces,
    /// Whether its setup hook has been executed, and so a cleanup is due.
    pub is_set_up: bool,
    /// What the launchers of its visits have said of themselves.
    last_words: Option<Event>,
    /// Why it is over, once it is.
    pub end: Option<EndReason>,
    /// What went wrong.
    pub failure: Option<MeasurementFailure>,
    /// Whether its record says so.
    is_closed: bool,
}

impl<'a> Entry<'a> {
    /// With what an earlier session has left of it.
    ///
    /// # Errors
    /// That cannot be read.
    pub fn find(member: &'a SuiteMember, path: PathBuf) -> Result<Self> {
        let mut entry = Self {
            member,
            path,
            seen: None,
            paces: Paces::default(),
            is_set_up: false,
            last_words: None,
            end: None,
            failure: None,
            is_closed: false,
        };
        if !entry.path.exists() {
            return Ok(entry);
        }
        let Ok(record) = Record::read(&entry.path) else {
            // Killed while the header was written: nothing is lost.
            ensure_headless(&entry.path)?;
            return Ok(entry);
        };
        entry.end = end_reason(&record).filter(|reason| reason.is_final());
        entry.is_closed = entry.end.is_some();
        if !entry.is_closed {
            Writer::go_on(&entry.path)?;
            let (mut tail, _) = RecordTail::open(&entry.path)?;
            entry.seen = Some(Seen::of_record(&member.plan, &mut tail)?);
        }
        Ok(entry)
    }

    /// Whether what it measures is where it was.
    ///
    /// # Errors
    /// It is not.
    pub fn has_its_builds(&self) -> Result<()> {
        let mut directories = self.member.plan.arms.iter().flat_map(|arm| &arm.directories);
        let gone = directories.find(|directory| !Path::new(directory).is_dir());
        let name = &self.member.name;
        ensure!(
            gone.is_none(),
            "the benchmark {name:?} runs in {}, which is gone; what was built there cannot be gone on with: start the suite anew",
            gone.map_or("", String::as_str)
        );
        Ok(())
    }

    /// Whether there is nothing left to go on with.
    pub fn is_final(&self) -> bool {
        self.is_closed && self.end.is_none_or(EndReason::is_final)
    }

    /// Whether it is to be visited.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Opens its record, or creates it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(
        &self,
        create: impl FnOnce(&Path) -> Result<(Writer, RecordTail, Vec<String>)>,
    ) -> Result<(Writer, RecordTail, Vec<String>)> {
        if self.seen.is_none() {
            return create(&self.path);
        }
        let (mut tail, header) = RecordTail::open(&self.path)?;
        tail.follow(|_| Ok(()))?;
        Ok((Writer::open(&self.path)?, tail, header.columns))
    }

    /// Visits it with a runner. `Some` when it is done.
    ///
    /// # Errors
    /// The runner itself broke down.
    pub fn go(
        &mut self,
        runner: &mut dyn Runner,
        writer: Writer,
        tail: RecordTail,
        progress: Progress,
        visit: Visit,
    ) -> Result<Option<Ended>> {
        let plan = &self.member.plan;
        let mut session = Session::new(plan, runner, writer, tail, progress);
        if let Some(seen) = self.seen.take() {
            session = session.going_on(seen);
        }
        self.is_set_up = true;
        let ended = session.visit(visit);
        if let Ok(Some(Ended { failure: Some(failure), .. })) = &ended {
            session.note_failure(Some(failure))?;
        }
        self.seen = Some(session.into_seen());
        self.last_words = together(self.last_words.take(), runner.last_words());
        ended
    }

    /// Executes the cleanup that is due, and writes why it ended.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn close(&mut self, is_interrupted: bool, run_as: Option<&User>) -> Result<()> {
        if self.seen.is_none() || self.is_closed {
            return Ok(());
        }
        if self.is_set_up && self.member.plan.cleanup.is_some() {
            self.clean_up(run_as)?;
        }
        let over = if is_interrupted { EndReason::Interrupted } else { EndReason::Complete };
        let reason = self.end.unwrap_or(over);
        let mut writer = Writer::open(&self.path)?;
        if let Some(event) = &self.last_words {
            writer.append_event(event)?;
        }
        self.is_closed = true;
        self.end = Some(reason);
        writer.append_event(&Event::End { reason })
    }

    fn clean_up(&mut self, run_as: Option<&User>) -> Result<()> {
        let plan = &self.member.plan;
        let Some(cleanup) = &plan.cleanup else { return Ok(()) };
        let (mut runner, _) = ExecRunner::start(plan, run_as.cloned(), |_| Ok(()))?;
        let outcome = runner.hook(Hook::Cleanup, cleanup)?;
        if self.failure.is_none() && outcome.failure.is_some() {
            self.failure = outcome.failure;
            self.end = Some(EndReason::Failed);
        }
        Ok(())
    }
}

/// A record without a whole header is removed; anything else is somebody's.
#[expect(clippy::disallowed_methods, reason = "removes a record that was never begun")]
fn ensure_headless(path: &Path) -> Result<()> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(
        !text.contains(&b'\n'),
        "{} is damaged; move it away to measure it again",
        path.display()
    );
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// What the launchers of two visits say, as if they had been one.
fn together(one: Option<Event>, other: Option<Event>) -> Option<Event> {
    let both = one.clone().zip(other.clone());
    let Some((
        Event::Launcher { maxrss_floor_kib: floor, evidence_ns: before_ns },
        Event::Launcher { maxrss_floor_kib, evidence_ns },
    )) = both
    else {
        return other.or(one);
    };
    let evidence_ns = before_ns.zip(evidence_ns).map(|(before_ns, ns)| before_ns + ns);
    Some(Event::Launcher { maxrss_floor_kib: maxrss_floor_kib.max(floor), evidence_ns })
}
