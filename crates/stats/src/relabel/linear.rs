//! Statistics that are sums over the pairs, where the label of a pair says what it adds.

/// Pairs in one table of sums.
const TABLE_BITS: usize = 8;

/// A sum over the pairs: of each pair, one number if its bit is clear, and another if it is set.
///
/// The sums of eight pairs under all of their labels are in a table, so a re-labelling costs one
/// addition for eight pairs.
#[derive(Clone, Debug)]
pub(crate) struct LabelledSum {
    tables: Vec<[f64; 1 << TABLE_BITS]>,
}

impl LabelledSum {
    /// Of each pair, what a clear bit and a set bit add.
    pub(crate) fn new(terms: &[[f64; 2]]) -> Self {
        let table = |terms: &[[f64; 2]]| {
            let mut sums = [0.0; 1 << TABLE_BITS];
            for (at, [clear, set]) in terms.iter().enumerate() {
                for label in 0..1 << at {
                    sums[label | 1 << at] = sums[label] + set;
                    sums[label] += clear;
                }
            }
            // Bits beyond the last pair have no meaning.
            for label in 1 << terms.len()..sums.len() {
                sums[label] = sums[label & ((1 << terms.len()) - 1)];
            }
            sums
        };
        Self { tables: terms.chunks(TABLE_BITS).map(table).collect() }
    }

    /// Each pair adds its number if its bit is set, and subtracts it if the bit is clear.
    pub(crate) fn signed(weights: &[f64]) -> Self {
        Self::new(&weights.iter().map(|w| [-w, *w]).collect::<Vec<_>>())
    }

    pub(crate) fn value(&self, labels: &[u64]) -> f64 {
        self.sum(labels, 0)
    }

    /// The value with every label exchanged.
    pub(crate) fn exchanged(&self, labels: &[u64]) -> f64 {
        self.sum(labels, u8::MAX)
    }

    fn sum(&self, labels: &[u64], exchange: u8) -> f64 {
        let bytes = labels.iter().flat_map(|word| word.to_le_bytes());
        self.tables.iter().zip(bytes).map(|(of, byte)| of[usize::from(byte ^ exchange)]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    #[test]
    fn sums_are_those_of_the_labels() {
        let mut stream = Stream::new(1);
        for n in [1, 7, 8, 64, 70] {
            let terms: Vec<[f64; 2]> = (0..n).map(|_| [stream.unit(), stream.unit()]).collect();
            let labels: Vec<u64> = (0..2).map(|_| stream.next_u64()).collect();
            let bit = |at: usize| (labels[at / 64] >> (at % 64) & 1) as usize;
            let of = |exchange| -> f64 {
                terms.iter().enumerate().map(|(at, term)| term[bit(at) ^ exchange]).sum()
            };
            let sum = LabelledSum::new(&terms);
            assert!((sum.value(&labels) - of(0)).abs() < 1e-12, "{n}");
            assert!((sum.exchanged(&labels) - of(1)).abs() < 1e-12, "{n}");
        }
    }
}
