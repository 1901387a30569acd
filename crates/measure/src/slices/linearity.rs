//! Does a loop take the same time in a short slice as in a long one? A slice begins with what another process's turn
//! left: caches, branch history, an interpreter's inline caches. `unpack_sequence` of pyperformance takes three times
//! as long in slices of 1 ms as in slices of 100 ms.

use stats::SortedSample;

use crate::slices::team::WorkerTeam;
use crate::slices::{SliceError, SliceRunner};
use record::ShortSlice;

/// Rounds; in each, every process has a slice of n loops and one of [`LONGER`] n.
const ROUNDS: usize = 8;
const LONGER: u64 = 10;
/// The longest slice, ns: a process still has more than one.
const LONGEST_NS: f64 = 95e6;
/// Largest tolerated change of the time per loop when a slice doubles: a fifth of the default precision. So few rounds
/// cannot show less.
const TOLERANCE: f64 = 0.001;
/// Index of the ratio that must show the difference: all rounds but one, by chance in 9 of 256 cases.
const LOW_RANK: usize = 1;
/// Smallest difference worth a note.
const NOTED: f64 = 0.01;

/// How the time of a loop depends on the slice's length, and the loops that a slice needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Nonlinear {
    /// Time per loop in short slices ÷ in long ones, minus 1.
    excess: f64,
    /// The factor on the number of loops.
    factor: f64,
}

/// Compares the ratios of the rounds with 1. With a cost c per slice and a per loop, a slice of n loops shows a + c/n.
/// So the excess of n over 10 n loops is 0.9 c / (n a), and doubling N loops changes c / (2 N a).
fn nonlinear(ratios: &[f64]) -> Option<Nonlinear> {
    let sorted = SortedSample::new(ratios).ok()?;
    let least = *sorted.as_slice().get(LOW_RANK)? - 1.0;
    let excess = sorted.median() - 1.0;
    let share = LONGER as f64 / (LONGER - 1) as f64;
    let factor = excess * share / 2.0 / TOLERANCE;
    (ratios.len() >= ROUNDS && least > 0.0 && factor > 1.0).then_some(Nonlinear { excess, factor })
}

impl SliceRunner<'_> {
    /// The loops of a slice that is long enough, measured in warm processes. The second value has the times of a loop,
    /// if they differ.
    pub(super) fn linear_loops(
        &mut self,
        team: &mut WorkerTeam,
        loops: u64,
    ) -> Result<(u64, Vec<Option<ShortSlice>>), SliceError> {
        let mut short = vec![None; team.members.len()];
        let mut enough = loops;
        loop {
            let seen = self.short_and_long(team, enough)?;
            let slowest_ns = seen.iter().flatten().map(|it| it.1).fold(1e-3, f64::max);
            let most = (LONGEST_NS / slowest_ns) as u64;
            let mut factor: f64 = 1.0;
            for (found, times) in short.iter_mut().zip(&seen) {
                let ratios: Vec<f64> = times.iter().map(|(short, long)| short / long).collect();
                let Some(nonlinear) = nonlinear(&ratios) else { continue };
                factor = factor.max(nonlinear.factor);
                if nonlinear.excess > NOTED {
                    let median = |of: fn(&(f64, f64)) -> f64| {
                        let values: Vec<f64> = times.iter().map(of).collect();
                        stats::median(&values).unwrap_or(f64::NAN)
                    };
                    let first = found.map_or(median(|it| it.0), |it: ShortSlice| it.short_ns);
                    *found =
                        Some(ShortSlice { loops, short_ns: first, long_ns: median(|it| it.1) });
                }
            }
            let step = (enough as f64 * factor.min(LONGER as f64)).ceil() as u64;
            let is_known = factor <= LONGER as f64;
            enough = step.min(most).max(enough);
            // One more step only if the long slices were too short as well.
            if is_known || enough.saturating_mul(2) > most {
                return Ok((enough, short));
            }
        }
    }

    /// Times of a loop in short and in long slices, of each process and round, ns.
    fn short_and_long(
        &mut self,
        team: &mut WorkerTeam,
        loops: u64,
    ) -> Result<Vec<Vec<(f64, f64)>>, SliceError> {
        let mut seen = vec![Vec::new(); team.members.len()];
        for round in 0..ROUNDS {
            for (member, seen) in team.members.iter_mut().zip(&mut seen) {
                let mut per_loop = |loops: u64| -> Result<f64, SliceError> {
                    Ok((member.slice(loops)?.busy_ns() / loops as f64).max(1e-3))
                };
                let long = loops.saturating_mul(LONGER);
                seen.push(if round.is_multiple_of(2) {
                    (per_loop(loops)?, per_loop(long)?)
                } else {
                    let first = per_loop(long)?;
                    (per_loop(loops)?, first)
                });
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// c = 20 µs a slice beside 1 ms: doubling would change 1 %, so ten times as many loops.
    #[test]
    fn a_cost_of_each_slice_asks_for_longer_ones() {
        let ratio = (1.0 + 0.02) / (1.0 + 0.002);
        let found = nonlinear(&[ratio; ROUNDS]).unwrap();
        assert!((found.factor - 9.98).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn another_regime_asks_for_the_longest() {
        assert!(nonlinear(&[70.0 / 24.0; ROUNDS]).unwrap().factor > 1000.0);
    }

    #[test]
    fn noise_and_faster_short_slices_ask_for_nothing() {
        let noise = [1.02, 0.99, 1.01, 0.98, 1.03, 1.02, 1.01, 1.0];
        assert_eq!(nonlinear(&noise), None);
        assert_eq!(nonlinear(&[0.9; ROUNDS]), None);
        assert_eq!(nonlinear(&[1.0005; ROUNDS]), None, "below the tolerance");
        assert_eq!(nonlinear(&[3.0; ROUNDS - 1]), None, "too few");
    }
}
