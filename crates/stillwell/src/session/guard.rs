//! The guard of a session: tunes knobs, keeps CPUs free, and reports both to the user.

use std::path::Path;

use anyhow::{Error, Result, anyhow};
use jiff::Timestamp;

use crate::session::core_pairs::hidden_siblings;
use host::guardian::{Guardian, GuardianRequest};
use host::knobs::bench_cpus;
use host::shield::{self, Isolation, Placement, ShieldKind, ShieldPlan, Watch};
use host::sys::User;
use host::terminal::say;
use host::{Host, Survey, look, user_of_commands};
use measure::interrupt::Interrupt;
use model::spec::groups::{RightsOptions, TuneOptions};
use model::spec::run::ProcessOptions;
use model::spec::workers::WorkerOptions;
use model::words::in_words;
use record::plan::programs::affinity;
use render::document::ErrorCode;
use render::shield as shown;

/// Tuned knobs and a shield, until [`Guard::restore`] or the guard is dropped: the guardian restores everything when its
/// socket closes. The default guard only changes the user of the commands.
#[derive(Debug, Default)]
pub struct Guard {
    guardian: Option<Guardian>,
    isolation: Option<Isolation>,
    /// The user of the commands, if not this process's.
    user: Option<User>,
    /// The machine before the shield, which takes CPUs from this process too.
    before: Option<Survey>,
    /// Catches signals from before the first change until a session does: the machine is put back before the program ends.
    interrupt: Option<Interrupt>,
}

/// Whether a guard reports what it does. Only the first of consecutive sessions needs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    Normal,
    Quiet,
}

impl Guard {
    /// A guard that only changes the user of the commands.
    pub fn bare(rights: RightsOptions) -> Self {
        Self { user: user_of_commands(rights.as_root), ..Self::default() }
    }

    /// The guard for the options of commands; by default, it uses the CPUs that were isolated at boot. A failed shield
    /// is no error: [`Guard::isolation`] gives the reason. Errors: the guardian cannot start, the machine is tuned
    /// already, or `--affinity` names unusable CPUs.
    pub fn for_commands(root: &Path, process: &ProcessOptions, voice: Voice) -> Result<Self> {
        let host = Host::new(root);
        let cpus = process.affinity.as_ref().map(|cpus| cpus.0.clone());
        if !process.isolate && process.tuning.tune.is_none() {
            let isolation = if cpus.is_none() { booted(&host) } else { None };
            return Ok(Self { isolation, ..Self::bare(process.rights) });
        }
        let request = shield::ShieldRequest {
            balanced: cpus.as_ref().is_some_and(|cpus| cpus.len() > 1),
            cpus: cpus.clone(),
            hidden_siblings: if process.isolate { hidden_siblings(&host) } else { Vec::new() },
        };
        let before = process.isolate.then(|| look(&host));
        if process.tuning.tune.is_none() && !Guardian::has_rights(root) {
            let isolation = without_rights(&host, &request)?;
            if voice == Voice::Normal {
                say_isolation(&isolation);
            }
            let bare = Self::bare(process.rights);
            return Ok(Self { isolation: Some(isolation), before, ..bare });
        }
        let shield = process.isolate.then_some(request);
        let user = user_of_commands(process.rights.as_root);
        Ok(Self { before, user, ..Self::start(root, cpus, &process.tuning, shield, voice)? })
    }

    /// The guard for the options of workers: tunes the machine and keeps no CPU free. Errors: the guardian cannot
    /// start, or the machine is tuned already.
    pub fn for_workers(root: &Path, workers: &WorkerOptions) -> Result<Self> {
        if workers.machine.tuning.tune.is_none() {
            return Ok(Self::bare(workers.machine.rights));
        }
        let user = user_of_commands(workers.machine.rights.as_root);
        let cpus = cpus_of_workers(workers, root);
        Ok(Self { user, ..Self::start(root, cpus, &workers.machine.tuning, None, Voice::Normal)? })
    }

    pub fn for_shield(root: &Path, request: shield::ShieldRequest) -> Result<Self> {
        if !Guardian::has_rights(root) {
            let isolation = without_rights(&Host::new(root), &request)?;
            isolation.notes.iter().for_each(say);
            return Ok(Self { isolation: Some(isolation), ..Self::default() });
        }
        Self::start(root, None, &TuneOptions::default(), Some(request), Voice::Normal)
    }

    fn start(
        root: &Path,
        cpus: Option<Vec<usize>>,
        tuning: &TuneOptions,
        shield: Option<shield::ShieldRequest>,
        voice: Voice,
    ) -> Result<Self> {
        let request = GuardianRequest {
            cpus,
            knobs: tuning.tune.as_ref().and_then(|names| Some(names.as_ref()?.0.clone())),
            tunes: tuning.tune.is_some(),
            isolate: shield,
            time_s: Timestamp::now().as_second(),
        };
        let interrupt = Interrupt::catch_first()?;
        let guardian = Guardian::start(root, &request)?;
        let isolation = guardian.isolation.clone();
        if interrupt.take() {
            // If something is left, its error says so.
            Self { guardian: Some(guardian), ..Self::default() }.restore(Ok(()))?;
            return Err(interrupted());
        }
        if voice == Voice::Normal {
            guardian.notes.iter().for_each(say);
            isolation.iter().for_each(say_isolation);
        }
        let interrupt = Some(interrupt);
        Ok(Self { guardian: Some(guardian), isolation, interrupt, ..Self::default() })
    }

    /// Ends the catching of signals. Returns whether one has come.
    pub fn take_signal(&mut self) -> bool {
        self.interrupt.take().is_some_and(|interrupt| interrupt.take())
    }

    /// Restores everything, and returns the result of what was done under the guard. Errors: the error in `result`, or
    /// else the guardian died or could not restore everything. If both failed, the second error is printed here.
    pub fn restore<T>(self, result: Result<T>) -> Result<T> {
        let Some(guardian) = self.guardian else { return result };
        let _caught = Interrupt::catch().ok();
        let ended = guardian.end().and_then(|(notes, put_back)| {
            notes.iter().for_each(say);
            put_back
        });
        match (result, ended) {
            (Err(error), Err(left)) => {
                say(in_words(&left));
                Err(error)
            }
            (result, ended) => ended.and(result),
        }
    }

    /// The free CPUs and the mechanism.
    pub fn isolation(&self) -> Option<&Isolation> {
        self.isolation.as_ref()
    }

    pub fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// The machine that the runs find, with the CPUs that this process could use before the shield.
    pub fn survey(&self, host: &Host) -> Survey {
        let Survey { mut facts, gaps } = look(host);
        let Some(before) = &self.before else { return Survey { facts, gaps } };
        facts.cpus_allowed.clone_from(&before.facts.cpus_allowed);
        Survey { facts, gaps: before.gaps.clone() }
    }

    pub fn bound_cpus(&self) -> Vec<usize> {
        self.isolation.as_ref().map(Isolation::bound_cpus).unwrap_or_default()
    }

    /// A watch that reports the loss of the shield.
    pub fn watch(&self, host: &Host) -> Option<Watch> {
        Watch::new(host, self.isolation.as_ref()?)
    }

    /// Puts a process of ours on the CPUs that are kept free.
    pub fn enter(&mut self, pid: u32) -> Result<()> {
        let has_group = self.isolation.as_ref().is_some_and(|isolation| {
            !matches!(isolation.how, ShieldKind::Boot | ShieldKind::Affinity)
        });
        match &mut self.guardian {
            Some(guardian) if has_group => guardian.enter(pid),
            _ => Ok(()),
        }
    }
}

/// The error of a verb that a signal ended while it tuned the machine.
pub fn interrupted() -> Error {
    ErrorCode::Interrupted.error("interrupted while the machine was tuned; it is put back".into())
}

/// The CPUs that knobs keep free for workers. A machine's only CPU is left out unless the user names it.
fn cpus_of_workers(workers: &WorkerOptions, root: &Path) -> Option<Vec<usize>> {
    let host = Host::new(root);
    let cpus = affinity(workers, &look(&host).facts)?.0;
    (workers.machine.affinity.is_some() || bench_cpus(&host, Some(&cpus)).is_ok()).then_some(cpus)
}

fn booted(host: &Host) -> Option<Isolation> {
    if shield::find(host).boot.is_empty() {
        return None;
    }
    let placement = shield::place(host, None, &[]).ok()?;
    let raised = unprivileged(host, &placement);
    (raised.how == ShieldKind::Boot).then(|| shield::verify(host, &raised, Vec::new()))
}

/// The isolation without rights: CPUs that were isolated at boot, or else only an affinity.
fn without_rights(host: &Host, request: &shield::ShieldRequest) -> Result<Isolation> {
    let placement = match shield::place(host, request.cpus.as_deref(), &request.hidden_siblings) {
        Ok(placement) => placement,
        Err(why) if request.cpus.is_none() => return Ok(Isolation::none(why)),
        Err(why) => return Err(anyhow!("{why}")),
    };
    let raised = unprivileged(host, &placement);
    let mut notes = placement.notes.clone();
    if raised.how == ShieldKind::Affinity {
        notes.push(shield::no_shield_without_rights(&placement.shielded, &placement.bound));
    }
    Ok(shield::verify(host, &raised, notes))
}

fn unprivileged(host: &Host, placement: &Placement) -> ShieldPlan {
    let (mut raised, _) = shield::plan(host, placement, &shield::ShieldRequest::default());
    if raised.how != ShieldKind::Boot {
        raised.how = ShieldKind::Affinity;
    }
    raised
}

fn say_isolation(isolation: &Isolation) {
    say(shown::sentence(isolation));
    isolation.notes.iter().for_each(say);
}
