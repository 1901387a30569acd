//! A guardian while something runs: with knobs turned, with CPUs kept free, or both; and what it says of it.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow};
use jiff::Timestamp;

use crate::host::guardian::{Guardian, Request};
use crate::host::shield::{self, How, Isolation, Placement, Raised, Watch};
use crate::host::{Facts, Gap, Host};
use crate::plan::Plan;
use crate::render::shield as shown;
use crate::spec::groups::TuneOptions;
use crate::spec::run::ProcessOptions;

/// What holds while it lives.
#[derive(Debug, Default)]
pub struct Isolating {
    guardian: Option<Guardian>,
    /// What is in force.
    pub isolation: Option<Isolation>,
    /// Facts and gaps of before: in the shield's shade this process may use fewer CPUs.
    before: Option<(Facts, Vec<Gap>)>,
}

impl Isolating {
    /// What the options ask for. Without any, CPUs that were isolated at boot are used.
    ///
    /// # Errors
    /// It cannot be had. That CPUs cannot be kept free is no error: the isolation says why.
    pub fn start(root: &Path, process: &ProcessOptions) -> Result<Self> {
        let host = Host::new(root);
        let asked = process.affinity.as_ref().map(|cpus| cpus.0.clone());
        if !process.isolate && process.tuning.tune.is_none() {
            let isolation = if asked.is_none() { booted(&host) } else { None };
            return Ok(Self { isolation, ..Self::default() });
        }
        let request = shield::Request {
            balanced: asked.as_ref().is_some_and(|cpus| cpus.len() > 1),
            cpus: asked.clone(),
            kernel_threads: true,
        };
        let before = process.isolate.then(|| crate::host::look(&host));
        if process.tuning.tune.is_none() && !Guardian::has_rights(root) {
            let isolation = without_rights(&host, &request)?;
            say(&[shown::sentence(&isolation)]);
            say(&isolation.notes);
            return Ok(Self { guardian: None, isolation: Some(isolation), before });
        }
        let knobs = process.tuning.tune.as_ref().and_then(|names| Some(names.as_ref()?.0.clone()));
        let guardian = Guardian::start(
            root,
            &Request {
                cpus: asked,
                knobs,
                tunes: process.tuning.tune.is_some(),
                isolate: process.isolate.then_some(request),
                time_s: Timestamp::now().as_second(),
            },
        )?;
        Ok(Self::of(guardian, before))
    }

    /// The machine tuned, and no CPU kept free.
    ///
    /// # Errors
    /// Nobody gives the rights, or the machine is tuned already.
    pub fn tune(root: &Path, options: &TuneOptions, cpus: Option<Vec<usize>>) -> Result<Self> {
        let Some(knobs) = &options.tune else { return Ok(Self::default()) };
        let knobs = knobs.as_ref().map(|names| names.0.clone());
        let time_s = Timestamp::now().as_second();
        let request = Request { cpus, knobs, tunes: true, isolate: None, time_s };
        Ok(Self::of(Guardian::start(root, &request)?, None))
    }

    /// A shield alone.
    ///
    /// # Errors
    /// As [`Isolating::start`].
    pub fn shield(root: &Path, request: shield::Request) -> Result<Self> {
        if !Guardian::has_rights(root) {
            let isolation = without_rights(&Host::new(root), &request)?;
            say(&isolation.notes);
            return Ok(Self { isolation: Some(isolation), ..Self::default() });
        }
        let guardian = Guardian::start(
            root,
            &Request {
                cpus: None,
                knobs: None,
                tunes: false,
                isolate: Some(request),
                time_s: Timestamp::now().as_second(),
            },
        )?;
        Ok(Self::of(guardian, None))
    }

    fn of(guardian: Guardian, before: Option<(Facts, Vec<Gap>)>) -> Self {
        say(&guardian.notes);
        let isolation = guardian.isolation.clone();
        if let Some(isolation) = &isolation {
            say(&[shown::sentence(isolation)]);
            say(&isolation.notes);
        }
        Self { guardian: Some(guardian), isolation, before }
    }

    /// Whether the runs are those of whoever called sudo, and not root's.
    pub fn has_guardian(&self) -> bool {
        self.guardian.is_some()
    }

    /// The facts of the machine as the runs find it; but the CPUs that this process may use are those of before.
    pub fn look(&self, host: &Host) -> (Facts, Vec<Gap>) {
        let (mut facts, gaps) = crate::host::look(host);
        let Some((before, gaps_before)) = &self.before else { return (facts, gaps) };
        facts.cpus_allowed.clone_from(&before.cpus_allowed);
        (facts, gaps_before.clone())
    }

    /// Binds the runs to their CPUs.
    pub fn bind(&self, plan: &mut Plan) {
        let bound = self.isolation.as_ref().map(Isolation::bound_cpus).unwrap_or_default();
        if !bound.is_empty() {
            plan.process.affinity = Some(bound.clone());
            plan.process.launcher_cpus = Some(bound);
        }
    }

    /// What tells whether the shield still holds.
    pub fn watch(&self, host: &Host) -> Option<Watch> {
        Watch::new(host, self.isolation.as_ref()?)
    }

    /// Puts a process of ours on the CPUs that are kept free.
    ///
    /// # Errors
    /// The guardian's answer.
    pub fn enter(&mut self, pid: u32) -> Result<()> {
        let has_group = self
            .isolation
            .as_ref()
            .is_some_and(|isolation| !matches!(isolation.how, How::Boot | How::Affinity));
        match &mut self.guardian {
            Some(guardian) if has_group => guardian.enter(pid),
            _ => Ok(()),
        }
    }

    /// Has everything put back.
    ///
    /// # Errors
    /// The guardian died.
    pub fn end(self) -> Result<()> {
        if let Some(guardian) = self.guardian {
            say(&guardian.end()?);
        }
        Ok(())
    }
}

/// CPUs that the machine was booted to leave alone are used without being asked for.
fn booted(host: &Host) -> Option<Isolation> {
    if shield::find(host).boot.is_empty() {
        return None;
    }
    let placement = shield::place(host, None).ok()?;
    let raised = unprivileged(host, &placement);
    (raised.how == How::Boot).then(|| shield::verify(host, &raised, Vec::new()))
}

/// What can be had without rights: CPUs that were isolated at boot, or else only to be bound to some.
fn without_rights(host: &Host, request: &shield::Request) -> Result<Isolation> {
    let placement = match shield::place(host, request.cpus.as_deref()) {
        Ok(placement) => placement,
        Err(why) if request.cpus.is_none() => return Ok(Isolation::none(why)),
        Err(why) => return Err(anyhow!("{why}")),
    };
    let raised = unprivileged(host, &placement);
    let mut notes = placement.notes.clone();
    if raised.how == How::Affinity {
        notes.push(shield::no_shield_without_rights(&placement.shielded, &placement.bound));
    }
    Ok(shield::verify(host, &raised, notes))
}

fn unprivileged(host: &Host, placement: &Placement) -> Raised {
    let request = shield::Request { cpus: None, kernel_threads: false, balanced: false };
    let (mut raised, _) = shield::plan(host, placement, &request);
    if raised.how != How::Boot {
        raised.how = How::Affinity;
    }
    raised
}

fn say(notes: &[String]) {
    for note in notes {
        writeln!(anstream::stderr(), "stillwell: {note}").ok();
    }
}
