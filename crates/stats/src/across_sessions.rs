//! A new result against stored ones, from sessions that can no longer be interleaved.

use crate::invalid::{Invalid, finite};
use crate::sorted::SortedSample;

/// The place of a new session among past ones, and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionRank {
    /// Past sessions below the new one.
    pub n_below: usize,
    /// Past sessions above the new one.
    pub n_above: usize,
    /// The smallest past value.
    pub lowest: f64,
    /// The median of the past values.
    pub median: f64,
    /// The largest past value.
    pub highest: f64,
}

/// Rank of `new` among the `past` sessions: how many are below it, how many above, and their range.
///
/// `past` has one floor for each session, in any order, in the unit of `new`.
///
/// There is no p-value. It would need sessions that are exchangeable, and a machine has fast and slow
/// weeks: Student's t of five sessions called 1.4 to 4.8 % of still programs changed at 1 %.
///
/// Fails without a past session, and for NaN and infinity.
/// ```
/// let rank = stillwell_stats::across_sessions::rank_among(&[1.0, 5.0, 2.0, 4.0, 3.0], 4.5).unwrap();
/// assert_eq!((rank.n_below, rank.n_above), (4, 1)); // R: sum(past < 4.5); sum(past > 4.5)
/// assert_eq!((rank.lowest, rank.median, rank.highest), (1.0, 3.0, 5.0)); // R: range, median
/// ```
pub fn rank_among(past: &[f64], new: f64) -> Result<SessionRank, Invalid> {
    let sorted = SortedSample::new(past)?;
    finite(&[new])?;
    Ok(SessionRank {
        n_below: past.iter().filter(|&&it| it < new).count(),
        n_above: past.iter().filter(|&&it| it > new).count(),
        lowest: sorted.min(),
        median: sorted.median(),
        highest: sorted.max(),
    })
}
