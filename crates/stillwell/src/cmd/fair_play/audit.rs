//! The untimed runs of both programs.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::fair_play::session::{FairPlay, RUN, text};
use host::Host;
use host::sys::own_path;
use measure::supervised::prepared;
use model::spec::RunSpec;
use model::values::metric::Metric;
use record::Record;
use record::fair_play::{
    AuditFacts, AuditReport, ProgramRuns, RunFacts, RunOutput, WatchRequest, judge, judge_outputs,
};
use record::plan::{Arm, Plan, Surroundings, Terms, decide_session, for_arm};

/// Runs whose CPU times are compared, of programs that take at most this many µs.
const RUNS_OF_SHORT: (usize, u64) = (7, 100_000);
/// Runs of longer programs: one bad run cannot move a median of three.
const RUNS_OF_LONG: usize = 4;
/// Further inputs with which outputs are compared.
const INPUTS_MAX: u32 = 4;
/// Longest time for a run if the session has no `--timeout`, ns.
const TIMEOUT_NS: u64 = 600_000_000_000;
/// Kernel settings that a run must not change.
const SETTINGS: [&str; 4] = [
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpufreq/boost",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/vm/nr_hugepages",
];
/// Kernel settings of each CPU that a run must not change.
const SETTINGS_OF_CPUS: [&str; 3] = ["scaling_governor", "scaling_min_freq", "scaling_max_freq"];

/// The observations of both programs' runs.
struct Runs<'a> {
    fair: &'a FairPlay,
    plan: &'a Plan,
    /// The arm of the reference; the attempt follows.
    first_arm: usize,
    as_caller: bool,
    programs: [ProgramRuns; 2],
    outputs: Vec<RunOutput>,
}

impl FairPlay {
    /// Runs two commands of `spec`, the reference `first_arm` and the attempt after it, some times, untimed and mostly
    /// undercover. `record` is their measured session, and `terms` say where they ran. Errors: a command cannot be
    /// started, or the record cannot be read.
    pub fn audit(
        &self,
        spec: &RunSpec,
        first_arm: usize,
        record: Option<&Path>,
        terms: &Terms<'_>,
    ) -> Result<AuditReport> {
        let plan = decide_session(spec, terms, &Surroundings::default())?;
        ensure!(
            plan.arms.len() >= first_arm + 2,
            "an audit needs two commands: the reference and an attempt"
        );
        let before = settings();
        let as_caller = !spec.process.rights.as_root;
        let programs = [ProgramRuns::default(), ProgramRuns::default()];
        let outputs = Vec::new();
        let mut runs = Runs { fair: self, plan: &plan, first_arm, as_caller, programs, outputs };
        let has_words = self.options.input_set.is_some() || self.options.seeds;
        let measured_us = match record.filter(|_| !has_words) {
            Some(record) => Some(cpu_times(&Record::read(record)?, first_arm)),
            None => None,
        };
        runs.plain()?;
        runs.traced()?;
        let first_us = runs.programs.iter().map(|it| it.plain[0].cpu_us).max().unwrap_or(0);
        let n_runs = if first_us <= RUNS_OF_SHORT.1 { RUNS_OF_SHORT.0 } else { RUNS_OF_LONG };
        for _ in 1..n_runs {
            runs.plain()?;
            if measured_us.is_none() {
                runs.overt()?;
            }
        }
        for block in 1..self.period.min(INPUTS_MAX) {
            // For their outputs alone.
            runs.run(0, block, false, false)?;
            runs.run(1, block, false, false)?;
        }
        let [reference, attempt] = runs.programs;
        let after = settings();
        let changed = before.into_iter().filter(|setting| !after.contains(setting));
        let facts = AuditFacts {
            reference,
            attempt,
            measured_us,
            changed_settings: changed.map(|(name, _)| format!("/{name}")).collect(),
            has_held_back: has_words,
        };
        let outputs = runs.outputs;
        let mut report = judge(&facts);
        if spec.hooks.validate.is_none() {
            report = report.merge(judge_outputs(&outputs, self.output_rules()));
        }
        Ok(report.merge(self.changes()).without(&self.options.allow))
    }
}

impl Runs<'_> {
    /// Both programs with the first input, undercover.
    fn plain(&mut self) -> Result<()> {
        for arm in 0..2 {
            let facts = self.run(arm, 0, false, false)?;
            self.programs[arm].plain.push(facts);
        }
        Ok(())
    }

    /// Both programs under watch. The reference runs twice: names that differ from run to run are no cheating.
    fn traced(&mut self) -> Result<()> {
        for arm in [0, 1, 0] {
            let facts = self.run(arm, 0, true, false)?;
            self.programs[arm].traced.push(facts);
        }
        Ok(())
    }

    /// Both programs as in a measured session.
    fn overt(&mut self) -> Result<()> {
        for arm in 0..2 {
            let facts = self.run(arm, 0, false, true)?;
            self.programs[arm].overt.push(facts);
        }
        Ok(())
    }

    fn run(&mut self, arm: usize, block: u32, is_traced: bool, is_overt: bool) -> Result<RunFacts> {
        let index = self.first_arm + arm;
        let Arm { argv, accept, .. } = &self.plan.arms[index];
        let checkout = self.plan.arms[index].directory(Some(block)).map(str::to_owned);
        let (fair, plan) = (self.fair, self.plan);
        let filled = |text: &str| fair.rules.filled(text, Some(block));
        let folder = fair.folder.path();
        let fresh = fair.options.fresh.as_deref();
        let request = WatchRequest {
            argv: fair.rules.filled_argv(argv, plan.shell.as_deref(), Some(block)),
            environment: plan.process.environment_of(&plan.arms[index]),
            input: plan.input.as_deref().map(filled),
            folder: text(folder)?,
            directory: fresh.map(|_| text(&folder.join(RUN))).transpose()?.or(checkout),
            copy_of: fresh.map(text).transpose()?,
            files: fair.options.files.clone(),
            validate: plan
                .validate
                .as_deref()
                .map(|hook| fair.rules.filled_script(&for_arm(hook, index), Some(block))),
            is_traced,
            is_overt,
            since_ns: fair.since_ns,
            timeout_ns: plan.timeout_ns.unwrap_or(TIMEOUT_NS),
        };
        let mut facts = watched(&request, self.as_caller)?;
        let shell_exit = if facts.exit < 0 { 128 - facts.exit } else { facts.exit };
        // A status that the session accepts is no failure.
        if accept.as_ref().is_none_or(|statuses| statuses.contains(&shell_exit)) {
            facts.exit = 0;
        }
        let (stdout, files) = (facts.stdout.clone(), facts.files.clone());
        self.outputs.push(RunOutput { arm, block: Some(block), stdout, files });
        Ok(facts)
    }
}

/// Watches a run from another process, with the rights of the user.
fn watched(request: &WatchRequest, as_caller: bool) -> Result<RunFacts> {
    let program = own_path().context("cannot find this program")?.into_os_string();
    let words = [program, OsString::from("fair-play"), OsString::from("watch")];
    let mut command = prepared(&words, as_caller);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start the audit")?;
    let request = serde_json::to_vec(request)?;
    // The process reads the whole request first.
    child.stdin.take().context("no pipe")?.write_all(&request).context("cannot ask for a run")?;
    let output = child.wait_with_output().context("cannot wait for the audit")?;
    if !output.status.success() {
        let mut why = String::new();
        output.stderr.as_slice().read_to_string(&mut why).ok();
        bail!("the audit: {}", why.trim().trim_start_matches("stillwell: "));
    }
    serde_json::from_slice(&output.stdout).context("the audit's facts")
}

/// CPU times of the timed runs of an arm and the next, µs.
fn cpu_times(record: &Record, first_arm: usize) -> [Vec<f64>; 2] {
    let rows = &record.rows;
    [first_arm, first_arm + 1].map(|arm| {
        let timed = (0..rows.len()).filter(|&it| rows.arm(it) == arm && rows.block(it).is_some());
        let time = |index| {
            let part = |metric| rows.get(index, metric);
            Some((part(Metric::UserUs)? + part(Metric::SysUs)?) as f64)
        };
        timed.filter_map(time).collect()
    })
}

/// The readable settings that a run must not change.
fn settings() -> Vec<(String, String)> {
    let host = Host::new("/");
    let cpus = host.list("sys/devices/system/cpu/cpufreq").into_iter();
    let of_cpus = cpus.flat_map(|policy| {
        SETTINGS_OF_CPUS.map(|name| format!("sys/devices/system/cpu/cpufreq/{policy}/{name}"))
    });
    let names = SETTINGS.into_iter().map(String::from).chain(of_cpus);
    names.filter_map(|name| Some((host.read(&name)?, name))).map(|(it, name)| (name, it)).collect()
}
