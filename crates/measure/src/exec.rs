//! The runner that makes real processes: it turns steps into jobs for the launcher, and its answers into an outcome.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use tempfile::NamedTempFile;

use crate::commands::{Commands, OwnFiles, has_own_file, has_value_in_stdout};
use crate::harnesses::folder_of_results;
use crate::jobs::{JobOrigin, JobPurpose, is_undercover, job};
use crate::launch_failure::failure_of;
use crate::memory_use::TREE_MEMORY;
use crate::process::{InterruptTolerance, LauncherProcess};
use crate::survivors::add_survivors;
use crate::value::as_user;
use crate::wire::{
    Batch, BatchStop, Command, Job, LauncherReport, LauncherSettings, RowDestination,
    SamplingSettings,
};
use crate::{Hook, MeasurementFailure, Outcome, RowPlace, Runner};
use host::sys::User;
use host::user_files::no_temporary;
use host::{self, Host, ScratchDirectory, terminal};
use model::prose::{Prose, prose};
use model::values::DecideOn;
use model::words::in_prose;
use record::plan::{Copies, Plan};
use record::schedule::Step;
use record::{Event, Survivors};

/// Identifies a command: arm, directory, block (if it matters) and purpose.
type CommandKey<'a> = (u32, Option<&'a str>, Option<u32>, JobPurpose);

#[derive(Debug)]
pub struct ExecRunner<'a> {
    plan: &'a Plan,
    process: LauncherProcess,
    /// User of the hooks, if not our own.
    run_as: Option<User>,
    commands: Commands,
    maxrss_floor_kib: u64,
    evidence_ns: Option<u64>,
    survivors: Vec<Survivors>,
    /// The standard output of the run, for its validation or its value.
    _captured: Option<NamedTempFile>,
    /// The file for the value of a run.
    _results: Option<ScratchDirectory>,
    /// The files of valgrind.
    _counts: Option<ScratchDirectory>,
}

impl<'a> ExecRunner<'a> {
    /// Starts the launcher. `sampling`: asks for samples of the runs. `enter`: moves a process to the place of its runs
    /// before its first request. Errors: the launcher cannot be started, or cannot do all that the plan asks for.
    pub fn start(
        plan: &'a Plan,
        run_as: Option<User>,
        sampling: Option<SamplingSettings>,
        enter: impl FnOnce(u32) -> Result<()>,
    ) -> Result<(Self, LauncherReport)> {
        let says_value = plan.arms.iter().any(has_value_in_stdout);
        // The child opens the file, so its user must own it (Documentation/admin-guide/sysctl/fs.rst,
        // `protected_regular`).
        let made = (plan.validate.is_some() || says_value)
            .then(|| as_user(run_as.as_ref(), NamedTempFile::new));
        let captured = made.transpose().with_context(no_temporary)?;
        let results =
            plan.arms.iter().any(has_own_file).then(|| folder_of_results(run_as.as_ref()));
        let results = results.transpose().with_context(no_temporary)?;
        let counts = plan.valgrind().map(|_| folder_of_results(run_as.as_ref()));
        let counts = counts.transpose().with_context(no_temporary)?;
        let process = &plan.process;
        let wake = plan.evidence.then(|| host::wake_tracepoint(&Host::new("/"))).flatten();
        let open = LauncherSettings {
            timeout_ns: plan.timeout_ns,
            evidence: plan.evidence,
            has_valgrind: plan.valgrind().is_some(),
            tree_memory: plan.needs_tree_memory(),
            wake,
            launcher_cpus: process.launcher_cpus.clone(),
            affinity: process.affinity.clone(),
            copies: plan.copies.as_ref().map_or_else(Vec::new, Copies::cpus_of_each),
            memory: process.memory.clone(),
            nice: process.nice,
            sched: process.sched,
            no_aslr: process.no_aslr,
            run_as: run_as.clone(),
            files_of: host::invoking_user(),
            sampling,
            ends_survivors: plan.fair_play.is_some(),
            is_undercover: is_undercover(plan),
        };
        let (process, evidence) = LauncherProcess::start(open, enter)?;
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let files = OwnFiles {
            stdout: captured.as_ref().map(|file| bytes(file.path())),
            result: results.as_ref().map(|folder| bytes(&folder.path().join("result"))),
            counts: counts.as_ref().map(|folder| bytes(folder.path())),
        };
        let commands = Commands::new(plan, run_as.as_ref(), files);
        if plan.policy.decide_on == Some(DecideOn::TreeMemory)
            && let Some(gap) = evidence.gaps.iter().find(|gap| gap.what == TREE_MEMORY)
        {
            let (why, fix) = (&gap.why, gap.fix.clone());
            return Err(anyhow!(prose![DecideOn " {TREE_MEMORY}: {why}; " (fix)]));
        }
        Ok((
            Self {
                plan,
                process,
                run_as,
                commands,
                maxrss_floor_kib: 0,
                evidence_ns: None,
                survivors: Vec::new(),
                _captured: captured,
                _results: results,
                _counts: counts,
            },
            evidence,
        ))
    }

    pub fn launcher(&self) -> u32 {
        self.process.id()
    }

    /// The jobs of one step, with the commands of the hooks.
    fn jobs(&self, step: &Step) -> Vec<(JobPurpose, &'a str)> {
        let arm = &self.plan.arms[step.arm as usize];
        let validate = self.plan.validate.as_deref().filter(|_| !arm.role.is_control());
        let hook = |hook, command: Option<&'a str>| Some((JobPurpose::Hook(hook), command?));
        [
            hook(Hook::Prepare, arm.prepare.as_deref()),
            Some((JobPurpose::Run, "")),
            hook(Hook::Validate, validate),
            hook(Hook::Conclude, arm.conclude.as_deref()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn command(&self, step: &Step, purpose: JobPurpose, hook: &str) -> Result<Command, Prose> {
        let (plan, arm) = (self.plan, step.arm as usize);
        match purpose {
            JobPurpose::Run => self.commands.arm_command(plan, arm, step.block),
            JobPurpose::Hook(Hook::Validate) => {
                Ok(self.commands.validator_command(plan, arm, step.block, hook)?)
            }
            JobPurpose::Hook(_) => Ok(self.commands.hook_command(plan, arm, step.block, hook)?),
        }
    }

    fn run_jobs(&mut self, steps: &[Step], wanted: impl Fn(JobPurpose) -> bool) -> Result<Outcome> {
        let (outcome, open_step) = match self.batch(steps, wanted) {
            Ok((batch, origins)) => {
                let sent = self.send(batch, steps, &origins, InterruptTolerance::None);
                sent.map_err(|error| self.conclude_without_launcher(steps, &origins, error))?
            }
            Err(failure) => (Outcome::failed(failure), None),
        };
        if let Some(step) = open_step { self.conclude(step, outcome) } else { Ok(outcome) }
    }

    /// The batch of these jobs, with the origin of each.
    fn batch(
        &self,
        steps: &[Step],
        wanted: impl Fn(JobPurpose) -> bool,
    ) -> Result<(Batch, Vec<JobOrigin<'a>>), MeasurementFailure> {
        let mut batch =
            Batch { environments: self.commands.environments().to_vec(), ..Batch::default() };
        let mut origins = Vec::new();
        let has_words = self.plan.fair_play.as_ref().is_some_and(|rules| !rules.words.is_empty());
        let has_valgrind = self.plan.valgrind().is_some();
        let mut known: HashMap<CommandKey<'_>, u32> = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            for (purpose, hook) in
                self.jobs(step).into_iter().filter(|(purpose, _)| wanted(*purpose))
            {
                let directory = self.plan.arms[step.arm as usize].directory(step.block);
                let block = step.block.filter(|_| has_words || has_valgrind);
                let command = match known.entry((step.arm, directory, block, purpose)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        let position = u32::try_from(batch.commands.len());
                        let arm = (purpose == JobPurpose::Run).then_some(step.arm as usize);
                        let command = self.command(step, purpose, hook);
                        let start = |why| MeasurementFailure::Start { arm, why };
                        batch.commands.push(command.map_err(start)?);
                        *new.insert(position.expect("a batch has fewer than 2^32 commands"))
                    }
                };
                batch.jobs.push(job(step, purpose, command, self.plan));
                origins.push(JobOrigin { index, purpose, hook });
            }
        }
        Ok((batch, origins))
    }

    /// Runs a batch. The second value is the interrupted step, if its conclude hook must still run.
    fn send(
        &mut self,
        batch: Batch,
        steps: &[Step],
        origins: &[JobOrigin<'_>],
        tolerance: InterruptTolerance,
    ) -> Result<(Outcome, Option<Step>)> {
        if tolerance == InterruptTolerance::None && self.process.take_interrupt() {
            // None of these jobs has begun, so no step is open.
            return Ok((Outcome { interrupted: true, failure: None }, None));
        }
        let arm_of_command: HashMap<u32, usize> = batch
            .jobs
            .iter()
            .filter_map(|job| Some((job.command, job.row?.arm as usize)))
            .collect();
        let (done, interrupted) = self.process.run(batch, tolerance)?;
        self.maxrss_floor_kib = done.maxrss_floor_kib;
        self.evidence_ns = done.evidence_ns;
        add_survivors(&mut self.survivors, &done.survivors);
        let left = done.survivors.iter().find(|it| self.plan.refuses_survivors && it.n_left > 0);
        let left = left.map(|it| MeasurementFailure::Survivors(it.clone()));
        for command in &done.loud_commands {
            arm_of_command.get(command).inspect(|&&arm| self.commands.mark_loud(arm));
        }
        if matches!(done.stop, Some(BatchStop::Interrupted)) && !interrupted {
            terminal::say(
                "a command or another program sent SIGTERM to the launcher, the parent of the commands; the session ends",
            );
        }
        let Some(stop) = done.stop else {
            return Ok((Outcome { interrupted, failure: left }, None));
        };
        let origin = origins[done.n_done as usize];
        let step = steps[origin.index];
        let is_due = origin.purpose != JobPurpose::Hook(Hook::Conclude);
        if tolerance == InterruptTolerance::Once && matches!(stop, BatchStop::Interrupted) {
            let hook = if is_due { "cleanup" } else { "conclude" };
            let command = origin.hook;
            terminal::say(format_args!(
                "the {hook} hook {command:?} was interrupted, and may not have finished"
            ));
        }
        let outcome = match failure_of(self.plan, &step, origin, stop) {
            Some(failure) => Outcome { interrupted, failure: Some(failure) },
            None => Outcome { interrupted: true, failure: None },
        };
        Ok((outcome, is_due.then_some(step)))
    }

    /// After a failure or ^C, the conclude hook of the current step must still run.
    fn conclude(&mut self, step: Step, outcome: Outcome) -> Result<Outcome> {
        let is_conclude = |purpose| purpose == JobPurpose::Hook(Hook::Conclude);
        // A launcher that did not answer was killed.
        self.process.revive(self.run_as.clone())?;
        let concluded = match self.batch(&[step], is_conclude) {
            Ok((batch, origins)) => {
                self.send(batch, &[step], &origins, InterruptTolerance::Once)?.0
            }
            Err(failure) => Outcome::failed(failure),
        };
        Ok(Outcome { failure: outcome.failure.or(concluded.failure), ..outcome })
    }

    /// After the launcher was killed, a new one runs the conclude hook of the open step. Returns the session's error.
    fn conclude_without_launcher(
        &mut self,
        steps: &[Step],
        origins: &[JobOrigin<'_>],
        error: anyhow::Error,
    ) -> anyhow::Error {
        let origin = self.process.last_job().and_then(|job| origins.get(job as usize));
        let conclude = JobPurpose::Hook(Hook::Conclude);
        let step = origin.filter(|origin| origin.purpose != conclude).map(|it| steps[it.index]);
        let is_due = |step: &Step| self.plan.arms[step.arm as usize].conclude.is_some();
        let Some(step) = step.filter(is_due).filter(|_| self.process.has_ended()) else {
            return error;
        };
        let revived = self.process.revive(self.run_as.clone());
        let concluded = revived.and_then(|()| self.conclude(step, Outcome::default()));
        match concluded {
            Ok(Outcome { failure: None, .. }) => error,
            _ => anyhow!(prose![(in_prose(&error)) "; the hook " Conclude " failed too"]),
        }
    }

    fn run_cold(&mut self, step: &Step) -> Result<Outcome> {
        let steps = std::slice::from_ref(step);
        let is_prepare = |purpose| purpose == JobPurpose::Hook(Hook::Prepare);
        let prepared = self.run_jobs(steps, is_prepare)?;
        if prepared.is_end() {
            return Ok(prepared);
        }
        host::drop_caches()?;
        self.run_jobs(steps, |purpose| !is_prepare(purpose))
    }
}

impl Runner for ExecRunner<'_> {
    fn keep(&mut self, rows: RowPlace) -> Result<()> {
        let RowPlace { record, columns, clock_origin_ns, .. } = rows;
        let record = record.into_os_string().into_vec();
        self.process.keep(RowDestination { record, columns, clock_origin_ns })
    }

    fn last_words(&self) -> Option<Event> {
        Some(Event::Launcher {
            maxrss_floor_kib: self.maxrss_floor_kib,
            evidence_ns: self.evidence_ns,
            survivors: self.survivors.clone(),
        })
    }

    fn run(&mut self, steps: &[Step]) -> Result<Outcome> {
        if !self.plan.cold_cache {
            return self.run_jobs(steps, |_| true);
        }
        for step in steps {
            let outcome = self.run_cold(step)?;
            if outcome.is_end() {
                return Ok(outcome);
            }
        }
        Ok(Outcome::default())
    }

    fn hook(&mut self, hook: Hook, command: &str, arm: usize) -> Result<Outcome> {
        let command_line = match self.commands.hook_command(self.plan, arm, None, command) {
            Ok(command_line) => command_line,
            Err(why) => {
                let start = MeasurementFailure::Start { arm: None, why: why.into() };
                return Ok(Outcome::failed(start));
            }
        };
        let batch = Batch {
            environments: self.commands.environments().to_vec(),
            commands: vec![command_line],
            jobs: vec![Job::default()],
        };
        if hook == Hook::Cleanup {
            self.process.revive(self.run_as.clone())?;
        }
        let arm = u32::try_from(arm).expect("arms are counted in u32");
        let step = Step { step: 0, arm, block: None, round: 0, padding_bytes: None };
        let origin = JobOrigin { index: 0, purpose: JobPurpose::Hook(hook), hook: command };
        let tolerance =
            if hook == Hook::Cleanup { InterruptTolerance::Once } else { InterruptTolerance::None };
        Ok(self.send(batch, &[step], &[origin], tolerance)?.0)
    }
}
