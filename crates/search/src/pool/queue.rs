//! The Slurm queue, through Slurm's own programs and without a shell.
#![expect(clippy::disallowed_methods, reason = "executes the programs of Slurm")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::pool::PoolManifest;
use crate::pool::manifest::JobQueue;

/// Slurm's default for `MaxArraySize`.
const ARRAY_MAX: usize = 1001;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// Number of the job's array in the queue.
    pub id: String,
    pub is_running: bool,
    pub reason: String,
}

/// Executes a program of Slurm and returns its output. Errors: the program does not exist, or it failed. The message
/// has its last line of standard error.
pub fn ask(program: &str, arguments: &[String]) -> Result<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "there is no {program} here; run this where Slurm's programs are installed, or use another queue with \
                 --submit"
            )
        }
        output => output.with_context(|| format!("cannot execute {program}"))?,
    };
    if !output.status.success() {
        let answer = String::from_utf8_lossy(&output.stderr);
        let answer = answer.trim().lines().next_back().unwrap_or_default().to_owned();
        let answer = answer.strip_prefix(&format!("{program}: ")).unwrap_or(&answer);
        bail!("{program} failed: {answer}");
    }
    String::from_utf8(output.stdout).with_context(|| format!("{program} wrote something strange"))
}

/// Most jobs in one array: `MaxArraySize`, because the indices start from 0. Errors: Slurm does not answer.
pub fn array_max() -> Result<usize> {
    let answer = ask("scontrol", &["show".into(), "config".into()])?;
    Ok(parse_array_max(&answer).unwrap_or(ARRAY_MAX))
}

fn parse_array_max(config: &str) -> Option<usize> {
    let (_, value) = config
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == "MaxArraySize")?;
    value.trim().parse().ok().filter(|&max| max > 0)
}

/// The queued and running jobs of a pool, by their number in the pool. `None` if the pool does not use Slurm. Errors:
/// Slurm does not answer, or its answer has an unknown format.
pub fn queued(manifest: &PoolManifest) -> Result<Option<BTreeMap<usize, QueuedJob>>> {
    let JobQueue::Slurm { array_max, .. } = manifest.engine else { return Ok(None) };
    let offsets = (0..manifest.n_jobs()).step_by(array_max);
    let names: Vec<String> = offsets.map(|offset| job_name(manifest, offset)).collect();
    let arguments = [
        "--noheader".into(),
        "--array".into(),
        format!("--name={}", names.join(",")),
        "--format=%j|%F|%K|%T|%r".into(),
    ];
    parse_queue(&ask("squeue", &arguments)?).map(Some)
}

/// Job name of a submission. It includes the offset, so the jobs can be identified without the job id.
pub fn job_name(manifest: &PoolManifest, offset: usize) -> String {
    format!("{}-{offset}", manifest.name)
}

fn parse_queue(text: &str) -> Result<BTreeMap<usize, QueuedJob>> {
    let mut jobs = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (job, queued) = parse_job(line.trim())
            .with_context(|| format!("squeue wrote {line:?}, which is no line of a job"))?;
        // If the user submitted a job twice, the running one counts.
        let is_better = |known: &QueuedJob| queued.is_running && !known.is_running;
        if jobs.get(&job).is_none_or(is_better) {
            jobs.insert(job, queued);
        }
    }
    Ok(jobs)
}

fn parse_job(line: &str) -> Option<(usize, QueuedJob)> {
    let fields: Vec<&str> = line.splitn(5, '|').collect();
    let [name, id, index, state, reason] = fields[..] else { return None };
    let offset: usize = name.rsplit_once('-')?.1.parse().ok()?;
    let index: usize = index.parse().ok()?;
    let is_running = matches!(state, "RUNNING" | "COMPLETING" | "CONFIGURING");
    let [id, reason] = [id, reason].map(str::to_owned);
    Some((offset + index, QueuedJob { id, is_running, reason }))
}

/// Cancels all jobs of a pool and returns their number. Errors: the pool does not use Slurm, or Slurm does not answer.
pub fn cancel(manifest: &PoolManifest) -> Result<usize> {
    let Some(queued) = queued(manifest)? else {
        bail!("its jobs were submitted by a command of yours; cancel them where they are queued")
    };
    let mut ids: Vec<String> = queued.values().map(|job| job.id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    if !ids.is_empty() {
        ask("scancel", &ids)?;
    }
    Ok(queued.len())
}

/// Parses the id that `sbatch --parsable` prints: `7` or `7;cluster`. Errors: the text is no id.
pub fn parse_id(answer: &str) -> Result<String> {
    let id = answer.trim().split(';').next().unwrap_or_default();
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    ensure!(is_number, "sbatch wrote {:?} instead of a number", answer.trim());
    Ok(id.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_squeue() {
        let text = "stillwell-ab-0|12|3|RUNNING|None\nstillwell-ab-1001|13|0|PENDING|BeginTime\n\
                    stillwell-ab-0|14|3|PENDING|Resources\n";
        let found = parse_queue(text).unwrap();
        let shown: Vec<_> =
            found.iter().map(|(job, it)| (*job, &it.id[..], it.is_running)).collect();
        assert_eq!(shown, [(3, "12", true), (1001, "13", false)]);
        assert_eq!(found[&1001].reason, "BeginTime");
        assert!(parse_queue("slurm_load_jobs error: what\n").is_err());
        assert!(parse_queue("").unwrap().is_empty());
    }

    #[test]
    fn answers_of_slurm_are_checked() {
        assert_eq!(parse_array_max("A = 1\nMaxArraySize            = 4001\n"), Some(4001));
        assert_eq!(parse_array_max("MaxArraySize = 0\n"), None);
        assert_eq!(parse_id("17;west\n").unwrap(), "17");
        assert!(parse_id("Submitted batch job 17").is_err());
    }
}
