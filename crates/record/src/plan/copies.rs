//! Copies of a command that run at the same time: how many, on which CPUs, and by which clock they are compared.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::arms::Arms;
use crate::plan::deciding::Deciding;
use model::prose::prose;
use model::spec::RunSpec;
use model::values::{Clock, DecideOn};

/// The copies that are one run, from the first start to the last end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Copies {
    /// Their number, at least 2.
    pub n: u32,
    /// CPUs that they may use together; 0 if that is not known.
    pub n_cpus: usize,
    /// CPUs of each copy. Empty if there are fewer than copies: then all of them share all.
    pub cpus: Vec<Vec<usize>>,
}

impl Copies {
    /// The CPUs of each copy; none where all share all.
    pub fn cpus_of_each(&self) -> Vec<Vec<usize>> {
        let of_copy = |copy| self.cpus.get(copy).cloned().unwrap_or_default();
        (0..self.n as usize).map(of_copy).collect()
    }

    /// Gives each copy CPUs of its own, as far as there are so many. `cpus` are those that the runs may use, one thread of
    /// each core before the others. `cpu_max`: the limit of their control group.
    pub(super) fn give_cpus(&mut self, cpus: &[usize], cpu_max: Option<&str>) {
        let n = self.n as usize;
        let quota = cpu_max.and_then(quota_of);
        self.n_cpus = quota.map_or(cpus.len(), |quota| quota.min(cpus.len()));
        if n <= cpus.len() {
            // The copy with the n-th core gets the n-th sibling thread too.
            let of_copy = |copy: usize| cpus.iter().skip(copy).step_by(n).copied().collect();
            self.cpus = (0..n).map(of_copy).collect();
        }
    }
}

/// The quantity that decides, and the copies of each command.
pub(super) fn deciding(arms: &mut Arms, spec: &RunSpec) -> Result<(Deciding, Option<Copies>)> {
    let mut deciding = Deciding::of(arms, &spec.judgement)?;
    // Where they run is decided later.
    let several = spec.copies.filter(|&n| n > 1);
    let copies = several.map(|n| Copies { n, n_cpus: 0, cpus: Vec::new() });
    if copies.is_some() {
        deciding.rule.clock = clock(spec.judgement.decide_on, deciding.rule.clock)?;
    }
    Ok((deciding, copies))
}

/// The clock of several copies. The kernel's records of one process tree, which clean time and the counts of the
/// processor are made of, do not say which copy held up the last one. Errors: the user asks for a quantity that is
/// known of a single copy alone.
fn clock(decide_on: Option<DecideOn>, clock: Clock) -> Result<Clock> {
    use DecideOn::{Clean, Cycles, Instructions, TreeMemory, Value};
    let refused = [Clean, Cycles, Instructions, TreeMemory, Value];
    if let Some(chosen) = decide_on {
        ensure!(
            !refused.contains(&chosen),
            prose![
                DecideOn " " (chosen.name()) ": that is known of a single copy alone, not of several at a time"
            ]
        );
    }
    Ok(if decide_on.is_none() { Clock::Wall } else { clock })
}

/// The CPUs of a limit such as `150000 100000`: at least one.
fn quota_of(cpu_max: &str) -> Option<usize> {
    let (quota, period) = cpu_max.split_once(' ')?;
    let (quota, period): (usize, usize) = (quota.parse().ok()?, period.parse().ok()?);
    Some(quota.checked_div(period)?.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, decide_run};
    use host::Facts;

    fn plan(n: u32, decide_on: Option<DecideOn>) -> Result<Plan> {
        let mut spec =
            RunSpec { commands: vec!["true".into()], copies: Some(n), ..RunSpec::default() };
        spec.judgement.decide_on = decide_on;
        decide_run(&spec, &Facts::default(), 1)
    }

    #[test]
    fn copies_have_cpus_of_their_own_if_there_are_enough() {
        let cpus = |n: u32, cpus: &[usize]| {
            let mut copies = plan(n, None).unwrap().copies.unwrap();
            copies.give_cpus(cpus, None);
            copies.cpus
        };
        assert_eq!(cpus(2, &[0, 1, 2, 3]), [[0, 2], [1, 3]]);
        assert_eq!(cpus(3, &[4, 5, 6, 7]), [vec![4, 7], vec![5], vec![6]]);
        assert!(cpus(3, &[0, 1]).is_empty());
        assert_eq!(plan(1, None).unwrap().copies, None);
        let mut limited = plan(2, None).unwrap().copies.unwrap();
        limited.give_cpus(&[0, 1], Some("150000 100000"));
        assert_eq!(limited.n_cpus, 1);
    }

    #[test]
    fn several_copies_are_compared_by_wall_time() {
        let several = plan(2, None).unwrap();
        assert_eq!((several.policy.clock, several.evidence), (Clock::Wall, false));
        assert_eq!(plan(2, Some(DecideOn::Cpu)).unwrap().policy.clock, Clock::Cpu);
        let error = plan(2, Some(DecideOn::Cycles)).unwrap_err().to_string();
        assert!(error.starts_with("--decide-on cycles: that is known of a single copy"), "{error}");
        assert!(plan(2, Some(DecideOn::Clean)).is_err() && plan(1, Some(DecideOn::Clean)).is_ok());
    }
}
