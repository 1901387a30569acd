//! Benchmarks of workers and frameworks as commands with a fixed number of loops.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use host::ScratchDirectory;
use host::user_files::{no_temporary, read_whole, replace};
use measure::slices::PYTHON_WORKER;
use measure::worker::{WORKER_ARGUMENT, requests_of_a_run};
use model::harness::with_iterations;
use model::values::metric::Metric;
use record::Record;
use record::plan::{Arm, EarlierArm, ValueReader};

/// Approximate time of a run's loops, ns: several times an interpreter's start.
const RUN_NS: f64 = 200e6;
/// Executes a program with its requests as descriptor 3 and the file for its answers as 4.
const SHELL: &str = "exec 3<\"$1\" 4>\"$2\"; shift 2; exec \"$@\"";

/// The files of the workers, deleted when dropped.
pub struct SoloFiles {
    folder: ScratchDirectory,
    answers: Vec<(String, PathBuf)>,
}

/// Turns arms of a record into commands, if they are benchmarks. Returns the files that the commands need. Errors: a
/// framework cannot do a given number of iterations, or the record has no times.
pub fn as_commands(record: &Record, arms: &mut [EarlierArm]) -> Result<Option<SoloFiles>> {
    let plan = &record.header.plan;
    let harness =
        |arm: &EarlierArm| match plan.arms[arm.index].value.as_ref().map(|rule| &rule.reader) {
            Some(ValueReader::Harness { kind, .. }) => Some(*kind),
            _ => None,
        };
    if plan.workers.is_none() && arms.iter().all(|arm| harness(arm).is_none()) {
        return Ok(None);
    }
    let loop_ns = arms.iter().filter_map(|arm| loop_ns(record, arm.index)).fold(0.0, f64::max);
    ensure!(loop_ns > 0.0, "{} has no times of loops", record.path.display());
    let loops = (RUN_NS / loop_ns).ceil().max(1.0) as u64;
    let folder = ScratchDirectory::new().with_context(no_temporary)?;
    let mut files = SoloFiles { folder, answers: Vec::new() };
    for again in arms {
        let arm = Arm { argv: again.argv.clone(), ..plan.arms[again.index].clone() };
        again.argv = match (&plan.workers, harness(again)) {
            (Some(workers), _) => {
                let requests = requests_of_a_run(&arm, workers.gc, loops);
                files.command(&arm, &requests)?
            }
            (None, Some(harness)) => {
                let argv = with_iterations(harness, &arm.argv, loops);
                argv.with_context(|| {
                    format!(
                        "{} chooses the number of iterations itself, so the work of two runs differs; profile a program that \
                         does a fixed number of them",
                        harness.name()
                    )
                })?
            }
            (None, None) => bail!("{} is a command, and the others are benchmarks", arm.label()),
        };
    }
    Ok(Some(files))
}

/// Median time of a loop over the blocks, ns.
fn loop_ns(record: &Record, arm: usize) -> Option<f64> {
    let rows = &record.rows;
    let time = |at: usize| match rows.get(at, Metric::Loops) {
        Some(loops) => Some(rows.get(at, Metric::WallNs)? as f64 / loops.max(1) as f64),
        None => rows.own(at),
    };
    let mut times: Vec<f64> = rows.measurements_of(&[arm]).filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

impl SoloFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command line of a worker for these requests.
    fn command(&mut self, arm: &Arm, requests: &[u8]) -> Result<Vec<String>> {
        let number = self.answers.len();
        let (asked, said) =
            (self.path(&format!("{number}.in")), self.path(&format!("{number}.out")));
        write(&asked, requests)?;
        self.answers.push((arm.label().into(), said.clone()));
        let files = [&asked, &said].map(|path| path.to_string_lossy().into_owned());
        let mut words: Vec<String> = ["/bin/sh", "-c", SHELL, "sh"].map(String::from).into();
        words.extend(files);
        words.extend(arm.argv.iter().cloned());
        if arm.source.is_some() {
            let worker = self.path("worker.py");
            write(&worker, PYTHON_WORKER)?;
            // As text: then Python finds modules in the current directory, as in `timeit`.
            let path = worker.to_string_lossy();
            words.extend(["-c".into(), format!("exec(open({path:?}, 'rb').read())")]);
        }
        words.push(format!("{WORKER_ARGUMENT}3,4"));
        Ok(words)
    }

    /// Checks the workers' answers in the last run. Errors: a worker has not done its loops.
    pub fn check(&self) -> Result<()> {
        for (label, path) in &self.answers {
            let said = read_whole(path).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            if !said.lines().any(|line| line.starts_with("time ")) {
                let error = said.lines().find_map(|line| line.strip_prefix("error "));
                let error = error.unwrap_or("it gave no time").replace("\\x20", " ");
                bail!("{label}: the benchmark did not run: {error}");
            }
        }
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, 0o600, bytes).with_context(|| format!("cannot write {}", path.display()))
}
