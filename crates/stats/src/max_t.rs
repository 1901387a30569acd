//! Many paired differences at once: which differ, and intervals that hold together.
//!
//! A row is a block, in which both arms ran; a column is one quantity, such as the time of one
//! function. Under the hypothesis that nothing differs, the labels of the two arms in a block could
//! as well be swapped. This changes the sign of the whole row, so the dependence between the columns
//! is kept.

use crate::invalid::{Invalid, between, finite};
use crate::parallel;
use crate::prng::Stream;

/// Two statistics are equal if they differ by less than this share: sums in another order differ by
/// rounding, and an equal statistic counts against the hypothesis.
const EQUAL: f64 = 1e-9;
/// Fewest rows of an interval: the estimate of a spread from fewer is worthless.
const ROWS_MIN: usize = 3;

/// Paired differences: rows are blocks, columns are quantities.
#[derive(Clone, Debug)]
pub struct PairedDifferences {
    n_rows: usize,
    /// Column by column.
    columns: Vec<Vec<f64>>,
}

/// An estimate of each column, with intervals that hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct JointIntervals {
    /// Mean of each column.
    pub means: Vec<f64>,
    /// Half of the width of each interval.
    pub half_widths: Vec<f64>,
    /// Standard errors that the half width of each interval has.
    pub critical: f64,
}

impl PairedDifferences {
    /// Differences from columns of equal length.
    ///
    /// Fails on no column, an empty column, different lengths, NaN and infinity.
    pub fn new(columns: Vec<Vec<f64>>) -> Result<Self, Invalid> {
        let n_rows = columns.first().ok_or(Invalid::Empty)?.len();
        for column in &columns {
            finite(column)?;
            if column.len() != n_rows {
                return Err(Invalid::Lengths { left: n_rows, right: column.len() });
            }
        }
        Ok(Self { n_rows, columns })
    }

    /// The p-value of each column, adjusted for the number of columns by the step-down maxT
    /// procedure of Westfall & Young (1993), algorithm 4.1 with sign changes as the resampling. If
    /// columns at or below alpha are called different, the chance of any false alarm is at most
    /// alpha.
    ///
    /// The statistic of a column is `|sum d| / sqrt(sum d^2)`. It grows with Student's |t| of the
    /// column, and its denominator does not depend on the signs. In descending order of the
    /// statistic, a column is compared with the largest statistic of itself and all later columns:
    /// `p_(j) = (1 + number of re-labellings with max_(k >= j) T_(k) >= T_(j)) / (1 + n)`, at least
    /// the p-value before it. Up to `n_labelings` sign patterns are all enumerated, then without the
    /// two ones; more are drawn from `seed`. A column of zeros has p = 1.
    ///
    /// Few rows cannot show a difference: with m rows no p-value is below `2^(1 - m)`.
    ///
    /// ```
    /// use stillwell_stats::max_t::PairedDifferences;
    /// // tests/vectors/max-t.json
    /// let columns = vec![vec![3.0, 2.0, 4.0, 3.5, 2.5], vec![1.0, -1.0, 0.5, 0.0, -2.0]];
    /// let p = PairedDifferences::new(columns).unwrap().adjusted_p(1000, 1);
    /// assert_eq!(p, [2.0 / 32.0, 24.0 / 32.0]);
    /// ```
    pub fn adjusted_p(&self, n_labelings: usize, seed: u64) -> Vec<f64> {
        let observed: Vec<f64> = self.columns.iter().map(|column| statistic(column)).collect();
        let mut order: Vec<usize> = (0..observed.len()).collect();
        order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]));
        let scaled: Vec<Vec<f64>> = order.iter().map(|&at| scaled(&self.columns[at])).collect();
        let limits: Vec<f64> = order.iter().map(|&at| observed[at] * (1.0 - EQUAL)).collect();
        let signs = Signs::new(self.n_rows, n_labelings, seed);
        // Few columns are as extreme as the observed ones, so each labelling lists these alone.
        let exceeded: Vec<Vec<usize>> = parallel::map(signs.n, |at| {
            let signs = signs.pattern(at);
            let mut largest = 0.0_f64;
            let mut p_values = Vec::new();
            for j in (0..scaled.len()).rev() {
                largest = largest.max(sum(&scaled[j], &signs).abs());
                if largest >= limits[j] {
                    p_values.push(j);
                }
            }
            p_values
        });
        let mut counts = vec![0_usize; order.len()];
        for j in exceeded.into_iter().flatten() {
            counts[j] += 1;
        }
        // All patterns contain the observed one; a drawn set does not.
        let more = usize::from(!signs.is_all);
        let mut p = vec![1.0; order.len()];
        let mut largest = 0.0_f64;
        for (j, &at) in order.iter().enumerate() {
            if observed[at] > 0.0 {
                largest = largest.max((counts[j] + more) as f64 / (signs.n + more) as f64);
                p[at] = largest;
            }
        }
        p
    }

    /// The mean of each column, with intervals that contain all true means together with
    /// probability `1 - alpha`, about.
    ///
    /// The half width is `c s / sqrt(n)`, with s the standard deviation of the column. c is the
    /// `1 - alpha` quantile of the largest |t| over all columns when the deviations from the means
    /// get random signs: the wild bootstrap (Wu 1986; Mammen 1993) of the largest studentised mean
    /// (Romano & Wolf 2005). It is exact for symmetric errors as the number of rows grows, and too
    /// narrow with fewer than about ten rows.
    ///
    /// Fails with fewer than three rows and on an alpha outside (0, 1).
    ///
    /// ```
    /// use stillwell_stats::max_t::PairedDifferences;
    /// let columns = vec![vec![3.0, 2.0, 4.0, 3.5, 2.5], vec![1.0, -1.0, 0.5, 0.0, -2.0]];
    /// let found = PairedDifferences::new(columns).unwrap().intervals(0.1, 1000, 1).unwrap();
    /// assert_eq!(found.means, [3.0, -0.3]);
    /// ```
    pub fn intervals(
        &self,
        alpha: f64,
        n_labelings: usize,
        seed: u64,
    ) -> Result<JointIntervals, Invalid> {
        between("alpha", alpha, 0.0, 1.0)?;
        if self.n_rows < ROWS_MIN {
            return Err(Invalid::TooFew { need: ROWS_MIN, got: self.n_rows });
        }
        let n = self.n_rows as f64;
        let means: Vec<f64> = self.columns.iter().map(|it| it.iter().sum::<f64>() / n).collect();
        let deviations = |(column, mean): (&Vec<f64>, &f64)| -> Vec<f64> {
            column.iter().map(|x| x - mean).collect()
        };
        let rests: Vec<Vec<f64>> = self.columns.iter().zip(&means).map(deviations).collect();
        let standardised: Vec<Vec<f64>> = rests.iter().map(|rest| scaled(rest)).collect();
        let signs = Signs::new(self.n_rows, n_labelings, seed);
        let mut largest = parallel::map(signs.n, |at| {
            let signs = signs.pattern(at);
            standardised.iter().map(|rest| sum(rest, &signs).abs()).fold(0.0, f64::max)
        });
        largest.sort_by(f64::total_cmp);
        // The smallest value with at most the share alpha of all above it.
        let place = ((1.0 - alpha) * largest.len() as f64).ceil() as usize;
        let z = largest[place.clamp(1, largest.len()) - 1].min(n.sqrt() * (1.0 - EQUAL));
        let critical = z * ((n - 1.0) / (n - z * z)).sqrt();
        let half_width = |rest: &Vec<f64>| {
            let squares: f64 = rest.iter().map(|x| x * x).sum();
            critical * (squares / (n - 1.0) / n).sqrt()
        };
        Ok(JointIntervals { half_widths: rests.iter().map(half_width).collect(), means, critical })
    }
}

/// `|sum d| / sqrt(sum d^2)`; 0 for a column of zeros.
fn statistic(column: &[f64]) -> f64 {
    scaled(column).iter().sum::<f64>().abs()
}

/// The column divided by the root of its sum of squares; unchanged if that is 0.
fn scaled(column: &[f64]) -> Vec<f64> {
    let root = column.iter().map(|x| x * x).sum::<f64>().sqrt();
    let by = if root > 0.0 { root } else { 1.0 };
    column.iter().map(|x| x / by).collect()
}

fn sum(column: &[f64], signs: &[f64]) -> f64 {
    column.iter().zip(signs).map(|(x, sign)| x * sign).sum()
}

/// Sign patterns: all there are, or so many drawn ones.
struct Signs {
    n_rows: usize,
    n: usize,
    is_all: bool,
    stream: Stream,
}

impl Signs {
    fn new(n_rows: usize, n_labelings: usize, seed: u64) -> Self {
        let all = u32::try_from(n_rows).ok().and_then(|n| 1_usize.checked_shl(n));
        let all = all.filter(|&all| all > 0 && all <= n_labelings);
        let stream = Stream::new(seed);
        Self { n_rows, n: all.unwrap_or(n_labelings.max(1)), is_all: all.is_some(), stream }
    }

    fn pattern(&self, at: usize) -> Vec<f64> {
        let sign = |is_swapped: bool| if is_swapped { -1.0 } else { 1.0 };
        if self.is_all {
            return (0..self.n_rows).map(|row| sign(at >> row & 1 == 1)).collect();
        }
        let words = self.n_rows.div_ceil(64) as u64;
        self.stream.after(at as u64 * words).bits(self.n_rows).into_iter().map(sign).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(columns: &[&[f64]]) -> PairedDifferences {
        PairedDifferences::new(columns.iter().map(|column| column.to_vec()).collect()).unwrap()
    }

    #[test]
    fn wrong_data_are_refused() {
        assert_eq!(PairedDifferences::new(Vec::new()).unwrap_err(), Invalid::Empty);
        let uneven = PairedDifferences::new(vec![vec![1.0], vec![1.0, 2.0]]);
        assert_eq!(uneven.unwrap_err(), Invalid::Lengths { left: 1, right: 2 });
        let nan = PairedDifferences::new(vec![vec![f64::NAN]]);
        assert_eq!(nan.unwrap_err(), Invalid::NotFinite { index: 0 });
        let few = differences(&[&[1.0, 2.0]]).intervals(0.1, 100, 1);
        assert_eq!(few.unwrap_err(), Invalid::TooFew { need: 3, got: 2 });
    }

    /// A column of zeros is never different, and its interval is a point.
    #[test]
    fn nothing_differs_in_zeros() {
        let found = differences(&[&[0.0; 12], &[1.0; 12]]);
        let p = found.adjusted_p(9999, 1);
        assert_eq!(p, [1.0, 2.0 / 4096.0]);
        assert_eq!(found.intervals(0.01, 9999, 1).unwrap().half_widths[0], 0.0);
    }

    /// The largest column is compared with the largest of all; a later one with fewer, so it never costs the first.
    #[test]
    fn more_columns_cost_power() {
        let strong: Vec<f64> = (0..10).map(|row| 1.0 + 0.1 * f64::from(row % 3)).collect();
        let mut stream = Stream::new(5);
        let noise: Vec<Vec<f64>> =
            (0..40).map(|_| (0..10).map(|_| stream.unit() - 0.5).collect()).collect();
        let alone = differences(&[&strong]).adjusted_p(5000, 1)[0];
        let all: Vec<&[f64]> =
            std::iter::once(&strong).chain(&noise).map(|column| &column[..]).collect();
        let together = differences(&all).adjusted_p(5000, 1);
        assert_eq!(alone, 2.0 / 1024.0);
        assert!(together[0] >= alone);
        assert!(together[1..].iter().all(|&p| p > 0.01));
    }

    /// In how many of 400 experiments without a difference something is found: about alpha.
    #[test]
    fn false_alarms_are_as_rare_as_promised() {
        let mut stream = Stream::new(11);
        let (mut n_named, mut n_missed) = (0, 0);
        for seed in 0..400 {
            // Counts of rare events, as samples of small functions are, beside large sums.
            let columns: Vec<Vec<f64>> = (0..30)
                .map(|column| {
                    let rate = if column < 15 { 0.1 } else { 3.0 };
                    let mut draw =
                        || (0..10).filter(|_| 10.0 * stream.unit() < rate).count() as f64;
                    (0..30).map(|_| draw() - draw()).collect()
                })
                .collect();
            let found = PairedDifferences::new(columns).unwrap();
            n_named += usize::from(found.adjusted_p(400, seed).iter().any(|&p| p <= 0.05));
            let intervals = found.intervals(0.05, 400, seed).unwrap();
            let outside = |(mean, half): (&f64, &f64)| mean.abs() > *half;
            n_missed +=
                usize::from(intervals.means.iter().zip(&intervals.half_widths).any(outside));
        }
        // 20 are expected; 35 are above with probability 0.0007.
        assert!(n_named <= 35, "{n_named}");
        assert!(n_missed <= 40, "{n_missed}");
    }
}
