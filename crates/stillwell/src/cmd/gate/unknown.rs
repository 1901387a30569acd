//! Programs without benchmarks that a gate knows: `run` compares them as a whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use host::user_of_commands;
use measure::harnesses::{Asker, may_be_worker, recognise};
use model::spec::GateVerb;
use model::words::text_of;
use record::plan::{Arm, Role};

use super::files::file_named;
use super::trees::Trees;
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
        let is_unknown = harness.is_ok_and(|harness| harness.is_none());
        if is_there && is_unknown && !may_be_worker(&arm, user.as_ref()) {
            bail!(no_framework(verb, name));
        }
    }
    Ok(())
}

/// Why nothing can be measured.
pub(super) fn no_program(verb: &GateVerb, trees: &Trees) -> String {
    if let Some(name) = verb.programs.first() {
        return no_framework(verb, name);
    }
    // A build that has succeeded is not the remedy.
    let build = if verb.build.is_some() { "" } else { "build them first, or " };
    format!(
        "there is no benchmark program of a known framework in {}; {build}name them, for example \
         'java -jar target/benchmarks.jar' or 'pytest benchmarks' (docs/frameworks.md)",
        trees.shown()
    )
}

fn no_framework(verb: &GateVerb, name: &str) -> String {
    format!("{name:?} is of no benchmark framework that is known; {}", run_instead(verb, name))
}

/// A command line that compares the program as a whole.
pub(super) fn run_instead(verb: &GateVerb, name: &str) -> String {
    let quoted = |text: &str| shell_words::quote(text).into_owned();
    let limit = fail_on(verb);
    let is_command = name.contains(' ');
    let relative = name.trim_start_matches("./");
    let command = match (&verb.base, &verb.build) {
        (Some(base), build) => {
            let build = build.as_ref().map(|it| format!(" --build {}", quoted(it)));
            let build = build.unwrap_or_default();
            let program = match is_command || name.starts_with('/') {
                true => quoted(name),
                false => quoted(&format!("./{relative}")),
            };
            format!("--revisions {},HEAD{build} --fail-on {limit} {program}", quoted(base))
        }
        (None, _) => {
            let below = |directory: &Option<PathBuf>| {
                let directory = directory.clone().unwrap_or_default();
                quoted(&match is_command {
                    true => {
                        let place = quoted(&directory.display().to_string());
                        let script = format!("cd {place} && exec {name}");
                        format!("sh -c {}", quoted(&script))
                    }
                    false => directory.join(relative).display().to_string(),
                })
            };
            format!("--fail-on {limit} {} {}", below(&verb.old), below(&verb.new))
        }
    };
    format!("`stillwell run {command}` compares it as a whole")
}
