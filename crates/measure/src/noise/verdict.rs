//! The smallest difference that a comparison can see on this machine: many runs of the same work, and comparisons
//! that are cut out of them at random.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::monotonic_ns;
use crate::interrupt::Interrupt;
use analysis::calibrate::{Budget, CalibrationSettings, calibrate};
use host::sys;
use model::values::CALIBRATION_RUNS_MIN;
use record::plan::DecisionRule;

/// The smallest visible difference between two programs of this length.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineVerdict {
    /// CPU of the measurement.
    pub cpu: usize,
    /// Shortest time of the work, ns.
    pub work_ns: f64,
    /// Number of runs.
    pub n_runs: usize,
    /// The smallest difference that 80 % of comparisons find, by their length.
    pub budgets: Vec<Budget>,
}

/// Target time of one run, and of all runs.
const WORK_NS: u64 = 2_000_000;
const ALL_NS: u64 = 1_500_000_000;
/// Replays for each difference, and the pairs of each.
const N_REPLAYS: usize = 200;
const N_PAIRS: usize = 60;
/// A fixed seed: the verdict changes only with the machine.
const SEED: u64 = 7;

/// Reason why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// ^C interrupted the measurement.
    Interrupted,
    /// The work cannot run on this CPU.
    Impossible,
}

/// Measures the work on a CPU and replays comparisons.
///
/// # Errors
/// The reason for the failure.
pub fn machine_verdict(
    cpu: usize,
    policy: DecisionRule,
    interrupt: &Interrupt,
) -> Result<MachineVerdict, NoVerdict> {
    let times_ns = std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, || series(cpu, interrupt));
        worker.ok()?.join().ok()
    });
    let times_ns = times_ns.unwrap_or(Err(NoVerdict::Impossible))?;
    let pace_ns = times_ns.iter().sum::<f64>() / times_ns.len() as f64;
    let settings = CalibrationSettings {
        policy,
        n_replays: N_REPLAYS,
        n_pairs_max: N_PAIRS,
        with_tails: false,
        seed: SEED,
    };
    let found =
        calibrate(&times_ns, pace_ns, &settings, || ()).map_err(|_| NoVerdict::Impossible)?;
    // ^C may come during the replays.
    if interrupt.take() {
        return Err(NoVerdict::Interrupted);
    }
    let work_ns = times_ns.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(MachineVerdict { cpu, work_ns, n_runs: times_ns.len(), budgets: found.budgets })
}

fn series(cpu: usize, interrupt: &Interrupt) -> Result<Vec<f64>, NoVerdict> {
    sys::bind(None, &[cpu]).map_err(|_| NoVerdict::Impossible)?;
    let n_turns = turns_of(WORK_NS);
    let (start_ns, mut times_ns) = (monotonic_ns(), Vec::new());
    while monotonic_ns() - start_ns < ALL_NS || times_ns.len() < CALIBRATION_RUNS_MIN {
        if interrupt.take() {
            return Err(NoVerdict::Interrupted);
        }
        let before_ns = monotonic_ns();
        work(n_turns);
        times_ns.push((monotonic_ns() - before_ns) as f64);
    }
    Ok(times_ns)
}

/// Turns of the work for this time, by the fastest of some tries.
fn turns_of(wanted_ns: u64) -> u64 {
    const TURNS: u64 = 20_000;
    let time = |_| {
        let before_ns = monotonic_ns();
        work(TURNS);
        monotonic_ns() - before_ns
    };
    let best_ns = (0..20).map(time).min().unwrap_or(1).max(1);
    (wanted_ns * TURNS / best_ns).max(1)
}

/// A chain of multiplications: its time depends only on the CPU's clock, and it touches no memory.
fn work(n_turns: u64) {
    let mut value = 1_u64;
    for _ in 0..n_turns {
        value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::thread::{CpuSet, sched_getcpu};

    use super::*;

    #[test]
    fn why_there_is_none_is_known() {
        let (interrupt, mut hand) = Interrupt::by_hand();
        let verdict = |cpu| machine_verdict(cpu, DecisionRule::default(), &interrupt).unwrap_err();
        assert_eq!(verdict(CpuSet::MAX_CPU - 1), NoVerdict::Impossible);
        hand.write_all(b"c").unwrap();
        assert_eq!(verdict(sched_getcpu()), NoVerdict::Interrupted);
    }
}
