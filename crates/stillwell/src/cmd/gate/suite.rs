//! The suite of a gate: the programs of both builds under one name each.
#![expect(clippy::disallowed_methods, reason = "writes the suite and links to the programs")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::frameworks::{KnownPrograms, PROGRAMS};
use crate::cmd::open::whole_suite;
use crate::cmd::suites;
use host::ScratchDirectory;
use host::user_files::no_temporary;
use model::spec::groups::{JudgementOptions, StopOptions};
use model::spec::run::OutputOptions;
use model::spec::workers::{BenchSpec, PyperfOptions, SessionOptions, SuiteOptions, WorkerOptions};
use model::spec::{BenchVerb, GateVerb};
use model::values::{CounterChoice, DecideOn, Estimand, Percent, TimeSpan};

use super::pairs::Pair;
use super::trees::Trees;
use super::{SIDES, fail_on, timeout};

pub(super) struct SuiteRequest<'a> {
    pub budget_ns: u64,
    pub alpha_pct: f64,
    /// The directory of the records.
    pub directory: &'a Path,
    pub has_directory: bool,
    /// The counter of instructions; `None` if times decide.
    pub counter: Option<CounterChoice>,
    /// The number of blocks; `None` if the session decides it.
    pub n_blocks: Option<u32>,
    /// Whether a benchmark's name begins with its program's.
    pub are_named: bool,
}

/// Measures the pairs as a suite. Returns the results, the exit code of the suite, and what has failed if there is no
/// result.
pub(super) fn measure(
    verb: &GateVerb,
    trees: &Trees,
    pairs: &[Pair],
    request: &SuiteRequest<'_>,
    failing: &[String],
) -> Result<(Option<Assessment>, u8, Vec<String>)> {
    let folder = ScratchDirectory::new().with_context(no_temporary)?;
    let (file, mut known) = suite_of(&folder, trees, pairs, request.are_named)?;
    (known.failing, known.has_directory) = (failing.to_vec(), request.has_directory);
    let directory = request.directory;
    let bench = BenchVerb::new(bench_spec(verb, &file, request), "/".into());
    let code = suites::bench(&bench, &mut known)?;
    // Without a single finished run there is no suite in it.
    let whole = if record::is_suite(directory) { whole_suite(directory)? } else { None };
    Ok((whole.map(Assessment::of), code, known.failed))
}

fn bench_spec(verb: &GateVerb, file: &Path, request: &SuiteRequest<'_>) -> BenchSpec {
    let is_counted = request.counter.is_some();
    let budget = Some(TimeSpan { ns: request.budget_ns });
    // Valgrind may take many times as long as expected, and times are there already.
    let longest_ns = timeout(verb).ns.min(if is_counted { request.budget_ns } else { u64::MAX });
    let mut limits = fail_on(verb);
    // `above:20ms` limits a time, not a count.
    limits.above = limits.above.filter(|_| !is_counted);
    let decide_on = if is_counted { Some(DecideOn::Instructions) } else { verb.decide_on };
    let judgement = JudgementOptions {
        alpha: Some(Percent(request.alpha_pct)),
        same: verb.same,
        decide_on,
        // Work has hardly any noise. To know its tail too would take 44 pairs of runs.
        estimand: (decide_on == Some(DecideOn::Instructions)).then_some(Estimand::Typical),
        counter: request.counter.or(verb.counter.filter(|_| verb.decide_on.is_some())),
        fail_on: Some(limits),
        ..JudgementOptions::default()
    };
    let workers = WorkerOptions {
        stop: StopOptions { budget, precision: None },
        timeout: Some(TimeSpan { ns: longest_ns }),
        machine: verb.machine.clone(),
        seed: verb.seed,
        processes: request.n_blocks,
        ..WorkerOptions::default()
    };
    let output =
        OutputOptions { record: Some(request.directory.into()), ..OutputOptions::default() };
    // The gate itself reports the instructions.
    let pyperf = PyperfOptions { quiet: is_counted, ..PyperfOptions::default() };
    BenchSpec {
        commands: vec![file.to_string_lossy().into_owned()],
        suite: SuiteOptions { is_gate: true, ..SuiteOptions::default() },
        session: SessionOptions { workers, judgement, output, pyperf },
        ..BenchSpec::default()
    }
}

/// Writes the suite, with the programs of both sides under one name each. Returns its path and the programs' lists.
fn suite_of(
    folder: &ScratchDirectory,
    trees: &Trees,
    pairs: &[Pair],
    are_named: bool,
) -> Result<(PathBuf, KnownPrograms)> {
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
        if are_named {
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
    // The programs may run as another user, who needs access to the links.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).ok();
    Ok((path, known))
}
