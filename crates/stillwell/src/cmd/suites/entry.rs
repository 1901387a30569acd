//! One benchmark of a suite during the session: its state, its record, its end.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::session::{Session, SessionEnd, SessionState, Visit};
use host::sys::User;
use host::user_files::read_whole;
use measure::slices::Paces;
use measure::{ExecRunner, Hook, MeasurementFailure, Runner as _};
use record::plan::suite::SuiteMember;
use record::{EndReason, Event, Record, RecordTail, Writer};

pub struct SuiteEntry<'a> {
    /// The plan and the name.
    pub member: &'a SuiteMember,
    /// The path of the record.
    pub path: PathBuf,
    /// The state after the first visit.
    pub state: Option<SessionState>,
    /// The paces of workers in earlier visits.
    pub paces: Paces,
    /// Whether a gate has measured the benchmark as a suspect.
    pub is_suspect: bool,
    /// Whether the setup hook has run, so that a cleanup is due.
    pub is_set_up: bool,
    /// The last events of all visits' launchers, as one.
    last_words: Option<Event>,
    /// The reason of the end; `None` while the entry is open.
    pub end: Option<EndReason>,
    pub failure: Option<MeasurementFailure>,
    /// Whether the record contains the end.
    is_closed: bool,
}

impl<'a> SuiteEntry<'a> {
    /// The entry of a benchmark, with the record of an earlier session if any.
    pub fn find(member: &'a SuiteMember, path: PathBuf) -> Result<Self> {
        let mut entry = Self {
            member,
            path,
            state: None,
            paces: Paces::default(),
            is_suspect: false,
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
            // The earlier session was killed while it wrote the header, so there is no run.
            ensure_headless(&entry.path)?;
            return Ok(entry);
        };
        entry.end = record.end_reason().filter(|reason| reason.is_final());
        entry.is_closed = entry.end.is_some();
        entry.is_suspect = record.events.contains(&Event::Suspect);
        if !entry.is_closed {
            Writer::go_on(&entry.path)?;
            let (mut tail, _) = RecordTail::open(&entry.path)?;
            let (state, unfit) = SessionState::from_record(&member.plan, &mut tail)?;
            entry.state = Some(state);
            entry.end = unfit.as_ref().map(|_| EndReason::Failed);
            entry.failure = unfit;
        }
        Ok(entry)
    }

    /// Errors: a directory of its builds is gone.
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

    /// Whether `--resume` would do nothing.
    pub fn is_final(&self) -> bool {
        self.is_closed && self.end.is_none_or(EndReason::is_final)
    }

    /// Whether further visits are needed.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Notes in the record that the benchmark is a suspect.
    pub fn suspect(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_suspect, true) {
            return Ok(());
        }
        Writer::open(&self.path)?.append_event(&Event::Suspect)
    }

    /// Visits the benchmark in its session. `Some` when it is done. Errors: the runner failed.
    pub fn go(&mut self, mut session: Session<'_>, visit: Visit) -> Result<Option<SessionEnd>> {
        if let Some(state) = self.state.take() {
            session.state = state;
        }
        self.is_set_up = true;
        let end = session.visit(visit);
        let noted = match &end {
            Ok(Some(SessionEnd { failure, .. })) => session.note_failure(failure.as_ref()),
            _ => Ok(()),
        };
        let (state, paces, last_words) = session.ended();
        (self.state, self.paces) = (Some(state), paces);
        self.last_words = together(self.last_words.take(), last_words);
        noted.and(end)
    }

    /// Runs the cleanup hook if it is due, and records the end: `over` for an open entry.
    pub fn close(&mut self, over: EndReason, run_as: Option<&User>) -> Result<()> {
        if self.state.is_none() || self.is_closed {
            return Ok(());
        }
        let plan = &self.member.plan;
        if let Some(cleanup) = plan.cleanup.as_ref().filter(|_| self.is_set_up) {
            let (mut runner, _) = ExecRunner::start(plan, run_as.cloned(), None, |_| Ok(()))?;
            let outcome = runner.hook(Hook::Cleanup, cleanup, 0)?;
            if self.failure.is_none() && outcome.failure.is_some() {
                self.failure = outcome.failure;
                self.end = Some(EndReason::Failed);
            }
        }
        let reason = self.end.unwrap_or(over);
        let mut writer = Writer::open(&self.path)?;
        if let Some(event) = &self.last_words {
            writer.append_event(event)?;
        }
        self.is_closed = true;
        self.end = Some(reason);
        writer.append_event(&Event::End { reason })
    }
}

/// Removes a record without a complete header. Other files are errors: they may hold data.
fn ensure_headless(path: &Path) -> Result<()> {
    let text = read_whole(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(
        !text.contains(&b'\n'),
        "{} is damaged; move it away to measure it again",
        path.display()
    );
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// Joins the last events of two launchers.
fn together(one: Option<Event>, other: Option<Event>) -> Option<Event> {
    let both = one.clone().zip(other.clone());
    let Some((
        Event::Launcher { maxrss_floor_kib: floor, evidence_ns: before_ns, survivors: before },
        Event::Launcher { maxrss_floor_kib, evidence_ns, survivors },
    )) = both
    else {
        return other.or(one);
    };
    let evidence_ns = before_ns.zip(evidence_ns).map(|(before_ns, ns)| before_ns + ns);
    let maxrss_floor_kib = maxrss_floor_kib.max(floor);
    let survivors = [before, survivors].concat();
    Some(Event::Launcher { maxrss_floor_kib, evidence_ns, survivors })
}
