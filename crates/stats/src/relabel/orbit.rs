//! The re-labellings of a comparison: the pairs that swap their two labels, for every draw.

use crate::invalid::Invalid;
use crate::prng::Stream;

/// Upper limit of the draws. More are a mistake of the caller, and would not fit in memory.
const MOST_DRAWS: usize = 10_000_000;

/// A set of re-labellings of `n` pairs, the identity first; bit `j` of a row swaps pair `j`.
///
/// The rows are all `2^n` in counting order if that is at most `draws + 1`. Otherwise they are the
/// identity and `draws` rows of [`Stream::bits`]. Each row is computed on demand and not stored.
/// Rows do not depend on the data, so one orbit serves every comparison of as many pairs.
#[derive(Clone, Debug)]
pub struct Orbit {
    n_pairs: usize,
    n_rows: usize,
    /// Stream of the rows; `None` for all rows in counting order.
    drawn: Option<Stream>,
}

impl Orbit {
    /// An orbit for `n_pairs` pairs. Fails for 0 pairs, and for more than ten million draws.
    ///
    /// ```
    /// use stats::relabel::Orbit;
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
        let drawn = all.is_none().then(|| Stream::new(seed));
        Ok(Self { n_pairs, n_rows: all.unwrap_or(draws + 1), drawn })
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
        let Some(drawn) = &self.drawn else {
            // So few pairs fit into the first word.
            labels[0] = observed[0] ^ row as u64;
            return;
        };
        if row == 0 {
            labels.copy_from_slice(observed);
            return;
        }
        let mut stream = drawn.after((row - 1) as u64 * labels.len() as u64);
        for (label, seen) in labels.iter_mut().zip(observed) {
            *label = seen ^ stream.next_u64();
        }
    }
}

/// Number of draws that resolves p-values at `alpha`: `max(1999, ceil(10 / alpha))`.
///
/// ```
/// assert_eq!(stats::relabel::draws(0.05), 1999);
/// assert_eq!(stats::relabel::draws(0.001), 10_000);
/// ```
pub fn draws(alpha: f64) -> usize {
    ((10.0 / alpha).ceil() as usize).max(1999)
}
