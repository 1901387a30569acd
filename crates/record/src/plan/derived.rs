//! Plans of existing data: a part of a session, the benchmarks of a suite as one session, results of another program.

use anyhow::Result;

use crate::plan::arms::Arms;
use crate::plan::decide::decide;
use crate::plan::surroundings::Surroundings;
use crate::plan::terms::Terms;
use crate::plan::{Arm, Control, Plan, Role, ShellReason};
use model::spec::RunSpec;
use model::spec::groups::LayoutOptions;
use model::spec::run::{DisplayOptions, LengthOptions, ProcessOptions};
use model::values::{Better, DecideOn, Order, Padding};

impl Plan {
    /// The plan of some arms, in this order. A control outside of them is not subtracted.
    pub fn select_arms(mut self, arms: &[usize]) -> Self {
        let new_of = |old: usize| arms.iter().position(|&arm| arm == old);
        self.arms = arms.iter().map(|&arm| self.arms[arm].clone()).collect();
        self.reference = new_of(self.reference).unwrap_or(0);
        let control = |control: Control| Some(Control { arm: new_of(control.arm)?, ..control });
        self.control = self.control.and_then(control);
        self
    }

    /// One plan for the benchmarks of a suite; `None` without a benchmark. If different quantities decide, the plan
    /// calls them values, which are better or worse.
    pub fn joined(plans: &[&Self], seed: u64) -> Option<Self> {
        let first = *plans.first()?;
        let named = |plan: &&Self| {
            let benchmark = plan.suite.as_ref().map(|suite| suite.benchmark.clone());
            let arm = move |arm: &Arm| Arm { benchmark: benchmark.clone(), ..arm.clone() };
            plan.arms.iter().map(arm).collect::<Vec<_>>()
        };
        let mut policy = first.policy;
        if plans.iter().any(|plan| plan.policy.compared() != first.policy.compared()) {
            (policy.decide_on, policy.better) = (Some(DecideOn::Value), Better::Lower);
        }
        Some(Self {
            arms: plans.iter().flat_map(named).collect(),
            control: None,
            seed,
            setup: None,
            cleanup: None,
            shell: None,
            policy,
            ..first.clone()
        })
    }

    /// The plan with or without slices.
    pub fn in_slices(mut self, in_slices: bool) -> Self {
        self.workers = self.workers.filter(|_| in_slices);
        self.in_slices = in_slices;
        self
    }
}

/// Results of another program.
#[derive(Debug)]
pub struct ImportedArms {
    /// The arms, with at most one empty shell, which is subtracted.
    pub arms: Vec<Arm>,
    pub n_warmups: u32,
    pub n_blocks: u32,
    /// Whether a run has several values.
    pub in_slices: bool,
    /// Index of the reference.
    pub reference: usize,
}

/// The plan of another program's results.
pub fn plan_of_imported(results: ImportedArms) -> Result<Plan> {
    let ImportedArms { arms, n_warmups, n_blocks, in_slices, reference } = results;
    let layout = LayoutOptions { env_padding: Some(Padding::Off), ..LayoutOptions::default() };
    let metrics = Some("wall".parse().map_err(anyhow::Error::msg)?);
    let spec = RunSpec {
        length: LengthOptions {
            warmup: Some(n_warmups),
            runs: Some(n_blocks.max(1)),
            order: Some(Order::Sequential),
            ..LengthOptions::default()
        },
        process: ProcessOptions { layout, ..ProcessOptions::default() },
        display: DisplayOptions { metrics, ..DisplayOptions::default() },
        ..RunSpec::default()
    };
    let role = Role::EmptyShell;
    let control = arms.iter().position(|arm| arm.role == role).map(|arm| Control { arm, role });
    let arms = Arms { arms, control, shell: None, shell_reason: ShellReason::UserChoice };
    let terms = Terms { reference, ..Terms::default() };
    let plan = decide(&spec, arms, &terms, &Surroundings::default())?;
    Ok(Plan { in_slices, ..plan })
}
