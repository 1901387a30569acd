//! Runs workers in slices. In each block the arms of each benchmark get a fresh process each. They live together on the
//! same CPU and take turns in slices of about a millisecond, in random order. So disturbances slower than a few
//! milliseconds affect all arms alike (docs/methodology.md, "Slices").

mod generation;
mod linearity;
mod pace;
mod team;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use stats::Stream;

use crate::core_prober::{CoreProber, ProbeSchedule};
use crate::interrupt::Interrupt;
use crate::page_placement::PagePlacement;
use crate::programs;
use crate::worker::{self, ForkServer, RequestLimits, Worker, WorkerLaunch};
use crate::{Hook, MeasurementFailure, Outcome, RowPlace, Runner};
use host::sys::{self, Launcher, User};
use host::user_files::open_to_write;
use model::values::TimeSpan;
use model::values::metric::Metric;
use model::words::reason;
use record::plan::programs::ProgramBenchmark;
use record::plan::workers::Workers;
use record::plan::{Arm, Plan, ProcessPlan};
use record::schedule::Step;
use record::{Event, Layout, Row};

use pace::Pace;
pub use team::PYTHON_WORKER;
use team::WorkerTeam;

/// Separates the stream of slice orders from the schedule's streams.
const SLICE_STREAM: u64 = 0x2545_f491_4f6c_dd1d;

/// Runs steps by workers. Each step is one process with many slices.
#[derive(Debug)]
pub struct SliceRunner<'a> {
    plan: &'a Plan,
    workers: &'a Workers,
    maker: WorkerFactory,
    request_limits: RequestLimits,
    record: Option<RecordOutput>,
    orders: Stream,
    paces: Paces,
    /// `None` if the workers have no CPU of their own, or it cannot be probed.
    prober: Option<CoreProber>,
}

#[derive(Debug, Default)]
pub struct Paces(HashMap<Option<String>, Pace>);

impl Paces {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Metrics of a slice that every machine has.
const SLICE_METRICS: [Metric; 10] = [
    Metric::WallNs,
    Metric::CpuNs,
    Metric::Loops,
    Metric::RunQueueWaitNs,
    Metric::VoluntarySwitches,
    Metric::InvoluntarySwitches,
    Metric::MaxrssKib,
    Metric::EmptyLoopPs,
    Metric::StalledNs,
    Metric::UnclearNs,
];

pub fn slice_metrics() -> Vec<Metric> {
    [&SLICE_METRICS[..], ProbeSchedule::new(true).metrics()].concat()
}

#[derive(Debug)]
pub enum WorkerFactory {
    /// Programs, run as this user, or as this process's.
    Programs { launcher: Launcher, run_as: Option<User>, placement: PagePlacement },
    /// Forks of a running program.
    Forks(Rc<ForkServer>),
}

impl WorkerFactory {
    /// Workers from a running program's socket, or from separate programs. Errors: the descriptor is not a socket.
    pub fn new(fork_server: Option<i32>, run_as: Option<User>) -> Result<Self> {
        match fork_server {
            None => {
                let (launcher, placement) = Default::default();
                Ok(Self::Programs { launcher, run_as, placement })
            }
            Some(number) => {
                let socket = sys::inherited_descriptor(number)
                    .with_context(|| format!("--fork-server: cannot use descriptor {number}"))?;
                Ok(Self::Forks(ForkServer::new(socket)))
            }
        }
    }

    /// The user of the workers, if not this process's. A fork has the rights of its program.
    fn run_as(&self) -> Option<&User> {
        match self {
            Self::Programs { run_as, .. } => run_as.as_ref(),
            Self::Forks(_) => None,
        }
    }

    /// Makes the worker of an arm, for a block or for questions.
    fn make(
        &mut self,
        mut launch: WorkerLaunch,
        arm: usize,
        block: Option<u32>,
        request_limits: &RequestLimits,
    ) -> Result<Worker, worker::WorkerFailure> {
        match self {
            Self::Programs { launcher, run_as, placement } => {
                launch.attributes.run_as.clone_from(run_as);
                let path = programs::find(&launch.argv[0], &launch.environment, run_as.as_ref());
                // A program that is not found is the next line's error.
                if let Ok(path) = path {
                    placement.before(arm as u32, block, &path, run_as.as_ref());
                }
                Worker::start(launcher, &launch, request_limits)
            }
            Self::Forks(server) => server.fork(&arm.to_string(), request_limits),
        }
    }
}

#[derive(Debug)]
struct RecordOutput {
    file: File,
    layout: Layout,
    clock_origin_ns: u64,
    next_step: u32,
}

/// Why a block is not complete.
#[derive(Debug)]
enum SliceError {
    /// A worker, by its arm.
    Worker(usize, worker::WorkerFailure),
    /// The record could not be written, with the missing row.
    Record(std::io::Error, Vec<u8>),
}

impl<'a> SliceRunner<'a> {
    /// Makes a runner without starting a process. `paces`: those that an earlier runner of the same plan found. Errors: ^C
    /// cannot be caught.
    pub fn new(
        plan: &'a Plan,
        workers: &'a Workers,
        maker: WorkerFactory,
        paces: Paces,
    ) -> Result<Self> {
        let interrupt = Interrupt::catch().context("cannot catch ^C")?;
        Ok(Self {
            plan,
            workers,
            maker,
            request_limits: RequestLimits {
                timeout: plan.timeout_ns.map(Duration::from_nanos),
                interrupt: Some(Rc::new(interrupt)),
            },
            record: None,
            orders: Stream::new(plan.seed ^ SLICE_STREAM),
            paces,
            prober: prober(&plan.process),
        })
    }

    /// Measures one benchmark in one block.
    fn benchmark(&mut self, steps: &[Step]) -> Result<(), SliceError> {
        let benchmark = &self.plan.arms[steps[0].arm as usize].benchmark;
        if steps[0].block.is_none() {
            let pace = self.find_pace(steps)?;
            self.paces.0.insert(benchmark.clone(), pace);
            return Ok(());
        }
        let mut pace = match self.paces.0.remove(benchmark) {
            Some(pace) => pace,
            None => self.find_pace(steps)?,
        };
        let measured = self.generation(steps, &mut pace);
        self.paces.0.insert(benchmark.clone(), pace);
        measured
    }

    fn team(&mut self, steps: &[Step]) -> Result<WorkerTeam, SliceError> {
        WorkerTeam::start(self.plan, self.workers, &mut self.maker, &self.request_limits, steps)
    }

    fn append(&mut self, row: &mut Row) -> Result<(), SliceError> {
        let Some(keep) = &mut self.record else { return Ok(()) };
        row.step = keep.next_step;
        row.started_ns = row.started_ns.saturating_sub(keep.clock_origin_ns);
        keep.next_step += 1;
        let mut line = Vec::with_capacity(160);
        keep.layout.encode(row, &mut line);
        keep.file.write_all(&line).map_err(|error| SliceError::Record(error, line))
    }

    fn append_event(&mut self, event: &Event) -> Result<(), SliceError> {
        let Some(keep) = &mut self.record else { return Ok(()) };
        let mut line = serde_json::to_vec(event).expect("events serialise into memory");
        line.push(b'\n');
        keep.file.write_all(&line).map_err(|error| SliceError::Record(error, line))
    }
}

/// The prober, if the workers have only one CPU.
fn prober(process: &ProcessPlan) -> Option<CoreProber> {
    match process.affinity.as_deref() {
        Some(&[cpu]) => CoreProber::start(cpu, process.nice),
        _ => None,
    }
}

impl Runner for SliceRunner<'_> {
    fn keep(&mut self, rows: RowPlace) -> Result<()> {
        let RowPlace { record, columns, clock_origin_ns, next_step } = rows;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        let file = open_to_write(&record, OFlags::APPEND, 0);
        let file = file.with_context(|| format!("cannot append to {}", record.display()))?;
        self.record = Some(RecordOutput { file, layout, clock_origin_ns, next_step });
        Ok(())
    }

    fn paces(&mut self) -> Paces {
        std::mem::take(&mut self.paces)
    }

    fn run(&mut self, steps: &[Step]) -> Result<Outcome> {
        let mut left = steps.to_vec();
        while let Some(first) = left.first() {
            let (block, arms) = (first.block, &self.plan.arms);
            let benchmark = &arms[first.arm as usize].benchmark;
            let is_of_it = |step: &Step| {
                step.block == block && arms[step.arm as usize].benchmark == *benchmark
            };
            let (team, others): (Vec<_>, Vec<_>) = left.iter().partition(|step| is_of_it(step));
            if let Err(broken) = self.benchmark(&team) {
                return Ok(outcome(broken));
            }
            left = others;
        }
        Ok(Outcome::default())
    }

    fn hook(&mut self, _hook: Hook, _command: &str, _arm: usize) -> Result<Outcome> {
        unreachable!("a plan with workers has no hooks")
    }
}

/// Asks programs, or forks, for the names of their benchmarks. Errors: one is no benchmark program, or cannot be
/// started.
pub fn list_benchmarks(
    maker: &mut WorkerFactory,
    programs: &[Arm],
    timeout: Option<TimeSpan>,
    interrupt: Option<Rc<Interrupt>>,
) -> Result<Vec<Vec<ProgramBenchmark>>, (usize, worker::WorkerFailure)> {
    let timeout = timeout.map(|time| Duration::from_nanos(time.ns));
    let request_limits = RequestLimits { timeout, interrupt };
    let mut list = |(index, program): (usize, &Arm)| {
        let launch = team::launch_to_list(program, maker.run_as());
        let mut worker = maker.make(launch, index, None, &request_limits)?;
        worker.hello()?;
        let found = worker.list()?;
        // A program that ends with an error may not have listed all of its benchmarks.
        let end = worker.quit()?;
        if let Some(exit) = end.exit.filter(|&exit| exit != 0 && !end.killed) {
            return Err(worker::WorkerFailure {
                request: None,
                what: worker::FailureCause::Died { exit: Some(exit) },
                output_tail: end.output_tail,
            });
        }
        Ok(found)
    };
    let numbered = programs.iter().enumerate();
    numbered.map(|arm| list(arm).map_err(|failure| (arm.0, failure))).collect()
}

fn outcome(broken: SliceError) -> Outcome {
    match broken {
        SliceError::Worker(_, failure) if failure.what == worker::FailureCause::Interrupted => {
            Outcome { interrupted: true, failure: None }
        }
        SliceError::Worker(arm, failure) => {
            Outcome::failed(MeasurementFailure::Worker { arm, failure: Box::new(failure) })
        }
        SliceError::Record(error, line) => {
            let error = format!("cannot write the record: {}", reason(error));
            Outcome::failed(MeasurementFailure::Record { error, line })
        }
    }
}
