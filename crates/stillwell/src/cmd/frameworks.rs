//! Programs of benchmark frameworks among those of `bench` and of suites.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use crate::measure::harnesses::{Asker, benchmarks, recognise};
use crate::plan::Arm;
use crate::plan::defaults::ASKING;
use crate::plan::programs::ProgramBenchmark;
use crate::sys::User;
use crate::values::TimeSpan;

/// What programs have listed before, by their words and their directory. A gate asks each of them once: the answer of
/// pytest or of Java takes seconds.
#[derive(Debug, Default)]
pub struct ProgramLists(BTreeMap<(Vec<String>, String), Vec<ProgramBenchmark>>);

impl ProgramLists {
    /// Keeps the list of a program.
    pub fn keep(&mut self, argv: Vec<String>, directory: &str, list: Vec<ProgramBenchmark>) {
        self.0.insert((argv, directory.to_owned()), list);
    }

    /// The lists of these programs; `None` if any is not known.
    pub fn of(&self, programs: &[Arm]) -> Option<Vec<Vec<ProgramBenchmark>>> {
        let list = |program: &Arm| {
            let directory = program.directory(None).unwrap_or_default().to_owned();
            self.0.get(&(program.argv.clone(), directory)).cloned()
        };
        programs.iter().map(list).collect()
    }
}

/// The benchmarks of each program; `None` if no program is of a known framework, so that all speak the worker protocol.
///
/// # Errors
/// Only some programs are of a framework, or one has no benchmark or does not answer in time.
pub fn listed(
    programs: &[Arm],
    user: Option<&User>,
    timeout: Option<TimeSpan>,
) -> Result<Option<Vec<Vec<ProgramBenchmark>>>> {
    let asker = Asker { run_as: user, limit: Duration::from_nanos(timeout.unwrap_or(ASKING).ns) };
    let wrong = |index: usize, why: String| {
        anyhow!(
            "program {} ({:?}): {why}; nothing was measured",
            index + 1,
            programs[index].label()
        )
    };
    let mut harnesses = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        harnesses.push(recognise(program, asker).map_err(|why| wrong(index, why))?);
    }
    let Some((first, harness)) =
        harnesses.iter().enumerate().find_map(|(index, found)| Some((index, (*found)?)))
    else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for (index, (program, found)) in programs.iter().zip(&harnesses).enumerate() {
        let Some(found) = found else {
            // `target/release/deps/NAME-*` matches it too.
            let is_list = program.argv.first().is_some_and(|file| file.ends_with(".d"));
            let why = if is_list {
                "is a file in which Cargo notes dependencies; leave it out"
            } else {
                "is of no framework that is known; compare them apart"
            };
            bail!(
                "program {} ({:?}) is of {}, and program {} ({:?}) {why}",
                first + 1,
                programs[first].label(),
                harness.name(),
                index + 1,
                program.label()
            );
        };
        all.push(benchmarks(*found, program, asker).map_err(|why| wrong(index, why))?);
    }
    Ok(Some(all))
}
