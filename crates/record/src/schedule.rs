//! Makes the steps of a plan. Everything random is drawn here from the seed, before the first measurement.

use std::ops::Range;

use stats::Stream;

use crate::plan::{BlockRule, Plan};
use model::values::{Order, Padding};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Position in the order of execution, from 0.
    pub step: u32,
    pub arm: u32,
    /// Block, from 0; `None` for a warm-up run.
    pub block: Option<u32>,
    /// Number of this run among the arm's runs of its kind, from 0.
    pub round: u32,
    /// Bytes of padding in the environment; `None`: no variable.
    pub padding_bytes: Option<u32>,
}

/// Upper limit of a random padding, exclusive.
const PADDING_BYTES_END: u64 = 4096;
/// Separates the stream of paddings from the stream of orders.
const PADDING_STREAM: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes the steps, block by block.
#[derive(Debug)]
pub struct Schedule {
    n_arms: usize,
    order: Order,
    padding: Padding,
    orders: Stream,
    paddings: Stream,
    next_step: u32,
    next_block: u32,
    next_warmup: u32,
    /// Paddings of the blocks, for arms that run one after the other.
    block_paddings: Vec<Option<u32>>,
}

impl Schedule {
    pub fn new(plan: &Plan) -> Self {
        Self {
            n_arms: plan.arms.len(),
            order: plan.order,
            padding: plan.process.env_padding,
            orders: Stream::new(plan.seed),
            paddings: Stream::new(plan.seed ^ PADDING_STREAM),
            next_step: 0,
            next_block: 0,
            next_warmup: 0,
            block_paddings: Vec::new(),
        }
    }

    /// The schedule of a session that continues after these steps and blocks. Each step reserves `WORDS` words of the
    /// stream, so the random choices differ from all earlier ones.
    pub fn going_on(plan: &Plan, next_step: u32, next_block: u32) -> Self {
        const WORDS: u64 = 1 << 24;
        let n_words = u64::from(next_step) * WORDS;
        let start = Self::new(plan);
        Self {
            orders: start.orders.after(n_words),
            paddings: start.paddings.after(n_words),
            next_step,
            next_block,
            ..start
        }
    }

    /// A warm-up block: each arm once, in the order of a block.
    pub fn warmup(&mut self) -> Vec<Step> {
        let padding_bytes = self.draw_padding();
        let round = self.next_warmup;
        self.next_warmup += 1;
        self.arms().into_iter().map(|arm| self.step(arm, None, round, padding_bytes)).collect()
    }

    /// The next block: each arm once, in random order or as listed, all with the same padding.
    pub fn block(&mut self) -> Vec<Step> {
        let padding_bytes = self.draw_padding();
        let (block, arms) = (self.next_block, self.arms());
        self.next_block += 1;
        let step = |arm| self.step(arm, Some(block), block, padding_bytes);
        arms.into_iter().map(step).collect()
    }

    /// A warm-up run of one arm.
    pub fn warmup_of(&mut self, arm: u32, round: u32) -> Step {
        let padding_bytes = self.draw_padding();
        self.step(arm, None, round, padding_bytes)
    }

    /// The runs of one arm in these blocks. As always, a block has one padding for all arms.
    pub fn runs_of(&mut self, arm: u32, blocks: Range<u32>) -> Vec<Step> {
        while self.block_paddings.len() < blocks.end as usize {
            let padding_bytes = self.draw_padding();
            self.block_paddings.push(padding_bytes);
        }
        let step = |block: u32| {
            let padding_bytes = self.block_paddings[block as usize];
            self.step(arm, Some(block), block, padding_bytes)
        };
        blocks.map(step).collect()
    }

    fn step(
        &mut self,
        arm: u32,
        block: Option<u32>,
        round: u32,
        padding_bytes: Option<u32>,
    ) -> Step {
        let step = self.next_step;
        self.next_step += 1;
        Step { step, arm, block, round, padding_bytes }
    }

    fn arms(&mut self) -> Vec<u32> {
        let order = match self.order {
            Order::Listed => (0..self.n_arms).collect(),
            Order::Interleave | Order::Sequential => self.orders.permutation(self.n_arms),
        };
        let number = |arm: usize| u32::try_from(arm).expect("arms are counted in u32");
        order.into_iter().map(number).collect()
    }

    fn draw_padding(&mut self) -> Option<u32> {
        match self.padding {
            Padding::Off => None,
            Padding::Bytes(n_bytes) => Some(n_bytes),
            Padding::Random => {
                Some(u32::try_from(self.paddings.below(PADDING_BYTES_END)).expect("below 4096"))
            }
        }
    }
}

/// The number of blocks that fit: `floor(budget / block)`, within the rule's largest and firm numbers.
pub fn n_blocks(plan: &Plan, block_ns: u64) -> u32 {
    match plan.blocks {
        BlockRule::Exactly(n_blocks) => n_blocks,
        BlockRule::Budget { budget_ns, max, .. } => {
            let fitting = budget_ns / block_ns.max(1);
            u32::try_from(fitting).unwrap_or(u32::MAX).min(max).max(plan.blocks.firm())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::decide_run;
    use host::Facts;
    use model::spec::RunSpec;

    fn plan(n_arms: usize, seed: u64) -> Plan {
        let spec = RunSpec { commands: vec!["true".into(); n_arms], ..RunSpec::default() };
        decide_run(&spec, &Facts::default(), seed).unwrap()
    }

    #[test]
    fn every_block_runs_every_arm_once_with_one_padding() {
        let plan = plan(5, 7);
        let mut schedule = Schedule::new(&plan);
        let mut seen_orders = std::collections::HashSet::new();
        for block in 0..50 {
            let steps = schedule.block();
            let mut arms: Vec<_> = steps.iter().map(|step| step.arm).collect();
            seen_orders.insert(arms.clone());
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 2, 3, 4]);
            assert!(steps.iter().all(|step| step.padding_bytes == steps[0].padding_bytes));
            assert!(steps.iter().all(|step| step.block == Some(block)));
        }
        assert!(seen_orders.len() > 25, "{} orders in 50 blocks", seen_orders.len());
    }

    #[test]
    fn a_listed_order_is_that_of_the_arms() {
        let plan = Plan { order: Order::Listed, ..plan(3, 7) };
        let mut schedule = Schedule::new(&plan);
        let arms = |steps: Vec<Step>| steps.iter().map(|step| step.arm).collect::<Vec<_>>();
        for _ in 0..5 {
            assert_eq!(arms(schedule.warmup()), [0, 1, 2]);
            assert_eq!(arms(schedule.block()), [0, 1, 2]);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_steps_and_another_does_not() {
        let steps = |seed| {
            let plan = plan(3, seed);
            let mut schedule = Schedule::new(&plan);
            (0..20).flat_map(|_| schedule.block()).collect::<Vec<_>>()
        };
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn steps_are_numbered_without_gaps() {
        let plan = plan(2, 1);
        let mut schedule = Schedule::new(&plan);
        let mut steps = schedule.warmup();
        steps.extend(schedule.block());
        steps.push(schedule.warmup_of(1, 0));
        steps.extend(schedule.runs_of(1, 0..3));
        let numbers: Vec<_> = steps.iter().map(|step| step.step).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert!(steps[..2].iter().all(|step| step.block.is_none()));
    }

    #[test]
    fn a_block_has_one_padding_for_arms_that_run_one_after_the_other() {
        let plan = plan(2, 1);
        let mut schedule = Schedule::new(&plan);
        let [first, second] = [(0, 3), (1, 5)].map(|(arm, n)| schedule.runs_of(arm, 0..n));
        let paddings = |steps: &[Step]| steps.iter().map(|it| it.padding_bytes).collect::<Vec<_>>();
        assert_eq!(paddings(&first), paddings(&second[..3]));
        assert!(second.iter().all(|step| step.arm == 1) && second.len() == 5);
        assert_eq!(second[4].block, Some(4));
    }

    #[test]
    fn the_budget_gives_the_number_of_blocks() {
        let mut plan = plan(2, 1);
        plan.blocks = BlockRule::Budget { budget_ns: 1000, min: 10, max: 500, firm: 1 };
        assert_eq!(n_blocks(&plan, 20), 50);
        assert_eq!(n_blocks(&plan, 400), 2, "the budget is kept");
        assert_eq!(n_blocks(&plan, 9999), 1);
        assert_eq!(n_blocks(&plan, 0), 500);
        plan.blocks = BlockRule::Budget { budget_ns: 1000, min: 10, max: 500, firm: 10 };
        assert_eq!(n_blocks(&plan, 999), 10, "the user's own number");
        plan.blocks = BlockRule::Exactly(7);
        assert_eq!(n_blocks(&plan, 20), 7);
    }
}
