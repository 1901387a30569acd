//! The commands of a race, and their names.
#![expect(clippy::disallowed_methods, reason = "reads the file of --arms-from")]

use anyhow::{Context as _, Result, ensure};

use crate::host::Facts;
use crate::plan::{Plan, decide_run, defaults};
use crate::render::document::ErrorCode;
use crate::render::units::counted;
use crate::spec::{RaceVerb, RunSpec};
use crate::values::Percent;

/// Fewest and most arms.
const ARMS: std::ops::RangeInclusive<usize> = 2..=200;

/// The commands and their names. A command without a name has itself as its name, if any has one.
///
/// # Errors
/// The file of `--arms-from` cannot be read, or a line of it is empty of a command.
pub(super) fn asked(verb: &RaceVerb) -> Result<(Vec<String>, Vec<String>)> {
    let mut commands = verb.commands.clone();
    let mut names = verb.arms.command_names.clone();
    let Some(path) = &verb.arms_from else { return Ok((commands, names)) };
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let mut found = Vec::new();
    // Editors of other systems begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_matches([' ', '\r']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, command) = match line.split_once('\t') {
            Some((name, command)) => (Some(name.trim()), command.trim()),
            None => (None, line),
        };
        ensure!(
            !command.is_empty() && name.is_none_or(|name| !name.is_empty()),
            "{shown}:{number}: a line is COMMAND, or NAME, a tab and COMMAND"
        );
        found.push((name.map(str::to_owned), command.to_owned()));
    }
    ensure!(!found.is_empty(), "there is no command in {shown}");
    if found.iter().any(|(name, _)| name.is_some()) || !names.is_empty() {
        ensure!(
            names.len() <= commands.len(),
            "--command-name is given {} times for {} commands; those of {shown} have their names there",
            names.len(),
            commands.len()
        );
        names.extend(commands[names.len()..].iter().cloned());
        names.extend(found.iter().map(|(name, command)| name.as_ref().unwrap_or(command).clone()));
    }
    commands.extend(found.into_iter().map(|(_, command)| command));
    Ok((commands, names))
}

/// The options of `run` for the arms.
pub(super) fn spec(verb: &RaceVerb, commands: &[String], names: &[String]) -> RunSpec {
    let mut spec = RunSpec {
        commands: commands.to_vec(),
        arms: verb.arms.clone(),
        hooks: verb.hooks.clone(),
        process: verb.process.clone(),
        ..RunSpec::default()
    };
    spec.arms.command_names = names.to_vec();
    spec.length.timeout = verb.timeout;
    spec.judgement.alpha = Some(verb.alpha.unwrap_or(Percent(defaults::RACE_ALPHA_PCT)));
    spec.judgement.same = Some(verb.within.unwrap_or(Percent(defaults::RACE_WITHIN_PCT)));
    verb.judged.apply(&mut spec.judgement);
    spec
}

/// The arms with all their options, as a session of `run` would have them.
///
/// # Errors
/// They contradict themselves, or are too few or too many.
pub(super) fn planned(verb: &RaceVerb, commands: &[String], names: &[String]) -> Result<Plan> {
    ensure!(
        verb.arms.subtract.is_none(),
        "race: --subtract does not go with a race; race the commands as they are"
    );
    let mut plan = decide_run(&spec(verb, commands, names), &Facts::default(), 0)?;
    ensure!(
        plan.arms.iter().all(|arm| arm.setup.is_none() && arm.cleanup.is_none()),
        "race: --setup or --cleanup mentions a parameter, so the runs of its values cannot be mixed; use --prepare, which is \
         executed before each run"
    );
    plan.arms.retain(|arm| !arm.role.is_control());
    plan.control = None;
    for (index, arm) in plan.arms.iter().enumerate() {
        let is_twice = plan.arms[..index].iter().any(|other| other.label() == arm.label());
        ensure!(
            !is_twice,
            "race: two commands have the name {:?}; give them names with --command-name",
            arm.label()
        );
    }
    let n_arms = plan.arms.len();
    if !ARMS.contains(&n_arms) {
        let (least, most) = (ARMS.start(), ARMS.end());
        let text =
            format!("race: {}; a race has from {least} to {most}", counted(n_arms, "command"));
        return Err(ErrorCode::Usage.error(text));
    }
    Ok(plan)
}
