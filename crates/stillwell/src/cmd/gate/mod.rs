//! `gate`: finds the benchmark programs of two builds, measures them as one suite, and writes what a pull request shows.
#![expect(clippy::disallowed_methods, reason = "writes the suite and links to the programs")]

mod pairs;
mod same;
mod trees;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser as _;
use jiff::Zoned;
use tempfile::TempDir;

use crate::cmd::assessment::Assessment;
use crate::cmd::frameworks::{KnownPrograms, PROGRAMS};
use crate::cmd::open::whole_suite;
use crate::cmd::output_file::{check_path, write_one};
use crate::cmd::print::print;
use crate::cmd::suites::{self, BuildInterrupted};
use host::terminal;
use model::spec::{Cli, GateVerb, Verb};
use model::values::{FailOn, TimeSpan, exit_code};
use record::plan::defaults;
use render::closing::failed_benchmarks;
use render::gate_document;
use render::pull_request::{self, GateResult};

use pairs::{Changes, Pair};
use trees::Trees;

/// The names of the variants.
const SIDES: [&str; 2] = ["base", "head"];

/// Measures the programs that differ, and writes the verdict. Returns the exit code.
pub fn gate(verb: &GateVerb) -> Result<u8> {
    verb.alpha.map(defaults::alpha).transpose()?;
    let files = [("--markdown", &verb.markdown), ("--junit", &verb.junit), ("--json", &verb.json)];
    for (option, path) in files.into_iter().chain([("--report", &verb.report)]) {
        path.as_ref().map_or(Ok(()), |path| check_path(option, path))?;
    }
    let trees = match Trees::of(verb) {
        Err(error) if error.is::<BuildInterrupted>() => {
            writeln!(terminal::stderr(), "stillwell: {error}").ok();
            return Ok(exit_code::INTERRUPTED);
        }
        trees => trees?,
    };
    let changes = Changes::find(&trees, verb)?;
    let (measured, code) = match changes.pairs.is_empty() {
        true => (None, exit_code::SUCCESS),
        false => measure(verb, &trees, &changes)?,
    };
    let mut failing = changes.failing;
    failing.extend(measured.iter().flat_map(|it| failed_benchmarks(&it.record)));
    let code = if failing.is_empty() { code } else { exit_code::ERROR };
    let result = GateResult {
        base: &trees.base,
        head: &trees.head,
        measured: measured.as_ref().map(|it| (&it.record, &it.analysis, &it.judgements[..])),
        fail_on: fail_on(verb),
        code,
        same: &changes.same,
        same_loaded: &changes.same_loaded,
        new: &changes.new,
        gone: &changes.gone,
        failing: &failing,
    };
    print(&pull_request::remarks(&result))?;
    // One that cannot be written does not keep the others from being written.
    let written = [
        verb.markdown.as_ref().map(|path| {
            write_one(path, |to| Ok(to.write_all(pull_request::markdown(&result).as_bytes())?))
        }),
        verb.junit.as_ref().map(|path| {
            write_one(path, |to| Ok(to.write_all(pull_request::junit(&result).as_bytes())?))
        }),
        verb.json
            .as_ref()
            .map(|path| write_one(path, |mut to| Ok(gate_document::write(&mut to, &result)?))),
    ];
    for ((option, path), written) in files.into_iter().zip(written) {
        let shown = path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        written.unwrap_or(Ok(())).with_context(|| format!("{option}: cannot write {shown}"))?;
    }
    Ok(code)
}

fn fail_on(verb: &GateVerb) -> FailOn {
    verb.fail_on.unwrap_or(defaults::GATE_FAIL_ON)
}

fn budget(verb: &GateVerb) -> TimeSpan {
    verb.budget.unwrap_or(defaults::GATE_BUDGET)
}

/// A process that takes longer than all of them may decides nothing.
fn timeout(verb: &GateVerb) -> TimeSpan {
    verb.timeout.unwrap_or(budget(verb))
}

/// Measures the pairs as a suite. Returns what was measured, and the exit code of the suite.
fn measure(verb: &GateVerb, trees: &Trees, changes: &Changes) -> Result<(Option<Assessment>, u8)> {
    let folder = tempfile::tempdir().context("cannot make a temporary directory")?;
    let (file, mut known) = suite_of(&folder, trees, &changes.pairs)?;
    known.failing.clone_from(&changes.failing);
    let directory = match &verb.record {
        Some(directory) => directory.clone(),
        None => record::new_path(&Zoned::now())?.with_extension("suite"),
    };
    let words = bench_words(verb, &file, &directory);
    let Verb::Bench(mut bench) = Cli::try_parse_from(words)?.verb else {
        unreachable!("the words begin with bench")
    };
    bench.spec.suite.is_gate = true;
    bench.spec.session.workers.machine = verb.machine.clone();
    bench.spec.session.workers.seed = verb.seed;
    let code = suites::bench_known(&bench, &known)?;
    let whole = if directory.is_dir() { whole_suite(&directory)? } else { None };
    Ok((whole.map(Assessment::of), code))
}

/// The command line of the suite.
fn bench_words(verb: &GateVerb, file: &Path, directory: &Path) -> Vec<std::ffi::OsString> {
    let seconds = |time: TimeSpan| format!("{}s", time.ns as f64 / 1e9);
    let mut words: Vec<std::ffi::OsString> = ["stillwell", "bench"].map(Into::into).to_vec();
    words.push(file.into());
    let limit = fail_on(verb).to_string();
    words.extend(["--budget", &seconds(budget(verb)), "--fail-on", &limit].map(Into::into));
    words.extend(["--timeout", &seconds(timeout(verb)), "-o"].map(Into::into));
    words.push(directory.into());
    words.extend(verb.decide_on.iter().flat_map(|it| ["--decide-on".into(), it.name().into()]));
    for (option, percent) in [("--same", verb.same), ("--alpha", verb.alpha)] {
        words.extend(percent.iter().flat_map(|it| [option.into(), format!("{}%", it.0).into()]));
    }
    words.extend(verb.report.iter().flat_map(|path| ["--report".into(), path.into()]));
    words
}

/// Writes the suite, with the programs of both sides under one name each. Returns its path, and what the programs list.
fn suite_of(folder: &TempDir, trees: &Trees, pairs: &[Pair]) -> Result<(PathBuf, KnownPrograms)> {
    let mut known = KnownPrograms::default();
    let directories =
        trees.directories.iter().map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let mut suite = toml::Table::new();
    suite.insert("name".into(), "gate".into());
    let variants = SIDES.iter().zip(&directories).map(|(name, directory)| {
        toml::Table::from_iter([
            ("name".into(), (*name).into()),
            ("cwd".into(), directory.clone().into()),
        ])
    });
    suite.insert("variant".into(), variants.map(toml::Value::from).collect::<Vec<_>>().into());
    let mut benchmarks = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let program = match &pair.files {
            None => pair.name.clone(),
            Some(files) => {
                for (side, file) in SIDES.iter().zip(files) {
                    let place = folder.path().join(side).join(index.to_string());
                    let parent = place.parent().unwrap_or(folder.path());
                    std::fs::create_dir_all(parent)?;
                    std::os::unix::fs::symlink(file, &place)?;
                    let kept = Path::new(PROGRAMS).join(side).join(index.to_string());
                    known.links.push((kept, file.clone()));
                }
                let path = format!("{}/{{variant}}/{index}", folder.path().display());
                shell_words::quote(&path).into_owned()
            }
        };
        for ((side, directory), list) in SIDES.iter().zip(&directories).zip(&pair.common) {
            let argv = shell_words::split(&program.replace("{variant}", side))?;
            known.keep(argv, directory, list.clone());
        }
        let mut benchmark = toml::Table::from_iter([("program".into(), program.into())]);
        if pairs.len() > 1 {
            benchmark.insert("name".into(), pair.name.clone().into());
        }
        let names = pair.common[0].iter().map(|it| it.name.clone().into());
        benchmark.insert("only".into(), names.collect::<Vec<toml::Value>>().into());
        benchmarks.push(toml::Value::from(benchmark));
    }
    suite.insert("benchmark".into(), benchmarks.into());
    let path = folder.path().join("gate.toml");
    std::fs::write(&path, toml::to_string(&suite)?)
        .context("cannot write the suite of the gate")?;
    // The programs may run as another user, who has to reach the links.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).ok();
    Ok((path, known))
}
