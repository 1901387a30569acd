//! What counts the instructions of the runs.
//!
//! valgrind executes each instruction itself, so its counts mostly repeat exactly. Its runs take 10 to 40 times as
//! long, so their rows have no times.

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{BlockRule, Plan};
use model::harness::{Harness, chooses_by_clock};
use model::prose::prose;
use model::values::{CounterChoice, DecideOn, MetricChoice, Padding};

/// Number of runs of each arm that must agree before a count is taken to repeat exactly.
pub const AGREEING_RUNS: u32 = 3;

/// The counter of the runs' instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum InstructionCounter {
    /// The counters of the processor.
    Pmu,
    /// valgrind.
    Valgrind {
        /// The program.
        path: String,
        /// The version that valgrind prints: `valgrind-3.19.0`.
        version: String,
    },
}

impl InstructionCounter {
    pub fn choice(&self) -> CounterChoice {
        match self {
            Self::Pmu => CounterChoice::Pmu,
            Self::Valgrind { .. } => CounterChoice::Valgrind,
        }
    }

    pub fn name(&self) -> &'static str {
        self.choice().name()
    }
}

/// The ways to count instructions on this machine.
#[derive(Clone, Debug)]
pub struct InstructionCounters {
    /// Why the processor counts none for this user, if so.
    pub pmu: Result<(), String>,
    /// This machine's valgrind.
    pub valgrind: Option<InstructionCounter>,
}

impl InstructionCounters {
    /// Chooses what counts. Errors: valgrind is asked for and missing, or nothing counts.
    pub fn choose(&self, choice: CounterChoice) -> Result<InstructionCounter> {
        let install = "install it, for example with `apt install valgrind`";
        match (choice, &self.pmu, &self.valgrind) {
            (CounterChoice::Pmu, ..) | (CounterChoice::Auto, Ok(()), _) => {
                Ok(InstructionCounter::Pmu)
            }
            (CounterChoice::Valgrind | CounterChoice::Auto, _, Some(valgrind)) => {
                Ok(valgrind.clone())
            }
            (CounterChoice::Valgrind, _, None) => {
                bail!(prose![Counter " valgrind: there is no valgrind in PATH; {install}"])
            }
            (CounterChoice::Auto, Err(why), None) => bail!(prose![
                DecideOn " instructions: the processor counts none here ({why}); valgrind would, and is not in PATH; {install}"
            ]),
        }
    }
}

impl Plan {
    /// Whether instructions decide, so something has to count them.
    pub fn needs_counter(&self) -> bool {
        self.policy.decide_on == Some(DecideOn::Instructions)
    }

    /// Whether the clock of runs has to go on in steps, which only valgrind's programs ask the kernel for.
    pub(super) fn needs_stepped_clock(&self) -> bool {
        self.counted_harnesses().any(chooses_by_clock)
    }

    fn counted_harnesses(&self) -> impl Iterator<Item = Harness> {
        self.arms.iter().filter_map(|arm| arm.counted.as_ref()?.harness)
    }

    pub fn valgrind(&self) -> Option<&str> {
        match &self.counter {
            Some(InstructionCounter::Valgrind { path, .. }) => Some(path),
            Some(InstructionCounter::Pmu) | None => None,
        }
    }

    /// Whether valgrind executes a run of this block. It does not execute a warm-up, which shows that the program works
    /// and writes what the program keeps for later runs.
    pub fn is_under_valgrind(&self, block: Option<u32>) -> bool {
        block.is_some() && self.valgrind().is_some()
    }

    /// Sets what counts. Under valgrind, everything that a count depends on is the same in all runs.
    pub(super) fn count_by(&mut self, counter: InstructionCounter) {
        self.counter = Some(counter);
        if self.valgrind().is_none() {
            return;
        }
        self.process.no_aslr = true;
        self.process.env_padding = Padding::Off;
        // An event of the processor would count valgrind.
        self.evidence = false;
        self.precision = None;
        let name = DecideOn::Instructions.name();
        self.metrics = vec![MetricChoice { name, unit: None }];
        // A gate keeps to its time.
        let is_of_gate = self.suite.as_ref().is_some_and(|suite| suite.is_gate);
        if let BlockRule::Budget { max, firm, .. } = &mut self.blocks
            && !is_of_gate
        {
            *firm = (*firm).max(AGREEING_RUNS).min((*max).max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::decide_run;
    use crate::plan::suite::SuiteMembership;
    use host::Facts;
    use model::spec::RunSpec;
    use model::spec::run::LengthOptions;

    fn valgrind() -> InstructionCounter {
        InstructionCounter::Valgrind { path: "/v".into(), version: "valgrind-3.19.0".into() }
    }

    #[test]
    fn the_processor_counts_where_it_can() {
        let no_pmu = || Err("no counter".to_owned());
        let chosen = |choice, pmu: Result<(), String>, valgrind| {
            InstructionCounters { pmu, valgrind }.choose(choice)
        };
        let auto = |pmu, valgrind| chosen(CounterChoice::Auto, pmu, valgrind);
        assert_eq!(auto(Ok(()), Some(valgrind())).unwrap(), InstructionCounter::Pmu);
        assert_eq!(auto(no_pmu(), Some(valgrind())).unwrap(), valgrind());
        let error = auto(no_pmu(), None).unwrap_err().to_string();
        assert!(error.contains("(no counter)") && error.contains("apt install"), "{error}");
        let error = chosen(CounterChoice::Valgrind, Ok(()), None).unwrap_err().to_string();
        assert!(error.starts_with("--counter valgrind: there is no valgrind"), "{error}");
        let pmu = chosen(CounterChoice::Pmu, no_pmu(), Some(valgrind())).unwrap();
        assert_eq!(pmu, InstructionCounter::Pmu);
    }

    #[test]
    fn under_valgrind_all_runs_have_the_same_surroundings() {
        let commands = ["a", "b"].map(String::from).to_vec();
        let mut spec = RunSpec { commands, ..RunSpec::default() };
        spec.judgement.decide_on = Some(DecideOn::Instructions);
        let mut plan = decide_run(&spec, &Facts::default(), 1).unwrap();
        assert!(plan.needs_counter() && plan.evidence);
        plan.count_by(InstructionCounter::Pmu);
        assert!(plan.evidence && !plan.process.no_aslr && plan.valgrind().is_none());
        plan.count_by(valgrind());
        assert!(!plan.evidence && plan.process.no_aslr);
        assert_eq!(plan.process.env_padding, Padding::Off);
        assert_eq!(plan.blocks.firm(), AGREEING_RUNS);
        assert!(plan.is_under_valgrind(Some(0)) && !plan.is_under_valgrind(None));
        spec.length.max_runs = Some(2);
        let mut few = decide_run(&spec, &Facts::default(), 1).unwrap();
        few.count_by(valgrind());
        assert_eq!(few.blocks.firm(), 2, "the user's number goes before it");
        let mut of_gate =
            decide_run(&RunSpec { length: LengthOptions::default(), ..spec }, &Facts::default(), 1)
                .unwrap();
        let (name, benchmark) = (String::new(), String::new());
        let gate =
            SuiteMembership { name, benchmark, family: 1, is_gate: true, has_suspects: true };
        of_gate.suite = Some(gate);
        of_gate.count_by(valgrind());
        assert_eq!(of_gate.blocks.firm(), 1, "a gate keeps to its time");
    }
}
