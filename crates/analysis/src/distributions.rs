//! The distributions of two arms: the ratio at each decile, and the distance as a whole. For display; no verdict uses
//! them.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stats::relabel::{self, Orbit, Pairs, RatioShape};
use stats::shift::{self, DECILES};
use stats::{Invalid, SortedSample};

use crate::comparison::{Comparison, Evidence, NoTest};
use crate::walls::{Slots, Walls};
use crate::watch::ORBIT_STREAM;
use record::Record;
use record::plan::Plan;

/// Limit of pairs times re-labellings. Each re-labelling sorts both arms; at the limit that takes some two seconds.
const RELABELLED_PAIRS_MAX: usize = 2_000_000;
/// Fewest pairs for deciles. Fewer are too rough, even if a small alpha needs many re-labellings.
const PAIRS_MIN: usize = 100;
/// Most runs of an arm for deciles without a band: the weights cost more than sorting.
const RUNS_MAX: usize = 10_000;

/// Two arms, decile by decile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Distributions {
    /// The runs were interleaved at random, so there are p-values.
    Paired(PairedDistributions),
    /// The runs were not interleaved: ratios only.
    Unpaired {
        /// 10 %, 20 % … 90 %.
        deciles: Vec<Decile>,
        /// Reason for the missing band and test.
        because: NoTest,
    },
}

/// Times as measured, or values of another quantity, of arms that ran in random pairs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairedDistributions {
    /// Pairs that were used.
    pub n_pairs: usize,
    /// All pairs. The test uses fewer of them if a re-labelling of all would take too long.
    pub n_pairs_of: usize,
    /// 1 − level of the band, for all deciles at once.
    pub alpha: f64,
    /// 10 %, 20 % … 90 %.
    pub deciles: Vec<Decile>,
    /// The typical ratio.
    pub typical_ratio: f64,
    /// Any difference between the distributions.
    pub difference: Distances,
    /// The difference that remains without one ratio: 1, the floor's or the typical one, whichever explains most. Beside
    /// two modes, the typical ratio alone is off by more than a mode is wide.
    pub shape: Distances,
}

/// A decile of one arm against the same decile of the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decile {
    /// Share of the runs with less.
    pub share: f64,
    /// New ÷ reference.
    pub ratio: f64,
    /// Simultaneous interval of the ratio over all deciles; `None` without a test.
    pub band: Option<Band>,
}

/// An interval of ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Band {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// Distances between two distributions as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Distances {
    /// The largest distance between the distribution functions, 0 to 1.
    pub kolmogorov_smirnov: DistributionDistance,
    /// Squared distances, the tails weighted up, standardised; `None` when all times are equal.
    pub anderson_darling: Option<DistributionDistance>,
}

/// A distance and its p-value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DistributionDistance {
    /// The distance.
    pub value: f64,
    /// p-value: the share of the re-labellings with a distance at least as large.
    pub p: f64,
}

/// The distributions of each comparison of a record; `None` without an estimate.
pub fn within(record: &Record, comparisons: &[Comparison]) -> Vec<Option<Distributions>> {
    let plan = &record.header.plan;
    let walls = Walls::of(record);
    let of = |found: &Comparison| match &found.evidence {
        Evidence::Paired(evidence) => {
            let all = walls.slots(found.reference, found.arm);
            let found = paired(plan, &all.skip(evidence.n_warmup_pairs)).ok();
            let better = plan.policy.better;
            found
                .map(|it| if better.is_lower() { it } else { it.of_values() })
                .map(Distributions::Paired)
        }
        Evidence::Unpaired { because, .. } => {
            unpaired(record, found.reference, record, found.arm, *because)
        }
        Evidence::None { .. } => None,
    };
    comparisons.par_iter().map(of).collect()
}

/// The distributions of an arm in two separate sessions. There is no band: the scatter between sessions is unknown, and
/// a K-S or A-D test would call most sessions different.
pub fn across(old: &Record, old_arm: usize, new: &Record, new_arm: usize) -> Option<Distributions> {
    unpaired(old, old_arm, new, new_arm, NoTest::SeparateRecords)
}

/// At most `n_max` of `n` indices, evenly spaced, whatever the times and labels. Merging neighbours, as the comparison
/// does, would change the shape.
fn evenly_spaced(n: usize, n_max: usize) -> Vec<usize> {
    let n_used = n.min(n_max);
    (0..n_used).map(|index| index * n / n_used).collect()
}

fn paired(plan: &Plan, all: &Slots) -> Result<PairedDistributions, Invalid> {
    let alpha = plan.policy.alpha;
    let draws = relabel::draws(alpha);
    let n_max = (RELABELLED_PAIRS_MAX / draws).max(PAIRS_MIN);
    let n_pairs_of = all.len();
    let used = all.pick(evenly_spaced(n_pairs_of, n_max));
    let pairs = used.pairs()?;
    let seed = plan.seed ^ ORBIT_STREAM;
    let orbit = Orbit::new(pairs.len(), draws, seed)?;
    // The band takes a dozen passes. Half of the re-labellings only add scatter between seeds.
    let for_band = Orbit::new(pairs.len(), draws / 2, seed)?;
    let RatioShape { typical, floor, .. } = pairs.shape(&orbit)?;
    let without = |theta: &f64| distances(&pairs, &orbit, *theta);
    let (shift, each) = rayon::join(
        || shift::shift(&pairs, &for_band, alpha),
        || [0.0, floor, typical].par_iter().map(without).collect::<Result<Vec<_>, _>>(),
    );
    let (shift, each) = (shift?, each?);
    let by_p =
        |a: &&Distances, b: &&Distances| a.kolmogorov_smirnov.p.total_cmp(&b.kolmogorov_smirnov.p);
    let shape = *each.iter().max_by(by_p).ok_or(Invalid::Empty)?;
    let deciles = (0..DECILES.len()).map(|index| {
        let band = shift.band[index].exp();
        let band = Some(Band { lo: band.lo, hi: band.hi });
        Decile { share: DECILES[index], ratio: shift.log_ratio[index].exp(), band }
    });
    Ok(PairedDistributions {
        n_pairs: pairs.len(),
        n_pairs_of,
        alpha,
        deciles: deciles.collect(),
        typical_ratio: typical.exp(),
        difference: each[0],
        shape,
    })
}

impl PairedDistributions {
    /// Ratios of values from ratios of costs, which are the inverse values where higher is better. The least values have
    /// the highest costs.
    fn of_values(mut self) -> Self {
        let shares: Vec<f64> = self.deciles.iter().map(|decile| decile.share).collect();
        let of_costs = std::mem::take(&mut self.deciles).into_iter().rev().zip(shares);
        let inverse = |Band { lo, hi }| Band { lo: 1.0 / hi, hi: 1.0 / lo };
        self.deciles = of_costs
            .map(|(Decile { ratio, band, .. }, share)| Decile {
                share,
                ratio: 1.0 / ratio,
                band: band.map(inverse),
            })
            .collect();
        self.typical_ratio = 1.0 / self.typical_ratio;
        self
    }
}

fn distances(pairs: &Pairs, orbit: &Orbit, theta: f64) -> Result<Distances, Invalid> {
    let distance =
        |found: shift::ArmDistance| DistributionDistance { value: found.value, p: found.p };
    let anderson_darling = match shift::anderson_darling(pairs, orbit, theta) {
        Ok(found) => Some(distance(found)),
        Err(Invalid::NoSpread) => None,
        Err(other) => return Err(other),
    };
    let kolmogorov_smirnov = distance(shift::kolmogorov_smirnov(pairs, orbit, theta)?);
    Ok(Distances { kolmogorov_smirnov, anderson_darling })
}

fn unpaired(
    old: &Record,
    old_arm: usize,
    new: &Record,
    new_arm: usize,
    because: NoTest,
) -> Option<Distributions> {
    let (old, new) = (log_walls(old, old_arm)?, log_walls(new, new_arm)?);
    let at = DECILES.iter().zip(shift::shift_function(&old, &new));
    let deciles = at
        .map(|(&share, log_ratio)| Decile { share, ratio: log_ratio.exp(), band: None })
        .collect();
    Some(Distributions::Unpaired { deciles, because })
}

fn log_walls(record: &Record, arm: usize) -> Option<SortedSample> {
    let rows = &record.rows;
    let measured = rows.measurements().filter(|&row| rows.arm(row) == arm);
    let walls: Vec<f64> = measured.filter_map(|row| rows.headline(row)).collect();
    let used = evenly_spaced(walls.len(), RUNS_MAX);
    let used: Vec<f64> = used.into_iter().map(|run| walls[run]).collect();
    SortedSample::new(&stats::logs(&used).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;

    /// Pairs of 10 ms with 1 % noise; `slowed` is the new arm's slowdown in each pair.
    fn slots(n: usize, slowed: impl Fn(usize) -> f64) -> Slots {
        let mut stream = stats::Stream::new(11);
        let slot1_is_new = stream.bits(n);
        let mut time = |pair: usize, is_new: bool| {
            let factor = if is_new { slowed(pair) } else { 1.0 };
            1e7 * (1.0 + 0.01 * stream.unit()) * factor
        };
        let slot1 = (0..n).map(|pair| time(pair, slot1_is_new[pair])).collect();
        let slot2 = (0..n).map(|pair| time(pair, !slot1_is_new[pair])).collect();
        Slots { slot1, slot2, slot1_is_new }
    }

    fn found(slots: &Slots) -> PairedDistributions {
        paired(&record(&["a", "b"]).header.plan, slots).unwrap()
    }

    fn bands(distributions: &PairedDistributions) -> Vec<Band> {
        distributions.deciles.iter().map(|decile| decile.band.unwrap()).collect()
    }

    #[test]
    fn the_same_program_has_1_in_every_band() {
        let found = found(&slots(200, |_| 1.0));
        assert!(bands(&found).iter().all(|band| band.lo < 1.0 && 1.0 < band.hi), "{found:#?}");
        for distances in [found.difference, found.shape] {
            assert!(distances.kolmogorov_smirnov.p > 0.01, "{distances:?}");
            assert!(distances.anderson_darling.unwrap().p > 0.01, "{distances:?}");
        }
    }

    #[test]
    fn a_slow_path_moves_the_upper_deciles_only() {
        let found = found(&slots(200, |pair| if pair % 2 == 0 { 1.1 } else { 1.0 }));
        let bands = bands(&found);
        assert!(bands[..3].iter().all(|band| band.lo < 1.0 && 1.0 < band.hi), "{found:#?}");
        assert!(bands[6..].iter().all(|band| 1.02 < band.lo), "{found:#?}");
        assert!((found.deciles[8].ratio - 1.1).abs() < 0.005);
        assert!(found.shape.kolmogorov_smirnov.p <= 0.001, "{found:#?}");
        assert!(found.shape.anderson_darling.unwrap().p <= 0.001);
    }

    /// Where higher is better, a cost is the inverse of a value: a cost that has grown is a value that has shrunk.
    #[test]
    fn the_deciles_of_values_are_those_of_their_costs_turned_round() {
        let costs = found(&slots(200, |pair| if pair % 2 == 0 { 1.1 } else { 1.0 }));
        let values = costs.clone().of_values();
        let (high, low) = (costs.deciles[8], values.deciles[0]);
        assert_eq!((low.share, low.ratio), (0.1, 1.0 / high.ratio));
        let (band, of_cost) = (low.band.unwrap(), high.band.unwrap());
        assert_eq!((band.lo, band.hi), (1.0 / of_cost.hi, 1.0 / of_cost.lo));
        assert_eq!(values.typical_ratio, 1.0 / costs.typical_ratio);
    }

    #[test]
    fn one_ratio_for_all_runs_is_a_difference_but_not_of_shape() {
        let found = found(&slots(200, |_| 1.05));
        assert!(found.difference.kolmogorov_smirnov.p <= 0.001, "{found:#?}");
        assert!(found.shape.kolmogorov_smirnov.p > 0.01, "{found:#?}");
        assert!(bands(&found).iter().all(|band| band.lo < 1.05 && 1.05 < band.hi), "{found:#?}");
    }

    #[test]
    fn equal_times_have_no_anderson_darling_distance() {
        let equal = Slots {
            slot1: vec![5.0; 20],
            slot2: vec![5.0; 20],
            slot1_is_new: (0..20).map(|pair| pair % 2 == 0).collect(),
        };
        let found = found(&equal);
        let none = Distances {
            kolmogorov_smirnov: DistributionDistance { value: 0.0, p: 1.0 },
            anderson_darling: None,
        };
        assert_eq!((found.difference, found.shape), (none, none));
    }

    #[test]
    fn more_pairs_than_can_be_relabelled_are_thinned() {
        assert_eq!(evenly_spaced(3, 10), [0, 1, 2]);
        assert_eq!(evenly_spaced(10, 4), [0, 2, 5, 7]);
        let found = found(&slots(1500, |_| 1.0));
        assert_eq!((found.n_pairs, found.n_pairs_of), (1000, 1500));
    }
}
