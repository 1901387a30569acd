//! Submits jobs to the queue, and writes the script that they execute.
#![expect(clippy::disallowed_methods, reason = "executes the command of --submit")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::pool::manifest::{JobQueue, Pool, PoolManifest, Submission};
use crate::pool::queue::{ask, job_name, parse_id, queued};
use model::values::format_cpu_list;

/// Placeholder in the command of --submit.
const SCRIPT: &str = "{script}";
const NAME: &str = "job.sh";

/// Writes the script of all jobs. Its arguments: the number of the job, or `array` and the number of the array's first
/// job. Errors: a path is not UTF-8, or the script cannot be written.
pub fn write_script(pool: &Pool) -> Result<()> {
    let quoted = |path: &std::path::Path| {
        let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        Ok::<_, anyhow::Error>(shell_words::quote(text).into_owned())
    };
    let PoolManifest { program, directory, .. } = &pool.manifest;
    let (program, directory, folder) =
        (quoted(program)?, quoted(directory)?, quoted(&pool.folder)?);
    let script = format!(
        "#!/bin/sh\n\
         # Measures the tasks of one job of a pool: job.sh NUMBER, or job.sh array OFFSET in an array of Slurm.\n\
         # Written by stillwell pool run; it may be executed as often as you like, nothing is measured twice.\n\
         # Where a queue knows nothing of arrays, a task that failed is no submission that failed: `pool status` tells of it.\n\
         if [ \"$1\" = array ]; then job=$(($2 + SLURM_ARRAY_TASK_ID)); else job=$1; set -- --lenient; fi\n\
         cd -- {directory} || exit\n\
         [ \"$1\" = --lenient ] || shift $#\n\
         exec {program} pool task {folder} \"$job\" \"$@\"\n"
    );
    pool.write(NAME, script.as_bytes(), 0o755)
}

/// Splits a command of --submit into words. Errors: the command cannot be split, or lacks the placeholder.
pub fn check_command(template: &str) -> Result<Vec<String>> {
    let words = shell_words::split(template).with_context(|| format!("--submit {template:?}"))?;
    ensure!(
        words.iter().any(|word| word.contains(SCRIPT)),
        "--submit {template:?} does not say where the job's command goes; write for example --submit 'qsub -b y {SCRIPT}'"
    );
    ensure!(!words[0].contains(SCRIPT), "--submit {template:?} does not begin with a program");
    Ok(words)
}

/// Submits these jobs and calls `each` after every accepted submission. Errors: the queue refused a submission. Those
/// before it stay submitted and noted.
pub fn submit(
    pool: &Pool,
    jobs: &[usize],
    locked: &mut File,
    mut each: impl FnMut(&Submission),
) -> Result<()> {
    let mut keep = |submission: Submission| -> Result<()> {
        pool.keep(locked, &submission)?;
        each(&submission);
        Ok(())
    };
    match &pool.manifest.engine {
        JobQueue::Slurm { options, n_nodes, array_max } => {
            // Slurm limits the nodes of each array separately. So each array waits for the one before, and the first
            // one for earlier submissions.
            let mut before = match n_nodes {
                Some(_) if !pool.submissions().is_empty() => arrays(pool)?,
                _ => Vec::new(),
            };
            for part in jobs.chunk_by(|a, b| a / array_max == b / array_max) {
                let offset = part[0] / array_max * array_max;
                let indices: Vec<usize> = part.iter().map(|job| job - offset).collect();
                let arguments = sbatch(pool, options, *n_nodes, offset, &indices, &before);
                let id = parse_id(&ask("sbatch", &arguments)?)?;
                before = n_nodes.iter().map(|_| id.clone()).collect();
                keep(Submission { id, offset, jobs: format_cpu_list(part) })?;
            }
        }
        JobQueue::Command(template) => {
            let words = check_command(template)?;
            for &job in jobs {
                let id = submit_one(pool, &words, job)?;
                keep(Submission { id, offset: job, jobs: job.to_string() })?;
            }
        }
    }
    Ok(())
}

fn arrays(pool: &Pool) -> Result<Vec<String>> {
    let queued = queued(&pool.manifest)?.unwrap_or_default();
    let ids: BTreeSet<String> = queued.into_values().map(|job| job.id).collect();
    Ok(ids.into_iter().collect())
}

fn sbatch(
    pool: &Pool,
    options: &[String],
    n_nodes: Option<u32>,
    offset: usize,
    indices: &[usize],
    after: &[String],
) -> Vec<String> {
    let at_once = n_nodes.map_or_else(String::new, |n| format!("%{n}"));
    // Slurm expands `%` patterns in the file name.
    let log = pool.log().display().to_string().replace('%', "%%");
    let mut arguments = vec![
        "--parsable".into(),
        format!("--job-name={}", job_name(&pool.manifest, offset)),
        format!("--array={}{at_once}", format_cpu_list(indices)),
        "--nodes=1".into(),
        "--requeue".into(),
        "--open-mode=append".into(),
        format!("--output={log}/%A_%a.txt"),
    ];
    if !after.is_empty() {
        arguments.push(format!("--dependency=afterany:{}", after.join(":")));
    }
    arguments.extend(options.iter().cloned());
    arguments.push(pool.folder.join(NAME).display().to_string());
    arguments.extend(["array".into(), offset.to_string()]);
    arguments
}

/// Submits one job by a command and returns the first line of its output.
fn submit_one(pool: &Pool, template: &[String], job: usize) -> Result<String> {
    let script = pool.folder.join(NAME).display().to_string();
    let words = in_place(template, &script, job);
    let shown = || format!("--submit, job {job}: {}", shell_words::join(&words));
    let output = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(shown)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.trim().lines().next_back().unwrap_or_default();
        anyhow::bail!("{}: {}: {message}", shown(), output.status);
    }
    let first = output.stdout.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(OsStr::from_bytes(first).to_string_lossy().trim().to_owned())
}

/// Replaces the placeholder. A word that is only the placeholder becomes two words, the script and its argument. Within
/// a longer word, both are quoted for a shell.
fn in_place(template: &[String], script: &str, job: usize) -> Vec<String> {
    let job = job.to_string();
    let mut words = Vec::new();
    for word in template {
        if word == SCRIPT {
            words.extend([script.to_owned(), job.clone()]);
        } else {
            words.push(word.replace(SCRIPT, &shell_words::join([script, &job])));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_put_into_the_command() {
        let words = check_command("qsub -N 'my bench' {script}").unwrap();
        assert_eq!(
            in_place(&words, "/a b/job.sh", 7),
            ["qsub", "-N", "my bench", "/a b/job.sh", "7"]
        );
        let words = check_command("ssh host 'nice {script}'").unwrap();
        assert_eq!(in_place(&words, "/a b/job.sh", 7), ["ssh", "host", "nice '/a b/job.sh' 7"]);
        for wrong in ["qsub", "", "qsub '{script}", "{script}"] {
            assert!(check_command(wrong).is_err(), "{wrong:?}");
        }
    }
}
