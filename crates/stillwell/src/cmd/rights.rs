//! Whose rights a verb uses to open files (docs/security.md): decided once, before anything else.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::thread::set_no_new_privs;

use host::{check_invoker, invoking_user, sys};
use measure::supervised::{become_caller, forget_unknown_caller};
use model::spec::campaign::CampaignAction;
use model::spec::groups::RightsOptions;
use model::spec::{FairPlayAction, PoolAction, ShieldAction, SystemAction, Verb};

/// Under sudo, doas or pkexec a verb that needs root keeps it, but opens files as the caller; only [`host`] opens files
/// of the machine as root. Any other verb becomes the caller for good. Errors: the caller is unknown, or the kernel
/// refuses.
pub fn settle(verb: &Verb) -> Result<()> {
    if is_hook(verb) {
        return Ok(());
    }
    check_invoker(is_as_root(verb))
        .map_err(|why| anyhow!("{why}; --as-root runs the commands as root"))?;
    forget_unknown_caller()?;
    let Some(user) = invoking_user() else { return Ok(()) };
    if needs_root(verb) {
        return sys::take_files(&user).context("cannot open files as the user who called sudo");
    }
    // Programs that git is configured to run must not use sudo's cached password. The commands of a queue are the
    // user's own.
    if !matches!(verb, Verb::Pool(_)) {
        set_no_new_privs(true).context("cannot give up the rights to new privileges")?;
    }
    become_caller()
}

/// Examines or changes this machine with all rights of the process; a directory of files with the user's.
pub fn on_machine<T>(root: &Path, act: impl FnOnce() -> T) -> T {
    if root == Path::new("/") { sys::with_own_files(act) } else { act() }
}

/// Gives resumed work the rights of this command line. The rights in `began` come from a file that any process of the
/// user may have written. Errors: the commands ran as root, and would not any more.
pub fn take_for_kept(now: RightsOptions, began: &mut RightsOptions, work: &str) -> Result<()> {
    ensure!(
        now.as_root || !began.as_root || invoking_user().is_none(),
        "the commands of this {work} ran as root; give --as-root again to run them as root, or begin another {work}"
    );
    *began = now;
    Ok(())
}

/// Whether the verb is a hook of a session, which gave it its rights.
fn is_hook(verb: &Verb) -> bool {
    matches!(verb, Verb::FairPlay(action) if !matches!(action, FairPlayAction::Audit(_)))
}

/// Whether the verb measures or changes the machine.
fn needs_root(verb: &Verb) -> bool {
    match verb {
        Verb::Run(_)
        | Verb::Timeit(_)
        | Verb::Bench(_)
        | Verb::Gate(_)
        | Verb::Bisect(_)
        | Verb::Campaign(_)
        | Verb::Race(_)
        | Verb::Why(_)
        | Verb::Calibrate(_)
        | Verb::Noise(_)
        | Verb::System(_)
        | Verb::Shield(_)
        | Verb::Load(_)
        | Verb::FairPlay(_)
        | Verb::Mcp(_) => true,
        Verb::Pool(action) => matches!(action, PoolAction::Task(_)),
        Verb::Show(_)
        | Verb::Stats(_)
        | Verb::Hist(_)
        | Verb::Check(_)
        | Verb::Dump(_)
        | Verb::Metadata(_)
        | Verb::Slowest(_)
        | Verb::Compare(_)
        | Verb::Report(_)
        | Verb::Convert(_)
        | Verb::History(_)
        | Verb::LinkOrder(_)
        | Verb::Help(_)
        | Verb::Man(_)
        | Verb::Completions { .. } => false,
    }
}

/// Whether the commands shall run as root.
fn is_as_root(verb: &Verb) -> bool {
    let rights = match verb {
        Verb::Run(verb) => verb.spec.process.rights,
        Verb::Timeit(verb) => verb.spec.session.workers.machine.rights,
        Verb::Bench(verb) => verb.spec.session.workers.machine.rights,
        Verb::Gate(verb) => verb.machine.rights,
        Verb::Bisect(verb) => verb.process.rights,
        Verb::Campaign(action) => match &**action {
            CampaignAction::New(verb) => verb.process.rights,
            CampaignAction::Try(verb) => verb.rights,
            CampaignAction::Confirm(verb) => verb.rights,
            _ => return false,
        },
        Verb::Race(verb) => verb.process.rights,
        Verb::Why(verb) => verb.process.rights,
        Verb::Calibrate(verb) => verb.rights,
        Verb::Load(verb) => verb.rights,
        Verb::Shield(action) => match &**action {
            ShieldAction::Exec(verb) => verb.rights,
            _ => return false,
        },
        Verb::System(verb) => match &verb.action {
            Some(SystemAction::Advise(verb)) => verb.rights,
            _ => return false,
        },
        _ => return false,
    };
    rights.as_root
}
