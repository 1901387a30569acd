//! Copies of a command that run at the same time: how many, on which CPUs, and by which clock they are compared.

#[cfg(test)]
mod tests;

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::arms::Arms;
use crate::plan::deciding::Deciding;
use crate::plan::request::SessionRequest;
use model::prose::prose;
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

/// What decides, and the copies of each command.
pub(super) fn deciding(
    arms: &mut Arms,
    request: &SessionRequest,
) -> Result<(Deciding, Option<Copies>)> {
    let mut deciding = Deciding::of(arms, &request.judgement)?;
    let copies = copies(request.copies);
    if copies.is_some() {
        deciding.clock = clock(request.judgement.decide_on, deciding.clock)?;
    }
    Ok((deciding, copies))
}

/// Copies of which nobody has said where they run.
fn copies(asked: Option<u32>) -> Option<Copies> {
    let n = asked.filter(|&n| n > 1)?;
    Some(Copies { n, n_cpus: 0, cpus: Vec::new() })
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
