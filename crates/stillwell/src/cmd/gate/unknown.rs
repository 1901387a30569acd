//! Programs of no framework: `run` compares them as a whole.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use host::user_of_commands;
use measure::harnesses::{Asker, recognise};
use model::spec::GateVerb;
use model::words::text_of;
use record::plan::{Arm, Role};

use super::files::file_named;
use super::{fail_on, timeout};

/// Refuses a program of no framework before anything is built, if the program exists already.
pub(super) fn refuse_unknown(verb: &GateVerb) -> Result<()> {
    let here = Path::new(".");
    for name in verb.programs.iter().filter(|_| verb.base.is_some()) {
        let file = file_named(here, name);
        if file.is_none() && !name.contains(' ') {
            continue;
        }
        let argv = match &file {
            Some(file) => vec![text_of(file.as_os_str().as_encoded_bytes())],
            None => shell_words::split(name)?,
        };
        let is_there =
            argv.first().is_some_and(|word| !word.contains('/') || Path::new(word).is_file());
        let arm = Arm { argv, ..Arm::bare(name, Role::Candidate) };
        let user = user_of_commands(verb.machine.rights.as_root);
        let limit = Duration::from_nanos(timeout(verb).ns);
        let harness = recognise(&arm, Asker { run_as: user.as_ref(), limit });
        if is_there && harness.is_ok_and(|harness| harness.is_none()) {
            bail!(
                "{name:?} is of no benchmark framework that is known; {}",
                run_instead(verb, name)
            );
        }
    }
    Ok(())
}

/// A command line that compares the program as a whole.
pub(super) fn run_instead(verb: &GateVerb, name: &str) -> String {
    let quoted = |text: &str| shell_words::quote(text).into_owned();
    let limit = fail_on(verb);
    let program = if name.contains(' ') { quoted(name) } else { format!("./{name}") };
    let command = match (&verb.base, &verb.build) {
        (Some(base), build) => {
            let build = build.as_ref().map(|it| format!(" --build {}", quoted(it)));
            let build = build.unwrap_or_default();
            format!("--revisions {},HEAD{build} --fail-on {limit} {program}", quoted(base))
        }
        (None, _) => format!("--fail-on {limit} old/{name} new/{name}"),
    };
    format!("`stillwell run {command}` compares it as a whole")
}
