//! `compare`: the commands of one record, or files of different sessions. The machine changes between sessions, so
//! these have no verdict; past sessions show how much they differ anyway.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, bail, ensure};
use formats::Detail;

use crate::cmd::assessment::Assessment;
use crate::cmd::open::{FileContent, InputFile, VALUES_MAX, records};
use crate::cmd::print::{fit_terminal, print};
use crate::cmd::programs::refuse_commands;
use analysis::convert::of_record;
use analysis::verdict::{Gate, judge};
use analysis::{self, ArmSummary, Comparison, across_records, distributions, files};
use host::terminal;
use model::spec::CompareVerb;
use model::spec::input::InputOptions;
use model::values::{Clock, DecideOn, FailOn, ValueUnit, exit_code};
use record::Record;
use record::plan::{DecisionRule, Plan, defaults};
use render::depth::Depth;
use render::files::{BenchmarkFile, ComparisonLayout};
use render::{Styles, across, files as shown_files, gate, within};

/// With this many files, the last one is a new session among past ones. Fewer files show their benchmarks in columns.
const SESSIONS_MIN: usize = 6;

type RecordSummary = (Record, Vec<ArmSummary>);

pub fn compare(verb: &CompareVerb) -> Result<u8> {
    refuse_commands(&verb.files)?;
    let input = InputOptions { values_max: Some(VALUES_MAX), ..verb.input.clone() };
    let opened: Vec<InputFile> =
        records(&verb.files, &input, Detail::Values)?.collect::<Result<_>>()?;
    opened.iter().for_each(InputFile::tell_unread);
    let table = &verb.table;
    if let Some(fail_on) = verb.fail_on.filter(|_| opened.len() > 1) {
        FailOn::parse_ratios(&fail_on.to_string()).map_err(Error::msg)?;
    }
    let asks_for_table = table.table
        || table.table_format.is_some()
        || table.by.is_some()
        || table.group_by_speed
        || table.ignore_procs
        || table.min_speed.is_some();
    if opened.len() == 1 {
        ensure!(!asks_for_table, "a table compares the benchmarks of several files; one is named");
    } else {
        let has_benchmarks = opened.iter().any(InputFile::has_benchmarks);
        if asks_for_table || (has_benchmarks && opened.len() < SESSIONS_MIN) {
            return across_files(verb, opened);
        }
    }
    let sessions = opened.into_iter().map(InputFile::into_record);
    let mut sessions: Vec<Record> = sessions.collect::<Result<_>>()?;
    match sessions.len() {
        1 => within_record(verb, sessions.remove(0)),
        _ => across_sessions(verb, sessions),
    }
}

/// Compares the benchmarks of the first file with the same names in the others.
fn across_files(verb: &CompareVerb, opened: Vec<InputFile>) -> Result<u8> {
    ensure!(
        !verb.distributions,
        "--distributions is for records of commands; name one benchmark with -b and convert the files to records"
    );
    refuse_other_quantities(&opened)?;
    let mut sides = Vec::with_capacity(opened.len());
    let mut all: Vec<files::ComparedFile> = Vec::with_capacity(opened.len());
    for opened in opened {
        let file = opened.path.display().to_string();
        let mut compared = opened.into_compared();
        if verb.table.ignore_procs {
            let results = &mut compared.results;
            formats::edit::ignore_processors(results).with_context(|| file.clone())?;
        }
        sides.push(BenchmarkFile { file, tool: compared.results.tool.clone() });
        all.push(compared);
    }
    let comparison = files::compare(&all, verb.table.by.unwrap_or(defaults::COMPARED_STATISTIC));
    drop(all);
    if comparison.lines.is_empty() {
        let hint = shown_files::other_processors(&comparison);
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        bail!("the files have no benchmark in common{hint}");
    }
    if verb.json {
        shown_files::json(&mut terminal::data(), &sides, &comparison)?;
    } else {
        let shown = ComparisonLayout {
            style: verb.table.table_format.unwrap_or(defaults::TABLE),
            is_in_words: verb.table.table,
            group_by_speed: verb.table.group_by_speed,
            less_than: verb.table.min_speed.map_or(0.0, |pct| pct.0 / 100.0),
        };
        print(&shown_files::text(&sides, &comparison, shown))?;
    }
    // Separate sessions allow no verdict.
    if verb.fail_on.is_none() {
        return Ok(exit_code::SUCCESS);
    }
    print_gate_of_sessions(verb, exit_code::UNDECIDED)?;
    Ok(exit_code::UNDECIDED)
}

/// Prints the answer to `--fail-on` as the last line.
fn print_gate_of_sessions(verb: &CompareVerb, code: u8) -> Result<()> {
    if verb.json { Ok(()) } else { print(&gate::line_without_verdict(code)) }
}

fn within_record(verb: &CompareVerb, record: Record) -> Result<u8> {
    let assessment = Assessment::of(record);
    let Assessment { record, analysis, judgements } = &assessment;
    if analysis.comparisons.is_empty() {
        let path = record.path.display();
        if record.header.plan.has_benchmarks() {
            bail!(
                "the benchmarks of {path} are not compared with each other; name another file too"
            );
        }
        bail!("{path} has only one command; name a record of another session too");
    }
    let distributions = if verb.distributions {
        distributions::within(record, &analysis.comparisons)
    } else {
        vec![None; analysis.comparisons.len()]
    };
    let compared = analysis.comparisons.iter().zip(judgements).zip(distributions);
    let pairs: Vec<_> = compared
        .map(|((comparison, &judgement), distributions)| across::ArmPair {
            old: vec![&analysis.arms[comparison.reference]],
            new: &analysis.arms[comparison.arm],
            comparison: comparison.clone(),
            judgement,
            distributions,
        })
        .collect();
    if verb.json {
        within::json(&mut terminal::data(), assessment.judged(), &pairs)?;
    } else {
        fit_terminal();
        let detail = Depth::of(verb.verbose);
        print(&within::text(assessment.judged(), &pairs, detail, &Styles::colored()))?;
        assessment.print_gate(verb.fail_on, assessment.exit_code(verb.fail_on)?)?;
    }
    assessment.exit_code(verb.fail_on)
}

/// Compares the arms of the last record with the same names in the others.
fn across_sessions(verb: &CompareVerb, records: Vec<Record>) -> Result<u8> {
    let sessions: Vec<RecordSummary> = records.into_iter().map(summarised).collect();
    refuse_twice(&sessions)?;
    let (new, old) = sessions.split_last().context("no record is named")?;
    let policy = &new.0.header.plan.policy;
    let mut pairs = Vec::new();
    for new_arm in new.1.iter().filter(|arm| !arm.is_hidden) {
        let past: Option<Vec<_>> =
            old.iter().map(|session| same_arm(session, new, new_arm)).collect();
        let Some(past) = past else { continue };
        for (session, past) in old.iter().zip(&past) {
            ensure_same_quantity((&session.0, past.arm), (&new.0, new_arm.arm))?;
        }
        // Results of other programs have their direction in the unit.
        let rule = DecisionRule { better: of_record::better(&new.0, new_arm.arm), ..*policy };
        let evidence = across_records(&past, new_arm, &rule);
        let comparison = Comparison { arm: new_arm.arm, reference: past[0].arm, evidence };
        let judgement = judge(&comparison, &rule);
        // The last of the past sessions is the nearest to this one.
        let last = old.last().zip(past.last()).filter(|_| verb.distributions);
        let distributions = last
            .and_then(|(last, arm)| distributions::across(&last.0, arm.arm, &new.0, new_arm.arm));
        pairs.push(across::ArmPair {
            old: past,
            new: new_arm,
            comparison,
            judgement,
            distributions,
        });
    }
    if pairs.is_empty() {
        bail!(
            "the records have no command in common; name them alike with --command-name when measuring"
        );
    }
    let not_in_all = not_in_all(old, new, &pairs);
    let session =
        |record| across::SessionRecord { record, neighbours: analysis::Neighbours::of(record) };
    let (old, new): (Vec<_>, _) =
        (old.iter().map(|past| session(&past.0)).collect(), session(&new.0));
    if verb.json {
        across::json(&mut terminal::data(), &old, new, &pairs, &not_in_all)?;
    } else {
        print(&across::text(&old, new, &pairs, &not_in_all, &Styles::colored()))?;
    }
    let Some(fail_on) = verb.fail_on else { return Ok(exit_code::SUCCESS) };
    let judgements: Vec<_> = pairs.iter().map(|pair| pair.judgement).collect();
    let code = Gate::of(&judgements, fail_on).exit_code();
    print_gate_of_sessions(verb, code)?;
    Ok(code)
}

/// The names of the arms that are in no pair.
fn not_in_all(
    old: &[RecordSummary],
    new: &RecordSummary,
    pairs: &[across::ArmPair<'_>],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (place, (record, arms)) in old.iter().chain([new]).enumerate() {
        let is_paired = |arm: &ArmSummary| {
            pairs.iter().any(|pair| pair.old.get(place).unwrap_or(&pair.new).arm == arm.arm)
        };
        let alone = arms.iter().filter(|arm| !arm.is_hidden && !is_paired(arm));
        names.extend(alone.map(|arm| record.header.plan.full_label(arm.arm)));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Refuses records in which different quantities decide about the same benchmark. Results of other programs are matched
/// by unit.
fn refuse_other_quantities(opened: &[InputFile]) -> Result<()> {
    let records = opened.iter().filter_map(|opened| match &opened.content {
        FileContent::Own(record) => Some(record.as_ref()).filter(|it| it.header.imported.is_none()),
        FileContent::Foreign(..) => None,
    });
    let parts = records.flat_map(|record| match &record.parts[..] {
        [] => std::slice::from_ref(record),
        parts => parts,
    });
    let mut first = HashMap::new();
    for record in parts {
        let plan = &record.header.plan;
        for (arm, _) in plan.candidates() {
            let benchmark = plan.suite.as_ref().map(|suite| &suite.benchmark);
            let old = *first.entry((benchmark, plan.full_label(arm))).or_insert((record, arm));
            ensure_same_quantity(old, (record, arm))?;
        }
    }
    Ok(())
}

/// Errors: a ratio of these arms would be of different quantities.
fn ensure_same_quantity(old: (&Record, usize), new: (&Record, usize)) -> Result<()> {
    // Other programs name the unit of their values only.
    let is_imported = [old, new].iter().any(|(record, _)| record.header.imported.is_some());
    let [of_old, of_new] = [old, new].map(|(record, arm)| match is_imported {
        true => unit_word(record.header.plan.arms[arm].unit).into(),
        false => quantity(&record.header.plan, arm),
    });
    ensure!(
        of_old == of_new,
        "{} is not compared: {of_old} decides in {}, and {of_new} in {}; a ratio needs the same --decide-on, and the same \
         unit of a value, in both",
        new.0.header.plan.full_label(new.1),
        old.0.path.display(),
        new.0.path.display()
    );
    Ok(())
}

/// The quantity that decides about an arm. Clean time and wall time are one: without evidence they are equal.
fn quantity(plan: &Plan, arm: usize) -> String {
    let (arm, policy) = (&plan.arms[arm], plan.policy);
    let clock = match (policy.decide_on, &plan.workers) {
        (Some(quantity), _) => quantity.clock(),
        (None, Some(workers)) => workers.headline.clock(),
        (None, None) => Some(policy.clock),
    };
    match (policy.decide_on, arm.unit, clock) {
        (Some(DecideOn::Value), ..) => {
            let unit = arm.value.as_ref().and_then(|rule| rule.own_unit());
            unit.map_or_else(
                || format!("a value ({})", unit_word(arm.unit)),
                |unit| format!("a value in {unit}"),
            )
        }
        (_, ValueUnit::Time, Some(Clock::Cpu)) => "CPU time".into(),
        (Some(quantity), _, None) => quantity.name(),
        (_, unit, _) => unit_word(unit).into(),
    }
}

fn unit_word(unit: ValueUnit) -> &'static str {
    match unit {
        ValueUnit::Time => "time",
        ValueUnit::Bytes => "memory",
        ValueUnit::Count => "a count",
    }
}

/// Refuses a session that is named twice: it would look like two sessions that agree.
fn refuse_twice(sessions: &[RecordSummary]) -> Result<()> {
    let mut seen = HashMap::new();
    for (record, _) in sessions {
        let header = &record.header;
        // An imported file has the command line of this process in its header.
        let file = header.imported.as_ref().map(|imported| &imported.file);
        let session = (&header.created, header.clock_origin_ns, &header.command_line, file);
        if let Some(other) = seen.insert(session, &record.path) {
            bail!("{} and {} are the same session", other.display(), record.path.display());
        }
    }
    Ok(())
}

fn summarised(record: Record) -> RecordSummary {
    let arms = analysis::summarise(&record);
    (record, arms)
}

/// The arm with the same name, or the only arm of each side.
fn same_arm<'a>(
    old: &'a RecordSummary,
    new: &RecordSummary,
    arm: &ArmSummary,
) -> Option<&'a ArmSummary> {
    let candidates = |session: &'a RecordSummary| session.1.iter().filter(|arm| !arm.is_hidden);
    let is_only = |session: &RecordSummary| session.0.header.plan.candidates().nth(1).is_none();
    if is_only(old) && is_only(new) {
        return candidates(old).next();
    }
    let benchmark = |session: &RecordSummary, arm: &ArmSummary| {
        session.0.header.plan.arms[arm.arm].benchmark.clone()
    };
    let wanted = benchmark(new, arm);
    candidates(old).find(|other| other.label == arm.label && benchmark(old, other) == wanted)
}
