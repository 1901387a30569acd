//! The runner that makes real processes: steps → jobs for the launcher, and its answers → an outcome.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use tempfile::NamedTempFile;

use crate::host::{self, Gap};
use crate::measure::commands::Commands;
use crate::measure::process::LauncherProcess;
use crate::measure::wire::{Batch, Command, Done, Job, Keep, Open, RowId, Stop};
use crate::measure::{Failure, Hook, Outcome, Runner};
use crate::metric::Metric;
use crate::plan::Plan;
use crate::schedule::Step;
use crate::spec::values::Sched;
use crate::sys::Stage;

/// Makes real processes.
#[derive(Debug)]
pub struct ExecRunner<'a> {
    plan: &'a Plan,
    process: LauncherProcess,
    commands: Commands,
    maxrss_floor_kib: u64,
    /// Holds the standard output of the run that is to be validated.
    _captured: Option<NamedTempFile>,
}

/// What the launcher can collect.
#[derive(Debug)]
pub struct Evidence {
    /// Metrics beyond those that are always there.
    pub metrics: Vec<Metric>,
    /// What it cannot collect.
    pub gaps: Vec<Gap>,
}

/// What a job of a batch was for.
#[derive(Clone, Copy)]
enum Purpose {
    Hook(Hook),
    Run,
}

impl<'a> ExecRunner<'a> {
    /// Starts the launcher.
    ///
    /// # Errors
    /// It cannot be started, or not with what the plan asks for.
    pub fn start(plan: &'a Plan) -> Result<(Self, Evidence)> {
        let captured = plan.validate.as_ref().map(|_| NamedTempFile::new()).transpose();
        let captured = captured.context("cannot make a temporary file for --validate")?;
        let process = &plan.process;
        let open = Open {
            timeout_ns: plan.timeout_ns,
            evidence: plan.evidence,
            launcher_cpus: process.launcher_cpus.clone(),
            affinity: process.affinity.clone(),
            nice: process.nice,
            policy: process.sched.map(policy_numbers),
            no_aslr: process.no_aslr,
            rlimits: process.rlimits.iter().map(|limit| (limit.number, limit.value)).collect(),
        };
        let (process, opened) = LauncherProcess::start(open)?;
        let commands = Commands::new(plan, captured.as_ref().map(NamedTempFile::path));
        let evidence = Evidence {
            metrics: opened.metrics.iter().filter_map(|name| Metric::from_column(name)).collect(),
            gaps: opened.gaps.into_iter().map(|(what, why, fix)| Gap { what, why, fix }).collect(),
        };
        Ok((Self { plan, process, commands, maxrss_floor_kib: 0, _captured: captured }, evidence))
    }

    /// Says where the rows go.
    ///
    /// # Errors
    /// The launcher cannot open the record.
    pub fn keep(
        &mut self,
        record: &Path,
        columns: Vec<String>,
        clock_origin_ns: u64,
    ) -> Result<()> {
        let record = record.as_os_str().as_bytes().to_vec();
        self.process.keep(Keep { record, columns, clock_origin_ns })
    }

    /// The jobs of one step.
    fn jobs(&self, step: &Step) -> Vec<(Purpose, Option<&'a str>)> {
        let arm = &self.plan.arms[step.arm as usize];
        let hook = |hook, command: &'a Option<String>| {
            command.as_deref().map(|command| (Purpose::Hook(hook), Some(command)))
        };
        let is_candidate = arm.role == crate::plan::Role::Candidate;
        [
            hook(Hook::Prepare, &arm.prepare),
            Some((Purpose::Run, None)),
            hook(Hook::Validate, &self.plan.validate).filter(|_| is_candidate),
            hook(Hook::Conclude, &arm.conclude),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn command(&self, arm: usize, purpose: Purpose, hook: &str) -> Result<Command, String> {
        match purpose {
            Purpose::Run => self.commands.of_arm(self.plan, arm),
            Purpose::Hook(Hook::Validate) => self.commands.of_validator(self.plan, arm, hook),
            Purpose::Hook(_) => self.commands.of_hook(self.plan, arm, hook),
        }
    }

    /// Sends part of the jobs of some steps and says how it went.
    fn run_jobs(&mut self, steps: &[Step], wanted: impl Fn(Purpose) -> bool) -> Result<Outcome> {
        let mut batch =
            Batch { environments: self.commands.environments().to_vec(), ..Batch::default() };
        let mut origins = Vec::new();
        let mut known = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            for (purpose, hook) in
                self.jobs(step).into_iter().filter(|(purpose, _)| wanted(*purpose))
            {
                let command = match known.get(&(step.arm, hook)) {
                    Some(&command) => command,
                    None => {
                        match self.command(step.arm as usize, purpose, hook.unwrap_or_default()) {
                            Ok(command) => {
                                batch.commands.push(command);
                                let position = u32::try_from(batch.commands.len() - 1)
                                    .expect("a batch has fewer than 2^32 commands");
                                known.insert((step.arm, hook), position);
                                position
                            }
                            Err(why) => {
                                return Ok(Outcome {
                                    failure: Some(Failure::Start { why }),
                                    ..Outcome::default()
                                });
                            }
                        }
                    }
                };
                batch.jobs.push(job(step, purpose, command));
                origins.push((index, purpose, hook));
            }
        }
        let arms_by_command: HashMap<u32, u32> = known
            .iter()
            .filter(|((_, hook), _)| hook.is_none())
            .map(|((arm, _), at)| (*at, *arm))
            .collect();
        let (done, interrupted) = self.process.run(batch)?;
        self.maxrss_floor_kib = done.maxrss_floor_kib;
        for command in &done.loud_commands {
            arms_by_command.get(command).inspect(|&&arm| self.commands.mark_loud(arm as usize));
        }
        Ok(self.outcome(steps, &origins, done, interrupted))
    }

    fn outcome(
        &self,
        steps: &[Step],
        origins: &[(usize, Purpose, Option<&str>)],
        done: Done,
        interrupted: bool,
    ) -> Outcome {
        let n_jobs_done = done.n_done as usize;
        let is_run =
            |&&(_, purpose, _): &&(usize, Purpose, Option<&str>)| matches!(purpose, Purpose::Run);
        let n_done = origins[..n_jobs_done].iter().filter(is_run).count();
        let Some(stop) = done.stop else { return Outcome { n_done, interrupted, failure: None } };
        let (index, purpose, hook) = origins[n_jobs_done];
        let arm = steps[index].arm as usize;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let failure = match (stop, purpose) {
            (Stop::Interrupted, _) => return Outcome { n_done, interrupted: true, failure: None },
            (Stop::Failed { exit, timed_out, stderr }, Purpose::Run) => {
                Failure::Run { step: steps[index].step, arm, exit, timed_out, stderr: text(stderr) }
            }
            (Stop::Failed { exit, stderr, .. }, Purpose::Hook(which)) => Failure::Hook {
                hook: which,
                command: hook.unwrap_or_default().into(),
                exit,
                stderr: text(stderr),
            },
            (Stop::Launch { stage, errno }, _) => {
                let program = &self.plan.arms[arm].argv[0];
                Failure::Start { why: explain_launch(self.plan, program, stage, errno) }
            }
            (Stop::Record { error, line }, _) => Failure::Record { error, line },
        };
        Outcome { n_done, interrupted, failure: Some(failure) }
    }

    /// Runs steps whose jobs need nothing in between.
    fn run_together(&mut self, steps: &[Step]) -> Result<Outcome> {
        let mut outcome = self.run_jobs(steps, |_| true)?;
        self.conclude_after(steps, &mut outcome)?;
        Ok(outcome)
    }

    /// After a failure or ^C the conclude hook of the step that was under way is still due.
    fn conclude_after(&mut self, steps: &[Step], outcome: &mut Outcome) -> Result<()> {
        let Some(step) = steps.get(outcome.n_done) else { return Ok(()) };
        let due = outcome.failure.is_some() || outcome.interrupted;
        if !due || matches!(outcome.failure, Some(Failure::Hook { hook: Hook::Conclude, .. })) {
            return Ok(());
        }
        let is_conclude = |purpose| matches!(purpose, Purpose::Hook(Hook::Conclude));
        let concluded = self.run_jobs(std::slice::from_ref(step), is_conclude)?;
        outcome.failure = outcome.failure.take().or(concluded.failure);
        Ok(())
    }

    fn run_cold(&mut self, step: &Step) -> Result<Outcome> {
        let steps = std::slice::from_ref(step);
        let is_prepare = |purpose| matches!(purpose, Purpose::Hook(Hook::Prepare));
        let mut outcome = self.run_jobs(steps, is_prepare)?;
        if outcome.failure.is_none() && !outcome.interrupted {
            host::drop_caches()?;
            outcome = self.run_jobs(steps, |purpose| !is_prepare(purpose))?;
        }
        self.conclude_after(steps, &mut outcome)?;
        Ok(outcome)
    }
}

impl Runner for ExecRunner<'_> {
    fn maxrss_floor_kib(&self) -> Option<u64> {
        Some(self.maxrss_floor_kib)
    }

    fn run(&mut self, steps: &[Step]) -> Result<Outcome> {
        if !self.plan.cold_cache {
            return self.run_together(steps);
        }
        let mut total = Outcome::default();
        for step in steps {
            let outcome = self.run_cold(step)?;
            total.n_done += outcome.n_done;
            total.interrupted |= outcome.interrupted;
            total.failure = outcome.failure;
            if total.interrupted || total.failure.is_some() {
                break;
            }
        }
        Ok(total)
    }

    fn hook(&mut self, hook: Hook, command: &str) -> Result<Outcome> {
        let command_line = match self.commands.of_hook(self.plan, 0, command) {
            Ok(command_line) => command_line,
            Err(why) => {
                return Ok(Outcome { failure: Some(Failure::Start { why }), ..Outcome::default() });
            }
        };
        let batch = Batch {
            environments: self.commands.environments().to_vec(),
            commands: vec![command_line],
            jobs: vec![Job { command: 0, row: None, iteration: None, padding_bytes: None }],
        };
        let (done, interrupted) = self.process.run(batch)?;
        let step = Step { step: 0, arm: 0, block: None, round: 0, padding_bytes: None };
        Ok(self.outcome(&[step], &[(0, Purpose::Hook(hook), Some(command))], done, interrupted))
    }
}

fn job(step: &Step, purpose: Purpose, command: u32) -> Job {
    let row = RowId { step: step.step, arm: step.arm, block: step.block };
    let prefix = if step.block.is_some() { "" } else { "warmup-" };
    Job {
        command,
        row: matches!(purpose, Purpose::Run).then_some(row),
        iteration: Some(format!("{prefix}{}", step.round)),
        padding_bytes: step.padding_bytes,
    }
}

fn policy_numbers(sched: Sched) -> (i32, i32) {
    match sched {
        Sched::Other => (libc::SCHED_OTHER, 0),
        Sched::Batch => (libc::SCHED_BATCH, 0),
        Sched::Fifo(priority) => (libc::SCHED_FIFO, priority.into()),
        Sched::Rr(priority) => (libc::SCHED_RR, priority.into()),
    }
}

/// A child that never came to run its program: what it was doing, why it failed, what to do.
fn explain_launch(plan: &Plan, program: &str, stage: Stage, errno: i32) -> String {
    let cause = std::io::Error::from_raw_os_error(errno);
    let process = &plan.process;
    let (what, advice) = match (stage, errno) {
        (Stage::Exec, libc::ENOEXEC) => (
            format!("execute {program:?}"),
            "it is neither a binary for this machine nor a script with a #! line",
        ),
        (Stage::Exec, libc::ENOENT) => (
            format!("execute {program:?}"),
            "the file is there, but not the interpreter or loader it names",
        ),
        (Stage::Exec, libc::E2BIG) => (
            format!("execute {program:?}"),
            "shorten the command line or the environment (--env-padding off)",
        ),
        (Stage::Exec, _) => (format!("execute {program:?}"), "check its permissions"),
        (Stage::Clone, _) => {
            ("make a process".into(), "check the limits on processes and memory (ulimit -a)")
        }
        (Stage::Stdin, _) => (
            format!("open {} as standard input", plan.input.as_deref().unwrap_or("?")),
            "check --input",
        ),
        (Stage::Stdout | Stage::Stderr, _) => ("open the output".into(), "check --output"),
        (Stage::Affinity, _) => (
            format!("run on CPUs {:?}", process.affinity),
            "those CPUs are offline or not allowed; check --affinity",
        ),
        (Stage::Nice, _) => (
            format!("set nice {}", process.nice.unwrap_or(0)),
            "a lower nice level needs root or CAP_SYS_NICE",
        ),
        (Stage::Policy, _) => {
            let policy = process.sched.map(|sched| sched.to_string()).unwrap_or_default();
            (
                format!("set the scheduling policy {policy}"),
                "real-time policies need root or CAP_SYS_NICE",
            )
        }
        (Stage::Personality, _) => (
            "switch address space randomisation off".into(),
            "a seccomp filter forbids it; leave --no-aslr out",
        ),
        (Stage::Rlimit, _) => (
            "set a resource limit".into(),
            "a soft limit cannot be above the hard one (ulimit -aH); check --rlimit",
        ),
    };
    format!("cannot {what}: {cause}; {advice}")
}
