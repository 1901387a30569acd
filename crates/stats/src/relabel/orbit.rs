//! The re-labellings of a comparison: the pairs that swap their two labels, for every draw.

use crate::invalid::Invalid;
use crate::prng::Stream;

/// Upper limit of the draws. More are a mistake of the caller, and would not fit in memory.
const MOST_DRAWS: usize = 10_000_000;

/// A set of re-labellings of `n` pairs, the identity first; bit `j` of a row swaps pair `j`.
///
/// The rows of [`Orbit::new`] are all `2^n` in counting order if that is at most `draws + 1`.
/// Otherwise they are the identity and `draws` rows of [`Stream::bits`]. Each row is computed on
/// demand and not stored. Rows do not depend on the data, so one orbit serves every comparison of as
/// many pairs.
#[derive(Clone, Debug)]
pub struct Orbit {
    n_pairs: usize,
    n_rows: usize,
    rows: Rows,
}

/// Rows other than the identity.
#[derive(Clone, Debug)]
enum Rows {
    /// All rows in counting order.
    All,
    /// Each row is the next words of a stream.
    Drawn(Stream),
    /// The part of endless rows that begins at a pair.
    Endless { stream: Stream, first: usize },
}

/// Distance in the stream between two words of an endless row. No session has as many rows.
const NEXT_WORD: u64 = 1 << 32;

impl Orbit {
    /// An orbit for `n_pairs` pairs. Fails for 0 pairs, and for more than ten million draws.
    ///
    /// ```
    /// use stillwell_stats::relabel::Orbit;
    /// assert_eq!(Orbit::new(8, 999, 7).unwrap().len(), 256);
    /// assert_eq!(Orbit::new(16, 999, 7).unwrap().len(), 1000);
    /// ```
    pub fn new(n_pairs: usize, draws: usize, seed: u64) -> Result<Self, Invalid> {
        if n_pairs == 0 {
            return Err(Invalid::Empty);
        }
        if draws > MOST_DRAWS {
            return Err(Invalid::OutOfRange { name: "number of draws", value: draws as f64 });
        }
        let all = 1usize.checked_shl(n_pairs as u32).filter(|&all| all <= draws + 1);
        let rows = if all.is_some() { Rows::All } else { Rows::Drawn(Stream::new(seed)) };
        Ok(Self { n_pairs, n_rows: all.unwrap_or(draws + 1), rows })
    }

    /// The part of endless random rows for `n_pairs` pairs from the pair `first` on. A row is equal at
    /// every number of pairs, so a look and the looks after it swap the same pairs in a row.
    ///
    /// Fails as [`Orbit::new`].
    pub fn endless(first: usize, n_pairs: usize, draws: usize, seed: u64) -> Result<Self, Invalid> {
        let Self { n_pairs, .. } = Self::new(n_pairs, draws, seed)?;
        let rows = Rows::Endless { stream: Stream::new(seed), first };
        Ok(Self { n_pairs, n_rows: draws + 1, rows })
    }

    /// Number of pairs in a row.
    pub fn n_pairs(&self) -> usize {
        self.n_pairs
    }

    /// Number of re-labellings, identity included.
    #[expect(clippy::len_without_is_empty, reason = "the identity is always there")]
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// The labels under one re-labelling: the observed ones with some swapped. Bits from `n_pairs`
    /// on have no meaning.
    pub(crate) fn labels(&self, row: usize, observed: &[u64], labels: &mut [u64]) {
        if row == 0 {
            labels.copy_from_slice(observed);
            return;
        }
        match &self.rows {
            // So few pairs fit into the first word.
            Rows::All => labels[0] = observed[0] ^ row as u64,
            Rows::Drawn(stream) => {
                let mut stream = stream.after((row - 1) as u64 * labels.len() as u64);
                for (label, seen) in labels.iter_mut().zip(observed) {
                    *label = seen ^ stream.next_u64();
                }
            }
            Rows::Endless { stream, first } => {
                let word = |at: usize| stream.after(at as u64 * NEXT_WORD + row as u64).next_u64();
                let (mut at, shift) = (first / 64, first % 64);
                let mut next = word(at);
                for (label, seen) in labels.iter_mut().zip(observed) {
                    at += 1;
                    let low = next >> shift;
                    next = word(at);
                    *label = seen ^ low ^ if shift == 0 { 0 } else { next << (64 - shift) };
                }
            }
        }
    }
}

/// Number of draws that resolves p-values at `alpha`: `max(1999, ceil(10 / alpha))`.
///
/// ```
/// assert_eq!(stillwell_stats::relabel::draws(0.05), 1999);
/// assert_eq!(stillwell_stats::relabel::draws(0.001), 10_000);
/// ```
pub fn draws(alpha: f64) -> usize {
    ((10.0 / alpha).ceil() as usize).max(1999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_rows_swap_the_same_pairs_at_every_look() {
        let bits = |first: usize, n: usize, row: usize| -> Vec<u64> {
            let orbit = Orbit::endless(first, n, 99, 5).unwrap();
            let mut labels = vec![0; n.div_ceil(64)];
            orbit.labels(row, &vec![0; labels.len()], &mut labels);
            (0..n).map(|pair| labels[pair / 64] >> (pair % 64) & 1).collect()
        };
        for row in [1, 2, 99] {
            let whole = bits(0, 300, row);
            for (first, n) in [(0, 10), (0, 64), (3, 61), (3, 200), (64, 100), (100, 200)] {
                assert_eq!(bits(first, n, row), whole[first..first + n], "{first} {n}");
            }
        }
        assert_ne!(bits(0, 64, 1), bits(0, 64, 2));
        assert_eq!(bits(7, 64, 0), [0; 64]);
    }
}
