//! The confirmation of a gain: its number of blocks, and its decision.

use crate::campaign::Gain;

/// Intended error of the confirmation, as a share of the gain that it looks for.
const ERROR_SHARE: f64 = 0.2;
/// The trial flatters: it ended because the gain was large just then. So the confirmation looks for a smaller one.
const FLATTERY: f64 = 0.8;
/// Least ratio of the confirmation's blocks to the trial's, which may have been lucky.
const LUCK: f64 = 1.25;
pub const BLOCKS_MIN: u32 = 16;
pub const BLOCKS_MAX: u32 = 2000;

/// The number of blocks of a gain's confirmation, from the error of the trial. It is fixed before the first run, so the
/// size that the confirmation finds is not flattered.
///
/// `n = n1 (se1 / (share theta))^2`, with the trial's pairs `n1`, its error `se1` (half of the interval over the
/// quantile of its level) and the expected log ratio `theta`; at least a quarter more than `n1`.
pub fn confirmation_blocks(trial: &Gain) -> u32 {
    let theta = FLATTERY * trial.ratio.ln().abs();
    let z = stats::verdict::z(1.0 - trial.alpha / 2.0).ok();
    let se = trial.lo.zip(trial.hi).zip(z).map(|((lo, hi), z)| (hi / lo).ln() / 2.0 / z);
    let blocks = se.map(|se| trial.n_pairs as f64 * (se / (ERROR_SHARE * theta)).powi(2));
    let blocks = blocks.filter(|blocks| blocks.is_finite()).unwrap_or(f64::from(BLOCKS_MIN));
    let blocks = blocks.max(LUCK * trial.n_pairs as f64);
    blocks.ceil().clamp(f64::from(BLOCKS_MIN), f64::from(BLOCKS_MAX)) as u32
}

/// Whether a confirmation shows the gain at this one-sided level. `p` counts both sides.
pub fn is_confirmed(gain: &Gain, at_least: f64, level: f64) -> bool {
    let is_faster = gain.ratio < 1.0 && gain.p <= 2.0 * level;
    is_faster && (at_least <= 0.0 || gain.hi.is_some_and(|hi| hi < 1.0 - at_least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(ratio: f64, half: f64, n_pairs: usize) -> Gain {
        let [lo, hi] = [-half, half].map(|d| Some(ratio * f64::exp(d)));
        Gain {
            ratio,
            lo,
            hi,
            alpha: 0.0316,
            p: 0.01,
            mean: ratio,
            mean_lo: lo,
            mean_hi: hi,
            n_pairs,
        }
    }

    #[test]
    fn a_smaller_gain_needs_more_blocks() {
        // In Python: 40 * (0.01 / 2.149434 / (0.2 * 0.8 * 0.0100503)) ** 2 is 334.8.
        assert_eq!(confirmation_blocks(&trial(0.99, 0.01, 40)), 335);
        assert_eq!(confirmation_blocks(&trial(0.8, 0.01, 40)), 50);
        assert_eq!(confirmation_blocks(&trial(0.8, 0.01, 10)), BLOCKS_MIN);
        assert_eq!(confirmation_blocks(&trial(1.0, 0.01, 10)), BLOCKS_MIN);
        assert_eq!(confirmation_blocks(&Gain { hi: None, ..trial(0.9, 0.1, 10) }), BLOCKS_MIN);
    }

    #[test]
    fn a_confirmation_needs_the_level_and_the_size() {
        let found = Gain { p: 0.03, ..trial(0.98, 0.01, 40) };
        assert!(is_confirmed(&found, 0.0, 0.0158) && !is_confirmed(&found, 0.0, 0.0149));
        // The interval ends at 0.98 e^0.01 = 0.98985.
        assert!(is_confirmed(&found, 0.01, 0.0158) && !is_confirmed(&found, 0.011, 0.0158));
        assert!(!is_confirmed(&Gain { p: 0.001, ..trial(1.02, 0.01, 40) }, 0.0, 0.0158));
    }
}
