//! The commands of a race and their names; with a suite, what its commands begin with.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::cmd::step_directory::digest_of;
use crate::cmd::suite_commands::{KeptSuite, SuiteCommands, prefixed};
use crate::cmd::suites::{built, from_here};
use host::user_files::read_text;
use model::spec::{RaceVerb, RunSpec};
use model::values::Percent;
use record::plan::suite::VariantBuild;
use record::plan::{Arm, ArmPlace, Plan, Surroundings, Terms, decide_session, defaults};
use render::document::ErrorCode;
use render::units::counted;

/// Limits of the number of arms.
const ARMS: std::ops::RangeInclusive<usize> = 2..=200;

/// The commands and their names. If any has a name, the others are named after themselves. Errors: a line of
/// `--arms-from` has no command.
pub(super) fn asked(
    verb: &RaceVerb,
    suite: Option<&KeptSuite>,
) -> Result<(Vec<String>, Vec<String>)> {
    if let Some(suite) = suite.filter(|_| races_variants(verb)) {
        let names: Vec<String> = suite.variants()?.into_iter().map(|it| it.name).collect();
        ensure!(!names.is_empty(), "the suite has no `[[variant]]`; name what races: COMMAND...");
        return Ok((names.clone(), names));
    }
    let mut commands = verb.commands.clone();
    let mut names = verb.arms.command_names.clone();
    let Some(path) = &verb.arms_from else { return Ok((commands, names)) };
    let shown = path.display();
    let text = read_text(path).with_context(|| format!("cannot read {shown}"))?;
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

pub(super) struct RaceSuite {
    kept: KeptSuite,
    variants: Vec<VariantBuild>,
}

impl RaceSuite {
    /// Builds the variants of the suite, or makes variants of the plan's arms, with which the commands begin. Errors: a
    /// build fails, or a command cannot be split into words.
    pub(super) fn new(verb: &RaceVerb, kept: KeptSuite, plan: &Plan) -> Result<Self> {
        let variants = if races_variants(verb) {
            built(&kept.variants()?, kept.directory())?
        } else {
            let prefix = |arm: &Arm| Ok(prefixed(arm.label(), &from_here(&arm.command)?));
            plan.arms.iter().map(prefix).collect::<Result<_>>()?
        };
        Ok(Self { kept, variants })
    }

    pub(super) fn commands(&self, arms: &[usize]) -> Result<SuiteCommands> {
        let variants: Vec<_> = arms.iter().map(|&arm| self.variants[arm].clone()).collect();
        self.kept.commands(&variants)
    }

    pub(super) fn digests(&self) -> Result<Vec<Option<String>>> {
        let all = self.kept.commands(&self.variants)?;
        let placed = all.spec.commands.iter().zip(all.places());
        let digest = |(command, place): (&String, ArmPlace)| {
            digest_of(command, Path::new(&place.directories[0]))
        };
        Ok(placed.map(digest).collect())
    }
}

/// Whether the suite's own variants race, instead of arms with which its commands begin.
fn races_variants(verb: &RaceVerb) -> bool {
    verb.commands.is_empty() && verb.arms_from.is_none() && verb.arms.reference.is_none()
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
    spec.judgement.alpha = Some(verb.alpha.unwrap_or(defaults::RACE_ALPHA));
    spec.judgement.same = Some(verb.within.unwrap_or(Percent(defaults::RACE_WITHIN_PCT)));
    verb.judged.apply(&mut spec.judgement);
    spec
}

/// The arms as `run` would plan them. Errors: the options contradict each other, or there are too few or too many arms.
pub(super) fn planned(verb: &RaceVerb, commands: &[String], names: &[String]) -> Result<Plan> {
    ensure!(
        verb.arms.subtract.is_none(),
        "race: --subtract does not go with a race; race the commands as they are"
    );
    let spec = spec(verb, commands, names);
    let terms = Terms { are_whole: true, ..Terms::default() };
    let plan = decide_session(&spec, &terms, &Surroundings::default())?;
    ensure!(
        plan.arms.iter().all(|arm| arm.setup.is_none() && arm.cleanup.is_none()),
        "race: --setup or --cleanup mentions a parameter, so the runs of its values cannot be mixed; use --prepare, which is \
         executed before each run"
    );
    for (index, arm) in plan.arms.iter().enumerate() {
        let is_twice = plan.arms[..index].iter().any(|other| other.label() == arm.label());
        let remedy = match &verb.arms_from {
            Some(path) => format!("a line of {} can be NAME, a tab and COMMAND", path.display()),
            None => "give them names with --command-name".into(),
        };
        ensure!(!is_twice, "race: two commands have the name {:?}; {remedy}", arm.label());
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
