//! The launcher: makes the children, times them and appends their rows to the record.
//!
//! The launcher is this program executed again, because a child's `ru_maxrss` starts at its parent's peak: the launcher stays
//! small, and the front end may be large. It writes each row before it starts the next run, so a finished run survives
//! the death of either process.

mod copies;
mod counted;

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::child_run::{ChildRun, has_ended_or_stopped, is_interruption, pidfd, wait_for_exit};
use crate::clock::monotonic_ns;
use crate::core_prober::ProbeSchedule;
use crate::counters::Counters;
use crate::destination::Destination;
use crate::job_mark::JobMarker;
use crate::launch_attributes::{allowed_cpus, attributes_of, pin_myself, raise_own_priority};
use crate::memory_use::MemoryUse;
use crate::page_placement::PagePlacement;
use crate::prepared::{PreparedCommand, environment, variables_of};
use crate::proc_counts::{CpuTimes, OwnCpuTimes, ReadingTime, Waits, peak_resident_kib};
use crate::quota_use::QuotaUse;
use crate::sampling::Sampling;
use crate::streams::{Pipes, STDERR_KEEP_BYTES_MAX, Streams, pipe};
use crate::survivors::SurvivorWatch;
use crate::wire::{
    Batch, BatchResult, BatchStop, Job, LauncherReport, LauncherSettings, RowId, StderrTarget,
    StdoutTarget,
};
use host::Gap;
use host::sys::{
    self, Alarm, Attributes, CStrings, ChildStdio, Environment, Envp, LaunchError, LaunchedChild,
};
use model::values::metric::Metric;
use record::Survivors;

/// The launcher's state from batch to batch.
pub(super) struct LauncherLoop {
    pub(super) front_end: i32,
    mark: Option<JobMarker>,
    pub(super) destination: Option<Destination>,
    timeout: Option<Duration>,
    /// The launcher's own waits; `None` if the kernel counts none.
    schedstat: Option<OwnCpuTimes>,
    reading_time: ReadingTime,
    /// Attributes of each copy of a run, mostly a single one.
    attributes: Vec<Attributes>,
    plain: Attributes,
    counters: Counters,
    quota_use: QuotaUse,
    memory_use: Option<MemoryUse>,
    streams: Streams,
    launcher: sys::Launcher,
    placement: PagePlacement,
    probes: ProbeSchedule,
    sampling: Option<Sampling>,
    pub(super) survivors: Option<SurvivorWatch>,
}

impl LauncherLoop {
    pub(super) fn open(
        open: LauncherSettings,
        front_end: i32,
        mark: Option<JobMarker>,
    ) -> Result<(Self, LauncherReport)> {
        let allowed = allowed_cpus()?;
        if let Some(cpus) = &open.launcher_cpus {
            let refused = || format!("cannot move the launcher to CPUs {cpus:?}");
            pin_myself(cpus).with_context(refused)?;
        }
        // Otherwise the next run would start late, after the launcher has waited for a CPU.
        let own_nice = open.nice.filter(|&nice| nice < 0).and_then(raise_own_priority);
        let cpus = open.affinity.clone().unwrap_or_else(|| allowed.clone());
        let files_of = open.files_of.clone();
        let sampling = open.sampling.as_ref();
        let sampling =
            sampling.map(|it| Sampling::open(it, files_of.as_ref(), &cpus)).transpose()?;
        let (counters, mut gaps) = if open.evidence {
            Counters::open(&cpus, open.wake)
        } else {
            (Counters::none(), Vec::new())
        };
        let schedstat = open.evidence.then(OwnCpuTimes::open).flatten();
        if open.evidence && schedstat.is_none() {
            gaps.push(Gap {
                what: Metric::RunQueueWaitNs.info().name.into(),
                why: "there is no /proc/PID/schedstat".into(),
                fix: "use a kernel with CONFIG_SCHED_INFO".into(),
            });
        }
        let memory_use = MemoryUse::open_own(open.tree_memory, &mut gaps);
        let mut metrics = counters.metrics();
        use Metric::{CountingNs, Instructions, LeftOut, SystemCalls};
        let of_valgrind = [Instructions, CountingNs, SystemCalls, LeftOut];
        metrics.extend(of_valgrind.into_iter().filter(|_| open.has_valgrind));
        metrics.extend(memory_use.as_ref().map(|_| Metric::TreePeakBytes));
        let has_schedstat = schedstat.is_some();
        if has_schedstat {
            use Metric::{ImpossibleStallNs, RunQueueWaitNs, StalledNs, UnclearNs};
            metrics.extend([RunQueueWaitNs, StalledNs, UnclearNs, ImpossibleStallNs]);
        }
        let probes = ProbeSchedule::new(open.evidence);
        metrics.extend(probes.metrics());
        let quota_use = QuotaUse::open_own(open.evidence);
        metrics.extend(quota_use.metrics());
        let (timeout, evidence) = (open.timeout_ns.map(Duration::from_nanos), open.evidence);
        let survivors = SurvivorWatch::begin(open.ends_survivors);
        let (attributes, plain) = attributes_of(open, &allowed, own_nice);
        let session = Self {
            front_end,
            mark,
            destination: None,
            timeout,
            schedstat,
            reading_time: ReadingTime::new(evidence),
            attributes,
            plain,
            counters,
            quota_use,
            memory_use,
            streams: Streams::open().context("cannot open the standard streams of the runs")?,
            launcher: sys::Launcher::new(has_schedstat),
            placement: PagePlacement::default(),
            probes,
            sampling,
            survivors,
        };
        sys::shrink_resident_set();
        if let Some(user) = &files_of {
            sys::take_files(user).context("cannot open files as the user who called sudo")?;
        }
        Ok((session, LauncherReport { metrics, gaps }))
    }

    pub(super) fn run(&mut self, batch: &Batch, variables: &mut Environment) -> BatchResult {
        let mut done = BatchResult::default();
        sys::take_stop_request();
        if sys::parent() != self.front_end {
            // The front end died after this request, and its death signal was taken just now.
            return BatchResult { stop: Some(BatchStop::Interrupted), ..done };
        }
        let environments: Vec<CStrings> =
            batch.environments.iter().map(|entries| environment(entries)).collect();
        let commands: Vec<PreparedCommand<'_>> =
            batch.commands.iter().map(PreparedCommand::new).collect();
        // Without hooks, nothing is left to do when the launcher dies.
        let has_hooks = batch.jobs.iter().any(|job| job.row.is_none());
        for job in &batch.jobs {
            self.mark.as_ref().filter(|_| has_hooks).inspect(|mark| mark.set(done.n_done));
            let prepared = &commands[job.command as usize];
            let base = &environments[prepared.command.environment as usize];
            let envp = variables.assemble(base, variables_of(job), job.padding_bytes);
            if job.row.is_some() {
                done.survivors.extend(self.settle());
            }
            if let Err(stop) = self.run_job(prepared, job, envp, &mut done) {
                done.stop = Some(stop);
                break;
            }
            done.n_done += 1;
        }
        done.survivors.extend(self.settle());
        done.evidence_ns = self.reading_time.sum_ns();
        done.maxrss_floor_kib = peak_resident_kib().unwrap_or(0);
        done
    }

    /// The processes that the last run left behind, unless its hooks have ended them.
    fn settle(&mut self) -> Option<Survivors> {
        let survivors = self.survivors.as_mut()?;
        if survivors.has_processes() {
            self.counters.something_ran();
        }
        survivors.settle()
    }

    fn run_job(
        &mut self,
        prepared: &PreparedCommand<'_>,
        job: &Job,
        envp: Envp<'_>,
        done: &mut BatchResult,
    ) -> Result<(), BatchStop> {
        let command = prepared.command;
        let value = command.value.as_ref().filter(|_| job.row.is_some());
        value.inspect(|value| value.clear(self.plain.run_as.as_ref()));
        self.placement.before_run(job.row, command, self.plain.run_as.as_ref());
        self.survivors.iter_mut().for_each(SurvivorWatch::before_run);
        let half = self.before_count(prepared, job, envp)?;
        if job.row.is_some() {
            let start_ns = self.reading_time.start();
            self.quota_use.before();
            self.memory_use.iter_mut().for_each(MemoryUse::before);
            self.counters.before();
            self.reading_time.add_since(start_ns);
        }
        if let Some(sampling) = &mut self.sampling {
            self.launcher.delay_ns = sampling.before(job.row);
        }
        let ran = self.run_child(prepared, &prepared.argv, envp, job.row);
        self.counters.something_ran();
        let ran = ran?;
        match (&mut self.survivors, job.row) {
            (Some(watch), Some(id)) => {
                let is_cut = ran.timed_out || sys::is_stop_requested();
                done.survivors.extend(watch.after_run(id, ran.launched.pid, is_cut));
            }
            (Some(watch), None) => watch.after_hook(),
            (None, _) => {}
        }
        let accepted = command.accepts(ran.exit, ran.timed_out);
        let stopped = sys::take_stop_request();
        // Keep a run that had finished before the request arrived; drop a run that it cut short.
        if stopped && (ran.exit < 0 || !accepted) {
            return Err(BatchStop::Interrupted);
        }
        if let Some(sampling) = &mut self.sampling {
            sampling.after();
        }
        let value = value.map(|value| value.read(self.plain.run_as.as_ref()));
        if let Some(count) = command.count.as_ref().filter(|count| count.folder.is_some()) {
            return self.take_count(count, ran, accepted, job, stopped);
        }
        if let (Some(id), Some(destination)) = (job.row, &mut self.destination) {
            let mut row = ran.row(id, destination.clock_origin_ns);
            row.value = value.as_ref().and_then(|value| value.as_ref().ok().copied());
            let start_ns = self.reading_time.start();
            let watch = self.survivors.as_ref();
            let totals = counted::read(&mut self.counters, watch, &mut row, &ran);
            counted::without_half(&mut row, command.count.as_ref(), half);
            self.quota_use.after(&mut row);
            self.memory_use.iter().for_each(|memory| memory.after(&mut row));
            let stall = ran.stall(totals, &row);
            row.set(Metric::StalledNs, stall.map(|stall| stall.stalled_ns));
            row.set(Metric::UnclearNs, stall.map(|stall| stall.unclear_ns));
            row.set(Metric::ImpossibleStallNs, stall.map(|stall| stall.impossible_ns));
            self.reading_time.add_since(start_ns);
            destination.append(&row)?;
        }
        if ran.stderr_bytes > STDERR_KEEP_BYTES_MAX && !done.loud_commands.contains(&job.command) {
            done.loud_commands.push(job.command);
        }
        if stopped {
            return Err(BatchStop::Interrupted);
        }
        if accepted {
            return match value {
                Some(Err(why)) if command.accept.is_some() => {
                    Err(BatchStop::NoValue { why, stderr: ran.stderr })
                }
                _ => Ok(()),
            };
        }
        Err(BatchStop::Failed { exit: ran.exit, timed_out: ran.timed_out, stderr: ran.stderr })
    }

    /// Starts a child, waits for its end and collects the kernel's counts.
    fn run_child(
        &mut self,
        prepared: &PreparedCommand<'_>,
        argv: &CStrings,
        envp: Envp<'_>,
        row: Option<RowId>,
    ) -> Result<ChildRun, BatchStop> {
        let command = prepared.command;
        let is_timed = row.is_some_and(|id| id.block.is_some());
        let failed = |stage, error: io::Error| BatchStop::Launch {
            stage,
            errno: error.raw_os_error().unwrap_or(0),
        };
        let stdout_pipe = match command.stdout {
            StdoutTarget::Pipe => Some(pipe()),
            StdoutTarget::Tty(columns, rows) => Some(sys::open_pty(columns, rows)),
            _ => None,
        };
        let stdout_pipe =
            stdout_pipe.transpose().map_err(|error| failed(sys::Stage::Stdout, error))?;
        // A pipe is read until the first of several copies ends, and the others would wait at it for ever.
        let reads_stderr = !is_timed && self.attributes.len() == 1;
        let stderr_pipe = (command.stderr == StderrTarget::Keep && reads_stderr)
            .then(pipe)
            .transpose()
            .map_err(|error| failed(sys::Stage::Stderr, error))?;
        let stdio = [
            prepared.stdin.as_deref().map_or(ChildStdio::Fd(self.streams.null()), ChildStdio::Read),
            match (&command.stdout, &prepared.stdout, &stdout_pipe) {
                (_, Some(path), _) => ChildStdio::Write(path),
                (_, _, Some((_, writer))) => ChildStdio::Fd(writer.as_fd()),
                (StdoutTarget::Inherit, _, _) => ChildStdio::Inherit,
                _ => ChildStdio::Fd(self.streams.null()),
            },
            match (command.stderr, &stderr_pipe) {
                (_, Some((_, writer))) => ChildStdio::Fd(writer.as_fd()),
                (StderrTarget::Inherit, _) => ChildStdio::Inherit,
                (StderrTarget::Keep, _) => ChildStdio::Fd(self.streams.kept_stderr()),
                (StderrTarget::Null, _) => ChildStdio::Fd(self.streams.null()),
            },
        ];
        let attributes = if row.is_some() { &mut self.attributes[0] } else { &mut self.plain };
        attributes.directory.clone_from(&prepared.directory);
        self.launcher.probes_core = row.is_some() && self.probes.is_due();
        let launched = self
            .launcher
            .launch(&prepared.path, argv, envp, stdio, attributes, &[])
            .map_err(not_launched)?;
        let (argv, attributes) = match (&prepared.half, row) {
            (_, None) => (argv, Default::default()),
            // valgrind's counts do not depend on what else runs, so both processes of a count run at the same time.
            (Some(half), _) if prepared.is_under_valgrind() => (half, &mut self.attributes[..1]),
            _ => (argv, &mut self.attributes[1..]),
        };
        let (launcher, first) = (&mut self.launcher, launched.pid);
        let copies = copies::start(launcher, prepared, argv, attributes, envp, stdio, first);
        let copies = copies.map_err(not_launched)?;
        let pipes = Pipes::new(
            stdout_pipe.map(|(reader, _)| reader),
            stderr_pipe.map(|(reader, _)| reader),
        );
        Ok(self.await_child(launched, &copies, pipes, row.is_some()))
    }

    fn await_child(
        &mut self,
        launched: LaunchedChild,
        copies: &[i32],
        mut pipes: Pipes,
        is_run: bool,
    ) -> ChildRun {
        let alarm = Alarm::arm(launched.pid, self.timeout.filter(|_| is_run));
        self.mark.as_ref().inspect(|mark| mark.set_group(launched.pid));
        if !pipes.is_empty() {
            let pidfd = pidfd(launched.pid);
            let pidfd = pidfd.as_ref().map(|pidfd| pidfd.as_fd());
            let has_ended = || has_ended_or_stopped(launched.pid);
            while pipes
                .drain_until_exit(pidfd, has_ended)
                .is_err_and(|error| is_interruption(&error))
            {}
        }
        let waits_so_far = || self.schedstat.as_ref().and_then(OwnCpuTimes::waits);
        let mut waits_before = waits_so_far();
        if let Some(sampling) = &mut self.sampling {
            // While the launcher copies samples it waits for a CPU beside the run. That does not make it late.
            sampling.drain_until_exit(launched.pid, || waits_before = waits_so_far());
        }
        let stopped_by = wait_for_exit(launched.pid);
        copies::wait(copies);
        let ended_ns = monotonic_ns();
        let (mut first_task, mut waits) = (None, Waits::default());
        if let Some(own) = &self.schedstat {
            first_task = CpuTimes::read_process(launched.pid);
            let both = own.waits().zip(waits_before);
            waits = both.map_or(waits, |(after, before)| after.since(before));
            self.reading_time.add_since(is_run.then_some(ended_ns));
        }
        if alarm.went_off() {
            // Kill everything that the run left behind. Until the child is reaped, no other group has its number.
            sys::signal_group(launched.pid, libc::SIGKILL);
        }
        // Once the child is reaped, another group may get its number.
        self.mark.as_ref().inspect(|mark| mark.set_group(0));
        let (exit, mut usage) = copies::end(launched.pid, copies);
        // The terminal stopped the child, which was then killed.
        let exit = stopped_by.map_or(exit, |signal| -signal);
        // The child's work before its clock started: the delay and the probe of the core.
        let before_ns = launched.delayed_ns + launched.probe.map_or(0, |probe| probe.all_ns);
        usage.without(before_ns / 1000);
        let timed_out = alarm.timed_out();
        drop(alarm);
        let (mut stderr, mut stderr_bytes) = pipes.into_stderr();
        if stderr_bytes == 0 {
            (stderr, stderr_bytes) = self.streams.take_kept_stderr();
        }
        ChildRun {
            launched,
            ended_ns,
            exit,
            timed_out,
            usage,
            first_task,
            waits,
            stderr,
            stderr_bytes,
        }
    }
}

fn not_launched(LaunchError { stage, errno }: LaunchError) -> BatchStop {
    BatchStop::Launch { stage, errno }
}
