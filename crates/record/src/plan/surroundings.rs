//! The surroundings of a plan: the machine as the runs find it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};

use crate::plan::counting::InstructionCounters;
use crate::plan::placement::{place_memory, place_threads};
use crate::plan::{Plan, ProcessPlan};
use host::{Facts, MemoryNode, cores_first};
use model::prose::prose;
use model::spec::RunSpec;
use model::spec::groups::{PlacementOptions, PriorityOptions};
use model::values::{CounterChoice, Priority, read_cpu_list};

/// The highest priority of the usual scheduling policy. Under `load 10` it reduced a compiler's t0 from 1.14 to 1.01
/// times the idle one. SCHED_FIFO was no better, and can stop a machine (experiments/results/busy.md).
pub const HIGHEST_PRIORITY: i32 = -20;

/// The machine of a session, and a drawn seed. The default is for a plan that executes nothing.
#[derive(Debug, Default)]
pub struct Surroundings {
    pub facts: Facts,
    /// The seed, unless the options have one.
    pub drawn_seed: u64,
    /// Whether the runs may have a higher priority than other programs.
    pub may_raise: bool,
    /// The CPUs that the runs are bound to, whatever the options say; empty without a shield.
    pub bound_cpus: Vec<usize>,
    /// Whether other programs are kept off these CPUs.
    pub is_shielded: bool,
    /// The machine's places for runs; `None` if nothing is executed.
    pub places: Option<MachinePlaces>,
    /// The counters of instructions; `None` if they are not needed.
    pub counters: Option<InstructionCounters>,
}

/// Places for threads, memory and copies.
#[derive(Debug, Default)]
pub struct MachinePlaces {
    pub nodes: Vec<MemoryNode>,
    /// The core of each CPU, for copies.
    pub cores: BTreeMap<usize, String>,
    /// Names of the variables that the runs inherit.
    pub variables: HashSet<String>,
}

impl Surroundings {
    /// A machine with only the facts known.
    pub fn of(facts: &Facts, drawn_seed: u64) -> Self {
        Self { facts: facts.clone(), drawn_seed, ..Self::default() }
    }

    /// Gives the runs their priority and their CPUs.
    pub(super) fn bind(&self, process: &mut ProcessPlan, options: &PriorityOptions) {
        let is_chosen = options.nice.is_some() || options.sched.is_some();
        if self.may_raise && !is_chosen && options.priority.unwrap_or_default() == Priority::Auto {
            process.nice = Some(HIGHEST_PRIORITY);
            process.is_raised = true;
        }
        if !self.bound_cpus.is_empty() {
            process.affinity = Some(self.bound_cpus.clone());
            process.launcher_cpus = Some(self.bound_cpus.clone());
        }
    }

    /// Chooses a counter if instructions decide, and the places of threads, memory and copies. Errors: nothing counts
    /// instructions here, or a memory node does not exist.
    pub(super) fn place(&self, plan: &mut Plan, spec: &RunSpec) -> Result<()> {
        self.count([&mut *plan], spec.judgement.counter)?;
        self.place_process(&mut plan.process, &spec.process.placement)?;
        self.place_copies(plan);
        Ok(())
    }

    /// Chooses one counter for these plans, if instructions decide in any.
    pub(super) fn count<'a>(
        &self,
        plans: impl IntoIterator<Item = &'a mut Plan>,
        choice: Option<CounterChoice>,
    ) -> Result<()> {
        let Some(counters) = &self.counters else { return Ok(()) };
        let counted = plans.into_iter().filter(|plan| plan.needs_counter());
        let mut counted: Vec<&mut Plan> = counted.collect();
        if counted.is_empty() {
            return Ok(());
        }
        let choice = choice.unwrap_or_default();
        let is_stepped = counted.iter().any(|plan| plan.needs_stepped_clock());
        let by_clock =
            "a framework that chooses its iterations by the clock is counted by valgrind";
        ensure!(!(is_stepped && choice == CounterChoice::Pmu), prose![Counter " pmu: {by_clock}"]);
        let counter = if is_stepped {
            let pmu = Err(by_clock.to_owned());
            InstructionCounters { pmu, ..counters.clone() }.choose(choice)?
        } else {
            counters.choose(choice)?
        };
        counted.iter_mut().for_each(|plan| plan.count_by(counter.clone()));
        Ok(())
    }

    /// Chooses the place of threads and memory.
    pub(super) fn place_process(
        &self,
        process: &mut ProcessPlan,
        options: &PlacementOptions,
    ) -> Result<()> {
        let Some(places) = &self.places else { return Ok(()) };
        let is_set = |name: &str| places.variables.contains(name);
        place_threads(process, options, self.is_shielded, is_set);
        let allowed = self.facts.cpus_allowed.as_deref();
        place_memory(&places.nodes, process, options, self.is_shielded, allowed)
    }

    /// Gives each copy its own CPUs, if there are enough.
    fn place_copies(&self, plan: &mut Plan) {
        let (Some(copies), Some(places)) = (&mut plan.copies, &self.places) else { return };
        let allowed = || self.facts.cpus_allowed.as_deref().and_then(read_cpu_list);
        let cpus = plan.process.affinity.clone().or_else(allowed).unwrap_or_default();
        let cpu_max = self.facts.cgroup.as_ref().and_then(|group| group.cpu_max.as_deref());
        copies.give_cpus(&cores_first(&places.cores, cpus), cpu_max);
    }
}
