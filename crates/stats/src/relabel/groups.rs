//! Groups of consecutive pairs, which bound the time of a test of many pairs.

use super::{Estimand, Pairs};
use crate::invalid::Invalid;
use crate::sorted::{SortedSample, mean_of};

impl Pairs {
    /// Pairs that each summarise `size` consecutive ones; the last may summarise fewer. The summary
    /// of an arm is the median, the smallest for [`Estimand::Floor`], the mean time for
    /// [`Estimand::Mean`].
    ///
    /// To swap all labels of a group at once is a subgroup of all re-labellings. The test is exact
    /// over any subgroup (Lehmann & Romano, Testing Statistical Hypotheses, section 15.2), so
    /// groups may be tested as if they were pairs. Fails for `size` = 0.
    ///
    /// ```
    /// use stillwell_stats::relabel::{Estimand, Pairs};
    /// let (old, new) = (vec![1.0; 9], vec![2.0; 9]);
    /// let pairs = Pairs::new(&old, &new, &[false; 9]).unwrap();
    /// assert_eq!(pairs.grouped(4, Estimand::Typical).unwrap().len(), 3); // of 4, 4 and 1 pairs
    /// ```
    pub fn grouped(&self, size: usize, estimand: Estimand) -> Result<Self, Invalid> {
        if size == 0 {
            return Err(Invalid::OutOfRange { name: "size of a group", value: 0.0 });
        }
        if size == 1 {
            return Ok(self.clone());
        }
        let (mut slots, mut labels) = (Vec::new(), Vec::new());
        for from in (0..self.len()).step_by(size) {
            let range = from..(from + size).min(self.len());
            let label = self.label(from);
            // A pair whose label agrees with the first pair's keeps its slots, another pair swaps
            // them.
            let arm = |slot: usize| -> Result<f64, Invalid> {
                let of_pair = |pair: usize| self.slots[pair][slot ^ label ^ self.label(pair)];
                summary(&range.clone().map(of_pair).collect::<Vec<_>>(), estimand)
            };
            slots.push([arm(0)?, arm(1)?]);
            labels.push(label == 1);
        }
        Ok(Self::from_logs(slots, &labels))
    }
}

/// One log time that represents several.
fn summary(logs: &[f64], estimand: Estimand) -> Result<f64, Invalid> {
    let sorted = SortedSample::new(logs)?;
    Ok(match estimand {
        Estimand::Adaptive | Estimand::Typical => sorted.median(),
        Estimand::Floor => sorted.min(),
        // The mean of the times, not of their logs, is the total cost.
        Estimand::Mean => mean_of(&logs.iter().map(|log| log.exp()).collect::<Vec<_>>()).ln(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relabel::Orbit;

    #[test]
    fn groups_keep_the_arms_apart() {
        // The new arm takes twice as long in every pair, in either slot. 1 003 pairs make 10
        // groups.
        let coins = crate::Stream::new(5).bits(1003);
        let slot = |new_here: bool| if new_here { 2.0 } else { 1.0 };
        let slot1: Vec<f64> = coins.iter().map(|&coin| slot(coin)).collect();
        let slot2: Vec<f64> = coins.iter().map(|&coin| slot(!coin)).collect();
        let pairs = Pairs::new(&slot1, &slot2, &coins).unwrap();
        for estimand in [Estimand::Adaptive, Estimand::Floor, Estimand::Mean] {
            let groups = pairs.grouped(101, estimand).unwrap();
            assert_eq!(groups.len(), 10);
            let orbit = Orbit::new(10, 999, 1).unwrap();
            let found = groups.compare(&orbit, Estimand::Typical.statistics(), 0.05, 1e-7).unwrap();
            assert!((found.theta - 2f64.ln()).abs() < 1e-9, "{}", found.theta);
        }
    }

    #[test]
    fn few_pairs_stay_as_they_are() {
        let pairs = Pairs::new(&[1.0, 2.0], &[3.0, 4.0], &[true, false]).unwrap();
        assert_eq!(pairs.grouped(1, Estimand::Typical).unwrap().means(), pairs.means());
        assert!(pairs.grouped(0, Estimand::Typical).is_err());
    }
}
