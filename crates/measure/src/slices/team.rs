//! The worker processes of one benchmark: their start, and the requests before the first slice.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;

use stats::Stream;

use crate::clock::monotonic_ns;
use crate::commands::environment;
use crate::launch_attributes::{node_policy, policy};
use crate::prepared::{HASH_SEED, PADDING_VARIABLE, c_string};
use crate::programs;
use crate::slices::{SliceError, WorkerFactory};
use crate::wire::Bytes;
use crate::worker::{RequestLimits, Slice, Worker, WorkerFailure, WorkerLaunch};
use host::environment_for;
use host::sys::{Attributes, CpuMask, User};
use model::values::Gc;
use record::plan::workers::Workers;
use record::plan::{Arm, Plan, ProcessPlan};
use record::schedule::Step;

/// Separates the stream of hash seeds from the schedule's streams.
const HASH_STREAM: u64 = 0x94d0_49bb_1331_11eb;
/// Turns of the empty loop per request: about 50 µs of CPython.
const EMPTY_LOOPS: u64 = 10_000;
/// Tries of the empty loop; the shortest counts.
const EMPTY_TRIES: u32 = 3;

/// The workers of one benchmark's arms, in the order of their start.
#[derive(Debug)]
pub(super) struct WorkerTeam {
    pub(super) members: Vec<TeamWorker>,
    /// Mean time to start a process and get it ready, ns.
    pub(super) launch_ns: u64,
}

/// A worker that is ready to run its benchmark.
#[derive(Debug)]
pub(super) struct TeamWorker {
    pub(super) arm: usize,
    pub(super) worker: Worker,
    pub(super) empty_loop_ps: Option<u64>,
    pub(super) is_jit: bool,
    pub(super) has_own_timer: bool,
    collects: bool,
}

impl WorkerTeam {
    pub(super) fn start(
        plan: &Plan,
        workers: &Workers,
        maker: &mut WorkerFactory,
        request_limits: &RequestLimits,
        steps: &[Step],
    ) -> Result<Self, SliceError> {
        let started_ns = monotonic_ns();
        let broken = |arm| move |failure| SliceError::Worker(arm, failure);
        let mut start = |step: &Step| {
            let arm = step.arm as usize;
            let launch = launch(plan, workers, step, maker.run_as());
            Ok((arm, maker.make(launch, arm, step.block, request_limits).map_err(broken(arm))?))
        };
        // Start all before waiting for the first: on a busy machine most of a start is waiting.
        let started: Vec<_> = steps.iter().map(&mut start).collect::<Result<_, SliceError>>()?;
        let ready =
            |(arm, worker)| TeamWorker::ready(worker, arm, plan, workers).map_err(broken(arm));
        let members: Vec<TeamWorker> = started.into_iter().map(ready).collect::<Result<_, _>>()?;
        let launch_ns = (monotonic_ns() - started_ns) / members.len().max(1) as u64;
        Ok(Self { members, launch_ns })
    }

    pub(super) fn quit(self) -> Result<(), SliceError> {
        for member in self.members {
            let arm = member.arm;
            member.worker.quit().map_err(|failure| SliceError::Worker(arm, failure))?;
        }
        Ok(())
    }
}

impl TeamWorker {
    fn ready(
        mut worker: Worker,
        arm: usize,
        plan: &Plan,
        workers: &Workers,
    ) -> Result<Self, WorkerFailure> {
        let facts = worker.hello()?;
        let (is_jit, has_gc) = (facts.is("jit"), facts.is("gc"));
        let Arm { source, benchmark, .. } = &plan.arms[arm];
        let mut empty_loop_ps = None;
        match (source, benchmark) {
            (Some(source), _) => {
                worker.source("statement", "pass")?;
                worker.compile(1)?;
                empty_loop_ps = Some(empty_loop_ps_of(&mut worker)?);
                worker.source("setup", &source.setup)?;
                worker.source("statement", &source.statement)?;
                worker.source("teardown", &source.teardown)?;
                worker.compile(source.duplicate.into())?;
            }
            (None, Some(name)) if !plan.is_forked() => worker.select(name)?,
            // A fork runs a single function.
            (None, _) => {}
        }
        match workers.gc {
            Gc::Off if has_gc => worker.gc(false)?,
            // Otherwise one of the first short slices would collect what the imports left: the mean of 24 slices was a
            // third too long.
            Gc::On if has_gc && !plan.is_forked() => worker.collect()?,
            _ => {}
        }
        let collects = has_gc && workers.gc == Gc::Collect;
        let has_own_timer = plan.arms[arm].has_own_timer;
        Ok(Self { arm, worker, empty_loop_ps, is_jit, has_own_timer, collects })
    }

    pub(super) fn slice(&mut self, loops: u64) -> Result<Slice, SliceError> {
        let asked = if self.collects { self.worker.collect() } else { Ok(()) };
        let slice = asked.and_then(|()| self.worker.run_loops(loops, self.has_own_timer));
        slice.map_err(|failure| SliceError::Worker(self.arm, failure))
    }
}

fn empty_loop_ps_of(worker: &mut Worker) -> Result<u64, WorkerFailure> {
    let mut least_ps = u64::MAX;
    for _ in 0..EMPTY_TRIES {
        let slice = worker.run_loops(EMPTY_LOOPS, false)?;
        least_ps = least_ps.min(slice.wall_ns.saturating_mul(1000) / EMPTY_LOOPS);
    }
    Ok(least_ps)
}

/// The launch of a step's worker. All arms of a block have the same environment; each block has another.
fn launch(plan: &Plan, workers: &Workers, step: &Step, run_as: Option<&User>) -> WorkerLaunch {
    let mut inherited = environment_for(run_as);
    let arm = &plan.arms[step.arm as usize];
    let is_inherited = |name: &[u8]| {
        let Some(wanted) = &workers.inherit else { return true };
        let is_usual = matches!(name, b"PATH" | b"HOME" | b"LANG") || name.starts_with(b"LC_");
        is_usual || wanted.iter().any(|wanted| wanted.as_bytes() == name)
    };
    let own = plan.process.environment_of(arm);
    let has_hash_seed = inherited.iter().any(|(name, _)| name == HASH_SEED)
        || own.iter().any(|(name, _)| name == HASH_SEED);
    inherited.retain(|(name, _)| is_inherited(name.as_bytes()));
    let mut environment = environment(&inherited, &own);
    if !has_hash_seed {
        environment.push(format!("{HASH_SEED}={}", hash_seed(plan.seed, step)).into_bytes());
    }
    if let Some(n_bytes) = step.padding_bytes {
        let padding = "x".repeat(n_bytes as usize);
        environment.push(format!("{PADDING_VARIABLE}={padding}").into_bytes());
    }
    let mut argv = argv(arm, step.block);
    if arm.source.is_some() {
        argv.extend([b"-c".to_vec(), PYTHON_WORKER.to_vec()]);
    }
    let directory = directory(arm, step.block);
    WorkerLaunch {
        argv,
        environment,
        attributes: Attributes { directory, ..attributes(&plan.process) },
    }
}

fn argv(arm: &Arm, block: Option<u32>) -> Vec<Bytes> {
    // A fork has no program.
    let program = arm.argv.iter().take(1);
    let program = program.map(|program| programs::seen_from(arm.directory(block), program));
    let arguments = arm.argv.iter().skip(1).map(|word| word.clone().into_bytes());
    program.chain(arguments).collect()
}

fn directory(arm: &Arm, block: Option<u32>) -> Option<CString> {
    arm.directory(block).map(|directory| c_string(directory.as_bytes()))
}

pub(super) fn launch_to_list(program: &Arm, run_as: Option<&User>) -> WorkerLaunch {
    WorkerLaunch {
        argv: argv(program, None),
        environment: environment(&environment_for(run_as), &program.environment),
        attributes: Attributes { directory: directory(program, None), ..Attributes::default() },
    }
}

/// The worker's code, which is sent to every interpreter: nothing has to be installed.
pub const PYTHON_WORKER: &[u8] = include_bytes!("../../python/stillwell/worker.py");

/// The seed of string hashes, which is new in each block and the same for all arms of a block. Its range is 1 to 2^32 -
/// 1: 0 would switch the randomisation off (Python, "PYTHONHASHSEED").
fn hash_seed(seed: u64, step: &Step) -> u64 {
    let round = step.block.map_or(u64::from(step.round), |block| u64::from(block) + (1 << 32));
    1 + Stream::new(seed ^ HASH_STREAM).after(round).below((1 << 32) - 1)
}

fn attributes(process: &ProcessPlan) -> Attributes {
    Attributes {
        affinity: process.affinity.as_deref().map(CpuMask::new),
        memory: process.memory.as_ref().map(node_policy),
        nice: process.nice,
        policy: process.sched.map(policy),
        no_aslr: process.no_aslr,
        ..Attributes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::plan::Role;

    /// If a name is there twice, some programs see the first value and some the last.
    #[test]
    fn a_program_is_asked_with_each_variable_once() {
        let environment = ["/first", "/x"].map(|value| ("PATH".to_owned(), value.to_owned()));
        let environment = environment.to_vec();
        let arm = Arm { environment, argv: vec!["p".into()], ..Arm::bare("p", Role::Candidate) };
        let launch = launch_to_list(&arm, None);
        let paths = launch.environment.iter().filter(|entry| entry.starts_with(b"PATH="));
        assert_eq!(paths.collect::<Vec<_>>(), [b"PATH=/x"]);
        assert!(launch.environment.len() > 1);
    }
}
