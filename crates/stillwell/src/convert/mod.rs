//! Results of other programs → a record. Pure: files are opened and written by `cmd`.
//!
//! A format is a file here, a variant of [`Format`] and a line in its table.

#![cfg_attr(not(test), expect(dead_code, reason = "used when the verbs read foreign files"))]

mod asv;
mod benchmark_tools;
mod codspeed;
pub mod criterion;
pub mod detect;
pub mod edit;
#[cfg(test)]
mod file_tests;
mod go;
mod google;
mod hyperfine;
mod hyperfine_csv;
mod jmh;
mod json;
mod nanobench;
pub mod pyperf;
mod pytest;
pub mod read;
pub mod results;
pub mod statistics;
mod times;

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use crate::host::{Facts, Gap};
use crate::metric::Metric;
use crate::plan::{Arm, Control, Order, Plan, Role, decide};
use crate::record::Row;
use crate::spec::RunSpec;
use crate::spec::values::Padding;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Lines of `TIME<TAB>COMMAND`, or of `TIME` alone.
    Times,
}

/// What a reader is told beside the file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What to call a series of times that has no name of its own.
    pub name: &'a str,
    /// Unit of the times, if the file does not say.
    pub unit: TimeUnit,
}

type Reader = fn(&mut dyn BufRead, Source<'_>) -> Result<Runs>;

impl Format {
    const fn entry(self) -> (&'static str, Reader) {
        match self {
            Self::Times => ("times", times::read),
        }
    }

    /// As `--from` names it.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with the number of the line.
    pub fn read(self, file: &mut dyn BufRead, source: Source<'_>) -> Result<Runs> {
        self.entry().1(file, source)
    }
}

/// Unit of the times in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    S,
    Ms,
    Us,
    Ns,
}

impl TimeUnit {
    fn ns(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Ns => 1.0,
        }
    }
}

/// 100 years.
const NS_MAX: f64 = 3.2e18;
/// A record holds whole nanoseconds; a time that would change by more than this part is refused.
const ROUNDING_MAX: f64 = 1e-3;

/// A time in whole nanoseconds.
fn whole_ns(time: f64, unit: TimeUnit) -> Result<u64> {
    let ns = time * unit.ns();
    ensure!((0.0..=NS_MAX).contains(&ns), "a time is between 0 and 100 years");
    let rounded = ns.round();
    ensure!(
        (rounded - ns).abs() <= ROUNDING_MAX * ns,
        "{ns} ns is too short: a record holds whole nanoseconds (is --unit right?)"
    );
    Ok(rounded as u64)
}

/// What a file holds: the runs in their order, and the commands that they are of.
#[derive(Debug, Default, PartialEq)]
pub struct Runs {
    commands: Vec<String>,
    indices: HashMap<String, usize>,
    /// Index of the command, and its wall time.
    runs: Vec<(usize, u64)>,
}

impl Runs {
    fn push(&mut self, command: &str, wall_ns: u64) {
        let index = self.indices.get(command).copied().unwrap_or_else(|| {
            self.commands.push(command.into());
            self.indices.insert(command.into(), self.commands.len() - 1);
            self.commands.len() - 1
        });
        self.runs.push((index, wall_ns));
    }
}

/// A session as it would have been, had it been ours.
#[derive(Debug)]
pub struct Session {
    /// The commands, in the order in which they appear; nothing else is known.
    pub plan: Plan,
    /// The runs, with their wall times.
    pub rows: Vec<Row>,
}

/// Nothing is known of the machine.
pub fn gap(file: &str) -> Gap {
    Gap {
        what: "facts about the machine".into(),
        why: format!("the times are from {file}, which does not have them"),
        fix: "measure with stillwell run".into(),
    }
}

/// Makes a session of runs. The first ones of each command are warm-ups; the reference is the first command if it is not
/// said.
///
/// # Errors
/// There are no runs, a command has nothing but warm-ups, or the reference is not there.
pub fn session(found: &Runs, n_warmups: u32, reference: Option<&str>) -> Result<Session> {
    ensure!(!found.runs.is_empty(), "there is no time in it");
    let arm_of = arms_of(&found.commands);
    let mut n_seen = vec![0u32; found.commands.len()];
    let (mut rows, mut started_ns) = (Vec::with_capacity(found.runs.len()), 0u64);
    for (index, &(command, wall_ns)) in found.runs.iter().enumerate() {
        let (step, arm) = (u32::try_from(index)?, u32::try_from(arm_of[command])?);
        let block = n_seen[command].checked_sub(n_warmups);
        let mut row = Row::new(step, arm, block, started_ns);
        row.set(Metric::WallNs, Some(wall_ns));
        rows.push(row);
        n_seen[command] += 1;
        // The pauses between the runs are not known. A record's integers are those of JSON readers: signed.
        started_ns = started_ns.saturating_add(wall_ns).min(i64::MAX as u64);
    }
    for (command, &n_runs) in found.commands.iter().zip(&n_seen) {
        ensure!(
            n_runs > n_warmups,
            "{command:?} has {n_runs} runs, of which --warmup {n_warmups} leaves none"
        );
    }
    let n_blocks = n_seen.iter().max().map_or(0, |&n_runs| n_runs - n_warmups);
    let mut plan = plan(&found.commands, &arm_of, n_warmups, n_blocks)?;
    if let Some(reference) = reference {
        let is_it = |arm: &Arm| arm.role == Role::Candidate && arm.command == reference;
        let index = plan.arms.iter().position(is_it);
        plan.reference =
            index.with_context(|| format!("--reference {reference:?} is none of its commands"))?;
    }
    Ok(Session { plan, rows })
}

/// The arm of each command. The empty command is what tim writes for its overhead; it comes last, as controls do.
fn arms_of(commands: &[String]) -> Vec<usize> {
    let empty = commands.iter().position(String::is_empty);
    let last = commands.len() - 1;
    let arm = |index: usize| match empty {
        Some(empty) if index == empty => last,
        Some(empty) if index > empty => index - 1,
        _ => index,
    };
    (0..commands.len()).map(arm).collect()
}

/// All that a plan says of how to measure is not known; what it says of how to judge is as in any other session.
fn plan(commands: &[String], arm_of: &[usize], n_warmups: u32, n_blocks: u32) -> Result<Plan> {
    let mut spec = RunSpec { commands: vec!["unknown".into()], ..RunSpec::default() };
    spec.arms.no_shell = true;
    spec.length.warmup = Some(n_warmups);
    spec.length.runs = Some(n_blocks);
    spec.length.order = Some(Order::Sequential);
    spec.process.env_padding = Some(Padding::Off);
    spec.shown.metrics = Some("wall".parse().map_err(anyhow::Error::msg)?);
    let mut plan = decide(&spec, &Facts::default(), 0)?;
    let has_others = commands.len() > 1;
    plan.arms = vec![arm("", Role::Candidate); commands.len()];
    for (command, &index) in commands.iter().zip(arm_of) {
        let is_control = command.is_empty() && has_others;
        let role = if is_control { Role::EmptyShell } else { Role::Candidate };
        plan.arms[index] = arm(command, role);
        if is_control {
            plan.control = Some(Control { arm: index, role });
        }
    }
    Ok(plan)
}

fn arm(command: &str, role: Role) -> Arm {
    let name = command.is_empty().then(|| "empty shell".into());
    Arm { name, ..Arm::bare(command, role) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(list: &[(&str, u64)]) -> Runs {
        let mut runs = Runs::default();
        list.iter().for_each(|(command, wall_ns)| runs.push(command, *wall_ns));
        runs
    }

    #[test]
    fn the_first_runs_of_each_command_are_warmups() {
        let found = runs(&[("a", 5), ("b", 7), ("a", 6), ("a", 8), ("b", 9)]);
        let session = session(&found, 1, None).unwrap();
        let rows: Vec<_> =
            session.rows.iter().map(|row| (row.arm, row.block, row.started_ns)).collect();
        let expected =
            [(0, None, 0), (1, None, 5), (0, Some(0), 12), (0, Some(1), 18), (1, Some(0), 26)];
        assert_eq!(rows, expected);
        assert_eq!(session.plan.order, Order::Sequential);
        assert_eq!((session.plan.n_warmups, session.plan.control), (1, None));
        assert_eq!(session.plan.process.env_padding, Padding::Off);
    }

    #[test]
    fn the_empty_command_is_subtracted() {
        let found = runs(&[("", 1), ("a", 5), ("b", 7)]);
        let plan = session(&found, 0, None).unwrap().plan;
        let labels: Vec<_> = plan.arms.iter().map(Arm::label).collect();
        assert_eq!(labels, ["a", "b", "empty shell"]);
        assert_eq!(plan.control, Some(Control { arm: 2, role: Role::EmptyShell }));
        let alone = session(&runs(&[("", 1)]), 0, None).unwrap().plan;
        assert_eq!((alone.control, alone.arms[0].role), (None, Role::Candidate));
    }

    #[test]
    fn another_reference() {
        let found = runs(&[("a", 5), ("", 1), ("b", 7)]);
        assert_eq!(session(&found, 0, Some("b")).unwrap().plan.reference, 1);
        for wrong in ["c", ""] {
            let error = session(&found, 0, Some(wrong)).unwrap_err().to_string();
            assert!(error.contains("is none of its commands"), "{error}");
        }
    }

    #[test]
    fn a_command_without_a_timed_run() {
        let error =
            session(&runs(&[("a", 5), ("a", 5), ("b", 7)]), 1, None).unwrap_err().to_string();
        assert_eq!(error, "\"b\" has 1 runs, of which --warmup 1 leaves none");
        assert!(session(&Runs::default(), 0, None).is_err());
    }

    #[test]
    fn times_are_whole_nanoseconds() {
        assert_eq!(whole_ns(0.001_234_567, TimeUnit::S).unwrap(), 1_234_567);
        assert_eq!(whole_ns(2.0, TimeUnit::Us).unwrap(), 2000);
        assert_eq!(whole_ns(0.0, TimeUnit::S).unwrap(), 0);
        assert_eq!(whole_ns(1000.4, TimeUnit::Ns).unwrap(), 1000);
        for (time, unit) in
            [(3.2, TimeUnit::Ns), (0.4, TimeUnit::Ns), (4e9, TimeUnit::S), (-1.0, TimeUnit::S)]
        {
            assert!(whole_ns(time, unit).is_err(), "{time} {unit:?}");
        }
    }
}
